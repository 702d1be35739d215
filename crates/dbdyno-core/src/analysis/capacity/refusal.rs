//! The reason for which no figure is known to do what a requirement needs: it does not fit, or that
//! is not known.

use super::Outcome;
use super::need::Need;
use super::point::{Point, are_one_work, better_conditional, highest, is_worthwhile};
use crate::analysis::bottleneck::Cause;
use crate::analysis::ramp::{self, WORTHWHILE_GAIN};
use crate::model::{Better, Sentence, Slo, Status, Test, params};

/// Outcome and reason if no figure is known to do what is needed.
pub(super) struct Refusal {
    pub(super) outcome: Outcome,
    pub(super) why: Sentence,
}

impl Refusal {
    pub(super) fn not_covered(why: Sentence) -> Refusal {
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
pub(super) fn describe_not_valid(need: &Need, others: &[Point<'_>]) -> Option<Sentence> {
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
pub(super) fn nothing_valid(need: &Need, tests: &[Test], found: &[&Test]) -> Sentence {
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
pub(super) struct Case<'p, 'a> {
    pub(super) need: &'a Need,
    pub(super) valid: &'p [Point<'a>],
    pub(super) others: &'p [Point<'a>],
    pub(super) most: Option<Point<'a>>,
    /// The figure that answers with a doubt.
    pub(super) doubt: Option<Point<'a>>,
}

impl<'a> Case<'_, 'a> {
    /// Outcome if no figure fits: it does not fit, or that is unknown, with the reason.
    pub(super) fn refusal(&self) -> Refusal {
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
    pub(super) fn again(&self) -> Option<Point<'a>> {
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
