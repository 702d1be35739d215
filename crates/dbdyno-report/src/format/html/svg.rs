//! Pieces of drawings: scales, axes, lines and marks. A drawing is as wide as its box (x in per
//! cent) and has a fixed height, so that text never scales; lines stand in a nested box that is
//! stretched, with strokes that are not.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use crate::document::Digits;
use crate::picture::{Mark, Tone};
use crate::texts::Language;

/// Marks and signs, used by reference: once at the start of a page.
const SYMBOLS: &str = include_str!("symbols.svg");

pub(super) fn symbols() -> Markup {
    PreEscaped(SYMBOLS.into())
}

/// The sign of a verdict: shape and color. Its word is read out; it is empty if it is printed next
/// to the sign.
pub(super) fn sign(mark: Mark, word: &str) -> Markup {
    let is_silent = word.is_empty();
    let (role, hidden) = ((!is_silent).then_some("img"), is_silent.then_some("true"));
    let label = (!is_silent).then_some(word);
    html! {
        svg class={ "sign " (name(mark)) } viewBox="0 0 16 16"
            role=[role] aria-label=[label] aria-hidden=[hidden] {
            use href={ "#v-" (name(mark)) } {}
        }
    }
}

/// The name of a verdict in classes.
pub(super) fn name(mark: Mark) -> &'static str {
    match mark {
        Mark::Valid => "valid",
        Mark::Conditional => "conditional",
        Mark::Invalid => "invalid",
        Mark::Disturbed => "disturbed",
    }
}

/// The class of the color of a tone.
pub(super) fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Same => "same",
        Tone::Plain => "plain",
    }
}

/// A mark in a drawing. Hollow has one meaning: no statement rests on the figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A figure by its verdict: a circle; a hollow triangle if it is conditional, half a disc if
    /// disturbed, a cross if invalid.
    Figure(Mark),
    /// A valid figure that cannot be compared, as it has no interval: a hollow circle.
    Open,
    /// A valid figure of a second series in one row: a square.
    Second,
    /// A mean where percentiles are drawn elsewhere: a diamond.
    Mean,
    /// Around the best of a ramp: a ring.
    Ring,
}

impl Shape {
    fn id(self) -> &'static str {
        match self {
            Shape::Figure(Mark::Valid) => "c",
            Shape::Figure(Mark::Conditional) => "u",
            Shape::Figure(Mark::Disturbed) => "h",
            Shape::Figure(Mark::Invalid) => "x",
            Shape::Open => "o",
            Shape::Second => "q",
            Shape::Mean => "d",
            Shape::Ring => "r",
        }
    }
}

/// A mark at a place.
pub(super) fn mark(x_pct: f64, y: f64, shape: Shape, class: &str, note: &str) -> Markup {
    html! {
        use href={ "#" (shape.id()) } x=(pct(x_pct)) y=(px(y)) class=(class) {
            @if !note.is_empty() { title { (note) } }
        }
    }
}

/// A line through points in per cent and pixels, in a drawing of this height.
pub(super) fn line(points: &[(f64, f64)], height: f64, class: &str) -> Markup {
    stretched(&path(points), height, class)
}

/// `M1 2L3 4`.
pub(super) fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (number, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{} {}", if number == 0 { 'M' } else { 'L' }, short(*x), short(*y));
    }
    path
}

/// A path whose x goes from 0 to 100, over the whole width.
pub(super) fn stretched(path: &str, height: f64, class: &str) -> Markup {
    html! {
        svg width="100%" height=(short(height)) viewBox={ "0 0 100 " (short(height)) }
            preserveAspectRatio="none" {
            path d=(path) class=(class) {}
        }
    }
}

/// A text at a place; `class` says how it is aligned: `e` ends there, `m` has its middle there.
pub(super) fn text(x_pct: f64, y: f64, class: &str, words: &str) -> Markup {
    html! { text x=(pct(x_pct)) y=(px(y)) class=[(!class.is_empty()).then_some(class)] { (words) } }
}

/// A line across, as of a grid or an axis.
pub(super) fn rule(from: (f64, f64), to: (f64, f64), class: &str) -> Markup {
    html! { line x1=(pct(from.0)) y1=(px(from.1)) x2=(pct(to.0)) y2=(px(to.1)) class=(class) {} }
}

pub(super) fn pct(value: f64) -> String {
    format!("{}%", short(value))
}

pub(super) fn px(value: f64) -> String {
    short(value)
}

/// Text with at most two decimals, without trailing zeros.
pub(super) fn short(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// A scale from figures to places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub low: f64,
    pub high: f64,
    /// Places of low and high.
    pub from: f64,
    pub to: f64,
    pub is_log: bool,
}

impl Span {
    pub fn place(&self, value: f64) -> f64 {
        let scale =
            |value: f64| if self.is_log { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let (low, high) = (scale(self.low), scale(self.high));
        let part = if high > low { (scale(value) - low) / (high - low) } else { 0.5 };
        self.from + part.clamp(-0.02, 1.02) * (self.to - self.from)
    }
}

/// Smallest value of an axis.
const LEAST: f64 = 1e-12;
const MOST: f64 = 1e18;

/// Round steps from 0 to at least `most`: at most six.
pub(super) fn steps(most: f64) -> Vec<f64> {
    if most <= LEAST || !most.is_finite() {
        return vec![0.0, 1.0];
    }
    let raw = most / 4.0;
    let power = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|by| by * power)
        .find(|step| *step >= raw * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let count = (most / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|number| step * number as f64).collect()
}

/// Powers of the base from below `low` to above `high`; no axis reaches further than
/// [`LEAST`] and [`MOST`], whatever it is to hold.
pub(super) fn powers(base: f64, low: f64, high: f64) -> Vec<f64> {
    let exponent = |value: f64| value.clamp(LEAST, MOST).ln() / base.ln();
    let (from, to) = ((exponent(low) + 1e-9).floor() as i32, (exponent(high) - 1e-9).ceil() as i32);
    (from..=to.max(from + 1)).map(|exponent| base.powi(exponent)).collect()
}

/// Places of labels, moved apart to at least `gap` between `top` and `bottom`, in the order of
/// their wishes.
pub(super) fn apart(wishes: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wishes.len()).collect();
    order.sort_by(|a, b| wishes[*a].total_cmp(&wishes[*b]));
    let mut places = wishes.to_vec();
    let mut least = top;
    for &index in &order {
        places[index] = places[index].max(least);
        least = places[index] + gap;
    }
    let mut most = bottom;
    for &index in order.iter().rev() {
        places[index] = places[index].min(most);
        most = places[index] - gap;
    }
    places
}

/// A figure at an axis: `1.5 M`.
pub(super) fn tick(language: Language, value: f64) -> String {
    let (scale, suffix) = match value.abs() {
        size if size >= 1e9 => (1e9, "\u{202f}G"),
        size if size >= 1e6 => (1e6, "\u{202f}M"),
        size if size >= 1e4 => (1e3, "\u{202f}k"),
        _ => (1.0, ""),
    };
    let scaled = value / scale;
    let digits = (0..6_u8).find(|digits| {
        let power = 10_f64.powi(i32::from(*digits));
        ((scaled * power).round() / power - scaled).abs() <= scaled.abs() * 1e-6
    });
    // 16,384 is next to 8,192, so that it is not written as 16.384 k.
    if !suffix.is_empty() && digits.is_none_or(|digits| digits > 2) {
        return language.number(value, Digits::Decimals(0));
    }
    format!("{}{suffix}", language.number(scaled, Digits::Decimals(digits.unwrap_or(3))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_steps_that_hold_every_figure() {
        assert_eq!(steps(97.0), [0.0, 25.0, 50.0, 75.0, 100.0]);
        assert_eq!(steps(1.51e6), [0.0, 5e5, 1e6, 1.5e6, 2e6]);
        assert_eq!(steps(0.0), [0.0, 1.0]);
        assert_eq!(powers(2.0, 1.0, 12.0), [1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!(powers(10.0, 3.0, 3.0), [1.0, 10.0]);
        assert!(
            powers(2.0, 0.0, f64::INFINITY).len() < 110
                && powers(2.0, f64::NAN, f64::NAN).len() < 3
        );
    }

    #[test]
    fn labels_stand_apart_inside_their_box_in_their_order() {
        let places = apart(&[10.0, 12.0, 11.0], 14.0, 0.0, 100.0);
        assert!(places[0] < places[2] && places[2] < places[1], "{places:?}");
        let pressed = apart(&[95.0, 96.0], 14.0, 0.0, 100.0);
        assert!(pressed[1] <= 100.0 && pressed[1] - pressed[0] >= 14.0, "{pressed:?}");
    }

    #[test]
    fn figures_at_an_axis_are_short_and_exact() {
        let tick = |value| tick(Language::English, value).replace('\u{202f}', " ");
        assert_eq!(
            (tick(1.5e6), tick(25_000.0), tick(0.5), tick(0.0)),
            ("1.5 M".into(), "25 k".into(), "0.5".into(), "0".into())
        );
        assert_eq!(tick(8_000.0), "8,000");
        assert_eq!((tick(8_192.0), tick(16_384.0)), ("8,192".into(), "16,384".into()));
    }
}
