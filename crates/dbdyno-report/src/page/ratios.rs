//! Ratios on one axis: a run against another, a run against a reference platform, more jobs against
//! one job. Right of the line is better, whatever the direction of the metric.

use super::super::masthead::entries::{compact, groups, mark, times_shown};
use super::super::picture::{Mark, Picture, RatioMark, RatioRow, Ratios, Tone};
use super::super::{Input, Language, document::Digits, summary::several};
use dbdyno_core::analysis::compare::{Change, Comparison, EqualJobs, Judgement, Kind, Level, Row};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::ramp;
use dbdyno_core::model::{Better, Status, Test};

/// A comparison as a forest plot: speed and throughput of each workload with their intervals.
pub fn forest(comparison: &Comparison, language: Language) -> Option<Picture> {
    let of = |kind: Kind| {
        let rows = comparison.kpms.iter().filter(move |row| row.kind == kind);
        rows.map(move |row| forest_row(comparison, row, language))
    };
    let means = comparison.gate.iter().flat_map(|gate| means(gate, language));
    let rows = means.chain(of(Kind::Throughput)).chain(of(Kind::Speed)).collect();
    let heads = ["Ratio", "95 % interval", "Jobs", "Found from"];
    picture_of_workloads(comparison, &heads, rows, language)
}

/// Ratios of workloads of one run to those of another, with the heads of the figures beside them;
/// none without a row.
fn picture_of_workloads(
    comparison: &Comparison,
    heads: &[&str],
    rows: Vec<RatioRow>,
    language: Language,
) -> Option<Picture> {
    let names = [("other", comparison.other.as_str()), ("base", &comparison.base)];
    (!rows.is_empty()).then(|| {
        Picture::Ratios(Ratios {
            spoken: language.say("{other} against {base}", &names),
            equal: language.phrase("equal"),
            label_head: language.phrase("Workload"),
            heads: heads.iter().map(|head| language.phrase(head)).collect(),
            rows,
            has_stems: false,
            has_sentences: false,
        })
    })
}

fn forest_row(comparison: &Comparison, row: &Row, language: Language) -> RatioRow {
    let better = |ratio: f64| if row.better == Better::Lower { 1.0 / ratio } else { ratio };
    let span = row.ratio.span.ok().map(|span| (better(span.low), better(span.high)));
    let span = span.map(|(a, b)| (a.min(b), a.max(b)));
    let is_shown =
        row.status < Status::Invalid && row.ratio.value.is_finite() && row.ratio.value > 0.0;
    let is_open = !supports(row.status) || span.is_none();
    // The interval holds 1 if the ratio lies between these, and only then.
    let value = better(row.ratio.value);
    let noise = span.filter(|_| is_shown).map(|(low, high)| (value / high, value / low));
    let marks = is_shown.then(|| RatioMark {
        value,
        span,
        mark: row.status.into(),
        is_open,
        is_second: false,
    });
    let jobs = [row.base_jobs, row.other_jobs]
        .map(|jobs| jobs.map_or_else(|| "–".into(), |jobs| jobs.to_string()));
    let interval = span.map(|(low, high)| {
        let [low, high] = [low, high].map(|end| language.number(end, Digits::Significant(3)));
        language.say("{low} to {high}", &[("low", &low), ("high", &high)])
    });
    let unknown = || "–".to_string();
    let found_from = row.detectable_loss.map(|loss| found_from(language, loss));
    let reasons = row.reasons.iter().chain(&row.notes);
    let reasons: Vec<String> = reasons.map(|reason| language.sentence(reason)).collect();
    let is_time =
        if row.better == Better::Lower { format!(" [{}] ↓", row.unit) } else { String::new() };
    RatioRow {
        group: language.phrase(if row.kind == Kind::Speed { "One job" } else { "Best" }),
        label: format!("{}{is_time}", row.subject.label()),
        ticks: if row.kind == Kind::Throughput { equal_jobs(comparison, row) } else { Vec::new() },
        noise: noise.filter(|(low, high)| *low > 0.0 && high.is_finite()),
        cells: vec![
            times_shown(language, value),
            interval.unwrap_or_else(unknown),
            if jobs[0] == jobs[1] { jobs[0].clone() } else { jobs.join(", ") },
            found_from.unwrap_or_else(unknown),
        ],
        tone: tone(row),
        mark: row.status.into(),
        verdict: verdict(language, row.status, &reasons),
        why: if is_shown { String::new() } else { verdict(language, row.status, &reasons) },
        marks: marks.into_iter().collect(),
    }
}

/// `−15.3 %`: the loss that would have been found, rounded up, as the table of the figures has it.
fn found_from(language: Language, loss: f64) -> String {
    format!("−{} %", language.number((1000.0 * loss).ceil() / 10.0, Digits::Decimals(1)))
}

/// The whole and the groups of a gate.
fn means(gate: &Judgement, language: Language) -> Vec<RatioRow> {
    let row = |level: &Level| {
        let [low, high] =
            [level.low, level.high].map(|end| language.number(end, Digits::Significant(3)));
        let label = match &level.group {
            Some(group) => group.clone(),
            None => language.phrase("Everything"),
        };
        let count = level.figures.to_string();
        RatioRow {
            group: language.phrase("Means"),
            label: format!("{label} · {}", language.say("mean of {count}", &[("count", &count)])),
            marks: vec![RatioMark {
                value: level.ratio,
                span: Some((level.low, level.high)),
                ..RatioMark::default()
            }],
            cells: vec![
                times_shown(language, level.ratio),
                language.say("{low} to {high}", &[("low", &low), ("high", &high)]),
                "–".into(),
                found_from(language, level.detectable_loss),
            ],
            tone: tone_of_mean(level),
            verdict: language.verdict(Status::Valid),
            ..RatioRow::default()
        }
    };
    gate.whole.iter().chain(&gate.groups).map(row).collect()
}

/// Tone of a mean as of a figure: inside the noise if its interval holds 1, even where that leaves
/// out a loss beyond the limit.
fn tone_of_mean(level: &Level) -> Tone {
    match (level.low > 1.0, level.high < 1.0) {
        (true, _) => Tone::Better,
        (_, true) => Tone::Worse,
        _ => Tone::Same,
    }
}

/// The ratios at the numbers of jobs that both have.
fn equal_jobs(comparison: &Comparison, row: &Row) -> Vec<f64> {
    let is_of = |line: &&EqualJobs| line.subject == row.subject && line.better == Better::Higher;
    let accepted = comparison.equal_jobs.iter().filter(is_of).filter(|line| supports(line.status));
    accepted.map(|line| line.ratio.value).collect()
}

fn verdict(language: Language, status: Status, reasons: &[String]) -> String {
    let word = language.verdict(status);
    if reasons.is_empty() { word } else { format!("{word}: {}", reasons.join("; ")) }
}

/// Tone of the ratio; neutral if the verdict does not accept it, and if it is no finding among all
/// figures of the comparison.
pub(super) fn tone(row: &Row) -> Tone {
    match row.change() {
        _ if !supports(row.status) => Tone::Plain,
        Change::Better | Change::Worse if !row.stands => Tone::Plain,
        Change::Better => Tone::Better,
        Change::Worse => Tone::Worse,
        Change::Same => Tone::Same,
        Change::Undecided => Tone::Plain,
    }
}

/// The fingerprint of a platform: throughput (circles) and speed (squares) of each workload as a
/// share of a reference.
pub(super) fn fingerprint(comparison: &Comparison, language: Language) -> Option<Picture> {
    let mut rows: Vec<RatioRow> = Vec::new();
    for row in &comparison.kpms {
        let (label, made) = (row.subject.label(), forest_row(comparison, row, language));
        let is_speed = row.kind == Kind::Speed;
        let marks = made.marks.iter();
        let marks = marks.map(|mark| RatioMark { is_second: is_speed, is_open: false, ..*mark });
        let at = rows.iter().position(|known| known.label == label).unwrap_or_else(|| {
            let cells = vec!["–".to_string(), "–".into()];
            let (group, label, why) = (row.subject.group.clone(), label.clone(), made.why.clone());
            rows.push(RatioRow {
                group,
                label,
                cells,
                why,
                tone: Tone::Plain,
                ..RatioRow::default()
            });
            rows.len() - 1
        });
        rows[at].marks.extend(marks);
        rows[at].cells[usize::from(!is_speed)].clone_from(&made.cells[0]);
        if made.mark > rows[at].mark {
            (rows[at].mark, rows[at].verdict) = (made.mark, made.verdict);
        }
    }
    for row in rows.iter_mut().filter(|row| row.verdict.is_empty()) {
        row.verdict = language.verdict(Status::Valid);
    }
    picture_of_workloads(comparison, &["Speed", "Throughput"], rows, language)
}

/// Shares of the best that platforms reach.
pub(super) struct Standings {
    /// Picture with a row for each platform.
    pub picture: Picture,
    /// Text that explains the picture.
    pub about: String,
}

/// Share of the best that each platform reaches: squares by speed, circles by throughput, the best
/// throughput first; `most` rows at most.
pub(super) fn standings(input: &Input, most: usize) -> Option<Standings> {
    let language = input.language;
    let found = several::standings(input);
    let last = found.last()?;
    let mut order: Vec<usize> = (0..last.shares.len()).collect();
    order.sort_by(|a, b| last.shares[*b].value.total_cmp(&last.shares[*a].value));
    // Their intervals stand in the sentence above: two of them do not fit beside the drawing.
    let percent = |share: f64| format!("{} %", language.number(100.0 * share, Digits::Decimals(0)));
    let platforms = input.platforms();
    let row = |&run: &usize| RatioRow {
        label: platforms[run].clone(),
        marks: found
            .iter()
            .map(|of| RatioMark {
                value: of.shares[run].value,
                is_second: of.metric == "speed",
                ..RatioMark::default()
            })
            .collect(),
        cells: found
            .iter()
            .map(|of| percent(of.shares[run].value))
            .chain([valid_of(&input.runs[run].tests)])
            .collect(),
        // A mean over valid figures has no verdict of its own, and tests that are not valid none.
        verdict: String::new(),
        ..RatioRow::default()
    };
    let rows = order.iter().take(most).map(row).collect();
    let of = |of: &several::Standing| {
        language.count("standing", of.figures, &[("metric", &language.say(of.metric, &[]))])
    };
    let how = language.phrase("Squares: speed; circles: throughput.");
    let left_out = order.len().saturating_sub(most);
    let more = (left_out > 0).then(|| language.count("more", left_out, &[]) + ".");
    let about = found.iter().map(of).chain([how]).chain(more).collect::<Vec<_>>().join(" ");
    let head = |of: &several::Standing| if of.metric == "speed" { "Speed" } else { "Throughput" };
    let heads =
        found.iter().map(head).chain(["Valid tests"]).map(|head| language.phrase(head)).collect();
    let spoken = language.phrase("Share of the best");
    let (equal, label_head) = (language.phrase("best"), language.phrase("Platform"));
    let picture = Picture::Ratios(Ratios {
        spoken,
        equal,
        label_head,
        heads,
        rows,
        has_stems: true,
        has_sentences: false,
    });
    Some(Standings { picture, about })
}

/// `41 / 74`.
fn valid_of(tests: &[Test]) -> String {
    format!(
        "{} / {}",
        tests.iter().filter(|test| test.status() == Status::Valid).count(),
        tests.len()
    )
}

/// Gains of several jobs over one.
pub(crate) struct Gains {
    /// Picture with a row for each ramp.
    pub picture: Picture,
    /// Number of ramps that have no row in it.
    pub left_out: usize,
}

/// Gain of several jobs over one: best throughput / that of one job, of every ramp; `most` rows at
/// most. None without a ramp.
pub(crate) fn gains(input: &Input, most: usize) -> Option<Gains> {
    let language = input.language;
    let mut rows: Vec<RatioRow> = Vec::new();
    for (id, _, entries) in groups(input) {
        for entry in &entries {
            let Some(best) = entry.best.filter(|_| ramp::curve(entry.tests()).len() > 1) else {
                continue;
            };
            let Some(found) = ramp::scalability(entry.tests()) else { continue };
            let is_shown = found.status < Status::Invalid;
            let shown = RatioMark {
                value: found.factor,
                span: found.ratio.span.ok().map(|span| (span.low, span.high)),
                mark: found.status.into(),
                ..RatioMark::default()
            };
            let jobs = language.jobs(found.jobs);
            rows.push(RatioRow {
                group: id.into(),
                label: entry.row.label.clone(),
                marks: is_shown.then_some(shown).into_iter().collect(),
                cells: vec![
                    if is_shown { times_shown(language, found.factor) } else { "–".into() },
                    format!("{} {}", compact(language, best.value), best.unit),
                    jobs,
                ],
                tone: match supports(found.status) && found.gains() == Some(true) {
                    true => Tone::Better,
                    false => Tone::Plain,
                },
                mark: if best.is_disturbed() && best.status() == Status::Conditional {
                    mark(&best.verdict())
                } else {
                    Mark::from(found.status)
                },
                verdict: language.verdict(found.status),
                why: if is_shown { String::new() } else { language.verdict(found.status) },
                ticks: Vec::new(),
                noise: None,
            });
        }
    }
    let left_out = rows.len().saturating_sub(most);
    rows.truncate(most);
    let heads = ["Gain", "Best", "at"].map(|head| language.phrase(head)).into();
    let spoken = language.phrase("Best throughput as a multiple of one job");
    (!rows.is_empty()).then(|| {
        let (equal, label_head) = (language.phrase("one job"), language.phrase("Workload"));
        let ratios = Ratios {
            spoken,
            equal,
            label_head,
            heads,
            rows,
            has_stems: true,
            has_sentences: false,
        };
        Gains { picture: Picture::Ratios(ratios), left_out }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_whose_interval_holds_1_is_neither_better_nor_worse() {
        let tone = |ratio: f64, half: f64| {
            let (low, high) = (ratio - half, ratio + half);
            let is_excluded = low > 0.95;
            let level = Level {
                group: None,
                figures: 26,
                ratio,
                low,
                high,
                detectable_loss: 0.03,
                is_excluded,
                fails: false,
            };
            tone_of_mean(&level)
        };
        assert_eq!(tone(0.992, 0.018), Tone::Same, "a loss of 5 % is excluded");
        assert_eq!(tone(0.95, 0.06), Tone::Same);
        assert_eq!((tone(1.03, 0.02), tone(0.97, 0.01)), (Tone::Better, Tone::Worse));
    }

    #[test]
    fn a_loss_that_would_have_been_found_is_never_shown_smaller_than_it_is() {
        let shown = [0.1523, 0.12, 0.0041].map(|loss| found_from(Language::English, loss));
        assert_eq!(shown, ["−15.3 %", "−12.0 %", "−0.5 %"]);
    }
}
