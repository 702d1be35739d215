//! Counters of the database that somebody reset during a test.

use super::scope::unchecked_note;
use crate::model::{Counters, Reason, Sentence, SnapshotPoint, TestResult};

/// A note that names the counters that were read at begin and end of a test and have no difference:
/// they fell meanwhile ([`Counters::since`]). Those that go with their tables are not named: a
/// table that is dropped is the usual cause.
pub(super) fn judge(result: &TestResult) -> Option<Reason> {
    let (begin, end) = (at(result, SnapshotPoint::Begin)?, at(result, SnapshotPoint::End)?);
    let is_reset = |name: &&String| {
        begin.get(name).is_some()
            && result.counters.get(name).is_none()
            && !Counters::may_fall(name)
            && !Counters::is_of_tables(name)
    };
    let names: Vec<&str> = end.0.keys().filter(is_reset).map(String::as_str).collect();
    let sentence = Sentence::new(
        "not known are {names}: they fell during the test, since somebody reset them or they \
         began anew",
    );
    (!names.is_empty()).then(|| unchecked_note(sentence.with("names", names.join(", "))))
}

fn at(result: &TestResult, moment: SnapshotPoint) -> Option<&Counters> {
    let found = result.snapshots.iter().find(|snapshot| snapshot.moment == moment);
    found.map(|snapshot| &snapshot.counters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture;
    use crate::model::{ReasonCode, Snapshot, Status};

    /// A test with these counters at its begin and its end.
    fn test(begin: &[(&str, f64)], end: &[(&str, f64)]) -> TestResult {
        let snapshot = |moment, pairs| Snapshot {
            moment,
            t_s: 0.0,
            counters: fixture::counters(pairs),
            cost_ms: 0.0,
        };
        let (begin, end) =
            (snapshot(SnapshotPoint::Begin, begin), snapshot(SnapshotPoint::End, end));
        let counters = end.counters.since(&begin.counters);
        TestResult { counters, snapshots: vec![begin, end], ..fixture::result() }
    }

    #[test]
    fn counters_that_somebody_reset_are_named_and_not_compared() {
        let begin = [("commits", 500.0), ("debt_undo", 9.0), ("rows_inserted", 700.0)];
        let fallen = [("commits", 90.0), ("debt_undo", 2.0), ("rows_inserted", 1.0)];
        let found = judge(&test(&begin, &fallen)).unwrap();
        assert_eq!((found.status, found.code), (Status::Valid, ReasonCode::Unchecked));
        assert!(found.text.starts_with("not known are commits: they fell"));
        let grown = [("commits", 900.0), ("debt_undo", 2.0), ("rows_inserted", 1.0)];
        assert_eq!(judge(&test(&begin, &grown)), None, "gauges fall, rows go with their table");
        assert_eq!(judge(&fixture::result()), None);
    }
}
