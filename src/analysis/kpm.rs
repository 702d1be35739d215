//! Key performance metrics of a test, computed from their definition in the catalogue.

use super::rates::counter_per_s;
use crate::model::{Kpm, KpmValue, Tally, TestResult};

/// The value of `kpm` for a result, in the KPM's own unit; absent if its counter is unknown or nothing was done.
pub fn evaluate(kpm: &Kpm, result: &TestResult) -> Option<f64> {
    Some(base_value(&kpm.value, result)? * kpm.scale)
}

/// Sets `kpm_value` and `second_value` of a result from its definitions.
pub fn fill(result: &mut TestResult) {
    result.kpm_value = evaluate(&result.kpm, result);
    result.second_value = result.second.as_ref().and_then(|second| evaluate(second, result));
}

/// Mean service time of an op in seconds: the jobs' busy time / ops; absent without ops.
pub fn mean_service_s(tally: &Tally) -> Option<f64> {
    (tally.ops > 0).then(|| tally.busy_s / tally.ops as f64)
}

/// In base units: per second, or seconds.
fn base_value(value: &KpmValue, result: &TestResult) -> Option<f64> {
    let when_done = |rate: f64| (result.window.ops > 0).then_some(rate);
    match value {
        KpmValue::Units => when_done(result.units_per_s),
        KpmValue::Ops => when_done(result.ops_per_s),
        KpmValue::Rows => when_done(result.rows_per_s),
        KpmValue::ServiceTime => mean_service_s(&result.window),
        KpmValue::Counter(name) => counter_per_s(result, name),
        KpmValue::CounterBlocks(name) => Some(counter_per_s(result, name)? * result.facts.get("block_bytes")?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Better;

    fn value(value: KpmValue, result: &TestResult) -> Option<f64> {
        evaluate(&fixture::kpm(value, "x", Better::Higher), result)
    }

    #[test]
    fn every_kind_of_kpm() {
        let mut result = fixture::result();
        (result.units_per_s, result.rows_per_s) = (380_000.0, 250_000.0);
        result.counters = fixture::counters(&[("blocks_written", 240_000.0)]);
        assert_eq!(value(KpmValue::Units, &result), Some(380_000.0));
        assert_eq!(value(KpmValue::Ops, &result), Some(10_000.0));
        assert_eq!(value(KpmValue::Rows, &result), Some(250_000.0));
        assert_eq!(value(KpmValue::ServiceTime, &result), Some(20.0 / 100_000.0));
        assert_eq!(value(KpmValue::Counter("blocks_written".into()), &result), Some(20_000.0));
        assert_eq!(value(KpmValue::Counter("unknown".into()), &result), None);
        assert_eq!(value(KpmValue::CounterBlocks("blocks_written".into()), &result), None);
        result.facts.insert("block_bytes".into(), 8192.0);
        assert_eq!(value(KpmValue::CounterBlocks("blocks_written".into()), &result), Some(163_840_000.0));
    }

    #[test]
    fn fill_applies_the_scale_and_leaves_unknown_absent() {
        let mut result = fixture::result();
        result.kpm = Kpm { scale: 1000.0, ..fixture::kpm(KpmValue::ServiceTime, "ms", Better::Lower) };
        result.second = Some(fixture::kpm(KpmValue::Counter("wal_bytes".into()), "B/s", Better::Higher));
        result.second_value = Some(1.0);
        fill(&mut result);
        assert!((result.kpm_value.unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(result.second_value, None);
    }

    #[test]
    fn without_ops_there_is_no_rate() {
        let result = TestResult { window: Tally::default(), ..fixture::result() };
        assert_eq!(value(KpmValue::Ops, &result), None);
        assert_eq!(value(KpmValue::ServiceTime, &result), None);
    }
}
