//! The figures of a pair side by side.

use super::estimate::{Past, Sample, worst};
use super::metric::{self, Metric, MetricValue, Reading, best, cpu_busy_pct, readings, service_ms};
use super::pairs::Pair;
use super::{Comparison, EqualJobs, GroupMean, Kind, NotCompared, Ratio, Row, Side, Span};
use crate::analysis::best::Candidate;
use crate::analysis::interval::{FEWEST, Unknown, most_trusted, supports};
use crate::analysis::noise::is_same_platform;
use crate::analysis::repeats::{self, Repeat, Repeats};
use crate::analysis::{cpu_distance, cpu_quota, cpu_speed, device_speed, published_checks};
use crate::model::{Better, KpmValue, PublishedKind, Reason, RunRecord, Sentence, Status, Test};
use crate::stats::moderated::{self, Resource};

/// Data that every row needs in addition to its figures.
pub struct Context<'a> {
    /// Names of base and other.
    names: [&'a str; 2],
    /// The tests of earlier fresh runs.
    past: &'a [Past<'a>],
    /// Throughput is compared at the same number of jobs.
    is_same_platform: bool,
    /// Cores that the databases of base and other can use, and licenses, if both are known.
    cores: Option<(f64, f64)>,
    licences: Option<(f64, f64)>,
    /// Prices of both platforms, if both are given in one currency.
    costs: Option<(f64, f64)>,
    /// Difference in speed of the CPUs, which are of the same model.
    cpu_speed: Option<Sentence>,
    /// Difference in speed of the device of one platform.
    device_speed: Option<Sentence>,
}

impl<'a> Context<'a> {
    /// Cores count only where the platform tables do not contradict the CPU figures.
    pub fn new(base: &Side<'a>, other: &Side<'a>, past: &'a [Past<'a>]) -> Context<'a> {
        let sound = [base, other]
            .iter()
            .all(|side| published_checks::of_platform(side.run, side.tests).is_empty());
        let both =
            |section, fact| number(base.run, section, fact).zip(number(other.run, section, fact));
        let cores = |side: &Side<'a>| cpu_quota::cores(side.run, side.tests);
        let cores = cores(base).zip(cores(other)).filter(|_| sound);
        let prices = base.price.zip(other.price);
        // The user's price lists decide about licenses; else what a publication states.
        let licences = prices.map(|(own, foreign)| (own.licences(), foreign.licences()));
        let costs = prices.filter(|(own, foreign)| own.currency == foreign.currency);
        let costs = costs.map(|(own, foreign)| (own.cost(), foreign.cost()));
        let costs = costs.filter(|(own, foreign)| *own > 0.0 && *foreign > 0.0);
        let is_known = [base, other].iter().all(|side| side.unpriced().is_empty());
        let costs = costs.filter(|_| is_known);
        let licences = licences.or_else(|| both("licence", "licences_needed"));
        let model = |side: &Side<'a>| side.run.disclosure.get("hardware", "cpu_model");
        let is_same_processor = model(base).is_some() && model(base) == model(other);
        let is_same_platform = is_same_platform(base.run, other.run);
        // Earlier runs whose CPUs differed as much show the effect on the figures.
        let is_known = cpu_speed::is_seen_before(base.tests, other.tests, past);
        let is_doubt = is_same_platform && !is_known;
        let least = if is_doubt { cpu_speed::STEADY } else { cpu_speed::SLOW };
        let cpu_speed = cpu_speed::between(base.tests, other.tests, least);
        let cpu_speed = cpu_speed.filter(|_| is_same_processor);
        let device_speed = device_speed::between(base.tests, other.tests, past);
        // Of two platforms the device is a part of what is compared.
        let device_speed = device_speed.filter(|_| is_same_platform);
        let names = [base.name, other.name];
        Context { names, past, is_same_platform, cores, licences, costs, cpu_speed, device_speed }
    }

    /// True if no difference in speed is known between CPUs of one model.
    pub fn are_cpus_alike(&self) -> bool {
        self.cpu_speed.is_none()
    }
}

fn number(run: &RunRecord, section: &str, fact: &str) -> Option<f64> {
    run.disclosure.get(section, fact)?.parse().ok().filter(|value: &f64| *value > 0.0)
}

/// Adds everything that a pair of workloads gives.
pub fn add(comparison: &mut Comparison, context: &Context<'_>, pair: &Pair<'_>) {
    let mut metrics: Vec<Metric> = Vec::new();
    for MetricValue { metric, .. } in pair.base.iter().flat_map(|test| metric::all(test)) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    for kind in [Kind::Speed, Kind::Throughput] {
        let (own, foreign) = match (figure(&pair.base, kind), figure(&pair.other, kind)) {
            (Some(own), Some(foreign)) => (own.metric, foreign.metric),
            (Some(single), None) | (None, Some(single))
                if is_again(kind, &single.metric, single.reading.jobs) =>
            {
                continue;
            }
            (Some(own), None) => {
                let missing = missing(&comparison.other, &pair.other, pair, kind);
                let lost = metric::is_sound(own.reading.test);
                comparison.not_compared.push(NotCompared { lost, ..missing });
                continue;
            }
            (None, Some(_)) => {
                let missing = missing(&comparison.base, &pair.base, pair, kind);
                comparison.not_compared.push(missing);
                continue;
            }
            (None, None) => {
                comparison.not_compared.extend(in_neither(context, pair, kind));
                continue;
            }
        };
        if own.is_same(&foreign) {
            comparison.kpms.extend(row(context, pair, kind, &own));
        } else {
            let why = Sentence::new("{own} against {other}: not the same figure");
            let why = why.with("own", own.name.as_str()).with("other", foreign.name.as_str());
            let label = pair.subject.label();
            comparison.not_compared.push(NotCompared { label, kind: Some(kind), why, lost: false });
        }
        let further =
            metrics.iter().filter(|metric| **metric != own && metric.better == Better::Higher);
        comparison.further.extend(further.filter_map(|metric| row(context, pair, kind, metric)));
        comparison.further.extend(service_row(context, pair, kind));
    }
    comparison.equal_jobs.extend(equal_jobs(context, pair));
    comparison.not_compared.extend(zeros_at_more_jobs(context, pair));
}

/// Figure that only one side has: a test of the other side (its name and its tests) failed, or was
/// not run at one job. A figure that the base lacks is not lost.
fn missing(name: &str, tests: &[&Test], pair: &Pair<'_>, kind: Kind) -> NotCompared {
    let mut reasons = tests.iter().flat_map(|test| &test.verdict().reasons);
    let why = match reasons.find(|reason| reason.status == Status::Invalid) {
        Some(reason) => {
            Sentence::new("no figure in {name}: {reason}").with("reason", reason.to_sentence())
        }
        None if tests.iter().any(|test| test.kpm_value() == Some(0.0)) => {
            Sentence::new("no figure in {name}: it measured 0")
        }
        None => Sentence::new("no figure in {name}"),
    };
    let (label, why) = (pair.subject.label(), why.with("name", name));
    NotCompared { label, kind: Some(kind), why, lost: false }
}

/// Figure that neither side has, although both measured for it: their tests failed or measured 0.
fn in_neither(context: &Context<'_>, pair: &Pair<'_>, kind: Kind) -> Option<NotCompared> {
    let [base, other] = [&pair.base, &pair.other].map(|tests| {
        tests.iter().filter(|test| is_measured_for(test, kind)).copied().collect::<Vec<&Test>>()
    });
    if base.is_empty() || other.is_empty() {
        return None;
    }
    let of_base = missing(context.names[0], &base, pair, kind);
    let of_other = missing(context.names[1], &other, pair, kind);
    let why = Sentence::new("{base}; {other}");
    let why = why.with("base", of_base.why).with("other", of_other.why);
    Some(NotCompared { label: pair.subject.label(), kind: Some(kind), why, lost: false })
}

/// True of a measured test that a figure of this kind could come from; a time at one job is a speed
/// alone.
fn is_measured_for(test: &Test, kind: Kind) -> bool {
    test.measured().is_some()
        && can_have(test, kind)
        && !is_again(kind, &Metric::kpm(test), test.jobs())
}

/// Numbers of jobs, above one, at which one side has a rate and the other measured 0: neither speed
/// nor the best throughput shows that. None of a side that has no rate at all.
fn zeros_at_more_jobs(context: &Context<'_>, pair: &Pair<'_>) -> Vec<NotCompared> {
    let sides = [&pair.base, &pair.other];
    let rates = sides.map(|tests| {
        let rate = tests.iter().find(|test| test.kpm_value().is_some()).map(|test| rate(test));
        rate.map(|rate| readings(tests, &rate, PublishedKind::Point)).unwrap_or_default()
    });
    let mut found = Vec::new();
    for (at, name) in context.names.iter().enumerate() {
        let (own, foreign) = (&rates[at], &rates[1 - at]);
        for jobs in foreign.iter().filter_map(|reading| reading.jobs).filter(|jobs| *jobs > 1) {
            let is_known = own.iter().any(|reading| reading.jobs == Some(jobs));
            let mut tests = sides[at].iter().filter(|test| test.measured().is_some());
            let is_zero =
                tests.any(|test| test.jobs() == Some(jobs) && test.kpm_value() == Some(0.0));
            if is_zero && !is_known && !own.is_empty() {
                let why = Sentence::new("no figure in {name} at {jobs}: it measured 0")
                    .with("name", *name)
                    .with("jobs", Sentence::jobs(jobs));
                let label = pair.subject.label();
                found.push(NotCompared { label, kind: None, why, lost: false });
            }
        }
    }
    found
}

/// True of a time at one job that is asked for as throughput: it was a speed already.
fn is_again(kind: Kind, metric: &Metric, jobs: Option<u32>) -> bool {
    kind == Kind::Throughput && metric.better == Better::Lower && jobs == Some(1)
}

/// A figure of a workload, in the metric in which it is stated.
struct MetricReading<'a> {
    metric: Metric,
    reading: Reading<'a>,
}

/// True if a figure of this kind can come from the test.
fn can_have(test: &Test, kind: Kind) -> bool {
    match kind {
        Kind::Speed => test.jobs() == Some(1) && !test.states(PublishedKind::Throughput),
        Kind::Throughput => !test.states(PublishedKind::Speed),
    }
}

/// The KPM of tests at one job, or where the ramp is best.
fn figure<'a>(tests: &[&'a Test], kind: Kind) -> Option<MetricReading<'a>> {
    let mut known = tests.iter().filter(|test| test.kpm_value().is_some());
    let test = known.find(|test| can_have(test, kind))?;
    let metric = if kind == Kind::Throughput { rate(test) } else { Metric::kpm(test) };
    let reading = reading(tests, kind, &metric)?;
    Some(MetricReading { metric, reading })
}

/// The metric in which throughput is stated: the KPM, or a rate beside a time.
fn rate(test: &Test) -> Metric {
    let mut metrics = metric::all(test).into_iter().map(|one| one.metric);
    let kpm = Metric::kpm(test);
    let rate = metrics.find(|metric| metric.better == Better::Higher);
    if kpm.better == Better::Higher { kpm } else { rate.unwrap_or(kpm) }
}

/// The readings of both sides of a row.
struct Readings<'a> {
    base: Reading<'a>,
    other: Reading<'a>,
    /// Sentences on the number of jobs at which they are compared.
    notes: Vec<Sentence>,
}

impl Readings<'_> {
    fn product(&self) -> f64 {
        self.base.value * self.other.value
    }
}

/// The readings of both for a row, if both have one.
fn both<'a>(
    context: &Context<'_>,
    pair: &Pair<'a>,
    kind: Kind,
    metric: &Metric,
) -> Option<Readings<'a>> {
    let own = || {
        let base = reading(&pair.base, kind, metric)?;
        let other = reading(&pair.other, kind, metric)?;
        Some(Readings { base, other, notes: Vec::new() })
    };
    let found = equally_best(context, pair, kind, metric).or_else(own)?;
    let again = is_again(kind, metric, found.base.jobs) && found.other.jobs == Some(1);
    (!again).then_some(found)
}

/// Throughput of two runs of one platform: at the number of jobs that is best by the mean of both,
/// so that the ratio is not that of the luckier tests of each. Of numbers of jobs where one of the
/// two is not valid, those go first where the other is. Of a run that alone is best elsewhere that
/// is noted. Absent for speed, and where they have no number of jobs in common.
fn equally_best<'a>(
    context: &Context<'_>,
    pair: &Pair<'a>,
    kind: Kind,
    metric: &Metric,
) -> Option<Readings<'a>> {
    if kind == Kind::Speed || !context.is_same_platform {
        return None;
    }
    let [ours, theirs] =
        [&pair.base, &pair.other].map(|tests| readings(tests, metric, PublishedKind::Throughput));
    let of_jobs = |base: &Reading<'a>| {
        let other = theirs.iter().find(|other| other.jobs == base.jobs && base.jobs.is_some())?;
        Some(Readings { base: base.clone(), other: other.clone(), notes: Vec::new() })
    };
    let common: Vec<Readings<'a>> = ours.iter().filter_map(of_jobs).collect();
    let own = [&ours, &theirs].map(|readings| best(readings.to_vec(), metric.better));
    let is_common = |best: &Option<Reading<'_>>| {
        best.as_ref().is_some_and(|best| common.iter().any(|both| both.base.jobs == best.jobs))
    };
    if !own.iter().all(is_common) {
        return None;
    }
    let passed_over = own.each_ref().map(|best| best.as_ref().and_then(|best| best.passed_over));
    let is_ahead = |one: &Readings<'_>, other: &Readings<'_>| {
        metric.better.beats(one.product(), other.product())
    };
    let trusted = most_trusted(common, |both| both.base.status().max(both.other.status()));
    let trusted = most_trusted(trusted, |both| both.base.status().min(both.other.status()));
    let best = trusted.into_iter().reduce(
        |best, next| {
            if is_ahead(&next, &best) { next } else { best }
        },
    )?;
    let sides = context.names.into_iter().zip([&best.base, &best.other]).zip(&own);
    let notes =
        sides.filter_map(|((name, compared), own)| best_alone(name, own.as_ref()?, compared));
    let notes: Vec<Sentence> = notes.collect();
    let bounded =
        |side: usize, reading: Reading<'a>| Reading { passed_over: passed_over[side], ..reading };
    Some(Readings { base: bounded(0, best.base), other: bounded(1, best.other), notes })
}

/// Sentence on a run whose own best throughput is better, and at another number of jobs, than the
/// one that is compared.
fn best_alone(name: &str, own: &Reading<'_>, compared: &Reading<'_>) -> Option<Sentence> {
    let better = compared.better;
    let (jobs, own_jobs) = compared.jobs.zip(own.jobs)?;
    if jobs == own_jobs || !better.beats(own.value, compared.value) {
        return None;
    }
    let factor = match better {
        Better::Higher => own.value / compared.value,
        Better::Lower => compared.value / own.value,
    };
    let text = "compared at {jobs} in both runs: {name} alone is best at {own_jobs}, by {gain%}";
    let text = Sentence::new(text).with("jobs", Sentence::jobs(jobs)).with("name", name);
    Some(text.with("own_jobs", Sentence::jobs(own_jobs)).with("gain", factor - 1.0))
}

fn reading<'a>(tests: &[&'a Test], kind: Kind, metric: &Metric) -> Option<Reading<'a>> {
    match kind {
        Kind::Speed => readings(tests, metric, PublishedKind::Speed)
            .into_iter()
            .find(|reading| reading.jobs == Some(1)),
        Kind::Throughput => best(readings(tests, metric, PublishedKind::Throughput), metric.better),
    }
}

fn row(context: &Context<'_>, pair: &Pair<'_>, kind: Kind, metric: &Metric) -> Option<Row> {
    let Readings { base, other, notes } = both(context, pair, kind, metric)?;
    Some(Row { notes, ..make(context, pair, kind, metric, [&base, &other]) })
}

/// Service times at one job, or at full load: where throughput is best.
fn service_row(context: &Context<'_>, pair: &Pair<'_>, kind: Kind) -> Option<Row> {
    let metric = Metric::service_time();
    if kind == Kind::Speed {
        return row(context, pair, kind, &metric);
    }
    let of = |tests: &[&'_ Test]| {
        tests.iter().find(|test| test.kpm_value().is_some()).map(|test| rate(test))
    };
    let (own, foreign) = of(&pair.base).zip(of(&pair.other))?;
    let at_equal_jobs =
        if own.is_same(&foreign) { equally_best(context, pair, kind, &own) } else { None };
    let Readings { base, other, .. } = match at_equal_jobs {
        Some(both) => both,
        None => Readings {
            base: reading(&pair.base, kind, &own)?,
            other: reading(&pair.other, kind, &foreign)?,
            notes: Vec::new(),
        },
    };
    let (base, other) = (at_service_time(base)?, at_service_time(other)?);
    Some(make(context, pair, kind, &metric, [&base, &other]))
}

fn at_service_time(reading: Reading<'_>) -> Option<Reading<'_>> {
    let times = reading.all.iter().filter_map(|repeat| {
        let value = service_ms(repeat.test)?;
        Some(Repeat { value, test: repeat.test })
    });
    let times: Repeats<'_> = times.collect();
    let known = repeats::interval_of(&times, reading.test, &KpmValue::ServiceTime);
    let value = reading.service_ms()?;
    Some(Reading { value, known, all: times, better: Better::Lower, ..reading })
}

fn make(
    context: &Context<'_>,
    pair: &Pair<'_>,
    kind: Kind,
    metric: &Metric,
    [base, other]: [&Reading<'_>; 2],
) -> Row {
    let ratio = Ratio::new(base.uncertain_value(), other.uncertain_value());
    let counted = [base, other].map(|reading| reading.all.clone());
    let per = |counts: Option<(f64, f64)>| counts.map(|(own, foreign)| ratio.value * own / foreign);
    let is_rate = metric.better == Better::Higher;
    let jobs = base.jobs.zip(other.jobs).map(|(own, foreign)| (f64::from(own), f64::from(foreign)));
    let verdict = verdict(context, pair, [base, other], &counted);
    Row {
        subject: pair.subject.clone(),
        kind,
        metric: metric.name.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
        base: base.value,
        other: other.value,
        base_jobs: base.jobs,
        other_jobs: other.jobs,
        ratio,
        stands: false,
        detectable_loss: None,
        is_loss: false,
        sample: Some(Sample::new(pair, metric, &counted, context.past)),
        estimate: None,
        status: verdict.status,
        reasons: verdict.reasons,
        notes: Vec::new(),
        base_status: base.status(),
        other_status: other.status(),
        base_service_ms: base.service_ms(),
        other_service_ms: other.service_ms(),
        per_job: per(jobs).filter(|_| is_rate),
        per_core: per(context.cores).filter(|_| is_rate),
        per_licence: per(context.licences).filter(|_| is_rate),
        per_price: per(context.costs).filter(|_| is_rate),
    }
}

/// Verdict on the comparison of two figures.
struct ComparedVerdict {
    status: Status,
    /// Reasons that lower it, each once.
    reasons: Vec<Sentence>,
}

/// The worse of the verdicts on both figures, lowered by what makes the two hard to compare.
fn verdict(
    context: &Context<'_>,
    pair: &Pair<'_>,
    [base, other]: [&Reading<'_>; 2],
    counted: &[Repeats<'_>; 2],
) -> ComparedVerdict {
    let bounds = [base, other].into_iter().filter_map(|reading| reading.passed_over);
    let bound = |jobs| {
        Sentence::new("a better figure that is not valid, at {jobs}")
            .with("jobs", Sentence::jobs(jobs))
    };
    let zeros = [base, other].into_iter().filter_map(Reading::zeros_doubt);
    let mut tests = counted.iter().flatten().map(|repeat| repeat.test);
    let waits_for_device = tests.any(|test| repeats::resource_of(test) == Resource::Device);
    let device_speed = context.device_speed.clone().filter(|_| waits_for_device);
    let cpu_distance = cpu_distance::between(counted, context.past);
    // Of two platforms it is a part of what is compared.
    let cpu_distance = cpu_distance.filter(|_| context.is_same_platform);
    let speeds = context.cpu_speed.clone().into_iter().chain(device_speed).chain(cpu_distance);
    let doubts = bounds.map(bound).chain(zeros).chain(speeds);
    let cautions: Vec<Sentence> = pair.cautions.iter().cloned().chain(doubts).collect();
    let cautioned = if cautions.is_empty() { Status::Valid } else { Status::Conditional };
    let status = counted.iter().map(worst).fold(cautioned, Status::max);
    let own = counted.iter().flatten().flat_map(|repeat| &repeat.test.verdict().reasons);
    let lowering = own.filter(|reason| reason.status > Status::Valid).map(Reason::to_sentence);
    let mut reasons: Vec<Sentence> = Vec::new();
    for reason in cautions.into_iter().chain(lowering) {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    ComparedVerdict { status, reasons }
}

fn equal_jobs(context: &Context<'_>, pair: &Pair<'_>) -> Vec<EqualJobs> {
    let first = |tests: &[&Test]| {
        tests.iter().find(|test| test.kpm_value().is_some()).map(|test| rate(test))
    };
    let Some((own, foreign)) = first(&pair.base).zip(first(&pair.other)) else { return Vec::new() };
    if !own.is_same(&foreign) {
        return Vec::new();
    }
    let all = |tests: &[&'_ Test]| -> Option<f64> {
        // If a better figure is not valid, the best is not known, and neither is a share of it.
        best(readings(tests, &own, PublishedKind::Point), own.better)
            .filter(|best| best.passed_over.is_none())
            .map(|best| best.value)
    };
    let (most_base, most_other) = (all(&pair.base), all(&pair.other));
    let theirs = readings(&pair.other, &own, PublishedKind::Point);
    let ours = readings(&pair.base, &own, PublishedKind::Point);
    let common = ours.iter().filter_map(|base| {
        let other = theirs.iter().find(|other| other.jobs == base.jobs)?;
        Some((base.jobs?, base, other))
    });
    let is_rate = own.better == Better::Higher;
    let share = |value: f64, most: Option<f64>| most.map(|most| value / most).filter(|_| is_rate);
    let line = |(jobs, base, other): (u32, &Reading<'_>, &Reading<'_>)| {
        let counted = [base, other].map(|reading| reading.all.clone());
        EqualJobs {
            subject: pair.subject.clone(),
            jobs,
            metric: own.name.clone(),
            unit: own.unit.clone(),
            better: own.better,
            base: base.value,
            other: other.value,
            ratio: Ratio::new(base.uncertain_value(), other.uncertain_value()),
            base_utilisation: share(base.value, most_base),
            other_utilisation: share(other.value, most_other),
            base_cpu_busy_pct: cpu_busy_pct(base.test),
            other_cpu_busy_pct: cpu_busy_pct(other.test),
            base_service_ms: base.service_ms(),
            other_service_ms: other.service_ms(),
            status: verdict(context, pair, [base, other], &counted).status,
            base_status: base.status(),
            other_status: other.status(),
            sample: Some(Sample::new(pair, &own, &counted, context.past)),
        }
    };
    common.map(line).collect()
}

/// Geometric means per group and kind over valid figures, from two workloads on.
pub fn group_means(rows: &[Row]) -> Vec<GroupMean> {
    let mut means: Vec<GroupMean> = Vec::new();
    for row in rows {
        let is_known = |mean: &GroupMean| mean.group == row.subject.group && mean.kind == row.kind;
        if means.iter().any(is_known) {
            continue;
        }
        let of_group = rows
            .iter()
            .filter(|other| other.subject.group == row.subject.group && other.kind == row.kind);
        means.push(group_mean(row, &of_group.collect::<Vec<_>>()));
    }
    means.retain(|mean| mean.workloads >= FEWEST);
    means
}

fn group_mean(first: &Row, rows: &[&Row]) -> GroupMean {
    let is_usable = |row: &&&Row| supports(row.status) && row.ratio.value > 0.0;
    let usable: Vec<&Row> = rows.iter().filter(is_usable).copied().collect();
    GroupMean {
        group: first.subject.group.clone(),
        kind: first.kind,
        ratio: mean_ratio(&usable),
        workloads: usable.len(),
        left_out: rows.len() - usable.len(),
    }
}

/// Geometric mean of the ratios of these rows, times taken inversely. What all figures of a run
/// share does not become less by the mean of many. Without the interval of one of them it has none,
/// for the reason of the first.
fn mean_ratio(rows: &[&Row]) -> Ratio {
    let log = |row: &&Row| match row.better {
        Better::Higher => row.ratio.value.ln(),
        Better::Lower => -row.ratio.value.ln(),
    };
    let mean_log = rows.iter().map(log).sum::<f64>() / rows.len() as f64;
    let estimates: Option<Vec<moderated::Ratio>> = rows.iter().map(|row| row.estimate).collect();
    let span = match estimates.filter(|estimates| !estimates.is_empty()) {
        Some(estimates) => {
            let mean = moderated::Ratio { log: mean_log, ..moderated::mean_of(&estimates) };
            let (low, high) = (mean_log - mean.half_width(), mean_log + mean.half_width());
            Ok(Span { low: low.exp(), high: high.exp(), p: mean.p() })
        }
        None => {
            let why = rows.iter().find_map(|row| row.ratio.span.err());
            Err(why.unwrap_or(Unknown::ShortWindow))
        }
    };
    Ratio { value: mean_log.exp(), span }
}
