//! Rates of a database per second, in the units of the reports: from counters, with the highest
//! seen so far.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use super::baseline::Coverage;
use dbdyno_core::analysis::cpu;
use dbdyno_core::model::Counters;

/// A counter that is shown as a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Definition {
    /// Identifier in JSON, in recordings and in names of metrics.
    pub id: &'static str,
    /// Name of the row.
    pub title: &'static str,
    /// Unit of the rate: `MB/s`.
    pub unit: &'static str,
    /// Name in `docs/counters.md`.
    pub counter: &'static str,
    /// From the counter per second to the unit.
    pub scale: f64,
    /// Component that the rate uses up as it grows. None if it does not grow with the load: commits
    /// share a sync, changed blocks are written when it suits the database.
    pub component: Option<&'static str>,
}

/// Every rate, in the order shown.
pub const RATES: [Definition; 9] = [
    Definition {
        id: "commits",
        title: "Commits",
        unit: "tps",
        counter: "commits",
        scale: 1.0,
        component: Some("transactions"),
    },
    Definition {
        id: "logical_reads",
        title: "Logical reads",
        unit: "dbps",
        counter: "logical_reads",
        scale: 1.0,
        component: Some("buffer cache"),
    },
    Definition {
        id: "physical_reads",
        title: "Physical reads",
        unit: "iops",
        counter: "physical_reads",
        scale: 1.0,
        component: Some("reads from files"),
    },
    Definition {
        id: "device_reads",
        title: "Device reads",
        unit: "iops",
        counter: "os_disk_reads",
        scale: 1.0,
        component: Some("device"),
    },
    Definition {
        id: "redo",
        title: "REDO",
        unit: "MB/s",
        counter: "wal_bytes",
        scale: 1e-6,
        component: Some("log writer"),
    },
    Definition {
        id: "log_syncs",
        title: "Log syncs",
        unit: "1/s",
        counter: "wal_syncs",
        scale: 1.0,
        component: None,
    },
    Definition {
        id: "blocks_written",
        title: "Blocks written",
        unit: "dbps",
        counter: "blocks_written",
        scale: 1.0,
        component: None,
    },
    Definition {
        id: "device_writes",
        title: "Device writes",
        unit: "iops",
        counter: "os_disk_writes",
        scale: 1.0,
        component: None,
    },
    Definition {
        id: "temporary",
        title: "Temporary files",
        unit: "MB/s",
        counter: "temp_bytes",
        scale: 1e-6,
        component: None,
    },
];

/// Id of the row of the processors.
pub const CPU: &str = "cpu_busy";

/// A row of the monitor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// Identifier in JSON, see [`Definition::id`].
    pub id: &'static str,
    /// Name of the row.
    pub title: &'static str,
    /// Unit of all its values: `MB/s`.
    pub unit: &'static str,
    /// Mean of the last intervals, at most five.
    pub now: f64,
    /// The highest so far.
    pub peak: f64,
    /// Measured maximum of the platform; absent if no test covers the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Coverage>,
}

/// Number of intervals that a rate is the mean of: sessions of some servers report their counts
/// once a second.
const OVER: usize = 5;

/// The last intervals, and the highest rates so far, by id.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Peaks {
    last: VecDeque<(Counters, f64)>,
    highest: BTreeMap<&'static str, f64>,
}

impl Peaks {
    /// The rates after an interval of so many seconds in which the counters grew by `grown`. A
    /// counter that fell was reset: its rate is not known.
    pub fn rates(&mut self, grown: &Counters, interval_s: f64) -> Vec<Rate> {
        self.last.push_back((grown.clone(), interval_s));
        let too_many = self.last.len().saturating_sub(OVER);
        self.last.drain(..too_many);
        let mut sum = Counters::default();
        self.last.iter().for_each(|(grown, _)| sum.add(grown));
        sum.0.retain(|name, _| grown.get(name).is_some());
        let over_s = self.last.iter().map(|(_, s)| s).sum();
        self.means(&sum, over_s)
    }

    /// Mean of a counter per second over the last intervals; none if it is not known in the last
    /// one, or was reset.
    pub fn per_s(&self, counter: &str) -> Option<f64> {
        self.last.back()?.0.get(counter)?;
        let grown: f64 = self.last.iter().filter_map(|(grown, _)| grown.get(counter)).sum();
        let over_s: f64 = self.last.iter().map(|(_, s)| s).sum();
        Some(grown / over_s).filter(|per_s| is_rate(*per_s))
    }

    fn means(&mut self, grown: &Counters, interval_s: f64) -> Vec<Rate> {
        let per_s = |definition: &Definition| {
            Some(grown.get(definition.counter)? / interval_s * definition.scale)
        };
        let rates = RATES.iter().map(|rate| row(rate.id, rate.title, rate.unit, per_s(rate)));
        let busy = row(CPU, "CPU busy", "%", cpu::busy_pct(grown).ok());
        let mut rows: Vec<Rate> = rates.chain([busy]).flatten().collect();
        for row in &mut rows {
            let peak = self.highest.entry(row.id).or_insert(row.now);
            *peak = peak.max(row.now);
            row.peak = *peak;
        }
        rows
    }
}

/// A row whose peak is its value now; none if that is not known.
fn row(
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    now: Option<f64>,
) -> Option<Rate> {
    let now = now.filter(|now| is_rate(*now))?;
    Some(Rate { id, title, unit, now, peak: now, against: None })
}

fn is_rate(now: f64) -> bool {
    now.is_finite() && now >= 0.0
}

/// Counters that a recording keeps of each interval: those that rates and waits are made of, with
/// four significant digits.
pub fn recorded_counters(grown: &Counters) -> Counters {
    let wanted = |name: &str| RATES.iter().any(|rate| rate.counter == name) || HOST.contains(&name);
    let known = grown.0.iter().filter(|(name, _)| wanted(name));
    Counters(known.map(|(name, value)| (name.clone(), round_to_four_digits(*value))).collect())
}

/// Counters from which [`cpu::busy_pct`] is computed.
const HOST: [&str; 4] = ["os_cpu_total_s", "os_cpu_idle_s", "os_cpu_iowait_s", "os_cpu_steal_s"];

fn round_to_four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::counters;

    #[test]
    fn rates_are_per_second_and_peaks_stay() {
        let mut peaks = Peaks::default();
        let grown = |commits, wal| counters(&[("commits", commits), ("wal_bytes", wal)]);
        peaks.rates(&grown(500.0, 4e6), 2.0);
        let rates = peaks.rates(&grown(100.0, -5e6), 1.0);
        let rates: Vec<_> = rates.iter().map(|rate| (rate.id, rate.now, rate.peak)).collect();
        assert_eq!(rates, [("commits", 200.0, 250.0)], "a log that shrank is another one");
        let last = (0..5).map(|_| peaks.rates(&grown(30.0, 3e6), 1.0)).last().unwrap();
        assert_eq!(
            (last[0].now, last[1].unit, last[1].now, last[1].peak),
            (30.0, "MB/s", 3.0, 3.0)
        );
    }

    #[test]
    fn a_counter_per_second_is_that_of_the_last_intervals_as_long_as_it_is_known() {
        let mut peaks = Peaks::default();
        assert_eq!(peaks.per_s("server_cpu_s"), None);
        peaks.rates(&counters(&[("server_cpu_s", 3.0)]), 2.0);
        peaks.rates(&counters(&[("server_cpu_s", 5.0)]), 2.0);
        assert_eq!(peaks.per_s("server_cpu_s"), Some(2.0));
        peaks.rates(&counters(&[("server_cpu_s", -20.0)]), 2.0);
        assert_eq!(peaks.per_s("server_cpu_s"), None, "it was reset");
        peaks.rates(&counters(&[]), 2.0);
        assert_eq!(peaks.per_s("server_cpu_s"), None);
    }

    #[test]
    fn busy_processors_are_a_row_of_their_own() {
        let grown = counters(&[("os_cpu_total_s", 2.0), ("os_cpu_idle_s", 1.5)]);
        let rates = Peaks::default().rates(&grown, 1.0);
        assert_eq!((rates[0].id, rates[0].now), (CPU, 25.0));
    }

    #[test]
    fn a_recording_keeps_little() {
        let grown =
            counters(&[("commits", 123_456.0), ("index_scans", 7.0), ("os_cpu_idle_s", 1.0)]);
        assert_eq!(
            recorded_counters(&grown),
            counters(&[("commits", 123_500.0), ("os_cpu_idle_s", 1.0)])
        );
    }
}
