use super::*;
use crate::model::How;

/// A commit of 10 ms that ended then.
fn sent(writer: u32, seq: u64, node: usize, ended_s: f64, answer: Answer) -> Sent {
    Sent { writer, seq, node, sent_s: ended_s - 0.01, ended_s, answer }
}

/// 10 commits a second of one writer on node 0 for 3 s; then nothing until it works on node 1 from
/// 5 s on.
fn moved() -> Noted {
    let before = (1..=30).map(|at| sent(1, at, 0, at as f64 / 10.0, Answer::Acknowledged));
    let after =
        (0..=30).map(|at| sent(1, 32 + at, 1, 5.0 + at as f64 / 10.0, Answer::Acknowledged));
    let lost = Sent { sent_s: 3.0, ..sent(1, 31, 0, 3.4, Answer::Missing) };
    Noted { sent: before.chain([lost]).chain(after).collect(), troubles: vec![3.5] }
}

fn close(found: Option<f64>, expected: f64) {
    assert!(
        found.is_some_and(|found| (found - expected).abs() < 1e-6),
        "{found:?} is not {expected}"
    );
}

#[test]
fn times_are_those_of_clients_since_the_failure() {
    let noted = moved();
    close(Some(noted.before_per_s(3.0)), 10.0);
    let times = noted.times(0, 3.0, 8.0);
    close(times.detected_s, 0.4);
    close(times.first_commit_s, 2.0);
    close(times.first_moved_s, 2.0);
    close(times.regained_s, 2.0);
    close(times.longest_gap_s, 2.0);
    assert_eq!(noted.times(1, 3.0, 8.0).first_moved_s, None, "nobody was on that node");
    let mut last = moved();
    last.sent.push(sent(1, 99, 0, 3.02, Answer::Acknowledged));
    close(last.times(0, 3.0, 8.0).first_commit_s, 2.0);
}

#[test]
fn what_does_not_happen_has_no_time() {
    let mut noted = moved();
    noted.sent.truncate(31);
    noted.troubles.clear();
    let times = noted.times(0, 3.0, 6.0);
    assert_eq!((times.first_commit_s, times.regained_s), (None, None));
    close(times.longest_gap_s, 3.0);
    noted.sent.truncate(30);
    assert_eq!(noted.times(0, 3.0, 6.0).detected_s, None);
    assert_eq!(Noted::default().times(0, 3.0, 6.0).regained_s, None);
    assert_eq!(Noted::default().before_per_s(3.0), 0.0);
}

#[test]
fn throughput_is_regained_by_a_whole_second_only() {
    let mut noted = moved();
    // After the gap every second commit is missing for a second.
    noted.sent.retain(|sent| !(5.0..6.0).contains(&sent.ended_s) || sent.seq % 2 == 0);
    let regained = noted.times(0, 3.0, 8.0).regained_s.unwrap();
    assert!((2.5..=3.0).contains(&regained), "{regained}");
}

#[test]
fn without_an_interruption_nothing_is_to_be_regained() {
    let steady =
        (1..=80).map(|at| sent(1, at, 1, at as f64 / 10.0, Answer::Acknowledged)).collect();
    let times = Noted { sent: steady, troubles: Vec::new() }.times(0, 3.05, 8.0);
    close(times.regained_s, 0.0);
    assert_eq!(times.detected_s, None);
}

#[test]
fn the_ledger_is_compared_with_the_rows() {
    use Answer::{Acknowledged, Missing, Refused};
    let all = [
        (1, 1, Acknowledged),
        (1, 2, Acknowledged),
        (1, 3, Missing),
        (1, 4, Missing),
        (1, 4, Acknowledged),
        (2, 1, Refused),
        (2, 1, Acknowledged),
        (2, 2, Missing),
    ];
    let sent =
        all.iter().map(|(writer, seq, answer)| sent(*writer, *seq, 0, 1.0, *answer)).collect();
    let noted = Noted { sent, troubles: Vec::new() };
    let rows: Rows = [((1, 1), 1), ((1, 3), 1), ((1, 4), 2), ((2, 1), 1), ((7, 7), 1)].into();
    let expected = LedgerCounts {
        acknowledged: 4,
        lost: 1,
        in_doubt: 2,
        in_doubt_there: 1,
        resent: 1,
        refusals: 1,
        duplicated: 1,
        foreign: 1,
    };
    assert_eq!(noted.reconcile(&rows), expected);
    assert_eq!(noted.lost(&Rows::new()), 4);
}

#[test]
fn nodes_differ_by_what_only_one_holds_or_holds_otherwise() {
    let one: Rows = [((1, 1), 1), ((1, 2), 1), ((1, 3), 1)].into();
    let other: Rows = [((1, 1), 1), ((1, 2), 2), ((1, 4), 1)].into();
    assert_eq!((differing(&one, &other), differing(&one, &one)), (3, 0));
}

#[test]
fn three_repetitions_have_an_interval() {
    assert_eq!(over(&[]), None);
    assert_eq!(over(&[1.0, 3.0]), Some(Over { mean: 2.0, low: None, high: None, repetitions: 2 }));
    // s = 1, t(0.975, 2) = 4.302653: 2 +- 4.302653 / sqrt(3), not below 0.
    let found = over(&[1.0, 2.0, 3.0]).unwrap();
    close(found.low, 0.0);
    close(found.high, 2.0 + 4.302_652_729_911_275 / 3f64.sqrt());
}

fn failover() -> Failover {
    let survivor = |name: &str| Survivor {
        name: name.into(),
        is_member: true,
        is_judge: name == "n2",
        commits: Some(9),
        differing: Some(0),
        lost: Some(0),
    };
    Failover {
        how: How::Kill,
        node: "n1".into(),
        nodes: ["n1", "n2", "n3"].map(String::from).into(),
        timeout_s: 2.0,
        resends: false,
        promotion: None,
        durability: BTreeMap::new(),
        before_per_s: 100.0,
        failed_at_s: 3.0,
        times: FailoverTimes::default(),
        ledger: LedgerCounts { acknowledged: 9, lost: 3, ..LedgerCounts::default() },
        survivors: ["n2", "n3"].map(survivor).into(),
        stayed_down: true,
    }
}

#[test]
fn a_repetition_is_judged_by_whether_it_was_one() {
    let codes = |failover: &Failover| {
        let reasons = judge(failover, false);
        reasons
            .iter()
            .map(|reason| (reason.status, reason.code.as_str().to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&failover()), [], "lost commits are a result, not a mistake");
    assert_eq!(judge(&failover(), true)[0].status, Status::Valid);
    let invalid = |code: &str| vec![(Status::Invalid, code.to_string())];
    assert_eq!(codes(&Failover { before_per_s: 1.0, ..failover() }), invalid("little"));
    assert_eq!(codes(&Failover { stayed_down: false, ..failover() }), invalid("contract"));
    assert_eq!(codes(&Failover { survivors: Vec::new(), ..failover() }), invalid("contract"));
    let ledger = LedgerCounts { foreign: 1, ..LedgerCounts::default() };
    assert_eq!(codes(&Failover { ledger, ..failover() }), invalid("contract"));
    let mut split = failover();
    split.survivors[1].differing = Some(2);
    assert_eq!(codes(&split), [(Status::Conditional, "node-lost".to_string())]);
    split.survivors[1].is_member = false;
    assert_eq!(
        codes(&split),
        [],
        "a replica that follows the failed primary is no part of the cluster"
    );
}
