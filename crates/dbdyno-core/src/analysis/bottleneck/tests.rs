use super::*;
use crate::analysis::fixture;
use crate::analysis::kpm::THREADS_USED;
use crate::model::{Event, EventCount, OpenLoop, ProcessorTime};

fn with(window: &[(&str, f64)], whole: &[(&str, f64)]) -> TestResult {
    let (window_counters, counters) = (fixture::counters(window), fixture::counters(whole));
    TestResult { window_counters, counters, ..fixture::result() }
}

/// 10 s on 4 processors that other programs keep busy.
fn busy_host(server_s: f64, self_s: f64) -> TestResult {
    let host = [("os_cpu_total_s", 40.0), ("os_cpu_idle_s", 0.0)];
    with(&[host[0], host[1], ("server_cpu_s", server_s), ("self_cpu_s", self_s)], &[])
}

/// Result with 100 samples of two jobs: of their 200 sightings, these numbers were at these
/// activities, and the others were at work.
fn sampled(result: TestResult, idle: u64, at: &[(Activity, u64)]) -> TestResult {
    let event = |activity: Activity, samples: u64, background: bool| EventCount {
        event: Event { class: "class".into(), name: activity.name().into(), activity, background },
        samples,
        share: 0.0,
    };
    let waiting: u64 = at.iter().map(|(_, count)| count).sum();
    let mut events: Vec<EventCount> =
        at.iter().map(|(activity, count)| event(*activity, *count, false)).collect();
    events.push(event(Activity::Cpu, 200 - idle - waiting, false));
    TestResult {
        waits: Some(Waits { samples: 100, sessions: 200, idle, events, ..Waits::default() }),
        ..result
    }
}

fn causes(result: &TestResult) -> Vec<Cause> {
    bottlenecks(result).iter().map(|bottleneck| bottleneck.cause).collect()
}

#[test]
fn two_busy_processors_of_four_limit_two_jobs_as_threads_and_eight_jobs_are_limited_by_all() {
    let found = bottlenecks(&busy_host(18.0, 1.0));
    assert_eq!((found.len(), found[0].cause), (1, Cause::OneThread));
    assert!((found[0].share.unwrap() - 0.95).abs() < 1e-12);
    let text = "1.90 CPUs in use by the database and dbdyno; 2 jobs can use 2 of 4";
    assert_eq!(found[0].evidence.to_string(), text);
    assert_eq!(causes(&busy_host(15.0, 1.0)), []);
    let eight = TestResult { jobs: 8, ..busy_host(38.0, 1.0) };
    assert_eq!(
        bottlenecks(&eight)[0].evidence.to_string(),
        "3.90 of 4 CPUs in use by the database and dbdyno"
    );
    assert_eq!(causes(&eight), [Cause::Cpu]);
}

#[test]
fn jobs_seen_at_work_on_a_busy_host_are_limited_by_processors_that_others_take_too() {
    // Two jobs at work all the time; of 2 processors others have 1.
    let window = [
        ("os_cpu_total_s", 20.0),
        ("os_cpu_idle_s", 0.0),
        ("server_cpu_s", 9.5),
        ("os_cpu_foreign_s", 10.0),
    ];
    let result = sampled(with(&window, &[]), 0, &[]);
    assert_eq!(causes(&result), [Cause::Cpu, Cause::Neighbours]);
}

#[test]
fn what_nobody_knows_is_not_blamed() {
    // An engine within dbdyno's process has no processes of its own.
    let embedded = |self_s| with(&[("os_cpu_total_s", 40.0), ("self_cpu_s", self_s)], &[]);
    assert_eq!((bottlenecks(&embedded(19.0)).len(), bottlenecks(&embedded(3.0)).len()), (1, 0));
    let elsewhere =
        with(&[("os_cpu_total_s", 40.0), ("self_cpu_s", 19.0), ("os_elsewhere", 0.0)], &[]);
    assert_eq!(causes(&elsewhere), [], "our process is not on that host");
    let at_work = |idle_s| {
        let window = [("os_cpu_total_s", 20.0), ("os_cpu_idle_s", idle_s), ("os_elsewhere", 0.0)];
        bottlenecks(&sampled(with(&window, &[]), 0, &[]))
    };
    assert_eq!(
        at_work(0.0)[0].evidence.to_string(),
        "2 of 2 CPUs of the database's host in use, by all processes"
    );
    assert_eq!(at_work(5.0), []);
    // For a server on another host the CPU time of dbdyno is known, but no CPUs of the server.
    assert_eq!(causes(&with(&[("self_cpu_s", 20.0)], &[])), []);
    assert_eq!(causes(&fixture::result()), []);
}

#[test]
fn threads_let_a_job_use_more_processors() {
    for known in ["asked", "used"] {
        let with_threads = |result: TestResult| match known {
            "asked" => {
                TestResult { params: [("threads".to_string(), "2".to_string())].into(), ..result }
            }
            _ => TestResult { facts: [(THREADS_USED.to_string(), 2.0)].into(), ..result },
        };
        assert_eq!(causes(&with_threads(busy_host(20.0, 0.0))), [], "{known}");
        assert_eq!(causes(&with_threads(busy_host(38.0, 0.0))), [Cause::Cpu], "{known}");
    }
}

#[test]
fn processors_that_the_host_of_a_virtual_machine_took_cannot_be_used() {
    let mut stolen = TestResult { jobs: 8, ..busy_host(27.0, 1.0) };
    assert_eq!(causes(&stolen), []);
    stolen.window_counters.set("os_cpu_steal_s", 10.0);
    assert_eq!(
        bottlenecks(&stolen)[0].evidence.to_string(),
        "2.80 of 3 CPUs in use by the database and dbdyno"
    );
}

#[test]
fn a_quota_limits_a_database_on_a_host_whose_processors_are_idle() {
    // 4 of 64 processors for 16 jobs, which wait for a quarter of their time.
    let host = [("os_cpu_total_s", 640.0), ("os_cpu_idle_s", 600.0)];
    let stopped = |of: &[(&str, f64)]| {
        let result = with(&[&host[..], of].concat(), &[]);
        bottlenecks(&TestResult { jobs: 16, ..result })
    };
    let found = stopped(&[("server_cpu_s", 40.0), ("server_throttled_s", 40.0)]);
    assert_eq!((found.len(), found[0].cause, found[0].share), (1, Cause::Cpu, Some(0.25)));
    assert_eq!(
        found[0].evidence.to_string(),
        "a CPU quota stopped the database's server for 40 s, summed over CPUs"
    );
    assert_eq!(stopped(&[("server_cpu_s", 40.0), ("server_throttled_s", 15.0)]), []);
    let client = [("server_cpu_s", 40.0), ("self_throttled_s", 40.0)];
    assert_eq!(stopped(&client), [], "the client's quota is not the database's");
    let within_us = stopped(&[("self_cpu_s", 40.0), ("self_throttled_s", 40.0)]);
    assert_eq!(
        within_us[0].evidence.to_string(),
        "a CPU quota stopped dbdyno for 40 s, summed over CPUs"
    );
}

#[test]
fn counters_tell_waits_where_nothing_is_sampled() {
    // Log: 9 s of 12 s; reads: 20 s of the jobs' 24 s.
    let whole = [
        ("wal_sync_time_ms", 9_000.0),
        ("wal_syncs", 30_000.0),
        ("physical_read_time_ms", 20_000.0),
        ("physical_reads", 100_000.0),
    ];
    let found = bottlenecks(&with(&[], &whole));
    let texts: Vec<_> = found.iter().map(|bottleneck| bottleneck.evidence.to_string()).collect();
    assert_eq!(
        texts,
        ["83.3 % of session time in 100000 reads", "75 % of the time in 30000 log syncs"]
    );
}

#[test]
fn waits_are_ranked_by_the_time_that_sessions_were_seen_at_them() {
    let at = [
        (Activity::LogSync, 90),
        (Activity::RowLock, 40),
        (Activity::Latch, 25),
        (Activity::DataWrite, 10),
    ];
    let result = sampled(fixture::result(), 0, &at);
    assert_eq!(causes(&result), [Cause::LogSync, Cause::RowLock, Cause::Latch]);
    let first = bottlenecks(&result).remove(0);
    assert_eq!(
        (first.share, first.evidence.to_string().as_str()),
        (Some(0.45), "45 % of session time by sampling, most of it at class: log-sync")
    );
    let reads =
        sampled(fixture::result(), 0, &[(Activity::DataRead, 60), (Activity::DataWrite, 30)]);
    assert_eq!(causes(&reads), [Cause::Read, Cause::DataWrite]);
}

#[test]
fn a_fast_log_takes_the_kernels_work_for_it() {
    let found = |user_s, kernel_s, queued_s| {
        let mut result = sampled(fixture::result(), 0, &[(Activity::LogSync, 4)]);
        result.waits.as_mut().unwrap().processors =
            Some(ProcessorTime { of_s: 20.0, user_s, kernel_s, queued_s });
        causes(&result)
    };
    assert_eq!(found(12.0, 7.2, 0.0), [Cause::LogSync]);
    assert_eq!(found(19.0, 0.2, 0.0), []);
    // Where others leave next to nothing, a tenth of that counts.
    assert_eq!(found(0.8, 0.0, 18.4), [Cause::LogSync]);
}

#[test]
fn a_full_buffer_of_the_log_is_told_from_its_syncs_by_the_writes() {
    // 90 of 200 sightings were at the log; this many of 100 writes were made because the buffer was
    // full.
    let found = |full: f64| {
        let host = with(&[("log_buffer_full", full), ("log_writes", 100.0)], &[]);
        bottlenecks(&sampled(host, 0, &[(Activity::LogSync, 90)]))
    };
    let causes =
        |full: f64| found(full).iter().map(|bottleneck| bottleneck.cause).collect::<Vec<_>>();
    assert_eq!(causes(60.0), [Cause::LogBuffer, Cause::LogSync]);
    assert_eq!(causes(40.0), [Cause::LogSync, Cause::LogBuffer]);
    assert_eq!(causes(20.0), [Cause::LogSync], "less than a tenth of the time");
    let text = "at most 27 % of session time: sampled log waits, times the share of log writes \
                forced by a full log buffer (60 of 100)";
    assert_eq!(found(60.0)[0].evidence.to_string(), text);
    assert_eq!(
        bottlenecks(&with(&[("log_buffer_full", 60.0), ("log_writes", 100.0)], &[])),
        [],
        "nothing was sampled"
    );
}

#[test]
fn memory_is_a_cause_where_it_is_slow_and_the_processors_are_not() {
    let found = |walk: f64, work: f64, busy_s: f64| {
        let mut result = TestResult { jobs: 8, ..busy_host(busy_s, 1.0) };
        let looks = [("watch_paced", 4.0), ("watch_speed", 4.0 * work), ("watch_walked", 4.0)];
        looks.into_iter().for_each(|(name, value)| result.window_counters.set(name, value));
        result.window_counters.set("watch_walk_speed", 4.0 * walk);
        bottlenecks(&result)
    };
    let causes = |found: Vec<Bottleneck>| {
        found.iter().map(|bottleneck| bottleneck.cause).collect::<Vec<_>>()
    };
    assert_eq!(causes(found(0.4, 0.96, 38.0)), [Cause::Cpu, Cause::Memory]);
    let text =
        "a walk through memory took x2.50 of its time when the run began, fixed integer work x1.04";
    let bottleneck = found(0.4, 0.96, 38.0).remove(1);
    assert_eq!((bottleneck.share, bottleneck.evidence.to_string().as_str()), (None, text));
    assert_eq!(causes(found(0.7, 1.0, 38.0)), [Cause::Cpu], "a little");
    assert_eq!(causes(found(0.4, 0.4, 38.0)), [Cause::Cpu], "the processors are slow themselves");
    assert_eq!(causes(found(0.4, 1.0, 15.0)), [], "jobs wait for something else");
}

#[test]
fn checkpoints_that_follow_one_another_are_a_cause() {
    let whole = |count| with(&[], &[("checkpoints", count)]); // in 12 s
    assert_eq!(causes(&whole(1.0)), []);
    let found = bottlenecks(&whole(3.0));
    assert_eq!(
        (found[0].cause, found[0].share, found[0].evidence.to_string().as_str()),
        (Cause::Checkpoint, None, "3 checkpoints in 12.0 s")
    );
    let mut seen = sampled(whole(3.0), 0, &[]);
    let event = Event {
        class: "checkpointer: IO".into(),
        name: "DataFileWrite".into(),
        activity: Activity::DataWrite,
        background: true,
    };
    seen.waits.as_mut().unwrap().events.push(EventCount { event, samples: 60, share: 1.0 });
    assert_eq!(bottlenecks(&seen)[0].share, Some(0.6));
    // Two samples of a hundred limit nothing.
    let mut rarely = seen.clone();
    rarely.waits.as_mut().unwrap().events.last_mut().unwrap().samples = 2;
    assert_eq!((bottlenecks(&rarely)[0].share, limit(&rarely)), (None, None));
    // Jobs that were seen waiting for one are its evidence, also where none is counted.
    let mut waiting = sampled(with(&[], &[]), 0, &[(Activity::Other, 50)]);
    assert_eq!(causes(&waiting), []);
    let waits = waiting.waits.as_mut().unwrap();
    waits.events[0].event.class = "checkpointer: the log is full".into();
    waits.events.extend(seen.waits.unwrap().events.pop());
    let found = bottlenecks(&waiting).remove(0);
    let text = "25 % of session time by sampling until a checkpoint gave room in the log, which \
                was nearly full in 60 % of the samples";
    assert_eq!(
        (found.cause, found.share, found.evidence.to_string().as_str()),
        (Cause::Checkpoint, Some(0.25), text)
    );
}

#[test]
fn who_keeps_sessions_idle_is_our_process_or_the_way_to_it() {
    let result = |worked: f64, waited: f64| {
        let window = [("self_cpu_s", worked), ("self_wait_s", waited)];
        sampled(with(&window, &[]), 100, &[]) // 10 of 20 s
    };
    assert_eq!(causes(&result(7.0, 0.0)), [Cause::Client, Cause::Network]);
    assert_eq!(causes(&result(1.0, 8.5)), [Cause::Client]);
    assert_eq!(causes(&result(1.0, 0.5)), [Cause::Network]);
    // In an open loop sessions are meant to wait.
    let open = OpenLoop {
        offer: crate::model::OfferedLoad {
            per_s: 5.0,
            arrivals: crate::model::Arrivals::Uniform,
            slo: None,
        },
        due: 1.0,
        response: Default::default(),
        phases: Vec::new(),
    };
    assert_eq!(causes(&TestResult { open: Some(open), ..result(1.0, 0.5) }), []);
}

#[test]
fn neighbours_are_to_blame_for_no_more_than_they_used() {
    // Sessions at work for 20 s, of which the processors account for 8; others used 1 of 2
    // processors for 10 s.
    let host = |foreign: f64| {
        let window = [
            ("os_cpu_total_s", 20.0),
            ("os_cpu_idle_s", 0.0),
            ("server_cpu_s", 8.0),
            ("os_cpu_foreign_s", foreign),
        ];
        sampled(with(&window, &[]), 0, &[])
    };
    let found = bottlenecks(&host(10.0));
    let neighbours = found.iter().find(|bottleneck| bottleneck.cause == Cause::Neighbours).unwrap();
    assert_eq!(neighbours.share, Some(0.5));
    assert!(!causes(&host(0.5)).contains(&Cause::Neighbours));
}

#[test]
fn a_cause_begins_where_it_comes_first_for_good() {
    let one = |cause| vec![Bottleneck { cause, share: Some(0.5), evidence: Sentence::default() }];
    let steps = [
        (1, one(Cause::OneThread)),
        (2, one(Cause::LogSync)),
        (4, one(Cause::Cpu)),
        (8, one(Cause::Cpu)),
    ];
    assert_eq!(begins_at(&steps, Cause::Cpu), Some(4));
    assert_eq!(begins_at(&steps, Cause::LogSync), None);
    assert_eq!(begins_at(&steps[..2], Cause::LogSync), Some(2));
}

#[test]
fn every_cause_has_a_code_of_its_own() {
    let codes: std::collections::BTreeSet<_> =
        Cause::ALL.iter().map(|cause| cause.code()).collect();
    assert_eq!(codes.len(), Cause::ALL.len());
}
