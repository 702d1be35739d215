//! Values of the command line that are more than a word: durations, percentages and labels.

use std::str::FromStr;

/// A duration in seconds: `10s`, `500ms`, `2m`, `1m30s`, or a plain number of seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let seconds = match text.parse::<f64>() {
            Ok(number) => number,
            Err(_) => text
                .parse::<jiff::SignedDuration>()
                .map_err(|_| format!("'{text}' is no duration; write 10s, 500ms or 2m"))?
                .as_secs_f64(),
        };
        if seconds.is_finite() && seconds >= 0.0 {
            Ok(Seconds(seconds))
        } else {
            Err(format!("'{text}' is no duration; write 10s, 500ms or 2m"))
        }
    }
}

/// A fraction, written in percent: `5%` or `5`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().trim_end_matches('%').trim().parse::<f64>();
        match number {
            Ok(percent) if (0.0..100.0).contains(&percent) => Ok(Percent(percent / 100.0)),
            _ => Err(format!("'{text}' is no percentage; write 5%")),
        }
    }
}

/// A label of a run: `key=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub key: String,
    pub value: String,
}

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Label { key: key.trim().to_string(), value: value.trim().to_string() })
            }
            _ => Err(format!("'{text}' is no label; write key=value")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_with_units_and_without() {
        for (text, seconds) in [("10s", 10.0), ("500ms", 0.5), ("2m", 120.0), ("1m30s", 90.0), ("3", 3.0)] {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
        for junk in ["", "ten", "-1s", "10 parsecs", "inf"] {
            assert!(junk.parse::<Seconds>().is_err(), "{junk}");
        }
    }

    #[test]
    fn percentages_with_and_without_the_sign() {
        assert_eq!(("5%".parse(), "2.5".parse()), (Ok(Percent(0.05)), Ok(Percent(0.025))));
        for junk in ["", "%", "-1%", "100%", "NaN", "five"] {
            assert!(junk.parse::<Percent>().is_err(), "{junk}");
        }
    }

    #[test]
    fn labels_need_a_key() {
        assert_eq!("disk=nvme".parse(), Ok(Label { key: "disk".into(), value: "nvme".into() }));
        assert!("=x".parse::<Label>().is_err() && "x".parse::<Label>().is_err());
    }
}
