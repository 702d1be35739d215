//! Findings of a comparison in plain words: only what valid figures and an interval support, or the
//! order of printed figures.

use serde::Serialize;

use super::{
    Comparison, GroupMean, Kind, NOT_STATED, NotCompared, Row, Side, UndecidedCount, Work,
};
use crate::analysis::interval::Unknown;
use crate::analysis::interval::supports;
use crate::analysis::published_checks;
use crate::analysis::scaling::{self, Hidden};
use crate::model::sentence::Value;
use crate::model::{Better, Reason, Sentence};

/// A sentence, and what kind of thing it says.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// `slip`, `disclosure`, `base`, `tally`, `work`, `group`, `throughput`, `speed`, `undecided`,
    /// `left-out`, `utilisation`, `not-compared`.
    pub code: String,
    /// The sentence, with its figures.
    #[serde(serialize_with = "super::serialize_sentence")]
    pub text: Sentence,
    /// True if a group or a figure went the wrong way; none for other findings.
    #[serde(skip)]
    is_behind: Option<bool>,
}

/// Smaller changes of printed figures stand in the table only.
const WORTH_SAYING: f64 = 0.05;

/// All findings: doubts first, then what differs, then the figures, the largest changes first.
pub fn findings(comparison: &Comparison, base: &Side<'_>, other: &Side<'_>) -> Vec<Finding> {
    let mut found = slip_findings(base, other);
    found.extend(disclosure(comparison));
    found.extend(comparison.notes_on_base.iter().map(|said| finding("base", said.clone())));
    found.extend(tally(comparison));
    found.extend(groups(comparison));
    found.extend(rows(comparison));
    found.extend(work(comparison));
    found.extend(undecided(comparison));
    found.extend(left_out(comparison));
    found.extend(utilisation(base).into_iter().chain(utilisation(other)));
    found.extend(lost(comparison));
    found
}

fn finding(code: &str, text: Sentence) -> Finding {
    Finding { code: code.into(), text, is_behind: None }
}

/// A finding on a group or a figure that went one way.
fn directed(code: &str, text: Sentence, is_behind: bool) -> Finding {
    Finding { code: code.into(), text, is_behind: Some(is_behind) }
}

/// Figures, groups and slips that head a page.
const MAX_LEADING: usize = 4;

/// Findings at the head of a page: how many figures went which way, if they went both ways; then
/// groups and figures, of both directions if there are both; then always what is undecided and what
/// is left out; slips, if there is room for them.
pub fn leading(comparison: &Comparison) -> Vec<&Finding> {
    let mut leading = of_code(comparison, "tally");
    let went = ["group", "throughput", "speed"].map(|code| of_code(comparison, code)).concat();
    let is_told = !leading.is_empty();
    leading.extend(first_of(&went, MAX_LEADING.saturating_sub(leading.len()), is_told));
    let room = MAX_LEADING.saturating_sub(leading.len());
    leading.extend(["undecided", "left-out"].map(|code| of_code(comparison, code)).concat());
    leading.extend(of_code(comparison, "slip").into_iter().take(room));
    leading
}

fn of_code<'a>(comparison: &'a Comparison, code: &str) -> Vec<&'a Finding> {
    comparison.findings.iter().filter(|finding| finding.code == code).collect()
}

/// The first `most` findings. If none of the findings in the other direction would be among them,
/// and they are not mentioned already, the last one is replaced by the first of those.
fn first_of<'a>(went: &[&'a Finding], most: usize, is_told: bool) -> Vec<&'a Finding> {
    let (shown, rest) = went.split_at(most.min(went.len()));
    let mut shown = shown.to_vec();
    let Some(first) = shown.first().copied() else { return shown };
    if is_told || shown.iter().any(|finding| finding.is_behind != first.is_behind) {
        return shown;
    }
    if let Some(other) = rest.iter().find(|finding| finding.is_behind != first.is_behind) {
        shown.pop();
        shown.push(other);
    }
    shown
}

fn slip_findings(base: &Side<'_>, other: &Side<'_>) -> Vec<Finding> {
    let of = |side: &Side<'_>| {
        let named = |slip: &Reason| {
            Sentence::new("{name}: {sentence}")
                .with("name", side.name)
                .with("sentence", slip.to_sentence())
        };
        let found = published_checks::of_platform(side.run, side.tests);
        found.iter().map(|slip| finding("slip", named(slip))).collect::<Vec<_>>()
    };
    [of(base), of(other)].concat()
}

/// One sentence per section that differs.
fn disclosure(comparison: &Comparison) -> Vec<Finding> {
    let mut sections: Vec<(&str, Vec<Sentence>, Vec<&str>)> = Vec::new();
    for difference in &comparison.differences {
        let text = Sentence::new("{fact} {base} -> {other}").with("fact", difference.fact.as_str());
        let text =
            text.with("base", stated(&difference.base)).with("other", stated(&difference.other));
        let groups = difference.touches.iter().map(String::as_str);
        match sections.iter_mut().find(|(section, ..)| *section == difference.section) {
            Some((_, texts, touched)) => {
                texts.push(text);
                touched.extend(groups);
            }
            None => sections.push((&difference.section, vec![text], groups.collect())),
        }
    }
    let sentence = |(section, texts, mut groups): (&str, Vec<Sentence>, Vec<&str>)| {
        groups.sort_unstable();
        groups.dedup();
        let shown = Sentence::list(texts.iter().take(3).cloned());
        let facts = match texts.len().saturating_sub(3) {
            0 => Sentence::new("{shown}"),
            more => Sentence::new("{shown}, and {more} more").with("more", more),
        };
        let differ = match section {
            "settings" => "{section} differ: {facts}; touches {groups}",
            _ => "{section} differs: {facts}; touches {groups}",
        };
        let text = Sentence::new(differ)
            .with("section", Sentence::new(section))
            .with("groups", groups.join(", "));
        finding("disclosure", text.with("facts", facts.with("shown", shown)))
    };
    sections.into_iter().map(sentence).collect()
}

/// A value of a disclosure, quoted as it is.
fn stated(value: &str) -> Value {
    if value == NOT_STATED { Sentence::new(NOT_STATED).into() } else { value.into() }
}

/// Direction in which a figure changed, if valid figures support it.
fn way(row: &Row) -> Option<&'static str> {
    let is_ahead = (row.ratio.value > 1.0) == (row.better == Better::Higher);
    match (row.ratio.span, row.change()) {
        (Ok(_), change) => row.stands.then_some(change.name()),
        // Figures of publications are rounded, and some are timed in whole seconds.
        (Err(Unknown::Published), _) if (row.ratio.value - 1.0).abs() < WORTH_SAYING => None,
        (Err(Unknown::Published), _) => {
            Some(if is_ahead { "ahead as printed" } else { "behind as printed" })
        }
        (Err(_), _) => None,
    }
}

/// Kinds of figures that went both ways: how many which way, and the furthest of each.
fn tally(comparison: &Comparison) -> Vec<Finding> {
    let of_kind = |kind: Kind| {
        let rows = comparison.kpms.iter().filter(|row| row.kind == kind && supports(row.status));
        let rows: Vec<&Row> = rows.collect();
        let went: Vec<&Row> = rows.iter().copied().filter(|row| way(row).is_some()).collect();
        let (ahead, behind): (Vec<&Row>, Vec<&Row>) =
            went.into_iter().partition(|row| row.loss() < 0.0);
        let furthest = |rows: &[&Row]| -> Option<Sentence> {
            let far = |row: &&&Row| row.ratio.value.ln().abs();
            let row = rows.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
            let ratio =
                if row.better == Better::Lower { 1.0 / row.ratio.value } else { row.ratio.value };
            let named = Sentence::new("{label} x{ratio~}").with("label", row.subject.label());
            Some(named.with("ratio", ratio))
        };
        let (best, worst) = furthest(&ahead).zip(furthest(&behind))?;
        let text = "{kind}: ahead in {ahead} and behind in {behind} of {figures}; furthest {best} \
                    and {worst}";
        let text = Sentence::new(text)
            .with("kind", Sentence::new(kind.name()))
            .with("ahead", ahead.len())
            .with("behind", behind.len())
            .with("figures", figures(rows.len()));
        Some(finding("tally", text.with("best", best).with("worst", worst)))
    };
    [Kind::Throughput, Kind::Speed].into_iter().filter_map(of_kind).collect()
}

/// Kinds of work per op that changed, in one sentence.
fn work(comparison: &Comparison) -> Option<Finding> {
    let mut changed: Vec<&Work> = comparison.work.iter().filter(|work| work.stands).collect();
    changed.sort_by(|a, b| b.ratio.value.ln().abs().total_cmp(&a.ratio.value.ln().abs()));
    let named = Sentence::list(changed.iter().take(MAX_NAMED).map(|work| work.sentence()));
    let text = match changed.len() {
        0 => return None,
        count if count > MAX_NAMED => "work per op changed: {named} and {more} more",
        _ => "work per op changed: {named}",
    };
    let more = changed.len().saturating_sub(MAX_NAMED);
    Some(finding("work", Sentence::new(text).with("named", named).with("more", more)))
}

/// Names that a sentence lists.
const MAX_NAMED: usize = 3;

/// Groups of whose accepted figures every one went the same way.
fn groups(comparison: &Comparison) -> Vec<Finding> {
    let same_way = |mean: &GroupMean| {
        let of_group = |row: &&Row| row.subject.group == mean.group && row.kind == mean.kind;
        let mut ways =
            comparison.kpms.iter().filter(of_group).filter(|row| supports(row.status)).map(way);
        let first = ways.next()??;
        ways.all(|way| way == Some(first)).then_some(first)
    };
    let sentence = |mean: &GroupMean| {
        let way = same_way(mean)?;
        let all = match mean.workloads {
            2 => Sentence::new("both workloads"),
            more => Sentence::new("all {count} workloads").with("count", more),
        };
        let text = Sentence::new("{group}: {all} are {way} in {kind}, geometric mean {ratio}")
            .with("group", mean.group.as_str())
            .with("all", all)
            .with("way", Sentence::new(way))
            .with("kind", Sentence::new(mean.kind.name()))
            .with("ratio", mean.ratio.sentence());
        Some(directed("group", without_left_out(text, mean.left_out), mean.ratio.value < 1.0))
    };
    comparison.groups.iter().filter_map(sentence).collect()
}

fn rows(comparison: &Comparison) -> Vec<Finding> {
    let mut rows: Vec<(&Row, &str)> = Vec::new();
    let accepted = comparison.kpms.iter().filter(|row| supports(row.status));
    rows.extend(accepted.filter_map(|row| Some((row, way(row)?))));
    let size = |row: &Row| row.ratio.value.ln().abs();
    rows.sort_by(|(a, _), (b, _)| {
        (b.kind, size(b)).partial_cmp(&(a.kind, size(a))).unwrap_or(std::cmp::Ordering::Equal)
    });
    let said =
        |(row, way): (&Row, &str)| directed(row.kind.name(), sentence(row, way), row.loss() > 0.0);
    rows.into_iter().map(said).collect()
}

/// The sentence about a group, with the number of its figures that are left out.
fn without_left_out(sentence: Sentence, left_out: usize) -> Sentence {
    let text = match left_out {
        0 => return sentence,
        1 => "{sentence} (1 is not valid and left out)",
        _ => "{sentence} ({count} are not valid and left out)",
    };
    Sentence::new(text).with("sentence", sentence).with("count", left_out)
}

/// `SRV-QUERY1: throughput better, x1.50 (x1.48 to x1.52), at 8 jobs against 4; service time at
/// full load x1.33`.
fn sentence(row: &Row, way: &str) -> Sentence {
    let at = match (row.kind, row.base_jobs, row.other_jobs) {
        (Kind::Throughput, Some(base), Some(other)) if base == other => {
            Sentence::new(", at {jobs}").with("jobs", Sentence::jobs(other))
        }
        (Kind::Throughput, Some(base), Some(other)) => Sentence::new(", at {jobs} against {base}")
            .with("jobs", Sentence::jobs(other))
            .with("base", base),
        _ => Sentence::default(),
    };
    let load = match row.kind {
        Kind::Throughput => "; service time at full load x{ratio~}",
        Kind::Speed => "; service time x{ratio~}",
    };
    let service = row.service_ratio().filter(|_| row.better == Better::Higher);
    let service = service.map(|ratio| Sentence::new(load).with("ratio", ratio)).unwrap_or_default();
    let amount =
        if row.better == Better::Higher { row.ratio.sentence() } else { row.ratio.of_time() };
    Sentence::new("{label}: {kind} {way}, {amount}{at}{service}")
        .with("label", row.subject.label())
        .with("kind", Sentence::new(row.kind.name()))
        .with("way", Sentence::new(way))
        .with("amount", amount)
        .with("at", at)
        .with("service", service)
}

/// Number of undecided figures by reason, without publications, which print no intervals.
fn undecided(comparison: &Comparison) -> Option<Finding> {
    let reasons = comparison.undecided();
    let part = |reason: &UndecidedCount| match reasons.len() {
        1 => Sentence::new(reason.why.to_string()),
        _ => Sentence::new("{rows} {why}")
            .with("rows", reason.figures)
            .with("why", Sentence::new(reason.why.to_string())),
    };
    let total = reasons.iter().map(|reason| reason.figures).sum::<usize>();
    let text = match total {
        0 => return None,
        1 => "{total} of {figures} is undecided ({parts})",
        _ => "{total} of {figures} are undecided ({parts})",
    };
    let text =
        Sentence::new(text).with("total", total).with("figures", figures(comparison.kpms.len()));
    Some(finding("undecided", text.with("parts", Sentence::list(reasons.iter().map(part)))))
}

/// `1 figure`, `26 figures`.
pub fn figures(count: usize) -> Sentence {
    Sentence::count(count, "1 figure", "{count} figures")
}

/// Number of figures that support no finding because of their verdicts, or because the two are not
/// the same work.
fn left_out(comparison: &Comparison) -> Option<Finding> {
    let rows = comparison.kpms.iter().filter(|row| !supports(row.status)).count();
    let text = Sentence::count(
        rows,
        "1 figure is conditional or invalid and supports no finding",
        "{count} figures are conditional or invalid and support no finding",
    );
    (rows > 0).then(|| finding("left-out", text))
}

/// Findings for platforms that are nearly saturated although CPU busy does not show it.
fn utilisation(side: &Side<'_>) -> Vec<Finding> {
    let sentence = |hidden: Hidden| {
        let text = "{name}: at {busy} % CPU busy ({jobs}) {label} has reached {used%} of its best \
                    throughput";
        let text = Sentence::new(text)
            .with("name", side.name)
            .with("busy", hidden.cpu_busy_pct)
            .with("jobs", Sentence::jobs(hidden.jobs))
            .with("label", hidden.label)
            .with("used", hidden.utilisation);
        finding("utilisation", text)
    };
    scaling::hidden_saturation(side.tests).into_iter().map(sentence).collect()
}

/// Sentence about everything that was not compared; what the other run lost, by which a gate fails,
/// comes first.
fn lost(comparison: &Comparison) -> Option<Finding> {
    let mut lost: Vec<&NotCompared> = comparison.not_compared.iter().collect();
    lost.sort_by_key(|one| !one.lost);
    let one = |lost: &NotCompared| {
        Sentence::new("{label} ({why})")
            .with("label", lost.label.as_str())
            .with("why", lost.why.clone())
    };
    let first = Sentence::list(lost.iter().copied().take(3).map(one));
    let first =
        if lost.len() > 3 { Sentence::new("{list}, ...").with("list", first) } else { first };
    let text = Sentence::count(
        lost.len(),
        "1 figure is not compared: {list}",
        "{count} figures are not compared: {list}",
    );
    (!lost.is_empty()).then(|| finding("not-compared", text.with("list", first)))
}
