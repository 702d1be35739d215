//! A load over time: phases in which the rate of an open loop rises, stays, jumps or runs like a
//! day.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::quote;
use crate::stats::arrivals::{LoadOverTime, RateCurve, Stretch};

/// Straight pieces of a day: the rate of none differs from half a sine by more than 0.04 % of its
/// height.
const PIECES_OF_A_DAY: u32 = 64;
/// More phases than anybody reads.
const MAX_PHASES: usize = 50;
/// More ops per second are a typing error.
const MAX_PER_S: f64 = 1e9;
/// Shortest and longest phase, in s: a shorter one cannot be distinguished from its neighbors, a
/// longer one is a typing error.
const MIN_PHASE_S: f64 = 0.5;
const MAX_PHASE_S: f64 = 1e6;
const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// A rate over time as typed: `ramp 100..2000 60s; hold 2000 60s; spike 6000 5s; hold 2000 60s`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RateProfile {
    /// One after the other, at least one.
    pub phases: Vec<RatePhase>,
}

/// A phase of a load over time; rates are ops per second of all jobs together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RatePhase {
    /// Shape of the rate within the phase.
    pub kind: PhaseKind,
    /// Rate at its begin; for a day, at night.
    pub from_per_s: f64,
    /// Rate at its end; of a day at noon.
    pub to_per_s: f64,
    /// Length of the phase, in s.
    pub length_s: f64,
}

/// Shape of the rate in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PhaseKind {
    /// The rate grows, or falls, evenly.
    Ramp,
    /// The rate stays constant.
    Hold,
    /// The rate stays, for a short time, at a level that the platform need not keep up with.
    Spike,
    /// Half a sine, from night over noon to night.
    Day,
}

impl PhaseKind {
    const ALL: [(PhaseKind, &'static str); 4] = [
        (PhaseKind::Ramp, "ramp"),
        (PhaseKind::Hold, "hold"),
        (PhaseKind::Spike, "spike"),
        (PhaseKind::Day, "day"),
    ];

    /// Name as typed.
    pub fn name(self) -> &'static str {
        PhaseKind::ALL.iter().find(|(own, _)| *own == self).map_or("", |(_, name)| name)
    }

    /// True if the rate at the begin of the phase differs from that later.
    fn changes(self) -> bool {
        matches!(self, PhaseKind::Ramp | PhaseKind::Day)
    }
}

impl RatePhase {
    /// The rate with which it ends.
    pub fn last_per_s(&self) -> f64 {
        match self.kind {
            PhaseKind::Day => self.from_per_s,
            PhaseKind::Ramp | PhaseKind::Hold | PhaseKind::Spike => self.to_per_s,
        }
    }

    /// Straight pieces of the phase.
    fn stretches(&self) -> Vec<Stretch> {
        if self.kind != PhaseKind::Day {
            let RatePhase { from_per_s, to_per_s, length_s, .. } = *self;
            return vec![Stretch { length_s, from_per_s, to_per_s }];
        }
        let at = |piece: u32| {
            let angle = std::f64::consts::PI * f64::from(piece) / f64::from(PIECES_OF_A_DAY);
            self.from_per_s + (self.to_per_s - self.from_per_s) * angle.sin().max(0.0)
        };
        let length_s = self.length_s / f64::from(PIECES_OF_A_DAY);
        let piece = |piece| Stretch { length_s, from_per_s: at(piece), to_per_s: at(piece + 1) };
        (0..PIECES_OF_A_DAY).map(piece).collect()
    }

    fn mean_per_s(&self) -> f64 {
        RateCurve::new(&self.stretches()).due_by(self.length_s) / self.length_s
    }
}

impl RateProfile {
    /// Seconds of all phases.
    pub fn length_s(&self) -> f64 {
        self.phases.iter().map(|phase| phase.length_s).sum()
    }

    /// Mean rate of the phase.
    pub fn mean_per_s(&self) -> f64 {
        self.load(0.0).curve.due_by(self.length_s()) / self.length_s()
    }

    /// Rate of a warm-up before the phases: that at the begin of the first; its mean if it begins
    /// at 0.
    fn warmup_per_s(&self) -> f64 {
        let Some(first) = self.phases.first() else { return 0.0 };
        if first.from_per_s > 0.0 { first.from_per_s } else { first.mean_per_s() }
    }

    /// Rate and edges of the phases, after a warm-up of `warmup_s`.
    pub fn load(&self, warmup_s: f64) -> LoadOverTime {
        let per_s = self.warmup_per_s();
        let warmup = Stretch { length_s: warmup_s, from_per_s: per_s, to_per_s: per_s };
        let stretches: Vec<Stretch> = std::iter::once(warmup)
            .filter(|warmup| warmup.length_s > 0.0)
            .chain(self.phases.iter().flat_map(RatePhase::stretches))
            .collect();
        let ends_s = self.phases.iter().scan(warmup_s, |end_s, phase| {
            *end_s += phase.length_s;
            Some(*end_s)
        });
        let edges_s = std::iter::once(warmup_s).chain(ends_s).collect();
        LoadOverTime { curve: RateCurve::new(&stretches), edges_s }
    }
}

/// One rate of a phase.
fn rate(text: &str, phase: &str, least_per_s: f64) -> Result<f64, String> {
    let per_s = text.parse::<f64>().ok().filter(|per_s| per_s.is_finite());
    let per_s = per_s.ok_or_else(|| {
        format!("{}: {} is not a rate; write ops per second, as 2000", quote(phase), quote(text))
    })?;
    if per_s < least_per_s || per_s > MAX_PER_S || (per_s == 0.0 && least_per_s > 0.0) {
        return Err(format!("{}: a rate is above 0 and at most {MAX_PER_S}", quote(phase)));
    }
    Ok(per_s)
}

/// The length of a phase in s.
fn length_s(text: &str, phase: &str) -> Result<f64, String> {
    let length_s = UNITS
        .iter()
        .find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.parse::<f64>().ok()? * factor));
    let is_possible = |length_s: &f64| (MIN_PHASE_S..=MAX_PHASE_S).contains(length_s);
    length_s.filter(is_possible).ok_or_else(|| {
        format!("{}: a phase lasts from 500ms to 1000000s; write 60s or 10m", quote(phase))
    })
}

impl FromStr for RatePhase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let name = words.first().copied().unwrap_or_default();
        let Some((kind, _)) = PhaseKind::ALL.iter().copied().find(|(_, known)| *known == name)
        else {
            return Err(format!(
                "{} is not a shape of a phase; write ramp, hold, spike or day",
                quote(name)
            ));
        };
        let example = match kind {
            PhaseKind::Ramp => "ramp 100..2000 60s",
            PhaseKind::Hold => "hold 2000 60s",
            PhaseKind::Spike => "spike 6000 5s",
            PhaseKind::Day => "day 200..2000 10m",
        };
        let unlike = || format!("{} is not a phase; write '{example}'", quote(text));
        let [_, rates, length] = words[..] else { return Err(unlike()) };
        // A ramp or a night may be without load; a phase without any is a pause, not a load.
        let (from_per_s, to_per_s) = match (rates.split_once(".."), kind.changes()) {
            (Some((from, to)), true) => (rate(from, text, 0.0)?, rate(to, text, 0.0)?),
            (None, false) => {
                let per_s = rate(rates, text, f64::MIN_POSITIVE)?;
                (per_s, per_s)
            }
            (Some(_), false) | (None, true) => return Err(unlike()),
        };
        if from_per_s + to_per_s == 0.0 {
            return Err(format!("{}: a rate is above 0 and at most {MAX_PER_S}", quote(text)));
        }
        Ok(RatePhase { kind, from_per_s, to_per_s, length_s: length_s(length, text)? })
    }
}

impl FromStr for RateProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let phases = text.split(';').map(str::trim).filter(|phase| !phase.is_empty());
        let phases: Vec<RatePhase> = phases.map(str::parse).collect::<Result<_, _>>()?;
        if phases.is_empty() || phases.len() > MAX_PHASES {
            return Err(format!("a profile has 1 to {MAX_PHASES} phases with ';' between them"));
        }
        Ok(RateProfile { phases })
    }
}

impl fmt::Display for RatePhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RatePhase { kind, from_per_s, to_per_s, length_s } = self;
        if kind.changes() {
            write!(f, "{} {from_per_s}..{to_per_s} {length_s}s", kind.name())
        } else {
            write!(f, "{} {from_per_s} {length_s}s", kind.name())
        }
    }
}

impl fmt::Display for RateProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phases: Vec<String> = self.phases.iter().map(RatePhase::to_string).collect();
        f.write_str(&phases.join("; "))
    }
}

impl TryFrom<String> for RateProfile {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<RateProfile> for String {
    fn from(profile: RateProfile) -> String {
        profile.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_written_as_it_is_read_and_tells_its_edges() {
        let text = "ramp 100..2000 60s; hold 2000 60s; spike 6000 5s; day 200..2000 600s";
        let profile: RateProfile = text.parse().unwrap();
        assert_eq!(profile.to_string(), text);
        assert_eq!(profile.load(10.0).edges_s, [10.0, 70.0, 130.0, 135.0, 735.0]);
        assert_eq!("hold 5 2m".parse::<RateProfile>().unwrap().length_s(), 120.0);
        assert_eq!(" spike 5 500ms ;".parse::<RateProfile>().unwrap().length_s(), 0.5);
        // The warm-up is no phase, and has the rate of the start.
        assert_eq!(profile.load(10.0).curve.due_by(10.0), 1000.0);
        let from_nothing: RateProfile = "ramp 0..300 10s".parse().unwrap();
        assert_eq!(from_nothing.load(2.0).curve.due_by(2.0), 300.0);
    }

    #[test]
    fn a_day_has_the_integral_of_half_a_sine() {
        let day: RateProfile = "day 200..2000 10m".parse().unwrap();
        let mean = 200.0 + 1800.0 * 2.0 / std::f64::consts::PI;
        assert!((day.mean_per_s() / mean - 1.0).abs() < 4e-4, "{}", day.mean_per_s());
        let curve = day.load(0.0).curve;
        for t_s in [30.0, 150.0, 300.0, 421.0, 600.0] {
            let angle = std::f64::consts::PI * t_s / 600.0;
            let sine = 200.0 * t_s + 1800.0 * 600.0 / std::f64::consts::PI * (1.0 - angle.cos());
            assert!((curve.due_by(t_s) - sine).abs() < 4e-4 * 1800.0 * t_s, "{t_s}");
        }
    }

    #[test]
    fn what_is_no_profile_is_told_in_one_line_with_what_is_wrong() {
        for (text, wrong) in [
            ("", "1 to 50 phases"),
            (";", "1 to 50 phases"),
            ("jump 5 5s", "'jump' is not a shape"),
            ("hold 5", "write 'hold 2000 60s'"),
            ("hold 5 5", "a phase lasts"),
            ("hold 5 0s", "a phase lasts"),
            ("hold 5 -3s", "a phase lasts"),
            ("hold 5 infs", "a phase lasts"),
            ("hold 5..6 5s", "write 'hold 2000 60s'"),
            ("ramp 5 5s", "write 'ramp 100..2000 60s'"),
            ("hold 0 5s", "a rate is above 0"),
            ("ramp 0..0 5s", "a rate is above 0"),
            ("hold -1 5s", "a rate is above 0"),
            ("ramp 5..-1 5s", "a rate is above 0"),
            ("spike 1e10 5s", "a rate is above 0"),
            ("hold NaN 5s", "'NaN' is not a rate"),
            ("hold many 5s", "'many' is not a rate"),
        ] {
            let said = text.parse::<RateProfile>().unwrap_err();
            assert!(said.contains(wrong) && !said.contains('\n'), "{text}: {said}");
        }
        let many = ["hold 5 5s"; 51].join(";");
        assert!(many.parse::<RateProfile>().is_err());
    }
}
