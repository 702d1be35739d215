//! Verdicts on results that are made by hand.

use super::*;
use crate::analysis::fixture;
use crate::model::{Expr, Snapshot, SnapshotPoint};

const CTX: JudgeContext<'static> = JudgeContext {
    engine: "one",
    in_process: false,
    host_cpus: 4,
    clock_step_s: 0.0,
    round_trip_s: None,
};

fn calm() -> TestResult {
    let window_counters = fixture::counters(&[
        ("os_cpu_steal_s", 0.1),
        ("os_cpu_total_s", 40.0),
        ("self_cpu_s", 8.0),
    ]);
    TestResult { window_counters, ..fixture::result() }
}

fn verdict(result: &TestResult, ctx: &JudgeContext<'_>) -> (Status, Vec<String>) {
    let verdict = judge(result, &[], &[], ctx);
    (
        verdict.status,
        verdict
            .reasons
            .into_iter()
            .map(|reason| format!("{}: {}", reason.code, reason.text))
            .collect(),
    )
}

#[test]
fn a_calm_test_is_valid_without_a_reason() {
    assert_eq!(verdict(&calm(), &CTX), (Status::Valid, vec![]));
}

#[test]
fn a_mean_that_is_not_as_well_known_as_asked_for_is_conditional() {
    let with = |ci_fraction| TestResult { ci_fraction, precision: "2%".parse().ok(), ..calm() };
    assert_eq!(verdict(&with(Some(0.02)), &CTX), (Status::Valid, vec![]));
    let (status, reasons) = verdict(&with(Some(0.031)), &CTX);
    let text = "precision: the 95 % interval is +-3.10 % after 10.0 s, not +-2 %: use a longer \
                --max-duration";
    assert_eq!((status, reasons[0].as_str()), (Status::Conditional, text));
    assert!(
        verdict(&with(None), &CTX).1[0].starts_with("precision: no 95 % interval after 10.0 s")
    );
}

#[test]
fn a_client_that_waits_for_the_network_most_of_the_time_measures_it() {
    let (mut result, elsewhere) = (calm(), JudgeContext { round_trip_s: Some(400e-6), ..CTX });
    result.total.busy_s = result.total.ops as f64 * 1e-3;
    result.drive = Drive::Client;
    assert_eq!(verdict(&result, &elsewhere).0, Status::Valid, "four tenths");
    result.total.busy_s *= 0.5;
    let text = "network: the network round trip (400 us) is 80 % of the service time: this \
                result includes the network";
    assert_eq!(verdict(&result, &elsewhere), (Status::Conditional, vec![text.to_string()]));
    result.drive = Drive::Database;
    assert_eq!(verdict(&result, &elsewhere).0, Status::Valid, "one call a second");
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
fn one_tick_of_steal_time_says_nothing_of_a_short_window() {
    let mut result = calm();
    result.window_counters.set("os_cpu_total_s", 0.4);
    let mut status = |stolen_s: f64| {
        result.window_counters.set("os_cpu_steal_s", stolen_s);
        steal(&result).map(|reason| reason.status)
    };
    assert_eq!([status(0.01), status(0.02)], [None, Some(Status::Conditional)]);
}

#[test]
fn stolen_time_above_two_percent_is_conditional_unknown_is_a_note() {
    let mut result = calm();
    result.window_counters.set("os_cpu_steal_s", 0.8);
    assert_eq!(verdict(&result, &CTX).0, Status::Valid);
    result.window_counters.set("os_cpu_steal_s", 1.0);
    let (status, reasons) = verdict(&result, &CTX);
    assert!(
        status == Status::Conditional && reasons[0].starts_with("steal: steal time was 2.50 %"),
        "{reasons:?}"
    );
    let (status, reasons) = verdict(&fixture::result(), &CTX);
    assert!(status == Status::Valid && reasons[0].starts_with("unchecked: stolen"), "{reasons:?}");
}

#[test]
fn what_other_programs_used_is_conditional_from_five_percent_on() {
    // 2 processors that the database and others fill.
    let with = |foreign_s: f64, window_s: f64| {
        let mut result = TestResult { window_s, ..calm() };
        let host =
            [("os_cpu_total_s", 2.0 * window_s), ("os_cpu_idle_s", 0.0), ("os_cpu_steal_s", 0.0)];
        host.iter().for_each(|(name, value)| result.window_counters.set(*name, *value));
        result.window_counters.set("os_cpu_foreign_s", foreign_s);
        verdict(&result, &JudgeContext { in_process: true, ..CTX })
    };
    assert_eq!(with(0.99, 10.0), (Status::Valid, vec![]));
    let text = "foreign-load: other processes used 23 % of the CPU time that this test could \
                use (0.460 of 2 CPUs)";
    assert_eq!(with(4.6, 10.0), (Status::Conditional, vec![text.to_string()]));
    assert_eq!(with(1.0, 10.0).0, Status::Conditional);
    // Of 0.3 s the account is not that exact.
    assert_eq!((with(0.06, 0.3).0, with(0.09, 0.3).0), (Status::Valid, Status::Conditional));
}

#[test]
fn what_other_programs_read_from_the_device_is_conditional_where_the_database_uses_it() {
    // 10 s, the device busy for 6: 200 MB read, of them 80 by the database, 100 MB written.
    let with = |changed: &[(&str, f64)]| {
        let mut result = calm();
        let device = [
            ("os_disk_read_bytes", 200e6),
            ("os_disk_write_bytes", 100e6),
            ("os_disk_busy_s", 6.0),
        ];
        let own = [("server_read_bytes", 80e6)];
        let all = device.iter().chain(&own).chain(changed);
        all.for_each(|(name, value)| result.window_counters.set(*name, *value));
        verdict(&result, &CTX)
    };
    let text = "foreign-load: other processes read 120 of the 200 MB that the database's \
                device read: 24 % of its time by bytes";
    assert_eq!(with(&[]), (Status::Conditional, vec![text.to_string()]));
    assert_eq!(with(&[("os_disk_busy_s", 1.2)]).0, Status::Valid, "4.8 % of the time");
    assert_eq!(with(&[("server_read_bytes", 0.0)]).0, Status::Valid, "the database uses no device");
    assert_eq!(with(&[("server_read_bytes", 0.0), ("wal_syncs", 9.0)]).0, Status::Conditional);
    assert_eq!(with(&[("server_read_bytes", 210e6)]).0, Status::Valid);
}

#[test]
fn instruments_of_the_server_are_named_and_weigh_within_routines() {
    let mut result = calm();
    for on in [0.0, 1.0] {
        let counters = fixture::counters(&[("instruments", on)]);
        result.snapshots.push(Snapshot {
            moment: SnapshotPoint::Begin,
            t_s: 0.0,
            counters,
            cost_ms: 0.0,
        });
        result.drive = Drive::Database;
        let (status, reasons) = verdict(&result, &CTX);
        assert_eq!(
            status,
            if on > 0.0 { Status::Conditional } else { Status::Valid },
            "{reasons:?}"
        );
    }
    result.drive = Drive::Client;
    let (status, reasons) = verdict(&result, &CTX);
    assert!(status == Status::Valid && reasons[0].starts_with("instruments: "), "{reasons:?}");
}

#[test]
fn a_lock_around_the_caches_of_all_jobs_counts_from_two_jobs_on() {
    let mut result = calm();
    let counters = fixture::counters(&[("cache_lock", 1.0)]);
    let (moment, t_s, cost_ms) = (SnapshotPoint::Begin, 0.0, 0.0);
    result.snapshots.push(Snapshot { moment, t_s, counters, cost_ms });
    assert_eq!(verdict(&result, &CTX).0, Status::Conditional);
    result.jobs = 1;
    assert!(!verdict(&result, &CTX).1.iter().any(|reason| reason.starts_with("instruments")));
}

#[test]
fn our_process_is_the_limit_per_job_or_per_host_but_not_in_process() {
    let mut result = calm();
    result.window_counters.set("self_cpu_s", 18.0);
    let (status, reasons) = verdict(&result, &CTX);
    assert!(
        status == Status::Conditional && reasons[0].starts_with("client-limit: the client"),
        "{reasons:?}"
    );
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
    let text = "not-steady: not steady: trend -58.1 % over the window (p = 0), second half \
                -27.8 % against the first";
    assert_eq!((status, reasons[0].as_str()), (Status::Conditional, text));
    assert_eq!(falling(4, 100.0).0, Status::Valid);
    assert_eq!(falling(10, 0.1).0, Status::Valid);
}

#[test]
fn a_clock_step_is_judged_against_the_window() {
    let stepped = |clock_step_s| verdict(&calm(), &JudgeContext { clock_step_s, ..CTX }).0;
    let expected = [Status::Valid, Status::Conditional, Status::Invalid];
    assert_eq!([stepped(0.015), stepped(-0.05), stepped(3600.0)], expected);
    let of_server =
        |server_clock_step_s| verdict(&TestResult { server_clock_step_s, ..calm() }, &CTX).0;
    assert_eq!([of_server(0.015), of_server(0.05), of_server(25.0)], expected);
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
    assert_eq!(
        (verdict.status, codes),
        (Status::Invalid, vec!["crosscheck", "errors", "unchecked"])
    );
}

#[test]
fn clock_reads_of_our_own_show_from_a_twentieth_of_the_service_time_on() {
    let mut result = calm();
    result.latency.mean_us = Some(200.0);
    let judged = |result: &TestResult| verdict(result, &CTX).0;
    assert_eq!(judged(&result), Status::Valid);
    result.instrument_us_per_op = Some(9.9);
    assert_eq!(judged(&result), Status::Valid);
    result.instrument_us_per_op = Some(10.0);
    assert_eq!(judged(&result), Status::Conditional);
    assert_eq!(timing_cost(&result).unwrap().code, ReasonCode::TimingCost);
}
