//! Values of the command line that are more than a word: durations, percentages and labels.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::str::FromStr;

use crate::error::quote;
use crate::probe::exporter_url;

/// No test takes a year: more is a typing error.
const MAX_S: f64 = 365.0 * 86_400.0;

/// A duration in seconds: `10s`, `500ms`, `2m`, `1m30s`, or a plain number of seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seconds(pub f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let spelled =
            || text.parse::<jiff::SignedDuration>().ok().map(|duration| duration.as_secs_f64());
        let seconds =
            text.parse().ok().or_else(spelled).filter(|seconds| (0.0..=MAX_S).contains(seconds));
        seconds.map(Seconds).ok_or_else(|| {
            format!("{} is not a valid duration; write 10s, 500ms or 2m", quote(text))
        })
    }
}

/// Units of a size, in GB (10^9 bytes).
const SIZE_UNITS: [(&str, f64); 4] = [("kb", 1e-6), ("mb", 1e-3), ("gb", 1.0), ("tb", 1e3)];

/// A size in GB: `0.5`, `500MB`, `1GB`, `2 TB`.
///
/// # Errors
/// Says how to write it.
pub fn gigabytes(text: &str) -> Result<f64, String> {
    let lower = text.trim().to_lowercase();
    let with_unit = SIZE_UNITS.iter().find_map(|(unit, gb)| Some((lower.strip_suffix(unit)?, *gb)));
    let (number, gb) = with_unit.unwrap_or((&lower, 1.0));
    let size = number.trim_end().parse::<f64>().map(|number| number * gb);
    size.map_err(|_| format!("{} is not a valid size; write 0.5, 500MB or 1GB", quote(text)))
}

/// A fraction, written in percent: `5%` or `5`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim();
        let number = number.strip_suffix('%').unwrap_or(number).trim().parse::<f64>();
        match number {
            Ok(percent) if (0.0..100.0).contains(&percent) => Ok(Percent(percent / 100.0)),
            _ => Err(format!("{} is not a valid percentage; write 5%", quote(text))),
        }
    }
}

/// Numbers of nodes: `3`, `1,2,4` or `1..3` (each).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes(pub Vec<u32>);

/// More nodes are a typing error.
const MAX_NODES: u32 = 100;

impl FromStr for Nodes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |word: &str| {
            let number =
                word.trim().parse::<u32>().ok().filter(|number| (1..=MAX_NODES).contains(number));
            number.ok_or_else(|| {
                format!("{} is not a valid number of nodes; write 3 or 1,2,4 or 1..3", quote(word))
            })
        };
        match text.split_once("..") {
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    Err(format!("{from}..{to} runs backwards"))
                } else {
                    Ok(Nodes((from..=to).collect()))
                }
            }
            None => text.split(',').map(number).collect::<Result<_, _>>().map(Nodes),
        }
    }
}

/// Address to listen on: a port of 127.0.0.1, or an address with a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listen(pub SocketAddr);

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let of_port = text.strip_prefix(':').unwrap_or(text).parse::<NonZeroU16>().ok();
        let address = of_port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port.get())));
        address
            .or_else(|| text.parse().ok())
            .filter(|address| address.port() != 0)
            .map(Listen)
            .ok_or_else(|| {
                format!(
                    "{} is not a valid address; write 9464, 127.0.0.1:9464 or [::1]:9464",
                    quote(text)
                )
            })
    }
}

/// The address of a node_exporter, perhaps with the name of a node: `n1=http://db1:9100/metrics`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricsUrl {
    /// Empty without one.
    pub node: String,
    pub url: String,
}

impl FromStr for MetricsUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_node = |node: &str| !node.contains("://") && !node.contains('?');
        let (node, url) =
            text.split_once('=').filter(|(node, _)| is_node(node)).unwrap_or(("", text));
        // What stands before '@' or behind '?' may be a password or a token.
        let url =
            exporter_url(url).map_err(|told| match (url.contains('@'), url.split_once('?')) {
                (true, _) => format!("the URL {told}, without a user"),
                (false, Some((address, _))) => format!(
                    "{} {told}, without a query (a token belongs in DBDYNO_HOST_TOKEN)",
                    quote(format!("{address}?..."))
                ),
                (false, None) => format!("{} {told}", quote(url)),
            })?;
        Ok(MetricsUrl { node: node.trim().to_string(), url })
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
            _ => Err(format!("{} is not a valid label; write key=value", quote(text))),
        }
    }
}

/// A setting of a database: `name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
        };
        match text.split_once('=') {
            Some((name, value)) if words(name) && !value.chars().any(char::is_control) => {
                Ok(Setting { name: name.to_string(), value: value.to_string() })
            }
            _ => Err(format!("{} is not a valid setting; write name=value", quote(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_a_unit_or_are_gigabytes() {
        let sizes = ["0.5", "1GB", "500mb", "2 TB", "-1", "256kB"].map(gigabytes);
        assert_eq!(sizes, [0.5, 1.0, 0.5, 2000.0, -1.0, 0.000_256].map(Ok));
        for wrong in ["", "GB", "1G B", "1PB", "big"] {
            assert!(gigabytes(wrong).unwrap_err().contains("write 0.5, 500MB or 1GB"), "{wrong}");
        }
    }

    #[test]
    fn an_address_that_is_refused_is_quoted_without_what_may_be_secret() {
        for text in [
            "http://127.0.0.1:1/metrics?token=hunter2",
            "n1=http://db1:9100/metrics?token=hunter2",
            "db1:9100/metrics?token=hunter2",
            "http://db1:9100?hunter2@x",
            "http://ann:hunter2@db1:9100/metrics?a=b",
        ] {
            let told = text.parse::<MetricsUrl>().unwrap_err();
            assert!(!told.contains("hunter2"), "{text}: {told}");
            assert!(told.contains("write http://db1:9100/metrics, without"), "{text}: {told}");
        }
        let known = "n1=http://db1:9100".parse::<MetricsUrl>().unwrap();
        assert_eq!((known.node.as_str(), known.url.as_str()), ("n1", "http://db1:9100/metrics"));
    }

    #[test]
    fn durations_with_units_and_without() {
        for (text, seconds) in
            [("10s", 10.0), ("500ms", 0.5), ("2m", 120.0), ("1m30s", 90.0), ("3", 3.0)]
        {
            assert_eq!(text.parse(), Ok(Seconds(seconds)), "{text}");
        }
        for junk in [
            "",
            "ten",
            "-1s",
            "10 parsecs",
            "inf",
            "nan",
            "1e300",
            "9999999h",
            "1e-300s",
            "1s1s",
            "--1",
        ] {
            assert!(junk.parse::<Seconds>().is_err(), "{junk}");
        }
    }

    #[test]
    fn percentages_with_and_without_the_sign() {
        assert_eq!(("5%".parse(), "2.5".parse()), (Ok(Percent(0.05)), Ok(Percent(0.025))));
        for junk in ["", "%", "-1%", "100%", "NaN", "five", "5%%", "5 % %", "%5", "inf", "1e300"] {
            assert!(junk.parse::<Percent>().is_err(), "{junk}");
        }
    }

    #[test]
    fn only_who_types_an_address_listens_on_another_than_the_local_one() {
        let listen = |text: &str| text.parse::<Listen>().map(|listen| listen.0.to_string()).ok();
        for (text, address) in [
            ("9464", "127.0.0.1:9464"),
            (":9464", "127.0.0.1:9464"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:9464", "[::1]:9464"),
        ] {
            assert_eq!(listen(text).as_deref(), Some(address));
        }
        for junk in ["", "0", "127.0.0.1", "127.0.0.1:0", "localhost:9464", "70000", "-1"] {
            assert_eq!(listen(junk), None, "{junk}");
        }
    }

    #[test]
    fn settings_have_a_plain_name_and_one_line() {
        let setting = Setting { name: "a.b_c".into(), value: "x = 'y'".into() };
        assert_eq!("a.b_c=x = 'y'".parse(), Ok(setting));
        for junk in ["", "x", "=x", "a b=c", "a=b\nc=d", "a'=b"] {
            assert!(junk.parse::<Setting>().is_err(), "{junk}");
        }
    }

    #[test]
    fn labels_need_a_key() {
        assert_eq!("disk=nvme".parse(), Ok(Label { key: "disk".into(), value: "nvme".into() }));
        assert!("=x".parse::<Label>().is_err() && "x".parse::<Label>().is_err());
    }
}
