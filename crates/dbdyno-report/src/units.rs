//! Meanings of the units of figures, and the unit that suits a time.

use super::Input;

/// Units, spelled out, in the order of a legend.
pub const UNITS: &[(&str, &str)] = &[
    ("qps", "queries per second"),
    ("tps", "transactions per second"),
    ("rows/s", "rows per second"),
    ("ops/s", "ops per second"),
    ("calls/s", "calls of a function per second"),
    ("sorts/s", "sorts per second"),
    ("kops", "thousand ops per second"),
    ("Mops", "million operations per second"),
    ("dbps", "database blocks per second"),
    ("iops", "input and output operations per second"),
    ("MB/s", "million bytes per second"),
    ("GB/s", "thousand million bytes per second"),
    ("kBpt", "thousand bytes of log per transaction"),
    ("s", "seconds"),
    ("ms", "thousandths of a second"),
    ("us", "millionths of a second"),
    ("ns", "thousand-millionths of a second"),
];

/// Meaning of a unit; none of one that is not in the legend.
pub fn meaning(unit: &str) -> Option<&'static str> {
    UNITS.iter().find(|(known, _)| *known == unit).map(|(_, meaning)| *meaning)
}

/// A unit of times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeUnit {
    /// The unit in us.
    pub us: f64,
    /// The name in ASCII, as `us`.
    pub name: &'static str,
    /// The name with the sign of print, as `µs`.
    pub sign: &'static str,
}

/// The units of times, from long to short.
const TIME_UNITS: [TimeUnit; 3] = [
    TimeUnit { us: 1e6, name: "s", sign: "s" },
    TimeUnit { us: 1e3, name: "ms", sign: "ms" },
    TimeUnit { us: 1.0, name: "us", sign: "µs" },
];

impl TimeUnit {
    /// The unit that suits a time: the longest of which the time has at least `least`, which is 1,
    /// or slightly less where that much is shown as 1.
    pub fn suiting_us(us: f64, least: f64) -> TimeUnit {
        let [seconds, milliseconds, microseconds] = TIME_UNITS;
        if us >= seconds.us * least {
            seconds
        } else if us >= milliseconds.us * least {
            milliseconds
        } else {
            microseconds
        }
    }
}

/// Units of columns that every table of tests has.
const OF_COLUMNS: [&str; 7] = ["dbps", "iops", "MB/s", "GB/s", "kBpt", "ms", "ns"];

/// The units of the metrics and columns of these runs with their meaning.
pub fn legend(input: &Input) -> Vec<(String, String)> {
    let has_tests = input.tests().next().is_some();
    let is_used = |unit: &str| {
        has_tests && OF_COLUMNS.contains(&unit)
            || input.tests().any(|(_, test)| {
                let second = test.second().map(|kpm| kpm.unit.as_str());
                [Some(test.kpm().unit.as_str()), second].contains(&Some(unit))
            })
    };
    let used = UNITS.iter().filter(|(unit, _)| is_used(unit));
    used.map(|(unit, meaning)| ((*unit).to_string(), input.language.phrase(meaning))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_unit_that_suits_it() {
        let name = |us| TimeUnit::suiting_us(us, 1.0).name;
        assert_eq!([0.0, 999.9, 1e3, 999_999.0, 1e6].map(name), ["us", "us", "ms", "ms", "s"]);
        let sign = |us| TimeUnit::suiting_us(us, 0.999_5).sign;
        assert_eq!([999.4, 999.5, 999_499.0, 999_500.0].map(sign), ["µs", "ms", "ms", "s"]);
    }
}
