//! End of the tests of a request: fixed time or fixed work, and `--time-scale`, which shortens or
//! stretches both.

use crate::catalog::{Suite, SuiteEntry, Work};
use crate::error::{Error, Result};
use crate::model::rows::table_rows;
use crate::model::{
    AskedRate, Drive, End, Facts, Loop, MIN_KNOWN_S, Precision, RateProfile, Window,
};

use super::{DEFAULT_DURATION_S, DEFAULT_MAX_DURATION_S, DEFAULT_WARMUP_S, MIN_WARMUP_S, Request};

/// A window is never scaled below this: a shorter one holds too little to be a measurement, in s.
const MIN_WINDOW_S: f64 = 0.1;

/// The window of a test. What the request says itself stands as it is, and before what the suite
/// says; the rest is scaled.
///
/// # Errors
/// An expression of the suite that knows not what it uses.
pub(super) fn window(
    request: &Request,
    entry: &SuiteEntry,
    suite: Option<&Suite>,
    facts: &Facts,
) -> Result<Window> {
    if let Some(profile) = &request.rate_profile {
        return as_long_as(profile, request, entry);
    }
    let precision = request.precision.or(entry.precision.filter(|_| !request.gives_end()));
    if let Some(precision) = precision {
        return Ok(until_known(precision, request, entry));
    }
    match (&entry.work, request.ops_per_job, request.duration_s) {
        (_, Some(ops), _) => Ok(Window::ops(ops)),
        (Some(work), None, None) if request.rate.is_none() => {
            Ok(Window::ops(ops_per_job(work, suite, facts, request)?))
        }
        _ => Ok(fixed_time(request, entry)),
    }
}

/// The window of a load over time is as long as its phases.
///
/// # Errors
/// Another length was asked for.
fn as_long_as(profile: &RateProfile, request: &Request, entry: &SuiteEntry) -> Result<Window> {
    let length_s = profile.length_s();
    if let Some(duration_s) = request.duration_s.filter(|asked_s| (asked_s - length_s).abs() > 1e-6)
    {
        let what = format!("its phases take {length_s} s, the window {duration_s} s");
        return Err(Error::usage("--rate-profile", what)
            .advise("leave --duration out: the window is as long as the phases"));
    }
    Ok(Window::time(fixed_time(request, entry).warmup_s, length_s))
}

fn fixed_time(request: &Request, entry: &SuiteEntry) -> Window {
    let scale = request.time_scale;
    let warmup_s = request.warmup_s.unwrap_or(entry.warmup_s.unwrap_or(DEFAULT_WARMUP_S) * scale);
    let scaled_s = (entry.duration_s.unwrap_or(DEFAULT_DURATION_S) * scale).max(MIN_WINDOW_S);
    Window::time(warmup_s, request.duration_s.unwrap_or(scaled_s))
}

/// Loop in which the ops of a test start: as the request says, else as the test itself.
///
/// # Errors
/// A rate that is to be found without an SLO, or the other way round; a drive without an open
/// loop.
pub(super) fn looping(request: &Request, entry: &SuiteEntry) -> Result<Loop> {
    let wrong =
        |place: &str, what: &str, advice: &str| Err(Error::usage(place, what).advise(advice));
    let inside = request.drive == Some(Drive::Database);
    match (&request.rate_profile, request.think_s) {
        (Some(_), _) if inside => {
            return wrong(
                "--rate-profile",
                "the in-database drive has no open loop: its loop runs inside the database",
                "use --drive client",
            );
        }
        (_, Some(_)) if inside => {
            return wrong(
                "--think",
                "the in-database drive has no think time: its loop runs inside the database",
                "use --drive client",
            );
        }
        (Some(profile), _) => return Ok(Loop::Profile(profile.clone(), request.arrivals)),
        (None, Some(mean_s)) => return Ok(Loop::Thinking(mean_s)),
        (None, None) => {}
    }
    let (rate, slo, arrivals) = match (&request.rate, &entry.rate) {
        (None, Some(rate)) => (Some(rate), entry.slo, entry.arrivals.unwrap_or_default()),
        (rate, _) => (rate.as_ref(), request.slo, request.arrivals),
    };
    match (rate, slo) {
        (None, None) => Ok(Loop::Closed),
        (Some(_), _) if request.drive == Some(Drive::Database) => wrong(
            "--rate",
            "the in-database drive has no open loop: its loop runs inside the database",
            "use --drive client",
        ),
        (Some(AskedRate::Listed(rates)), None) => Ok(Loop::Open(rates.clone(), arrivals)),
        (Some(AskedRate::Auto), Some(slo)) => Ok(Loop::Highest(slo, arrivals)),
        (Some(AskedRate::Auto), None) => {
            wrong("--rate auto", "what must be kept is not said", "add --slo 'p99<5ms'")
        }
        (_, Some(_)) => wrong("--slo", "no rate is looked for", "use --rate auto"),
    }
}

/// The suite's warm-up is a constant for its own windows: this one ends by what is seen.
fn until_known(precision: Precision, request: &Request, entry: &SuiteEntry) -> Window {
    let scaled_s = entry.max_duration_s.unwrap_or(DEFAULT_MAX_DURATION_S) * request.time_scale;
    let most_s = request.max_duration_s.unwrap_or(scaled_s.max(MIN_KNOWN_S));
    Window {
        warmup_s: request.warmup_s.unwrap_or(MIN_WARMUP_S),
        end: End::Known { precision, most_s },
    }
}

fn ops_per_job(
    work: &Work,
    suite: Option<&Suite>,
    facts: &Facts,
    request: &Request,
) -> Result<u64> {
    let wrong = |what: String| {
        Error::usage(format!("suite {}", suite.map_or("", |suite| suite.id.as_str())), what)
    };
    let per_op = work.per_op.eval(facts).map_err(wrong)?;
    let published_gb = suite.and_then(|suite| suite.published_gb);
    let ops = scaled_work(work, published_gb, facts) * request.time_scale / per_op;
    Ok(ops.round().clamp(1.0, 1e15) as u64)
}

/// The work of one job at the size of data in `facts`: the published amount, in proportion to the
/// rows of the table that it goes through if there is one.
fn scaled_work(work: &Work, published_gb: Option<f64>, facts: &Facts) -> f64 {
    let (Some(table), Some(published_gb)) = (&work.grows_with, published_gb) else {
        return work.amount;
    };
    let published_rows = table_rows(table, published_gb) as f64;
    let rows = facts.get(&format!("{table}_rows")).copied().unwrap_or(published_rows);
    work.amount * rows / published_rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Expr;

    fn work(amount: f64, per_op: &str, grows_with: Option<&str>) -> Work {
        Work {
            amount,
            unit: "rows".into(),
            per_op: Expr(per_op.into()),
            grows_with: grows_with.map(String::from),
        }
    }

    #[test]
    fn work_that_goes_through_a_table_grows_with_its_rows() {
        let facts = Facts::from([("small_rows".into(), 16_000.0), ("big_rows".into(), 512e6)]);
        assert_eq!(scaled_work(&work(125_000.0, "2", Some("small")), Some(512.0), &facts), 125.0);
        assert_eq!(scaled_work(&work(16e6, "1", Some("big")), Some(512.0), &facts), 16e6);
        assert_eq!(scaled_work(&work(65_536.0, "1", None), Some(512.0), &facts), 65_536.0);
    }
}
