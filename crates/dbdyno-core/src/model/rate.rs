//! The open loop: ops that start at scheduled times, whether or not the earlier ones are done, and
//! the SLO for their response times.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{LatencySummary, RateProfile};
use crate::error::quote;

/// More ops per second are a typing error.
const MAX_PER_S: f64 = 1e9;
/// Parameters of a test that say how its ops were offered.
const RATE: &str = "rate";
const ARRIVALS: &str = "arrivals";
const SLO: &str = "slo";
const PROFILE: &str = "rate_profile";
/// Value of `arrivals` at equal distances.
const UNIFORM: &str = "uniform";
/// Parameter of a test whose users think, and option of `run`.
pub const THINK: &str = "think";

/// Distribution of the scheduled starts of ops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Independent of one another, as many users' are: exponential distances.
    #[default]
    Poisson,
    /// Equal distances.
    Uniform,
}

/// Ops that are offered to a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OfferedLoad {
    /// Ops per second of all jobs together; each job has a schedule of its own
    /// ([`super::TestSpec::offered_per_s`]).
    pub per_s: f64,
    /// Distribution of the scheduled starts.
    pub arrivals: Arrivals,
    /// SLO, if the test belongs to a search for the highest rate that meets it.
    #[serde(rename = "promise", default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
}

impl OfferedLoad {
    /// Adds what distinguishes its figures from others of the workload to the workload's
    /// parameters.
    pub fn add_to(&self, params: &mut BTreeMap<String, String>) {
        params.insert(RATE.into(), self.per_s.to_string());
        if self.arrivals == Arrivals::Uniform {
            params.insert(ARRIVALS.into(), UNIFORM.into());
        }
        if let Some(slo) = self.slo {
            params.insert(SLO.into(), slo.to_string());
        }
    }
}

/// The workload's own parameters, without those of [`OfferedLoad::add_to`].
pub fn without_offer(params: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let own = params.iter().filter(|(name, _)| ![RATE, ARRIVALS, SLO].contains(&name.as_str()));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The workload's own parameters, without those that state when ops of an open loop are due. A rate
/// that changes gives other figures than a constant one; it may be left out only where it is shown
/// elsewhere.
pub fn without_schedule(params: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut own = without_offer(params);
    own.remove(PROFILE);
    own
}

/// The one rate of an open loop as `params` state it, as `--rate` takes it.
pub fn rate_of(params: &BTreeMap<String, String>) -> Option<&str> {
    params.get(RATE).map(String::as_str)
}

/// True if `params` state that the ops of an open loop start at equal distances.
pub fn is_uniform(params: &BTreeMap<String, String>) -> bool {
    params.get(ARRIVALS).is_some_and(|arrivals| arrivals == UNIFORM)
}

/// Parameter for a load over time or a think time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaceParam<'a> {
    /// Name of the parameter; with `-` for `_` it is an option of `run`.
    pub name: &'static str,
    /// Value of both.
    pub value: &'a str,
}

/// Load over time, or think time, as `params` state it.
pub fn pace_of(params: &BTreeMap<String, String>) -> Option<PaceParam<'_>> {
    [PROFILE, THINK].into_iter().find_map(|name| Some(PaceParam { name, value: params.get(name)? }))
}

/// Rule by which the ops of a selection start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Loop {
    /// Closed loop: each job starts the next op when its last is done.
    #[default]
    Closed,
    /// Open loop: a test at each of these rates.
    Open(Vec<f64>, Arrivals),
    /// Open loop, at the rates by which the highest is found that meets the SLO; one test in
    /// the closed loop comes first.
    Highest(Slo, Arrivals),
    /// Open loop at a rate that changes over the window.
    Profile(RateProfile, Arrivals),
    /// Closed loop of users who think for this time on average between two ops, in s; exponential.
    Thinking(f64),
}

impl Loop {
    /// Adds what distinguishes its figures from others of the workload beside its rate.
    pub fn add_to(&self, params: &mut BTreeMap<String, String>) {
        match self {
            Loop::Profile(profile, _) => {
                params.remove(RATE);
                params.insert(PROFILE.into(), profile.to_string());
            }
            Loop::Thinking(mean_s) => {
                let mean_us = (mean_s * 1e6).round();
                params.insert(THINK.into(), format!("{}ms", mean_us / 1e3));
            }
            Loop::Closed | Loop::Open(..) | Loop::Highest(..) => {}
        }
    }

    /// The rate that changes, if one does.
    pub fn profile(&self) -> Option<&RateProfile> {
        match self {
            Loop::Profile(profile, _) => Some(profile),
            _ => None,
        }
    }
}

/// `--rate` as typed: `500`, `100,200,400` or `auto`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AskedRate {
    /// A test at each of these rates, in ops per second.
    Listed(Vec<f64>),
    /// Search for the highest rate that meets the SLO.
    Auto,
}

impl FromStr for AskedRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "auto" {
            return Ok(AskedRate::Auto);
        }
        let wrong = || {
            format!(
                "{} is not a valid rate; write ops per second: 500, or 100,200,400, or auto",
                quote(text)
            )
        };
        let valid = |per_s: &f64| *per_s > 0.0 && *per_s <= MAX_PER_S;
        let rate = |text: &str| text.trim().parse::<f64>().ok().filter(valid);
        let rates: Option<Vec<f64>> = text.split(',').map(rate).collect();
        rates.map(AskedRate::Listed).ok_or_else(wrong)
    }
}

impl fmt::Display for AskedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskedRate::Listed(rates) => {
                f.write_str(&rates.iter().map(f64::to_string).collect::<Vec<_>>().join(","))
            }
            AskedRate::Auto => f.write_str("auto"),
        }
    }
}

impl TryFrom<String> for AskedRate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AskedRate> for String {
    fn from(rate: AskedRate) -> String {
        rate.to_string()
    }
}

/// A percentile of the response time that must stay below a limit: `p99<5ms`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slo {
    /// Percentile of the response time that is limited.
    pub percentile: Percentile,
    /// Limit that it must stay below, in us.
    pub limit_us: f64,
}

/// A percentile that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Percentile {
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
}

impl Percentile {
    const ALL: [(Percentile, &'static str); 5] = [
        (Percentile::P50, "p50"),
        (Percentile::P90, "p90"),
        (Percentile::P95, "p95"),
        (Percentile::P99, "p99"),
        (Percentile::P999, "p99.9"),
    ];

    fn name(self) -> &'static str {
        Percentile::ALL.iter().find(|(own, _)| *own == self).map_or("", |(_, name)| name)
    }

    /// Share of the ops that lie below it.
    pub fn fraction(self) -> f64 {
        match self {
            Percentile::P50 => 0.5,
            Percentile::P90 => 0.9,
            Percentile::P95 => 0.95,
            Percentile::P99 => 0.99,
            Percentile::P999 => 0.999,
        }
    }

    /// Number of ops from which on the percentile is known: ten ops lie beyond it.
    pub fn fewest_ops(self) -> f64 {
        10.0 / (1.0 - self.fraction())
    }

    /// Value in microseconds; absent if there are too few samples for it.
    pub fn value_us(self, times: &LatencySummary) -> Option<f64> {
        match self {
            Percentile::P50 => times.p50_us,
            Percentile::P90 => times.p90_us,
            Percentile::P95 => times.p95_us,
            Percentile::P99 => times.p99_us,
            Percentile::P999 => times.p999_us,
        }
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{} is not a valid SLO; write 'p99<5ms' (p50, p90, p95, p99, p99.9; us, ms, s)",
                quote(text)
            )
        };
        let (name, limit) = text.split_once('<').ok_or_else(wrong)?;
        let found = Percentile::ALL.iter().find(|(_, known)| *known == name.trim());
        let (percentile, _) = found.ok_or_else(wrong)?;
        let limit_us =
            microseconds(limit.trim()).filter(|us| *us > 0.0 && *us <= 3.6e9).ok_or_else(wrong)?;
        Ok(Slo { percentile: *percentile, limit_us })
    }
}

fn microseconds(text: &str) -> Option<f64> {
    let units = [("us", 1.0), ("ms", 1e3), ("s", 1e6)];
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Some(number.trim().parse::<f64>().ok()? * factor)
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.limit_us {
            us if us >= 1e6 => (us / 1e6, "s"),
            us if us >= 1e3 => (us / 1e3, "ms"),
            us => (us, "us"),
        };
        write!(f, "{}<{value}{unit}", self.percentile.name())
    }
}

impl TryFrom<String> for Slo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Slo> for String {
    fn from(slo: Slo) -> String {
        slo.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_ops_per_second_and_junk_is_refused() {
        assert_eq!("500".parse(), Ok(AskedRate::Listed(vec![500.0])));
        assert_eq!("0.5, 200".parse(), Ok(AskedRate::Listed(vec![0.5, 200.0])));
        assert_eq!("auto".parse(), Ok(AskedRate::Auto));
        for text in ["500", "0.5,200", "1000000000", "auto"] {
            assert_eq!(text.parse::<AskedRate>().unwrap().to_string(), text);
        }
        for junk in ["", "0", "-1", "NaN", "inf", "1e10", "100,", "500/s", "Auto", "1 2"] {
            assert!(junk.parse::<AskedRate>().is_err(), "{junk}");
        }
    }

    #[test]
    fn an_slo_is_written_as_it_is_read() {
        for text in ["p99<5ms", "p99.9<250us", "p50<1.5s", "p95<1ms"] {
            assert_eq!(text.parse::<Slo>().unwrap().to_string(), text);
        }
        assert_eq!(" p99 < 0.5 ms ".parse::<Slo>().unwrap().to_string(), "p99<500us");
        for junk in [
            "",
            "p99",
            "p99<5",
            "p98<5ms",
            "p99<0ms",
            "p99<-1ms",
            "p99<5h",
            "p99<NaNms",
            "p99<9999s",
            "<5ms",
        ] {
            assert!(junk.parse::<Slo>().is_err(), "{junk}");
        }
    }

    #[test]
    fn an_offer_is_told_apart_by_parameters_which_can_be_left_out_again() {
        let own = BTreeMap::from([("update_pct".to_string(), "40".to_string())]);
        let mut params = own.clone();
        let slo = "p99<5ms".parse().ok();
        OfferedLoad { per_s: 12.5, arrivals: Arrivals::Uniform, slo }.add_to(&mut params);
        let shown: Vec<String> =
            params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(shown, ["arrivals=uniform", "rate=12.5", "slo=p99<5ms", "update_pct=40"]);
        assert_eq!((rate_of(&params), is_uniform(&params)), (Some("12.5"), true));
        assert_eq!((rate_of(&own), is_uniform(&own)), (None, false));
        assert_eq!(without_offer(&params), own);
    }
}
