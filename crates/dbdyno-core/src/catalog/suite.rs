//! Suites: named selections of workloads, and the tests that they stand for.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result, quote};
use crate::model::{Arrivals, AskedRamp, AskedRate, Drive, Expr, Precision, Slo, Workload};

use super::{Catalog, SelectionText, parse_selection};

/// Value in a list that stands for every value which the workload declares.
const EVERY_VALUE: &str = "*";

/// A named selection of workloads (`suites/<id>.toml`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// Name on the command line, and of the file.
    pub id: String,
    /// One line for lists.
    pub title: String,
    /// Prose on what the suite is for.
    #[serde(default)]
    pub about: String,
    /// Nominal size of the data set if the user gives none.
    pub size_gb: Option<f64>,
    /// Nominal size at which the publication gives the work of its tests; see [`Work::grows_with`].
    pub published_gb: Option<f64>,
    /// Size profile of a private server if the user gives none.
    pub profile: Option<String>,
    /// Jobs of every entry that gives none: `1,2,cores` or `1..auto`.
    pub jobs: Option<AskedRamp>,
    /// Warm-up of every entry that gives none, in s.
    pub warmup_s: Option<f64>,
    /// Length of the window of every entry that gives none, in s.
    pub duration_s: Option<f64>,
    /// Precision instead of a duration: `2%`, until the interval of the mean is that narrow; with
    /// the longest window.
    #[serde(default, deserialize_with = "percent")]
    pub precision: Option<Precision>,
    /// Longest window with a precision, in s.
    pub max_duration_s: Option<f64>,
    /// Number of repetitions of every test, for an interval at least three; an entry may say
    /// otherwise.
    pub repeat: Option<u32>,
    /// Note of reports on its figures as a whole: that they are too short to be quoted.
    pub note: Option<String>,
    /// True: every workload of the catalog, in its order; entries say what differs for theirs.
    #[serde(default)]
    pub every: bool,
    /// Parameter values of every entry whose workload has the parameter and that does not set it
    /// itself.
    #[serde(default)]
    pub each: BTreeMap<String, Vec<String>>,
    /// Tests of the suite, in order.
    #[serde(default, rename = "entry")]
    pub entries: Vec<SuiteEntry>,
}

/// A test of a suite: a workload to run, or what a publication lists and cannot be run; the rest
/// comes from the suite.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteEntry {
    /// Id, alias, or either with parameters: `SRV-QUERY1:org=heap`.
    pub workload: Option<String>,
    /// Reason for a missing workload. Exactly one of `workload` and `none` is given.
    pub none: Option<String>,
    /// Code of the test in the publication, which reports show.
    pub code: Option<String>,
    /// Name in the publication.
    pub title: Option<String>,
    /// Class or group in the publication.
    pub class: Option<String>,
    /// Parameter values; those that are left out have their defaults.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// Values of parameters: one test for each combination; `["*"]` = every value that the workload
    /// declares.
    #[serde(default)]
    pub each: BTreeMap<String, Vec<String>>,
    /// The parameter of `each` whose values rise: those that are left are not run once throughput
    /// has gained less than 5 % twice in a row, as in a ramp `1..auto`.
    pub rising: Option<String>,
    /// Ramp; none = that of the suite.
    pub jobs: Option<AskedRamp>,
    /// Test for an engine that cannot give the values of `each`.
    pub without: Option<Without>,
    /// Drive; none = the engine's default for the workload.
    pub drive: Option<Drive>,
    /// Open loop: `500`, `100,200` or `auto` ops per second, when they are due, and for `auto` the
    /// SLO by which the highest rate is looked for.
    pub rate: Option<AskedRate>,
    /// Distribution of scheduled starts; none = that of the request.
    pub arrivals: Option<Arrivals>,
    /// SLO that the search for the highest rate must meet.
    pub slo: Option<Slo>,
    /// Background workload, `ID[:param=value,...]`, with this many jobs (1 if none are given).
    pub background: Option<String>,
    /// Number of jobs of the background workload; none = 1.
    pub background_jobs: Option<u32>,
    /// Warm-up, in s; none = that of the suite.
    pub warmup_s: Option<f64>,
    /// Length of the window, in s; none = that of the suite.
    pub duration_s: Option<f64>,
    /// Precision at which the window ends; none = that of the suite.
    #[serde(default, deserialize_with = "percent")]
    pub precision: Option<Precision>,
    /// Longest window with a precision, in s; none = that of the suite.
    pub max_duration_s: Option<f64>,
    /// Number of repetitions; none = that of the suite.
    pub repeat: Option<u32>,
    /// Fixed work instead of fixed time.
    pub work: Option<Work>,
    /// Smallest `--time-scale` that includes the entry: its work is one op that cannot be made
    /// shorter.
    pub least_time_scale: Option<f64>,
}

/// Jobs side by side where an engine has no processes that work on one statement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Without {
    /// The parameter, and a value that an engine may lack: `threads`, `2`.
    pub param: String,
    pub value: String,
    /// The jobs of the one test that it runs then, with the parameter's default.
    pub jobs: AskedRamp,
}

impl SuiteEntry {
    /// The entry for an engine that cannot give the values of `each`: one test with more jobs.
    pub fn on_engine(mut self, catalog: &Catalog, engine: &str) -> Result<SuiteEntry> {
        let (Some(without), Some(text)) = (self.without.take(), &self.workload) else {
            return Ok(self);
        };
        let asked = catalog.find(&parse_selection(text)?.name)?;
        let mut params = asked.entry.workload.params.iter();
        let tried = BTreeMap::from([(without.param.clone(), without.value)]);
        let lacks = params.any(|param| {
            param.name == without.param && param.unavailable_on(engine, &tried).is_some()
        });
        if lacks {
            self.params.remove(&without.param);
            self.jobs = Some(without.jobs);
        }
        Ok(self)
    }
}

/// Fixed work of one job, as published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Published work per job, in `unit`.
    pub amount: f64,
    /// Unit that is counted: `rows`, `selects`, `operations`.
    pub unit: String,
    /// Number of units that one op of the workload does (default 1); knows parameters, rows of
    /// tables and `units`, the units of work of one op.
    #[serde(default = "one")]
    pub per_op: Expr,
    /// The table that the work goes through: the work is proportional to its rows. Absent: the same
    /// at any size.
    pub grows_with: Option<String>,
}

impl Work {
    /// This number of ops for each job.
    pub fn ops(ops_per_job: u64) -> Work {
        Work { amount: ops_per_job as f64, unit: "ops".into(), per_op: one(), grows_with: None }
    }
}

/// Share read from percent, as on the command line.
fn percent<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Precision>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

fn one() -> Expr {
    Expr("1".into())
}

impl SuiteEntry {
    /// Error in it, whatever the catalog and the target are: fields that exclude or need
    /// one another.
    pub fn contradiction(&self) -> Option<&'static str> {
        let has_rate = self.rate.is_some();
        let wrong = [
            (
                self.precision.is_some() && (self.duration_s.is_some() || self.work.is_some()),
                "'precision' stands instead of 'duration_s' and 'work'",
            ),
            (
                has_rate && (self.precision.is_some() || self.work.is_some()),
                "at a 'rate' a test ends after 'duration_s', without 'precision' and 'work'",
            ),
            (
                has_rate && self.drive == Some(Drive::Database),
                "a 'rate' is kept by clients: the loop of the in-database drive runs inside the \
                 database",
            ),
            (
                self.slo.is_some() != (self.rate == Some(AskedRate::Auto)),
                "'slo' and rate = \"auto\" need each other",
            ),
            (self.arrivals.is_some() && !has_rate, "'arrivals' are those of a 'rate'"),
            (
                self.background.is_some() && self.work.is_some(),
                "beside fixed 'work', whose end nobody knows beforehand, no 'background' can run",
            ),
            (
                self.background_jobs.is_some() && self.background.is_none(),
                "'background_jobs' are those of a 'background'",
            ),
            (self.background_jobs == Some(0), "'background_jobs' must be 1 or more"),
            (self.repeat == Some(0), "'repeat' must be 1 or more"),
        ];
        wrong.into_iter().find_map(|(is_so, what)| is_so.then_some(what))
    }

    /// True if it says neither how long it runs nor how much it does, nor at which rate.
    pub fn gives_no_end(&self) -> bool {
        self.duration_s.is_none()
            && self.work.is_none()
            && self.precision.is_none()
            && self.rate.is_none()
    }

    /// Name of the test in messages and reports: its code, else its workload, else its class.
    pub fn label(&self) -> &str {
        let names = [&self.code, &self.workload, &self.class, &self.title];
        names.into_iter().flatten().next().map_or("?", String::as_str)
    }
}

impl Catalog {
    /// The tests of a suite in order, complete: every workload of the catalog if the suite says so,
    /// one test for each combination of values, and the suite's common fields. Tests that are only
    /// listed are included.
    ///
    /// # Errors
    /// An unknown workload, parameter or list of values; the place is the suite's file.
    pub fn suite_tests(&self, suite: &Suite) -> Result<Vec<SuiteEntry>> {
        let mut tests = Vec::new();
        for entry in self.suite_entries(suite)? {
            let expanded = self.expand(suite, &entry).map_err(|error| {
                Error::usage(format!("catalog/suites/{}.toml", suite.id), error.what)
                    .advise(error.advice)
            })?;
            tests.extend(expanded.into_iter().map(|entry| with_defaults(suite, entry)));
        }
        Ok(tests)
    }

    /// The entries as written, or in the order of the catalog with one for each workload that
    /// none is for.
    fn suite_entries(&self, suite: &Suite) -> Result<Vec<SuiteEntry>> {
        if !suite.every {
            return Ok(suite.entries.clone());
        }
        let mut all = Vec::new();
        for workload in self.workloads() {
            let own: Vec<_> = suite
                .entries
                .iter()
                .filter(|entry| self.is_for(entry, workload))
                .cloned()
                .collect();
            let plain =
                || SuiteEntry { workload: Some(workload.id.clone()), ..SuiteEntry::default() };
            all.extend(if own.is_empty() { vec![plain()] } else { own });
        }
        Ok(all)
    }

    fn is_for(&self, entry: &SuiteEntry, workload: &Workload) -> bool {
        let selection = entry.workload.as_ref().and_then(|text| parse_selection(text).ok());
        selection
            .and_then(|selection| self.find(&selection.name).ok())
            .is_some_and(|asked| asked.entry.workload.id == workload.id)
    }

    /// One entry for each combination of its values.
    fn expand(&self, suite: &Suite, entry: &SuiteEntry) -> Result<Vec<SuiteEntry>> {
        let Some(text) = &entry.workload else { return Ok(vec![entry.clone()]) };
        let SelectionText { name, params: given } = parse_selection(text)?;
        let asked = self.find(&name)?;
        let set = |name: &String| {
            given.contains_key(name)
                || asked.params.contains_key(name)
                || entry.params.contains_key(name)
        };
        let has =
            |name: &String| asked.entry.workload.params.iter().any(|param| param.name == *name);
        let mut each = entry.each.clone();
        each.extend(
            suite
                .each
                .clone()
                .into_iter()
                .filter(|(name, _)| has(name) && !set(name) && !each_has(entry, name)),
        );
        let mut entries = vec![entry.clone()];
        for (name, values) in each {
            let values = values_of(&asked.entry.workload, &name, &values)?;
            let with = |entry: &SuiteEntry, value: &String| {
                let mut entry = entry.clone();
                entry.params.insert(name.clone(), value.clone());
                entry
            };
            entries = entries
                .iter()
                .flat_map(|entry| values.iter().map(move |value| with(entry, value)))
                .collect();
        }
        entries.iter_mut().for_each(|entry| entry.each.clear());
        entries.iter_mut().skip(1).for_each(|entry| entry.without = None);
        Ok(entries)
    }
}

fn each_has(entry: &SuiteEntry, name: &str) -> bool {
    entry.each.contains_key(name)
}

/// The values themselves, or every declared one.
fn values_of(workload: &Workload, name: &str, values: &[String]) -> Result<Vec<String>> {
    if values.len() != 1 || values[0] != EVERY_VALUE {
        return Ok(values.to_vec());
    }
    match workload.params.iter().find(|param| param.name == name).map(|param| &param.values) {
        Some(declared) if !declared.is_empty() => Ok(declared.clone()),
        _ => Err(Error::usage(
            "",
            format!("{} declares no list of values for {name}", workload.id, name = quote(name)),
        )
        .advise("write the values")),
    }
}

/// Completes an entry with the defaults of the suite.
fn with_defaults(suite: &Suite, entry: SuiteEntry) -> SuiteEntry {
    // A test whose own end is given has no use for the suite's precision.
    let of_suite = suite.precision.filter(|_| entry.gives_no_end());
    SuiteEntry {
        jobs: entry.jobs.or_else(|| suite.jobs.clone()),
        warmup_s: entry.warmup_s.or(suite.warmup_s),
        precision: entry.precision.or(of_suite),
        max_duration_s: entry.max_duration_s.or(suite.max_duration_s),
        duration_s: entry.duration_s.or(suite.duration_s),
        repeat: entry.repeat.or(suite.repeat),
        ..entry
    }
}
