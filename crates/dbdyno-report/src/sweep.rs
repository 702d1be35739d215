//! Caches that serve random reads of a growing active set, of runs of `sweep`; and published
//! figures over the size of the database in the same form.

use serde_json::json;

use super::document::{
    Axis, Block, Cell, Chart, Declared, Digits, Document, Level, Point, Scale, Section, Series,
    Table,
};
use super::format::json;
use super::study::{conditions, of_each, undecided};
use super::{Input, Language, Report, masthead};
use dbdyno_core::analysis::interval::supports;
use dbdyno_core::analysis::study::{MedianInterval, too_few};
use dbdyno_core::analysis::sweep::{
    Curve, Plateau, PublishedCurve, PublishedPoint, Step, Tier, published, sweep,
};
use dbdyno_core::model::Status;
use dbdyno_core::model::params::assignments;

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "Random rows of the first part of a table are read, and the part grows. \
                           What a cache of c MB costs to pass is fitted to the service times of \
                           each block: base + rise x (1 - c / active MB) beyond c. Shown are \
                           medians over the blocks with their 95 % intervals. The tier of a \
                           plateau is what the counters say.";
const LEVELS: &str = "Level lines are the plateaus: the time of an op that a tier serves in full, \
                      up to the size of its cache, an upright line.";
const TIMES: &str = "Published service times over the size of the database: jobs / throughput \
                     where no time is printed.";
const NO_TESTS: &str =
    "No test of these runs reads a part of a table that grows: 'dbdyno sweep' measures that.";
const FIGURE: Digits = Digits::Significant(3);
/// Reason for a figure of a plateau without an interval.
const TOO_FEW: &str = "fewer than 6 whole blocks";

/// The sweep report.
pub struct SweepReport;

impl Report for SweepReport {
    fn name(&self) -> &'static str {
        "sweep"
    }

    fn title(&self) -> &'static str {
        "service time over active data: which cache serves what, of runs of 'sweep' and of \
         publications"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn build(&self, input: &Input) -> Document {
        let language = input.language;
        let names = input.platforms();
        let curves: Vec<Vec<Curve>> = input.runs.iter().map(|data| sweep(&data.tests)).collect();
        let mut sections: Vec<Section> = Vec::new();
        for (at, curves) in curves.iter().enumerate() {
            if !curves.is_empty() {
                sections.push(section(language, at, &names[at], curves));
            }
        }
        let printed = published(input.runs.iter().map(|data| (&data.run, data.tests.as_slice())));
        sections.extend(printed_sections(language, &printed));
        if sections.is_empty() {
            sections.push(Section::new(
                language,
                "Sweep",
                vec![Block::Paragraph(language.phrase(NO_TESTS))],
            ));
        }
        let runs = input.runs.iter().zip(&curves).filter(|(_, curves)| !curves.is_empty());
        let studies =
            runs.map(|(data, curves)| json!({ "run": data.run.id, "curves": json::value(curves) }));
        let data = json!({
            "schema_version": SCHEMA_VERSION,
            "studies": studies.collect::<Vec<_>>(),
            "published": json::value(&printed),
        });
        let named = names.iter().cloned().zip(&curves).filter(|(_, curves)| !curves.is_empty());
        let answer = of_each(named.map(|(name, curves)| (name, answer(language, curves))));
        Document {
            data: Some(data),
            head: Some(masthead::head(input, "service time over active data", &answer)),
            ..Document::new(language, "Service time over active data", sections)
        }
    }
}

/// Tier that serves reads up to each size, by the curves of a run whose steps are all valid; and
/// the others by their names.
fn answer(language: Language, curves: &[Curve]) -> String {
    let is_sound = |curve: &&Curve| curve.steps.iter().all(|step| supports(step.verdict));
    let (sound, doubtful): (Vec<&Curve>, Vec<&Curve>) = curves.iter().partition(is_sound);
    let said = sound.into_iter().filter_map(|curve| {
        let parts = curve.plateaus.iter().filter_map(|plateau| {
            let us = language.number(plateau.us?.value, FIGURE);
            let tier = language.phrase(plateau.tier.name());
            let mb = plateau.up_to_mb.map(|mb| language.number(mb.value, FIGURE));
            let values =
                [("tier", tier.as_str()), ("us", &us), ("mb", mb.as_deref().unwrap_or(""))];
            Some(match mb {
                Some(_) => language.say("{tier}, {us} us, up to {mb} MB", &values),
                None => language.say("{tier}, {us} us", &values),
            })
        });
        let parts = parts.collect::<Vec<_>>().join("; ");
        let against = contradictions(language, curve);
        (!parts.is_empty()).then(|| {
            let said = format!("{}: {parts}.", label(language, curve, curves));
            std::iter::once(said).chain(against).collect::<Vec<_>>().join(" ")
        })
    });
    let said = said.collect::<Vec<_>>().join(" ");
    if said.is_empty() {
        return undecided(language, curves.len());
    }
    let names: Vec<String> = doubtful.iter().map(|curve| label(language, curve, curves)).collect();
    if names.is_empty() {
        return said;
    }
    let left_out = "Left out here, as not all of their steps are valid: {curves}.";
    let left_out = language.say(left_out, &[("curves", &names.join("; "))]);
    format!("{said} {left_out}")
}

/// Sentences about what the counters say against the caches of a curve.
fn contradictions(language: Language, curve: &Curve) -> Vec<String> {
    let texts = curve.plateaus.iter().filter_map(|plateau| plateau.contradiction.as_ref());
    let said = |text| {
        let text = language.sentence(text);
        language.say("The counters contradict this: {text}.", &[("text", &text)])
    };
    texts.map(said).collect()
}

fn section(language: Language, at: usize, name: &str, curves: &[Curve]) -> Section {
    let drawn = Some(chart(language, at, curves))
        .filter(|chart| chart.series.iter().any(|one| !one.points.is_empty()));
    let mut blocks = vec![Block::Paragraph(language.phrase(HOW_TO_READ))];
    blocks.extend(drawn.map(Block::Drawing));
    // Of several curves each table says which one it is of.
    let named = |curve: &Curve, table: Table| {
        let name = (curves.len() > 1).then(|| Block::Paragraph(label(language, curve, curves)));
        name.into_iter().chain([Block::Table(table)]).collect::<Vec<_>>()
    };
    blocks.extend(
        curves.iter().flat_map(|curve| named(curve, plateaus(language, at, curve, curves))),
    );
    let may_reach_device =
        |curve: &Curve| curve.reaches(Tier::Device) || curve.reaches(Tier::Unknown);
    if !curves.iter().any(may_reach_device) {
        blocks.push(Block::Paragraph(
            language.phrase("The device was not reached: a cache before it served what was read."),
        ));
    }
    blocks.extend(curves.iter().flat_map(|curve| named(curve, steps(language, at, curve, curves))));
    Section { title: name.to_string(), blocks }
}

/// The name of a curve among those of its run.
fn label(language: Language, curve: &Curve, all: &[Curve]) -> String {
    let evicted = if curve.evicted {
        "past the operating system's cache"
    } else {
        "through the operating system's cache"
    };
    let (jobs, evicted) = (language.jobs(Some(curve.jobs)), language.phrase(evicted));
    format!("{}{}, {jobs}: {evicted}", curve.workload, distinction(curve, all))
}

/// The parameters that tell a curve from another one of the same workload; nothing where no other
/// is like it.
fn distinction(curve: &Curve, all: &[Curve]) -> String {
    let key = |of: &Curve| (of.workload.clone(), of.jobs, of.evicted);
    let is_only = all.iter().filter(|other| key(other) == key(curve)).count() < 2;
    let params = assignments(&curve.params, ",");
    if is_only || params.is_empty() { String::new() } else { format!(":{params}") }
}

/// The name of a table about a curve, unique in the document.
fn table_name(kind: &str, at: usize, curve: &Curve, all: &[Curve]) -> String {
    let how = if curve.evicted { "evicted" } else { "kept" };
    let Curve { workload, jobs, .. } = curve;
    format!("{kind} {at} {workload}{} {jobs} {how}", distinction(curve, all))
}

fn chart(language: Language, at: usize, curves: &[Curve]) -> Chart {
    let series = |(variant, curve): (usize, &Curve)| Series {
        name: label(language, curve, curves),
        platform: at,
        variant,
        points: curve.steps.iter().filter_map(point).collect(),
        ..Series::default()
    };
    let levels = levels(language, curves);
    Chart {
        name: format!("sweep {at}"),
        language,
        title: language.phrase("Service time over active data"),
        x: Axis {
            name: language.phrase("Active data"),
            unit: Some("MB".into()),
            scale: Scale::Log2,
        },
        y: Axis {
            name: language.phrase("Service time"),
            unit: Some("us".into()),
            scale: Scale::Log10,
        },
        series: curves.iter().enumerate().map(series).collect(),
        caption: if levels.is_empty() { String::new() } else { language.phrase(LEVELS) },
        levels,
    }
}

/// Verdict on the statements about a whole curve: the worst of its steps.
fn verdict_of(curve: &Curve) -> Status {
    curve.steps.iter().map(|step| step.verdict).max().unwrap_or(Status::Invalid)
}

/// The plateaus of curves that are not invalid, each from where the cache before it ends to where
/// its own ends. Curves share caches: what is drawn of one is not drawn again.
fn levels(language: Language, curves: &[Curve]) -> Vec<Level> {
    let mut drawn: Vec<Level> = Vec::new();
    for curve in curves {
        let verdict = verdict_of(curve);
        if verdict == Status::Invalid {
            continue;
        }
        let (Some(first), Some(last)) = (curve.steps.first(), curve.steps.last()) else { continue };
        let mut from = Some(first.active_mb);
        for (place, plateau) in curve.plateaus.iter().enumerate() {
            let is_last = place + 1 == curve.plateaus.len();
            let mb = plateau.up_to_mb.as_ref().map(|known| known.value);
            let to = if is_last { Some(mb.unwrap_or(last.active_mb)) } else { mb };
            let us = plateau.us.as_ref().map(|known| known.value).or(plateau.median_us);
            if let (Some(from), Some(to), Some(y)) = (from, to, us) {
                let shown = language.number(y, FIGURE);
                let tier = language.phrase(tier_name(place, plateau.tier));
                let mark = if supports(verdict) { "" } else { "?" };
                let name = format!("{tier}, {shown} us{mark}");
                let end = mb.map(|mb| format!("{} MB", language.number(mb, FIGURE)));
                let is_new = drawn.iter().all(|known| known.name != name || known.end != end);
                let level = Level { name, y, from, to, end };
                drawn.extend(is_new.then_some(level));
            }
            from = to;
        }
    }
    drawn
}

fn point(step: &Step) -> Option<Point> {
    Some(Point {
        x: step.active_mb,
        y: step.us.map(|us| us.value).or(step.median_us)?,
        low: step.us.map(|us| us.low),
        high: step.us.map(|us| us.high),
        verdict: Some(step.verdict),
        ..Point::default()
    })
}

/// A plateau of a curve.
struct PlateauRow<'a> {
    /// Place on the curve, from 0.
    at: usize,
    /// No cache ends behind it.
    is_last: bool,
    plateau: &'a Plateau,
    verdict: Status,
}

impl PlateauRow<'_> {
    /// A service time, or an end of its interval.
    fn time_cell(&self, table: &mut Table, us: Option<f64>) -> Cell {
        table.figure(us.ok_or_else(|| TOO_FEW.into()), FIGURE, self.verdict)
    }

    /// The active set at which the plateau ends, or an end of its interval.
    fn end_cell(&self, table: &mut Table, of: fn(&MedianInterval) -> f64) -> Cell {
        let mb = self.plateau.up_to_mb.as_ref().map(of);
        let why = if self.is_last { "no end was reached" } else { TOO_FEW };
        table.figure(mb.ok_or_else(|| why.into()), FIGURE, self.verdict)
    }
}

fn plateaus(language: Language, at: usize, curve: &Curve, all: &[Curve]) -> Table {
    let columns = plateau_columns();
    let name = table_name("plateaus", at, curve, all);
    let mut table = Table::declared(language, name, &columns);
    let verdict = verdict_of(curve);
    for (at, plateau) in curve.plateaus.iter().enumerate() {
        let is_last = at + 1 == curve.plateaus.len();
        table.add_row(&columns, &PlateauRow { at, is_last, plateau, verdict });
        table.remarks.extend(plateau.contradiction.as_ref().map(|text| language.sentence(text)));
    }
    table.remarks.insert(0, label(language, curve, all));
    table
}

fn plateau_columns<'a>() -> [Declared<PlateauRow<'a>>; 8] {
    [
        Declared::new("Served by", "", 0, |row, table| {
            Cell::text(table.language.phrase(tier_name(row.at, row.plateau.tier)))
        }),
        Declared::new("Service time", "us", 0, |row, table| {
            let known = row.plateau.us.as_ref().map(|known| known.value);
            row.time_cell(table, known.or(row.plateau.median_us))
        }),
        Declared::new("low", "us", 2, |row, table| {
            row.time_cell(table, row.plateau.us.as_ref().map(|known| known.low))
        }),
        Declared::new("high", "us", 2, |row, table| {
            row.time_cell(table, row.plateau.us.as_ref().map(|known| known.high))
        }),
        Declared::new("up to", "MB", 0, |row, table| row.end_cell(table, |known| known.value)),
        Declared::new("low", "MB", 1, |row, table| row.end_cell(table, |known| known.low)),
        Declared::new("high", "MB", 1, |row, table| row.end_cell(table, |known| known.high)),
        Declared::new("by counters", "MB", 0, |row, table| {
            let counted_mb = row.plateau.counted_mb.as_ref().map(|known| known.value);
            // Without an interval of its time the plateau has too few blocks for one of its end.
            let is_few = row.plateau.us.is_none();
            let why = if is_few { TOO_FEW } else { "the counters show none" };
            let counted_mb = counted_mb.ok_or_else(|| why.into());
            table.figure(counted_mb, FIGURE, row.verdict)
        }),
    ]
}

/// The tier of the plateau at this place, from 0.
fn tier_name(at: usize, tier: Tier) -> &'static str {
    match (at, tier) {
        (1.., Tier::BufferCache) => "the database's cache, beyond the CPU's",
        (_, tier) => tier.name(),
    }
}

fn steps(language: Language, at: usize, curve: &Curve, all: &[Curve]) -> Table {
    let columns = step_columns();
    let mut table = Table::declared(language, table_name("steps", at, curve, all), &columns);
    for step in &curve.steps {
        table.add_row(&columns, step);
        let subject = format!("{} MB", language.number(step.active_mb, FIGURE));
        table.remarks.extend(conditions(language, &subject, &step.conditions));
    }
    table.remarks.insert(0, label(language, curve, all));
    table
}

fn step_columns() -> [Declared<Step>; 8] {
    [
        Declared::new("Active data", "MB", 0, |step, _| Cell::Number {
            value: step.active_mb,
            digits: FIGURE,
            verdict: None,
        }),
        Declared::new("Service time", "us", 0, |step, table| {
            time_cell(step, table, step.us.as_ref().map(|known| known.value).or(step.median_us))
        }),
        Declared::new("low", "us", 1, |step, table| {
            time_cell(step, table, step.us.as_ref().map(|known| known.low))
        }),
        Declared::new("high", "us", 1, |step, table| {
            time_cell(step, table, step.us.as_ref().map(|known| known.high))
        }),
        Declared::new("blocks read per op", "", 0, |step, table| {
            table.unjudged(step.misses_per_op.ok_or_else(|| "the counter is not known".into()))
        }),
        Declared::new("from the device", "%", 0, |step, table| {
            let share_pct = step.device_share.map(|share| 100.0 * share);
            let why = || "nothing was read, or the counter is not known".into();
            table.unjudged(share_pct.ok_or_else(why))
        }),
        Declared::new("Blocks", "", 3, |step, _| Cell::count(step.blocks as u32)),
        Declared::new("Verdict", "", 2, |step, _| Cell::Verdict(step.verdict)),
    ]
}

/// The service time of a step, or an end of its interval.
fn time_cell(step: &Step, table: &mut Table, us: Option<f64>) -> Cell {
    table.figure(us.ok_or_else(|| too_few(step.blocks)), FIGURE, step.verdict)
}

/// One chart and one table for each workload that is printed at several sizes.
fn printed_sections(language: Language, printed: &[PublishedCurve]) -> Vec<Section> {
    let mut groups: Vec<Vec<&PublishedCurve>> = Vec::new();
    for curve in printed {
        match groups.iter_mut().find(|group| {
            group[0].workload == curve.workload && group[0].platform == curve.platform
        }) {
            Some(group) => group.push(curve),
            None => groups.push(vec![curve]),
        }
    }
    let of = |(at, group): (usize, &Vec<&PublishedCurve>)| {
        let title = format!("{}: {}", group[0].platform, group[0].workload);
        let blocks = vec![
            Block::Paragraph(language.phrase(TIMES)),
            Block::Drawing(printed_chart(language, at, group)),
            Block::Table(printed_table(language, at, group)),
        ];
        Section { title, blocks }
    };
    groups.iter().enumerate().map(of).collect()
}

fn printed_label(language: Language, curve: &PublishedCurve) -> String {
    let jobs = language.jobs(curve.jobs);
    match assignments(&curve.params, " ") {
        params if params.is_empty() => jobs,
        params => format!("{params}, {jobs}"),
    }
}

fn printed_chart(language: Language, at: usize, group: &[&PublishedCurve]) -> Chart {
    let series = |(platform, curve): (usize, &&PublishedCurve)| Series {
        name: printed_label(language, curve),
        platform,
        points: curve
            .points
            .iter()
            .map(|point| Point { x: point.database_gb, y: point.us, ..Point::default() })
            .collect(),
        ..Series::default()
    };
    Chart {
        name: format!("published sweep {at}"),
        language,
        title: language.phrase("Service time over the size of the database"),
        x: Axis { name: language.phrase("Database"), unit: Some("GB".into()), scale: Scale::Log2 },
        y: Axis {
            name: language.phrase("Service time"),
            unit: Some("us".into()),
            scale: Scale::Log10,
        },
        series: group.iter().enumerate().map(series).collect(),
        caption: String::new(),
        ..Chart::default()
    }
}

/// A point of a published curve.
struct PrintedPoint {
    series: String,
    database_gb: f64,
    us: f64,
}

fn printed_table(language: Language, at: usize, group: &[&PublishedCurve]) -> Table {
    let columns = [
        Declared::new("Series", "", 0, |point: &PrintedPoint, _| Cell::text(&point.series)),
        Declared::new("Database", "GB", 0, |point, _| Cell::plain(point.database_gb)),
        Declared::new("Service time", "us", 0, |point, _| Cell::plain(point.us)),
    ];
    let mut table = Table::declared(language, format!("published times {at}"), &columns);
    for curve in group {
        for &PublishedPoint { database_gb, us } in &curve.points {
            let point = PrintedPoint { series: printed_label(language, curve), database_gb, us };
            table.add_row(&columns, &point);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::model::Sentence;
    use std::collections::BTreeMap;

    fn curve(keys: &str, evicted: bool, verdict: Status) -> Curve {
        let known = |value: f64| Some(MedianInterval { value, low: value, high: value });
        let step = Step {
            rows: 1000.0,
            active_mb: 1.0,
            us: known(3.0),
            median_us: Some(3.0),
            misses_per_op: None,
            device_share: None,
            blocks: 6,
            left_out: 0,
            verdict,
            conditions: Vec::new(),
        };
        let plateau = |us: Option<MedianInterval>, up_to_mb: Option<MedianInterval>| Plateau {
            tier: Tier::BufferCache,
            us,
            median_us: Some(3.0),
            up_to_mb,
            counted_mb: None,
            contradiction: None,
        };
        Curve {
            workload: "STO-ACTIVE".into(),
            params: BTreeMap::from([("keys".to_string(), keys.to_string())]),
            jobs: 1,
            evicted,
            steps: vec![step],
            plateaus: vec![plateau(known(3.0), known(16.0)), plateau(known(15.0), None)],
        }
    }

    #[test]
    fn what_the_counters_contradict_is_not_told_without_it() {
        let mut contradicted = curve("uniform", false, Status::Valid);
        let text = "by its counters the database's cache serves up to {counted} MB, by the service \
                    times {found} MB";
        let text = Sentence::new(text).with("counted", 64.0).with("found", 16.0);
        contradicted.plateaus[0].contradiction = Some(text);
        let said = answer(Language::English, &[contradicted]);
        let end = "The counters contradict this: by its counters the database's cache serves up to \
                   64 MB, by the service times 16 MB.";
        assert!(said.contains("up to 16.0 MB") && said.ends_with(end), "{said}");
    }

    #[test]
    fn a_curve_that_is_not_valid_is_named_as_left_out() {
        let sound = curve("uniform", false, Status::Valid);
        let said = answer(Language::English, std::slice::from_ref(&sound));
        assert!(said.contains("up to 16.0 MB") && !said.contains("Left out"), "{said}");
        let both = [sound, curve("uniform", true, Status::Conditional)];
        let said = answer(Language::English, &both);
        let end = "Left out here, as not all of their steps are valid: STO-ACTIVE, 1 job: past the \
                   operating system's cache.";
        assert!(said.ends_with(end), "{said}");
    }

    #[test]
    fn curves_of_other_parameters_have_names_of_their_own() {
        let all = ["uniform", "zipf-0.99"].map(|keys| curve(keys, false, Status::Valid));
        let labels = all.each_ref().map(|one| label(Language::English, one, &all));
        assert!(labels[0].starts_with("STO-ACTIVE:keys=uniform, 1 job: "), "{labels:?}");
        assert!(labels[1].starts_with("STO-ACTIVE:keys=zipf-0.99, 1 job: "), "{labels:?}");
        assert_ne!(table_name("steps", 0, &all[0], &all), table_name("steps", 0, &all[1], &all));
        let alone = label(Language::English, &all[0], &all[..1]);
        assert!(alone.starts_with("STO-ACTIVE, 1 job: "), "{alone}");
    }

    #[test]
    fn an_end_of_too_few_blocks_is_not_one_that_was_not_reached() {
        let mut few = curve("uniform", false, Status::Conditional);
        for plateau in &mut few.plateaus {
            (plateau.us, plateau.up_to_mb) = (None, None);
        }
        let table = plateaus(Language::English, 0, &few, std::slice::from_ref(&few));
        let why = |row: usize, column: usize| match table.rows[row][column] {
            Cell::Unknown(note) => table.footnotes[note].as_str(),
            ref other => panic!("{other:?}"),
        };
        assert_eq!([why(0, 4), why(0, 7), why(1, 4)], [TOO_FEW, TOO_FEW, "no end was reached"]);
    }
}
