//! The closed plan: everything that will run, with its SQL, before anything runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::params::{BESIDE, BESIDE_JOBS, assignments};
use super::vectors::VectorSet;
use super::{
    Answer, Bind, Claim, Expr, Facts, Loop, OfferedLoad, Ramp, Transport, Window, Wire, Workload,
};

/// Place where the loop runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Drive {
    /// Inside the database, in a stored routine, in slices of about a second.
    Database,
    /// A loop in dbdyno's process: prepared statements, one thread per job.
    Client,
}

impl Drive {
    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Drive::Database => "database",
            Drive::Client => "client",
        }
    }
    /// Tick of the clock that times an op, in microseconds, where it is long: that of a routine in
    /// a database (`clock_timestamp()`, `sysdate(6)`).
    pub fn clock_tick_us(self) -> Option<f64> {
        (self == Drive::Database).then_some(1.0)
    }
}

/// Way in which a client-drive branch commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Commit {
    /// Reads only. Whether reads share a transaction is the `read_tx` parameter (`op` or `slice`).
    #[default]
    None,
    /// The single statement commits itself.
    Auto,
    /// Begin before the steps, commit after them.
    Block,
}

/// A statement with positional binds in the engine's own style, ready to prepare.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundStatement {
    /// Block it came from, for messages.
    pub name: String,
    /// SQL text with `$1` / `?1` / `?` / `:1` placeholders.
    pub sql: String,
    /// Bind name per position, in order of the placeholders.
    pub binds: Vec<String>,
}

impl BoundStatement {
    /// The text with a value (or whatever stands for it) in the place of each bind.
    pub fn with_values<'a>(&self, value: impl Fn(&str) -> &'a str) -> String {
        if self.sql.contains("{p1:Int64}") {
            return self.binds.iter().enumerate().fold(self.sql.clone(), |sql, (index, name)| {
                sql.replace(&format!("{{p{}:Int64}}", index + 1), value(name))
            });
        }
        if !self.sql.contains(['$']) && !self.sql.contains("?1") && !self.sql.contains(":1") {
            // Marks without numbers: one after the other; a question mark beyond them is none.
            let mut pieces = self.sql.splitn(self.binds.len() + 1, '?');
            let first = pieces.next().unwrap_or_default().to_string();
            return self
                .binds
                .iter()
                .zip(pieces)
                .fold(first, |sql, (name, piece)| sql + value(name) + piece);
        }
        // From the last on, so that $1 is not found in $10.
        self.binds.iter().enumerate().rev().fold(self.sql.clone(), |sql, (index, name)| {
            let marks = ["$", "?", ":"].map(|sign| format!("{sign}{}", index + 1));
            marks.iter().fold(sql, |sql, mark| sql.replace(mark, value(name)))
        })
    }
}

/// One alternative of a client-drive op, SQL resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    /// Ops of 100 that take it, cumulated over the branches: draw in 0..100, first branch with
    /// `draw < upto` runs.
    pub upto: f64,
    /// End of the op's transaction.
    pub commit: Commit,
    /// Statements of the op, in order.
    pub statements: Vec<BoundStatement>,
    /// Repetitions of the statements within the op.
    pub times: u32,
}

/// A stored routine of the database drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routine {
    /// Name with schema.
    pub name: String,
    /// Statements that create it, in order (helpers first).
    pub create: Vec<String>,
    /// Statement that calls one slice; see `catalog/harness/<engine>.sql` for arguments and
    /// results.
    pub call: BoundStatement,
    /// One call is one op instead of a slice of them.
    pub per_op: bool,
    /// True if the sink counts the rows found of those that were to be found.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hits: bool,
    /// Statements that drop it.
    pub drop: Vec<String>,
}

/// Code that one job executes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobCode {
    /// Calls of a routine inside the database.
    Routine(Routine),
    /// Statements that the client sends.
    Client {
        /// Alternatives of an op, of which each op draws one.
        branches: Vec<Branch>,
        /// Source of each bind's value.
        binds: BTreeMap<String, Bind>,
        /// True: reads of a slice share one transaction (`read_tx=slice`).
        shared_read: bool,
        /// True: the first column of each row says whether it is one that was to be found.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hits: bool,
        /// True: each op opens a connection of its own, and closes it at its end.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        connects: bool,
    },
    /// The engine's bulk load: `batch` rows of the standard row function per op into `table`, one
    /// commit per batch.
    Bulk {
        /// Name of the table that is loaded.
        table: String,
        /// Number of rows per op and commit.
        batch: u64,
    },
}

/// A table of the data set in one organization: what a workload's `{{small}}` or `{{big}}` stands
/// for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableRef {
    /// Kind of its rows: `small`, `big`.
    pub kind: String,
    /// Table organization; none = the engine's default.
    pub org: Option<String>,
}

impl TableRef {
    /// The table of this kind in the engine's default organization.
    pub fn new(kind: &str) -> TableRef {
        TableRef { kind: kind.into(), org: None }
    }

    /// Name without prefix: `small` in the default organization, else `small_heap_list`.
    pub fn name(&self) -> String {
        match &self.org {
            None => self.kind.clone(),
            Some(org) => format!("{}_{}", self.kind, org.replace('-', "_")),
        }
    }
}

/// Requirement of a test on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// A query that returns a row where it is there.
    pub sql: String,
    /// Reason given where the server does not satisfy it.
    pub reason: String,
}

/// A part of a selection: the code and parameters of the jobs that are dealt to it. A simple
/// workload has exactly one part.
#[derive(Debug, Clone, PartialEq)]
pub struct PartPlan {
    /// Workload id of the part.
    pub workload: String,
    /// Complete parameters of the part.
    pub params: BTreeMap<String, String>,
    /// Parameters that differ from the engine's defaults.
    pub chosen: BTreeMap<String, String>,
    /// Code that the part's jobs run.
    pub code: JobCode,
    /// Units of work per op.
    pub work: Expr,
    /// True if an op commits.
    pub commits: bool,
    /// Statements before the jobs start / after they ended. `{{jobs}}` is still open in them.
    pub setup: Vec<String>,
    /// Statements after the jobs ended.
    pub teardown: Vec<String>,
    /// Statements that each job's session runs once before the gate.
    pub session: Vec<String>,
    /// Statements of a session that stays open, with what they began, until the jobs have ended.
    pub hold: Vec<String>,
    /// Sessions that are open and do nothing while the jobs run.
    pub idle: u32,
    /// The vectors that its setup sends.
    pub vectors: Option<VectorSet>,
    /// Requirements on the server.
    pub requires: Vec<Requirement>,
    /// Facts for expressions: the numeric parameters (data set facts come from the loaded data
    /// set).
    pub facts: Facts,
    /// Answer that is checked before timing, and the statement whose result is checked, if the
    /// answer names one.
    pub answer: Option<Answer>,
    /// Statement whose result is checked.
    pub answer_step: Option<BoundStatement>,
    /// Claims of the workload: of a part of a mix those about its own counts are judged.
    pub contract: Vec<Claim>,
}

/// A workload with parameters, compiled for one engine and drive, and its ramp.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The workload as the catalog defines it.
    pub workload: Workload,
    /// The code under which it was asked for, if an alias (`T611`).
    pub asked_as: Option<String>,
    /// Parameters, complete, as text.
    pub params: BTreeMap<String, String>,
    /// Parameters that differ from the engine's defaults: what a label shows.
    pub chosen: BTreeMap<String, String>,
    /// Drive that the workload is compiled for.
    pub drive: Drive,
    /// Transport and protocol of its statements on the client drive.
    pub wire: Wire,
    /// Background workload.
    pub background: Option<Box<Background>>,
    /// Parts; jobs are dealt to them round robin (job j gets part (j-1) mod parts).
    pub parts: Vec<PartPlan>,
    /// Tables of the data set that it uses, those of its parts included.
    pub tables: Vec<TableRef>,
    /// Numbers of jobs at which it is tested.
    pub ramp: Ramp,
    /// The series of rising values of a parameter that it belongs to, which ends when throughput
    /// gains nothing more; selections of a series have the same name, and stand in its order.
    pub rising: Option<String>,
    /// Closed or open loop, with its rates.
    pub looping: Loop,
    /// Warm-up and end of each test.
    pub window: Window,
    /// Number of repetitions of each test of the ramp; 1 = once.
    pub repeat: u32,
    /// Nodes of a cluster that it runs on; none = all.
    pub nodes: Option<u32>,
    /// SHA-256 (hex, 16 digits) over revision, parameters and all SQL text.
    pub hash: String,
}

/// A workload that runs, with jobs of its own, while another one is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Background {
    /// Workload with its parameters, compiled as a measured one is.
    pub selection: Selection,
    /// Number of its jobs, besides those of the measured workload.
    pub jobs: u32,
}

impl Background {
    /// Parameters that name it in the test that it accompanies: two tests with different background
    /// workloads are not the same.
    pub fn params(&self) -> [(String, String); 2] {
        let name = self.selection.name_with_parameters();
        [(BESIDE.to_string(), name), (BESIDE_JOBS.to_string(), self.jobs.to_string())]
    }
}

impl Selection {
    /// A selection of one part that a client drives with one job in a closed loop, once in this
    /// window; the rest is left at nothing.
    pub fn bare(workload: Workload, part: PartPlan, window: Window) -> Selection {
        Selection {
            workload,
            asked_as: None,
            params: BTreeMap::new(),
            chosen: BTreeMap::new(),
            drive: Drive::Client,
            wire: Wire::default(),
            background: None,
            parts: vec![part],
            tables: Vec::new(),
            ramp: Ramp::Fixed(vec![1]),
            rising: None,
            looping: Loop::Closed,
            window,
            repeat: 1,
            nodes: None,
            hash: String::new(),
        }
    }

    /// The selection, and its background workload if it has one.
    pub fn with_background(&self) -> impl Iterator<Item = &Selection> {
        std::iter::once(self).chain(self.background.iter().map(|background| &background.selection))
    }

    /// Jobs that run beside its own.
    pub fn background_jobs(&self) -> u32 {
        self.background.as_ref().map_or(0, |background| background.jobs)
    }

    /// True if the background workload works on the same tables of its own: then both share job
    /// numbers and sequences.
    pub fn is_beside_itself(&self) -> bool {
        self.background
            .as_ref()
            .is_some_and(|background| background.selection.workload.id == self.workload.id)
    }

    /// True if its jobs, or those of the background workload, change data: they need nodes that can
    /// be written to.
    pub fn writes(&self) -> bool {
        let writes = |part: &PartPlan| part.commits || matches!(part.code, JobCode::Bulk { .. });
        self.with_background().any(|selection| selection.parts.iter().any(writes))
    }

    /// Sessions that do nothing while its jobs run, including those of the background workload.
    pub fn idle_sessions(&self) -> u32 {
        self.with_background().flat_map(|selection| &selection.parts).map(|part| part.idle).sum()
    }

    /// Name in messages: the code under which it was asked for, else its id.
    pub fn label(&self) -> &str {
        self.asked_as.as_deref().unwrap_or(&self.workload.id)
    }

    /// The label with the parameters that differ from the engine's defaults: `T426:threads=8`.
    pub fn name_with_parameters(&self) -> String {
        match assignments(&self.chosen, ",") {
            chosen if chosen.is_empty() => self.label().to_string(),
            chosen => format!("{}:{chosen}", self.label()),
        }
    }
}

/// One test: a selection at one number of jobs.
#[derive(Debug, Clone, PartialEq)]
pub struct TestSpec<'a> {
    /// Workload with its parameters.
    pub selection: &'a Selection,
    /// Number of jobs.
    pub jobs: u32,
    /// Offered load of an open loop.
    pub offer: Option<OfferedLoad>,
    /// Mix of an open loop over several parts: ops of each part that its jobs do together in the
    /// closed loop, or any multiple.
    pub mix: Vec<f64>,
    /// Number within the run, from 1.
    pub seq: u32,
    /// Number that makes, with the run's seed of keys, the seed of the test, from which its jobs
    /// draw keys and due times. It is equal only for tests that are to draw the same.
    pub draw: u64,
    /// Number of the block of repetitions that it is of, from 1; none without blocks.
    pub block: Option<u32>,
}

impl<'a> TestSpec<'a> {
    /// A test in the closed loop.
    pub fn closed(selection: &'a Selection, jobs: u32, seq: u32) -> TestSpec<'a> {
        let draw = seq.into();
        TestSpec { selection, jobs, offer: None, mix: Vec::new(), seq, draw, block: None }
    }

    /// Index of the part that a job (from 1) runs.
    pub fn part(&self, job: u32) -> usize {
        (job as usize - 1) % self.selection.parts.len()
    }

    /// Ops per second that are offered to a job (from 1): the jobs of a part have equal shares of
    /// the part's share in the mix.
    pub fn offered_per_s(&self, job: u32) -> Option<f64> {
        let offer = self.offer?;
        let is_of =
            |part: usize| (1..=self.jobs).filter(|job| self.part(*job) == part).count() as f64;
        let all: f64 = self.mix.iter().sum();
        let share = self.mix.get(self.part(job)).map(|ops| ops / all / is_of(self.part(job)));
        Some(offer.per_s * share.unwrap_or(1.0 / f64::from(self.jobs)))
    }
}

/// A closed plan for one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Registry name of the engine.
    pub engine: String,
    /// Suite name, or `custom`.
    pub suite: String,
    /// Seed of the rows and of the order of the tests.
    pub seed: u64,
    /// Seed of the keys that jobs draw, and of the times at which ops of an open loop are due.
    pub key_seed: u64,
    /// Nominal size in GB.
    pub size_gb: f64,
    /// The numbers of jobs are the user's own: what cannot be had of them is an error, not left
    /// out.
    pub jobs_given: bool,
    /// Maximum number of attempts to repeat a test whose only reasons are disturbances.
    pub redo_disturbed: u32,
    /// Note of the suites on their figures as a whole, if they run unchanged.
    pub note: Option<String>,
    /// Tables to load, each once; the small ones first.
    pub tables: Vec<TableRef>,
    /// Workloads to test, in order.
    pub selections: Vec<Selection>,
    /// Workloads left out, with the reasons.
    pub left_out: Vec<LeftOut>,
    /// A routine with an empty loop, for an engine that has routines: it measures the cost of
    /// timing an op.
    pub calibration: Option<Routine>,
}

/// A test or a workload that is not measured though it was asked for, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Workload with what distinguishes it from others, or the code of a test.
    #[serde(rename = "workload")]
    pub label: String,
    /// Reason why it is left out.
    pub reason: String,
}

impl LeftOut {
    /// Omission of what has this label, for this reason.
    pub fn new(label: impl Into<String>, reason: impl Into<String>) -> LeftOut {
        LeftOut { label: label.into(), reason: reason.into() }
    }
}

impl Plan {
    /// True if ops of it loop within routines.
    pub fn calls_routines(&self) -> bool {
        let parts = self.selections.iter().flat_map(|selection| &selection.parts);
        let mut codes = parts.map(|part| &part.code);
        codes.any(|code| matches!(code, JobCode::Routine(routine) if !routine.per_op))
    }

    /// True if statements of it travel by this transport.
    pub fn travels_by(&self, transport: Transport) -> bool {
        self.selections.iter().any(|selection| selection.wire.transport == transport)
    }
}

impl PartPlan {
    /// A part that only runs its code: no parameters, no set-up, one unit of work per op, no
    /// answer.
    pub fn bare(workload: &str, code: JobCode) -> PartPlan {
        PartPlan {
            workload: workload.into(),
            params: BTreeMap::new(),
            chosen: BTreeMap::new(),
            code,
            work: Expr("1".into()),
            commits: false,
            setup: Vec::new(),
            teardown: Vec::new(),
            session: Vec::new(),
            hold: Vec::new(),
            idle: 0,
            vectors: None,
            requires: Vec::new(),
            facts: Facts::new(),
            answer: None,
            answer_step: None,
            contract: Vec::new(),
        }
    }

    /// Statements before the jobs start, in order: the workload's own setup, then its routine.
    pub fn setup_sql(&self) -> Vec<String> {
        let mut statements = self.setup.clone();
        if let JobCode::Routine(routine) = &self.code {
            statements.extend(routine.create.iter().cloned());
        }
        statements
    }

    /// Statements after the jobs ended, in order: the routine goes first.
    pub fn teardown_sql(&self) -> Vec<String> {
        let mut statements = match &self.code {
            JobCode::Routine(routine) => routine.drop.clone(),
            JobCode::Client { .. } | JobCode::Bulk { .. } => Vec::new(),
        };
        statements.extend(self.teardown.iter().cloned());
        statements
    }
}
