//! `ab-test A B`: blocks of trials of both sides until it is known whether they differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use super::{ending, report};
use crate::analysis::ab_test::{Outcome, Row, Rule, Unpaired};
use crate::catalog::Catalog;
use crate::cli::args::{AbTestArgs, DataArgs, NameArgs, PlaceArgs, RunArgs, TargetArgs};
use crate::cli::console::Console;
use crate::cli::context::{Context, interrupt};
use crate::cli::values::{Label, Setting};
use crate::cli::{file, forecast, out, paths, request};
use crate::engine::{DataPlace, find};
use crate::error::{Error, Kind, Result, quote};
use crate::model::{Status, Target};
use crate::report::ab_test::{AB_TEST, SETTINGS, SIDE, TrialsReport, rows_of, unpaired_of};
use crate::report::format::junit::Junit;
use crate::report::{Input, RunTests};
use crate::run::ab_test::{self, AbTestEnd, Trials};
use crate::run::schedule;
use crate::run::{Event, Request, RunContext};
use crate::serve::stored;
use crate::store::{self, Store};

/// The sides, as runs are labelled and directories named.
const SIDES: [&str; 2] = ["A", "B"];

/// Measures, prints or writes; a loss beyond `--fail-below` is an error of kind check.
///
/// # Errors
/// Usage, either target, interrupted; a figure that is worse than allowed.
pub fn ab_test(context: &Context, args: &AbTestArgs) -> Result<()> {
    let format = report::form(context, &TrialsReport, args.out.output.as_deref())?;
    for path in args.out.output.iter().chain(&args.limit.junit) {
        file::refuse_results(context, path)?;
        file::check_parent(path)?;
    }
    let catalog = context.catalog()?;
    let started = store::now();
    let mut requests = [side(&catalog, args, 0, &started)?, side(&catalog, args, 1, &started)?];
    // Both sides draw the same keys.
    requests[1].plan.key_seed = requests[0].plan.key_seed;
    two_databases(&requests[0].target, &requests[1].target)?;
    let mut store = context.store()?;
    let console = Console::new(context, true);
    let directories = Directories::new(&requests);
    let asked = AskedTrials { args, catalog: &catalog, requests: &requests };
    let ended = measure(context, &asked, &console, &mut store);
    directories.remove();
    console.finish()?;
    let ended = ended?;
    let input = input(&store, &ended, catalog, args)?;
    let (rows, unpaired) = (rows_of(&input), unpaired_of(&input));
    let document = report::build(&TrialsReport, format, input);
    if let Some(path) = &args.limit.junit {
        report::show(context, &Junit, &document, Some(path))?;
    }
    report::show(context, format, &document, args.out.output.as_deref())?;
    if !context.global.quiet {
        out::report(&ending::describe_sides_storage(context, &ended));
    }
    judge(args, &ended, &rows, &unpaired)
}

/// An A/B test as it is asked for.
struct AskedTrials<'a> {
    args: &'a AbTestArgs,
    catalog: &'a Catalog,
    /// Requests of both sides.
    requests: &'a [Request; 2],
}

/// Checks the plans, then measures.
fn measure(
    context: &Context,
    asked: &AskedTrials<'_>,
    console: &Console,
    store: &mut Store,
) -> Result<AbTestEnd> {
    let AskedTrials { args, catalog, requests } = *asked;
    let plans = [requests[0].plan(catalog)?, requests[1].plan(catalog)?];
    if let Some(data_dir) = &args.data.data_dir {
        paths::check_parent(&paths::data_dir(Some(data_dir)), "--data-dir")?;
    }
    beside(&requests[0], &requests[1]).check_fit(catalog, &plans[0])?;
    beside(&requests[1], &requests[0]).check_fit(catalog, &plans[1])?;
    let block_s = plans.iter().map(forecast::timed_s).sum();
    let figures = plans[0].selections.iter().map(|one| schedule::tests(&one.ramp) as usize).sum();
    let rule = Rule { margin: args.margin.0, figures };
    // Said with the first event: a refused side has one line.
    let note = Mutex::new(too_short(&rule, block_s, args.max_duration.0));
    let interrupt = interrupt()?;
    // One password, if it has to be asked for, is that of both.
    request::with_password(context, &requests[0], |first| {
        let second = Request { password: first.password.clone(), ..requests[1].clone() };
        let events = |event: Event<'_>| {
            let unsaid = note.lock().take();
            unsaid.iter().for_each(|note| console.note(note));
            show_event(console, &event);
        };
        let side_context = |request, plan| RunContext {
            catalog,
            request,
            plan,
            interrupt: &interrupt,
            events: &events,
            workers: None,
        };
        let sides = [side_context(first, &plans[0]), side_context(&second, &plans[1])];
        let trials =
            Trials { sides, margin: args.margin.0, most_s: args.max_duration.0, duet: args.duet };
        ab_test::run(&trials, store)
    })
}

/// Note before trials that cannot decide anything in the time that is allowed.
fn too_short(rule: &Rule, block_s: f64, most_s: f64) -> Option<String> {
    let blocks = rule.fewest_blocks();
    let needed_s = blocks as f64 * block_s;
    (most_s < needed_s).then(|| {
        format!(
            "--max-duration: {} is too short: fewer than {blocks} blocks decide nothing, and \
             they take about {}; give at least --max-duration {:.0}s",
            forecast::duration(most_s),
            forecast::duration(needed_s),
            needed_s.ceil()
        )
    })
}

/// Every event but the single trials: of them there are many, and the report counts what is wrong
/// with them.
fn show_event(console: &Console, event: &Event<'_>) {
    if !matches!(event, Event::TestDone(_)) {
        console.show(event);
    }
}

/// The request of a side.
fn side(catalog: &Catalog, args: &AbTestArgs, at: usize, started: &str) -> Result<Request> {
    let own =
        [(&args.a, &args.set_a, &args.server_bin_a), (&args.b, &args.set_b, &args.server_bin_b)];
    let (target, set, server_bin) = own[at];
    let set: Vec<&Setting> = args.set.iter().chain(set).collect();
    let labels = [
        (AB_TEST, started.to_string()),
        (SIDE, SIDES[at].to_string()),
        (SETTINGS, assignments_of(&set)),
    ];
    let labels = labels.into_iter().filter(|(_, value)| !value.is_empty());
    let labels = labels.map(|(key, value)| Label { key: key.into(), value });
    let data_dir = paths::data_dir(args.data.data_dir.as_ref());
    let run = RunArgs {
        target: TargetArgs {
            place: PlaceArgs {
                target: target.clone(),
                data: DataArgs {
                    data_dir: Some(
                        data_dir.join(format!("campaign-{}", SIDES[at].to_ascii_lowercase())),
                    ),
                    ..args.data.clone()
                },
                server_bin: server_bin.clone(),
                ..PlaceArgs::default()
            },
            selection: args.selection.clone(),
            without_database: true,
            ..TargetArgs::default()
        },
        jobs: Some(args.jobs.clone()),
        duration: Some(args.duration),
        warmup: Some(args.warmup),
        repeat: Some(1),
        key_seed: args.key_seed,
        stated: args.stated.clone(),
        naming: NameArgs {
            name: args.naming.name.as_ref().map(|name| format!("{name}-{}", SIDES[at])),
            label: args.naming.label.iter().cloned().chain(labels).collect(),
        },
        ..RunArgs::default()
    };
    let request = request::of_run(catalog, &run)?;
    Ok(Request {
        settings: settings(&request, &set)?,
        margin: Some(args.margin.0),
        duet: args.duet,
        ..request
    })
}

fn assignments_of(set: &[&Setting]) -> String {
    set.iter()
        .map(|setting| format!("{}={}", setting.name, setting.value))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The settings of a side by name.
fn settings(request: &Request, set: &[&Setting]) -> Result<BTreeMap<String, String>> {
    if let (Target::Existing { .. }, Some(first)) = (&request.target, set.first()) {
        let what = format!(
            "{} cannot be set on an existing server, which has settings of its own",
            quote(&first.name)
        );
        return Err(Error::usage("--set", what)
            .advise("name an engine instead of a URL for a private server"));
    }
    // The last one counts: those of a side stand behind those of both.
    Ok(set.iter().map(|setting| (setting.name.clone(), setting.value.clone())).collect())
}

/// Two sides in one database would wait for each other, however their URLs spell it.
fn two_databases(a: &Target, b: &Target) -> Result<()> {
    let places = [a, b].map(place_of);
    if a != b && (places[0].is_none() || places[0] != places[1]) {
        return Ok(());
    }
    let (what, has_parts) = match &places[0] {
        Some((_, place)) => {
            let what = format!("A and B are the same database, {}", quote(place.to_string()));
            (what, place.part.is_some())
        }
        None if matches!(a, Target::Existing { .. }) => {
            ("A and B are the same database".to_owned(), true)
        }
        // Each side has files of its own.
        None => return Ok(()),
    };
    let advice = match has_parts {
        true => "give two databases, of one server or of two",
        false => "give two servers: dbdyno has one database on each for its tables",
    };
    Err(Error::usage("ab-test", what).advise(advice))
}

/// The engine of an existing server and the place of our tables there.
fn place_of(target: &Target) -> Option<(&str, DataPlace)> {
    let Target::Existing { engine, url } = target else { return None };
    Some((engine.as_str(), find(engine)?.place_of(url)?))
}

/// The first side, with the memory of both if both are ours.
fn beside(first: &Request, second: &Request) -> Request {
    let mut both = first.clone();
    let other_mb = second.profile.memory_mb.filter(|_| is_server(second)).unwrap_or_default();
    both.profile.memory_mb = both.profile.memory_mb.map(|mb| mb + other_mb);
    both
}

fn is_server(request: &Request) -> bool {
    matches!(request.target, Target::Private { .. })
}

/// Both runs as they are stored.
fn input(store: &Store, ended: &AbTestEnd, catalog: Catalog, args: &AbTestArgs) -> Result<Input> {
    let runs = ended
        .runs
        .iter()
        .map(|id| stored::side(store, &id.to_string()))
        .collect::<Result<Vec<_>>>()?;
    let (groups, fail_below) =
        (catalog.groups().to_vec(), args.limit.fail_below.unwrap_or_default().0);
    let command = paths::command_line();
    Ok(Input {
        runs,
        groups,
        catalog,
        fail_below,
        command,
        language: args.out.language,
        ..Input::default()
    })
}

/// The A/B test that a stored run is a side of, for a report of it.
///
/// # Errors
/// If it is of none, or the other side is gone.
pub fn read_ab_test(context: &Context, runs: &[String]) -> Result<Input> {
    let store = context.store_to_read()?;
    let named = store.run(runs.first().map_or("last", String::as_str))?;
    let sides = stored::sides(&store, &named)?;
    match (sides.len(), runs.iter().skip(1).all(|run| sides.iter().any(|side| is_named(side, run))))
    {
        (2, true) => {}
        (0, _) => {
            return Err(not_an_ab_test(&named.id.to_string(), "is not a side of an A/B test"));
        }
        (2, false) => {
            return Err(not_an_ab_test(&runs[1], "is not the other side of that A/B test"));
        }
        _ => {
            return Err(not_an_ab_test(
                &named.id.to_string(),
                "has lost the other side of its A/B test",
            ));
        }
    }
    let catalog = context.catalog()?;
    Ok(Input {
        runs: sides,
        groups: catalog.groups().to_vec(),
        catalog,
        command: paths::command_line(),
        ..Input::default()
    })
}

fn is_named(side: &RunTests, run: &str) -> bool {
    side.run.id.to_string() == run || side.run.name.as_deref() == Some(run)
}

fn not_an_ab_test(run: &str, what: &str) -> Error {
    Error::usage(format!("run {}", quote(run)), what)
        .advise("'dbdyno results list' shows the runs of A/B tests")
}

/// Judges the end: stopped, or with a figure that is worse than allowed.
fn judge(args: &AbTestArgs, ended: &AbTestEnd, rows: &[Row], unpaired: &[Unpaired]) -> Result<()> {
    ending::check_ab_test(ended)?;
    match args.limit.fail_below {
        Some(below) => judge_losses(below.0, rows, unpaired),
        None => Ok(()),
    }
}

/// With `--fail-below`: an error that names figures that are worse than allowed, became invalid or
/// are lost, and an A/B test without any figure to judge by.
fn judge_losses(below: f64, rows: &[Row], unpaired: &[Unpaired]) -> Result<()> {
    let found: Vec<String> = [
        worse(rows, below),
        became_invalid(rows),
        describe_lost(unpaired),
        nothing_to_judge(rows, unpaired),
    ]
    .into_iter()
    .flatten()
    .collect();
    let open = [describe_undecided(rows), describe_invalid(rows)].into_iter().flatten();
    if found.is_empty() {
        let open: Vec<String> = open.collect();
        if !open.is_empty() {
            out::report(&format!("--fail-below: {}; that fails nothing", open.join(", ")));
        }
        return Ok(());
    }
    let found: Vec<String> = found.into_iter().chain(open).collect();
    Err(Error::new(Kind::Check, "--fail-below", found.join(", ")).advise("see the report"))
}

/// The figures that are worse than allowed.
fn worse(rows: &[Row], below: f64) -> Option<String> {
    let is_worse = |row: &&Row| row.is_failure(below) && !row.has_become_invalid();
    let failed: Vec<&Row> = rows.iter().filter(is_worse).collect();
    let worst = failed.iter().max_by(|a, b| a.loss().total_cmp(&b.loss()))?;
    let how = "worse than allowed";
    Some(ending::describe_worse(failed.len(), how, &worst.label(), worst.loss()))
}

/// The figures that are invalid on side B alone.
fn became_invalid(rows: &[Row]) -> Option<String> {
    let failed: Vec<&Row> = rows.iter().filter(|row| row.has_become_invalid()).collect();
    let first = failed.first()?;
    let figures = if failed.len() == 1 { "figure" } else { "figures" };
    let (label, reasons) = (first.label(), first.left_out_reasons());
    Some(format!("{} {figures} became invalid, first {label} ({reasons})", failed.len()))
}

/// The sound figures of side A that B lacks.
fn describe_lost(unpaired: &[Unpaired]) -> Option<String> {
    let lost: Vec<&Unpaired> = unpaired.iter().filter(|one| one.is_lost()).collect();
    let first = lost.first()?;
    Some(format!("{} lost, first {}", ending::figures_are(lost.len()), first.label))
}

/// An A/B test whose side A has no figure that can be used.
fn nothing_to_judge(rows: &[Row], unpaired: &[Unpaired]) -> Option<String> {
    let is_nothing =
        rows.iter().all(|row| row.is_base_invalid) && !unpaired.iter().any(Unpaired::is_lost);
    let first = rows.iter().find(|row| row.is_base_invalid);
    let why = first.map(|row| format!(" ({})", row.left_out_reasons())).unwrap_or_default();
    is_nothing.then(|| format!("side A has no figure to judge by{why}"))
}

/// Figures that pass because they are not decided.
fn describe_undecided(rows: &[Row]) -> Option<String> {
    let is_open = |row: &&Row| row.outcome == Outcome::Undecided && row.verdict != Status::Invalid;
    let open = rows.iter().filter(is_open).count();
    (open > 0).then(|| format!("{open} of {} figures undecided", rows.len()))
}

/// Figures that pass although nothing can be said of them: not B alone is invalid.
fn describe_invalid(rows: &[Row]) -> Option<String> {
    let is_invalid = |row: &&Row| row.verdict == Status::Invalid && !row.has_become_invalid();
    let invalid: Vec<&Row> = rows.iter().filter(is_invalid).collect();
    let first = invalid.first()?;
    let (label, reasons) = (first.label(), first.left_out_reasons());
    let count = invalid.len();
    Some(format!("{count} of {} figures invalid, first {label} ({reasons})", rows.len()))
}

/// The directories of the sides, which go with what was in them.
struct Directories(Vec<PathBuf>);

impl Directories {
    fn new(requests: &[Request; 2]) -> Directories {
        Directories(
            requests
                .iter()
                .filter_map(|request| request.data_dir().map(Path::to_path_buf))
                .collect(),
        )
    }

    /// A directory that is not empty holds data that somebody keeps.
    fn remove(&self) {
        for directory in &self.0 {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Refusal of two sides on existing servers of this engine.
    fn refusal(engine: &str, a: &str, b: &str) -> Option<String> {
        let target = |url: &str| Target::Existing { engine: engine.into(), url: url.into() };
        two_databases(&target(a), &target(b)).err().map(|error| error.to_string())
    }

    #[test]
    fn two_spellings_of_a_url_are_one_database() {
        let own = "postgres://ann@db1/sales";
        for same in [
            own,
            "postgres://ann@db1:5432/sales",
            "postgresql://ann@DB1/sales",
            "postgres://bob@db1/sales?sslmode=disable",
            "postgres://ann@/?host=db1&port=5432&dbname=sales",
        ] {
            let refused = refusal("postgres", own, same).unwrap();
            assert!(refused.contains("the same database, 'db1:5432/sales'"), "{refused}");
            assert!(refused.contains("two databases, of one server or of two"), "{refused}");
        }
        for other in [
            "postgres://ann@db1/stock",
            "postgres://ann@db1:5433/sales",
            "postgres://ann@db2/sales",
        ] {
            assert_eq!(refusal("postgres", own, other), None, "{other}");
        }
    }

    #[test]
    fn two_private_sides_and_those_of_two_engines_have_databases_of_their_own() {
        let private = Target::Embedded { engine: "x".into(), data_dir: "/data".into() };
        assert!(two_databases(&private, &private).is_ok());
        let existing =
            |engine: &str, url: &str| Target::Existing { engine: engine.into(), url: url.into() };
        let [a, b] = [
            existing("postgres", "postgres://ann@db1/sales"),
            existing("other", "postgres://ann@db1/sales"),
        ];
        assert!(two_databases(&a, &b).is_ok());
        // The URL of a server that nothing is known of.
        let unknown = existing("none", "none://db1");
        assert!(two_databases(&unknown, &unknown).is_err());
    }

    #[test]
    fn time_that_cannot_decide_is_said_before_it_is_spent() {
        let rule = Rule { margin: 0.03, figures: 1 };
        let blocks = rule.fewest_blocks();
        assert_eq!(too_short(&rule, 2.0, 2.0 * blocks as f64), None);
        let note = too_short(&rule, 2.0, 5.0).unwrap();
        assert!(note.contains(&format!("fewer than {blocks} blocks")), "{note}");
        assert!(note.ends_with(&format!("--max-duration {}s", 2 * blocks)), "{note}");
    }
}
