//! Sentences with named values: said in English as they are, in another language from the same
//! values.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A sentence in English with its values by name.
///
/// In the template `{name}` is a value as it is, `{name%}` a fraction as percent, `{name+%}` that
/// with its sign, `{name.1}` a number with one decimal, `{name~}` a ratio and `{name=}` a number
/// with all its digits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sentence {
    /// English text with the names of its values in braces.
    pub template: String,
    /// Values by the names that the template has for them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
}

/// A value in a sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number, which the language formats.
    Number(f64),
    /// A text as it is.
    Text(String),
    /// A sentence within the sentence, translated like any other.
    Sentence(Sentence),
    /// The least and the most of several numbers; only of sentences about several figures, which
    /// are not stored.
    #[serde(skip)]
    Span(f64, f64),
}

/// Template of a text that is only quoted: an error, a quotation.
const QUOTED: &str = "{text}";

impl Sentence {
    /// A sentence whose values are still to be given.
    pub fn new(template: impl Into<String>) -> Self {
        Sentence { template: template.into(), values: BTreeMap::new() }
    }
    /// A text of others, which no language translates.
    pub fn quoted(text: impl Into<String>) -> Self {
        Sentence::new(QUOTED).with("text", text.into())
    }
    /// The sentence with the value `name`.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.values.insert(name.to_string(), value.into());
        self
    }
    /// The sentence about a part of a mixed workload.
    pub fn of_part(self, part: &str) -> Self {
        Sentence::new("{part}: {sentence}").with("part", part).with("sentence", self)
    }
    /// Sentences one behind the other.
    pub fn list(items: impl IntoIterator<Item = Sentence>) -> Sentence {
        let pair =
            |list, item| Sentence::new("{list}, {item}").with("list", list).with("item", item);
        items.into_iter().reduce(pair).unwrap_or_default()
    }
    /// `one` for 1, else `many` with `{count}`.
    pub fn count(count: usize, one: &'static str, many: &'static str) -> Sentence {
        if count == 1 { Sentence::new(one) } else { Sentence::new(many).with("count", count) }
    }
    /// `1 job`, `4 jobs`.
    pub fn jobs(jobs: u32) -> Sentence {
        Sentence::count(jobs as usize, "1 job", "{count} jobs")
    }

    /// The sentence about its own figure and that of `other`: numbers that differ become a span.
    /// None if they differ in more than numbers.
    pub fn together(&self, other: &Sentence) -> Option<Sentence> {
        if self.template != other.template || self.values.len() != other.values.len() {
            return None;
        }
        let mut values = BTreeMap::new();
        for (name, value) in &self.values {
            values.insert(name.clone(), value.together(other.values.get(name)?)?);
        }
        // A range and a number, or two ranges, become one range from the lowest to the highest end.
        for (from, to) in ranges(&self.template) {
            let ends = values.get(from).and_then(Value::ends).zip(values.get(to)?.ends());
            if let Some(((least, _), (_, most))) = ends {
                values.insert(from.into(), Value::Number(least));
                values.insert(to.into(), Value::Number(most));
            }
        }
        Some(Sentence { template: self.template.clone(), values })
    }

    /// The template, or its translation, with the values as `show` writes them.
    pub fn fill(&self, template: &str, show: impl Fn(&Value, Style) -> String) -> String {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, behind)) = after.split_once('}') else { break };
            let (name, style) = Style::split(name);
            text.push_str(before);
            match self.values.get(name) {
                Some(value) => text.push_str(&show(value, style)),
                None => text.push_str(&format!("{{{name}}}")),
            }
            rest = behind;
        }
        text + rest
    }
}

/// The names of the values of a template that are the ends of a range: `{low} to {high}`.
fn ranges(template: &str) -> Vec<(&str, &str)> {
    let ends = template.match_indices("} to {").filter_map(|(at, between)| {
        let from = &template[template[..at].rfind('{')? + 1..at];
        let after = &template[at + between.len()..];
        let to = &after[..after.find('}')?];
        Some((Style::split(from).0, Style::split(to).0))
    });
    ends.collect()
}

impl Value {
    fn together(&self, other: &Value) -> Option<Value> {
        match (self, other) {
            (Value::Text(one), Value::Text(other)) => {
                (one == other).then(|| Value::Text(one.clone()))
            }
            (Value::Sentence(one), Value::Sentence(other)) => {
                one.together(other).map(Value::Sentence)
            }
            _ => {
                let ((least, most), (low, high)) = (self.ends()?, other.ends()?);
                let (least, most) = (least.min(low), most.max(high));
                Some(if least == most { Value::Number(least) } else { Value::Span(least, most) })
            }
        }
    }

    /// The least and the most that it stands for; none if it is no number.
    fn ends(&self) -> Option<(f64, f64)> {
        match self {
            Value::Number(value) => Some((*value, *value)),
            Value::Span(least, most) => Some((*least, *most)),
            Value::Text(_) | Value::Sentence(_) => None,
        }
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value: &Value, style: Style| match value {
            Value::Text(text) => text.clone(),
            Value::Number(value) => style.show(*value),
            Value::Sentence(sentence) => sentence.to_string(),
            Value::Span(least, most) => style.show_span(*least, *most, "to"),
        };
        f.write_str(&self.fill(&self.template, show))
    }
}

impl From<String> for Sentence {
    fn from(template: String) -> Self {
        Sentence::new(template)
    }
}

impl From<&'static str> for Sentence {
    fn from(template: &'static str) -> Self {
        Sentence::new(template)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        // JSON has no other numbers.
        if value.is_finite() { Value::Number(value) } else { Value::Text(number(value)) }
    }
}

impl From<Sentence> for Value {
    fn from(sentence: Sentence) -> Self {
        Value::Sentence(sentence)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Value::Number(value.into())
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Value::Number(value as f64)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Value::Number(value as f64)
    }
}

/// Form of a number in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `{name}`: with as many digits as a reader needs.
    Plain,
    /// `{name%}`: a fraction as percent.
    Percent,
    /// `{name+%}`: a fraction as percent, with its sign.
    SignedPercent,
    /// `{name.1}`: one decimal.
    OneDecimal,
    /// `{name~}`: a ratio.
    Ratio,
    /// `{name=}`: all digits.
    Exact,
}

impl Style {
    /// The name in a placeholder and its style.
    fn split(placeholder: &str) -> (&str, Style) {
        const ENDS: [(&str, Style); 5] = [
            ("+%", Style::SignedPercent),
            ("%", Style::Percent),
            (".1", Style::OneDecimal),
            ("~", Style::Ratio),
            ("=", Style::Exact),
        ];
        let end =
            ENDS.iter().find_map(|(end, style)| Some((placeholder.strip_suffix(end)?, *style)));
        end.unwrap_or((placeholder, Style::Plain))
    }
    /// `2.44 to 7.69 %` in English, with the language's word for `to`; one number if both are
    /// written alike.
    pub fn show_span(self, least: f64, most: f64, to: &str) -> String {
        let (least, most) = (self.show(least), self.show(most));
        if least == most {
            return least;
        }
        let unit = [" %", "%"].into_iter().find(|unit| most.ends_with(unit)).unwrap_or_default();
        format!("{} {to} {most}", least.strip_suffix(unit).unwrap_or(&least))
    }
    /// The number in English.
    pub fn show(self, value: f64) -> String {
        match self {
            Style::Plain => number(value),
            Style::Percent => percent(value),
            Style::SignedPercent => format!("{:+.1} %", value * 100.0),
            Style::OneDecimal => format!("{value:.1}"),
            Style::Ratio => ratio(value),
            Style::Exact => value.to_string(),
        }
    }
}

/// A number for a sentence: whole from 100 on, else three significant digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == value.trunc() => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        size if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.1e}"),
    }
}

/// A fraction as percent for a sentence.
pub fn percent(fraction: f64) -> String {
    format!("{} %", number(fraction * 100.0))
}

/// A ratio: three digits, near 1 with three decimals.
fn ratio(ratio: f64) -> String {
    match ratio {
        near if (0.9..1.1).contains(&near) => format!("{near:.3}"),
        two if (1.1..100.0).contains(&two) => format!("{two:.2}"),
        other => number(other),
    }
}

/// `1 job`, `4 jobs`.
pub fn count(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_percentages_read_well() {
        let texts = [12_345.6, 12.34, 1.234, 0.1234, 0.000_12, 0.0, 2.0].map(number);
        assert_eq!(texts, ["12346", "12.3", "1.23", "0.123", "1.2e-4", "0", "2"]);
        assert_eq!(percent(0.0512), "5.12 %");
        assert_eq!(
            [3.094, 1.0043, 0.459, 12.3, 1234.5].map(ratio),
            ["3.09", "1.004", "0.459", "12.30", "1234"]
        );
        assert_eq!([1, 2].map(|count| Sentence::jobs(count).to_string()), ["1 job", "2 jobs"]);
    }

    #[test]
    fn values_are_written_as_the_placeholder_says() {
        let sentence = Sentence::new("{who}: {a}, {b%}, {c+%}, {d.1}, {b=}, x{c~}; {missing} {")
            .with("who", "{a}")
            .with("a", 1234.4)
            .with("b", 0.025)
            .with("c", 0.5)
            .with("d", 2_u64);
        assert_eq!(
            sentence.to_string(),
            "{a}: 1234, 2.50 %, +50.0 %, 2.0, 0.025, x0.500; {missing} {"
        );
        assert_eq!(Sentence::quoted("{text}").to_string(), "{text}");
    }

    #[test]
    fn sentences_of_several_figures_have_spans_of_their_numbers() {
        let one = |count: u64, low: f64, high: f64| {
            Sentence::new("{count} ops, {low%} to {high%}")
                .with("count", count)
                .with("low", low)
                .with("high", high)
        };
        let all = one(5, 0.25, 0.5).together(&one(7, 0.75, 0.5)).unwrap();
        assert_eq!(all.to_string(), "5 to 7 ops, 25 % to 50 %");
        let all = all.together(&one(6, 0.125, 0.875)).unwrap();
        assert_eq!(all.to_string(), "5 to 7 ops, 12.5 % to 87.5 %");
        let other = Sentence::new("{who} is low");
        assert!(all.together(&other).is_none());
        let named = |who: &str| other.clone().with("who", who);
        assert!(named("a").together(&named("b")).is_none());
        assert_eq!(named("a").together(&named("a")), Some(named("a")));
    }

    #[test]
    fn stored_sentences_are_read_again_whatever_their_values() {
        let sentence =
            Sentence::new("{a} {b}").with("a", f64::INFINITY).with("b", 0.5).of_part("TP-LIGHT");
        let stored = serde_json::to_string(&sentence).unwrap();
        let read: Sentence = serde_json::from_str(&stored).unwrap();
        assert_eq!((&read, read.to_string().as_str()), (&sentence, "TP-LIGHT: inf 0.500"));
    }
}
