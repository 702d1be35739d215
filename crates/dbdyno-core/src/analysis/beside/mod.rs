//! Comparison of a measured run with published ones, code by code: both figures in one unit, how
//! each was converted, and what keeps the two from being the same. Figures without a counterpart
//! are listed with the reason. Nothing is estimated. Pure.

mod notes;
mod own;
mod units;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::compare::{Kind, Side};
use super::published::doubts;
use crate::model::params::{ORG, OWN_ORG, THREADS};
use crate::model::{
    Drive, PublishedKind, PublishedTest, Quantity, ReasonCode, Sentence, Status, Test, Workload,
};

pub use notes::Note;
use own::{Counted, Measured, own_amount, width};
pub use units::{Code, Conversion, Fixed, Rate};

/// Figures within this fraction of one another are level.
pub const LEVEL: f64 = 0.05;

/// Words of the catalog and the engine about workloads and codes.
#[derive(Debug, Clone, Default)]
pub struct Words<'a> {
    /// Workloads of the catalog.
    pub workloads: Vec<&'a Workload>,
    /// Codes of publications.
    pub codes: Vec<CodeWords<'a>>,
    /// Suites that have a test of this workload with these parameters, by id.
    pub suites: Vec<(&'a str, &'a str, BTreeMap<String, String>)>,
    /// Organisations of tables by engine, its own first; those of an engine that is not here are
    /// not known.
    pub orgs: BTreeMap<&'a str, &'a [&'a str]>,
}

/// A published code with the facts that reports show next to its workload.
#[derive(Debug, Clone, Copy)]
pub struct CodeWords<'a> {
    /// Empty for a test without a code: then its description decides.
    pub code: &'a str,
    /// Words of the publication for the measured work.
    pub description: &'a str,
    /// Work that a job does where the publication prints its time.
    pub fixed: &'a Fixed,
    /// Parameters of the stated throughput, where they are others.
    pub best: &'a BTreeMap<String, String>,
}

impl Words<'_> {
    fn workload(&self, id: &str) -> Option<&Workload> {
        self.workloads.iter().copied().find(|workload| workload.id == id)
    }

    fn code(&self, test: &PublishedTest) -> Option<&CodeWords<'_>> {
        let (code, description) = (&test.published.code, &test.published.description);
        self.codes.iter().find(|known| match code.as_str() {
            "" => known.code.is_empty() && known.description == description,
            code => known.code == code,
        })
    }

    /// The parameters as they are on the engine: its own organization by name.
    fn resolve_org(
        &self,
        engine: &str,
        params: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let own = self.orgs.get(engine).and_then(|orgs| orgs.first());
        let named = |(name, value): (&String, &String)| match own {
            Some(own) if name == ORG && value == OWN_ORG => (name.clone(), (*own).to_string()),
            _ => (name.clone(), value.clone()),
        };
        params.iter().map(named).collect()
    }
}

/// A run beside a published one.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Beside {
    /// Names of the runs.
    #[serde(rename = "published_run")]
    pub theirs: String,
    /// Name of the measured run.
    #[serde(rename = "run")]
    pub yours: String,
    /// Figures that both have.
    pub pairs: Vec<Pair>,
    /// Figures that have no counterpart.
    pub unpaired: Vec<Unpaired>,
}

/// One figure of both, in one unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Code in the publication; empty if the publication has none.
    pub code: String,
    /// The publication's own words for the measured work.
    pub description: String,
    /// Identifier of the workload as in the catalog: `SRV-QUERY1`.
    pub workload: String,
    /// Parameters of the measured test that are not the defaults.
    pub params: BTreeMap<String, String>,
    /// Speed or throughput.
    pub kind: Kind,
    /// Quantity that both figures count.
    pub quantity: Quantity,
    /// The common unit.
    pub unit: &'static str,
    /// Figure of the publication.
    pub theirs: Figure,
    /// Figure of the measured run.
    pub yours: Figure,
    /// Yours / theirs.
    pub ratio: f64,
    /// `at-most` if theirs is a lower bound: they could do more.
    pub bound: Option<&'static str>,
    /// The worse of both verdicts, and never better than conditional: engine, hardware and data
    /// differ.
    #[serde(rename = "verdict")]
    pub status: Status,
    /// The differences between the two figures.
    pub semantics: Vec<Note>,
}

/// A side of a pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Value in the common unit.
    pub value: f64,
    /// Figure before its conversion, as printed or measured.
    pub printed: f64,
    /// Unit of that figure.
    pub printed_unit: String,
    /// Absent if a publication does not print them.
    pub jobs: Option<u32>,
    /// Mean time of an op at this figure, in ms; absent if a publication does not print it.
    pub service_time_ms: Option<f64>,
    /// Verdict on this figure alone.
    #[serde(rename = "verdict")]
    pub status: Status,
    /// Conversion to the common unit.
    pub conversion: Conversion,
}

/// A figure that has no counterpart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unpaired {
    /// Code of the publication, else the workload.
    pub code: String,
    /// Absent: of both kinds.
    pub kind: Option<Kind>,
    /// Reason as a code.
    pub reason: Why,
    /// The same as a sentence.
    #[serde(serialize_with = "serialize_sentence")]
    pub text: Sentence,
}

/// The class of reasons for a figure without a counterpart, in the order of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The run has no such test; a suite may have it.
    NotRun,
    /// The engine cannot run it.
    EngineCannot,
    /// The catalog has no such workload.
    NoWorkload,
    /// The two did other work, or no unit is common to them.
    OtherWork,
    /// The source contradicts itself.
    SourceContradicts,
    /// Ours has no figure that its verdict accepts.
    NoFigure,
    /// The publication does not have it.
    OnlyYours,
}

/// A sentence as JSON: its English text.
fn serialize_sentence<S: Serializer>(
    sentence: &Sentence,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(sentence)
}

/// Comparison of a measured run with a published one.
pub fn beside(yours: &Side<'_>, theirs: &Side<'_>, words: &Words<'_>) -> Beside {
    let mut found =
        Beside { theirs: theirs.name.into(), yours: yours.name.into(), ..Beside::default() };
    let (own, foreign) = (yours.run.engine.as_deref().unwrap_or_default(), codes(theirs.tests));
    let is_measured = |test: &&Test| test.measured().is_some();
    let ours: Vec<&Test> = yours.tests.iter().filter(is_measured).collect();
    for tests in &foreign {
        let code = CodeComparison { words, engine: own, yours, theirs, ours: &ours, tests };
        for kind in [Kind::Speed, Kind::Throughput] {
            match code.pair(kind) {
                Some(Ok(pair)) => found.pairs.push(pair),
                Some(Err(unpaired)) => found.unpaired.push(unpaired),
                None => {}
            }
        }
    }
    let is_known = |test: &Test| foreign.iter().any(|tests| tests[0].workload == test.workload());
    let mut alone: Vec<&str> =
        ours.iter().filter(|test| !is_known(test)).map(|test| test.workload()).collect();
    alone.dedup();
    found.unpaired.extend(alone.into_iter().map(|workload| Unpaired {
        code: workload.into(),
        kind: None,
        reason: Why::OnlyYours,
        text: "the publication has no such test".into(),
    }));
    join_kinds(&mut found.unpaired);
    found.unpaired.sort_by_key(|unpaired| unpaired.reason);
    found
}

/// Makes one entry of two kinds that lack a counterpart for the same reason.
fn join_kinds(unpaired: &mut Vec<Unpaired>) {
    unpaired.dedup_by(|next, first| {
        let is_same =
            (&next.code, next.reason, &next.text) == (&first.code, first.reason, &first.text);
        if is_same {
            first.kind = None;
        }
        is_same
    });
}

/// The tests of each code, or of each description without one, in order of appearance.
fn codes(tests: &[Test]) -> Vec<Vec<&PublishedTest>> {
    let mut codes: Vec<Vec<&PublishedTest>> = Vec::new();
    for test in tests.iter().filter_map(Test::published) {
        let is_same = |known: &&mut Vec<&PublishedTest>| {
            let (first, own) = (&known[0].published, &test.published);
            first.code == own.code
                && (!own.code.is_empty() || first.description == own.description)
                && known[0].workload == test.workload
                && without_threads(&known[0].params) == without_threads(&test.params)
        };
        match codes.iter_mut().find(is_same) {
            Some(known) => known.push(test),
            None => codes.push(vec![test]),
        }
    }
    codes
}

fn without_threads(params: &BTreeMap<String, String>) -> BTreeMap<&String, &String> {
    params.iter().filter(|(name, _)| *name != THREADS).collect()
}

/// A code of a publication, and everything that can be compared with it.
struct CodeComparison<'a> {
    words: &'a Words<'a>,
    engine: &'a str,
    yours: &'a Side<'a>,
    theirs: &'a Side<'a>,
    ours: &'a [&'a Test],
    /// The published tests of the code.
    tests: &'a [&'a PublishedTest],
}

impl<'a> CodeComparison<'a> {
    /// The pair of a kind, or why there is none; nothing if the publication prints no such figure.
    fn pair(&self, kind: Kind) -> Option<Result<Pair, Unpaired>> {
        let theirs: Vec<&PublishedTest> =
            self.tests.iter().copied().filter(|test| is_of(test, kind)).collect();
        let first = *theirs.first()?;
        let nothing = Fixed::new();
        let words = self.words.code(first);
        let fixed = words.map_or(&nothing, |words| words.fixed);
        let why = |reason, text| Some(Err(self.make_unpaired(kind, reason, text)));
        if theirs.iter().all(|test| test.verdict.status == Status::Invalid) {
            return why(Why::SourceContradicts, "the source contradicts itself".into());
        }
        let printed = printed_quantities(&theirs, fixed);
        if printed.is_empty() {
            // A share of a link or a wait: dbdyno has no figure of that kind.
            return None;
        }
        let Some(workload) = self.words.workload(&first.workload) else {
            return why(Why::NoWorkload, "no workload here corresponds to it".into());
        };
        let only_stated = theirs.iter().all(|test| test.published.kind != PublishedKind::Point);
        let mut params = self.words.resolve_org(self.engine, &first.params);
        params.remove(THREADS);
        if let Some(words) = words.filter(|_| kind == Kind::Throughput && only_stated) {
            params.extend(words.best.clone());
        }
        let ours = match self.variant(workload, &params) {
            Ok(ours) => ours,
            Err((reason, text)) => return why(reason, text),
        };
        for quantity in printed {
            let Some(foreign) = self.their_best(&theirs, quantity, fixed, kind) else { continue };
            let Some(own) = own_amount(&ours, kind, Counted { quantity, workload }) else {
                continue;
            };
            if own.figure.status() == Status::Invalid {
                return why(Why::NoFigure, no_figure(&ours));
            }
            let is_again = is_one_job(foreign.test) && width(own.figure.test) == 1;
            if kind == Kind::Throughput && is_again {
                return None; // it is the speed
            }
            return Some(Ok(self.make_pair(kind, quantity, foreign, own)));
        }
        let is_measured = |test: &&Test| {
            test.kpm_value().is_some() && (kind == Kind::Throughput || width(test) == 1)
        };
        match ours.iter().any(is_measured) {
            true => why(Why::OtherWork, "no unit is common to the two figures".into()),
            false => why(Why::NoFigure, no_figure(&ours)),
        }
    }

    fn make_unpaired(&self, kind: Kind, reason: Why, text: Sentence) -> Unpaired {
        let published = &self.tests[0].published;
        let code = if published.code.is_empty() { &published.description } else { &published.code };
        Unpaired { code: code.clone(), kind: Some(kind), reason, text }
    }

    /// The measured tests that did this work. Of several drives and variants they are those that
    /// were asked for by the code, in the database, with the fewest parameters of their own.
    fn variant(
        &self,
        workload: &Workload,
        params: &BTreeMap<String, String>,
    ) -> Result<Vec<&'a Test>, (Why, Sentence)> {
        let of_workload: Vec<&Test> =
            self.ours.iter().copied().filter(|test| test.workload() == workload.id).collect();
        let own = |test: &Test| self.words.resolve_org(self.engine, test.params());
        let differs = |test: &Test| -> Option<(String, String)> {
            let own = own(test);
            let other = params.iter().find(|(name, value)| {
                let is_scaled = workload.scaled_by.contains(name);
                !is_scaled && own.get(*name).is_some_and(|own| own != *value)
            });
            other.map(|(name, value)| (format!("{name}={value}"), format!("{name}={}", own[name])))
        };
        let mut fitting: Vec<&Test> =
            of_workload.iter().copied().filter(|test| differs(test).is_none()).collect();
        let code = &self.tests[0].published.code;
        fitting.sort_by_key(|test| {
            let is_asked = test.asked_as() == Some(code.as_str());
            (!is_asked, test.drive() != Drive::Database, test.chosen().len())
        });
        if let Some(first) = fitting.first().copied() {
            let is_same = |test: &&Test| {
                test.drive() == first.drive()
                    && without_threads(test.chosen()) == without_threads(first.chosen())
            };
            return Ok(fitting.into_iter().filter(is_same).collect());
        }
        if let Some(text) = self.cannot(workload, params) {
            return Err((Why::EngineCannot, text));
        }
        let other = of_workload.iter().filter_map(|test| differs(test));
        let other = other.into_iter().find(|(theirs, _)| !theirs.starts_with("org="));
        if let Some((theirs, own)) = other.filter(|_| !self.suite_has(workload, params)) {
            let text = Sentence::new("theirs with {theirs}, yours with {own}");
            return Err((Why::OtherWork, text.with("theirs", theirs).with("own", own)));
        }
        Err((Why::NotRun, self.not_run(workload, params)))
    }

    /// The reason for which the engine cannot run the workload with these parameters.
    fn cannot(&self, workload: &Workload, params: &BTreeMap<String, String>) -> Option<Sentence> {
        if let Some(reason) = workload.unsupported.get(self.engine) {
            return Some(Sentence::new(reason.clone()));
        }
        if let Some((org, orgs)) = params.get(ORG).zip(self.words.orgs.get(self.engine))
            && !orgs.contains(&org.as_str())
        {
            let text = Sentence::new("{engine} has no table organization {org}");
            return Some(text.with("engine", self.engine).with("org", org.as_str()));
        }
        let refused = |param: &crate::model::Param| {
            let unavailable = param.unavailable_on(self.engine, params)?;
            let text = Sentence::new("{what}: {reason}").with("what", unavailable.what);
            Some(text.with("reason", Sentence::new(unavailable.reason)))
        };
        workload.params.iter().find_map(refused)
    }

    /// The suites that have it.
    fn suites(&self, workload: &Workload, params: &BTreeMap<String, String>) -> Vec<&str> {
        let fits = |given: &BTreeMap<String, String>| {
            let given = self.words.resolve_org(self.engine, given);
            params.iter().all(|(name, value)| {
                let known = given.get(name);
                let known = known.or_else(|| {
                    let param = workload.params.iter().find(|param| param.name == *name)?;
                    Some(param.engine_default.get(self.engine).unwrap_or(&param.default))
                });
                let is_own = |known: &String| {
                    let own = self.words.orgs.get(self.engine).and_then(|orgs| orgs.first());
                    name == ORG && known == OWN_ORG && own == Some(&value.as_str())
                };
                known.is_none_or(|known| known == value || is_own(known))
            })
        };
        let mut found: Vec<&str> = Vec::new();
        for (suite, id, given) in &self.words.suites {
            if *id == workload.id && fits(given) && !found.contains(suite) {
                found.push(suite);
            }
        }
        found
    }

    fn suite_has(&self, workload: &Workload, params: &BTreeMap<String, String>) -> bool {
        self.ours.iter().any(|test| test.workload() == workload.id)
            && self.suites(workload, params).contains(&self.yours.run.suite.as_str())
    }

    fn not_run(&self, workload: &Workload, params: &BTreeMap<String, String>) -> Sentence {
        let suites = self.suites(workload, params);
        match suites.is_empty() {
            true => "no suite has it".into(),
            // Each as it is typed: `--suite a, b` is a suite and a target.
            false => {
                Sentence::new("run with --suite {suites}").with("suites", suites.join(", --suite "))
            }
        }
    }

    /// The publication's amount of a quantity: at one job, or its best.
    fn their_best(
        &self,
        tests: &[&'a PublishedTest],
        quantity: Quantity,
        fixed: &Fixed,
        kind: Kind,
    ) -> Option<Printed<'a>> {
        let amount = |test: &&'a PublishedTest| {
            Some(Printed { rate: units::theirs(test, quantity, fixed)?, test })
        };
        let mut known: Vec<Printed<'a>> = tests.iter().filter_map(amount).collect();
        let is_point = |test: &PublishedTest| test.published.kind == PublishedKind::Point;
        if known.iter().any(|amount| is_point(amount.test)) {
            known.retain(|amount| is_point(amount.test));
        }
        known.retain(|amount| amount.test.verdict.status < Status::Invalid);
        let is_bound = |amount: &Printed<'a>| {
            let mut reasons = amount.test.verdict.reasons.iter();
            reasons.any(|reason| reason.code == ReasonCode::Approximate)
        };
        if known.iter().any(|amount| !is_bound(amount)) {
            known.retain(|amount| !is_bound(amount));
        }
        let known = if kind == Kind::Speed { known.into_iter().take(1).collect() } else { known };
        known.into_iter().reduce(
            |best, next| {
                if next.rate.per_s > best.rate.per_s { next } else { best }
            },
        )
    }

    fn make_pair(
        &self,
        kind: Kind,
        quantity: Quantity,
        foreign: Printed<'a>,
        own: Measured<'a>,
    ) -> Pair {
        let (published, measured) = (foreign.test, own.figure);
        let (foreign, own) = (foreign.rate, own.rate);
        let said = doubts_of(published, foreign.metric);
        let is_bound = said.contains(&ReasonCode::LowerBound);
        let wide =
            |jobs: Option<u32>, threads: Option<u32>| jobs.map(|jobs| jobs * threads.unwrap_or(1));
        let theirs = Figure {
            value: foreign.per_s,
            printed: foreign.printed,
            printed_unit: foreign.unit.into(),
            jobs: wide(published.jobs(), published.published.threads),
            service_time_ms: published.latency.mean_us.map(|us| us / 1e3),
            status: published.verdict.status,
            conversion: foreign.conversion,
        };
        let yours = Figure {
            value: own.per_s,
            printed: own.printed,
            printed_unit: own.unit.into(),
            jobs: Some(width(measured.test)),
            service_time_ms: measured.mean_us().map(|us| us / 1e3),
            status: measured.status(),
            conversion: own.conversion,
        };
        let mut pair = Pair {
            code: published.published.code.clone(),
            description: published.published.description.clone(),
            workload: published.workload.clone(),
            params: measured.test.chosen().clone(),
            kind,
            quantity,
            unit: quantity.unit(),
            ratio: yours.value / theirs.value,
            status: Status::Conditional.max(theirs.status).max(yours.status),
            bound: is_bound.then_some("at-most"),
            theirs,
            yours,
            semantics: Vec::new(),
        };
        let workload = self.words.workload(&pair.workload);
        let differs = workload.and_then(|workload| workload.differs([pair.code.as_str()]));
        pair.semantics = notes::collect(&pair, &said, differs, [self.yours.run, self.theirs.run]);
        pair
    }
}

fn is_one_job(test: &PublishedTest) -> bool {
    test.jobs() == Some(1) && test.published.threads.unwrap_or(1) == 1
}

/// True if a published test states a figure of this kind.
fn is_of(test: &PublishedTest, kind: Kind) -> bool {
    match kind {
        Kind::Speed => is_one_job(test) && test.published.kind != PublishedKind::Throughput,
        Kind::Throughput => test.published.kind != PublishedKind::Speed,
    }
}

/// The quantities of all tests, those of the first before the others.
fn printed_quantities(tests: &[&PublishedTest], fixed: &Fixed) -> Vec<Quantity> {
    let mut found: Vec<Quantity> = Vec::new();
    for quantity in tests.iter().flat_map(|test| units::quantities(test, fixed)) {
        if !found.contains(&quantity) {
            found.push(quantity);
        }
    }
    found
}

/// The doubts about a figure of a published test.
fn doubts_of(test: &PublishedTest, metric: &str) -> Vec<ReasonCode> {
    let figure = test.published.figure(metric);
    figure.map(doubts).unwrap_or_default().into_iter().map(|reason| reason.code).collect()
}

/// A publication's amount of a quantity and the test that it is of.
struct Printed<'a> {
    rate: Rate<'a>,
    test: &'a PublishedTest,
}

/// The reason for which none of these tests has a figure.
fn no_figure(tests: &[&Test]) -> Sentence {
    let reasons = tests.iter().flat_map(|test| &test.verdict().reasons);
    let invalid =
        reasons.filter(|reason| reason.status == Status::Invalid).map(|one| one.to_sentence());
    invalid.into_iter().next().map_or_else(
        || "your test has no such figure".into(),
        |reason| Sentence::new("your test has no figure: {reason}").with("reason", reason),
    )
}

/// Number of pairs by the side that is ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Pairs in which yours is ahead.
    pub ahead: usize,
    /// Pairs in which the two are level.
    pub level: usize,
    /// Pairs in which theirs is a lower bound, so that neither is known to be ahead.
    pub open: usize,
    /// Pairs in which yours is not valid.
    pub doubtful: usize,
    /// All pairs.
    pub all: usize,
}

/// The standing in the pairs of a kind.
pub fn standing(pairs: &[&Pair], kind: Kind) -> Standing {
    let of_kind = || pairs.iter().filter(|pair| pair.kind == kind);
    // A ratio that is only an upper bound does not show who is ahead.
    let known = |pair: &&&Pair| pair.bound.is_none();
    let ahead = of_kind().filter(known).filter(|pair| pair.ratio > 1.0 + LEVEL).count();
    let level = of_kind().filter(known).filter(|pair| (pair.ratio - 1.0).abs() <= LEVEL).count();
    let open = of_kind().filter(|pair| pair.bound.is_some()).count();
    let doubtful = of_kind().filter(|pair| pair.yours.status > Status::Valid).count();
    Standing { ahead, level, open, doubtful, all: of_kind().count() }
}

#[cfg(test)]
mod tests;
