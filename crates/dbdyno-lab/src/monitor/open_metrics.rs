//! Figures in the text format of OpenMetrics 1.0
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).

use std::fmt::Write;

/// Content type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Kind of a family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Value that goes up and down.
    Gauge,
    /// Sum that only grows.
    Counter,
    /// Quantiles with count and sum.
    Summary,
    /// Cumulative buckets with count and sum.
    Histogram,
    /// Labels that describe something; the value is always 1.
    Info,
    /// States of which each is 1 (true) or 0.
    StateSet,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
            Kind::Summary => "summary",
            Kind::Histogram => "histogram",
            Kind::Info => "info",
            Kind::StateSet => "stateset",
        }
    }

    /// Endings of the names of its samples.
    fn endings(self) -> &'static [&'static str] {
        match self {
            Kind::Gauge | Kind::StateSet => &[""],
            Kind::Counter => &["_total"],
            Kind::Summary => &["", "_count", "_sum"],
            Kind::Histogram => &["_bucket", "_count", "_sum"],
            Kind::Info => &["_info"],
        }
    }
}

/// A family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// Ends with its unit, if it has one.
    pub name: &'static str,
    /// Kind of its metrics.
    pub kind: Kind,
    /// Description in one sentence.
    pub help: &'static str,
}

/// Units that a name may end with.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

impl Family {
    /// The unit that its name ends with.
    fn unit(&self) -> Option<&'static str> {
        UNITS
            .into_iter()
            .find(|unit| self.name.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_')))
    }

    /// Names of its samples.
    pub fn sample_names(&self) -> impl Iterator<Item = String> {
        let name = self.name;
        self.kind.endings().iter().map(move |ending| format!("{name}{ending}"))
    }
}

/// Names and values of labels.
pub type Labels = Vec<(&'static str, String)>;

/// The text, family by family.
#[derive(Debug, Default)]
pub struct Page(String);

impl Page {
    /// Adds a family of gauges or counters, or infos (whose value is 1); without samples nothing.
    pub fn add(&mut self, family: &Family, samples: impl IntoIterator<Item = (Labels, f64)>) {
        let ending = family.kind.endings()[0];
        let known = samples.into_iter().filter(|(_, value)| value.is_finite());
        self.family(family, known.map(|(labels, value)| (ending, labels, value)).collect());
    }

    /// Adds a family of states: of each one what it is, of all that it may be.
    pub fn add_states(&mut self, family: &Family, states: &[&str], samples: &[(Labels, String)]) {
        let one = |(labels, is): &(Labels, String)| -> Vec<_> {
            let with =
                |state: &&str| [labels.as_slice(), &[(family.name, (*state).to_string())]].concat();
            states.iter().map(|state| ("", with(state), f64::from(state == is))).collect()
        };
        self.family(family, samples.iter().flat_map(one).collect());
    }

    /// Adds a family of summaries.
    pub fn add_summaries(&mut self, family: &Family, samples: &[(Labels, Summary)]) {
        let one = |(labels, summary): &(Labels, Summary)| -> Vec<_> {
            let with =
                |quantile: f64| [labels.as_slice(), &[("quantile", quantile.to_string())]].concat();
            let quantiles =
                summary.quantiles.iter().map(|&(quantile, value)| ("", with(quantile), value));
            quantiles
                .chain([
                    ("_count", labels.clone(), summary.count),
                    ("_sum", labels.clone(), summary.sum),
                ])
                .collect()
        };
        self.family(family, samples.iter().flat_map(one).collect());
    }

    /// Adds a family of histograms.
    pub fn add_histograms(&mut self, family: &Family, samples: &[(Labels, Histogram)]) {
        let one = |(labels, histogram): &(Labels, Histogram)| -> Vec<_> {
            let with = |most: String| [labels.as_slice(), &[("le", most)]].concat();
            let finite = histogram
                .buckets
                .iter()
                .map(|&(most, count)| ("_bucket", with(most.to_string()), count));
            let all = ("_bucket", with("+Inf".into()), histogram.count);
            let ends = [
                all,
                ("_count", labels.clone(), histogram.count),
                ("_sum", labels.clone(), histogram.sum),
            ];
            finite.chain(ends).collect()
        };
        self.family(family, samples.iter().flat_map(one).collect());
    }

    fn family(&mut self, family: &Family, samples: Vec<(&str, Labels, f64)>) {
        if samples.is_empty() {
            return;
        }
        let name = family.name;
        let _ = writeln!(self.0, "# TYPE {name} {}", family.kind.name());
        if let Some(unit) = family.unit() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escape(family.help));
        for (ending, labels, value) in samples {
            let _ = writeln!(self.0, "{name}{ending}{} {value}", in_braces(&labels));
        }
    }

    /// The whole text.
    pub fn end(self) -> String {
        self.0 + "# EOF\n"
    }
}

/// Times of many ops, in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// Known quantiles: 0.99 with the maximum time of 99 % of the ops.
    pub quantiles: Vec<(f64, f64)>,
    /// Number of ops.
    pub count: f64,
    /// Sum of their times, in s.
    pub sum: f64,
}

/// Numbers of ops that took at most a certain time: they can be added up over tests and machines,
/// as quantiles cannot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    /// Limits in seconds, ascending, each with the number of ops that took no longer.
    pub buckets: Vec<(f64, f64)>,
    /// Number of ops.
    pub count: f64,
    /// Sum of their times, in s.
    pub sum: f64,
}

fn in_braces(labels: &Labels) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: Family = Family { name: "x_left_seconds", kind: Kind::Gauge, help: "Time left." };

    #[test]
    fn a_family_tells_type_unit_and_help_before_its_samples() {
        let mut page = Page::default();
        page.add(&LEFT, [(vec![("run", "a\"b\\\n".to_string())], 2.5), (Vec::new(), f64::NAN)]);
        page.add(&Family { name: "x_none", ..LEFT }, []);
        let counter = Family { name: "x_tests", kind: Kind::Counter, help: "Tests." };
        page.add(&counter, [(Vec::new(), 3.0)]);
        let text = "# TYPE x_left_seconds gauge\n# UNIT x_left_seconds seconds\n# HELP \
                    x_left_seconds Time left.\nx_left_seconds{run=\"a\\\"b\\\\\\n\"} 2.5\n# TYPE \
                    x_tests counter\n# HELP x_tests Tests.\nx_tests_total 3\n# EOF\n";
        assert_eq!(page.end(), text);
    }

    #[test]
    fn states_and_summaries_have_a_sample_for_each_part() {
        let mut page = Page::default();
        let verdict = Family { name: "x_verdict", kind: Kind::StateSet, help: "Verdict." };
        page.add_states(&verdict, &["valid", "invalid"], &[(Vec::new(), "invalid".into())]);
        let time = Family { name: "x_time_seconds", kind: Kind::Summary, help: "Time." };
        let summary = Summary { quantiles: vec![(0.5, 0.001)], count: 4.0, sum: 0.006 };
        page.add_summaries(&time, &[(vec![("jobs", "2".to_string())], summary)]);
        let spread = Family { name: "x_spread_seconds", kind: Kind::Histogram, help: "Times." };
        let histogram = Histogram { buckets: vec![(0.001, 3.0)], count: 4.0, sum: 0.006 };
        page.add_histograms(&spread, &[(Vec::new(), histogram)]);
        let text = page.end();
        for line in [
            "x_verdict{x_verdict=\"valid\"} 0",
            "x_verdict{x_verdict=\"invalid\"} 1",
            "x_time_seconds{jobs=\"2\",quantile=\"0.5\"} 0.001",
            "x_time_seconds_count{jobs=\"2\"} 4",
            "x_time_seconds_sum{jobs=\"2\"} 0.006",
            "x_spread_seconds_bucket{le=\"0.001\"} 3",
            "x_spread_seconds_bucket{le=\"+Inf\"} 4",
            "x_spread_seconds_sum 0.006",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
        }
        assert_eq!(time.sample_names().count(), 3);
    }
}
