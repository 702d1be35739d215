//! End of a test: after a time, after its work, or when its figure is known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::quote;

/// A mean is not looked at earlier, in seconds of the window: fewer cannot show whether they drift.
pub const MIN_KNOWN_S: f64 = 5.0;

/// Opening and closing of a test's window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredWindow", into = "StoredWindow")]
pub struct Window {
    /// Seconds dropped at the start; the minimum if the window lasts until the figure is known.
    pub warmup_s: f64,
    /// Condition that closes the window.
    pub end: End,
}

/// Condition that closes the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    /// Length in seconds.
    Time(f64),
    /// Fixed work in ops per job: no warm-up, the window runs from the gate to the last op.
    Ops(u64),
    /// The interval of the mean is narrow enough, or the window is `most_s` seconds long.
    Known {
        /// Half width of the interval that ends the window.
        precision: Precision,
        /// Longest window, in s.
        most_s: f64,
    },
}

impl Window {
    /// A window of fixed time.
    pub fn time(warmup_s: f64, duration_s: f64) -> Window {
        Window { warmup_s, end: End::Time(duration_s) }
    }

    /// A window of fixed work.
    pub fn ops(ops_per_job: u64) -> Window {
        Window { warmup_s: 0.0, end: End::Ops(ops_per_job) }
    }

    /// Length in seconds, or its maximum; absent for fixed work.
    pub fn duration_s(&self) -> Option<f64> {
        match self.end {
            End::Time(duration_s) => Some(duration_s),
            End::Known { most_s, .. } => Some(most_s),
            End::Ops(_) => None,
        }
    }

    /// Fixed work.
    pub fn ops_per_job(&self) -> Option<u64> {
        if let End::Ops(ops_per_job) = self.end { Some(ops_per_job) } else { None }
    }

    /// Required precision of the interval.
    pub fn precision(&self) -> Option<Precision> {
        if let End::Known { precision, .. } = self.end { Some(precision) } else { None }
    }

    /// Seconds after which it opens at the latest: a warm-up that does not end takes a third of the
    /// longest window.
    pub fn longest_warmup_s(&self) -> f64 {
        match self.end {
            End::Known { most_s, .. } => self.warmup_s.max(most_s / 3.0),
            _ => self.warmup_s,
        }
    }
}

/// Window as stored with a run.
#[derive(Serialize, Deserialize)]
struct StoredWindow {
    warmup_s: f64,
    duration_s: Option<f64>,
    ops_per_job: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    precision: Option<Precision>,
}

impl From<Window> for StoredWindow {
    fn from(window: Window) -> Self {
        let (duration_s, ops_per_job) = (window.duration_s(), window.ops_per_job());
        StoredWindow {
            warmup_s: window.warmup_s,
            duration_s,
            ops_per_job,
            precision: window.precision(),
        }
    }
}

impl From<StoredWindow> for Window {
    fn from(shown: StoredWindow) -> Self {
        let most_s = shown.duration_s.unwrap_or_default();
        let end = match (shown.ops_per_job, shown.precision) {
            (Some(ops), _) => End::Ops(ops),
            (None, Some(precision)) => End::Known { precision, most_s },
            (None, None) => End::Time(most_s),
        };
        Window { warmup_s: shown.warmup_s, end }
    }
}

/// Half width of an interval as a fraction of the mean (0.0001..0.5), written in percent: `2%` or
/// `2`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Precision(f64);

impl Precision {
    /// The fraction.
    pub fn fraction(self) -> f64 {
        self.0
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim();
        let percent = number.strip_suffix('%').unwrap_or(number).trim().parse::<f64>();
        let valid = percent.ok().filter(|percent| (0.01..=50.0).contains(percent));
        let precision = valid.map(|percent| Precision(percent / 100.0));
        precision.ok_or_else(|| {
            format!("{} is not a valid precision; write 2%, from 0.01% to 50%", quote(text))
        })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", (self.0 * 1e6).round() / 1e4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precision_is_written_in_percent() {
        let shown = |text: &str| text.parse::<Precision>().unwrap().to_string();
        assert_eq!(["2%", "0.5 %", "50", "0.07%"].map(shown), ["2%", "0.5%", "50%", "0.07%"]);
        for junk in ["", "%", "0", "0%", "-2%", "51%", "NaN", "two", "2%%", "inf"] {
            assert!(junk.parse::<Precision>().is_err(), "{junk}");
        }
    }

    #[test]
    fn a_window_is_stored_with_what_ends_it() {
        let json = |window: Window| serde_json::to_value(window).unwrap();
        let time = serde_json::json!({"warmup_s": 1.0, "duration_s": 3.0, "ops_per_job": null});
        assert_eq!(json(Window::time(1.0, 3.0)), time);
        let known =
            Window { warmup_s: 1.0, end: End::Known { precision: Precision(0.02), most_s: 60.0 } };
        assert_eq!(
            (json(known)["precision"].as_f64(), json(known)["duration_s"].as_f64()),
            (Some(0.02), Some(60.0))
        );
        assert_eq!((known.longest_warmup_s(), Window::ops(7).duration_s()), (20.0, None));
    }
}
