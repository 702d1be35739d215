//! The load profile and the time model of a test: its work per second and per transaction, and the
//! distribution of its time.

use super::cpu::{is_elsewhere, processors};
use super::kpm::counter_per_s;
use super::missing::not_known;
use crate::model::{Activity, Sentence, TestResult, Waits};

/// Line of the load profile that a counter gives.
struct Definition {
    /// Name of the line.
    title: &'static str,
    /// Unit of the counter.
    unit: &'static str,
    /// Name of the counter.
    counter: &'static str,
    /// Factor from the unit of the counter: 1e3 for kB of a counter of bytes.
    scale: f64,
    /// True if the line is shown also where the counter is not known or 0.
    always: bool,
}

/// Lines of the load profile, which a database administrator reads first.
const LOAD: &[Definition] = &[
    Definition { title: "Redo (WAL)", unit: "kB", counter: "wal_bytes", scale: 1e3, always: true },
    Definition {
        title: "Log records",
        unit: "",
        counter: "wal_records",
        scale: 1.0,
        always: false,
    },
    Definition {
        title: "Logical reads",
        unit: "blocks",
        counter: "logical_reads",
        scale: 1.0,
        always: true,
    },
    Definition {
        title: "Block changes",
        unit: "blocks",
        counter: "block_changes",
        scale: 1.0,
        always: true,
    },
    Definition {
        title: "Physical reads",
        unit: "blocks",
        counter: "physical_reads",
        scale: 1.0,
        always: true,
    },
    Definition {
        title: "Physical writes",
        unit: "blocks",
        counter: "blocks_written",
        scale: 1.0,
        always: true,
    },
    Definition {
        title: "Transactions of the database",
        unit: "",
        counter: "commits",
        scale: 1.0,
        always: true,
    },
    Definition { title: "Rollbacks", unit: "", counter: "rollbacks", scale: 1.0, always: false },
    Definition { title: "Log syncs", unit: "", counter: "wal_syncs", scale: 1.0, always: true },
    Definition {
        title: "Index scans",
        unit: "",
        counter: "index_scans",
        scale: 1.0,
        always: false,
    },
    Definition { title: "Full scans", unit: "", counter: "seq_scans", scale: 1.0, always: false },
    Definition {
        title: "Rows fetched through an index",
        unit: "",
        counter: "rows_fetched",
        scale: 1.0,
        always: false,
    },
    Definition {
        title: "Rows inserted",
        unit: "",
        counter: "rows_inserted",
        scale: 1.0,
        always: false,
    },
    Definition {
        title: "Rows updated",
        unit: "",
        counter: "rows_updated",
        scale: 1.0,
        always: false,
    },
    Definition {
        title: "Rows deleted",
        unit: "",
        counter: "rows_deleted",
        scale: 1.0,
        always: false,
    },
    Definition {
        title: "Temporary files",
        unit: "kB",
        counter: "temp_bytes",
        scale: 1e3,
        always: false,
    },
    Definition { title: "Checkpoints", unit: "", counter: "checkpoints", scale: 1.0, always: true },
    Definition {
        title: "Device reads",
        unit: "",
        counter: "os_disk_reads",
        scale: 1.0,
        always: true,
    },
    Definition {
        title: "Device writes",
        unit: "",
        counter: "os_disk_writes",
        scale: 1.0,
        always: true,
    },
    Definition {
        title: "Device reads",
        unit: "kB",
        counter: "os_disk_read_bytes",
        scale: 1e3,
        always: true,
    },
    Definition {
        title: "Device writes",
        unit: "kB",
        counter: "os_disk_write_bytes",
        scale: 1e3,
        always: true,
    },
];

/// A line of the load profile, or why it is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadLine {
    /// Name of the line.
    pub title: &'static str,
    /// Unit of the counter.
    pub unit: &'static str,
    /// Amount per second, or the reason why it is unknown.
    pub per_s: Result<f64, Sentence>,
    /// Per commit that was waited for; per op of a workload that does not commit.
    pub per_transaction: Result<f64, Sentence>,
}

/// The load profile: calls, rows and commits as dbdyno counted them, then the database's and the
/// device's counters.
pub fn load_profile(result: &TestResult) -> Vec<LoadLine> {
    let window = &result.window;
    let ours = [
        ("Calls of ops", window.ops),
        ("Rows", window.rows),
        ("Commits waited for", window.commits),
    ];
    let own = ours.into_iter().map(|(title, count)| {
        let per_op = count as f64 / window.ops as f64;
        line(title, "", finite(per_op * result.ops_per_s), result)
    });
    let counted = LOAD.iter().filter_map(|definition| definition.line(result));
    own.chain(counted).collect()
}

impl Definition {
    /// The line of a result; none where it has nothing to show.
    fn line(&self, result: &TestResult) -> Option<LoadLine> {
        let per_s = counter_per_s(result, self.counter).map(|value| value / self.scale);
        let is_shown = self.always || per_s.is_some_and(|value| value != 0.0);
        let per_s = per_s.ok_or_else(|| not_known(self.counter));
        is_shown.then(|| line(self.title, self.unit, per_s, result))
    }
}

fn line(
    title: &'static str,
    unit: &'static str,
    per_s: Result<f64, Sentence>,
    result: &TestResult,
) -> LoadLine {
    let per_transaction =
        per_s.clone().and_then(|per_s| finite(per_s / transactions_per_s(result)));
    LoadLine { title, unit, per_s, per_transaction }
}

fn finite(value: f64) -> Result<f64, Sentence> {
    if value.is_finite() { Ok(value) } else { Err("nothing to divide by".into()) }
}

fn transactions_per_s(result: &TestResult) -> f64 {
    match result.window.commits {
        0 => result.ops_per_s,
        commits => commits as f64 / result.window.ops as f64 * result.ops_per_s,
    }
}

/// A part of a time that adds up with the others.
#[derive(Debug, Clone, PartialEq)]
pub struct TimePart {
    /// Name of the part.
    pub title: &'static str,
    /// Length of the part, in s.
    pub seconds: f64,
    /// Share of the whole.
    pub share: f64,
}

/// Name of an activity in the time model.
pub fn title(activity: Activity) -> &'static str {
    match activity {
        Activity::Cpu => "CPU, or waiting for a processor",
        Activity::LogSync => "Writing and syncing the log",
        Activity::DataRead => "Reading data",
        Activity::DataWrite => "Writing data",
        Activity::RowLock => "Row locks",
        Activity::Latch => "Latches",
        Activity::Network => "Network within a statement",
        Activity::Other => "Other waits",
    }
}

/// Parts of the session time (jobs x window). CPU time is the kernel's account where there is one,
/// the others by sampling. What no sample saw is a part of its own; processes that work for a job
/// beside its session make it more than that.
pub fn of_jobs(result: &TestResult, waits: &Waits) -> Vec<TimePart> {
    let seconds = |sightings: f64| waits.seconds(sightings, result.window_s);
    let sessions = waits.sessions as f64;
    let whole = (f64::from(result.jobs) * result.window_s).max(seconds(sessions));
    let work = match &waits.processors {
        None => vec![(title(Activity::Cpu), seconds(waits.at(Activity::Cpu)))],
        Some(counted) => {
            let part = |part_s: f64| seconds(sessions * part_s / counted.of_s);
            vec![
                ("On a processor: the server's own code", part(counted.user_s)),
                ("On a processor: the kernel for the server", part(counted.kernel_s)),
                ("Waiting for a processor", part(counted.queued_s)),
            ]
        }
    };
    let others = Activity::ALL.into_iter().filter(|activity| *activity != Activity::Cpu);
    let waited = others.map(|activity| (title(activity), seconds(waits.at(activity))));
    let mut all: Vec<_> = work.into_iter().chain(waited).collect();
    all.push(("Waiting for the client", seconds(waits.at_rest())));
    let seen: f64 = all.iter().map(|(_, seconds)| seconds).sum();
    all.push(("Not seen: between two sessions, or ended", whole - seen));
    parts(all.into_iter(), whole)
}

/// Parts of the host's CPU time in the window; none where it is unknown.
pub fn of_processors(result: &TestResult) -> Vec<TimePart> {
    let Some(whole) = processors(result).and_then(|_| result.window_counters.get("os_cpu_total_s"))
    else {
        return Vec::new();
    };
    let counter = |name: &str| result.window_counters.get(name);
    let sampler = result.waits.as_ref().and_then(|waits| {
        let cost = waits.cost;
        Some(cost.server_cpu_s? / cost.elapsed_s * result.window_s)
            .filter(|seconds| seconds.is_finite())
    });
    let database = counter("server_cpu_s").map(|seconds| seconds - sampler.unwrap_or(0.0));
    let known: Vec<(&'static str, Option<f64>)> = vec![
        ("The database", database),
        ("The session that samples, in the database", sampler),
        ("dbdyno", counter("self_cpu_s").filter(|_| !is_elsewhere(result))),
        ("Other programs", counter("os_cpu_foreign_s").map(|seconds| seconds.max(0.0))),
        ("Taken by the host of a virtual machine", counter("os_cpu_steal_s")),
        ("Idle, waiting for the device", counter("os_cpu_iowait_s")),
        ("Idle", counter("os_cpu_idle_s")),
    ];
    let known: Vec<_> =
        known.into_iter().filter_map(|(title, seconds)| Some((title, seconds?))).collect();
    let rest = whole - known.iter().map(|(_, seconds)| seconds).sum::<f64>();
    let title = match is_elsewhere(result) {
        true => "At work: the database and all others",
        false => "The kernel, and what nobody counts",
    };
    parts(known.into_iter().chain([(title, rest)]), whole)
}

fn parts(parts: impl Iterator<Item = (&'static str, f64)>, whole: f64) -> Vec<TimePart> {
    let part =
        |(title, seconds): (&'static str, f64)| TimePart { title, seconds, share: seconds / whole };
    // Clocks differ: a rest below nothing is an error of theirs, and no time of anybody.
    parts.filter(|(_, seconds)| *seconds > 1e-9).map(part).collect()
}

/// Seconds that sessions of jobs waited for a processor: as the kernel counted them, else by the
/// difference of two accounts, those at work by sampling and the processor time of the database.
/// Never less than nothing; absent where that is not known.
pub fn waiting_for_processor_s(result: &TestResult) -> Option<f64> {
    let waits = result.waits.as_ref().filter(|waits| waits.samples > 0)?;
    if let Some(queued) = waits.queued() {
        return Some(waits.seconds(waits.sessions as f64 * queued, result.window_s));
    }
    let used_s = result.window_counters.get("server_cpu_s")?;
    Some((waits.seconds(waits.at(Activity::Cpu), result.window_s) - used_s).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Event, EventCount, ProcessorTime};

    fn waits() -> Waits {
        let event = |activity, samples| EventCount {
            event: Event { class: "c".into(), name: "n".into(), activity, background: false },
            samples,
            share: 0.0,
        };
        let events = vec![event(Activity::Cpu, 100), event(Activity::LogSync, 60)];
        Waits { samples: 100, sessions: 190, idle: 30, events, ..Waits::default() }
    }

    #[test]
    fn the_time_of_jobs_adds_up_and_what_was_not_seen_is_said() {
        let result = fixture::result(); // 2 jobs for 10 s
        let parts = of_jobs(&result, &waits());
        let found: Vec<(&str, f64)> = parts.iter().map(|part| (part.title, part.seconds)).collect();
        let expected = [
            ("CPU, or waiting for a processor", 10.0),
            ("Writing and syncing the log", 6.0),
            ("Waiting for the client", 3.0),
            ("Not seen: between two sessions, or ended", 1.0),
        ];
        assert_eq!(found, expected);
        assert!((parts.iter().map(|part| part.share).sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_the_kernel_counted_of_processors_is_not_estimated() {
        let mut result = fixture::result(); // 2 jobs for 10 s
        let processors = ProcessorTime { of_s: 9.5, user_s: 2.0, kernel_s: 1.0, queued_s: 0.8 };
        let waits = Waits { processors: Some(processors), ..waits() };
        let parts = of_jobs(&result, &waits);
        let found: Vec<(&str, f64)> =
            parts.iter().map(|part| (part.title, part.seconds.round())).collect();
        let expected = [
            ("On a processor: the server's own code", 4.0),
            ("On a processor: the kernel for the server", 2.0),
            ("Waiting for a processor", 2.0),
            ("Writing and syncing the log", 8.0),
            ("Waiting for the client", 4.0),
            ("Not seen: between two sessions, or ended", 1.0),
        ];
        assert_eq!(found, expected);
        assert!((parts.iter().map(|part| part.share).sum::<f64>() - 1.0).abs() < 1e-9);
        result.waits = Some(waits);
        assert!((waiting_for_processor_s(&result).unwrap() - 1.6).abs() < 1e-9);
    }

    #[test]
    fn processors_that_work_for_a_job_beside_its_session_make_the_whole_more() {
        let result = fixture::result();
        let mut waits = waits();
        waits.events[0].samples = 300;
        waits.sessions = 390;
        let parts = of_jobs(&result, &waits);
        assert!(
            (parts.iter().map(|part| part.seconds).sum::<f64>() - 39.0).abs() < 1e-9,
            "{parts:?}"
        );
    }

    #[test]
    fn the_time_of_processors_adds_up() {
        let mut result = fixture::result();
        let host = [
            ("os_cpu_total_s", 40.0),
            ("server_cpu_s", 12.0),
            ("self_cpu_s", 2.0),
            ("os_cpu_idle_s", 20.0),
        ];
        result.window_counters = fixture::counters(&host);
        let parts = of_processors(&result);
        assert_eq!(
            parts.last().map(|part| (part.title, part.seconds)),
            Some(("The kernel, and what nobody counts", 6.0))
        );
        assert!((parts.iter().map(|part| part.share).sum::<f64>() - 1.0).abs() < 1e-9, "{parts:?}");
        result.window_counters.set("server_cpu_s", 18.5);
        let parts = of_processors(&result);
        assert!(parts.iter().all(|part| part.seconds > 0.0), "no time is negative: {parts:?}");
        assert_eq!(of_processors(&fixture::result()), []);
        result.waits = Some(waits());
        assert_eq!(waiting_for_processor_s(&result), Some(0.0));
        result.window_counters.set("server_cpu_s", 4.0);
        assert_eq!(waiting_for_processor_s(&result), Some(6.0));
    }

    #[test]
    fn the_load_profile_is_per_second_and_per_transaction() {
        let mut result = fixture::result(); // 10,000 ops/s
        result.window.commits = 50_000; // of 100,000 ops
        result.counters = fixture::counters(&[("wal_bytes", 120_000_000.0), ("rows_deleted", 0.0)]);
        let lines = load_profile(&result);
        let find = |title: &str| lines.iter().find(|line| line.title == title);
        let redo = find("Redo (WAL)").unwrap();
        assert_eq!((redo.per_s.clone(), redo.per_transaction.clone()), (Ok(10_000.0), Ok(2.0)));
        assert_eq!(find("Logical reads").unwrap().per_s, Err(not_known("logical_reads")));
        assert!(find("Rows deleted").is_none());
        assert_eq!(find("Commits waited for").unwrap().per_s, Ok(5000.0));
    }
}
