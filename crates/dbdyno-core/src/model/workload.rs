//! A workload: one op in a loop, defined entirely by the catalog.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::vectors::Vectors;
use super::{Expr, Kpm, Quantity, ReasonCode, Status};
use crate::stats::skew::{KeyLaw, Place};

/// A workload as the catalog defines it, checked; the catalog holds its SQL blocks separately.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workload {
    /// Best-known name, upper case: `SRV-QUERY1`.
    pub id: String,
    /// Group id, upper case: `SRV`.
    pub group: String,
    /// One line: what the op does.
    pub title: String,
    /// Prose for reports: what it stresses and how to read it.
    pub about: String,
    /// Raised whenever the work done changes; results of different revisions are never compared
    /// silently.
    pub revision: u32,
    /// Codes of other suites that correspond (`T611`, `SRV-21`), each with the parameters it fixes.
    pub aliases: Vec<Alias>,
    /// The difference between the work and that of a publication that calls it by the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Declared parameters, in order of display.
    pub params: Vec<Param>,
    /// Primary key performance metric.
    pub kpm: Kpm,
    /// Second metric, if one is printed.
    pub second: Option<Kpm>,
    /// Units of work of one op (default 1), e.g. `38 * passes`, `small_mb`.
    pub work: Expr,
    /// The amounts of published quantities in one op: `rows = 25`, `operations = "work"`; `work`
    /// stands for the units of one op.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub per_op: BTreeMap<Quantity, Expr>,
    /// Operations of its statements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub does: Vec<Operation>,
    /// Resources that it needs most, if all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stresses: Vec<Resource>,
    /// Kinds of application for which the figures matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matters_for: Vec<Application>,
    /// Parameters that make an op longer without changing its kind: figures per unit of work are
    /// compared with those of any other value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scaled_by: Vec<String>,
    /// Tables of the data set that must be loaded: `small`, `big`.
    pub tables: Vec<String>,
    /// Tables read into the cache before the test; the warm-up is checked by the contract.
    pub warm: Vec<String>,
    /// Tables whose files are evicted from the operating system's cache before and during the test,
    /// if dbdyno can reach them, so that reads which miss the database's cache come from the
    /// device. The tier that served the reads is measured.
    pub evict: Vec<String>,
    /// True if an op commits: its routine is a procedure, one commit per transaction.
    pub commits: bool,
    /// True if the op is the engine's bulk load of `batch` rows (client drive only).
    pub bulk: bool,
    /// Values drawn for each op of the client drive, by bind name.
    pub binds: BTreeMap<String, Bind>,
    /// Alternatives of one client-drive op; see `ClientBranch`.
    pub client: Vec<ClientBranch>,
    /// Block names run once before the jobs start, and after they ended (also after a failure). In
    /// these names and in those of `session`, `{{param}}` is the parameter's value; `{{org}}` the
    /// organization, also if it is the default.
    pub setup: Vec<String>,
    /// Block names run once after the jobs ended, also after a failure.
    pub teardown: Vec<String>,
    /// Block names run in each job's session once, before the gate: settings that hold for this
    /// workload only.
    pub session: Vec<String>,
    /// Block names run in a session of its own before the jobs start, which keeps what they began
    /// (a transaction with its snapshot) until the last job has ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hold: Vec<String>,
    /// True if each op of the client drive opens a connection of its own, and closes it at its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub connects: bool,
    /// Sessions that are opened before the jobs start and do nothing until the last has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<Expr>,
    /// Vectors with known neighbors that setup blocks send: what stands between `{{each_row}}`,
    /// `{{each_query}}` or `{{each_added}}` and `{{end}}` is written once for each of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<Vectors>,
    /// Rows that an op is to find. How many of them it found is counted as `hits`: by a routine in
    /// its sink, by a client as the sum of each row's first column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finds: Option<Expr>,
    /// Queries that must return a row on the server, with the reason if they do not, by
    /// `<engine>.<block>`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, String>,
    /// Processes that worked on one op, from counters of the whole test (`seq_scans / ops`): the
    /// real number of threads beside the one asked for by the parameter `threads`.
    pub threads: Option<Expr>,
    /// Parts of a mixed workload; jobs are dealt to them equally.
    pub parts: Vec<Part>,
    /// The expected answer, checked by `verify` before timing. Without one (or with one that does
    /// not state an op's rows) the contract's claims about `rows` are checked with one op; without
    /// such claims `verify` reports that it checks nothing.
    pub answer: Option<Answer>,
    /// Claims that hold if the workload stressed what it says.
    pub contract: Vec<Claim>,
    /// Cross-checks of dbdyno's counts against the database's own counters.
    pub crosscheck: Vec<Claim>,
    /// Engines that cannot run it, with the reason.
    pub unsupported: BTreeMap<String, String>,
    /// Drives that cannot run it, per drive name (`database`, `client`), with the reason.
    pub undrivable: BTreeMap<String, String>,
}

/// Operation of a statement on rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Reads rows.
    Select,
    /// Adds rows.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
}

impl Operation {
    /// All, in the order of a table.
    pub const ALL: [Operation; 4] =
        [Operation::Select, Operation::Insert, Operation::Update, Operation::Delete];

    /// Name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Select => "select",
            Operation::Insert => "insert",
            Operation::Update => "update",
            Operation::Delete => "delete",
        }
    }
}

/// A part of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resource {
    /// Time on the CPUs.
    Cpu,
    /// Latency and bandwidth of main memory.
    Memory,
    /// Durable writes of the log.
    Log,
    /// Reads and writes of data files.
    Storage,
    /// Rows that several want at once.
    Locks,
}

impl Resource {
    /// Name in a table.
    pub fn name(self) -> &'static str {
        match self {
            Resource::Cpu => "CPU",
            Resource::Memory => "memory",
            Resource::Log => "log",
            Resource::Storage => "storage",
            Resource::Locks => "locks",
        }
    }
}

/// A kind of application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Application {
    /// Short transactions.
    Oltp,
    /// Questions about much data.
    Analytics,
}

impl Workload {
    /// A workload of one unit per op and nothing else: no tables, no SQL, no claims.
    pub fn bare(id: &str, title: &str, kpm: Kpm) -> Workload {
        Workload {
            id: id.into(),
            group: id.into(),
            title: title.into(),
            about: String::new(),
            revision: 1,
            aliases: Vec::new(),
            differs: None,
            params: Vec::new(),
            kpm,
            second: None,
            work: Expr("1".into()),
            per_op: BTreeMap::new(),
            does: Vec::new(),
            stresses: Vec::new(),
            matters_for: Vec::new(),
            scaled_by: Vec::new(),
            tables: Vec::new(),
            warm: Vec::new(),
            evict: Vec::new(),
            commits: false,
            bulk: false,
            binds: BTreeMap::new(),
            client: Vec::new(),
            setup: Vec::new(),
            teardown: Vec::new(),
            session: Vec::new(),
            hold: Vec::new(),
            connects: false,
            idle: None,
            vectors: None,
            finds: None,
            requires: BTreeMap::new(),
            threads: None,
            parts: Vec::new(),
            answer: None,
            contract: Vec::new(),
            crosscheck: Vec::new(),
            unsupported: BTreeMap::new(),
            undrivable: BTreeMap::new(),
        }
    }

    /// Difference between the work and that of a publication with one of these codes.
    pub fn differs<'n>(&self, codes: impl IntoIterator<Item = &'n str>) -> Option<&str> {
        let mut codes = codes.into_iter();
        codes.find_map(|code| {
            if self.id.eq_ignore_ascii_case(code) {
                return self.differs.as_deref();
            }
            let alias = self.aliases.iter().find(|alias| alias.code.eq_ignore_ascii_case(code))?;
            alias.differs.as_deref()
        })
    }
}

/// A code of another suite that corresponds to this workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alias {
    /// Code in the other suite: `T611`.
    pub code: String,
    /// Parameters that the code fixes, e.g. `org = "heap-list"`.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// The difference between the work and the published one, on some engine or on all: said
    /// wherever the two stand side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
}

/// A declared parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Param {
    /// Name on the command line and in SQL.
    pub name: String,
    /// Value if none is given.
    pub default: String,
    /// Defaults of single engines that differ.
    #[serde(default)]
    pub engine_default: BTreeMap<String, String>,
    /// Allowed values; empty = any whole number between `min` and `max`.
    #[serde(default)]
    pub values: Vec<String>,
    /// Least number that is allowed; none = no limit.
    #[serde(default)]
    pub min: Option<i64>,
    /// Largest number that is allowed; none = no limit.
    #[serde(default)]
    pub max: Option<i64>,
    /// The value that stands for the work before the workload had this parameter: it is in no hash,
    /// so that the work is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implied: Option<String>,
    /// The table of the data set that each value chooses: `{{table}}` in SQL, `table_rows` and so
    /// on in expressions, `table` in the lists of tables.
    #[serde(default)]
    pub table: BTreeMap<String, String>,
    /// Values that single engines cannot give, with the reason: engine -> value -> reason. The
    /// value `>N` stands for every number above N; `value,other=a|b` for the value together with
    /// these of another parameter. The engine `every` stands for all.
    #[serde(default)]
    pub unavailable: BTreeMap<String, BTreeMap<String, String>>,
    /// One line for `list workloads`.
    pub about: String,
}

impl Param {
    /// Name in `unavailable` that stands for all engines.
    pub const EVERY: &'static str = "every";

    /// Reason why `engine` cannot give this parameter's value in `params`, if it cannot.
    pub fn unavailable_on(
        &self,
        engine: &str,
        params: &BTreeMap<String, String>,
    ) -> Option<UnavailableValue<'_>> {
        let value = params.get(&self.name)?;
        let covers = |refused: &str| match refused.strip_prefix('>') {
            Some(limit) => limit
                .parse::<i64>()
                .ok()
                .zip(value.parse::<i64>().ok())
                .is_some_and(|(limit, n)| n > limit),
            None => refused == value,
        };
        let of_engines = [engine, Param::EVERY].into_iter();
        let mut refusals = of_engines.filter_map(|engine| self.unavailable.get(engine)).flatten();
        let (refused, reason) = refusals.find(|(refused, _)| {
            let refused = RefusedValue::new(refused);
            covers(refused.own) && refused.other.is_none_or(|other| other.is_met(params))
        })?;
        let other = RefusedValue::new(refused).other;
        let with = other
            .and_then(|other| Some(format!(" with {}={}", other.name, params.get(other.name)?)));
        let what = format!("{}={value}{}", self.name, with.unwrap_or_default());
        Some(UnavailableValue { what, reason })
    }
}

/// Value of a parameter that an engine cannot give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnavailableValue<'a> {
    /// Parameter and value, with those of the other parameter that matters: `org=iot with n=2`.
    pub what: String,
    /// Reason why the engine cannot give it.
    pub reason: &'a str,
}

/// Key of [`Param::unavailable`]: `value`, or `value,other=a|b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedValue<'a> {
    /// Value of the parameter itself; `>N` is every number above N.
    pub own: &'a str,
    /// Values of another parameter with which the value is refused; none: with all.
    pub other: Option<OtherValues<'a>>,
}

/// Another parameter with values as a claim names them: `a`, `a|b` or `!a|b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherValues<'a> {
    /// Name of the parameter.
    pub name: &'a str,
    /// Its values.
    pub values: &'a str,
}

impl<'a> RefusedValue<'a> {
    /// Reads a key. One that names no other parameter after its comma is a value as a whole.
    pub fn new(refused: &'a str) -> RefusedValue<'a> {
        let whole = RefusedValue { own: refused, other: None };
        let Some((own, other)) = refused.split_once(',') else { return whole };
        let Some((name, values)) = other.split_once('=') else { return whole };
        RefusedValue { own, other: Some(OtherValues { name, values }) }
    }
}

impl OtherValues<'_> {
    /// True if `params` have the parameter with one of the values.
    fn is_met(&self, params: &BTreeMap<String, String>) -> bool {
        params.get(self.name).is_some_and(|value| Claim::names(self.values, value))
    }
}

/// A part of a mixed workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Parameters of the part; those that are left out have their defaults.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// Source of the value of a client-drive bind for an op; every value is a 64-bit integer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bind {
    /// Uniform in 1..=N, drawn from the job's own generator.
    Random(Expr),
    /// Number in 1..=N, drawn from the job's own generator by the distribution that the workload's
    /// parameters `keys` and `place` choose. A plan has `Random` or `Skewed` in its place; in the
    /// body of a routine `{{drawn_NAME}}` is the same draw.
    Keyed(Expr),
    /// Draw that is not uniform, as a plan has it.
    Skewed {
        /// Number of keys: values are in 1..=rows.
        rows: u64,
        /// Law by which ranks are drawn.
        keys: KeyLaw,
        /// Place of the keys drawn most often.
        place: Place,
    },
    /// The job's number, 1..=jobs.
    Job,
    /// Counts 1, 2, 3 ... within a job, plus `job * 1_000_000_000_000`: unique over all jobs.
    Sequence,
    /// Number of the repetition within the op: 1, 2, 3 ... `times`.
    Repetition,
    /// A fixed value per test.
    Constant(Expr),
}

/// One alternative of a client-drive op: its statements run in order; every row of every result is
/// read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientBranch {
    /// Percent of ops that take this branch; the branch without a chance takes the rest.
    #[serde(default)]
    pub chance: Option<Expr>,
    /// `none`: reads only; `auto`: the single statement commits itself; `block`: begin ... commit
    /// around the steps.
    #[serde(default)]
    pub commit: super::Commit,
    /// Block names, in order.
    pub steps: Vec<String>,
    /// Number of times that the list of steps is repeated within one op (default 1).
    #[serde(default)]
    pub times: Option<Expr>,
}

/// The expected answer of a workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Statement block whose result is checked (client form). Absent: only one op is checked.
    #[serde(default)]
    pub step: Option<String>,
    /// Fixed bind values for the check.
    #[serde(default)]
    pub binds: BTreeMap<String, Expr>,
    /// Rows that the step returns; also those that one op touches, unless `routine_rows` says
    /// otherwise. A client's op that is the step and nothing else touches these, as often as it
    /// repeats the step.
    #[serde(default)]
    pub rows: Option<Expr>,
    /// Rows that one op touches (default `rows`), of the routine or of several steps of a client;
    /// may use `commits`, the commits that the op reported, for an op whose random branch decides
    /// about the rows.
    #[serde(default)]
    pub routine_rows: Option<Expr>,
    /// Sums over the step's result, by column name.
    #[serde(default)]
    pub sums: BTreeMap<String, Expr>,
    /// Value that the routine must return in `sink` for one op from the fixed seed 1 (within 1e-6
    /// relative).
    #[serde(default)]
    pub sink: Option<Expr>,
}

/// A claim about counters of a whole test: `what / per` lies between `min` and `max`, or equals
/// within 0.5 %.
///
/// Expressions know data set facts, numeric parameters, `jobs` and dbdyno's counts (`ops`, `rows`,
/// `commits`, `units`). If a parameter has the name of a count (`rows`), `min` and `max` mean the
/// parameter and `equals` means the count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// A counter name, or one of dbdyno's counts: `ops`, `rows`, `commits`, `units`, or a fact of
    /// the test (`evicted`), or (in a contract) a numeric parameter. A gauge (`durable`) stands for
    /// its lowest value during the test.
    pub what: String,
    /// Divisor, same names; default 1. `s` = seconds from gate to end, `job_s` = seconds times
    /// jobs.
    #[serde(default)]
    pub per: Option<String>,
    /// Least value of the quotient; none = no lower limit.
    #[serde(default)]
    pub min: Option<Expr>,
    /// Largest value of the quotient; none = no upper limit.
    #[serde(default)]
    pub max: Option<Expr>,
    /// Expected quotient of a cross-check, within 0.5 %: an expression that may use `ops`, `rows`,
    /// `commits`, `units`.
    #[serde(default)]
    pub equals: Option<Expr>,
    /// A counter, gauge or count on which the claim depends: it is judged unless this is known to
    /// be 0.
    #[serde(default)]
    pub when: Option<String>,
    /// An expression over counters, facts and dbdyno's counts: the claim is judged unless this is
    /// known not to be above 0. So a claim about a share of the work can be passed over where that
    /// share is too small to matter (`physical_reads - 0.05 / jobs * logical_reads`).
    #[serde(default)]
    pub if_positive: Option<Expr>,
    /// Verdict if the claim does not hold (default `invalid`); `conditional` for what only
    /// restricts a figure's meaning.
    #[serde(default)]
    pub status: Option<Status>,
    /// Reason code if the claim does not hold (default `contract` or `crosscheck`).
    #[serde(default)]
    pub code: Option<ReasonCode>,
    /// Features that an engine must have for the claim to hold there: counters of its probes, or
    /// those that its file in `engines/` states; `!name` for a feature that it must lack.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The engines that have all that, found by the catalog and stored with a plan; empty = no
    /// need, so all.
    #[serde(default)]
    pub engines: Vec<String>,
    /// The engines that count `what` without a lock, found by the catalog and stored with a plan:
    /// with several jobs their counter may have lost events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_without_lock: Vec<String>,
    /// Drives for which it holds; empty = both.
    #[serde(default)]
    pub drives: Vec<String>,
    /// Parameter values with which it holds, `a`, `a|b` or `!a|b` (neither); empty = all.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
    /// Meaning of the claim if it does not hold.
    pub because: String,
}

impl Claim {
    /// The values that `a`, `a|b` or `!a|b` names.
    pub fn named_values(named: &str) -> impl Iterator<Item = &str> {
        named.strip_prefix('!').unwrap_or(named).split('|')
    }

    /// True if the claim holds without the values that are named (`!a|b`), and not with them.
    pub fn is_without(named: &str) -> bool {
        named.starts_with('!')
    }

    /// True if `value` is one of those named `a|b`; with `!a|b` if it is none of them.
    pub fn names(named: &str, value: &str) -> bool {
        Claim::named_values(named).any(|name| name == value) != Claim::is_without(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_holds_with_the_values_named_or_with_all_others() {
        assert!(
            Claim::names("heap", "heap")
                && Claim::names("heap|iot", "heap")
                && Claim::names("!iot|hash", "heap")
        );
        assert!(!Claim::names("heap|iot", "hash") && !Claim::names("!heap|iot", "heap"));
    }
}
