//! Reports: views over stored runs, as documents; the forms a document can take are in `format/`.
//!
//! A report measures nothing and opens no database. Adding one: one file here and one line in
//! [`REPORTS`].

#![deny(missing_docs)]

pub mod ab_test;
pub mod about;
pub mod anonymized;
pub mod audit;
mod axis_charts;
mod bars;
pub mod beside;
pub mod board;
pub mod branding;
pub mod capacity;
pub mod catalog;
pub mod columns;
pub mod compare;
mod cpu_quota;
mod curves;
pub mod datasheet;
pub mod document;
pub mod failover;
mod figure_doubts;
pub mod format;
pub mod heatmap;
pub mod interference;
pub mod kpm;
pub mod kpm_columns;
pub mod layers;
mod limits;
mod load_generators;
mod lowered;
mod masthead;
pub mod nodes;
mod open_loop;
pub mod page;
#[doc(hidden)]
pub mod picture;
pub mod platform;
pub mod price;
mod profiles;
pub mod published;
mod ramp_charts;
mod ramps;
pub mod recall;
mod row_vs_column;
mod run_facts;
pub mod run_json;
pub mod scaling;
pub mod shade;
pub mod shareable;
mod spread;
mod study;
pub mod summary;
mod sustained;
pub mod sweep;
mod test_charts;
pub mod test_page;
mod test_waits;
pub mod texts;
pub mod units;
pub mod workbook;

use std::collections::BTreeMap;

use dbdyno_core::analysis::capacity::Need;
use dbdyno_core::analysis::figure;
use dbdyno_core::analysis::noise::Noise;
use dbdyno_core::analysis::price::PriceList;
use dbdyno_core::catalog::{Catalog, Form, Group};
use dbdyno_core::model::{RunRecord, RunStatus, Sentence, Test};

use document::Code;
pub use document::Document;
pub use format::{Color, FORMATS, Format, Options, Rendered};
pub use texts::Language;

/// A run with its tests, in order. What is shown to somebody is made by `new`, so that its figures
/// are estimated together.
#[derive(Debug, Clone, PartialEq)]
pub struct RunTests {
    /// Disclosure, plan and loads of the run.
    pub run: RunRecord,
    /// Tests of the run, each with its result and verdict.
    pub tests: Vec<Test>,
}

impl RunTests {
    /// A run with figures that are estimated from all its tests: every report of stored runs begins
    /// with this.
    pub fn new(run: RunRecord, mut tests: Vec<Test>) -> RunTests {
        figure::estimate(&mut tests);
        RunTests { run, tests }
    }

    /// `interrupted after 14 tests`; none of a run that ended as planned.
    pub(crate) fn incomplete(&self, language: Language) -> Option<String> {
        if self.run.status == RunStatus::Finished {
            return None;
        }
        let status = language.phrase(self.run.status.name());
        Some(language.count("incomplete", self.tests.len(), &[("status", &status)]))
    }

    /// The tests in the order of the plan, whose blocks ran them in an order of their own; without
    /// repetitions as they ran.
    pub fn ordered(mut self) -> RunTests {
        let planned = self.run.plan.selections();
        if planned.iter().all(|selection| selection.repetitions() == 1) {
            return self;
        }
        let place = |test: &Test| {
            planned.iter().position(|selection| {
                selection.is_of(test) && selection.drive() == test.drive().name()
            })
        };
        self.tests.sort_by_cached_key(|test| (place(test), test.jobs(), test.seq()));
        self
    }
}

/// Input of a report.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// Runs that the report is about; a comparison takes the first as its base.
    pub runs: Vec<RunTests>,
    /// Groups in the catalog's order; groups that are missing here follow under their id.
    pub groups: Vec<Group>,
    /// The settings that a datasheet has room for, by engine.
    pub key_settings: BTreeMap<&'static str, &'static [&'static str]>,
    /// Organisations of tables that engines have, their own first.
    pub orgs: BTreeMap<&'static str, &'static [&'static str]>,
    /// Reference with which the figures of a single run are compared on its page.
    pub reference: Option<RunTests>,
    /// Calibrations, oldest first: comparisons allow for their noise, charts show it.
    pub calibrations: Vec<RunTests>,
    /// Price lists of platforms, as far as the user gives them.
    pub prices: Vec<PriceList>,
    /// The run was read from a bundle, whose hashes are right.
    pub is_sealed: bool,
    /// Language of every fixed text, of numbers and of dates.
    pub language: Language,
    /// License terms for publishing figures, by engine.
    pub licences: BTreeMap<String, String>,
    /// The command line that makes the report; empty if there is none.
    pub command: String,
    /// Catalog that the catalog report describes, and whose rules say what a difference between
    /// disclosures touches; empty for other reports.
    pub catalog: Catalog,
    /// The SQL of the catalog's workloads as it would run; empty for reports of runs.
    pub statements: Vec<Statements>,
    /// Requirements on platforms; empty except for 'capacity'.
    pub needs: Vec<Need>,
    /// The loss, as a fraction of the base, from which a figure of a comparison fails.
    pub fail_below: f64,
    /// True if a comparison is asked whether it passes.
    pub is_gate: bool,
    /// Earlier runs, oldest first, from which comparisons learn what differs between fresh runs.
    pub history: Vec<RunTests>,
    /// The earlier runs are the base of a comparison: the first run is one of them.
    pub is_base_of_many: bool,
    /// Sentences on that base: what is left out of it, what differs within it.
    pub notes_on_base: Vec<Sentence>,
    /// Charts write the labels of their points beside them.
    pub point_labels: bool,
}

/// The SQL of a workload on one engine and drive, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statements {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Registry name of the engine.
    pub engine: String,
    /// `database` or `client`; empty if the engine cannot run the workload at all.
    pub drive: String,
    /// Statements with their captions, or the reason why the workload has none there.
    pub sql: Result<Vec<Code>, String>,
}

impl Input {
    /// Results of the calibrations.
    pub fn noises(&self) -> Vec<Noise<'_>> {
        self.calibrations
            .iter()
            .map(|data| Noise::from_calibration(&data.run, &data.tests))
            .collect()
    }
    /// Nominal size of the data of each run in GB, as far as it is known.
    fn sizes_gb(&self) -> Vec<Option<f64>> {
        self.runs.iter().map(|data| data.run.size_gb).collect()
    }
    /// The groups that have tests, with titles, in order.
    fn used_groups(&self) -> Vec<(&str, &str)> {
        let used: Vec<&str> = self.tests().map(|(_, test)| test.group()).collect();
        let known = self.groups.iter().map(|group| (group.id.as_str(), group.title.as_str()));
        let mut groups: Vec<_> = known.filter(|(id, _)| used.contains(id)).collect();
        for id in used {
            if !groups.iter().any(|(known, _)| *known == id) {
                groups.push((id, id));
            }
        }
        groups
    }

    /// Set of columns that the KPM report shows for tests of this group with this unit.
    fn form(&self, group: &str, unit: &str) -> Form {
        let stated =
            self.groups.iter().find(|known| known.id == group).and_then(|known| known.form);
        stated.unwrap_or_else(|| Form::of_unit(unit))
    }

    /// Names of the runs, for columns: the name given, else `run 7`; the id is added to names that
    /// stand twice.
    pub fn platforms(&self) -> Vec<String> {
        let numbered =
            |data: &RunTests| self.language.say("run_unnamed", &[("id", &data.run.id.to_string())]);
        let name = |data: &RunTests| data.run.name.clone().unwrap_or_else(|| numbered(data));
        let names: Vec<String> = self.runs.iter().map(name).collect();
        let stands_twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
        let unique = names.iter().zip(&self.runs).map(|(name, data)| match stands_twice(name) {
            true => format!("{name} ({})", numbered(data)),
            false => name.clone(),
        });
        unique.collect()
    }

    /// All tests of all runs, each with its run.
    fn tests(&self) -> impl Iterator<Item = (&RunRecord, &Test)> {
        self.runs.iter().flat_map(|data| data.tests.iter().map(move |test| (&data.run, test)))
    }
}

/// Subject of a report, and thus the parts of its [`Input`] that it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Whole runs.
    Runs,
    /// Single tests, which must be named: `RUN:SEQ`.
    Tests,
    /// The catalog; no run.
    Catalog,
    /// The two runs of an A/B test, A and B.
    AbTest,
}

/// The places in which a report shows its figures against those of another run (`--baseline`); by
/// default none. The page shows the greater set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BaselinePlaces {
    /// True to compare on the page: a single run with any other, or several runs with one of
    /// another kind.
    pub on_page: bool,
    /// Every form, where one of the two runs was published and the other one measured.
    pub beside_published: bool,
}

impl BaselinePlaces {
    /// True if there is any place.
    pub fn is_any(self) -> bool {
        self.on_page || self.beside_published
    }
}

/// A kind of report.
pub trait Report: Sync {
    /// Name for `dbdyno report`; a report with a command of its own has its name in messages.
    fn name(&self) -> &'static str;
    /// The former name, which is still taken.
    fn former_name(&self) -> Option<&'static str> {
        None
    }
    /// One line for `list reports`.
    fn title(&self) -> &'static str;
    /// The form if none is asked for.
    fn format(&self) -> &'static str {
        "text"
    }
    /// Subject of the report.
    fn subject(&self) -> Subject {
        Subject::Runs
    }
    /// The command that makes it, if that is not `dbdyno report`.
    fn own_command(&self) -> Option<&'static str> {
        None
    }
    /// The places where it shows its figures against those of another run.
    fn baseline(&self) -> BaselinePlaces {
        BaselinePlaces::default()
    }
    /// True if it is made for others: licenses may restrict that.
    fn is_publication(&self) -> bool {
        false
    }
    /// True if it shows the seconds of tests (series, snapshots); they are most of a results file.
    fn needs_seconds(&self) -> bool {
        true
    }
    /// The document of the runs.
    fn build(&self, input: &Input) -> Document;
}

/// Every report, in the order of `list reports`; those with a command of their own are last.
pub const REPORTS: &[&dyn Report] = &[
    &kpm::KpmReport,
    &datasheet::Datasheet,
    &heatmap::HeatmapReport,
    &ramp_charts::RampReport,
    &scaling::ScalingReport,
    &nodes::NodesReport,
    &layers::LayersReport,
    &interference::InterferenceReport,
    &sweep::SweepReport,
    &recall::RecallReport,
    &failover::FailoverReport,
    &platform::PlatformReport,
    &published::PointsReport,
    &price::PriceReport,
    &audit::AuditReport,
    &summary::Summary,
    &workbook::FullWorkbook,
    &page::Page,
    &anonymized::PublishReport,
    &test_page::TestPage,
    &catalog::CatalogReport,
    &ab_test::TrialsReport,
    &compare::CompareReport,
    &capacity::CapacityReport,
    &run_json::RunReport,
];
