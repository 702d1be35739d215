//! Recording of a database's load in a results file: a run of tests of ten minutes, each with its
//! seconds, waits and statements.

use std::collections::BTreeMap;

use super::poller::{IntervalSample, SessionSamples, Wait};
use super::rates::{Peaks, recorded_counters};
use crate::store::{self, Store};
use dbdyno_core::analysis::circumstances;
use dbdyno_core::error::Result;
use dbdyno_core::model::{
    Better, Counters, Disclosure, Drive, EventCount, Kpm, KpmValue, RunKind, RunRecord, RunStatus,
    SeriesPoint, Test, TestResult, Verdict, Waits,
};

/// Workload and group of the recorded load of others.
pub const LIVE: &str = "LIVE";
/// Length of a test in a recording. A crash loses one test at most.
const TEST_S: f64 = 600.0;

/// A recording in progress.
pub struct Recording {
    store: Store,
    run_id: i64,
    tests: u32,
    began: Begin,
    series: Vec<SeriesPoint>,
    grown: Counters,
    session_samples: SessionSamples,
}

/// Start of a test.
struct Begin {
    at: String,
    t_s: f64,
}

/// Database that is recorded.
pub struct Subject {
    /// Target without password.
    pub target: String,
    /// Registry name of the engine.
    pub engine: &'static str,
    /// Facts about the platform.
    pub disclosure: Disclosure,
    /// Command line as typed.
    pub command: String,
    /// Name of the run; none = its number.
    pub name: Option<String>,
}

impl Recording {
    /// Begins a run in the results file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin(mut store: Store, subject: Subject) -> Result<Recording> {
        let run_id = store.begin_run(&record(subject))?;
        let began = Begin { at: store::now(), t_s: 0.0 };
        Ok(Recording {
            store,
            run_id,
            tests: 0,
            began,
            series: Vec::new(),
            grown: Counters::default(),
            session_samples: SessionSamples::default(),
        })
    }

    /// Number of the run.
    pub fn run_id(&self) -> i64 {
        self.run_id
    }

    /// Adds an interval.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, look: &IntervalSample) -> Result<()> {
        self.series.push(point(look, self.began.t_s));
        self.grown.add(&look.grown);
        self.session_samples.add(&look.session_samples);
        if look.t_s - self.began.t_s >= TEST_S { self.store_test(look.t_s) } else { Ok(()) }
    }

    /// Stores what there is and ends the run, as it ended.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn end(mut self, t_s: f64, status: RunStatus) -> Result<()> {
        if !self.series.is_empty() {
            self.store_test(t_s)?;
        }
        self.store.finish_run(self.run_id, status)
    }

    fn store_test(&mut self, t_s: f64) -> Result<()> {
        self.tests += 1;
        let began = std::mem::replace(&mut self.began, Begin { at: store::now(), t_s });
        let mut test = empty_test(self.tests, began.at);
        (test.window_s, test.total_s) = (t_s - began.t_s, t_s - began.t_s);
        let session_samples = std::mem::take(&mut self.session_samples);
        test.waits = Some(waits(session_samples, test.window_s));
        test.counters = std::mem::take(&mut self.grown);
        test.window_counters = test.counters.clone();
        test.series = std::mem::take(&mut self.series);
        dbdyno_core::analysis::fill(&mut test);
        self.store.save_test(self.run_id, &test)
    }
}

fn record(subject: Subject) -> RunRecord {
    RunRecord {
        name: subject.name,
        engine: Some(subject.engine.to_string()),
        suite: "monitor".into(),
        started_at: Some(store::now()),
        status: RunStatus::Running,
        command: subject.command,
        disclosure: subject.disclosure,
        plan: serde_json::json!({}).into(),
        loads: Vec::new(),
        ..RunRecord::new(RunKind::Measured, subject.target)
    }
}

/// A test of a recording, without its figures.
fn empty_test(seq: u32, started_at: String) -> TestResult {
    let unit =
        |value, unit: &str| Kpm { value, unit: unit.into(), better: Better::Higher, scale: 1.0 };
    TestResult {
        seq,
        workload: LIVE.into(),
        group: LIVE.into(),
        title: "what others did".into(),
        hash: LIVE.into(),
        verdict: Verdict::from_reasons(vec![circumstances::recording_reason()]),
        ..TestResult::empty(
            unit(KpmValue::Counter("commits".into()), "tps"),
            Drive::Client,
            started_at,
        )
    }
}

fn point(look: &IntervalSample, began_s: f64) -> SeriesPoint {
    let commits = look.grown.get("commits").unwrap_or(0.0);
    let mut sessions: BTreeMap<String, f64> = BTreeMap::new();
    let all: u64 = look.session_samples.events.values().sum();
    let mean = |count: u64| look.sessions.unwrap_or(0.0) * count as f64 / all.max(1) as f64;
    look.session_samples.events.iter().for_each(|(event, count)| {
        *sessions.entry(event.class.clone()).or_default() += mean(*count)
    });
    sessions.values_mut().for_each(|mean| *mean = (*mean * 100.0).round() / 100.0);
    let round = |s: f64| (s * 1000.0).round() / 1000.0;
    SeriesPoint {
        t_s: round(look.t_s - began_s),
        interval_s: round(look.interval_s),
        ops: commits,
        units: commits,
        in_window: true,
        metrics: recorded_counters(&look.grown).into(),
        sessions: sessions.into_iter().collect(),
        ..SeriesPoint::default()
    }
}

fn waits(session_samples: SessionSamples, window_s: f64) -> Waits {
    let SessionSamples { events, count: samples } = session_samples;
    let all: u64 = events.values().sum();
    let count = |(event, samples): (dbdyno_core::model::Event, u64)| EventCount {
        event,
        samples,
        share: samples as f64 / all.max(1) as f64,
    };
    let mut events: Vec<EventCount> = events.into_iter().map(count).collect();
    events.sort_by_key(|count| std::cmp::Reverse(count.samples));
    Waits {
        period_s: window_s / samples.max(1) as f64,
        samples,
        due: samples,
        sessions: all,
        events,
        ..Waits::default()
    }
}

/// Samples from the seconds of a recording; their rates are as exact as the stored counters.
pub fn interval_samples(tests: &[Test]) -> Vec<IntervalSample> {
    let (mut peaks, mut began_s, mut looks) = (Peaks::default(), 0.0, Vec::new());
    for test in tests.iter().filter_map(Test::measured) {
        looks.extend(test.series.iter().map(|point| interval_sample(point, began_s, &mut peaks)));
        began_s += test.window_s;
    }
    looks
}

fn interval_sample(point: &SeriesPoint, began_s: f64, peaks: &mut Peaks) -> IntervalSample {
    let sessions: f64 = point.sessions.iter().map(|(_, mean)| mean).sum();
    let wait = |(class, mean): (&str, f64)| Wait {
        class: class.to_owned(),
        event: String::new(),
        share: mean / sessions,
    };
    let mut waits: Vec<Wait> = point.sessions.iter().map(wait).collect();
    waits.sort_by(|a, b| b.share.total_cmp(&a.share));
    IntervalSample {
        t_s: began_s + point.t_s,
        interval_s: point.interval_s,
        rates: peaks.rates(&Counters::from(&point.metrics), point.interval_s),
        sessions: Some(sessions),
        waits,
        ..IntervalSample::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::fixture::counters;
    use dbdyno_core::model::{Activity, Event, Status};

    fn sample_at(t_s: f64, commits: f64) -> IntervalSample {
        let event = Event {
            class: "IO".into(),
            name: "WALSync".into(),
            activity: Activity::LogSync,
            background: false,
        };
        let grown =
            counters(&[("commits", commits), ("os_cpu_total_s", 2.0), ("os_cpu_idle_s", 1.0)]);
        IntervalSample {
            t_s,
            interval_s: 1.0,
            sessions: Some(1.5),
            grown,
            session_samples: SessionSamples { events: [(event, 6)].into(), count: 4 },
            ..IntervalSample::default()
        }
    }

    #[test]
    fn a_recording_is_read_back_as_it_was_seen() {
        let mut test = empty_test(1, "2026-01-01T00:00:00Z".into());
        (test.series, test.window_s) = (
            [sample_at(1.0, 50.0), sample_at(2.0, 30.0)]
                .iter()
                .map(|look| point(look, 0.0))
                .collect(),
            2.0,
        );
        let looks = interval_samples(&[Test::from(test.clone()), Test::from(test)]);
        assert_eq!(looks.iter().map(|look| look.t_s).collect::<Vec<_>>(), [1.0, 2.0, 3.0, 4.0]);
        let rates: Vec<_> =
            looks[1].rates.iter().map(|rate| (rate.id, rate.now, rate.peak)).collect();
        assert_eq!(rates, [("commits", 40.0, 50.0), (super::super::rates::CPU, 50.0, 50.0)]);
        assert_eq!(
            (looks[1].sessions, looks[1].waits[0].class.as_str(), looks[1].waits[0].share),
            (Some(1.5), "IO", 1.0)
        );
    }

    #[test]
    fn a_day_of_seconds_fits_in_50_megabytes() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("day.db");
        let subject = Subject {
            target: "any://db".into(),
            engine: "any",
            disclosure: Disclosure::default(),
            command: String::new(),
            name: None,
        };
        let mut recording = Recording::begin(Store::open(&path).unwrap(), subject).unwrap();
        let names = super::super::rates::RATES.iter().map(|rate| (rate.counter, 123_456.789));
        let host = ["os_cpu_total_s", "os_cpu_idle_s", "os_cpu_iowait_s", "os_cpu_steal_s"]
            .map(|name| (name, 1.234_567));
        let grown = counters(&names.chain(host).collect::<Vec<_>>());
        let seconds = 2000;
        for second in 1..=seconds {
            let t_s = f64::from(second) * 1.000_123;
            recording.add(&IntervalSample { grown: grown.clone(), ..sample_at(t_s, 1.0) }).unwrap();
        }
        assert_eq!(recording.tests, 3, "what a crash loses is ten minutes");
        recording.end(f64::from(seconds), RunStatus::Finished).unwrap();
        let tests = Store::open_to_read(&path).unwrap().tests(1).unwrap();
        assert_eq!((tests.len(), interval_samples(&tests).len()), (4, 2000));
        let bytes: u64 = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        let of_a_day = bytes as f64 / f64::from(seconds) * 86_400.0;
        assert!(of_a_day < 50e6, "{of_a_day} bytes");
    }

    #[test]
    fn a_recording_supports_no_statement() {
        let test = empty_test(1, String::new());
        assert_eq!(
            (test.verdict.status, test.verdict.reasons[0].code.as_str()),
            (Status::Conditional, "recorded")
        );
        let waits = waits(sample_at(1.0, 1.0).session_samples, 8.0);
        assert_eq!((waits.sessions, waits.samples, waits.events[0].share), (6, 4, 1.0));
        assert_eq!(waits.period_s, 2.0);
    }
}
