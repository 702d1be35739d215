//! From the log of a test to its figures: pure.

use std::collections::BTreeMap;

use super::log::{CountedOps, JobLog, Second};
use super::nodes;
use super::raw::Raw;
use super::schedule::Edges;
use super::timeline::Timeline;
use dbdyno_core::model::{
    Background, BackgroundResult, Counters, Facts, JobResult, LatencySummary, Loop, OfferedLoad,
    OpenLoop, OpsPerSample, PartPlan, PartResult, PhaseResult, Precision, RatePhase, Selection,
    SeriesPoint, SnapshotPoint, Tally, TestResult, TestSpec,
};
use dbdyno_core::stats::arrivals::{Backlog, LoadOverTime};
use dbdyno_core::stats::mean_interval::{Interval, mean_interval};
use dbdyno_core::stats::sequence::{POINTS_PER_S, known_mean};
use dbdyno_core::stats::summary::Quantiles;
use dbdyno_core::stats::{LatencyHistogram, WeightedTimes};

/// Share of the window for which a background workload may be missing.
const UNCOVERED: f64 = 0.01;
/// Steps in which it is known what waits, and the end of a recovery is looked for.
const STEP_S: f64 = 1.0 / POINTS_PER_S as f64;

/// The figures of a test; KPM values and verdict are left to the analysis.
///
/// # Errors
/// If an expression of the workload (`work`) cannot be evaluated.
pub fn assemble(spec: &TestSpec<'_>, mut raw: Raw) -> Result<TestResult, String> {
    let selection = spec.selection;
    let units_per_op = units_per_op(selection, &raw.facts)?;
    let jobs = job_figures(&raw.jobs, &units_per_op);
    let (open_s, close_s) = window_edges(&raw);
    let rated = match spec.offer {
        Some(_) => over_window(&jobs, close_s - open_s),
        None => jobs.clone(),
    };
    let node_figures = nodes::node_figures(&mut raw, &rated);
    let window = merge(jobs.iter().map(|job| &job.tally));
    let per_s = |count: &dyn Fn(&JobResult) -> f64| -> f64 { total_rate(&rated, count) };
    let counters = whole_test_counters(&raw);
    let window_counters = window_counters(&raw);
    let mut series = series(&raw, &units_per_op, open_s, close_s);
    raw.sessions.spread(&mut series);
    let precision = selection.window.precision();
    let open = spec.offer.map(|offer| OpenLoop {
        phases: over_time(selection, &raw, &mut series),
        ..open_loop(offer, &raw.jobs)
    });
    // A rate that changes has no mean that seconds of it are samples of.
    let changes = open.as_ref().is_some_and(OpenLoop::changes);
    let interval = interval(&series, &raw.points, precision).filter(|_| !changes);
    let background = selection.background.as_deref();
    let beside = background.map(|background| beside(background, &raw)).transpose()?;
    Ok(TestResult {
        beside,
        window_s: close_s - open_s,
        total_s: raw.total_s,
        total: total_tally(&raw.jobs),
        units: jobs.iter().map(|job| job.units).sum(),
        units_per_s: per_s(&|job| job.units),
        ops_per_s: per_s(&|job| job.tally.ops as f64),
        rows_per_s: per_s(&|job| job.tally.rows as f64),
        ci_fraction: interval.and_then(|interval| interval.fraction()),
        ci_freedom: interval.map(|interval| interval.freedom),
        precision,
        latency: latency_of(raw.jobs.iter().map(|(_, log)| log), &window),
        open,
        latency_stride: longest_stride(&raw.jobs),
        parts: part_figures(&selection.parts, &raw.jobs, &rated),
        series,
        window_counters,
        counters,
        waits: raw.sessions.waits(open_s, close_s),
        window,
        // Fewer jobs than nodes are on as many of them.
        nodes: (raw.placement.nodes.len() as u32).min(spec.jobs).max(1),
        node_figures,
        driver: raw.driver,
        job_figures: jobs,
        server_clock_step_s: raw.jobs.iter().map(|(_, log)| log.clock_step_s).fold(0.0, f64::max),
        login: raw.jobs.iter().find_map(|(_, log)| log.login.clone()),
        first_error: raw.jobs.iter().find_map(|(_, log)| log.first_error.clone()),
        facts: with_own_facts(raw.facts, &selection.parts),
        snapshots: raw.snapshots,
        ..TestResult::unmeasured(spec, raw.started_at)
    })
}

/// Result of the background workload in the window, and whether it ran all the time.
fn beside(background: &Background, raw: &Raw) -> Result<BackgroundResult, String> {
    let selection = &background.selection;
    let jobs = job_figures(&raw.background, &units_per_op(selection, &raw.facts)?);
    let tally = merge(jobs.iter().map(|job| &job.tally));
    let latency = latency_of(raw.background.iter().map(|(_, log)| log), &tally);
    let Edges { open_s, close_s } = raw.edges;
    // Without a warm-up threads start a moment after the gate opened.
    let moment_s = UNCOVERED * (close_s - open_s);
    let is_there = |log: &JobLog| {
        log.span_s.is_some_and(|(start_s, end_s)| {
            start_s <= open_s + moment_s && end_s + moment_s >= close_s
        })
    };
    Ok(BackgroundResult {
        part: PartResult {
            workload: selection.workload.id.clone(),
            params: selection.params.clone(),
            chosen: selection.chosen.clone(),
            jobs: background.jobs,
            ops_per_s: total_rate(&jobs, &|job| job.tally.ops as f64),
            units_per_s: total_rate(&jobs, &|job| job.units),
            latency: LatencySummary { buckets: Vec::new(), ..latency },
            tally,
        },
        drive: selection.drive,
        covers_window: raw.background.iter().all(|(_, log)| is_there(log)),
    })
}

/// Units of work of one op of each part.
fn units_per_op(selection: &Selection, facts: &Facts) -> Result<Vec<f64>, String> {
    selection.parts.iter().map(|part| part_units(part, facts)).collect()
}

/// Units of work of one op of a part, with the part's own parameters.
pub fn part_units(part: &PartPlan, facts: &Facts) -> Result<f64, String> {
    let mut all = facts.clone();
    all.extend(part.facts.clone());
    part.work.eval(&all)
}

fn merge<'a>(tallies: impl Iterator<Item = &'a Tally>) -> Tally {
    tallies.fold(Tally::default(), |mut sum, tally| {
        sum.merge(tally);
        sum
    })
}

fn total_tally(jobs: &[(usize, JobLog)]) -> Tally {
    let mut total = merge(jobs.iter().map(|(_, log)| &log.total));
    for (_, log) in jobs {
        total.merge(&Tally { errors: log.pending_errors.clone(), ..Tally::default() });
    }
    total
}

/// Each job's own figures: the slices that count, over the job's own time from the first's start to
/// the last's end.
fn job_figures(jobs: &[(usize, JobLog)], units_per_op: &[f64]) -> Vec<JobResult> {
    let figures = |(index, (part, log)): (usize, &(usize, JobLog))| {
        let counted = log.counted.clone().unwrap_or_default();
        let (tally, elapsed_s) = (counted.tally, counted.end_s - counted.start_s);
        let units = tally.ops as f64 * units_per_op[*part];
        JobResult { job: index as u32 + 1, part: *part, tally, units, elapsed_s }
    };
    jobs.iter().enumerate().map(figures).collect()
}

/// The most ops to a timed one in any slice that counts.
fn longest_stride(jobs: &[(usize, JobLog)]) -> u32 {
    let counted = jobs.iter().filter_map(|(_, log)| log.counted.as_ref());
    counted.map(|counted| counted.longest_stride).max().unwrap_or(1)
}

/// The jobs with the whole window as their time. Where ops are due at times that are given, a job
/// that comes late also does those that waited for it: its own short time would count them as if
/// they had been offered in it.
fn over_window(jobs: &[JobResult], window_s: f64) -> Vec<JobResult> {
    let whole =
        |job: &JobResult| JobResult { elapsed_s: job.elapsed_s.max(window_s), ..job.clone() };
    jobs.iter().map(whole).collect()
}

/// Rate of what these jobs count, per second.
///
/// The jobs of a part are alike, so its rate is their number times what all of them counted over
/// the time of all of them. A sum of the rates of each would take a job that came late from an op
/// of the warm-up, and did a few ops in the last moment, for as much as one that was there all the
/// time: chance bursts would count in full. So jobs / rate is the mean time of an op, too.
pub(super) fn total_rate(jobs: &[JobResult], count: &dyn Fn(&JobResult) -> f64) -> f64 {
    let mut parts: BTreeMap<usize, Presence> = BTreeMap::new();
    for job in jobs {
        let part = parts.entry(job.part).or_default();
        part.jobs += 1;
        part.elapsed_s += job.elapsed_s;
        part.count += count(job);
    }
    parts.values().map(Presence::rate).sum()
}

/// Counts of the jobs of a part, and the time that they were there.
#[derive(Default)]
struct Presence {
    jobs: u32,
    elapsed_s: f64,
    count: f64,
}

impl Presence {
    /// Rate of all jobs of the part, per second; 0 if none of them was there.
    fn rate(&self) -> f64 {
        if self.elapsed_s > 0.0 { f64::from(self.jobs) * self.count / self.elapsed_s } else { 0.0 }
    }
}

/// Percentiles from the samples; the mean over all ops: busy time / ops.
fn latency_of<'a>(jobs: impl Iterator<Item = &'a JobLog>, window: &Tally) -> LatencySummary {
    let (mut service, mut max_us) = (WeightedTimes::default(), None);
    for log in jobs {
        service.merge(&log.times.service);
        // The longest op may be one that nobody timed.
        max_us = [max_us, log.times.max_us()].into_iter().flatten().reduce(f64::max);
    }
    let summary = summary(&Quantiles::weighted(&service));
    LatencySummary {
        samples: service.samples(),
        mean_us: (window.ops > 0).then(|| window.busy_s * 1e6 / window.ops as f64),
        max_us,
        buckets: service.buckets(),
        effective_samples: Some(service.effective_samples()).filter(|effective| *effective > 0.0),
        ops_per_sample: service.weights().map(|(least, most)| OpsPerSample { least, most }),
        ..summary
    }
}

/// Summary of ops that were all timed.
fn of_all(times: &LatencyHistogram) -> LatencySummary {
    LatencySummary {
        samples: times.len(),
        mean_us: (!times.is_empty()).then(|| us(times.mean_ns())),
        buckets: times.buckets(),
        ..summary(&Quantiles::from_histogram(times))
    }
}

/// The percentiles alone.
fn summary(quantiles: &Quantiles) -> LatencySummary {
    LatencySummary {
        p50_us: quantiles.p50_ns.map(us),
        p90_us: quantiles.p90_ns.map(us),
        p95_us: quantiles.p95_ns.map(us),
        p99_us: quantiles.p99_ns.map(us),
        p999_us: quantiles.p999_ns.map(us),
        max_us: quantiles.max_ns.map(us),
        ..LatencySummary::default()
    }
}

/// Response times of the slices that count, and the ops that were due in them.
fn open_loop(offer: OfferedLoad, jobs: &[(usize, JobLog)]) -> OpenLoop {
    let mut response = LatencyHistogram::new();
    jobs.iter().for_each(|(_, log)| response.merge(&log.times.response));
    let due = jobs.iter().filter_map(|(_, log)| log.counted.as_ref()).map(due_in_window).sum();
    OpenLoop { offer, due, response: of_all(&response), phases: Vec::new() }
}

/// The phases of a load over time; its points get what was offered and what waited. Nothing of a
/// rate that stays.
fn over_time(selection: &Selection, raw: &Raw, series: &mut [SeriesPoint]) -> Vec<PhaseResult> {
    let Loop::Profile(profile, _) = &selection.looping else { return Vec::new() };
    let load = profile.load(selection.window.warmup_s);
    let backlog = Backlog { step_s: STEP_S, waiting: &raw.timeline.behind };
    for point in series.iter_mut().filter(|point| point.interval_s > 0.0) {
        let due = load.curve.due_between(point.t_s - point.interval_s, point.t_s);
        point.offered_per_s = Some(due / point.interval_s);
        point.behind = Some(backlog.at(point.t_s));
    }
    let phases = profile.phases.iter().enumerate();
    phases.map(|(at, phase)| phase_figures(&load, raw, at, phase)).collect()
}

/// The figures of the phase with this index.
fn phase_figures(load: &LoadOverTime, raw: &Raw, at: usize, phase: &RatePhase) -> PhaseResult {
    let [from_s, to_s] = [at, at + 1].map(|edge| load.edges_s[edge]);
    let backlog = Backlog { step_s: STEP_S, waiting: &raw.timeline.behind };
    let mut response = LatencyHistogram::new();
    let logs = raw.jobs.iter().filter_map(|(_, log)| log.by_phase.get(at));
    logs.for_each(|times| response.merge(times));
    PhaseResult {
        phase: *phase,
        from_s: from_s - raw.edges.open_s,
        to_s: to_s - raw.edges.open_s,
        due: load.curve.due_between(from_s, to_s),
        ops_per_s: raw.timeline.ops_between(from_s, to_s) / (to_s - from_s),
        done: response.len(),
        response: LatencySummary { buckets: Vec::new(), ..of_all(&response) },
        behind_at_begin: backlog.at(from_s),
        behind: backlog.at(to_s),
        recovery_s: backlog.recovery_s(&load.curve, raw.jobs.len() as u32, to_s, raw.edges.close_s),
    }
}

/// Ops of a job that were done in its slices that count, failed ones included, and those that
/// waited at the end.
fn due_in_window(counted: &CountedOps) -> f64 {
    let done = counted.tally.ops + counted.tally.error_count();
    done as f64 + counted.behind.unwrap_or(0.0)
}

fn us(ns: f64) -> f64 {
    ns / 1000.0
}

/// The 95 % confidence interval of the ops per second, from the seconds inside the
/// window; where the window ended when it was narrow enough, from the points by which that was
/// decided.
fn interval(
    series: &[SeriesPoint],
    points: &[f64],
    precision: Option<Precision>,
) -> Option<Interval> {
    if let Some(precision) = precision {
        return known_mean(points, precision.fraction());
    }
    let inside = series.iter().filter(|point| point.in_window && point.interval_s > 0.5);
    let ops_per_s: Vec<f64> = inside.map(|point| point.ops / point.interval_s).collect();
    mean_interval(&ops_per_s)
}

fn part_figures(
    parts: &[PartPlan],
    jobs: &[(usize, JobLog)],
    figures: &[JobResult],
) -> Vec<PartResult> {
    let mut results = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let own: Vec<JobResult> = figures.iter().filter(|job| job.part == index).cloned().collect();
        let tally = merge(own.iter().map(|job| &job.tally));
        let logs = jobs.iter().filter(|(part, _)| *part == index).map(|(_, log)| log);
        results.push(PartResult {
            workload: part.workload.clone(),
            params: part.params.clone(),
            chosen: part.chosen.clone(),
            jobs: own.len() as u32,
            ops_per_s: total_rate(&own, &|job| job.tally.ops as f64),
            units_per_s: total_rate(&own, &|job| job.units),
            latency: latency_of(logs, &tally),
            tally,
        });
    }
    results
}

/// Growth of the counters between two snapshots. One that was reset meanwhile is not known, also if
/// it has grown beyond its former value since.
fn difference(raw: &Raw, from: SnapshotPoint, to: SnapshotPoint) -> Counters {
    let find = |moment| raw.snapshots.iter().find(|snapshot| snapshot.moment == moment);
    let (Some(from), Some(to)) = (find(from), find(to)) else { return Counters::default() };
    let mut growth = to.counters.since(&from.counters);
    let reset = raw.samples.find_reset(from.t_s, to.t_s);
    growth.0.retain(|name, _| !reset.contains(name.as_str()));
    growth
}

/// Counters over the window, as the probes read them at its edges.
fn window_counters(raw: &Raw) -> Counters {
    difference(raw, SnapshotPoint::WindowOpen, SnapshotPoint::WindowClose)
}

/// Counters over the whole test: the probes' differences and what the job sessions counted
/// themselves.
fn whole_test_counters(raw: &Raw) -> Counters {
    let mut counters = difference(raw, SnapshotPoint::Begin, SnapshotPoint::End);
    for (_, log) in &raw.jobs {
        counters.add(&log.counters);
    }
    counters
}

/// Opening and closing of the window: by the snapshots; for fixed work from the gate to the end.
fn window_edges(raw: &Raw) -> (f64, f64) {
    let at = |moment| {
        raw.snapshots.iter().find(|snapshot| snapshot.moment == moment).map(|snapshot| snapshot.t_s)
    };
    (
        at(SnapshotPoint::WindowOpen).unwrap_or(0.0),
        at(SnapshotPoint::WindowClose).unwrap_or(raw.total_s),
    )
}

/// One point per sample interval; a slice's ops are spread evenly over its own time.
fn series(raw: &Raw, units_per_op: &[f64], open_s: f64, close_s: f64) -> Vec<SeriesPoint> {
    let mut points: Vec<SeriesPoint> = raw
        .samples
        .intervals()
        .map(|(from_s, to_s, metrics)| SeriesPoint {
            t_s: to_s,
            interval_s: to_s - from_s,
            in_window: from_s >= open_s - 0.05 && to_s <= close_s + 0.05,
            metrics,
            ..SeriesPoint::default()
        })
        .collect();
    spread(&raw.timeline, units_per_op, &mut points);
    let count = points.len();
    for (at, point) in points.iter_mut().enumerate() {
        let middle_s = point.t_s - point.interval_s / 2.0;
        if let Some(second) = raw.seconds.get(middle_s as usize) {
            (point.p50_us, point.p99_us) = (second.p50_us, second.p99_us);
            point.response_p99_us = second.response_p99_us;
            point.response_max_us = second.response_max_us;
        }
        point.max_us = longest_us(&raw.seconds, point, at + 1 == count);
    }
    points
}

/// The longest op of the seconds that a point covers: more than one if the probes had to wait. The
/// last one has those of ops that ended after it, too: no reading follows the end of fixed work.
fn longest_us(seconds: &[Second], point: &SeriesPoint, is_last: bool) -> Option<f64> {
    let [from, to] = [point.t_s - point.interval_s, point.t_s].map(|at_s| at_s.round() as usize);
    let to = if is_last { seconds.len() } else { to.max(from + 1).min(seconds.len()) };
    seconds[from.min(to)..to].iter().filter_map(|second| second.max_us).reduce(f64::max)
}

/// Gives the points of a series, which follow one another, the ops and units of the parts and the
/// failed ops: of what was done between two moments of the timeline as much as the point covers of
/// them, failed ops by the middle. Both lists are gone through once.
fn spread(timeline: &Timeline, units_per_op: &[f64], points: &mut [SeriesPoint]) {
    let mut first = 0;
    for at in 0..timeline.len() {
        let (start_s, end_s) = timeline.span_s(at);
        let length_s = (end_s - start_s).max(1e-9);
        while points.get(first).is_some_and(|point| point.t_s <= start_s) {
            first += 1;
        }
        let ops_of = |ops: &Vec<f64>| ops.get(at).copied().unwrap_or(0.0);
        let ops: f64 = timeline.ops.iter().map(ops_of).sum();
        let units: f64 =
            timeline.ops.iter().zip(units_per_op).map(|(ops, units)| ops_of(ops) * units).sum();
        let errors = timeline.errors.get(at).copied().unwrap_or(0);
        let middle_s = (start_s + end_s) / 2.0;
        for point in points.iter_mut().skip(first) {
            let from_s = point.t_s - point.interval_s;
            if from_s >= end_s {
                break;
            }
            let share = (end_s.min(point.t_s) - start_s.max(from_s)).max(0.0) / length_s;
            point.ops += ops * share;
            point.units += units * share;
            if middle_s > from_s && middle_s <= point.t_s {
                point.errors += errors;
            }
        }
    }
}

/// Facts of a test: the data set's, and `jobs`.
pub fn test_facts(data_set: &Facts, jobs: u32) -> BTreeMap<String, f64> {
    let mut facts = data_set.clone();
    facts.insert("jobs".into(), f64::from(jobs));
    facts
}

/// A simple workload's own facts (the rows of the table that it chose) beside those of the data
/// set; parameters are kept apart.
fn with_own_facts(mut facts: Facts, parts: &[PartPlan]) -> Facts {
    if let [part] = parts {
        let own = part.facts.iter().filter(|(name, _)| !part.params.contains_key(*name));
        facts.extend(own.map(|(name, value)| (name.clone(), *value)));
    }
    facts
}

#[cfg(test)]
mod tests;
