//! The catalog: what each workload does, how it is judged, its SQL on each engine, its codes in
//! other suites.

use super::document::{Block, Cell, Code, Column, Document, Section, Table};
use super::picture::{Fold, Head, Page, Part as PagePart, Picture, StyledText};
use super::{Input, Report, Statements, Subject};
use dbdyno_core::catalog::{Group, Suite, SuiteEntry};
use dbdyno_core::model::{
    Alias, Application, Claim, Kpm, Operation, Param, Part, Status, Workload, params,
};

/// `report catalog`.
pub struct CatalogReport;

impl Report for CatalogReport {
    fn name(&self) -> &'static str {
        "catalog"
    }
    fn former_name(&self) -> Option<&'static str> {
        Some("catalogue")
    }

    fn title(&self) -> &'static str {
        "every workload: what it does, parameters, contract, SQL per engine, codes; and the suites"
    }

    fn subject(&self) -> Subject {
        Subject::Catalog
    }

    fn build(&self, input: &Input) -> Document {
        let workloads = input.catalog.workloads().map(|workload| section(input, workload));
        let suites = input.catalog.suites().iter().filter_map(|suite| suite_section(input, suite));
        let overviews = overview(input).into_iter().chain(matrix(input));
        let sections = overviews.chain(workloads).chain(suites).collect();
        let page = Some(page(input));
        Document { title: "Catalog".into(), sections, page, ..Document::default() }
    }
}

/// The same for a browser: what each workload is behind a line, the groups as contents.
fn page(input: &Input) -> Page {
    let open = |section: Section| PagePart {
        title: section.title,
        pictures: vec![Picture::Blocks(section.blocks)],
        ..PagePart::default()
    };
    let folded = |title: &str, about: &str, sections: Vec<Section>| {
        let fold = |section: Section| Fold {
            title: section.title,
            is_open: false,
            blocks: section.blocks,
        };
        let folds = sections.into_iter().map(fold).collect();
        PagePart { title: title.into(), about: about.into(), pictures: Vec::new(), folds }
    };
    let of_group = |group: &Group| {
        let workloads = input.catalog.workloads().filter(|workload| workload.group == group.id);
        folded(&group.title, &group.about, workloads.map(|it| section(input, it)).collect())
    };
    let suites = input.catalog.suites().iter().filter_map(|suite| suite_section(input, suite));
    let suites = folded("Suites", "", suites.collect());
    let overviews = overview(input).into_iter().chain(matrix(input)).map(open);
    let groups = input.catalog.groups().iter().map(of_group);
    let parts = overviews
        .chain(groups)
        .chain([suites])
        .filter(|part| !part.folds.is_empty() || !part.pictures.is_empty());
    let (workloads, groups) = (input.catalog.workloads().count(), input.catalog.groups().len());
    let answer = format!(
        "{workloads} workloads in {groups} groups, {} suites.",
        input.catalog.suites().len()
    );
    Page {
        is_list: true,
        head: Head {
            kind: "catalog".into(),
            title: "Catalog".into(),
            answer: StyledText::sentence(&answer),
            ..Head::default()
        },
        parts: parts.collect(),
        ..Page::default()
    }
}

fn table(name: &str, columns: &[(&str, u8)]) -> Table {
    let column = |&(name, priority): &(&str, u8)| Column::new(name, "", priority);
    Table { name: name.into(), columns: columns.iter().map(column).collect(), ..Table::default() }
}

/// `T512 (logging=yes), T511 (logging=no)`.
fn codes(workload: &Workload) -> String {
    let code = |alias: &Alias| match params::assignments(&alias.params, ", ") {
        params if params.is_empty() => alias.code.clone(),
        params => format!("{} ({params})", alias.code),
    };
    workload.aliases.iter().map(code).collect::<Vec<_>>().join(", ")
}

/// `TP-LIGHT, TP-MEDIUM update_pct=40`.
fn parts(workload: &Workload) -> String {
    let part = |part: &Part| {
        format!("{} {}", part.workload, params::assignments(&part.params, " "))
            .trim_end()
            .to_string()
    };
    workload.parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// `T426: the publication raises the number of ...`; codes with the same words together.
fn differences(workload: &Workload) -> String {
    let own = workload.differs.as_deref().map(|text| (workload.id.as_str(), text));
    let of_aliases = workload
        .aliases
        .iter()
        .filter_map(|alias| Some((alias.code.as_str(), alias.differs.as_deref()?)));
    let mut told: Vec<(Vec<&str>, &str)> = Vec::new();
    for (code, text) in own.into_iter().chain(of_aliases) {
        match told.iter_mut().find(|(_, known)| *known == text) {
            Some((codes, _)) => codes.push(code),
            None => told.push((vec![code], text)),
        }
    }
    let said = told.iter().map(|(codes, text)| format!("{}: {text}", codes.join(", ")));
    said.collect::<Vec<_>>().join("; ")
}

fn metric(kpm: &Kpm) -> String {
    format!("{}, {} is better", kpm.unit, kpm.better.name())
}

/// Groups, and every workload in a line.
fn overview(input: &Input) -> Option<Section> {
    let mut blocks = Vec::new();
    for group in input.catalog.groups() {
        let mut list =
            table(&group.id, &[("Workload", 0), ("What it does", 0), ("KPM", 1), ("Codes", 2)]);
        for workload in input.catalog.workloads().filter(|workload| workload.group == group.id) {
            let unit = Cell::text(&workload.kpm.unit);
            let cells = vec![
                Cell::text(&workload.id),
                Cell::text(&workload.title),
                unit,
                Cell::text(codes(workload)),
            ];
            list.rows.push(cells);
        }
        blocks.push(Block::Paragraph(format!(
            "{}: {}. {}",
            group.id,
            group.title,
            group.about.trim()
        )));
        blocks.push(Block::Table(list));
    }
    (!blocks.is_empty()).then(|| Section { title: "Groups".into(), blocks })
}

/// A table with a row for each workload: what its statements do, what they stress, and for which
/// applications it matters.
fn matrix(input: &Input) -> Option<Section> {
    let operations = Operation::ALL.map(Operation::name);
    let heads = [("Workload", 0)].into_iter().chain(operations.map(|name| (name, 1))).chain([
        ("Stresses", 0),
        ("OLTP", 2),
        ("Analytics", 2),
    ]);
    let mut table = table("what workloads do", &heads.collect::<Vec<_>>());
    let mark = |is_so: bool| if is_so { Cell::text(MARK) } else { Cell::Empty };
    let told = |workload: &&Workload| !workload.does.is_empty() || !workload.stresses.is_empty();
    for workload in input.catalog.workloads().filter(told) {
        let does = Operation::ALL.map(|operation| mark(workload.does.contains(&operation)));
        let stresses: Vec<&str> =
            workload.stresses.iter().map(|resource| resource.name()).collect();
        let matters = [Application::Oltp, Application::Analytics]
            .map(|application| mark(workload.matters_for.contains(&application)));
        let row = [Cell::text(&workload.id)].into_iter().chain(does);
        table.rows.push(row.chain([Cell::text(stresses.join(", "))]).chain(matters).collect());
    }
    (!table.rows.is_empty()).then(|| Section {
        title: "What workloads do and stress".into(),
        blocks: vec![Block::Paragraph(MATRIX.into()), Block::Table(table)],
    })
}

/// Mark in a cell of the matrix.
const MARK: &str = "x";
/// Above it.
const MATRIX: &str = "An x stands under what the statements of a workload do with rows, and under \
                      the applications for which its figures matter. What it stresses is what \
                      limits it on a platform without a fault; what limited a test, its own page \
                      says.";

fn section(input: &Input, workload: &Workload) -> Section {
    let mut blocks = Vec::new();
    if !workload.about.trim().is_empty() {
        blocks.push(Block::Paragraph(workload.about.trim().into()));
    }
    blocks.push(Block::Facts(facts(workload)));
    blocks.extend(Some(params(workload)).filter(|table| !table.rows.is_empty()).map(Block::Table));
    blocks.extend(Some(claims(workload)).filter(|table| !table.rows.is_empty()).map(Block::Table));
    let of_workload = |statements: &&Statements| statements.workload == workload.id;
    blocks.extend(input.statements.iter().filter(of_workload).flat_map(sql));
    Section { title: format!("{}: {}", workload.id, workload.title), blocks }
}

fn facts(workload: &Workload) -> Vec<(String, String)> {
    let mut facts = vec![
        ("KPM", metric(&workload.kpm)),
        ("Second metric", workload.second.as_ref().map(metric).unwrap_or_default()),
        ("Work of one op", workload.work.0.clone()),
        ("Commits", if workload.commits { "each op commits".into() } else { String::new() }),
        ("Tables", workload.tables.join(", ")),
        ("Cached before", workload.warm.join(", ")),
        ("Parts", parts(workload)),
        ("Codes", codes(workload)),
        ("Differs from what is published", differences(workload)),
        ("Revision", workload.revision.to_string()),
    ];
    facts.retain(|(_, value)| !value.is_empty());
    facts.into_iter().map(|(name, value)| (name.into(), value)).collect()
}

fn params(workload: &Workload) -> Table {
    let name = format!("{} parameters", workload.id);
    let mut table =
        table(&name, &[("Parameter", 0), ("Default", 0), ("Values", 1), ("Meaning", 0)]);
    for param in &workload.params {
        let cells = [&param.name, &default(param), &values(param), &param.about];
        table.rows.push(cells.into_iter().map(Cell::text).collect());
    }
    table
}

fn default(param: &Param) -> String {
    let engines =
        param.engine_default.iter().map(|(engine, value)| format!(" ({engine}: {value})"));
    [param.default.clone()].into_iter().chain(engines).collect()
}

fn values(param: &Param) -> String {
    let end = |end: Option<i64>| end.map_or(String::new(), |end| end.to_string());
    if param.values.is_empty() {
        format!("{}..{}", end(param.min), end(param.max))
    } else {
        param.values.join(", ")
    }
}

fn claims(workload: &Workload) -> Table {
    let name = format!("{} contract and cross-check", workload.id);
    let mut table = table(&name, &[("Claim", 0), ("Must be", 0), ("Holds for", 0), ("Else", 0)]);
    let contract = workload.contract.iter().map(|claim| ("contract", claim));
    for (kind, claim) in
        contract.chain(workload.crosscheck.iter().map(|claim| ("cross-check", claim)))
    {
        let per = claim.per.iter().map(|per| format!(" per {per}")).collect::<String>();
        let cells =
            [format!("{kind}: {}{per}", claim.what), required(claim), scope(claim), or_else(claim)];
        table.rows.push(cells.into_iter().map(Cell::text).collect());
    }
    table
}

/// A claim in words: `physical_reads per ops at most 0.1 (client drive): the table was not cached`.
pub fn claim_in_words(claim: &Claim) -> String {
    let per = claim.per.iter().map(|per| format!(" per {per}")).collect::<String>();
    let scope =
        Some(scope(claim)).filter(|scope| !scope.is_empty()).map(|scope| format!(" ({scope})"));
    format!(
        "{}{per} {}{}: {}",
        claim.what,
        required(claim),
        scope.unwrap_or_default(),
        or_else(claim)
    )
}

fn required(claim: &Claim) -> String {
    let words = [("at least", &claim.min), ("at most", &claim.max), ("equal to", &claim.equals)];
    let known =
        words.iter().filter_map(|(word, expr)| Some(format!("{word} {}", expr.as_ref()?.0)));
    known.collect::<Vec<_>>().join(", ")
}

/// Engines, drives and conditions with which the claim holds; empty if always.
fn scope(claim: &Claim) -> String {
    let drives = claim.drives.iter().map(|drive| format!("{drive} drive"));
    let params = claim.params.iter().map(|(name, named)| {
        let values = Claim::named_values(named).collect::<Vec<_>>().join(" or ");
        match Claim::is_without(named) {
            true => format!("{name} not {values}"),
            false => format!("{name}={values}"),
        }
    });
    let when = claim.when.iter().map(|name| format!("unless {name} is 0"));
    let share = claim.if_positive.iter().map(|expr| format!("where {} is above 0", expr.0));
    claim
        .engines
        .iter()
        .cloned()
        .chain(drives)
        .chain(params)
        .chain(when)
        .chain(share)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Consequence of a claim that does not hold: the verdict, where it is not invalid, and why.
fn or_else(claim: &Claim) -> String {
    let verdict = claim
        .status
        .filter(|status| *status != Status::Invalid)
        .map(|status| format!("{status}: "));
    verdict.unwrap_or_default() + &claim.because
}

fn sql(statements: &Statements) -> Vec<Block> {
    let drive = if statements.drive.is_empty() {
        String::new()
    } else {
        format!(", {} drive", statements.drive)
    };
    let place = format!("{}{drive}", statements.engine);
    match &statements.sql {
        Err(why) => vec![Block::Paragraph(format!("{place}: {why}"))],
        Ok(pieces) => {
            let named = |piece: &Code| Code {
                caption: format!("{place}: {}", piece.caption),
                text: piece.text.clone(),
            };
            pieces.iter().map(|piece| Block::Code(named(piece))).collect()
        }
    }
}

/// A suite with its tests under their own codes.
fn suite_section(input: &Input, suite: &Suite) -> Option<Section> {
    let tests = input.catalog.suite_tests(suite).ok()?;
    let columns = [
        ("Code", 0),
        ("Title", 2),
        ("Workload, or why there is none", 0),
        ("Parameters", 1),
        ("Jobs", 3),
    ];
    let mut table = table(&format!("suite {}", suite.id), &columns);
    table.rows.extend(tests.iter().map(suite_row));
    let about = Some(Block::Paragraph(suite.about.trim().to_string()))
        .filter(|_| !suite.about.trim().is_empty());
    let blocks = about.into_iter().chain([Block::Table(table)]).collect();
    Some(Section { title: format!("Suite {}: {}", suite.id, suite.title), blocks })
}

fn suite_row(entry: &SuiteEntry) -> Vec<Cell> {
    let text = |text: &Option<String>| text.as_ref().map_or(Cell::Empty, Cell::text);
    vec![
        text(&entry.code),
        text(&entry.title),
        entry.workload.as_ref().or(entry.none.as_ref()).map_or(Cell::Empty, Cell::text),
        Cell::text(params::assignments(&entry.params, ", ")),
        entry.jobs.as_ref().map_or(Cell::Empty, |jobs| Cell::text(jobs.to_string())),
    ]
}
