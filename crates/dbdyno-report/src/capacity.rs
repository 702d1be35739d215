//! The answer to requirements: whether the platform carries them, at which jobs, how much of each
//! component they use, and which component saturates first; over several platforms the smallest and
//! the cheapest that fits.

use serde_json::{Value, json};

use super::columns::{RATE, at_least};
use super::document::{Block, Cell, Declared, Digits, Document, Section, Table};
use super::texts::capitalized;
use super::{Input, Language, Report, RunTests, masthead, price};
use dbdyno_core::analysis::capacity::{
    Answer, Cheapest, Component, First, Need, Outcome, Platform, Point, Side, Span, Use, ask,
    cheapest, doubtful_answer, least,
};
use dbdyno_core::model::{Drive, Sentence, Status};

/// Version of the JSON structure.
pub const SCHEMA_VERSION: u32 = 1;

const HOW_TO_READ: &str = "A requirement fits if a valid figure reaches it with the low end of its \
                           95 % interval; published figures, which have none, count as printed. \
                           Used is the required rate over the highest throughput of such figures \
                           that meet the SLO, and components use what they used there, in \
                           proportion (utilization law). Without an open loop (--rate) an SLO is \
                           judged by the service time at that number of jobs, without waits for a \
                           session. Of several repetitions each must meet it. Several requirements \
                           fit together if their shares add up to at most 100 %; how they slow \
                           each other down in shared caches is not covered.";
const SHARE: Digits = Digits::Significant(3);

/// Report of `capacity`, which reads the requirements.
pub struct CapacityReport;

impl Report for CapacityReport {
    fn name(&self) -> &'static str {
        "capacity"
    }

    fn title(&self) -> &'static str {
        "whether platforms carry the required load"
    }

    fn needs_seconds(&self) -> bool {
        false
    }

    fn own_command(&self) -> Option<&'static str> {
        Some("capacity")
    }

    fn build(&self, input: &Input) -> Document {
        let names = input.platforms();
        let platforms = platforms(input, &names);
        let language = input.language;
        let several = platforms.len() > 1;
        let answers: Vec<String> =
            platforms.iter().map(|platform| describe(language, platform)).collect();
        let chosen: Vec<String> = choices(language, &platforms).filter(|_| several).collect();
        let answer = if several { chosen.join(" ") } else { answers.join(" ") };
        let mut answers: Vec<Block> =
            answers.into_iter().filter(|_| several).map(Block::Paragraph).collect();
        answers.extend(several.then(|| Block::Table(sizes(language, &platforms))));
        let how = Block::Paragraph(language.phrase(HOW_TO_READ));
        let sections = [
            Section::new(language, "Answer", answers),
            Section::new(language, "Needs", vec![how, Block::Table(needs(language, &platforms))]),
            Section::new(
                language,
                "Components",
                vec![Block::Table(components(language, &platforms))],
            ),
        ];
        let sections = sections.into_iter().filter(|section| !section.blocks.is_empty());
        Document {
            data: Some(data(input, &platforms)),
            head: Some(masthead::head(input, "capacity", &answer)),
            ..Document::new(language, "Capacity", sections)
        }
    }
}

/// The answers of all runs; `names` are those of the input's platforms.
pub fn platforms<'a>(input: &'a Input, names: &'a [String]) -> Vec<Platform<'a>> {
    let side = |(data, name): (&'a RunTests, &'a String)| {
        let price = price::price_of(input, data);
        ask(Side { name, run: &data.run, tests: &data.tests, price }, &input.needs)
    };
    input.runs.iter().zip(names).map(side).collect()
}

/// Needs whose measured figures stand in the answer; those of all stand below the table.
const MAX_DESCRIBED: usize = 3;

/// The answer of a platform in a few sentences.
fn describe(language: Language, platform: &Platform<'_>) -> String {
    let outcome = answer_of(language, platform);
    let verdict = match platform.settling_command() {
        Some(command) => language.say(
            "capacity_doubtful",
            &[("platform", platform.name), ("outcome", &outcome), ("command", &command)],
        ),
        None => {
            language.say("capacity_answer", &[("platform", platform.name), ("outcome", &outcome)])
        }
    };
    // The component that saturates first is known from valid figures only, not from one with a
    // doubt.
    let first = first(language, platform).filter(|_| platform.doubts().is_empty());
    let sentences = [Some(verdict), headroom(language, platform), first].into_iter().flatten();
    let why =
        platform.why.iter().map(|why| format!("{}.", capitalized(&language.sentence_grouped(why))));
    // What was measured is the answer's other half, where it cannot be accepted.
    let open = platform.answers.iter().filter(|answer| answer.outcome == Outcome::NotCovered);
    let measured = open.filter_map(|answer| {
        Some(format!(
            "{}: {}.",
            answer.need.label(),
            language.sentence_grouped(answer.why.as_ref()?)
        ))
    });
    sentences.chain(why).chain(measured.take(MAX_DESCRIBED)).collect::<Vec<_>>().join(" ")
}

/// Yes, no, the multiple that fits by a figure with a doubt, or not covered.
fn answer_of(language: Language, platform: &Platform<'_>) -> String {
    match platform.doubtful_answer() {
        Some(doubtful) => language.sentence_grouped(&doubtful),
        None => language.phrase(platform.outcome.name()),
    }
}

/// Answer to one requirement.
fn answer_to_need(language: Language, answer: &Answer<'_>) -> String {
    match answer.doubtful_times() {
        Some(times) => language.sentence_grouped(&doubtful_answer(times, &[answer])),
        None => language.phrase(answer.outcome.name()),
    }
}

fn headroom(language: Language, platform: &Platform<'_>) -> Option<String> {
    let headroom = platform.headroom().filter(|_| platform.outcome == Outcome::Fits)?;
    let [used, times] = [100.0 * platform.used?.value, headroom.value]
        .map(|value| language.number(value, Digits::Significant(3)));
    let values = [("used", used.as_str()), ("times", &times)];
    let [known, printed] = match platform.is_headroom_bound() {
        true => ["capacity_headroom_at_least", "capacity_headroom_printed_at_least"],
        false => ["capacity_headroom", "capacity_headroom_printed"],
    };
    Some(match headroom.low.zip(headroom.high) {
        Some((low, high)) => {
            let [low, high] = [low, high].map(|end| language.number(end, Digits::Significant(3)));
            language.say(known, &[&values[..], &[("low", &low), ("high", &high)]].concat())
        }
        None => language.say(printed, &values),
    })
}

fn first(language: Language, platform: &Platform<'_>) -> Option<String> {
    Some(match platform.first? {
        First::Component(component, times) => {
            let name = language.phrase(component.name());
            let times = language.number(times, Digits::Significant(3));
            language.say("capacity_first", &[("component", &name), ("times", &times)])
        }
        First::Cause(cause) => {
            let limit = language.say(&format!("limit_{}", cause.code()), &[]);
            language.say("capacity_cause", &[("limit", &limit)])
        }
    })
}

/// The smallest and the cheapest that fits, and what may be smaller or cheaper.
fn choices<'a>(
    language: Language,
    platforms: &'a [Platform<'_>],
) -> impl Iterator<Item = String> + 'a {
    let fitting = platforms.iter().filter(|platform| platform.outcome == Outcome::Fits).count();
    let named = move |key: &str, value: fn(&Platform<'_>) -> Option<f64>| {
        let found = least(platforms, value);
        let names: Vec<String> = found.iter().map(|platform| platform.name.to_string()).collect();
        let figure = value(found.first()?)?;
        let figure = language.number(figure, whole_digits(figure));
        let values = [("names", language.list(&names)), ("figure", figure)];
        let values: Vec<(&str, &str)> =
            values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Some(language.say(key, &values))
    };
    let unknown = move |key: &str, value: fn(&Platform<'_>) -> Option<f64>| {
        let fits = platforms.iter().filter(|platform| platform.outcome == Outcome::Fits);
        let without: Vec<String> = fits
            .filter(|platform| value(platform).is_none())
            .map(|platform| platform.name.to_string())
            .collect();
        let some_known = without.len() < fitting;
        (!without.is_empty() && some_known)
            .then(|| language.say(key, &[("names", &language.list(&without))]))
    };
    let none = (fitting == 0).then(|| language.phrase("No platform is known to carry it."));
    let doubtful = describe_doubtful(language, platforms).filter(|_| fitting == 0);
    let all = [
        none,
        doubtful,
        named("capacity_smallest", cores),
        unknown("capacity_no_cores", cores),
        describe_cheapest(language, platforms),
        unknown("capacity_no_price", cost),
        describe_open(language, platforms),
    ];
    all.into_iter().flatten()
}

/// The cheapest that fits, or why that is not known.
fn describe_cheapest(language: Language, platforms: &[Platform<'_>]) -> Option<String> {
    match cheapest(platforms) {
        Cheapest::Known(found) => {
            let names: Vec<String> = found.iter().map(|one| one.name.to_string()).collect();
            let first = found.first()?;
            let currency = first.price.map_or("", |price| price.currency.as_str());
            let figure = cost_text(language, first)?;
            let values = [
                ("names", language.list(&names)),
                ("figure", figure),
                ("currency", currency.into()),
            ];
            let values = values.each_ref().map(|(name, value)| (*name, value.as_str()));
            Some(language.say("capacity_cheapest", &values))
        }
        Cheapest::Open(open) => {
            let one = |platform: &&Platform<'_>| {
                let cost = cost_text(language, platform).unwrap_or_default();
                let options = platform.unpriced.join(", ");
                let values = [("name", platform.name), ("cost", &cost), ("options", &options)];
                language.say("{name} costs {cost} and used {options}", &values)
            };
            let without = open.iter().map(one).collect::<Vec<_>>().join("; ");
            let sentence = "Which platform is the cheapest that fits is not known, because options \
                            have no price: {without}.";
            Some(language.say(sentence, &[("without", &without)]))
        }
    }
}

/// The answers of platforms by figures with a doubt, where none is known to fit.
fn describe_doubtful(language: Language, platforms: &[Platform<'_>]) -> Option<String> {
    let one = |platform: &Platform<'_>| {
        let answer = language.sentence_grouped(&platform.doubtful_answer()?);
        Some(format!("{} {answer}", platform.name))
    };
    let answers = platforms.iter().filter_map(one).collect::<Vec<_>>().join("; ");
    (!answers.is_empty())
        .then(|| language.say("With a doubt: {answers}.", &[("answers", &answers)]))
}

/// The platforms of which it is not known whether they fit, and which may be smaller or cheaper
/// than those that are named.
fn describe_open(language: Language, platforms: &[Platform<'_>]) -> Option<String> {
    let may_be_less = |platform: &Platform<'_>, value: fn(&Platform<'_>) -> Option<f64>| {
        let named = least(platforms, value).first().and_then(|one| value(one));
        named.is_some_and(|named| value(platform).is_none_or(|own| own < named))
    };
    let open = platforms.iter().filter(|platform| platform.outcome == Outcome::NotCovered);
    let names: Vec<String> = open
        .filter(|platform| may_be_less(platform, cores) || may_be_less(platform, cost))
        .map(|platform| platform.name.to_string())
        .collect();
    let said = "Whether a smaller or cheaper one fits is not known: {names}.";
    (!names.is_empty()).then(|| language.say(said, &[("names", &language.list(&names))]))
}

fn cost(platform: &Platform<'_>) -> Option<f64> {
    platform.cost()
}

/// The cost with the digits that the table has; of a lower bound `at least 100`.
fn cost_text(language: Language, platform: &Platform<'_>) -> Option<String> {
    let cost = platform.cost()?;
    let text = language.number(cost, whole_digits(cost));
    Some(at_least(language, text, platform.is_cost_bound()))
}

fn cores(platform: &Platform<'_>) -> Option<f64> {
    platform.cores
}

fn sizes(language: Language, platforms: &[Platform<'_>]) -> Table {
    let columns = size_columns();
    let mut table = Table::declared(language, "platforms", &columns);
    platforms.iter().for_each(|platform| table.add_row(&columns, platform));
    table.drop_empty_columns();
    table
}

fn size_columns<'a>() -> [Declared<Platform<'a>>; 8] {
    [
        Declared::new("Platform", "", 0, |platform, _| Cell::text(platform.name)),
        Declared::new("Answer", "", 0, |platform, table| {
            Cell::text(answer_of(table.language, platform))
        }),
        Declared::new("Used", "%", 0, |platform, table| {
            used_cell(table, platform.used, platform.is_headroom_bound())
        }),
        Declared::new("Headroom", "x", 1, |platform, _| {
            let is_bound = platform.is_headroom_bound();
            platform.headroom().map_or(Cell::Empty, |span| headroom_cell(span.value, is_bound))
        }),
        Declared::new("Cores", "", 1, |platform, _| whole(platform.cores)),
        Declared::new("Licences", "", 3, |platform, _| {
            whole(platform.price.map(|price| price.licences()))
        }),
        Declared::new("Cost", "", 2, |platform, table| cost_cell(table.language, platform)),
        Declared::new("Currency", "", 2, |platform, _| {
            platform.price.map_or(Cell::Empty, |price| Cell::text(&price.currency))
        }),
    ]
}

fn whole(value: Option<f64>) -> Cell {
    value.map_or(Cell::Empty, |value| number(value, whole_digits(value)))
}

/// Cost as a number; a lower bound as text, so that nobody takes it for the cost.
fn cost_cell(language: Language, platform: &Platform<'_>) -> Cell {
    match platform.cost() {
        Some(cost) if platform.is_cost_bound() => {
            Cell::text(at_least(language, language.number(cost, whole_digits(cost)), true))
        }
        Some(cost) => number(cost, whole_digits(cost)),
        None => Cell::Empty,
    }
}

/// Digits of a number of cores or of a cost: two decimals unless it is whole.
fn whole_digits(value: f64) -> Digits {
    if value.fract() == 0.0 { Digits::Decimals(0) } else { Digits::Decimals(2) }
}

fn number(value: f64, digits: Digits) -> Cell {
    Cell::Number { value, digits, verdict: None }
}

/// A figure of a test, marked by the verdict on it.
fn judged_cell(value: f64, verdict: Status) -> Cell {
    Cell::Number { value, digits: RATE, verdict: Some(verdict) }
}

/// A number that follows from a maximum that is a lower bound.
fn judged_share(value: f64) -> Cell {
    Cell::Number { value, digits: SHARE, verdict: Some(Status::Conditional) }
}

/// The multiple of the load that fits into a maximum; a lower bound where that is one.
fn headroom_cell(value: f64, is_bound: bool) -> Cell {
    match is_bound {
        true => judged_share(value).at_least(),
        false => number(value, SHARE),
    }
}

/// The share of a maximum that is needed, in percent; an upper bound where that is a lower one.
fn used_cell(table: &mut Table, used: Option<Span>, is_bound: bool) -> Cell {
    let Some(used) = used else { return table.unknown("no valid figure with an interval") };
    let value = 100.0 * used.value;
    match is_bound {
        true => judged_share(value).at_most(),
        false => number(value, SHARE),
    }
}

/// A requirement on a platform.
struct NeedRow<'a> {
    platform: &'a str,
    answer: &'a Answer<'a>,
}

fn needs(language: Language, platforms: &[Platform<'_>]) -> Table {
    let columns = need_columns();
    let mut table = Table::declared(language, "needs", &columns);
    for platform in platforms {
        for answer in &platform.answers {
            table.add_row(&columns, &NeedRow { platform: platform.name, answer });
            table.remarks.extend(remarks(language, platform.name, answer));
        }
    }
    table.drop_empty_columns();
    table
}

fn need_columns<'a>() -> [Declared<NeedRow<'a>>; 15] {
    [
        Declared::new("Platform", "", 0, |row, _| Cell::text(row.platform)),
        Declared::new("Workload", "", 0, |row, _| Cell::text(row.answer.need.label())),
        Declared::new("Needed", "", 0, |row, _| {
            number(row.answer.need.rate, whole_or(row.answer.need.rate))
        }),
        Declared::new("Unit", "", 0, |row, _| Cell::text(&row.answer.need.unit)),
        Declared::new("Promise", "", 0, |row, _| {
            row.answer.need.slo.map_or(Cell::Empty, |slo| Cell::text(slo.to_string()))
        }),
        Declared::new("Answer", "", 0, |row, table| {
            Cell::text(answer_to_need(table.language, row.answer))
        }),
        Declared::new("Jobs", "", 0, |row, _| jobs_cell(row.answer.at)),
        Declared::new("Time", "ms", 1, |row, _| {
            time_ms(row.answer).map_or(Cell::Empty, |time| judged_cell(time, Status::Valid))
        }),
        Declared::new("Most", "", 0, |row, _| {
            let most = row.answer.most.zip(row.answer.most_status());
            most.map_or(Cell::Empty, |(most, status)| judged_cell(most.figure.value, status))
        }),
        Declared::new("low", "", 3, |row, _| end_cell(row.most().and_then(|span| span.low), RATE)),
        Declared::new("high", "", 3, |row, _| {
            end_cell(row.most().and_then(|span| span.high), RATE)
        }),
        Declared::new("Jobs at most", "", 2, |row, _| jobs_cell(row.answer.most)),
        Declared::new("Used", "%", 0, |row, table| {
            used_cell(table, row.answer.used, row.answer.is_bound())
        }),
        Declared::new("low", "%", 4, |row, _| {
            let low = row.answer.used.and_then(|used| used.low);
            end_cell(low.map(|low| 100.0 * low), SHARE)
        }),
        Declared::new("high", "%", 4, |row, _| {
            let high = row.answer.used.and_then(|used| used.high);
            end_cell(high.map(|high| 100.0 * high), SHARE)
        }),
    ]
}

impl NeedRow<'_> {
    /// The highest throughput with its interval, if that is known.
    fn most(&self) -> Option<Span> {
        self.answer.most.and_then(|most| most.span())
    }
}

fn jobs_cell(point: Option<Point<'_>>) -> Cell {
    Cell::count_if_known(point.and_then(|point| point.figure.jobs))
}

/// An end of an interval, if it is known.
fn end_cell(value: Option<f64>, digits: Digits) -> Cell {
    value.map_or(Cell::Empty, |value| number(value, digits))
}

fn whole_or(value: f64) -> Digits {
    if value.fract() == 0.0 { Digits::Decimals(0) } else { RATE }
}

/// The time that was promised, at the jobs that do it, in ms.
fn time_ms(answer: &Answer<'_>) -> Option<f64> {
    Some(answer.at?.time_us(answer.need.slo?)? / 1000.0)
}

/// Remarks on an answer: why a requirement does not fit, that its maximum is a lower bound, how its
/// times were taken, and what was left out.
fn remarks(language: Language, platform: &str, answer: &Answer<'_>) -> Vec<String> {
    let label = format!("{platform}, {}", answer.need.label());
    let named = |text: String| format!("{label}: {text}");
    let why = answer.why.as_ref().map(|why| language.sentence_grouped(why));
    let timed = answer.at.filter(|_| answer.need.slo.is_some()).map(|at| match at.is_open {
        true => language.phrase("response times of an open loop"),
        false => language.phrase("service times of a closed loop"),
    });
    let bounds = answer.lower_bounds();
    let bounds = bounds.iter().map(|bound| language.sentence_grouped(bound));
    let drive = answer.most.map(|most| language.phrase(drive(&most)));
    let left_out =
        (answer.left_out > 0).then(|| language.count("capacity_left_out", answer.left_out, &[]));
    let further = [timed, drive, left_out].into_iter().flatten();
    why.into_iter().chain(bounds).chain(further).map(named).collect()
}

fn drive(most: &Point<'_>) -> &'static str {
    match (most.figure.test.published(), most.figure.test.drive()) {
        (Some(_), _) => "as printed, without an interval",
        (None, Drive::Client) => "measured from a client",
        (None, Drive::Database) => "measured inside the database, without the way to a client",
    }
}

/// The use of a component by a requirement, or by all of them.
struct ComponentRow<'a> {
    platform: &'a str,
    component: Component,
    workload: String,
    /// Share of the component's maximum, or the reason why it is not known.
    share: Result<f64, Sentence>,
}

/// A row of each requirement, and of all together if there are several.
fn components(language: Language, platforms: &[Platform<'_>]) -> Table {
    let columns = component_columns();
    let mut table = Table::declared(language, "components", &columns);
    for platform in platforms {
        for used in &platform.uses {
            let row = |workload, share| {
                let (platform, component) = (platform.name, used.component);
                ComponentRow { platform, component, workload, share }
            };
            for (answer, share) in platform.answers.iter().zip(&used.each) {
                table.add_row(&columns, &row(answer.need.label(), share.clone()));
            }
            if platform.answers.len() > 1 {
                let why = || Sentence::new("it is not known for every requirement");
                let all = row(language.phrase("all"), used.total.ok_or_else(why));
                table.add_row(&columns, &all);
            }
        }
    }
    table
}

fn component_columns<'a>() -> [Declared<ComponentRow<'a>>; 5] {
    [
        Declared::new("Platform", "", 0, |row, _| Cell::text(row.platform)),
        Declared::new("Component", "", 0, |row, table| {
            Cell::text(table.language.phrase(row.component.name()))
        }),
        Declared::new("Workload", "", 1, |row, _| Cell::text(&row.workload)),
        Declared::new("Used", "%", 0, |row, table| {
            table.unjudged(row.share.clone().map(|share| 100.0 * share))
        }),
        Declared::new("Full at load", "x", 0, |row, _| {
            let share = row.share.as_ref().ok().filter(|share| **share > 0.0);
            share.map_or(Cell::Empty, |share| number(1.0 / share, SHARE))
        }),
    ]
}

/// Data for programs.
fn data(input: &Input, platforms: &[Platform<'_>]) -> Value {
    let names = |found: Vec<&Platform<'_>>| {
        found.iter().map(|platform| platform.name.to_string()).collect::<Vec<_>>()
    };
    let cheapest = match cheapest(platforms) {
        Cheapest::Known(found) => found,
        Cheapest::Open(_) => Vec::new(),
    };
    json!({
        "schema_version": SCHEMA_VERSION,
        "needs": input.needs.iter().map(need_data).collect::<Vec<_>>(),
        "platforms": platforms.iter().map(platform_data).collect::<Vec<_>>(),
        "smallest": names(least(platforms, cores)),
        "cheapest": names(cheapest),
    })
}

fn need_data(need: &Need) -> Value {
    json!({
        "workload": need.workload,
        "params": need.params,
        "drive": need.drive.map(|drive| drive.name()),
        "rate": need.rate,
        "unit": need.unit,
        "promise": need.slo.map(|slo| slo.to_string()),
    })
}

fn platform_data(platform: &Platform<'_>) -> Value {
    let (component, cause) = match platform.first {
        Some(First::Component(component, _)) => (Some(component.code()), None),
        Some(First::Cause(cause)) => (None, Some(cause.code())),
        None => (None, None),
    };
    json!({
        "name": platform.name,
        "run_id": platform.run.id,
        "outcome": platform.outcome.code(),
        "why": platform.why.as_ref().map(ToString::to_string),
        "doubtful_times": platform.doubtful_times(),
        "settling_command": platform.settling_command(),
        "needs": platform.answers.iter().map(answer_data).collect::<Vec<_>>(),
        "used": span_data(platform.used),
        "headroom": span_data(platform.headroom()),
        "is_headroom_lower_bound": platform.is_headroom_bound(),
        "components": platform.uses.iter().map(use_data).collect::<Vec<_>>(),
        "first_component": component,
        "first_cause": cause,
        "cores": platform.cores,
        "licences": platform.price.map(|price| price.licences()),
        "cost": platform.cost(),
        "is_cost_lower_bound": platform.is_cost_bound(),
        "unpriced_options": platform.unpriced,
        "currency": platform.price.map(|price| price.currency.as_str()),
    })
}

fn span_data(span: Option<Span>) -> Value {
    span.map_or(
        Value::Null,
        |span| json!({ "value": span.value, "low": span.low, "high": span.high }),
    )
}

fn answer_data(answer: &Answer<'_>) -> Value {
    let jobs = |point: Option<Point<'_>>| point.and_then(|point| point.figure.jobs);
    let drive = answer.most.map(|most| most.figure.test.drive().name());
    json!({
        "need": answer.need.label(),
        "outcome": answer.outcome.code(),
        "why": answer.why.as_ref().map(ToString::to_string),
        "doubtful_times": answer.doubtful_times(),
        "doubtful_jobs": jobs(answer.doubt),
        "jobs": jobs(answer.at),
        "time_ms": time_ms(answer),
        "open_loop": answer.at.map(|at| at.is_open),
        "most": span_data(answer.most.map(|most| {
            most.span().unwrap_or(Span { value: most.figure.value, ..Span::default() })
        })),
        "most_jobs": jobs(answer.most),
        "most_verdict": answer.most_status().map(|status| status.to_string()),
        "drive": drive,
        "used": span_data(answer.used),
        "is_used_upper_bound": answer.is_bound(),
        "left_out": answer.left_out,
    })
}

fn use_data(used: &Use) -> Value {
    let each = used.each.iter().map(|share| share.as_ref().ok()).collect::<Vec<_>>();
    let unknown = used.each.iter().find_map(|share| share.as_ref().err()).map(ToString::to_string);
    json!({
        "component": used.component.code(),
        "is_upper_limit": used.component == Component::Device,
        "used": used.total,
        "each": each,
        "unknown": unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_core::analysis::compare::fixture::run;
    use dbdyno_core::analysis::fixture::at;
    use dbdyno_core::analysis::published_checks::fixture::judged;
    use dbdyno_core::model::Test;

    #[test]
    fn what_follows_from_a_maximum_that_is_a_lower_bound_is_told_as_a_bound() {
        let run = run("a");
        let asked = [Need::parse("SRV-QUERY1 100 qps").unwrap()];
        let cells = |tests: &[Test]| {
            let platforms = [ask(Side { name: "a", run: &run, tests, price: None }, &asked)];
            let of_need = needs(Language::English, &platforms);
            let used = of_need.columns.iter().position(|column| column.name == "Used").unwrap();
            let of_platform = sizes(Language::English, &platforms);
            [&of_platform.rows[0][2..4], &of_need.rows[0][used..=used]].concat()
        };
        let number = |value| Cell::Number { value, digits: SHARE, verdict: None };
        let alone = [judged(at(1, 200.0).into(), Status::Valid)];
        assert_eq!(cells(&alone), [number(50.0), number(2.0), number(50.0)]);
        let better = judged(at(2, 260.0).into(), Status::Conditional);
        let (digits, verdict) = (SHARE, Some(Status::Conditional));
        let used = Cell::Number { value: 50.0, digits, verdict }.at_most();
        let headroom = Cell::Number { value: 2.0, digits, verdict }.at_least();
        let beside_better = [alone[0].clone(), better];
        assert_eq!(cells(&beside_better), [used.clone(), headroom, used]);
    }

    /// Sentences on two platforms with these cores and these verdicts on 200 qps, of which half are
    /// needed.
    fn choices_of(cores: [&str; 2], statuses: [Status; 2]) -> Vec<String> {
        let mut runs = [run("a"), run("b")];
        for (run, cores) in runs.iter_mut().zip(cores) {
            run.disclosure.set("hardware", "cores", cores);
        }
        let tests = statuses.map(|status| [judged(at(1, 200.0).into(), status)]);
        let needs = [Need::parse("SRV-QUERY1 100 qps").unwrap()];
        let platforms = [0, 1].map(|at| {
            let name = ["a", "b"][at];
            ask(Side { name, run: &runs[at], tests: &tests[at], price: None }, &needs)
        });
        choices(Language::English, &platforms).collect()
    }

    #[test]
    fn a_smaller_platform_of_which_it_is_not_known_stands_beside_the_smallest_that_fits() {
        let said = |cores: [&str; 2], status: Status| choices_of(cores, [Status::Valid, status]);
        let smallest = "The smallest that fits: a, with 16 cores.";
        let open = "Whether a smaller or cheaper one fits is not known: b.";
        assert_eq!(said(["16", "4"], Status::Conditional), [smallest, open]);
        assert_eq!(said(["16", "32"], Status::Conditional), [smallest]);
        assert_eq!(said(["16", "32"], Status::Valid), [smallest]);
    }

    #[test]
    fn where_none_is_known_to_fit_the_answers_with_a_doubt_are_told() {
        let said = choices_of(["16", "4"], [Status::Invalid, Status::Conditional]);
        let doubtful = "With a doubt: b fits 2.00 times by a conditional figure.";
        assert_eq!(said, ["No platform is known to carry it.", doubtful]);
        let unknown = choices_of(["16", "4"], [Status::Invalid; 2]);
        assert_eq!(unknown, ["No platform is known to carry it."]);
    }
}
