//! The turns of a pair.

use super::*;
use dbdyno_core::model::Status;

/// A side that notes its turns; none of its trials is measured from the third on.
struct Noted<'a> {
    name: char,
    turns: &'a std::cell::RefCell<String>,
    ends: Option<RunStatus>,
}

impl TrialSource for Noted<'_> {
    fn trial(
        &mut self,
        _: &Figure,
        numbers: &mut Numbers,
        _: f64,
        _: &mut Store,
    ) -> Result<TestEnd> {
        let seq = numbers.next(&crate::run::overhead::selection(0, 1.0), 1).seq;
        self.turns.borrow_mut().push(self.name);
        let verdict = Verdict::from_reasons(Vec::new());
        let trial = dbdyno_core::analysis::slo_search::Trial {
            offer: None,
            ops_per_s: 1.0,
            met: None,
            is_excused: false,
        };
        let kept = StoredTest {
            trial,
            kpm_value: Some(if self.name == 'A' { 2.0 } else { 3.0 }),
            total_s: 1.0,
            verdict,
        };
        Ok(match self.ends {
            Some(status) => TestEnd::Stopped(status),
            None if seq < 3 => TestEnd::Measured(kept),
            None => TestEnd::Failed,
        })
    }
}

#[test]
fn a_pair_is_taken_in_its_order_and_one_without_a_trial_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("results.db")).unwrap();
    let turns = std::cell::RefCell::new(String::new());
    let new = || Figure {
        selections: [0, 0],
        jobs: 1,
        label: "x".into(),
        better: Better::Higher,
        blocks: ab_test::Blocks::default(),
    };
    let (mut figure, mut numbers) = (new(), [Numbers::default(), Numbers::default()]);
    numbers[1].next(&crate::run::overhead::selection(0, 1.0), 1);
    let mut pair = |order, ends| {
        let (mut a, mut b) = (
            Noted { name: 'A', turns: &turns, ends: None },
            Noted { name: 'B', turns: &turns, ends },
        );
        let mut sides: [&mut dyn TrialSource; 2] = [&mut a, &mut b];
        PairedBlocks::pair(
            &mut figure,
            &PairTurn { order, left_s: 1.0 },
            &mut sides,
            &mut numbers,
            &mut store,
        )
        .unwrap()
    };
    assert_eq!([pair([0, 1], None), pair([1, 0], None)], [None, None]);
    assert_eq!(pair([1, 0], Some(RunStatus::Interrupted)), Some(RunStatus::Interrupted));
    assert_eq!(*turns.borrow(), "ABBAB");
    let blocks = &figure.blocks;
    assert_eq!((blocks.count(), blocks.left_out, blocks.ratio()), (1, 1, Some(1.5)));
    assert_eq!(blocks.status(), Status::Conditional);
}
