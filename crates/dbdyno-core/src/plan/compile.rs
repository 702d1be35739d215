//! SQL of one workload for one engine and drive.

use std::collections::BTreeMap;

use crate::catalog::Entry;
use crate::error::{Error, Result, quote};
use crate::model::params::{BATCH, READ_TX};
use crate::model::vectors::VectorSet;
use crate::model::{
    BoundStatement, Branch, Capabilities, ClientBranch, Drive, Expr, Facts, JobCode, PartPlan,
    Requirement, Routine,
};
use crate::sql::{
    Block, LATE, LATE_WITH_VECTORS, Values, bind, fill, placeholders, statement, substitute,
};

use super::params::{self, Params};
use super::{draw, hash, values};

/// Blocks of an engine's harness by name.
pub(super) type Harness<'a> = BTreeMap<&'a str, &'a Block>;

/// Target that SQL is compiled for.
pub(super) struct Target<'a> {
    pub engine: &'a str,
    pub capabilities: &'a Capabilities,
    pub drive: Drive,
    pub size_gb: f64,
}

/// Reason why a workload cannot be driven this way, if it cannot.
pub(super) fn undrivable(
    engine: &str,
    capabilities: &Capabilities,
    entry: &Entry,
    drive: Drive,
) -> Option<String> {
    let workload = &entry.workload;
    if !capabilities.drives.contains(&drive) {
        return Some(format!("{engine} has no {} drive", drive.name()));
    }
    let of_engine = workload.undrivable.get(&format!("{engine}.{}", drive.name()));
    let stated = of_engine.or_else(|| workload.undrivable.get(drive.name())).cloned();
    stated.or_else(|| match drive {
        Drive::Database => missing(entry, engine, "body").map(|what| {
            if workload.bulk { "a bulk load streams rows from a client".into() } else { what }
        }),
        Drive::Client if workload.bulk => None,
        Drive::Client if workload.client.is_empty() => Some("it has no client form".into()),
        Drive::Client => workload
            .client
            .iter()
            .flat_map(|branch| &branch.steps)
            .find_map(|step| missing(entry, engine, step)),
    })
}

fn missing(entry: &Entry, engine: &str, block: &str) -> Option<String> {
    let found = entry.blocks.resolve(engine, &entry.workload.id, block);
    found
        .is_none()
        .then(|| format!("the catalog has no block '{}.{block}' for {engine}", entry.workload.id))
}

/// Compiles a workload with complete parameters.
pub(super) fn part(
    target: &Target<'_>,
    harness: &Harness<'_>,
    entry: &Entry,
    params: &Params,
) -> Result<PartPlan> {
    let mut facts = values::facts(&entry.workload, params, target.size_gb);
    let mut own_facts = values::own_facts(&entry.workload, params, target.size_gb);
    let vectors = values::vectors(entry, params, target.size_gb)?;
    for (name, number) in vectors.iter().flat_map(VectorSet::facts) {
        facts.insert(name.into(), number as f64);
        own_facts.insert(name.into(), number as f64);
    }
    let mut values = values::values(&entry.workload, params, target.size_gb, target.capabilities);
    values.extend(
        vectors.iter().flat_map(VectorSet::facts).map(|(name, n)| (name.into(), n.to_string())),
    );
    values.extend(draw::values(harness, entry, params, &facts)?);
    let compiler = Compiler { target, entry, values, facts };
    let workload = &entry.workload;
    let code = match target.drive {
        Drive::Database => JobCode::Routine(compiler.routine(harness, params)?),
        Drive::Client if workload.bulk => compiler.bulk()?,
        Drive::Client => compiler.client(params)?,
    };
    Ok(PartPlan {
        workload: workload.id.clone(),
        params: params.clone(),
        chosen: params::chosen(workload, target.engine, params),
        code,
        work: workload.work.clone(),
        commits: workload.commits,
        setup: compiler.around(&workload.setup)?,
        teardown: compiler.around(&workload.teardown)?,
        session: compiler.around(&workload.session)?,
        hold: compiler.around(&workload.hold)?,
        idle: compiler.idle()?,
        vectors,
        requires: compiler.requirements()?,
        facts: own_facts,
        answer: workload.answer.clone(),
        answer_step: compiler.answer_step()?,
        contract: workload.contract.clone(),
    })
}

struct Compiler<'a> {
    target: &'a Target<'a>,
    entry: &'a Entry,
    values: Values,
    facts: Facts,
}

impl Compiler<'_> {
    fn find(&self, short: &str) -> Option<&Block> {
        self.entry.blocks.resolve(self.target.engine, &self.entry.workload.id, short)
    }

    fn block(&self, short: &str) -> Result<&Block> {
        self.find(short).ok_or_else(|| {
            let what = format!(
                "{} has no block '{short}' for {}",
                self.entry.workload.id, self.target.engine
            );
            Error::usage(&self.entry.place, what)
        })
    }

    /// Setup, teardown or session; a block that only other engines have, or that says why it is
    /// empty, is nothing to do.
    fn around(&self, names: &[String]) -> Result<Vec<String>> {
        let names = names.iter().map(|name| self.block_name(name));
        let blocks = names.filter_map(|name| self.find(&name)).collect::<Vec<_>>().into_iter();
        let sql = blocks
            .map(|block| Ok(statement(&self.text(block, &self.values, self.late())?).to_string()));
        sql.filter(|sql| sql.as_ref().map_or(true, |sql| !sql.is_empty())).collect()
    }

    /// Names that stay open until a test starts.
    fn late(&self) -> &'static [&'static str] {
        if self.entry.workload.vectors.is_some() { LATE_WITH_VECTORS } else { LATE }
    }

    /// Requirements on the server.
    fn requirements(&self) -> Result<Vec<Requirement>> {
        let own = self.entry.workload.requires.iter().filter_map(|(name, reason)| {
            let (engine, block) = name.split_once('.')?;
            (engine == self.target.engine).then_some((block, reason))
        });
        own.map(|(block, reason)| {
            let sql = self.text(self.block(block)?, &self.values, &[])?;
            Ok(Requirement { sql: statement(&sql).into(), reason: reason.clone() })
        })
        .collect()
    }

    /// A block's name with the parameters' values in it; the default organization under its own
    /// name.
    fn block_name(&self, name: &str) -> String {
        let mut values = self.values.clone();
        if let Some(org) = values::org(&self.values, self.target.capabilities) {
            values.insert(values::ORG.into(), org.into());
        }
        fill(name, &values)
    }

    /// The text of a block with its values, and with the group's block of that name for a
    /// `{{name}}` that is not a value.
    fn text(&self, block: &Block, values: &Values, late: &[&str]) -> Result<String> {
        let mut values = values.clone();
        for (_, name) in
            placeholders(&block.text).into_iter().filter(|(_, name)| !late.contains(name))
        {
            let included = self
                .entry
                .blocks
                .get(self.target.engine, name)
                .filter(|_| !values.contains_key(name));
            if let Some(included) = included {
                values.insert(name.into(), substitute(included, &self.values, late)?);
            }
        }
        substitute(block, &values, late)
    }

    fn bound(&self, block: &Block, values: &Values) -> Result<BoundStatement> {
        let text = self.text(block, values, &[])?;
        let bound = bind(statement(&text), self.target.capabilities.placeholder);
        Ok(BoundStatement { name: block.name.clone(), sql: bound.sql, binds: bound.binds })
    }

    /// The statement whose result `verify` checks; none if this engine has no such block.
    fn answer_step(&self) -> Result<Option<BoundStatement>> {
        let step = self.entry.workload.answer.as_ref().and_then(|answer| answer.step.as_ref());
        let block = step.and_then(|step| self.find(step));
        block.map(|block| self.bound(block, &self.values)).transpose()
    }

    fn eval(&self, expr: &Expr) -> Result<f64> {
        expr.eval(&self.facts).map_err(|what| Error::usage(&self.entry.place, what))
    }

    fn client(&self, params: &Params) -> Result<JobCode> {
        let workload = &self.entry.workload;
        let (mut branches, mut upto) = (Vec::new(), 0.0);
        let chances = workload
            .client
            .iter()
            .map(|branch| branch.chance.as_ref().map(|chance| self.eval(chance)).transpose());
        let chances = chances.collect::<Result<Vec<_>>>()?;
        let rest = 100.0 - chances.iter().flatten().sum::<f64>();
        for (branch, chance) in workload.client.iter().zip(chances) {
            upto += chance.unwrap_or(rest);
            branches.push(self.branch(branch, upto)?);
        }
        if !(-1e-9..=100.0 + 1e-9).contains(&rest) || upto > 100.0 + 1e-9 {
            let what = format!("the chances of {}'s branches add up to more than 100", workload.id);
            return Err(Error::usage(&self.entry.place, what));
        }
        let shared_read = params.get(READ_TX).is_some_and(|value| value == "slice");
        Ok(JobCode::Client {
            branches,
            binds: draw::binds(self.entry, params, &self.facts)?,
            shared_read,
            hits: workload.finds.is_some(),
            connects: workload.connects,
        })
    }

    /// Sessions that do nothing.
    fn idle(&self) -> Result<u32> {
        let idle = self.entry.workload.idle.as_ref().map_or(Ok(0.0), |idle| self.eval(idle))?;
        Ok(idle.round() as u32) // saturates
    }

    fn branch(&self, branch: &ClientBranch, upto: f64) -> Result<Branch> {
        let steps = branch.steps.iter().map(|step| self.bound(self.block(step)?, &self.values));
        let times = branch.times.as_ref().map_or(Ok(1.0), |times| self.eval(times))?;
        if !(1.0..=1e9).contains(&times) {
            let what = format!("{} repeats its steps {times} times", self.entry.workload.id);
            return Err(Error::usage(&self.entry.place, what));
        }
        Ok(Branch {
            upto,
            commit: branch.commit,
            statements: steps.collect::<Result<_>>()?,
            times: times.round() as u32,
        })
    }

    /// Bulk loads go into a table of the workload's own that its setup creates, named as the
    /// workload.
    fn bulk(&self) -> Result<JobCode> {
        let batch = self.eval(&Expr(BATCH.into()))?;
        let table =
            format!("{}{}", self.target.capabilities.prefix, object_name(&self.entry.workload.id));
        Ok(JobCode::Bulk { table, batch: batch.round() as u64 })
    }

    /// The harness with the workload's body in it: a function, a procedure if ops commit, and where
    /// a commit inside a routine would not be waited for a procedure of one transaction.
    fn routine(&self, harness: &Harness<'_>, params: &Params) -> Result<Routine> {
        let per_op = self.entry.workload.commits && !self.target.capabilities.commits_in_routine;
        let kind = match self.entry.workload.commits {
            _ if per_op => "transaction",
            true => "procedure",
            false => "function",
        };
        let body = self.text(self.block("body")?, &self.values, &[])?;
        let declare =
            self.find("declare").map(|block| self.text(block, &self.values, &[])).transpose()?;
        let declare = declare.unwrap_or_default();
        let rows =
            self.find("rows").map(|block| self.text(block, &self.values, &[])).transpose()?;
        let texts = [body.as_str(), declare.as_str()].into_iter().chain(rows.as_deref());
        let digest = hash::of_texts(
            self.entry.workload.revision,
            &params::hashed(&self.entry.workload, params),
            texts,
            8,
        );
        let name = format!(
            "{}w_{}_{digest}",
            self.target.capabilities.prefix,
            object_name(&self.entry.workload.id)
        );
        let mut values = self.values.clone();
        values.extend([
            ("routine".into(), name.clone()),
            ("body".into(), body),
            ("declare".into(), declare),
            ("rows".into(), rows.unwrap_or_else(|| COUNTED_ROWS.into())),
        ]);
        let harness = HarnessBlocks { blocks: harness, engine: self.target.engine, kind };
        if let Some(shared) = harness.blocks.get("loop") {
            let sql = substitute(shared, &values, &[])?;
            values.insert("loop".into(), statement(&sql).into());
        }
        let drop = substitute(harness.of_kind("drop")?, &values, &[])?;
        let create = substitute(harness.get(kind)?, &values, &[])?;
        Ok(Routine {
            call: self.bound(harness.of_kind("call")?, &values)?,
            create: vec![statement(&create).into()],
            drop: vec![statement(&drop).into()],
            per_op,
            hits: self.entry.workload.finds.is_some(),
            name,
        })
    }
}

/// The harness of an engine around nothing; none if it has no routines of many ops.
///
/// # Errors
/// The harness lacks a block.
pub(super) fn bare_routine(
    engine: &str,
    capabilities: &Capabilities,
    harness: &Harness<'_>,
) -> Result<Option<Routine>> {
    if !capabilities.drives.contains(&Drive::Database) || !harness.contains_key("function") {
        return Ok(None);
    }
    let name = format!("{}w_calibration", capabilities.prefix);
    let mut values = Values::from([
        ("routine".to_string(), name.clone()),
        ("body".to_string(), String::new()),
        ("declare".to_string(), String::new()),
        ("rows".to_string(), COUNTED_ROWS.to_string()),
    ]);
    let harness = HarnessBlocks { blocks: harness, engine, kind: "function" };
    if let Some(shared) = harness.blocks.get("loop") {
        let sql = substitute(shared, &values, &[])?;
        values.insert("loop".into(), statement(&sql).into());
    }
    let call = harness.of_kind("call")?;
    let text = substitute(call, &values, &[])?;
    let bound = bind(statement(&text), capabilities.placeholder);
    let create = substitute(harness.get("function")?, &values, &[])?;
    let drop = substitute(harness.of_kind("drop")?, &values, &[])?;
    Ok(Some(Routine {
        call: BoundStatement { name: call.name.clone(), sql: bound.sql, binds: bound.binds },
        create: vec![statement(&create).into()],
        drop: vec![statement(&drop).into()],
        per_op: false,
        hits: false,
        name,
    }))
}

/// Rows that the ops of a routine have found, where its workload has no block `rows`.
const COUNTED_ROWS: &str = "v_rows";

struct HarnessBlocks<'a> {
    blocks: &'a Harness<'a>,
    engine: &'a str,
    /// `function`, `procedure` or `transaction`.
    kind: &'a str,
}

impl HarnessBlocks<'_> {
    fn get(&self, name: &str) -> Result<&Block> {
        self.blocks.get(name).copied().ok_or_else(|| {
            let place = format!("catalog/harness/{}.sql", self.engine);
            Error::usage(place, format!("block {} is missing", quote(name)))
                .advise("the in-database drive needs it")
        })
    }
    /// `call-function`, else `call` for both kinds.
    fn of_kind(&self, verb: &str) -> Result<&Block> {
        match self.blocks.get(format!("{verb}-{}", self.kind).as_str()) {
            Some(block) => Ok(block),
            None => self.get(verb),
        }
    }
}

/// `SRV-QUERY1` as part of an object's name: `srv_query1`.
fn object_name(id: &str) -> String {
    id.to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}
