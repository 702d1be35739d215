//! The formulas of the derived figures, from what a test counted.

use super::{BLOCK_BYTES, Value};
use crate::analysis::kpm::{self, OP_MB, THREADS_USED, counter_per_s, mean_service_s};
use crate::analysis::missing::not_known;
use crate::analysis::tiers::{self, DEVICE_READ_BYTES, Tiers, device_read_bytes};
use crate::model::params::{IDLE_SESSION_BYTES, IDLE_SESSIONS};
use crate::model::{Activity, Connects, EventCount, Sentence, TestResult};

/// The value of a counter, or that it is not known.
fn known(value: Option<f64>, name: &str) -> Value {
    value.ok_or_else(|| not_known(name))
}

/// Percent of the true neighbors that the ops found.
pub(super) fn recall_pct(result: &TestResult) -> Value {
    let recall = kpm::recall(result).map(|share| 100.0 * share);
    recall.ok_or_else(|| "its ops do not search for neighbors".into())
}

/// Mean time of a part of the window's connections.
pub(super) fn connect_ms(result: &TestResult, part: fn(&Connects) -> f64) -> Value {
    let all = &result.window.connects;
    match all.opened {
        0 => Err("its ops open no connections".into()),
        opened => Ok(1e3 * part(all) / opened as f64),
    }
}

/// Memory of the server that one of the idle sessions took.
pub(super) fn idle_session_kb(result: &TestResult) -> Value {
    if !result.facts.contains_key(IDLE_SESSIONS) {
        return Err("no sessions were idle beside the jobs".into());
    }
    let bytes = result.facts.get(IDLE_SESSION_BYTES).map(|bytes| bytes / 1e3);
    bytes.ok_or_else(|| "the memory of the server's processes is not known here".into())
}

/// Processes that worked on an op, on average.
pub(super) fn threads_used(result: &TestResult) -> Value {
    let used = result.facts.get(THREADS_USED).copied();
    used.ok_or_else(|| "the number of workers is not known here".into())
}

/// The counter's difference over the whole test.
fn total(result: &TestResult, name: &str) -> Value {
    known(result.counters.get(name), name)
}

/// The counter per second of the window; see `kpm::counter_per_s` for the two ways.
pub(super) fn rate(result: &TestResult, name: &str) -> Value {
    known(counter_per_s(result, name), name)
}

/// MB per second of the window, from a counter of bytes.
pub(super) fn mb_per_s(result: &TestResult, bytes: &str) -> Value {
    Ok(rate(result, bytes)? / 1e6)
}

/// MB per second of the window, from a counter of blocks.
pub(super) fn block_mb_per_s(result: &TestResult, blocks: &str) -> Value {
    Ok(rate(result, blocks)? * block_bytes(result)? / 1e6)
}

/// Size of a database block, in bytes.
fn block_bytes(result: &TestResult) -> Value {
    result
        .facts
        .get(BLOCK_BYTES)
        .copied()
        .ok_or_else(|| "the size of a database block is not known".into())
}

/// Share of a job in a value of all jobs.
pub(super) fn per_job(result: &TestResult, value: f64) -> Value {
    Ok(value / f64::from(result.jobs))
}

/// The counter per op, over the whole test.
pub(super) fn per_op(result: &TestResult, name: &str) -> Value {
    Ok(total(result, name)? / result.total.ops as f64)
}

/// Time of a job for a row, whatever else belongs to the op.
pub(super) fn row_time_ns(result: &TestResult) -> Value {
    match result.rows_per_s {
        rows_per_s if rows_per_s > 0.0 => Ok(f64::from(result.jobs) / rows_per_s * 1e9),
        _ => Err("no row was counted".into()),
    }
}

/// Data that the ops went through, as it is stored.
pub(super) fn user_data_gb_per_s(result: &TestResult) -> Value {
    let op_mb = result.facts.get(OP_MB);
    let op_mb = op_mb.ok_or("the catalog does not say how much data an op goes through")?;
    Ok(result.ops_per_s * op_mb / 1e3)
}

/// Commits that were waited for, per second of the window.
pub(super) fn commits_per_s(result: &TestResult) -> Value {
    Ok(result.window.commits as f64 / result.window.ops as f64 * result.ops_per_s)
}

/// Mean service time of an op in the window, in ms.
pub(super) fn service_time_ms(result: &TestResult) -> Value {
    let service_s = mean_service_s(&result.window).ok_or("no op was completed in the window")?;
    Ok(service_s * 1000.0)
}

/// Blocks found in the database's buffer cache / blocks asked for, over the whole test.
pub(super) fn buffer_hit(result: &TestResult) -> Value {
    let (asked, read) = (total(result, "logical_reads")?, total(result, "physical_reads")?);
    if asked == 0.0 {
        return Err("no block was asked for".into());
    }
    Ok(100.0 * (1.0 - read / asked).max(0.0))
}

/// Bytes that the database read but the device did not: they came from the operating system's
/// cache. Reads ahead of need count against it, so that it is a lower limit.
pub(super) fn os_cache_hit(result: &TestResult) -> Value {
    let asked = total(result, "physical_reads")? * block_bytes(result)?;
    if asked == 0.0 {
        return Err("the database read no block".into());
    }
    let read = known(device_read_bytes(&result.counters), DEVICE_READ_BYTES)?;
    Ok(100.0 * (1.0 - read / asked).max(0.0))
}

/// Bytes that a log-structured tree wrote into its files, by flushes and merges, per byte that
/// users wrote into it.
pub(super) fn write_amplification(result: &TestResult) -> Value {
    let user = total(result, "lsm_user_bytes")?;
    if user == 0.0 {
        return Err("nothing was written into a log-structured tree".into());
    }
    Ok((total(result, "lsm_flushed_bytes")? + total(result, "lsm_merge_written_bytes")?) / user)
}

/// Blocks by the tier that served them, with the size of a block from the facts.
pub(super) fn read_tiers(result: &TestResult) -> Result<Tiers, Sentence> {
    tiers::tiers(result, block_bytes(result)?)
}

/// Share of a tier of all blocks that were looked for.
pub(super) fn tier_pct(result: &TestResult, of: fn(&Tiers) -> f64) -> Value {
    let tiers = read_tiers(result)?;
    if tiers.all() == 0.0 {
        return Err("no block was asked for".into());
    }
    Ok(100.0 * of(&tiers) / tiers.all())
}

/// Log written per transaction, over the whole test, in kB.
pub(super) fn redo_kb_per_transaction(result: &TestResult) -> Value {
    match result.total.commits {
        0 => Err("the workload does not commit".into()),
        commits => Ok(total(result, "wal_bytes")? / 1000.0 / commits as f64),
    }
}

/// Data blocks that the database wrote per row that a committing workload touched, over the whole
/// test.
pub(super) fn blocks_written_per_row(result: &TestResult) -> Value {
    match (result.total.commits, result.total.rows) {
        (0, _) => Err("the workload does not commit".into()),
        (_, 0) => Err("no row was touched".into()),
        (_, rows) => Ok(total(result, "blocks_written")? / rows as f64),
    }
}

/// Percent of the ops that committed a change, over the whole test.
pub(super) fn writes_pct(result: &TestResult) -> Value {
    match result.total.commits {
        0 => Err("the workload does not commit".into()),
        commits => Ok(100.0 * commits as f64 / result.total.ops as f64),
    }
}

/// Percent of `whole` that `part` is, over the whole test.
pub(super) fn share_pct(result: &TestResult, part: &str, whole: &str) -> Value {
    match (total(result, part)?, total(result, whole)?) {
        (_, 0.0) => Err(Sentence::new("{name} is 0").with("name", whole)),
        (part, whole) => Ok(100.0 * part / whole),
    }
}

/// Minimum number of sightings of waiting sessions for a mean wait.
const MIN_SIGHTINGS: f64 = 20.0;

/// Mean wait of a commit for the log: as the database timed it, else from the sessions of jobs that
/// were sampled waiting for the log: their share of the samples times the window, divided by the
/// commits.
pub(super) fn commit_wait_ms(result: &TestResult) -> Value {
    if result.counters.get("commit_wait_time_ms").is_some() {
        return mean_ms(result, "commit_wait_time_ms", "commit_waits");
    }
    let commits = match result.window.commits {
        0 => return Err("the workload does not commit".into()),
        commits => commits as f64,
    };
    let waits = result.waits.as_ref().filter(|waits| waits.samples > 0);
    let waits = waits.ok_or("the sessions were not sampled")?;
    let at_log =
        |seen: &&EventCount| seen.event.activity == Activity::LogSync && !seen.event.background;
    let seen: u64 = waits.events.iter().filter(at_log).map(|seen| seen.samples).sum();
    // A session also writes the log while it finds the buffer full: that is no wait of a commit.
    let counted = |name: &str| result.counters.get(name);
    let full = counted("log_buffer_full").zip(counted("log_writes").filter(|writes| *writes > 0.0));
    let of_commits = full.map_or(1.0, |(full, writes)| 1.0 - (full / writes).min(1.0));
    let seen = seen as f64 * of_commits;
    if seen < MIN_SIGHTINGS {
        return Err("too few sessions were seen waiting for the log".into());
    }
    let waiting = seen / waits.samples as f64;
    Ok(waiting * result.window_s * 1e3 / commits)
}

/// Mean time of an event. Events without any time were not timed: that is unknown, not 0.
pub(super) fn mean_ms(result: &TestResult, time: &str, events: &str) -> Value {
    let (time_ms, count) = (total(result, time)?, total(result, events)?);
    match (time_ms, count) {
        (_, 0.0) => Err(Sentence::new("{name} is 0").with("name", events)),
        (0.0, _) => Err(Sentence::new("the database did not time {name}").with("name", events)),
        _ => Ok(time_ms / count),
    }
}

/// Mean time of a write of the device, in ms.
pub(super) fn write_service_ms(result: &TestResult) -> Value {
    Ok(total(result, "os_disk_write_s")? * 1000.0 / total(result, "os_disk_writes")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::derive::derive;
    use crate::analysis::fixture;
    use crate::model::{Event, Waits};

    fn sighted(samples: u64, background: bool) -> EventCount {
        let (class, name) = ("IO".into(), "WALSync".into());
        let event = Event { class, name, activity: Activity::LogSync, background };
        EventCount { event, samples, share: 0.0 }
    }

    #[test]
    fn the_wait_of_a_commit_is_the_databases_own_where_it_times_it() {
        let mut result = result();
        result.counters.set("commit_wait_time_ms", 60_000.0);
        result.counters.set("commit_waits", 120_000.0);
        assert_eq!(derive(&result.clone().into()).get("commit_wait_ms"), Some(0.5));
        result.counters.0.remove("commit_wait_time_ms");
        result.counters.set("log_writes", 100.0);
        result.counters.set("log_buffer_full", 60.0);
        // 75 sightings, two fifths of them at commits: 0.3 sessions for 10 s over 200,000 commits.
        let of_commits = derive(&result.clone().into()).get("commit_wait_ms").unwrap();
        assert!((of_commits - 0.015).abs() < 1e-12, "{of_commits}");
        result.waits.as_mut().unwrap().events = vec![sighted(49, false)];
        assert_eq!(
            derive(&result.clone().into()).missing("commit_wait_ms").as_deref(),
            Some("too few sessions were seen waiting for the log")
        );
        result.waits = None;
        assert_eq!(
            derive(&result.into()).missing("commit_wait_ms").as_deref(),
            Some("the sessions were not sampled")
        );
    }

    /// 120,000 ops in all, 10,000 per second, 2 jobs, 10 s of window, 2 commits per op, block 8192.
    fn result() -> TestResult {
        let mut result = fixture::result();
        (result.window.commits, result.total.commits) = (200_000, 240_000);
        result.facts.insert(BLOCK_BYTES.into(), 8192.0);
        result.counters = fixture::counters(&[
            ("logical_reads", 480_000.0),
            ("physical_reads", 24_000.0),
            ("physical_read_time_ms", 6_000.0),
            ("blocks_written", 12_000.0),
            ("wal_bytes", 120_000_000.0),
            ("wal_syncs", 60_000.0),
            ("wal_sync_time_ms", 18_000.0),
            ("os_disk_read_bytes", 49_152_000.0),
            ("os_disk_reads", 3_000.0),
            ("os_disk_read_s", 1.5),
            ("os_disk_writes", 2_500.0),
            ("os_disk_write_s", 2.0),
            ("table_bytes", 24_000_000.0),
            ("lsm_user_bytes", 40.0),
            ("lsm_flushed_bytes", 30.0),
            ("lsm_merge_written_bytes", 70.0),
            ("current_reads", 168_000.0),
            ("storage_read_requests", 1_000.0),
            ("storage_cache_read_requests", 800.0),
            ("storage_read_bytes", 8e9),
            ("offload_eligible_bytes", 4e9),
            ("offload_returned_bytes", 4e7),
        ]);
        // 75 of 100 samples saw one session of the two at the log.
        result.waits = Some(Waits {
            samples: 100,
            events: vec![sighted(60, false), sighted(15, false), sighted(90, true)],
            ..Waits::default()
        });
        result.facts.insert("near".into(), 10.0);
        (result.window.hits, result.total.hits) = (9 * result.window.ops, 9 * result.total.ops);
        result.facts.insert(THREADS_USED.into(), 2.0);
        result.window.connects = Connects {
            opened: 100,
            reach_s: 0.1,
            encrypt_s: 0.2,
            login_s: 0.3,
            start_s: 0.4,
            statements_s: 0.5,
            close_s: 0.6,
        };
        result.facts.insert(OP_MB.into(), 0.5);
        result.facts.insert(IDLE_SESSIONS.into(), 10.0);
        result.facts.insert(IDLE_SESSION_BYTES.into(), 1_100_000.0);
        result.window_counters = fixture::counters(&[
            ("os_cpu_user_s", 20.0),
            ("os_cpu_sys_s", 6.0),
            ("os_cpu_idle_s", 8.0),
            ("os_cpu_iowait_s", 4.0),
            ("os_cpu_steal_s", 1.0),
            ("os_cpu_total_s", 40.0),
            ("os_cpu_foreign_s", 3.0),
            ("watch_paced", 8.0),
            ("watch_speed", 6.0),
            ("watch_work_s", 0.0004),
            ("os_disk_reads", 5_000.0),
            ("os_disk_writes", 2_500.0),
            ("os_disk_read_bytes", 41_000_000.0),
            ("os_disk_write_bytes", 25_000_000.0),
        ]);
        result
    }

    #[test]
    fn every_column_by_hand() {
        let derived = derive(&result().into());
        let expected = [
            ("cpu_busy_pct", 67.5),
            ("cpu_user_pct", 50.0),
            ("cpu_sys_pct", 15.0),
            ("cpu_idle_pct", 20.0),
            ("cpu_iowait_pct", 10.0),
            ("cpu_steal_pct", 2.5),
            ("cpu_foreign_pct", 7.5),
            ("cpu_speed_pct", 75.0),
            ("cpu_work_us", 50.0),
            ("ops_per_s", 10_000.0),
            ("ops_per_s_job", 5_000.0),
            ("units_per_s_job", 5_000.0),
            ("rows_per_s", 10_000.0),
            ("row_time_ns", 200_000.0),
            ("user_data_gb_per_s", 5.0),
            ("commits_per_s", 20_000.0),
            ("service_time_ms", 0.2),
            ("logical_reads_per_s", 40_000.0),
            ("logical_reads_per_s_job", 20_000.0),
            ("logical_reads_per_op", 4.0),
            ("buffer_hit_pct", 95.0),
            ("os_cache_hit_pct", 75.0),
            ("flash_cache_hit_pct", 80.0),
            ("offload_pct", 50.0),
            ("offload_returned_pct", 1.0),
            ("physical_reads_per_s", 2_000.0),
            ("physical_read_mb_per_s", 16.384),
            ("blocks_written_per_s", 1_000.0),
            ("blocks_written_mb_per_s", 8.192),
            ("blocks_written_per_row", 0.1),
            ("disk_reads_per_s", 500.0),
            ("disk_writes_per_s", 250.0),
            ("disk_io_per_s", 750.0),
            ("disk_read_mb_per_s", 4.1),
            ("disk_write_mb_per_s", 2.5),
            ("redo_mb_per_s", 10.0),
            ("redo_kb_per_transaction", 0.5),
            ("redo_bytes_per_op", 1_000.0),
            ("writes_pct", 200.0),
            ("current_reads_pct", 35.0),
            ("log_syncs_per_s", 5_000.0),
            ("log_sync_ms", 0.3),
            ("commit_wait_ms", 0.0375),
            ("read_service_ms", 0.25),
            ("write_service_ms", 0.8),
            ("tier_buffer_pct", 95.0),
            ("tier_os_cache_pct", 3.75),
            ("tier_device_pct", 1.25),
            ("tier_buffer_ms", 39.47368421052632e-3),
            ("tier_os_cache_ms", 0.25),
            ("tier_device_ms", 0.5),
            ("write_amplification", 2.5),
            ("table_bytes_per_op", 200.0),
            ("recall_pct", 90.0),
            ("connect_reach_ms", 1.0),
            ("connect_encrypt_ms", 2.0),
            ("connect_login_ms", 3.0),
            ("connect_start_ms", 4.0),
            ("connect_statement_ms", 5.0),
            ("connect_close_ms", 6.0),
            ("idle_session_kb", 1_100.0),
            ("threads_used", 2.0),
            ("elapsed_s", 10.0),
        ];
        assert_eq!(
            derived.0.iter().map(|figure| figure.id).collect::<Vec<_>>(),
            expected.map(|pair| pair.0)
        );
        for (id, value) in expected {
            let got = derived.get(id).unwrap_or_else(|| panic!("{id}: {:?}", derived.missing(id)));
            assert!(
                (got - value).abs() < 1e-9 * value.abs().max(1.0),
                "{id}: {got} instead of {value}"
            );
        }
    }

    #[test]
    fn a_missing_counter_leaves_a_reason_and_no_zero() {
        let derived = derive(&fixture::result().into());
        for (id, reason) in [
            ("cpu_busy_pct", "os_cpu_idle_s is not known here"),
            ("buffer_hit_pct", "logical_reads is not known here"),
            ("physical_reads_per_s", "physical_reads is not known here"),
            ("redo_kb_per_transaction", "the workload does not commit"),
        ] {
            assert_eq!((derived.get(id), derived.missing(id).as_deref()), (None, Some(reason)));
        }
        assert_eq!(derived.missing("elapsed_s").as_deref(), None);
    }

    #[test]
    fn what_was_not_timed_or_not_done_is_unknown() {
        let mut result = result();
        result.counters.set("wal_sync_time_ms", 0.0);
        result.counters.set("physical_reads", 0.0);
        result.facts.remove(BLOCK_BYTES);
        let derived = derive(&result.clone().into());
        assert_eq!(
            derived.missing("log_sync_ms").as_deref(),
            Some("the database did not time wal_syncs")
        );
        assert_eq!(derived.missing("read_service_ms").as_deref(), Some("physical_reads is 0"));
        assert_eq!(
            derived.missing("physical_read_mb_per_s").as_deref(),
            Some("the size of a database block is not known")
        );
        assert_eq!(derived.get("buffer_hit_pct"), Some(100.0));
        result.counters.set("logical_reads", 0.0);
        assert_eq!(
            derive(&result.clone().into()).missing("buffer_hit_pct").as_deref(),
            Some("no block was asked for")
        );
    }

    #[test]
    fn a_division_by_zero_is_absent() {
        let idle = TestResult { window: Default::default(), total: Default::default(), ..result() };
        assert_eq!(derive(&idle.clone().into()).get("logical_reads_per_op"), None);
        assert_eq!(derive(&idle.clone().into()).get("commits_per_s"), None);
    }
}
