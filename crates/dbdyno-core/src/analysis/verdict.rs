//! The verdict: whether a test's figures mean what they say, with every reason.

#[cfg(test)]
mod tests;

use super::scope::unchecked_note;
use super::{contract, cpu, cpu_quota, cpu_speed, crosscheck, littles_law, resets, samples, tiers};
use crate::model::{
    Claim, Drive, OpenLoop, PhaseKind, Reason, ReasonCode, Sentence, Status, TestResult, Verdict,
};
use crate::stats::steadiness;

/// Fraction of failed ops above which a test is invalid; a single one makes it conditional.
const ERRORS_INVALID: f64 = 0.001;
/// CPU time taken by the host of a virtual machine, as a fraction of all CPU time, above which
/// figures are conditional.
const STEAL_LIMIT: f64 = 0.02;
/// CPU time of other processes, as a fraction of the CPU time that the test could use, from which
/// on figures are conditional.
const FOREIGN_LIMIT: f64 = 0.05;
/// Fraction of a core per job (or of all cores) from which on dbdyno's process is the limit.
const CLIENT_LIMIT: f64 = 0.9;
/// The network is the limit if the way there and back alone takes this share of an op.
const NETWORK_LIMIT: f64 = 0.5;
/// Fewer ops per second of the series than this only show whole numbers, not a trend.
const MIN_OPS_PER_POINT: f64 = 10.0;
/// A shorter interval at the edge of the window says too little, in seconds.
const MIN_POINT_S: f64 = 0.5;
/// A step of the clock beyond this many seconds and this fraction of the window matters; ten times
/// the fraction spoils the test.
const CLOCK_STEP_S: f64 = 0.02;
const CLOCK_STEP_FRACTION: f64 = 0.001;

/// Facts that a verdict needs in addition to the result.
#[derive(Debug, Clone, Copy)]
pub struct JudgeContext<'a> {
    /// Registry name of the engine, for claims that hold for some engines only.
    pub engine: &'a str,
    /// True if the engine runs inside dbdyno's process: its CPU use is then dbdyno's, and the
    /// process is not a separate limit.
    pub in_process: bool,
    /// CPUs of the host on which dbdyno's process runs.
    pub host_cpus: u32,
    /// Step of the wall clock against the monotonic clock during the test, in seconds; 0 if there
    /// was none.
    pub clock_step_s: f64,
    /// The shortest statement's way to a server elsewhere and back, in s, as measured before the
    /// tests.
    pub round_trip_s: Option<f64>,
}

impl<'a> JudgeContext<'a> {
    /// Context of a test that ran elsewhere without this program: nothing is known of its host, its
    /// clocks and its network.
    pub(super) fn unwatched(engine: &'a str) -> Self {
        JudgeContext {
            engine,
            in_process: false,
            host_cpus: 1,
            clock_step_s: 0.0,
            round_trip_s: None,
        }
    }
}

/// Judges a test from everything known about it. `result.verdict` is not read.
pub fn judge(
    result: &TestResult,
    contract: &[Claim],
    crosscheck: &[Claim],
    ctx: &JudgeContext<'_>,
) -> Verdict {
    let mut reasons: Vec<Reason> = [
        samples::judge(result),
        precision(result),
        overload(result),
        errors(result),
        steal(result),
        foreign_load(result),
        foreign_reads(result),
        cpu_speed::judge(result),
        client_limit(result, ctx),
        network_limit(result, ctx),
        steady(result),
        clock_step(result, ctx),
        instruments(result),
        cache_lock(result),
        timing_cost(result),
        resets::judge(result),
    ]
    .into_iter()
    .flatten()
    .collect();
    reasons.extend(cpu_quota::judge(result));
    reasons.extend(phases(result));
    reasons.extend(littles_law::judge(result));
    reasons.extend(contract::judge(result, contract, ctx.engine));
    reasons.extend(crosscheck::judge(result, crosscheck, ctx.engine));
    Verdict::from_reasons(reasons)
}

/// The reason that ops failed, and how the errors are classed.
pub(super) fn errors(result: &TestResult) -> Option<Reason> {
    let failed = result.total.error_count();
    let fraction = failed as f64 / (result.total.ops + failed) as f64;
    let classes: Vec<_> =
        result.total.errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
    let lost = result.total.uncounted_s;
    let sentence = Sentence::new(match lost > 0.0 {
        true => {
            "{share%} of all ops failed ({classes}); what else the jobs did in {lost} of their \
             {busy} s is not counted, since the calls that it was done in failed: rates are lower \
             bounds"
        }
        false => "{share%} of all ops failed ({classes})",
    });
    let sentence = sentence
        .with("share", fraction)
        .with("classes", classes.join(", "))
        .with("lost", lost)
        .with("busy", result.total.busy_s);
    let status = if fraction > ERRORS_INVALID { Status::Invalid } else { Status::Conditional };
    (failed > 0).then(|| Reason::new(status, ReasonCode::Errors, sentence))
}

/// Reason that the hypervisor took CPU time from the database. The kernel reports it in whole
/// ticks: up to one of them may have been taken before the window.
fn steal(result: &TestResult) -> Option<Reason> {
    let (stolen, total) = (
        result.window_counters.get("os_cpu_steal_s"),
        result.window_counters.get("os_cpu_total_s"),
    );
    let (Some(stolen), Some(total)) = (stolen, total.filter(|&total| total > 0.0)) else {
        return Some(unchecked_note("stolen CPU time of the database's host is not known"));
    };
    let sentence =
        Sentence::new("steal time was {share%} of the CPU time: the hypervisor gave it to others");
    ((stolen - cpu::TICK_S) / total > STEAL_LIMIT).then(|| {
        Reason::new(Status::Conditional, ReasonCode::Steal, sentence.with("share", stolen / total))
    })
}

/// Other programs take processors, caches and clock rate from the database, also where some
/// processors are idle.
fn foreign_load(result: &TestResult) -> Option<Reason> {
    let cpu::Foreign { used, usable, doubt } = cpu::foreign(result)?;
    let sentence = "other processes used {share%} of the CPU time that this test could use ({used} \
                    of {usable} CPUs)";
    let sentence = Sentence::new(sentence)
        .with("share", used / usable)
        .with("used", used)
        .with("usable", usable);
    let matters = usable > 0.0 && used >= FOREIGN_LIMIT * usable && used > doubt;
    matters.then(|| Reason::new(Status::Conditional, ReasonCode::ForeignLoad, sentence))
}

/// Other programs take the device from the database.
fn foreign_reads(result: &TestResult) -> Option<Reason> {
    let found = tiers::foreign_reads(result)?;
    let sentence = Sentence::new(
        "other processes read {bytes} of the {all} MB that the database's device read: {share%} of \
         its time by bytes",
    );
    let sentence = sentence.with("bytes", found.bytes / 1e6).with("all", found.of_bytes / 1e6);
    (found.time_share >= FOREIGN_LIMIT).then(|| {
        Reason::new(
            Status::Conditional,
            ReasonCode::ForeignLoad,
            sentence.with("share", found.time_share),
        )
    })
}

/// Reason that dbdyno's process was the limit: it used 0.9 of a core per job or 0.9 of all cores,
/// so that the test measured dbdyno itself.
fn client_limit(result: &TestResult, ctx: &JudgeContext<'_>) -> Option<Reason> {
    let used = result
        .window_counters
        .get("self_cpu_s")
        .filter(|_| !ctx.in_process && result.window_s > 0.0)?;
    let cores = used / result.window_s;
    let jobs = result.jobs + result.beside.as_ref().map_or(0, |beside| beside.part.jobs);
    let available = f64::from(jobs.min(ctx.host_cpus));
    let sentence = Sentence::new(
        "the client was the bottleneck: dbdyno itself used {share%} of the CPU time available to \
         {jobs}",
    )
    .with("share", cores / available)
    .with("jobs", Sentence::jobs(result.jobs));
    (cores >= CLIENT_LIMIT * available)
        .then(|| Reason::new(Status::Conditional, ReasonCode::ClientLimit, sentence))
}

/// Each op of a client takes one round trip at least.
fn network_limit(result: &TestResult, ctx: &JudgeContext<'_>) -> Option<Reason> {
    let trip_s = ctx.round_trip_s.filter(|_| result.drive == Drive::Client)?;
    let op_s = result.total.busy_s / result.total.ops as f64;
    let sentence = "the network round trip ({trip} us) is {share%} of the service time: this \
                    result includes the network";
    let sentence =
        Sentence::new(sentence).with("trip", trip_s * 1e6).with("share", (trip_s / op_s).min(1.0));
    (trip_s >= NETWORK_LIMIT * op_s)
        .then(|| Reason::new(Status::Conditional, ReasonCode::Network, sentence))
}

/// Judged only from five seconds and from ten ops a second on.
fn steady(result: &TestResult) -> Option<Reason> {
    // A load that changes is not to be steady.
    if result.open.as_ref().is_some_and(OpenLoop::changes) {
        return None;
    }
    let points =
        result.series.iter().filter(|point| point.in_window && point.interval_s >= MIN_POINT_S);
    let (counts, rates): (Vec<f64>, Vec<f64>) =
        points.map(|point| (point.ops, point.ops / point.interval_s)).unzip();
    let dense = counts.iter().sum::<f64>() >= MIN_OPS_PER_POINT * counts.len() as f64;
    let found = steadiness(&rates).filter(|found| dense && !found.is_steady())?;
    let sentence = "not steady: trend {trend+%} over the window (p = {p}), second half {drift+%} \
                    against the first";
    let sentence = Sentence::new(sentence).with("trend", found.trend).with("p", found.p_value);
    Some(Reason::new(
        Status::Conditional,
        ReasonCode::NotSteady,
        sentence.with("drift", found.drift),
    ))
}

/// The window was as long as it could be, or cut short, before the mean was known.
fn precision(result: &TestResult) -> Option<Reason> {
    let target = result.precision?.fraction();
    let sentence = match result.ci_fraction {
        Some(half) if half <= target => return None,
        Some(half) => {
            let sentence = "the 95 % interval is +-{half%} after {after.1} s, not +-{target%}: use \
                            a longer --max-duration";
            Sentence::new(sentence).with("half", half)
        }
        None => Sentence::new(
            "no 95 % interval after {after.1} s, not +-{target%}: use a longer --max-duration",
        ),
    };
    let sentence = sentence.with("after", result.window_s).with("target", target);
    Some(Reason::new(Status::Conditional, ReasonCode::Precision, sentence))
}

/// An open loop whose ops were not all done: the rate is not one that the platform can have.
fn overload(result: &TestResult) -> Option<Reason> {
    let open = result.open.as_ref().filter(|open| open.is_overloaded(result.window.ops))?;
    let sentence = "{share%} of the scheduled ops were done: the platform does not keep up with \
                    {rate} ops/s";
    let sentence = Sentence::new(sentence).with("share", result.window.ops as f64 / open.due);
    Some(Reason::new(
        Status::Invalid,
        ReasonCode::Overload,
        sentence.with("rate", open.offer.per_s),
    ))
}

/// Reasons for phases of a load over time that the platform did not keep up with. A spike need not
/// be kept up with: the time to recover from it is its result.
fn phases(result: &TestResult) -> Vec<Reason> {
    let phases = result.open.iter().flat_map(|open| &open.phases);
    let lasting =
        (1_u64..).zip(phases).filter(|(_, figures)| figures.phase.kind != PhaseKind::Spike);
    let late = lasting.filter(|(_, figures)| figures.is_overloaded());
    late.map(|(number, figures)| {
        let sentence = "at the end of phase {number} ({phase}) {behind} ops waited that were due: \
                        the platform did not keep up with it";
        let sentence = Sentence::new(sentence)
            .with("number", number)
            .with("phase", figures.phase.to_string())
            .with("behind", figures.behind.round());
        Reason::new(Status::Conditional, ReasonCode::Overload, sentence)
    })
    .collect()
}

fn clock_step(result: &TestResult, ctx: &JudgeContext<'_>) -> Option<Reason> {
    let step_s = ctx.clock_step_s.abs().max(result.server_clock_step_s);
    let limit_s = CLOCK_STEP_FRACTION * result.window_s;
    let status = match step_s {
        step if step <= CLOCK_STEP_S.max(limit_s) => return None,
        step if step <= 10.0 * limit_s => Status::Conditional,
        _ => Status::Invalid,
    };
    let sentence =
        Sentence::new("the clock was set by {step} s during the test").with("step", step_s);
    Some(Reason::new(status, ReasonCode::ClockStep, sentence))
}

/// A server that times each statement, also each within a routine: that can cost as much as the
/// statement itself.
fn instruments(result: &TestResult) -> Option<Reason> {
    let gauges =
        result.snapshots.iter().filter_map(|snapshot| snapshot.counters.get("instruments"));
    gauges.reduce(f64::max).filter(|most| *most > 0.0)?;
    let (status, sentence) = match result.drive {
        Drive::Database => (
            Status::Conditional,
            "the server's own instruments (performance_schema) are on and time each statement \
             within a routine, which can halve its speed",
        ),
        Drive::Client => (
            Status::Valid,
            "the server's own instruments (performance_schema) are on and time each statement",
        ),
    };
    Some(Reason::new(status, ReasonCode::Instruments, sentence))
}

/// An embedded library with one lock around the page caches of all connections: jobs that share it
/// measure the lock.
fn cache_lock(result: &TestResult) -> Option<Reason> {
    let gauges = result.snapshots.iter().filter_map(|one| one.counters.get("cache_lock"));
    gauges.reduce(f64::max).filter(|most| *most > 0.0 && result.jobs > 1)?;
    let sentence = "the database's library was built with one lock around the page caches of all \
                    jobs: build dbdyno inside its checkout, whose settings leave that out";
    Some(Reason::new(Status::Conditional, ReasonCode::Instruments, sentence))
}

/// Share of the service time from which on dbdyno's own clock reads affect the figures.
const TIMING_SHOWS: f64 = 0.05;

/// Reason that dbdyno's clock reads and bookkeeping took a large share.
fn timing_cost(result: &TestResult) -> Option<Reason> {
    let share = result.instrument_us_per_op? / result.latency.mean_us?;
    let sentence =
        Sentence::new("our own clock reads and bookkeeping take {share%} of the service time")
            .with("share", share);
    (share >= TIMING_SHOWS)
        .then(|| Reason::new(Status::Conditional, ReasonCode::TimingCost, sentence))
}
