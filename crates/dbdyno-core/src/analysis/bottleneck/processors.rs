//! Processors as a limit: all that the jobs can use are in use, or a quota gives no more of them.

use super::{Bottleneck, CAUSE, Cause, activity_share};
use crate::analysis::cpu::{busy_pct, is_elsewhere, processors};
use crate::analysis::cpu_quota;
use crate::analysis::kpm::THREADS_USED;
use crate::model::{Activity, Sentence, TestResult};

/// Share of the CPUs that the jobs can use from which on they count as used up.
const USED_UP: f64 = 0.9;

/// CPUs that the database and dbdyno's own process used.
pub(in crate::analysis) fn used_processors(result: &TestResult) -> Option<f64> {
    let seconds = |name| result.window_counters.get(name);
    // A database within dbdyno's process has no processes of its own.
    let own_s = seconds("self_cpu_s").filter(|_| !is_elsewhere(result));
    let used_s = match (seconds("server_cpu_s"), own_s) {
        (None, None) => return None,
        (server_s, self_s) => server_s.unwrap_or(0.0) + self_s.unwrap_or(0.0),
    };
    (result.window_s > 0.0).then(|| used_s / result.window_s)
}

/// CPUs that the database and dbdyno could use: all except what the host of a virtual machine took.
pub(in crate::analysis) fn usable_processors(result: &TestResult) -> Option<f64> {
    let stolen = result.window_counters.get("os_cpu_steal_s").unwrap_or(0.0) / result.window_s;
    Some(processors(result)? - stolen)
}

/// Processors, if they are the limit.
pub(super) fn processor(result: &TestResult) -> Option<Bottleneck> {
    let (quota, in_use) = (quota(result), in_use(result));
    let Some(mut found) = quota else { return in_use };
    // Time at work within a quota is limited by it as well as time for which it stopped a session.
    let shares = [found.share, in_use.and_then(|in_use| in_use.share)].into_iter().flatten();
    found.share = shares.max_by(f64::total_cmp);
    Some(found)
}

/// A quota stopped the database: on each processor on which it was stopped some session waited.
fn quota(result: &TestResult) -> Option<Bottleneck> {
    let stop = cpu_quota::stops(result).into_iter().find(|stop| stop.is_of_database)?;
    let share = stop.s / (f64::from(result.jobs) * result.window_s);
    let evidence = Sentence::new("a CPU quota stopped {whom} for {stopped} s, summed over CPUs")
        .with("whom", stop.whom)
        .with("stopped", stop.s);
    (share >= CAUSE).then_some(Bottleneck {
        cause: Cause::Cpu,
        share: Some(share.min(1.0)),
        evidence,
    })
}

/// All processors that the jobs can use are in use, whatever other programs use; with fewer jobs
/// than processors each job is one thread. Where others take part of them, that the jobs were seen
/// at work shows the same.
fn in_use(result: &TestResult) -> Option<Bottleneck> {
    if is_elsewhere(result) {
        return elsewhere(result);
    }
    let (used, usable) = (used_processors(result)?, usable_processors(result)?);
    let can_use = f64::from(result.jobs) * threads(result);
    let at_work = activity_share(result, Activity::Cpu);
    let is_one_thread = can_use < USED_UP * usable;
    let is_busy = busy_pct(&result.window_counters).is_ok_and(|busy| busy >= 100.0 * USED_UP)
        || is_one_thread;
    let used_share = used / can_use.min(usable);
    let is_limit =
        used_share >= USED_UP || is_busy && at_work.is_some_and(|share| share >= USED_UP);
    let (cause, template) = match is_one_thread {
        true => (
            Cause::OneThread,
            "{used} CPUs in use by the database and dbdyno; {jobs} can use {can} of {usable}",
        ),
        false => (Cause::Cpu, "{used} of {usable} CPUs in use by the database and dbdyno"),
    };
    let evidence = Sentence::new(template)
        .with("used", used)
        .with("usable", usable)
        .with("can", can_use)
        .with("jobs", Sentence::jobs(result.jobs));
    (can_use > 0.0 && is_limit).then(|| Bottleneck {
        cause,
        share: Some(at_work.unwrap_or(used_share)),
        evidence,
    })
}

/// Bottleneck by the CPUs of a server on another host, where nobody reports who uses them: they are
/// the limit if all are in use while the jobs run.
fn elsewhere(result: &TestResult) -> Option<Bottleneck> {
    let (usable, busy_pct) = (usable_processors(result)?, busy_pct(&result.window_counters).ok()?);
    let at_work = activity_share(result, Activity::Cpu)?;
    let used = busy_pct / 100.0 * processors(result)?;
    let evidence =
        Sentence::new("{used} of {usable} CPUs of the database's host in use, by all processes")
            .with("used", used)
            .with("usable", usable);
    let is_limit = at_work >= USED_UP && used >= USED_UP * usable;
    is_limit.then_some(Bottleneck { cause: Cause::Cpu, share: Some(at_work), evidence })
}

/// Processors that a job of a closed loop can use: one for each process that works on an op.
fn threads(result: &TestResult) -> f64 {
    let asked = || result.params.get("threads")?.parse().ok();
    result
        .facts
        .get(THREADS_USED)
        .copied()
        .or_else(asked)
        .map_or(1.0, |threads: f64| threads.max(1.0))
}
