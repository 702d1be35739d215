//! Decides from the valid figures of a run whether one requirement fits.

use super::need::Need;
use super::{Outcome, Span};
use crate::analysis::bottleneck::Cause;
use crate::analysis::interval::supports;
use crate::analysis::ramp::{self, Figure, WORTHWHILE_GAIN};
use crate::analysis::slo_search::TrialCounts;
use crate::model::{
    Better, Drive, LatencySummary, ReasonCode, Sentence, Slo, Status, Test, params, without_offer,
};

/// A rate that was measured, the times of its ops, and whether they meet the SLO.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point<'a> {
    /// The rate, with its interval.
    pub figure: Figure<'a>,
    /// Times of the test that stands for its repetitions, as in other reports.
    times: &'a LatencySummary,
    /// Repetitions that the figure counts, by their outcome for the SLO.
    trials: TrialCounts,
    /// True if in a repetition more ops were due and not done than the percentile of the SLO leaves
    /// out, so that it does not show whether the SLO is met.
    is_undone: bool,
    /// Ops started when they were due: the times are those of the answers, waits for a free session
    /// included.
    pub is_open: bool,
}

/// Answer for one requirement.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    /// The requirement.
    pub need: &'a Need,
    /// Outcome for it alone.
    pub outcome: Outcome,
    /// Reason why it does not fit, or why that is unknown.
    pub why: Option<Sentence>,
    /// The valid figure with the fewest jobs that does it.
    pub at: Option<Point<'a>>,
    /// The best valid figure that meets the SLO; if the requirement fits, the best of those with an
    /// interval, so that what is used is known.
    pub most: Option<Point<'a>>,
    /// The highest valid figure above that best which meets the SLO; it has no interval.
    pub without_interval: Option<Point<'a>>,
    /// Share of that best which is needed.
    pub used: Option<Span>,
    /// The best figure that meets the SLO but is conditional or has no interval, where the
    /// valid ones leave the answer open: it answers with a doubt.
    pub doubt: Option<Point<'a>>,
    /// Figure that settles an open answer if it is measured again: the one with the doubt, a
    /// conditional one that does not show whether it meets the SLO, or one that is not valid at
    /// more jobs than the best.
    pub again: Option<Point<'a>>,
    /// Figures that the verdict does not accept.
    pub left_out: usize,
}

impl Answer<'_> {
    /// Number of times that the need fits by the figure that answers with a doubt.
    pub fn doubtful_times(&self) -> Option<f64> {
        Some(self.doubt?.figure.value / self.need.rate)
    }

    /// True if the best figure is a lower bound of the maximum.
    pub fn is_bound(&self) -> bool {
        !self.lower_bounds().is_empty()
    }

    /// Statements that the best figure is a lower bound, each with what shows it.
    pub fn lower_bounds(&self) -> Vec<Sentence> {
        let all = [self.bound_by_verdict(), self.bound_without_interval()];
        all.into_iter().flatten().collect()
    }

    /// Trust in the best figure: as a lower bound it is conditional.
    pub fn most_status(&self) -> Option<Status> {
        let status = self.most?.figure.status();
        Some(if self.is_bound() { status.max(Status::Conditional) } else { status })
    }

    /// Statement that the best figure is a lower bound, with the reason of its verdict.
    fn bound_by_verdict(&self) -> Option<Sentence> {
        let verdict = self.most?.figure.verdict();
        let mut reasons = verdict.reasons.iter();
        let bound = reasons.find(|reason| reason.code == ReasonCode::PassedOver)?;
        Some(Sentence::new("the maximum is {bound}").with("bound", bound.to_sentence()))
    }

    /// Statement that a valid figure above the best one has no interval.
    fn bound_without_interval(&self) -> Option<Sentence> {
        let higher = self.without_interval?;
        let text = "the maximum is a lower bound: {value} {unit} with {jobs} has no interval and \
                    does not count here";
        Some(
            Sentence::new(text)
                .with("value", higher.figure.value)
                .with("unit", self.need.unit.as_str())
                .with("jobs", Sentence::jobs(higher.jobs())),
        )
    }
}

impl<'a> Point<'a> {
    /// The point of a figure of these tests, which differ only in their jobs.
    fn new(figure: Figure<'a>, tests: &[&'a Test], slo: Option<Slo>) -> Point<'a> {
        let open = figure.test.measured().and_then(|test| test.open.as_ref());
        let times = match open {
            Some(open) => &open.response,
            None => figure.test.latency(),
        };
        let counted = ramp::throughput_tests(tests, figure.jobs);
        let trials = TrialCounts::new(counted.iter().map(|test| meets(test, slo)));
        let is_undone = counted.iter().any(|test| is_undone(test, slo));
        Point { figure, times, trials, is_undone, is_open: open.is_some() }
    }

    /// The percentile of the SLO, in us.
    pub fn time_us(&self, slo: Slo) -> Option<f64> {
        slo.percentile.value_us(self.times)
    }

    /// True if every repetition that counts meets the SLO, false if every one misses it. None if
    /// they contradict one another, or one is not evidence.
    fn keeps(&self) -> Option<bool> {
        self.trials.agreed()
    }

    /// Ends of the interval; both are the figure where a publication prints none, and absent where
    /// none was measured.
    pub fn span(&self) -> Option<Span> {
        let value = self.figure.value;
        match self.figure.interval {
            Ok(interval) => {
                let [low, high] = interval.ends(value);
                Some(Span { value, low: Some(low), high: Some(high) })
            }
            Err(_) if self.figure.test.published().is_some() => {
                Some(Span { value, low: None, high: None })
            }
            Err(_) => None,
        }
    }

    fn low(&self) -> Option<f64> {
        self.span().map(|span| span.low.unwrap_or(span.value))
    }

    fn high(&self) -> f64 {
        self.span().and_then(|span| span.high).unwrap_or(self.figure.value)
    }

    /// A number of jobs for sentences.
    fn jobs(&self) -> u32 {
        self.figure.jobs.unwrap_or_default()
    }

    /// One job of a closed loop: no load is lower.
    fn is_least_load(&self) -> bool {
        self.figure.jobs == Some(1) && !self.is_open
    }
}

/// The answer to a need.
pub fn answer<'a>(need: &'a Need, tests: &'a [Test]) -> Answer<'a> {
    let found = of_one_drive(tests.iter().filter(|test| need.is_of(test)).collect());
    let points = if are_one_work(&found) { points(need.slo, &found) } else { Vec::new() };
    let (valid, others): (Vec<Point<'_>>, Vec<Point<'_>>) = points
        .into_iter()
        .filter(|point| point.figure.unit == need.unit)
        .partition(|p| supports(p.figure.status()));
    let keeping = valid.iter().filter(|point| point.keeps() == Some(true)).copied();
    let does = keeping.clone().filter(|point| point.low().is_some_and(|low| low >= need.rate));
    let at = does.min_by_key(|point| point.figure.jobs.unwrap_or(u32::MAX));
    // A higher figure without an interval does not show how much is used.
    let known = keeping.clone().filter(|point| at.is_none() || point.span().is_some());
    let most = highest(known);
    let best = most.map_or(f64::INFINITY, |most| most.figure.value);
    let without_interval = highest(keeping.filter(|point| point.figure.value > best));
    let doubt = doubtful_point(need, &others, most);
    let case = Case { need, valid: &valid, others: &others, most, doubt };
    let refused = match at {
        Some(_) => None,
        None if valid.is_empty() => {
            let described = describe_not_valid(need, &others);
            let why = described.unwrap_or_else(|| nothing_valid(need, tests, &found));
            Some(Refusal::not_covered(why))
        }
        None => Some(case.refusal()),
    };
    let used = most.and_then(|most| most.span()).map(|span| span.share(need.rate));
    let outcome = refused.as_ref().map_or(Outcome::Fits, |refused| refused.outcome);
    let why = refused.map(|refused| refused.why);
    let is_open = outcome == Outcome::NotCovered;
    let doubt = doubt.filter(|_| is_open);
    let again = if is_open { case.again() } else { None };
    let most = most.map(|most| best_or_lower_bound(most, &others));
    let left_out = others.len();
    Answer { need, outcome, why, at, most, without_interval, used, doubt, again, left_out }
}

/// The best valid figure; a lower bound beside a conditional one that is better and may meet the
/// SLO.
fn best_or_lower_bound<'a>(most: Point<'a>, others: &[Point<'a>]) -> Point<'a> {
    let passed_over = better_conditional(others, &most).and_then(|point| point.figure.jobs);
    Point { figure: Figure { passed_over, ..most.figure }, ..most }
}

/// The best conditional figure above the best valid one that is not known to miss the SLO.
fn better_conditional<'a>(others: &[Point<'a>], most: &Point<'_>) -> Option<Point<'a>> {
    let conditional = others
        .iter()
        .filter(|point| point.figure.status() == Status::Conditional)
        .filter(|point| point.keeps() != Some(false))
        .filter(|point| point.figure.value > most.figure.value);
    highest(conditional.copied())
}

/// Figure that answers with a doubt: a valid one without an interval that would do, before a
/// conditional one that would; with neither, the best that was measured. If there is a valid one
/// with an interval, only a figure that would do, or that is higher by a worthwhile step, adds to
/// it.
fn doubtful_point<'a>(
    need: &Need,
    others: &[Point<'a>],
    most: Option<Point<'a>>,
) -> Option<Point<'a>> {
    let would_do = |point: &Point<'_>| point.figure.value >= need.rate;
    let is_conditional = |point: &&Point<'_>| {
        point.figure.status() == Status::Conditional && point.keeps() == Some(true)
    };
    let conditional = highest(others.iter().filter(is_conditional).copied());
    match most {
        None => conditional,
        Some(most) if most.span().is_some() => {
            conditional.filter(|point| would_do(point) || is_worthwhile(point, &most))
        }
        Some(most) if would_do(&most) => Some(most),
        Some(most) => conditional.filter(would_do).or(Some(most)),
    }
}

/// The point with the highest rate.
fn highest<'a>(points: impl Iterator<Item = Point<'a>>) -> Option<Point<'a>> {
    points.max_by(|a, b| a.figure.value.total_cmp(&b.figure.value))
}

/// True if a figure is a step up from the best valid one that is worth its jobs.
fn is_worthwhile(point: &Point<'_>, most: &Point<'_>) -> bool {
    point.figure.value > most.figure.value * (1.0 + WORTHWHILE_GAIN)
}

/// Tests of the client drive, where there are tests of both drives, because applications are
/// clients.
fn of_one_drive(tests: Vec<&Test>) -> Vec<&Test> {
    let client: Vec<&Test> =
        tests.iter().filter(|test| test.drive() == Drive::Client).copied().collect();
    if client.is_empty() { tests } else { client }
}

/// True if the tests differ only in their jobs and rates.
fn are_one_work(tests: &[&Test]) -> bool {
    tests.windows(2).all(|pair| without_offer(pair[0].chosen()) == without_offer(pair[1].chosen()))
}

/// The rates of closed loops, one for each number of jobs, and those of open loops.
fn points<'a>(slo: Option<Slo>, tests: &[&'a Test]) -> Vec<Point<'a>> {
    let is_open = |test: &&Test| test.measured().is_some_and(|test| test.open.is_some());
    let (open, closed): (Vec<&Test>, Vec<&Test>) = tests.iter().copied().partition(is_open);
    // A publication may print a throughput without its jobs.
    let stated = ramp::throughput(&closed)
        .filter(|best| best.jobs.is_none() && best.better == Better::Higher);
    let figures = ramp::curve(&closed).into_iter().chain(stated);
    let mut points: Vec<Point<'a>> =
        figures.map(|figure| Point::new(figure, &closed, slo)).collect();
    for rate in ramp::groups(open, |test| *test) {
        let figures = ramp::curve(&rate).into_iter();
        points.extend(figures.map(|figure| Point::new(figure, &rate, slo)));
    }
    points
}

/// True if a test met the SLO, an open loop by the times of its answers; none if that is unknown.
fn meets(test: &Test, slo: Option<Slo>) -> Option<bool> {
    let Some(slo) = slo else { return Some(true) };
    let result = test.measured();
    if let Some((open, result)) = result.and_then(|result| Some((result.open.as_ref()?, result))) {
        return open.meets(slo, result.window.ops);
    }
    Some(slo.percentile.value_us(test.latency())? < slo.limit_us)
}

/// True if a test in an open loop has the percentile of the SLO but does not show whether the SLO
/// is met: more ops were due and not done than the percentile leaves out.
fn is_undone(test: &Test, slo: Option<Slo>) -> bool {
    let Some(slo) = slo else { return false };
    let open = test.measured().and_then(|test| test.open.as_ref());
    let response_us = open.and_then(|open| slo.percentile.value_us(&open.response));
    response_us.is_some() && meets(test, Some(slo)).is_none()
}

/// Outcome and reason if no figure is known to do what is needed.
struct Refusal {
    outcome: Outcome,
    why: Sentence,
}

impl Refusal {
    fn not_covered(why: Sentence) -> Refusal {
        Refusal { outcome: Outcome::NotCovered, why }
    }

    fn does_not_fit(why: Sentence) -> Refusal {
        Refusal { outcome: Outcome::DoesNotFit, why }
    }
}

/// Statement about a conditional figure that does not show whether the SLO is met.
fn unknown_slo(need: &Need, most: &Point<'_>, slo: Slo) -> Sentence {
    let text = match (most.trials.is_contradictory(), most.is_undone) {
        (true, _) => {
            "{most} {unit} with {jobs} were measured, {times~} times what is needed, but {slo} was \
             met in {met} of {count} repetitions only"
        }
        (false, true) => {
            "{most} {unit} with {jobs} were measured, {times~} times what is needed, but more ops \
             were due and not done than {slo} leaves out"
        }
        (false, false) => {
            "{most} {unit} with {jobs} were measured, {times~} times what is needed, but too few \
             ops were timed to tell whether {slo} is met: measure it again, with a longer \
             --duration"
        }
    };
    Sentence::new(text)
        .with("met", most.trials.met)
        .with("count", most.trials.all())
        .with("most", most.figure.value)
        .with("unit", need.unit.as_str())
        .with("jobs", Sentence::jobs(most.jobs()))
        .with("times", most.figure.value / need.rate)
        .with("slo", slo.to_string())
}

/// Statement about figures that are not valid: the best conditional one that meets the SLO, its
/// doubt, and what would settle it.
fn describe_not_valid(need: &Need, others: &[Point<'_>]) -> Option<Sentence> {
    let best = |keeps: Option<bool>| {
        others
            .iter()
            .filter(|point| point.figure.status() == Status::Conditional)
            .filter(|point| point.keeps() == keeps)
            .max_by(|a, b| a.figure.value.total_cmp(&b.figure.value))
    };
    let Some(most) = best(Some(true)) else {
        if let Some((most, slo)) = best(None).zip(need.slo) {
            return Some(unknown_slo(need, most, slo));
        }
        let text = "the verdict accepts none of its figures: {count} are left out";
        return (!others.is_empty()).then(|| Sentence::new(text).with("count", others.len()));
    };
    conditional(need, most)
}

/// The command that settles a figure which is not valid.
fn next(point: &Point<'_>) -> Sentence {
    Sentence::new(match point.figure.is_disturbed() {
        true => "measure it again with --retry-disturbed",
        false => "measure it again, with --repeat 5",
    })
}

/// Statement about a conditional figure, its doubt, and what would settle it.
fn conditional(need: &Need, most: &Point<'_>) -> Option<Sentence> {
    let because = most.figure.verdict().reasons.first()?.to_sentence();
    let text = "{most} {unit} with {jobs} were measured, {times~} times what is needed, but that \
                is conditional ({because}): {next}";
    Some(
        Sentence::new(text)
            .with("most", most.figure.value)
            .with("unit", need.unit.as_str())
            .with("jobs", Sentence::jobs(most.jobs()))
            .with("times", most.figure.value / need.rate)
            .with("because", because)
            .with("next", next(most)),
    )
}

/// Explains why there is no valid figure.
fn nothing_valid(need: &Need, tests: &[Test], found: &[&Test]) -> Sentence {
    let own: Vec<&Test> = tests.iter().filter(|test| test.workload() == need.workload).collect();
    let Some(first) = own.first() else { return "the run has no test of this workload".into() };
    match found.first() {
        Some(test) if !are_one_work(found) => {
            Sentence::new("it was printed with several parameters, as {params}: name them")
                .with("params", params::assignments(test.chosen(), " "))
        }
        Some(test) => {
            match ramp::throughput(&[test]).filter(|best| best.better == Better::Higher) {
                Some(best) => Sentence::new("it is measured in {unit}").with("unit", best.unit),
                None => "it has no rate".into(),
            }
        }
        None if first.chosen().is_empty() => {
            "it was measured with its usual parameters only".into()
        }
        None => Sentence::new("it was measured with other parameters, as {params}")
            .with("params", params::assignments(first.chosen(), " ")),
    }
}

/// Figures of which none is known to do what is needed.
struct Case<'p, 'a> {
    need: &'a Need,
    valid: &'p [Point<'a>],
    others: &'p [Point<'a>],
    most: Option<Point<'a>>,
    /// The figure that answers with a doubt.
    doubt: Option<Point<'a>>,
}

impl<'a> Case<'_, 'a> {
    /// Outcome if no figure fits: it does not fit, or that is unknown, with the reason.
    fn refusal(&self) -> Refusal {
        if let Some(broken) = self.broken() {
            return Refusal::does_not_fit(broken);
        }
        if let Some(doubtful) = self.doubtful() {
            return Refusal::not_covered(doubtful);
        }
        let Some(most) = self.most else { return Refusal::not_covered(self.promise_unknown()) };
        let open = self
            .within_interval(&most)
            .or_else(|| self.between(&most))
            .or_else(|| self.beyond(&most));
        match open {
            Some(why) => Refusal::not_covered(why),
            None => Refusal::does_not_fit(self.too_little(&most)),
        }
    }

    fn too_little(&self, most: &Point<'_>) -> Sentence {
        let template = match most.figure.jobs {
            Some(_) => "the maximum is {most} {unit}, with {jobs}",
            None => "the maximum is {most} {unit}",
        };
        let maximum = Sentence::new(template)
            .with("most", most.figure.value)
            .with("unit", self.need.unit.as_str())
            .with("jobs", Sentence::jobs(most.jobs()));
        if let Some(better) = better_conditional(self.others, most) {
            let text = "{maximum}; {value} {unit} with {more} is hardly more, and conditional";
            return Sentence::new(text)
                .with("maximum", maximum)
                .with("value", better.figure.value)
                .with("unit", self.need.unit.as_str())
                .with("more", Sentence::jobs(better.jobs()));
        }
        match self.next_at_more_jobs(most).filter(|_| self.is_gaining(most)) {
            Some(_) => Sentence::new(
                "{maximum}, which take all CPUs; what was measured with more jobs is not valid",
            )
            .with("maximum", maximum),
            None => maximum,
        }
    }

    /// The SLO is missed at no more load than is needed, and no figure contradicts that: load makes
    /// nothing faster.
    fn broken(&self) -> Option<Sentence> {
        let slo = self.need.slo?;
        let is_low =
            |point: &&Point<'_>| point.figure.value <= self.need.rate || point.is_least_load();
        let missing = self.valid.iter().filter(|point| point.keeps() == Some(false));
        let broken = missing.filter(is_low).find(|point| !self.is_contradicted(point))?;
        let at = Sentence::new("{promise} is missed at {rate} {unit}: it is {time} ms")
            .with("promise", slo.to_string())
            .with("rate", broken.figure.value)
            .with("unit", self.need.unit.as_str());
        Some(at.with("time", broken.time_us(slo)? / 1000.0))
    }

    /// True if this point, which missed the SLO, is contradicted: a repetition of a valid or a
    /// conditional figure met the SLO at as much load, or at a rate whose interval reaches the
    /// required one.
    fn is_contradicted(&self, broken: &Point<'_>) -> bool {
        let is_conditional = |point: &&Point<'_>| point.figure.status() == Status::Conditional;
        let conditional = self.others.iter().filter(is_conditional);
        let mut meeting = self.valid.iter().chain(conditional).filter(|point| point.trials.met > 0);
        meeting.any(|point| {
            point.figure.value >= broken.figure.value || point.high() >= self.need.rate
        })
    }

    fn promise_unknown(&self) -> Sentence {
        let slo = self.need.slo.map(|slo| slo.to_string()).unwrap_or_default();
        let contradictory = self.valid.iter().filter(|point| point.trials.is_contradictory());
        if let Some(point) = highest(contradictory.copied()) {
            let text = "{promise} was met in {met} of {count} repetitions at {rate} {unit}: \
                        whether it is met there is not known";
            return Sentence::new(text)
                .with("promise", slo)
                .with("met", point.trials.met)
                .with("count", point.trials.all())
                .with("rate", point.figure.value)
                .with("unit", self.need.unit.as_str());
        }
        let undone = self.valid.iter().filter(|point| point.is_undone);
        if let Some(point) = highest(undone.copied()) {
            let text = "more ops were due and not done at {rate} {unit} than {promise} leaves out: \
                        whether it is met there is not known";
            return Sentence::new(text)
                .with("rate", point.figure.value)
                .with("unit", self.need.unit.as_str())
                .with("promise", slo);
        }
        match self.valid.iter().all(|point| point.keeps() == Some(false)) {
            true => Sentence::new(
                "{promise} is missed at every rate that was measured, all of them above the \
                 required one",
            ),
            false => Sentence::new("too few ops were timed to know whether {promise} is met"),
        }
        .with("promise", slo)
    }

    /// Statement about the figure that answers with a doubt, or that leaves the answer open, so
    /// that the answer, the command that settles it and the reason name the same figure.
    fn doubtful(&self) -> Option<Sentence> {
        let Some(doubt) = self.doubt else {
            let (unknown, slo) = self.unknown().zip(self.need.slo)?;
            return Some(unknown_slo(self.need, &unknown, slo));
        };
        let would_do = doubt.figure.value >= self.need.rate;
        match (doubt.figure.status(), doubt.figure.interval) {
            (Status::Conditional, _) if would_do && self.most.is_some() => {
                let text = "{value} {unit} with {jobs} would do, but that figure is conditional";
                let sentence = Sentence::new(text)
                    .with("value", doubt.figure.value)
                    .with("unit", self.need.unit.as_str());
                Some(sentence.with("jobs", Sentence::jobs(doubt.jobs())))
            }
            (Status::Conditional, _) => conditional(self.need, &doubt),
            (_, Err(unknown)) => {
                let text = "{most} {unit} is {times~} times what is needed, but how well that is \
                            known is not ({why}): measure it again with --repeat 5";
                let sentence = Sentence::new(text)
                    .with("most", doubt.figure.value)
                    .with("unit", self.need.unit.as_str())
                    .with("times", doubt.figure.value / self.need.rate);
                Some(sentence.with("why", Sentence::new(unknown.text())))
            }
            (_, Ok(_)) => None,
        }
    }

    /// The rate lies within the interval of the best figure, which is not known well enough.
    fn within_interval(&self, most: &Point<'_>) -> Option<Sentence> {
        (most.high() >= self.need.rate).then(|| {
            Sentence::new(
                "the rate lies within the interval of the best figure, {low} to {high} {unit}",
            )
            .with("low", most.low().unwrap_or_default())
            .with("high", most.high())
            .with("unit", self.need.unit.as_str())
        })
    }

    /// Statement that a rate above the best one that meets the SLO was measured, and misses it or
    /// does not show whether it meets it.
    fn between(&self, most: &Point<'_>) -> Option<Sentence> {
        let slo = self.need.slo?;
        let above = self.valid.iter().filter(|point| point.figure.value > most.figure.value);
        let next = above.min_by(|a, b| a.figure.value.total_cmp(&b.figure.value))?;
        let template = match next.keeps() {
            Some(_) => {
                "{promise} is met at {kept} {unit} and missed at {next}; nothing between was \
                 measured"
            }
            None if next.trials.is_contradictory() => {
                "{promise} is met at {kept} {unit}; at {next} it was met in {met} of {count} \
                 repetitions only"
            }
            None => "{promise} is met at {kept} {unit}; whether it is met at {next} is not known",
        };
        Some(
            Sentence::new(template)
                .with("promise", slo.to_string())
                .with("kept", most.figure.value)
                .with("next", next.figure.value)
                .with("met", next.trials.met)
                .with("count", next.trials.all())
                .with("unit", self.need.unit.as_str()),
        )
    }

    /// The figure that settles the answer, measured again.
    fn again(&self) -> Option<Point<'a>> {
        self.doubt.or_else(|| self.unknown()).or_else(|| self.unsettled())
    }

    /// The highest conditional figure that does not show whether the SLO is met, if none answers
    /// with a doubt. Next to a valid one that meets the SLO it must say more; else it must reach
    /// the requirement, or be any if every valid one misses the SLO.
    fn unknown(&self) -> Option<Point<'a>> {
        if self.doubt.is_some() {
            return None;
        }
        if let Some(most) = &self.most {
            let better = better_conditional(self.others, most);
            return better.filter(|point| self.says_more(point, most));
        }
        let is_missed = self.valid.iter().all(|point| point.keeps() == Some(false));
        let unknown = self
            .others
            .iter()
            .filter(|point| point.figure.status() == Status::Conditional)
            .filter(|point| point.keeps().is_none())
            .filter(|point| is_missed || point.figure.value >= self.need.rate);
        highest(unknown.copied())
    }

    /// A figure at more jobs that is not valid, so that the maximum may be above the best valid
    /// one: throughput still rose up to the jobs of the best. The value of an invalid figure is not
    /// considered.
    fn unsettled(&self) -> Option<Point<'a>> {
        let most = self.most.as_ref()?;
        self.next_at_more_jobs(most).filter(|_| self.is_rising(most))
    }

    /// True if a figure would do, or is a step up from the best valid one that is worth its jobs.
    fn says_more(&self, point: &Point<'_>, most: &Point<'_>) -> bool {
        point.figure.value >= self.need.rate || is_worthwhile(point, most)
    }

    /// The figure at more jobs than those of the best, which no valid one exceeds.
    fn next_at_more_jobs(&self, most: &Point<'_>) -> Option<Point<'a>> {
        let is_exceeded = self.valid.iter().any(|point| point.figure.value > most.figure.value);
        if is_exceeded || most.is_open || most.figure.jobs.is_none() {
            return None;
        }
        let closed = self.others.iter().filter(|point| !point.is_open);
        let beyond = closed.filter(|point| point.figure.jobs > most.figure.jobs);
        beyond.min_by_key(|point| point.figure.jobs).copied()
    }

    /// Statement that a figure which is not valid leaves the maximum open.
    fn not_settled(&self, most: &Point<'_>) -> Option<Sentence> {
        let point = self.unsettled()?;
        let text = "throughput still rose with {jobs}: {most} {unit}, and the figure with {more} \
                    is not valid: {next}";
        Some(
            Sentence::new(text)
                .with("jobs", Sentence::jobs(most.jobs()))
                .with("most", most.figure.value)
                .with("unit", self.need.unit.as_str())
                .with("more", Sentence::jobs(point.jobs()))
                .with("next", next(&point)),
        )
    }

    /// More than the best valid figure is possible: a figure that is not valid leaves that open, or
    /// more jobs might.
    fn beyond(&self, most: &Point<'_>) -> Option<Sentence> {
        if let Some(not_settled) = self.not_settled(most) {
            return Some(not_settled);
        }
        let most_jobs =
            self.valid.iter().chain(self.others).filter_map(|point| point.figure.jobs).max();
        (most_jobs == most.figure.jobs && most_jobs.is_some() && self.is_rising(most)).then(|| {
            let is_only =
                self.valid.iter().chain(self.others).all(|point| point.figure.jobs == most_jobs);
            let template = match is_only {
                true => {
                    "the maximum with {jobs} is {most} {unit}, and no other number of jobs was \
                     measured"
                }
                false => {
                    "throughput still rose with {jobs}, the largest number measured: {most} {unit}"
                }
            };
            let sentence = Sentence::new(template).with("jobs", Sentence::jobs(most.jobs()));
            sentence.with("most", most.figure.value).with("unit", self.need.unit.as_str())
        })
    }

    /// The last step was worth its jobs, or there is none, and processors are left.
    fn is_rising(&self, most: &Point<'_>) -> bool {
        let limit = most.figure.limit();
        self.is_gaining(most) && limit.is_none_or(|limit| limit.cause != Cause::Cpu)
    }

    /// The last step was worth its jobs, or there is none.
    fn is_gaining(&self, most: &Point<'_>) -> bool {
        let fewer = self.valid.iter().filter(|point| point.figure.jobs < most.figure.jobs);
        let before = fewer.map(|point| point.figure.value).reduce(f64::max);
        before.is_none_or(|before| most.figure.value > before * (1.0 + WORTHWHILE_GAIN))
    }
}
