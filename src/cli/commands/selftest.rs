//! `selftest`: whether a target and this program agree, in a table and in a file that can be sent
//! on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};

use crate::analysis::crosscheck::ComparedCounter;
use crate::analysis::selftest::{Finding, PlannedTest};
use crate::catalog::Catalog;
use crate::cli::args::{SelectionArgs, SelftestArgs, TargetArgs};
use crate::cli::console::Console;
use crate::cli::context::Context;
use crate::cli::measuring::Measuring;
use crate::cli::{file, out, request};
use crate::error::{Error, Kind, Result};
use crate::model::{Counters, LatencySummary, Reason, Tally, Target};
use crate::report::anonymized;
use crate::report::format::json;
use crate::run::selftest::{self, SelfTest};
use crate::run::{Event, Request};
use crate::store::{self, Store};

/// Version of the file's form.
const FORM: u32 = 1;

/// Tests the target, prints what was found and writes it to a file.
///
/// # Errors
/// Of the target; if a data set of ours is there; of kind `Check` if a check failed.
pub fn selftest(context: &Context, args: &SelftestArgs) -> Result<()> {
    let began = Instant::now();
    let format = context.format(&["text", "json"])?;
    if args.place.keep {
        return Err(
            Error::usage("--keep", "a self-test leaves nothing behind").advise("leave it out")
        );
    }
    let mut catalog = context.catalog()?;
    catalog.lay_over_selftest()?;
    let request = request_of(&catalog, args)?;
    let plan = selftest::plan(&catalog, &request, &args.workload)?;
    let measuring = Measuring::begin(context, &catalog, &request, &plan)?;
    let path = args
        .output
        .clone()
        .unwrap_or_else(|| PathBuf::from(format!("dbdyno-selftest-{}.json", plan.engine)));
    file::refuse_results(context, &path)?;
    file::check_parent(&path)?;
    let found = measuring
        .on_console(show, |run_context| selftest::run(run_context, &mut Store::in_memory()?))?;
    let took_s = began.elapsed().as_secs_f64();
    let document = Document::new(&found, &request, args.with_names, took_s);
    file::write(context, &path, json::text(&json::value(&document)).as_bytes())?;
    show_findings(context, &found, &format, &document)?;
    if !context.global.quiet {
        out::report(&format!(
            "{took_s:.0} s; the whole result is in {}, which can be sent on",
            path.display()
        ));
    }
    conclude(&found, &path)
}

/// Figures of a moment prove nothing: only what is being done is shown.
fn show(console: &Console, event: &Event<'_>) {
    match event {
        Event::TestDone(_) | Event::TestFailed { .. } | Event::RunStarted { .. } => {}
        other => console.show(other),
    }
}

fn request_of(catalog: &Catalog, args: &SelftestArgs) -> Result<Request> {
    let selection = SelectionArgs {
        suite: vec![selftest::SUITE.into()],
        workload: Vec::new(),
        drive: args.drive,
    };
    let target = TargetArgs { place: args.place.clone(), selection, ..TargetArgs::default() };
    let mut request = request::of_target(catalog, &target)?;
    request.host_metrics = args.host.urls()?;
    Ok(request)
}

fn show_findings(
    context: &Context,
    found: &SelfTest,
    format: &str,
    document: &Document,
) -> Result<()> {
    if format == "json" {
        out::json(document)
    } else {
        let mut table = out::Table::new(&["check", "result", "evidence"]);
        let cells = |finding: &Finding| {
            [finding.check.clone(), finding.outcome.name().into(), finding.evidence.clone()]
        };
        found.findings.iter().for_each(|finding| table.row(cells(finding)));
        out::print(&table.render(context.fit()))
    }
}

/// An error if a check failed.
fn conclude(found: &SelfTest, path: &Path) -> Result<()> {
    let (failed, all) = (found.failed_count(), found.findings.len());
    if failed == 0 {
        return Ok(());
    }
    let what = format!("{failed} of {all} checks failed on {}", found.product);
    Err(Error::new(Kind::Check, "selftest", what).advise(format!("send us {}", path.display())))
}

/// The file.
#[derive(Serialize)]
struct Document {
    dbdyno_selftest: u32,
    dbdyno: &'static str,
    ended_at: String,
    took_s: f64,
    engine: String,
    product: String,
    /// Only with names.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    size_gb: Option<f64>,
    seed: Option<u64>,
    data_set_id: Option<String>,
    checks: Vec<Finding>,
    disclosure: Value,
    tests: Vec<TestEntry>,
}

#[derive(Serialize)]
struct TestEntry {
    workload: String,
    revision: u32,
    hash: String,
    params: BTreeMap<String, String>,
    drive: &'static str,
    jobs: u32,
    total_s: f64,
    total: Tally,
    latency: LatencySummary,
    counters: Counters,
    compared: Vec<ComparedCounter>,
    status: String,
    reasons: Vec<Value>,
}

impl Document {
    fn new(found: &SelfTest, request: &Request, with_names: bool, took_s: f64) -> Document {
        let names = Names {
            hidden: if with_names { Vec::new() } else { names(&request.target) },
            with_names,
        };
        let run = &found.run;
        let disclosure = if with_names {
            run.disclosure.clone()
        } else {
            anonymized::without_names(&run.disclosure)
        };
        let engine = run.engine.clone().unwrap_or_default();
        let tried = found
            .selections
            .iter()
            .zip(&found.tests)
            .map(|(selection, test)| PlannedTest { selection, test });
        let tests = tried.map(|tried| entry(tried, &engine, &names)).collect();
        let check = |finding: &Finding| Finding {
            evidence: names.hide(&finding.evidence),
            ..finding.clone()
        };
        Document {
            dbdyno_selftest: FORM,
            dbdyno: env!("CARGO_PKG_VERSION"),
            ended_at: store::now(),
            took_s,
            engine,
            product: found.product.clone(),
            target: with_names.then(|| run.target.clone()),
            size_gb: run.size_gb,
            seed: run.seed,
            data_set_id: run.data_set_id.clone(),
            checks: found.findings.iter().map(check).collect(),
            disclosure: json::value(&disclosure),
            tests,
        }
    }
}

fn entry(tried: PlannedTest<'_>, engine: &str, names: &Names) -> TestEntry {
    let test = tried.test;
    let reason = |reason: &Reason| {
        json!({
            "status": reason.status,
            "code": reason.code.as_str(),
            "text": names.hide(&reason.text),
        })
    };
    TestEntry {
        workload: test.workload.clone(),
        revision: test.revision,
        hash: test.hash.clone(),
        params: test.params.clone(),
        drive: test.drive.name(),
        jobs: test.jobs,
        total_s: test.total_s,
        total: test.total.clone(),
        latency: LatencySummary { buckets: Vec::new(), ..test.latency.clone() },
        counters: test.counters.clone(),
        compared: tried.compared(engine),
        status: test.verdict.status.to_string(),
        reasons: test.verdict.reasons.iter().map(reason).collect(),
    }
}

/// Names that a site does not reveal.
struct Names {
    hidden: Vec<String>,
    with_names: bool,
}

impl Names {
    /// A text of a server without names: of its words those that are paths, addresses or parts of
    /// the target's URL.
    fn hide(&self, text: &str) -> String {
        if self.with_names {
            return text.to_string();
        }
        let word = |word: &str| {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
            let is_address = bare.contains(['/', '@', '\\'])
                || bare.split('.').count() == 4 && bare.starts_with(|c: char| c.is_ascii_digit());
            let is_name = self.hidden.iter().any(|name| bare.contains(name.as_str()));
            if is_address || is_name { "...".to_string() } else { word.to_string() }
        };
        text.split(' ').map(word).collect::<Vec<_>>().join(" ")
    }
}

/// Parts of a target that may identify a site: those of its URL, and its directories.
fn names(target: &Target) -> Vec<String> {
    let text = match target {
        Target::Existing { url, .. } => {
            url.split_once("://").map_or(url.clone(), |(_, rest)| rest.to_string())
        }
        Target::Private { data_dir, .. } | Target::Embedded { data_dir, .. } => {
            data_dir.display().to_string()
        }
    };
    let parts = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_')));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let names = parts.map(String::from).chain([host]);
    // Shorter ones, and numbers, stand in any text.
    names.filter(|name| name.len() > 2 && name.parse::<f64>().is_err()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_others_names_nobody() {
        let target = Target::Existing {
            engine: "x".into(),
            url: "any://anna@db7.example:5432/payroll".into(),
        };
        let names = Names { hidden: names(&target), with_names: false };
        let text = "role \"anna\" of db7.example may not write '/var/lib/x' in payroll at \
                    10.1.2.3: 15 of 20.5 rows";
        assert_eq!(
            names.hide(text),
            "role ... of ... may not write ... in ... at ... 15 of 20.5 rows"
        );
        assert_eq!(Names { hidden: Vec::new(), with_names: true }.hide(text), text);
    }
}
