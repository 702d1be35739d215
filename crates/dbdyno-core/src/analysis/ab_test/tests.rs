//! Tests of the trials that are left out or used, and A/B tests by the thousand: two equal sides
//! under every kind of noise.

use super::*;
use crate::analysis::circumstances;
use crate::analysis::fixture::at;
use crate::stats::keys::{KeyStream, MODULUS};
use crate::stats::summary::{mean, two_sided_p, variance};

const RULE: Rule = Rule { margin: 0.03, figures: 1 };
/// Number of A/B tests of each kind, and maximum number of blocks of one.
const AB_TESTS: usize = 400;
const MAX_BLOCKS: usize = 50;

fn verdict(reasons: &[(Status, ReasonCode)]) -> Verdict {
    Verdict::from_reasons(
        reasons.iter().map(|(status, code)| Reason::new(*status, code.clone(), "")).collect(),
    )
}

fn trial(value: f64, verdict: &Verdict) -> Trial<'_> {
    Trial { value: Some(value), verdict, total_s: 1.0 }
}

fn blocks(ratios: &[f64]) -> Blocks {
    let (mut blocks, valid) = (Blocks::default(), verdict(&[]));
    ratios
        .iter()
        .for_each(|ratio| blocks.add(&[[trial(100.0, &valid), trial(100.0 * ratio, &valid)]]));
    blocks
}

#[test]
fn the_interval_decides_and_what_lies_within_the_margin_is_equal() {
    let said = |low, high, better| RULE.outcome(Some(Span { low, high }), better);
    assert_eq!(said(1.01, 1.20, Better::Higher), Outcome::Better);
    assert_eq!(said(1.01, 1.20, Better::Lower), Outcome::Worse);
    assert_eq!(said(0.80, 0.99, Better::Higher), Outcome::Worse);
    assert_eq!(said(0.98, 1.02, Better::Higher), Outcome::Equal);
    assert_eq!(
        said(1.01, 1.02, Better::Higher),
        Outcome::Equal,
        "a difference, but none that counts"
    );
    // The margin is the same seen from B: 1 / 1.03 = 0.9709.
    assert_eq!(said(0.9705, 1.0, Better::Higher), Outcome::Undecided);
    assert_eq!(RULE.outcome(None, Better::Higher), Outcome::Undecided);
}

#[test]
fn trials_that_are_not_the_platforms_figure_are_left_out_and_counted() {
    let (valid, foreign) =
        (verdict(&[]), verdict(&[(Status::Conditional, ReasonCode::ForeignLoad)]));
    let limited = verdict(&[
        (Status::Conditional, ReasonCode::ClientLimit),
        (Status::Conditional, ReasonCode::Steal),
    ]);
    let broken = verdict(&[(Status::Invalid, ReasonCode::Contract)]);
    let noted = verdict(&[(Status::Valid, ReasonCode::ClientLimit)]);
    let mut blocks = Blocks::default();
    blocks.add(&[[trial(100.0, &valid), trial(110.0, &foreign)]]);
    blocks.add(&[[trial(100.0, &limited), trial(110.0, &valid)]]);
    blocks.add(&[[trial(100.0, &broken), trial(110.0, &broken)]]);
    blocks.add(&[[trial(100.0, &noted), Trial { value: None, verdict: &valid, total_s: 0.0 }]]);
    assert_eq!((blocks.count(), blocks.left_out, blocks.status()), (1, 3, Status::Conditional));
    assert_eq!(blocks.ratio(), Some(1.1));
    let counted = |counted: &[ReasonCount]| {
        counted.iter().map(|one| (one.code.to_string(), one.trials)).collect::<Vec<_>>()
    };
    assert_eq!(counted(&blocks.conditions), [("foreign-load".into(), 1)]);
    let doubts = [("client-limit".to_string(), 1), ("contract".into(), 2), ("failed".into(), 1)];
    assert_eq!(counted(&blocks.doubts), doubts);
    assert!(!blocks.is_hopeless());
    let mut vain = Blocks::default();
    (0..VAIN_BLOCKS).for_each(|_| vain.add(&[[trial(100.0, &broken), trial(110.0, &valid)]]));
    assert!(vain.is_hopeless() && vain.status() == Status::Invalid);
}

#[test]
fn a_figure_of_which_one_side_is_invalid_is_no_comparison_and_a_failure_if_that_is_b() {
    let tests = |invalid: &dyn Fn(usize) -> bool, value: f64| -> Vec<Test> {
        let test = |n: usize| {
            let reasons = [(Status::Invalid, ReasonCode::Errors)];
            let verdict = if invalid(n) { verdict(&reasons) } else { verdict(&[]) };
            Test::from(TestResult { verdict, ..at(1, value) })
        };
        (0..24).map(test).collect()
    };
    let row = |a: &dyn Fn(usize) -> bool, b: &dyn Fn(usize) -> bool| {
        rows(&tests(a, 100.0), &tests(b, 150.0), 0.03, Method::InTurns).rows.remove(0)
    };
    let (never, always) = (|_| false, |_| true);
    let half = |n: usize| n.is_multiple_of(2);
    let said = |row: &Row| (row.outcome, row.verdict, row.is_failure(0.05));
    assert_eq!(said(&row(&never, &never)), (Outcome::Better, Status::Valid, false));
    let invalid = (Outcome::Undecided, Status::Invalid, true);
    assert_eq!(said(&row(&never, &always)), invalid, "as compare of the same runs");
    let survivors = row(&never, &half);
    assert_eq!(said(&survivors), invalid, "of the survivors alone nothing is said");
    assert_eq!((survivors.invalid_side, survivors.blocks), (Some(Side::B), 12));
    assert_eq!(survivors.left_out_reasons(), "12 errors");
    let base = row(&half, &never);
    assert_eq!(
        (base.outcome, base.verdict, base.is_failure(0.0)),
        (Outcome::Undecided, Status::Invalid, false)
    );
    assert_eq!(base.invalid_side, Some(Side::A));
    let both = row(&always, &always);
    assert_eq!(
        (both.invalid_side, both.is_base_invalid, both.is_failure(0.0)),
        (None, true, false)
    );
    // Two of 24 may be chance; three are too many for a figure without a mark.
    let marked = |few: usize| said(&row(&|n| n < few, &|n| n >= 24 - few));
    assert_eq!(marked(1), (Outcome::Better, Status::Valid, false));
    assert_eq!(marked(2), (Outcome::Better, Status::Conditional, false));
}

#[test]
fn a_figure_that_one_side_lacks_is_named() {
    let (a, b) =
        ([Test::from(at(1, 1.0)), at(2, 1.0).into()], [Test::from(at(1, 1.0)), at(4, 1.0).into()]);
    let found = unpaired(&a, &b);
    let said: Vec<_> =
        found.iter().map(|one| (one.label.as_str(), one.missing, one.is_lost())).collect();
    assert_eq!(
        said,
        [("SRV-QUERY1, 2 jobs", Side::B, true), ("SRV-QUERY1, 4 jobs", Side::A, false)]
    );
    assert_eq!(unpaired(&a, &a), []);
}

#[test]
fn a_block_of_a_duet_is_two_trials_of_each_side_whose_halves_cancel_out() {
    // The first half is 1.5 times as fast as the second; B is a tenth faster; a neighbor halves
    // all of the second block.
    let mut sides: [Vec<Test>; 2] = [Vec::new(), Vec::new()];
    for slow in [1.0, 0.5, 1.0] {
        for halves in [[1.5, 1.0], [1.0, 1.5]] {
            let beside = Verdict::from_reasons(vec![circumstances::of_duet()]);
            for (side, effect) in [1.0, 1.1].into_iter().enumerate() {
                let result = TestResult {
                    verdict: beside.clone(),
                    ..at(1, 100.0 * slow * effect * halves[side])
                };
                sides[side].push(result.into());
            }
        }
    }
    // The last block was interrupted after its first round.
    sides.iter_mut().for_each(|tests| drop(tests.pop()));
    let row = rows(&sides[0], &sides[1], 0.03, Method::Duet).rows.remove(0);
    assert_eq!((row.blocks, row.left_out, row.verdict), (2, 0, Status::Valid), "{row:?}");
    assert!((row.ratio.unwrap() - 1.1).abs() < 1e-12, "{row:?}");
    assert_eq!(row.base_verdict, Some(Status::Conditional), "half of the machine");
    assert!(row.conditions.is_empty(), "the other side is the method");
    let in_turns = rows(&sides[0], &sides[1], 0.03, Method::InTurns).rows.remove(0);
    assert_eq!(in_turns.blocks, 5);
    assert!((in_turns.ratio.unwrap() - 1.1).abs() > 0.1, "{in_turns:?}");
}

#[test]
fn the_figures_of_the_sides_are_those_of_their_runs() {
    let foreign = verdict(&[(Status::Conditional, ReasonCode::ForeignLoad)]);
    let side = |rates: [f64; 5], disturbed: usize| -> Vec<Test> {
        let test = |(number, rate): (usize, f64)| {
            let verdict = if number < disturbed { foreign.clone() } else { verdict(&[]) };
            Test::from(TestResult { verdict, ci_fraction: None, ..at(1, rate) })
        };
        let mut tests: Vec<Test> = rates.into_iter().enumerate().map(test).collect();
        figure::estimate(&mut tests);
        tests
    };
    let (a, b) =
        (side([100.0, 101.0, 99.0, 100.5, 20.0], 0), side([110.0, 111.0, 112.0, 109.0, 113.0], 2));
    let row = rows(&a, &b, 0.03, Method::InTurns).rows.remove(0);
    let of_run = |tests: &[Test]| {
        let found = ramp::kpm_at_fewest_jobs(&tests.iter().collect::<Vec<_>>()).unwrap();
        (Some(found.value), Some(found.status()))
    };
    assert_eq!((row.base, row.base_verdict), of_run(&a));
    assert_eq!((row.other, row.other_verdict), of_run(&b));
    assert!(row.other > Some(111.0), "the disturbed trials are not in it: {row:?}");
}

#[test]
fn what_an_open_figure_needs_is_foretold_from_its_spread() {
    let spread = |size: f64| {
        blocks(&[1.0 + size, 1.0 - size, 1.0 + size / 2.0, 1.0 - size / 2.0]).more_blocks(&RULE)
    };
    let fewest = RULE.fewest_blocks() - 4;
    assert!((fewest..=fewest + 2).contains(&spread(0.001).unwrap()), "the fewest");
    let (calm, noisy) = (spread(0.03).unwrap(), spread(0.1).unwrap());
    assert!(calm < 20 && (40..300).contains(&noisy), "{calm} {noisy}");
    assert_eq!(blocks(&[1.0]).more_blocks(&RULE), None, "one block has no spread");
    assert_eq!(
        blocks(&[3.0, 0.33, 2.0, 0.5]).more_blocks(&RULE),
        None,
        "longer than anybody measures"
    );
    let of_minutes = blocks(&[1.1, 0.9, 1.05, 0.95]);
    let expected = of_minutes.more_blocks(&RULE).unwrap() as f64 * (2.0 + 2.0 * BETWEEN_TRIALS_S);
    assert_eq!(of_minutes.more_s(&RULE), Some(expected));
}

#[test]
fn trials_are_paired_in_their_order_and_a_figure_of_one_side_is_none() {
    let test = |jobs, value| Test::from(at(jobs, value));
    let a = [test(1, 100.0), test(2, 200.0), test(1, 102.0), test(4, 1.0)];
    let b = [test(2, 210.0), test(1, 90.0), test(1, 91.8)];
    let Rows { rule, rows } = rows(&a, &b, 0.05, Method::InTurns);
    assert_eq!(rule, Rule { margin: 0.05, figures: 2 });
    let said: Vec<_> = rows.iter().map(|row| (row.jobs, row.blocks, row.ratio.unwrap())).collect();
    assert_eq!((said[0].0, said[0].1, said[1].0, said[1].1), (1, 2, 2, 1));
    assert!((said[0].2 - 0.9).abs() < 1e-12 && (said[1].2 - 1.05).abs() < 1e-12);
    assert_eq!(rows[0].outcome, Outcome::Undecided);
    assert!((rows[0].loss() - 0.1).abs() < 1e-12 && !rows[0].is_failure(0.05), "not decided");
}

#[test]
fn a_loss_beyond_the_limit_fails_whatever_the_direction() {
    let row = |ratio: f64, better: Better| {
        let tests = |value| -> Vec<Test> {
            let kpm = crate::analysis::fixture::kpm(crate::model::KpmValue::Ops, "x", better);
            (0..12).map(|_| TestResult { kpm: kpm.clone(), ..at(1, value) }.into()).collect()
        };
        rows(&tests(100.0), &tests(100.0 * ratio), 0.03, Method::InTurns).rows.remove(0)
    };
    let slower = row(0.9, Better::Higher);
    assert_eq!(
        (slower.outcome, slower.is_failure(0.05), slower.is_failure(0.2)),
        (Outcome::Worse, true, false)
    );
    let longer = row(1.0 / 0.9, Better::Lower);
    assert_eq!(
        (longer.outcome, longer.is_failure(0.05), longer.is_failure(0.2)),
        (Outcome::Worse, true, false)
    );
    assert!((slower.loss() - longer.loss()).abs() < 1e-9);
    assert!(!row(1.2, Better::Higher).is_failure(0.0));
}

/// Disturbance of successive trials, as a fraction of their figure.
#[derive(Debug, Clone, Copy)]
enum Noise {
    /// Each like the one before it: AR(1).
    Alike(f64),
    /// A neighbor takes 0 to 40 % for some trials, then rests.
    Bursts,
    /// All become slower and slower, with noise of a tenth of that.
    Drift,
    /// Every second trial is slower: the worst for sides that take turns.
    Alternating,
}

struct Machine {
    noise: Noise,
    keys: KeyStream,
    state: f64,
    left: u64,
    trials: f64,
}

impl Machine {
    fn new(noise: Noise, number: usize) -> Machine {
        Machine {
            noise,
            keys: KeyStream::numbered(5, number as u32),
            state: 0.0,
            left: 0,
            trials: 0.0,
        }
    }

    fn uniform(&mut self) -> f64 {
        self.keys.step() as f64 / MODULUS as f64
    }

    /// Approximately normal value: the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// The logarithm of the next trial's figure.
    fn next(&mut self) -> f64 {
        self.trials += 1.0;
        let own = 0.01 * self.normal();
        match self.noise {
            Noise::Alike(phi) => {
                self.state = phi * self.state + (1.0 - phi * phi).sqrt() * self.normal();
                0.03 * self.state
            }
            Noise::Bursts => {
                if self.left == 0 {
                    self.left = self.keys.key(12);
                    self.state = if self.keys.key(2) == 1 { -0.4 * self.uniform() } else { 0.0 };
                }
                self.left -= 1;
                own + self.state.ln_1p()
            }
            Noise::Drift => 0.1 * own - 0.01 * self.trials,
            Noise::Alternating => 0.1 * own - 0.2 * (self.trials % 2.0),
        }
    }
}

const NOISES: [Noise; 6] = [
    Noise::Alike(0.0),
    Noise::Alike(0.5),
    Noise::Alike(0.9),
    Noise::Bursts,
    Noise::Drift,
    Noise::Alternating,
];

/// An A/B test in which B is `effect` better; its outcome, its blocks and whether the true ratio
/// lies inside at the end.
fn ab_test(noise: Noise, number: usize, effect: f64) -> (Outcome, usize, bool) {
    let (mut machine, mut order) =
        (Machine::new(noise, number), KeyStream::numbered(77, number as u32));
    let (mut blocks, valid) = (Blocks::default(), verdict(&[]));
    loop {
        let (first, second) = (machine.next(), machine.next());
        let (a, b) = if order.key(2) == 1 { (first, second) } else { (second, first) };
        blocks.add(&[[trial(a.exp(), &valid), trial((b + effect).exp(), &valid)]]);
        let is_over = blocks.count() == MAX_BLOCKS;
        let may_be_decided =
            blocks.count() >= RULE.fewest_blocks() && is_decided(&blocks.ratios, &RULE);
        if is_over || may_be_decided {
            let span = blocks.span(&RULE);
            let is_inside = span.is_none_or(|span| (span.low..=span.high).contains(&effect.exp()));
            return (RULE.outcome(span, Better::Higher), blocks.count(), is_inside);
        }
    }
}

/// The same as a duet: what disturbs the machine is that of both sides, each half has a noise of
/// its own and the first half is faster by 20 %.
fn duet(noise: Noise, number: usize, effect: f64) -> (Outcome, usize, bool) {
    let (mut machine, mut order) =
        (Machine::new(noise, number), KeyStream::numbered(78, number as u32));
    let (mut blocks, valid) = (Blocks::default(), verdict(&[]));
    loop {
        let mut round = |a_on: usize| {
            let shared = machine.next();
            let [a, b] = [0, 1]
                .map(|half| shared + 0.02 * machine.normal() + if half == 0 { 0.2 } else { 0.0 });
            let (a, b) = if a_on == 0 { (a, b) } else { (b, a) };
            [trial(a.exp(), &valid), trial((b + effect).exp(), &valid)]
        };
        let first = usize::from(order.key(2) == 1);
        blocks.add(&[round(first), round(1 - first)]);
        if blocks.count() == MAX_BLOCKS
            || blocks.count() >= RULE.fewest_blocks() && is_decided(&blocks.ratios, &RULE)
        {
            let span = blocks.span(&RULE);
            let is_inside = span.is_none_or(|span| (span.low..=span.high).contains(&effect.exp()));
            return (RULE.outcome(span, Better::Higher), blocks.count(), is_inside);
        }
    }
}

/// The usual way: all trials of A, then those of B, and a t test after each.
fn finds_a_difference_as_usual(noise: Noise, number: usize) -> bool {
    let mut machine = Machine::new(noise, number);
    let base: Vec<f64> = (0..MAX_BLOCKS).map(|_| machine.next().exp()).collect();
    let mut other = Vec::new();
    (0..MAX_BLOCKS).any(|_| {
        other.push(machine.next().exp());
        welch_p(&base, &other).is_some_and(|p| p < 0.05)
    })
}

fn welch_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let error = |values: &[f64]| Some(variance(values)? / values.len() as f64);
    let (first, second) = (error(a)?, error(b)?);
    let freedom = (first + second).powi(2)
        / (first.powi(2) / (a.len() as f64 - 1.0) + second.powi(2) / (b.len() as f64 - 1.0));
    two_sided_p((mean(a)? - mean(b)?) / (first + second).sqrt(), freedom)
}

fn share(is: impl Fn(usize) -> bool) -> f64 {
    (1..=AB_TESTS).filter(|number| is(*number)).count() as f64 / AB_TESTS as f64
}

#[test]
fn two_equal_sides_are_called_different_in_less_than_one_of_twenty_ab_tests_whatever_the_noise() {
    for noise in NOISES {
        let differs =
            |number| matches!(ab_test(noise, number, 0.0).0, Outcome::Better | Outcome::Worse);
        let (ours, usual) =
            (share(differs), share(|number| finds_a_difference_as_usual(noise, number)));
        assert!(ours <= 0.05, "{noise:?}: {ours}");
        // What alternates is worst for sides that take turns, and hits both alike if they do not.
        assert!(
            usual > 0.25 || matches!(noise, Noise::Alternating),
            "{noise:?}: the usual way {usual}"
        );
    }
}

#[test]
fn the_true_ratio_lies_inside_when_an_ab_test_ends_and_a_difference_is_found() {
    for noise in NOISES {
        let effect = 1.06f64.ln();
        let outside = share(|number| !ab_test(noise, number, effect).2);
        assert!(outside <= 0.05, "{noise:?}: {outside}");
        let wrong = share(|number| {
            matches!(ab_test(noise, number, effect).0, Outcome::Worse | Outcome::Equal)
        });
        let found = share(|number| ab_test(noise, number, effect).0 == Outcome::Better);
        assert!(wrong <= 0.03, "{noise:?}: {wrong}");
        assert!(found >= 0.9 || matches!(noise, Noise::Alternating), "{noise:?}: {found}");
    }
}

#[test]
fn duets_hold_the_true_ratio_and_need_fewer_blocks_where_both_sides_are_disturbed_alike() {
    let effect = 1.06f64.ln();
    let blocks = |of: fn(Noise, usize, f64) -> (Outcome, usize, bool), noise| {
        (1..=AB_TESTS).map(|number| of(noise, number, effect).1).sum::<usize>()
    };
    for noise in [Noise::Alike(0.9), Noise::Bursts, Noise::Drift] {
        let differs =
            |number| matches!(duet(noise, number, 0.0).0, Outcome::Better | Outcome::Worse);
        let outside = |number: usize| !duet(noise, number, effect).2;
        let found = share(|number| duet(noise, number, effect).0 == Outcome::Better);
        let (wrong, outside) = (share(differs), share(outside));
        assert!(
            wrong <= 0.05 && outside <= 0.05 && found >= 0.95,
            "{noise:?}: {wrong} {outside} {found}"
        );
    }
    assert!(blocks(duet, Noise::Bursts) < blocks(ab_test, Noise::Bursts));
}

#[test]
fn calm_sides_are_equal_within_the_fewest_blocks() {
    let (outcome, count, is_inside) = ab_test(Noise::Drift, 1, 0.0);
    assert_eq!((outcome, is_inside), (Outcome::Equal, true));
    assert!(count < 2 * RULE.fewest_blocks(), "{count}");
}
