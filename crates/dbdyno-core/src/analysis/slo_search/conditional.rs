//! Answer of the trials of a search where disturbed ones keep them from settling two rates: an
//! answer with its doubt, and the command that would settle it. Pure.

use serde::Serialize;

use super::{Outcome, is_from_outside, slo_of};
use crate::analysis::command;
use crate::analysis::reason_count::{ReasonCount, count};
use crate::model::{Drive, Reason, ReasonCode, RunRecord, TestResult};

/// The trials at one rate that met or missed the SLO, disturbed ones included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RateTrials {
    /// Ops offered per second.
    pub per_s: f64,
    /// Trials that met it.
    pub met: u32,
    /// All of them.
    pub trials: u32,
}

impl RateTrials {
    /// Trials that missed it.
    pub fn missed(&self) -> u32 {
        self.trials - self.met
    }

    fn is_mostly_met(&self) -> bool {
        self.met > self.missed()
    }
}

/// The best bracket that was measured, and its doubt.
#[derive(Debug, Clone, PartialEq)]
pub struct Bracket<'a> {
    /// The highest rate that most of its trials met; none if no rate was.
    pub met: Option<RateTrials>,
    /// The lowest rate above it; none if none was tried.
    pub missed: Option<RateTrials>,
    /// Disturbances of the trials from outside, a reason for each trial and cause.
    pub disturbances: Vec<&'a Reason>,
    /// Reasons for which further trials are not in it, each with their number.
    pub left_out: Vec<ReasonCount>,
    /// One of the trials, for what they share.
    test: &'a TestResult,
}

impl<'a> Bracket<'a> {
    /// Bracket of the trials of a search; none if no disturbed one missed the SLO, so that the
    /// trials that are evidence say all there is to say.
    pub(super) fn from_trials(group: &[&'a TestResult]) -> Option<Bracket<'a>> {
        let mut rates: Vec<RateTrials> = Vec::new();
        let (mut disturbances, mut left_out, mut is_excused) = (Vec::new(), Vec::new(), false);
        for test in group.iter().copied() {
            let Some((open, outcome)) = test.open.as_ref().zip(Outcome::from_result(test)) else {
                continue;
            };
            let is_met = match outcome {
                Outcome::Met => true,
                Outcome::Missed => false,
                Outcome::Excused(_) => {
                    is_excused = true;
                    false
                }
                Outcome::Unknown(codes) => {
                    codes.into_iter().for_each(|code| count(&mut left_out, code));
                    continue;
                }
            };
            let outside = test.verdict.reasons.iter().filter(|reason| is_from_outside(reason));
            disturbances.extend(outside);
            let per_s = open.offer.per_s;
            let met = u32::from(is_met);
            match rates.iter_mut().find(|tried| tried.per_s == per_s) {
                Some(tried) => (tried.met, tried.trials) = (tried.met + met, tried.trials + 1),
                None => rates.push(RateTrials { per_s, met, trials: 1 }),
            }
        }
        rates.sort_by(|a, b| a.per_s.total_cmp(&b.per_s));
        let last_met = rates.iter().rposition(RateTrials::is_mostly_met);
        is_excused.then(|| Bracket {
            met: last_met.map(|at| rates[at]),
            missed: rates.get(last_met.map_or(0, |at| at + 1)).copied(),
            disturbances,
            left_out,
            test: group[0],
        })
    }

    /// The command that searches again as `run` did, and repeats what is disturbed. None if nothing
    /// but dbdyno itself was in the way: it would be so again.
    pub fn settling_command(&self, run: &RunRecord) -> Option<String> {
        use ReasonCode::{ForeignLoad, PlatformUnsteady, Steal};
        let is_of_others =
            |reason: &&Reason| matches!(reason.code, ForeignLoad | PlatformUnsteady | Steal);
        if !self.disturbances.iter().any(is_of_others) {
            return None;
        }
        let (slo, test) = (slo_of(self.test)?, self.test);
        let options = command::RunOptions::new(&test.workload, &test.chosen);
        if options.is_on_some_nodes {
            return None;
        }
        let mut words = command::run_on(run)?;
        words.extend(["--workload".into(), options.workload.clone()]);
        words.extend(["--jobs".into(), test.jobs.to_string()]);
        if test.drive == Drive::Client {
            words.extend(["--drive", "client"].map(String::from));
        }
        words.extend(options.at_highest_rate(slo));
        if let Some(duration_s) = window_s(run, &test.workload) {
            words.extend(["--duration".into(), format!("{duration_s}s")]);
        }
        words.extend(command::database(run, &[options])?);
        words.push("--retry-disturbed".into());
        Some(command::line(&words))
    }
}

/// The window of the workload as the run planned it, in s.
fn window_s(run: &RunRecord, workload: &str) -> Option<f64> {
    let selections = run.plan.selections();
    selections.iter().find(|selection| selection.workload() == workload)?.duration_s()
}

#[cfg(test)]
mod tests {
    use super::super::tests::result;
    use super::super::{Answer, SETTLED, answers};
    use super::*;
    use crate::model::{Sentence, Status, Test, Verdict};
    use serde_json::json;

    /// A trial at a rate that met its SLO or not, and the share of the CPU that others used.
    fn trial(per_s: f64, is_met: bool, others: Option<f64>) -> Test {
        let reason = |share: f64| {
            let sentence = Sentence::new("others used {share%}").with("share", share);
            Reason::new(Status::Conditional, ReasonCode::ForeignLoad, sentence)
        };
        let verdict = Verdict::from_reasons(others.map(reason).into_iter().collect());
        let result = result(per_s, if is_met { 4e3 } else { 6e3 });
        Test::Measured(Box::new(TestResult { verdict, ..result }))
    }

    fn of(tests: &[Test]) -> Answer<'_> {
        answers(tests).remove(0)
    }

    #[test]
    fn disturbed_trials_give_the_bracket_that_was_measured_and_its_doubt() {
        let mut tests = vec![
            trial(2091.0, true, Some(0.71)),
            trial(2091.0, true, None),
            trial(2091.0, false, Some(0.5)),
            trial(4512.0, true, Some(0.3)),
        ];
        tests.extend((0..3).map(|_| trial(4512.0, false, Some(0.71))));
        let answer = of(&tests);
        let bracket = answer.measured.as_ref().unwrap();
        assert_eq!(bracket.met, Some(RateTrials { per_s: 2091.0, met: 2, trials: 3 }));
        assert_eq!(bracket.missed, Some(RateTrials { per_s: 4512.0, met: 1, trials: 4 }));
        assert_eq!(bracket.missed.unwrap().missed(), 3);
        assert_eq!((bracket.disturbances.len(), answer.unknown), (6, 4));
        assert_eq!((answer.met, answer.missed, answer.status), (None, None, Status::Conditional));
    }

    #[test]
    fn a_bracket_may_lack_a_side() {
        let missed = [trial(500.0, false, Some(0.9)), trial(400.0, false, Some(0.9))];
        let bracket = of(&missed).measured.unwrap();
        assert_eq!((bracket.met, bracket.missed.map(|tried| tried.per_s)), (None, Some(400.0)));
        let met = [
            trial(500.0, true, Some(0.9)),
            trial(500.0, true, None),
            trial(500.0, false, Some(0.9)),
        ];
        let bracket = of(&met).measured.unwrap();
        assert_eq!((bracket.met.map(|tried| tried.per_s), bracket.missed), (Some(500.0), None));
    }

    #[test]
    fn valid_trials_answer_without_a_measured_bracket() {
        let mut tests: Vec<Test> = Vec::new();
        for _ in 0..SETTLED {
            tests.push(trial(500.0, true, None));
            tests.push(trial(510.0, false, None));
        }
        tests.push(trial(520.0, false, Some(0.9)));
        let settled = of(&tests);
        assert_eq!((&settled.measured, settled.status), (&None, Status::Valid));
        let contradictory = [trial(500.0, false, None), trial(510.0, true, None)];
        assert_eq!(of(&contradictory).measured, None, "nobody disturbed them");
    }

    #[test]
    fn the_command_searches_again_as_the_run_did() {
        let tests = [trial(500.0, false, Some(0.9))];
        let answer = of(&tests);
        let workload = &answer.test.workload;
        let bracket = answer.measured.unwrap();
        let selection = json!({ "workload": workload, "window": { "duration_s": 0.2 } });
        let run = RunRecord {
            target: "other (private server)".into(),
            plan: json!({ "size_gb": 0.25, "selections": [selection] }).into(),
            ..crate::analysis::compare::fixture::run("a")
        };
        let command = bracket.settling_command(&run).unwrap();
        let start = format!("dbdyno run other --workload {workload}");
        assert!(command.starts_with(&start), "{command}");
        let end = "--rate auto --slo 'p99<5ms' --duration 0.2s --size 0.25 --retry-disturbed";
        assert!(command.ends_with(end), "{command}");
        let nobody = RunRecord { target: "--all".into(), ..run.clone() };
        assert_eq!(bracket.settling_command(&nobody), None);
        let own = Reason::new(Status::Conditional, ReasonCode::ClientLimit, "");
        let bracket = Bracket { disturbances: vec![&own], ..bracket };
        assert_eq!(bracket.settling_command(&run), None, "it would be so again");
    }
}
