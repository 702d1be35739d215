//! Sweeps over active sets whose caches are known.

use super::*;
use crate::analysis::fixture;
use crate::model::{LatencySummary, Reason, ReasonCode, Verdict};

/// Six blocks over 1 to 256 MB with a database's cache of 16 MB; a miss costs `rise_us`, and
/// the device reads `device_share` of the misses.
fn run(rise_us: f64, device_share: f64, counted_mb: f64) -> Vec<Test> {
    let mut tests: Vec<Test> = Vec::new();
    for block in 0..6_u32 {
        for step in 0..=16_u32 {
            let mb = 2f64.powf(f64::from(step) / 2.0);
            let miss = |cache: f64| (1.0 - cache / mb).max(0.0);
            let noise = 1.0 + 0.01 * f64::from((block * 5 + step * 3) % 7) - 0.03;
            let mean_us = Some((3.0 + rise_us * miss(16.0)) * noise);
            let mut test = TestResult {
                seq: tests.len() as u32 + 1,
                latency: LatencySummary { mean_us, ..LatencySummary::default() },
                ..fixture::at(1, 1.0)
            };
            test.params.insert(ACTIVE_ROWS.into(), ((mb * 1000.0).round()).to_string());
            test.chosen = test.params.clone();
            test.facts.extend(
                [("big_mb", 256.0), ("big_rows", 256_000.0), ("block_bytes", 8192.0)]
                    .map(|(name, value)| (name.to_string(), value)),
            );
            let reads = test.total.ops as f64 * miss(counted_mb);
            test.counters = fixture::counters(&[
                ("physical_reads", reads),
                ("server_read_bytes", reads * 8192.0 * device_share),
            ]);
            tests.push(test.into());
        }
    }
    tests
}

fn spoil(test: &mut Test) {
    let Test::Measured(test) = test else { panic!() };
    test.verdict =
        Verdict::from_reasons(vec![Reason::new(Status::Invalid, ReasonCode::Contract, "")]);
}

fn near(known: Option<MedianInterval>, expected: f64) -> bool {
    known.is_some_and(|known| {
        (known.value / expected - 1.0).abs() < 0.15 && known.low <= known.value
    })
}

#[test]
fn a_cache_is_found_with_its_size_and_both_times() {
    let curves = sweep(&run(12.0, 0.0, 16.0));
    assert_eq!((curves.len(), curves[0].steps.len(), curves[0].evicted), (1, 17, false));
    let [buffer, system] = curves[0].plateaus.as_slice() else {
        panic!("{:#?}", curves[0].plateaus)
    };
    assert_eq!((buffer.tier, system.tier), (Tier::BufferCache, Tier::SystemCache));
    assert!(
        near(buffer.us, 3.0) && near(buffer.up_to_mb, 16.0) && near(system.us, 15.0),
        "{buffer:?} {system:?}"
    );
    assert!(near(buffer.counted_mb, 16.0) && system.up_to_mb.is_none());
    assert_eq!((&buffer.contradiction, &system.contradiction), (&None, &None));
    let device = &sweep(&run(120.0, 1.0, 16.0))[0];
    assert!(device.reaches(Tier::Device) && !device.reaches(Tier::SystemCache));
}

#[test]
fn files_put_out_of_the_systems_cache_have_no_plateau_of_it() {
    let mut tests = run(12.0, 1.0, 16.0);
    for test in &mut tests {
        let Test::Measured(test) = test else { panic!() };
        test.facts.insert(EVICTED.into(), 1.0);
        // A bend that a second cache would leave.
        let mb = test.params[ACTIVE_ROWS].parse::<f64>().unwrap() / 1000.0;
        test.latency.mean_us =
            test.latency.mean_us.map(|us| us + 60.0 * (1.0 - 64.0 / mb).max(0.0));
    }
    let curve = &sweep(&tests)[0];
    assert!(curve.evicted && curve.plateaus.len() == 2, "{:#?}", curve.plateaus);
    assert!(
        curve.reaches(Tier::Device) && !curve.reaches(Tier::SystemCache),
        "{:#?}",
        curve.plateaus
    );
    tests.iter_mut().for_each(|test| {
        let Test::Measured(test) = test else { panic!() };
        test.facts.remove(EVICTED);
        // Both caches serve most of the reads, even for the largest active set.
        test.counters
            .set("server_read_bytes", 0.3 * test.counters.get("server_read_bytes").unwrap());
    });
    let tiers: Vec<Tier> = sweep(&tests)[0].plateaus.iter().map(|plateau| plateau.tier).collect();
    assert_eq!(
        tiers,
        [Tier::BufferCache, Tier::SystemCache, Tier::Device],
        "the bend is found where there may be one"
    );
}

#[test]
fn counters_that_say_something_else_contradict() {
    let of = |tests: &[Test]| {
        sweep(tests)[0].plateaus[0].contradiction.as_ref().map(ToString::to_string)
    };
    let other = of(&run(12.0, 0.0, 90.0)).unwrap();
    assert!(
        other.starts_with("by its counters the database's cache serves up to")
            && other.contains("by the service times"),
        "{other}"
    );
    let unseen = of(&run(0.0, 0.0, 16.0)).unwrap();
    assert!(unseen.ends_with("which no service time shows"), "{unseen}");
    let never = of(&run(12.0, 0.0, 0.2)).unwrap();
    assert!(never.contains("even of the smallest active set"), "{never}");
}

#[test]
fn a_block_that_lacks_many_steps_is_left_out() {
    let mut tests = run(12.0, 0.0, 16.0);
    spoil(&mut tests[3]);
    let curve = &sweep(&tests)[0];
    assert_eq!((curve.steps[3].blocks, curve.steps[3].left_out, curve.steps[3].us), (5, 1, None));
    assert!(near(curve.plateaus[0].us, 3.0), "the others of its block tell enough");
    tests[5..9].iter_mut().for_each(spoil);
    let curve = &sweep(&tests)[0];
    assert!(curve.plateaus.iter().all(|plateau| plateau.us.is_none()), "five blocks are too few");
    assert!(sweep(&[fixture::at(1, 1.0).into()]).is_empty());
}

/// The curve with an end of the CPU's cache, at which an op becomes `rise_us` slower.
fn with_processor_cache(mut tests: Vec<Test>, cache_mb: f64, rise_us: f64) -> Curve {
    for test in &mut tests {
        let Test::Measured(test) = test else { panic!() };
        let mb = test.params[ACTIVE_ROWS].parse::<f64>().unwrap() / 1000.0;
        let more_us = rise_us * (1.0 - cache_mb / mb).max(0.0);
        test.latency.mean_us = test.latency.mean_us.map(|us| us + more_us);
    }
    sweep(&tests).remove(0)
}

#[test]
fn a_plateau_that_misses_nothing_is_the_databases_cache_whatever_its_place() {
    // The database's cache holds all; of 2e-5 blocks per op the device reads every byte.
    let mut tests = run(0.0, 1.0, 256.0);
    for test in &mut tests {
        let Test::Measured(test) = test else { panic!() };
        let reads = 2e-5 * test.total.ops as f64;
        test.counters.set("physical_reads", reads);
        test.counters.set("server_read_bytes", reads * 8192.0);
    }
    let curve = with_processor_cache(tests, 4.0, 3.0);
    let tiers: Vec<Tier> = curve.plateaus.iter().map(|plateau| plateau.tier).collect();
    assert_eq!(tiers, [Tier::BufferCache, Tier::BufferCache], "{:#?}", curve.plateaus);
    assert!(!curve.reaches(Tier::Device) && !curve.reaches(Tier::SystemCache));
    // The same before the end of a database's cache of 32 MB.
    let curve = with_processor_cache(run(120.0, 1.0, 16.0), 2.0, 6.0);
    let tiers: Vec<Tier> = curve.plateaus.iter().map(|plateau| plateau.tier).collect();
    assert_eq!(
        tiers,
        [Tier::BufferCache, Tier::BufferCache, Tier::Device],
        "{:#?}",
        curve.plateaus
    );
    assert!(near(curve.plateaus[1].counted_mb, 16.0) && near(curve.plateaus[1].up_to_mb, 16.0));
    assert_eq!((curve.plateaus[0].counted_mb, &curve.plateaus[1].contradiction), (None, &None));
}

/// The tests with blocks per op that are read for the first time: `most` for a set of 256 MB,
/// fewer for a smaller one.
fn with_first_lookups(mut tests: Vec<Test>, most: f64) -> Vec<Test> {
    for test in &mut tests {
        let Test::Measured(test) = test else { panic!() };
        let mb = test.params[ACTIVE_ROWS].parse::<f64>().unwrap() / 1000.0;
        let reads = most * mb / 256.0 * test.total.ops as f64;
        test.counters.set("physical_reads", reads);
        test.counters.set("server_read_bytes", reads * 8192.0);
    }
    tests
}

#[test]
fn first_lookups_behind_the_end_of_a_processors_cache_are_no_device() {
    let tiers = |curve: &Curve| -> Vec<Tier> {
        curve.plateaus.iter().map(|plateau| plateau.tier).collect()
    };
    for most in [0.06, 0.12, 0.3] {
        let tests = with_first_lookups(run(0.0, 1.0, 256.0), most);
        let curve = with_processor_cache(tests, 4.0, 3.0);
        assert_eq!(tiers(&curve), [Tier::BufferCache, Tier::BufferCache], "{most}: {curve:#?}");
    }
    // A cache that ends shortly before the table does: as few are read, but by more and more
    // ops.
    let curve = with_processor_cache(run(0.0, 1.0, 150.0), 150.0, 20.0);
    assert_eq!(tiers(&curve), [Tier::BufferCache, Tier::Device], "{curve:#?}");
}

#[test]
fn first_lookups_are_not_the_end_of_a_cache() {
    // A large set has more blocks to be read for the first time: up to 0.12 per op.
    for most in [0.025, 0.12] {
        let curve = &sweep(&with_first_lookups(run(0.0, 0.0, 256.0), most))[0];
        let said = curve.plateaus.iter().any(|plateau| plateau.contradiction.is_some());
        let counted = curve.plateaus.iter().any(|plateau| plateau.counted_mb.is_some());
        assert!(!said && !counted, "{most}: {:#?}", curve.plateaus);
    }
}
