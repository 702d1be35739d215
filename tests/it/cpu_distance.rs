//! The distance of CPUs, which is measured after tests of several jobs of a database on this host.

use serde_json::Value;

use crate::support::Desk;

/// The tests of the last run, as they are stored.
fn stored_tests(desk: &Desk) -> Vec<Value> {
    let export = desk.run("results export last").ok().stdout;
    let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["test"].is_object()).map(|mut line| line["test"].take()).collect()
}

#[test]
fn a_cache_line_travels_after_tests_of_several_jobs() {
    for target in ["sqlite", "postgres"] {
        let desk = Desk::new();
        let line = "--workload SRV-QUERY1 --size 0.01 --jobs 1,2 --repeat 5 --warmup 0 \
                    --duration 100ms";
        desk.run(&format!("run {target} {line}")).ok();
        let trip_s = |test: &Value| {
            let counter = |name: &str| test["counters"][name].as_f64();
            Some(counter("cpu_line_trips_s")? / counter("cpu_line_trips")?)
        };
        let of_jobs = |jobs: u32| -> Vec<Option<f64>> {
            let tests = stored_tests(&desk);
            let tests = tests.iter().filter(|test| test["jobs"] == jobs);
            tests.map(trip_s).collect()
        };
        assert_eq!(of_jobs(1), [None; 5], "{target}: one job shares nothing with another");
        // A test on a busy machine may have none.
        let trips: Vec<f64> = of_jobs(2).into_iter().flatten().collect();
        let cpus = std::thread::available_parallelism().unwrap().get();
        assert!(!trips.is_empty() || cpus == 1, "{target}: no trip between {cpus} CPUs");
        assert!(trips.iter().all(|trip_s| (5e-9..1e-3).contains(trip_s)), "{target}: {trips:?}");
    }
}
