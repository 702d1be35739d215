//! Metrics of the monitor's last interval.

use super::open_metrics::{Family, Kind, Labels, Page};
use super::poller::IntervalSample;
use super::rates::{CPU, RATES, Rate};
use super::run_metrics;

const TARGET: Family =
    Family { name: "dbdyno_monitor", kind: Kind::Info, help: "The database that is watched." };
const NOW: Family = Family {
    name: "dbdyno_live_rate",
    kind: Kind::Gauge,
    help: "What the database does, in the unit of the KPM.",
};
const PEAK: Family = Family {
    name: "dbdyno_live_peak",
    kind: Kind::Gauge,
    help: "The highest rate since the monitor began.",
};
const USED: Family = Family {
    name: "dbdyno_live_used_ratio",
    kind: Kind::Gauge,
    help: "Share of the platform's measured maximum, with the verdict on that.",
};
const TIMES: Family = Family {
    name: "dbdyno_live_limit_load",
    kind: Kind::Gauge,
    help: "How many times this load reaches the component that comes first.",
};
const BUSY: Family = Family {
    name: "dbdyno_live_cpu_busy_ratio",
    kind: Kind::Gauge,
    help: "Share of the host's CPUs that is busy.",
};
const SESSIONS: Family = Family {
    name: "dbdyno_live_sessions",
    kind: Kind::Gauge,
    help: "Sessions at work or waiting, by class of event.",
};

/// All metric families of a live database, except that of the build.
pub const FAMILIES: [&Family; 7] = [&TARGET, &NOW, &PEAK, &USED, &TIMES, &BUSY, &SESSIONS];

/// A look in the text format.
pub fn text(target: &str, look: &IntervalSample) -> String {
    let mut page = Page::default();
    run_metrics::add_build(&mut page);
    page.add(&TARGET, [(vec![("target", target.to_string())], 1.0)]);
    let rates = || look.rates.iter().filter(|rate| rate.id != CPU);
    page.add(&NOW, rates().map(|rate| (labels(rate), rate.now)));
    page.add(&PEAK, rates().map(|rate| (labels(rate), rate.peak)));
    let used = |rate: &Rate| {
        let covered = rate.against.as_ref()?;
        let labels = vec![("kpm", rate.id.to_string()), ("verdict", covered.status.to_string())];
        Some((labels, covered.used))
    };
    page.add(&USED, look.rates.iter().filter_map(used));
    let limit = |limit: &super::baseline::Limit| {
        (vec![("component", limit.component.to_string())], limit.at_times)
    };
    page.add(&TIMES, look.limit.iter().map(limit));
    let busy = look.rates.iter().filter(|rate| rate.id == CPU);
    page.add(&BUSY, busy.map(|rate| (Labels::new(), rate.now / 100.0)));
    let mut classes = std::collections::BTreeMap::<&str, u64>::new();
    look.session_samples
        .events
        .iter()
        .for_each(|(event, count)| *classes.entry(&event.class).or_default() += count);
    let mean = |count: u64| count as f64 / look.session_samples.count.max(1) as f64;
    page.add(
        &SESSIONS,
        classes.iter().map(|(class, count)| (vec![("class", class.to_string())], mean(*count))),
    );
    page.end()
}

fn labels(rate: &Rate) -> Labels {
    let kpm = RATES.iter().find(|known| known.id == rate.id).map_or(rate.id, |known| known.id);
    vec![("kpm", kpm.to_string()), ("unit", rate.unit.to_string())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::baseline::{Coverage, Limit};
    use dbdyno_core::model::Status;

    #[test]
    fn a_look_is_told_with_its_rates_and_the_limit() {
        let rate =
            |id, now| Rate { id, title: "", unit: "tps", now, peak: 2.0 * now, against: None };
        let limit = Some(Limit { component: "log writer", used: 0.4, at_times: 2.5 });
        let look = IntervalSample {
            rates: vec![rate("commits", 10.0), rate(CPU, 50.0)],
            limit,
            ..IntervalSample::default()
        };
        let text = text("any://db", &look);
        for line in [
            "dbdyno_monitor_info{target=\"any://db\"} 1",
            "dbdyno_live_rate{kpm=\"commits\",unit=\"tps\"} 10",
            "dbdyno_live_peak{kpm=\"commits\",unit=\"tps\"} 20",
            "dbdyno_live_limit_load{component=\"log writer\"} 2.5",
            "dbdyno_live_cpu_busy_ratio 0.5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}:\n{text}");
        }
        assert!(!text.contains("dbdyno_live_used_ratio"), "what is not known is not told");
    }

    #[test]
    fn a_share_of_a_conditional_maximum_says_so() {
        let status = Status::Conditional;
        let covered = Coverage {
            measured: 40.0,
            workload: "Q".into(),
            jobs: 4,
            status,
            used: 0.25,
            half_width: None,
        };
        let commits = Rate {
            id: "commits",
            title: "",
            unit: "tps",
            now: 10.0,
            peak: 10.0,
            against: Some(covered),
        };
        let look = IntervalSample { rates: vec![commits], ..IntervalSample::default() };
        let line = "dbdyno_live_used_ratio{kpm=\"commits\",verdict=\"conditional\"} 0.25";
        let text = text("any://db", &look);
        assert!(text.lines().any(|found| found == line), "{text}");
    }
}
