//! A value in another unit than its neighbors.

use super::{Cell, Slip};
use crate::analysis::published::is_rate;
use crate::model::{PublishedKind, Reason, ReasonCode, Sentence, Status};

/// Throughput may exceed speed by this multiple of the largest number of jobs that the suite prints
/// anywhere.
const SCALING: f64 = 10.0;
/// Jobs assumed where a suite prints none.
const USUAL_JOBS: u32 = 64;
/// Throughput below this fraction of the speed is another metric: the best of a ramp is at least
/// its first step.
const LEAST: f64 = 0.2;

/// The figures in another unit.
pub(super) fn judge<'a>(cells: &[Cell<'a>]) -> Vec<Slip<'a>> {
    let found = cells.iter().filter_map(|cell| {
        let reason = other_metric(cell, cells).or_else(|| other_size(cell, cells))?;
        Some(Slip { cell: *cell, reason })
    });
    found.collect()
}

/// Reason if the other figures of the workload are in one metric and this figure in another.
fn other_metric(cell: &Cell<'_>, cells: &[Cell<'_>]) -> Option<Reason> {
    let family: Vec<&Cell<'_>> = cells.iter().filter(|other| is_family(cell, other)).collect();
    let rows: Vec<&&Cell<'_>> =
        family.iter().filter(|other| other.kind == PublishedKind::Throughput).collect();
    let votes =
        |metric: &str, of: &[&Cell<'_>]| of.iter().filter(|other| other.metric == metric).count();
    let usual = family.iter().map(|other| other.metric).max_by_key(|metric| {
        // If speed and throughput disagree, the throughput's metric is the usual one.
        let best_of_ramps = rows.iter().filter(|other| other.metric == *metric).count();
        (votes(metric, &family), best_of_ramps)
    })?;
    // A time is another way to state the speed of one job, but never a throughput.
    let comparable = !is_rate(cell.metric) && cell.kind == PublishedKind::Speed;
    let fewer = votes(cell.metric, &family) <= votes(usual, &family);
    (usual != cell.metric && fewer && !comparable).then(|| {
        let sentence = match votes(usual, &family) {
            1 => {
                "{metric} beside 1 figure of this workload in {usual}: another unit, not \
                  comparable with it"
            }
            _ => {
                "{metric} beside {count} figures of this workload in {usual}: another unit, not \
                  comparable with them"
            }
        };
        let sentence = Sentence::new(sentence).with("metric", cell.metric).with("usual", usual);
        Reason::new(
            Status::Conditional,
            ReasonCode::Unit,
            sentence.with("count", votes(usual, &family)),
        )
    })
}

/// True if both are of the same suite and workload, whatever their parameters.
fn is_family(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    let suite = |cell: &Cell<'_>| cell.hash.strip_suffix(cell.code).map(str::to_string);
    a.result.workload == b.result.workload && suite(a) == suite(b)
}

/// Speed and throughput of one test in the same metric, but so far apart that one of them is in
/// another unit.
fn other_size(cell: &Cell<'_>, cells: &[Cell<'_>]) -> Option<Reason> {
    let same = |other: &&Cell<'_>| {
        (other.run, other.hash, other.metric) == (cell.run, cell.hash, cell.metric)
            && other.kind != cell.kind
    };
    let (speed, throughput) = match cell.kind {
        PublishedKind::Speed => (cell.value, cells.iter().find(same)?.value),
        _ => (cells.iter().find(same)?.value, cell.value),
    };
    let factor = throughput / speed;
    let most = most_jobs(cell, cells);
    if !is_rate(cell.metric) || (LEAST..=SCALING * f64::from(most)).contains(&factor) {
        return None;
    }
    let sentence = "throughput is {factor} times the speed with at most {most} jobs: one of the \
                    two is in another unit";
    let sentence = Sentence::new(sentence).with("factor", factor).with("most", most);
    Some(Reason::new(Status::Conditional, ReasonCode::Unit, sentence))
}

fn most_jobs(cell: &Cell<'_>, cells: &[Cell<'_>]) -> u32 {
    let suite = |cell: &Cell<'_>| cell.hash.strip_suffix(cell.code).map(str::to_string);
    let jobs = cells
        .iter()
        .filter(|other| suite(other) == suite(cell))
        .filter_map(|other| other.result.jobs())
        .max();
    jobs.unwrap_or(0).max(USUAL_JOBS)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::published as test;
    use super::super::of_tables;
    use super::*;
    use PublishedKind::{Speed, Throughput};

    fn codes(tests: Vec<crate::model::PublishedTest>) -> Vec<Vec<String>> {
        let found = of_tables(&[&tests]).remove(0);
        found
            .into_iter()
            .map(|reasons| reasons.into_iter().map(|reason| reason.code.to_string()).collect())
            .collect()
    }

    #[test]
    fn a_row_in_another_metric_than_its_neighbours_is_found() {
        let found = codes(vec![
            test("T1", Speed, 1, &[("rows_per_s", 131_000.0)]),
            test("T1", Throughput, 0, &[("rows_per_s", 5_243_000.0)]),
            test("T2", Speed, 1, &[("throughput_tps", 820.0)]),
            test("T2", Throughput, 0, &[("rows_per_s", 5_992_000.0)]),
        ]);
        assert_eq!(found, [vec![], vec![], vec!["unit".to_string()], vec![]]);
    }

    #[test]
    fn seconds_among_rates_are_no_throughput_but_may_be_a_speed() {
        let rate = |kind| test("T1", kind, 1, &[("ops_per_s", 9e6)]);
        let seconds = |kind| test("T1", kind, 1, &[("elapsed_s", 21.0)]);
        assert_eq!(codes(vec![rate(Speed), rate(Throughput), seconds(Throughput)])[2], ["unit"]);
        assert!(codes(vec![rate(Speed), rate(Throughput), seconds(Speed)])[2].is_empty());
    }

    #[test]
    fn no_number_of_jobs_explains_a_factor_of_thousands_or_a_loss_of_nearly_all() {
        let pair = |speed, throughput| {
            codes(vec![
                test("T1", Speed, 1, &[("rows_per_s", speed)]),
                test("T1", Throughput, 0, &[("rows_per_s", throughput)]),
            ])
        };
        assert_eq!(pair(820.0, 5_084_000.0), [["unit"], ["unit"]]);
        assert_eq!(pair(9_524_000.0, 21_000.0), [["unit"], ["unit"]]);
        assert!(pair(2520.0, 200_000.0).concat().is_empty());
    }
}
