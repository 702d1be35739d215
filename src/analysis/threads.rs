//! How many processes really worked on an op, beside the number that was asked for.

use super::scope::Scope;
use crate::model::{Expr, TestResult};

/// Fact with the processes that worked on one op, on average.
pub const THREADS_USED: &str = "threads_used";

/// Evaluates the workload's definition of the real number of threads (`seq_scans / ops`) and keeps it as a fact of the
/// result. Without a definition, or where a counter is missing, nothing is known.
pub fn keep_threads(result: &mut TestResult, definition: Option<&Expr>) {
    let Some(definition) = definition else { return };
    let used = Scope::new(result).over_counters(definition);
    if let Some(used) = used.filter(|used| used.is_finite()) {
        result.facts.insert(THREADS_USED.into(), used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;

    #[test]
    fn every_process_counts_its_scan() {
        let mut result = fixture::result();
        let definition = Expr("seq_scans / ops".into());
        keep_threads(&mut result, Some(&definition));
        assert_eq!(result.facts.get(THREADS_USED), None);
        // 120000 ops of two processes each.
        result.counters = fixture::counters(&[("seq_scans", 240_000.0)]);
        keep_threads(&mut result, Some(&definition));
        assert_eq!(result.facts.get(THREADS_USED), Some(&2.0));
    }
}
