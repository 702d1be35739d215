//! Published figures: which is the KPM, what they are in the columns of dbdyno's reports, and how
//! far they can be trusted.

use crate::model::{
    Better, Kpm, KpmValue, Published, PublishedFigure, PublishedTest, Reason, ReasonCode, Sentence,
    Status, Verdict,
};

/// A metric of publications.
struct Metric {
    name: &'static str,
    /// The derived figure that it is, if it is one.
    figure: Option<DerivedFigure>,
    /// Kind of KPM that the metric can be; none if it can be none.
    kpm: Option<KpmKind>,
}

/// A derived figure that a metric of publications is in other words.
#[derive(Clone, Copy)]
struct DerivedFigure {
    /// Id in `analysis::derive`.
    id: &'static str,
    /// Factor from the unit of the metric to that of the figure.
    factor: f64,
}

/// Kind of KPM of a published metric.
#[derive(Clone, Copy)]
struct KpmKind {
    meaning: Meaning,
    better: Better,
}

/// Source of a KPM of a publication.
#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Ops,
    Rows,
    Units,
    Time,
}

const fn metric(name: &'static str, id: &'static str, factor: f64) -> Metric {
    Metric { name, figure: Some(DerivedFigure { id, factor }), kpm: None }
}

/// A rate; none of the derived figures is it where it has no `id`.
const fn rate(name: &'static str, id: Option<&'static str>, meaning: Meaning) -> Metric {
    let figure = match id {
        Some(id) => Some(DerivedFigure { id, factor: 1.0 }),
        None => None,
    };
    Metric { name, figure, kpm: Some(KpmKind { meaning, better: Better::Higher }) }
}

const fn time(name: &'static str, id: &'static str, factor: f64) -> Metric {
    let kpm = KpmKind { meaning: Meaning::Time, better: Better::Lower };
    Metric { name, figure: Some(DerivedFigure { id, factor }), kpm: Some(kpm) }
}

/// Ends of the names of metrics of which a source gives only a bound.
const LOW: &str = "_low";
const HIGH: &str = "_high";

/// Every metric that has a place in dbdyno's reports, the best KPM first.
const METRICS: &[Metric] = &[
    rate("throughput_qps", Some("ops_per_s"), Meaning::Ops),
    rate("throughput_tps", Some("ops_per_s"), Meaning::Ops),
    rate("scan_rate_mbps", None, Meaning::Units),
    rate("rows_per_s", Some("rows_per_s"), Meaning::Rows),
    rate("ops_per_s", Some("ops_per_s"), Meaning::Ops),
    rate("logical_reads_dbps", Some("logical_reads_per_s"), Meaning::Units),
    rate("phys_read_iops", Some("disk_reads_per_s"), Meaning::Units),
    rate("phys_write_iops", Some("disk_writes_per_s"), Meaning::Units),
    rate("phys_read_mbps", Some("disk_read_mb_per_s"), Meaning::Units),
    rate("phys_write_mbps", Some("disk_write_mb_per_s"), Meaning::Units),
    time("service_time_ms", "service_time_ms", 1.0),
    time("service_time_s", "service_time_ms", 1e3),
    time("response_time_ms", "service_time_ms", 1.0),
    time("elapsed_s", "elapsed_s", 1.0),
    metric("cpu_busy_pct", "cpu_busy_pct", 1.0),
    metric("cpu_user_pct", "cpu_user_pct", 1.0),
    metric("cpu_sys_pct", "cpu_sys_pct", 1.0),
    metric("cpu_idle_pct", "cpu_idle_pct", 1.0),
    metric("cpu_iowait_pct", "cpu_iowait_pct", 1.0),
    metric("throughput_qps_per_cpu", "ops_per_s_job", 1.0),
    metric("scan_rate_mbps_per_cpu", "units_per_s_job", 1.0),
    metric("logical_reads_dbps_per_cpu", "logical_reads_per_s_job", 1.0),
    metric("buffer_cache_hit_pct", "buffer_hit_pct", 1.0),
    metric("flash_cache_hit_pct", "flash_cache_hit_pct", 1.0),
    metric("physical_reads_dbps", "physical_reads_per_s", 1.0),
    metric("phys_total_iops", "disk_io_per_s", 1.0),
    metric("redo_mbps", "redo_mb_per_s", 1.0),
    metric("redo_kb_per_tx", "redo_kb_per_transaction", 1.0),
    metric("log_file_sync_ms", "commit_wait_ms", 1.0),
    metric("io_read_time_ms", "read_service_ms", 1.0),
    metric("dbwr_service_time_ms", "write_service_ms", 1.0),
    metric("row_time_ns", "row_time_ns", 1.0),
    metric("user_data_mbps", "user_data_gb_per_s", 1e-3),
];

/// A doubt about a figure of a publication, by what its note says.
struct Doubt {
    /// Part of the note.
    words: &'static str,
    status: Status,
    code: ReasonCode,
    /// Meaning of the note.
    meaning: &'static str,
}

/// Every doubt that notes express.
const DOUBTS: &[Doubt] = &[
    Doubt {
        words: "misprint in source",
        status: Status::Invalid,
        code: ReasonCode::Misprint,
        meaning: "the source contradicts itself",
    },
    Doubt {
        words: "doubtful",
        status: Status::Conditional,
        code: ReasonCode::Doubtful,
        meaning: "read, but not provable",
    },
    Doubt {
        words: "lower bound",
        status: Status::Conditional,
        code: ReasonCode::LowerBound,
        meaning: "the platform could do more",
    },
    Doubt {
        words: "caution",
        status: Status::Conditional,
        code: ReasonCode::Caution,
        meaning: "inconsistent or untypical, as printed",
    },
    Doubt {
        words: "approximate",
        status: Status::Conditional,
        code: ReasonCode::Approximate,
        meaning: "a statement of the text, rounded",
    },
    Doubt {
        words: "restored",
        status: Status::Valid,
        code: ReasonCode::Restored,
        meaning: "digits recovered by arithmetic or from a second place",
    },
];

/// True if the metric is a rate that can be a KPM.
pub fn is_rate(metric: &str) -> bool {
    let kpm = known(metric).and_then(|known| known.kpm);
    kpm.is_some_and(|kpm| kpm.better == Better::Higher)
}

/// Names of the metrics that have a place in dbdyno's reports.
pub fn metrics() -> impl Iterator<Item = &'static str> {
    METRICS.iter().map(|known| known.name)
}

/// Place in the order of preference as a KPM; none if the metric is not a KPM.
pub fn rank(metric: &str) -> Option<usize> {
    METRICS.iter().position(|known| known.name == metric && known.kpm.is_some())
}

/// The published figure as a KPM definition, if it can be one.
pub fn as_kpm(figure: &PublishedFigure) -> Option<Kpm> {
    let KpmKind { meaning, better } = known(&figure.metric)?.kpm?;
    let value = match meaning {
        Meaning::Ops => KpmValue::Ops,
        Meaning::Rows => KpmValue::Rows,
        Meaning::Units => KpmValue::Units,
        Meaning::Time => KpmValue::ServiceTime,
    };
    Some(Kpm { value, unit: figure.unit.clone(), better, scale: 1.0 })
}

/// The derived figure `id` from the published figures of a test, or the reason why it is absent.
///
/// # Errors
/// The source does not print it.
pub fn derive(published: &Published, id: &str) -> Result<f64, Sentence> {
    let place = |known: &&Metric| known.figure.is_some_and(|figure| figure.id == id);
    let printed = METRICS.iter().filter(place).find_map(|known| {
        let factor = known.figure?.factor;
        // A rate of 0 beside others means that the test does not count it.
        let figure = published.figure(known.name)?;
        Some(figure.value * factor).filter(|value| *value > 0.0 || known.kpm.is_none())
    });
    let bound = || METRICS.iter().filter(place).find_map(|known| bound(published, known.name));
    printed.ok_or_else(|| bound().unwrap_or_else(|| "the source does not print it".into()))
}

/// A sentence about the ends between which a source puts a metric, where it prints no figure.
fn bound(published: &Published, metric: &str) -> Option<Sentence> {
    let end = |side: &str| published.figure(&format!("{metric}{side}"));
    let (low, high) = (end(LOW), end(HIGH));
    let text = match (low, high) {
        (Some(_), Some(_)) => "the source prints a bound only: {low} to {high} {unit}",
        (Some(_), None) => "the source prints a bound only: at least {low} {unit}",
        (None, Some(_)) => "the source prints a bound only: at most {high} {unit}",
        (None, None) => return None,
    };
    let mut sentence = Sentence::new(text).with("unit", low.or(high)?.unit.as_str());
    for (name, end) in [("low", low), ("high", high)] {
        if let Some(figure) = end {
            sentence = sentence.with(name, figure.value);
        }
    }
    Some(sentence)
}

fn known(metric: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|known| known.name == metric)
}

/// Fills the figures of a published test that have fields of their own: KPM, rates, service time,
/// elapsed seconds.
pub fn fill(test: &mut PublishedTest) {
    let published = &test.published;
    let get = |id| derive(published, id).ok().filter(|value| *value > 0.0);
    let kpm = published.kpm.as_deref().and_then(|name| published.figure(name));
    if let Some((figure, kpm)) = kpm.and_then(|figure| Some((figure, as_kpm(figure)?))) {
        (test.kpm, test.kpm_value) = (kpm, Some(figure.value));
    }
    let second = second(published).and_then(|figure| Some((figure.value, as_kpm(figure)?)));
    (test.second_value, test.second) = second.unzip();
    (test.ops_per_s, test.rows_per_s, test.elapsed_s) =
        (get("ops_per_s"), get("rows_per_s"), get("elapsed_s"));
    test.latency.mean_us = derive(published, "service_time_ms").ok().map(|ms| ms * 1000.0);
}

/// The best figure after the KPM: its service time if it is printed, else another rate.
fn second(published: &Published) -> Option<&PublishedFigure> {
    let others =
        || published.figures.iter().filter(|figure| Some(&figure.metric) != published.kpm.as_ref());
    let is_time = |name: &str| {
        let figure = known(name).and_then(|known| known.figure);
        figure.is_some_and(|figure| figure.id == "service_time_ms")
    };
    let time = others().find(|figure| is_time(&figure.metric));
    let rates = others().filter(|figure| is_rate(&figure.metric) && figure.value > 0.0);
    time.or_else(|| rates.min_by_key(|figure| rank(&figure.metric)))
}

/// Reasons against a figure from its notes; `status` is never worse than the note itself means.
pub fn doubts(figure: &PublishedFigure) -> Vec<Reason> {
    let bound = [LOW, HIGH].iter().any(|side| figure.metric.ends_with(side));
    let bound = bound.then(|| {
        let sentence = Sentence::new("{metric}: the source gives only a bound")
            .with("metric", figure.metric.as_str());
        Reason::new(Status::Conditional, ReasonCode::Bound, sentence)
    });
    let parts = figure.note.split("; ").filter_map(|part| {
        let doubt = DOUBTS.iter().find(|doubt| part.contains(doubt.words))?;
        // The note is quoted, and the figure as it is printed.
        let sentence = Sentence::new("{metric} = {value} {unit}: {note} ({meaning})")
            .with("metric", figure.metric.as_str())
            .with("value", figure.value.to_string())
            .with("unit", figure.unit.as_str())
            .with("note", part)
            .with("meaning", Sentence::new(doubt.meaning));
        Some(Reason::new(doubt.status, doubt.code.clone(), sentence))
    });
    bound.into_iter().chain(parts).collect()
}

/// Verdict on a published test: the note of its KPM decides, notes of its other figures are only
/// reported.
pub fn judge(published: &Published, origin: &str, checks: Vec<Reason>) -> Verdict {
    let origin = Sentence::new("published, not measured by us: {origin}").with("origin", origin);
    let origin = Reason::new(Status::Valid, ReasonCode::Published, origin);
    let all = published.figures.iter().flat_map(|figure| {
        let is_kpm = published.kpm.as_ref() == Some(&figure.metric);
        let status = move |doubt: Reason| {
            if is_kpm { doubt } else { Reason { status: Status::Valid, ..doubt } }
        };
        doubts(figure).into_iter().map(status)
    });
    let unstated = published.kpm.is_none();
    let sentence = "the source states no figure that is a KPM here";
    let unstated = unstated.then(|| Reason::new(Status::Conditional, ReasonCode::NoKpm, sentence));
    Verdict::from_reasons(all.chain(unstated).chain(checks).chain([origin]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PublishedKind;

    fn published(figures: &[(&str, f64, &str, &str)], kpm: &str) -> Published {
        let figure = |&(metric, value, unit, note): &(&str, f64, &str, &str)| PublishedFigure {
            metric: metric.into(),
            value,
            unit: unit.into(),
            note: note.into(),
        };
        Published {
            kind: PublishedKind::Point,
            code: "T1".into(),
            description: String::new(),
            place: String::new(),
            nodes: Some(1),
            jobs: Some(4),
            threads: None,
            update_pct: None,
            kpm: Some(kpm.into()),
            figures: figures.iter().map(figure).collect(),
        }
    }

    #[test]
    fn every_metric_stands_once_and_its_figure_is_one_of_ours() {
        let derived = crate::analysis::derive(&crate::analysis::fixture::result().into());
        for (at, metric) in METRICS.iter().enumerate() {
            assert!(METRICS[..at].iter().all(|other| other.name != metric.name), "{}", metric.name);
            assert!(
                metric.figure.is_none_or(|figure| derived.figure(figure.id).is_some()),
                "{}",
                metric.name
            );
        }
    }

    #[test]
    fn figures_come_in_our_units_and_what_is_not_printed_is_unknown() {
        let printed = published(
            &[("service_time_s", 0.000_12, "s", ""), ("rows_per_s", 0.0, "rows/s", "")],
            "service_time_s",
        );
        assert!((derive(&printed, "service_time_ms").unwrap() - 0.12).abs() < 1e-12);
        assert_eq!(derive(&printed, "rows_per_s"), Err("the source does not print it".into()));
        assert!(derive(&printed, "cpu_busy_pct").is_err());
    }

    #[test]
    fn a_note_on_the_kpm_decides_and_one_on_another_figure_is_a_note() {
        let figures = [
            (
                "rows_per_s",
                10.0,
                "rows/s",
                "table 4; lower bound: 20 s timing floor (implied elapsed 21 s)",
            ),
            ("phys_read_iops", 5.0, "IOPS", "run=1 test=2; doubtful: assumed"),
        ];
        let verdict = judge(&published(&figures, "rows_per_s"), "S, suite 1", vec![]);
        let codes: Vec<_> =
            verdict.reasons.iter().map(|reason| (reason.status, reason.code.as_str())).collect();
        let expected = [
            (Status::Conditional, "lower-bound"),
            (Status::Valid, "doubtful"),
            (Status::Valid, "published"),
        ];
        assert_eq!(codes, expected);
        assert_eq!(
            judge(&published(&figures, "phys_read_iops"), "", vec![]).reasons[0].code,
            ReasonCode::Doubtful
        );
    }

    #[test]
    fn a_misprint_is_invalid_and_a_bound_conditional() {
        let misprint = published(
            &[("elapsed_s", 21.0, "s", "misprint in source: seconds instead of kops/s")],
            "elapsed_s",
        );
        assert_eq!(judge(&misprint, "", vec![]).status, Status::Invalid);
        let bound = published(&[("rows_per_s_low", 9000.0, "rows/s", "text")], "rows_per_s_low");
        assert_eq!(judge(&bound, "", vec![]).status, Status::Conditional);
    }
}
