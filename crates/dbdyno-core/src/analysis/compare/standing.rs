//! Selection of the ratios that differ by more than chance, among many ratios.

use super::estimate::{Point, Sample, decides};
use super::{Change, Row};
use crate::stats::moderated::step_up;

/// Share of the findings that chance may make.
const LEVEL: f64 = 0.05;

/// Marks the rows whose difference stands among all of them: the step-up of Benjamini and Hochberg
/// at 5 % over the figures that decide something. Rows of one point are one figure: speed and
/// throughput of a run that has one job only are the same tests.
pub fn mark_standing(rows: &mut [Row]) {
    let mut points: Vec<(Point, f64)> = Vec::new();
    for row in rows.iter().filter(|row| decides(row)) {
        let Some((sample, estimate)) = row.sample.as_ref().zip(row.estimate) else { continue };
        if !points.iter().any(|(known, _)| *known == sample.point) {
            points.push((sample.point.clone(), estimate.p()));
        }
    }
    let p: Vec<f64> = points.iter().map(|(_, p)| *p).collect();
    let found = step_up(&p, LEVEL);
    for row in rows.iter_mut().filter(|row| decides(row)) {
        let at = |sample: &Sample| points.iter().position(|(known, _)| *known == sample.point);
        let is_found = row.sample.as_ref().and_then(at).is_some_and(|at| found[at]);
        row.stands = is_found && matches!(row.change(), Change::Better | Change::Worse);
    }
}
