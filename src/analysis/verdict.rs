//! The verdict: whether a test's figures mean what they say, with every reason.

use super::scope::unchecked;
use super::words::{number, percent};
use super::{contract, crosscheck, little, samples};
use crate::model::{Claim, Drive, Reason, Status, TestResult, Verdict};
use crate::stats::steadiness;

/// Failed ops above this fraction make a test invalid; any at all make it conditional.
const ERRORS_INVALID: f64 = 0.001;
/// CPU time taken by the host of a virtual machine, as a fraction of all CPU time, above which figures are conditional.
const STEAL_LIMIT: f64 = 0.02;
/// Our process is the limit from this fraction of a core per job (or of all cores) on.
const CLIENT_LIMIT: f64 = 0.9;
/// Fewer ops per second of the series than this only show whole numbers, not a trend.
const FEWEST_OPS_PER_POINT: f64 = 10.0;
/// A shorter interval at the edge of the window says too little, in seconds.
const SHORTEST_POINT_S: f64 = 0.5;
/// A step of the clock beyond this many seconds and this fraction of the window matters; ten times the fraction
/// spoils the test.
const CLOCK_STEP_S: f64 = 0.02;
const CLOCK_STEP_FRACTION: f64 = 0.001;

/// What a verdict must know beside the result.
#[derive(Debug, Clone, Copy)]
pub struct JudgeContext<'a> {
    /// Registry name of the engine, for claims that hold for some engines only.
    pub engine: &'a str,
    /// The engine runs inside our process: its CPU use is ours, so our process is no separate limit.
    pub in_process: bool,
    /// CPUs of the host on which our process runs.
    pub host_cpus: u32,
    /// How far the wall clock moved against the monotonic clock during the test, in seconds; 0 if it did not.
    pub clock_step_s: f64,
}

/// Judges a test from everything known about it. `result.verdict` is not read.
pub fn judge(result: &TestResult, contract: &[Claim], crosscheck: &[Claim], ctx: &JudgeContext<'_>) -> Verdict {
    let mut reasons: Vec<Reason> = [
        samples::judge(result),
        errors(result),
        steal(result),
        client_limit(result, ctx),
        steady(result),
        clock_step(result, ctx),
        instruments(result),
    ]
    .into_iter()
    .flatten()
    .collect();
    reasons.extend(little::judge(result));
    reasons.extend(contract::judge(result, contract, ctx.engine));
    reasons.extend(crosscheck::judge(result, crosscheck, ctx.engine));
    Verdict::from_reasons(reasons)
}

fn errors(result: &TestResult) -> Option<Reason> {
    let failed = result.total.error_count();
    let fraction = failed as f64 / (result.total.ops + failed) as f64;
    let classes: Vec<_> = result.total.errors.iter().map(|(class, count)| format!("{count} {class}")).collect();
    // A routine that an error ended cannot tell what it did before: what it committed is missing in our figures.
    let lost =
        if result.drive == Drive::Database { ", each with the slice it was in: rates are lower bounds" } else { "" };
    let text = || format!("{} of all ops failed ({}{lost})", percent(fraction), classes.join(", "));
    match failed {
        0 => None,
        _ if fraction > ERRORS_INVALID => Some(Reason::new(Status::Invalid, "errors", text())),
        _ => Some(Reason::new(Status::Conditional, "errors", text())),
    }
}

fn steal(result: &TestResult) -> Option<Reason> {
    let (stolen, total) = (result.window_counters.get("os_cpu_steal_s"), result.window_counters.get("os_cpu_total_s"));
    let (Some(stolen), Some(total)) = (stolen, total.filter(|&total| total > 0.0)) else {
        return Some(unchecked("stolen CPU time of the database's host is not known".into()));
    };
    let text = || format!("{} of the CPU time was taken by the host of this virtual machine", percent(stolen / total));
    (stolen / total > STEAL_LIMIT).then(|| Reason::new(Status::Conditional, "steal", text()))
}

/// Our process is the limit if it uses 0.9 of a core per job or 0.9 of all cores: then we measured ourselves.
fn client_limit(result: &TestResult, ctx: &JudgeContext<'_>) -> Option<Reason> {
    let used = result.window_counters.get("self_cpu_s").filter(|_| !ctx.in_process && result.window_s > 0.0)?;
    let cores = used / result.window_s;
    let available = f64::from(result.jobs.min(ctx.host_cpus));
    let text = || {
        format!("our own process used {} of the {available} cores its {} jobs could use", number(cores), result.jobs)
    };
    (cores >= CLIENT_LIMIT * available).then(|| Reason::new(Status::Conditional, "client-limit", text()))
}

/// Judged only from five seconds and from ten ops a second on.
fn steady(result: &TestResult) -> Option<Reason> {
    let points = result.series.iter().filter(|point| point.in_window && point.interval_s >= SHORTEST_POINT_S);
    let (counts, rates): (Vec<f64>, Vec<f64>) = points.map(|point| (point.ops, point.ops / point.interval_s)).unzip();
    let dense = counts.iter().sum::<f64>() >= FEWEST_OPS_PER_POINT * counts.len() as f64;
    let found = steadiness(&rates).filter(|found| dense && !found.is_steady())?;
    let text = format!(
        "not steady: trend {} over the window (p = {}), second half {} against the first",
        signed(found.trend),
        number(found.p_value),
        signed(found.drift)
    );
    Some(Reason::new(Status::Conditional, "not-steady", text))
}

fn signed(fraction: f64) -> String {
    format!("{:+.1} %", fraction * 100.0)
}

fn clock_step(result: &TestResult, ctx: &JudgeContext<'_>) -> Option<Reason> {
    let step_s = ctx.clock_step_s.abs();
    let limit_s = CLOCK_STEP_FRACTION * result.window_s;
    let status = match step_s {
        step if step <= CLOCK_STEP_S.max(limit_s) => return None,
        step if step <= 10.0 * limit_s => Status::Conditional,
        _ => Status::Invalid,
    };
    Some(Reason::new(status, "clock-step", format!("the clock was set by {} s during the test", number(step_s))))
}

/// A server that times each statement, also each within a routine: that can cost as much as the statement itself.
fn instruments(result: &TestResult) -> Option<Reason> {
    let gauges = result.snapshots.iter().filter_map(|snapshot| snapshot.counters.get("instruments"));
    gauges.reduce(f64::max).filter(|most| *most > 0.0)?;
    let (status, what) = match result.drive {
        Drive::Database => (Status::Conditional, "each statement within a routine, which can halve its speed"),
        Drive::Client => (Status::Valid, "each statement"),
    };
    let text = format!("the server's own instruments (performance_schema) are on and time {what}");
    Some(Reason::new(status, "instruments", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{Expr, Moment, Snapshot};

    const CTX: JudgeContext<'static> =
        JudgeContext { engine: "postgres", in_process: false, host_cpus: 4, clock_step_s: 0.0 };

    fn calm() -> TestResult {
        let window_counters =
            fixture::counters(&[("os_cpu_steal_s", 0.1), ("os_cpu_total_s", 40.0), ("self_cpu_s", 8.0)]);
        TestResult { window_counters, ..fixture::result() }
    }

    fn verdict(result: &TestResult, ctx: &JudgeContext<'_>) -> (Status, Vec<String>) {
        let verdict = judge(result, &[], &[], ctx);
        (
            verdict.status,
            verdict.reasons.into_iter().map(|reason| format!("{}: {}", reason.code, reason.text)).collect(),
        )
    }

    #[test]
    fn a_calm_test_is_valid_without_a_reason() {
        assert_eq!(verdict(&calm(), &CTX), (Status::Valid, vec![]));
    }

    #[test]
    fn errors_above_a_thousandth_are_invalid_fewer_conditional() {
        let mut result = calm();
        result.total.errors.insert("deadlock".into(), 120);
        let (status, reasons) = verdict(&result, &CTX);
        assert_eq!(
            (status, reasons[0].as_str()),
            (Status::Conditional, "errors: 0.100 % of all ops failed (120 deadlock)")
        );
        result.total.errors.insert("busy".into(), 10);
        assert_eq!(verdict(&result, &CTX).0, Status::Invalid);
    }

    #[test]
    fn stolen_time_above_two_percent_is_conditional_unknown_is_a_note() {
        let mut result = calm();
        result.window_counters.set("os_cpu_steal_s", 0.8);
        assert_eq!(verdict(&result, &CTX).0, Status::Valid);
        result.window_counters.set("os_cpu_steal_s", 1.0);
        let (status, reasons) = verdict(&result, &CTX);
        assert!(status == Status::Conditional && reasons[0].starts_with("steal: 2.50 %"), "{reasons:?}");
        let (status, reasons) = verdict(&fixture::result(), &CTX);
        assert!(status == Status::Valid && reasons[0].starts_with("unchecked: stolen"), "{reasons:?}");
    }

    #[test]
    fn instruments_of_the_server_are_named_and_weigh_within_routines() {
        let mut result = calm();
        for on in [0.0, 1.0] {
            let counters = fixture::counters(&[("instruments", on)]);
            result.snapshots.push(Snapshot { moment: Moment::Begin, t_s: 0.0, counters, cost_ms: 0.0 });
            result.drive = Drive::Database;
            let (status, reasons) = verdict(&result, &CTX);
            assert_eq!(status, if on > 0.0 { Status::Conditional } else { Status::Valid }, "{reasons:?}");
        }
        result.drive = Drive::Client;
        let (status, reasons) = verdict(&result, &CTX);
        assert!(status == Status::Valid && reasons[0].starts_with("instruments: "), "{reasons:?}");
    }

    #[test]
    fn our_process_is_the_limit_per_job_or_per_host_but_not_in_process() {
        let mut result = calm();
        result.window_counters.set("self_cpu_s", 18.0);
        let (status, reasons) = verdict(&result, &CTX);
        assert!(status == Status::Conditional && reasons[0].starts_with("client-limit: our own"), "{reasons:?}");
        assert_eq!(verdict(&result, &JudgeContext { in_process: true, ..CTX }).0, Status::Valid);
        result.window_counters.set("self_cpu_s", 9.0);
        assert_eq!(verdict(&result, &CTX).0, Status::Valid);
        assert_eq!(verdict(&result, &JudgeContext { host_cpus: 1, ..CTX }).0, Status::Conditional);
    }

    #[test]
    fn a_falling_series_is_not_steady_unless_too_short_or_too_sparse() {
        let falling = |points: usize, scale: f64| {
            let mut result = calm();
            for (i, point) in result.series.iter_mut().enumerate() {
                (point.in_window, point.ops) = (i < points, scale * (100.0 - 5.0 * i as f64));
            }
            verdict(&result, &CTX)
        };
        let (status, reasons) = falling(10, 100.0);
        // 100, 95, ... 55: mean 77.5, trend -45/77.5; halves 90 and 65.
        let text =
            "not-steady: not steady: trend -58.1 % over the window (p = 0), second half -27.8 % against the first";
        assert_eq!((status, reasons[0].as_str()), (Status::Conditional, text));
        assert_eq!(falling(4, 100.0).0, Status::Valid);
        assert_eq!(falling(10, 0.1).0, Status::Valid);
    }

    #[test]
    fn a_clock_step_is_judged_against_the_window() {
        let stepped = |clock_step_s| verdict(&calm(), &JudgeContext { clock_step_s, ..CTX }).0;
        let expected = [Status::Valid, Status::Conditional, Status::Invalid];
        assert_eq!([stepped(0.015), stepped(-0.05), stepped(3600.0)], expected);
    }

    #[test]
    fn contract_and_cross_check_count_and_the_worst_stands_first() {
        let mut result = calm();
        result.total.errors.insert("busy".into(), 1);
        result.counters = fixture::counters(&[("index_scans", 10.0)]);
        let claim = |what: &str| Claim {
            what: what.into(),
            max: Some(Expr("1".into())),
            equals: Some(Expr("ops".into())),
            because: "x".into(),
            ..Claim::default()
        };
        let verdict = judge(&result, &[claim("physical_reads")], &[claim("index_scans")], &CTX);
        let codes: Vec<_> = verdict.reasons.iter().map(|reason| reason.code.as_str()).collect();
        assert_eq!((verdict.status, codes), (Status::Invalid, vec!["crosscheck", "errors", "unchecked"]));
    }
}
