//! Counters as rates per second of the window.

use crate::model::TestResult;

/// Counters that are exact at any moment: the operating system's and our own process's.
const EXACT_PREFIXES: [&str; 3] = ["os_", "self_", "server_"];

/// The counter `name` per second of the window; absent if the counter is.
///
/// Operating system counters: their difference over the window / its length. Database counters: some engines hand
/// them over late (a PostgreSQL session reports once a second at best, at the latest when it ends), and a long op
/// counts at its end, so that a difference over the window can be off by more than a second's worth. They are exact
/// for the whole test only. Hence the figure per op over the whole test, times the ops per second of the window; for a
/// test without ops, per second of the whole test.
pub fn counter_per_s(result: &TestResult, name: &str) -> Option<f64> {
    if EXACT_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
        return window_per_s(result, name);
    }
    let count = result.counters.get(name)?;
    match result.total.ops {
        0 => (result.total_s > 0.0).then(|| count / result.total_s),
        ops => Some(count / ops as f64 * result.ops_per_s),
    }
}

/// The counter's difference over the window / seconds of the window.
pub fn window_per_s(result: &TestResult, name: &str) -> Option<f64> {
    let count = result.window_counters.get(name)?;
    (result.window_s > 0.0).then(|| count / result.window_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::Tally;

    #[test]
    fn a_database_counter_is_taken_per_op_of_the_whole_test() {
        let mut result = fixture::result();
        result.counters = fixture::counters(&[("logical_reads", 360_000.0)]);
        // A late counter: the window saw too little of it. 360000 / 120000 ops = 3 per op, x 10000 ops/s.
        result.window_counters = fixture::counters(&[("logical_reads", 7.0)]);
        assert_eq!(counter_per_s(&result, "logical_reads"), Some(30_000.0));
        result.total = Tally::default();
        assert_eq!(counter_per_s(&result, "logical_reads"), Some(30_000.0));
        assert_eq!(counter_per_s(&result, "physical_reads"), None);
    }

    #[test]
    fn an_operating_system_counter_is_taken_over_the_window() {
        let mut result = fixture::result();
        result.counters = fixture::counters(&[("os_disk_reads", 9_999.0)]);
        assert_eq!(counter_per_s(&result, "os_disk_reads"), None);
        result.window_counters = fixture::counters(&[("os_disk_reads", 500.0)]);
        assert_eq!(counter_per_s(&result, "os_disk_reads"), Some(50.0));
    }
}
