//! Preparation of a platform for measuring: its data, loaded and locked, its caches warmed, its
//! counters read.

use super::deferred_work::CatchUp;
use super::evict::{self, Evictor};
use super::instrument::SampleCost;
use super::measure::MeasureContext;
use super::measured_run::{
    data_request, interruptible, load_with, make_site, spare, standard_definition,
};
use super::platform::Platform;
use super::probing::Probing;
use super::schedule::{Answers, ServerStart};
use super::server_evidence::ServerEvidence;
use super::sync::SyncProbe;
use super::{RunContext, answers};
use crate::dataset::{self, Lock, Site, Table};
use crate::store::Store;
use dbdyno_core::analysis::circumstances;
use dbdyno_core::error::Result;
use dbdyno_core::model::rows::{RowFunction, table_rows};
use dbdyno_core::model::{Facts, Plan, Reason, RunRecord, Selection};

/// A platform that is ready to be measured.
pub(super) struct Ready<'a> {
    pub measuring: MeasureContext<'a>,
    /// Its data; none without a database.
    data: Option<(&'a Site<'a>, &'a Lock)>,
}

impl Ready<'_> {
    /// Site of its data; none without a database.
    pub(super) fn site(&self) -> Option<&Site<'_>> {
        self.data.map(|(site, _)| site)
    }

    /// Drops the data.
    pub(super) fn drop_data(&self) -> Result<()> {
        self.data.map_or(Ok(()), |(site, lock)| dataset::drop_all(site, lock).map(drop))
    }
}

/// An arm that is about to be made ready.
pub(super) struct UnreadyArm<'u, 'p> {
    pub context: RunContext<'u>,
    pub platform: &'u Platform,
    pub record: &'u mut RunRecord,
    pub probing: &'u mut Probing<'p>,
}

/// A run under way: its record, and the results file that holds it.
pub(super) struct OpenRun<'r> {
    pub record: &'r mut RunRecord,
    pub store: &'r mut Store,
}

/// Makes the platform ready and gives it to `work`.
///
/// # Errors
/// Of the data set or the results file; those of `work`.
pub(super) fn prepared<'p, T>(
    arm: &mut UnreadyArm<'_, 'p>,
    server_start: &ServerStart,
    store: &mut Store,
    work: impl FnOnce(&Ready<'_>, &mut Probing<'p>, &mut Store) -> Result<T>,
) -> Result<T> {
    let UnreadyArm { ref context, platform, ref mut record, ref mut probing } = *arm;
    let sync = SyncProbe::open(context.request, context.plan, platform, record.device_sync);
    if record.device_sync.is_none() && sync.is_some() {
        record.device_sync = sync.as_ref().map(|(_, found)| *found);
        store.update_run(record)?;
    }
    let measuring = MeasureContext {
        database: platform.database.as_ref(),
        plan: context.plan,
        facts: &|_| Facts::new(),
        rows: row_function(context.plan),
        run_id: record.id,
        server_start,
        interrupt: context.interrupt,
        in_process: platform.engine.capabilities().in_process,
        prepare: &|_, _| Ok(Evictor::default()),
        sync: sync.as_ref().map(|(probe, _)| probe),
        catch_up: None,
        evidence: ServerEvidence::open(platform, context.catalog, &context.request.repositories)?,
        back_within: platform.back_within(),
        is_duet: context.request.duet,
        unconfirmed: unconfirmed(context, platform),
        round_trip_s: probing.round_trip_s(),
        sample_cost: SampleCost::of_our_loop(),
        events: context.events,
        workers: context.workers,
    };
    if !platform.engine.is_target() {
        probing.attach(platform, context.catalog, context.request.is_sampled)?;
        return work(&Ready { measuring, data: None }, probing, store);
    }
    let definition = standard_definition(context.catalog)?;
    let label = platform.label();
    let site = make_site(context.catalog, platform, &definition, &label)?;
    let lock = Lock::take(&site)?;
    spare(&site, context.plan, context.events)?;
    let sample_cost = match &context.plan.calibration {
        Some(routine) if context.plan.calls_routines() => {
            interruptible(&site, context.interrupt, || {
                Ok(measuring.sample_cost.with_routine(measuring.database, routine))
            })?
        }
        _ => measuring.sample_cost,
    };
    let measuring = MeasureContext { sample_cost, ..measuring };
    let loaded =
        load_with(&site, &lock, &data_request(context.plan), context.interrupt, context.events)?;
    let block_bytes = probing.block_bytes();
    probing.attach(platform, context.catalog, context.request.is_sampled)?;
    if record.data_set_id.is_none() {
        record.loads.clone_from(&loaded.loads);
        record.data_set_id = Some(loaded.data_set_id.clone());
        store.update_run(record)?;
    }
    let facts = |selection: &Selection| {
        let mut facts = loaded.facts_for(&selection.tables);
        let block_bytes = loaded.block_bytes(&selection.tables).or(block_bytes);
        facts.extend(block_bytes.map(|bytes| ("block_bytes".to_string(), bytes)));
        facts
    };
    let prepare = |selection: &Selection, answers| {
        interruptible(&site, context.interrupt, || {
            lock.renew(&site)?;
            for selection in selection.with_background() {
                if answers == Answers::Check {
                    answers::check(site.db, context.plan, selection, &facts(selection))?;
                }
                warm(context, &site, selection)?;
                read_in(context, &site, selection)?;
            }
            evictor(context, &site, selection)
        })
    };
    let catch_up = CatchUp::open(context, platform);
    let measuring = MeasureContext {
        facts: &facts,
        prepare: &prepare,
        catch_up: catch_up.as_ref(),
        ..measuring
    };
    work(&Ready { measuring, data: Some((&site, &lock)) }, probing, store)
}

/// The reason against the engine's version, if it has one and nobody has confirmed it.
fn unconfirmed(context: &RunContext<'_>, platform: &Platform) -> Option<Reason> {
    let (engine, version) = (platform.engine, platform.database.version());
    let is_known = !engine.is_target() || context.catalog.is_confirmed(engine.name(), &version.0);
    let product = engine.capabilities().product;
    (!is_known).then(|| circumstances::unconfirmed(product, &version.to_string()))
}

/// Reads the tables of a cached workload into the cache before its tests; the contract checks that
/// it worked.
fn warm(context: &RunContext<'_>, site: &Site<'_>, selection: &Selection) -> Result<()> {
    tables(context, site, selection, &selection.workload.warm)
        .iter()
        .try_for_each(|table| dataset::warm(site, table))
}

/// Reads the files of the other tables of a workload into the operating system's cache: what ran
/// before decides nothing.
fn read_in(context: &RunContext<'_>, site: &Site<'_>, selection: &Selection) -> Result<()> {
    let workload = &selection.workload;
    let is_other =
        |table: &&String| !workload.warm.contains(table) && !workload.evict.contains(table);
    let others: Vec<String> = workload.tables.iter().filter(is_other).cloned().collect();
    for table in tables(context, site, selection, &others) {
        evict::read_in(&dataset::system_cached_files(site, &table)?, || context.interrupt.is_set());
    }
    Ok(())
}

/// Evictor that keeps the tables of a workload that is not cached out of the operating system's
/// cache.
fn evictor(context: &RunContext<'_>, site: &Site<'_>, selection: &Selection) -> Result<Evictor> {
    let of = |selection: &Selection| tables(context, site, selection, &selection.workload.evict);
    let all: Vec<Table> = selection.with_background().flat_map(of).collect();
    Evictor::for_tables(site, &all)
}

/// The tables of a selection that are of these kinds.
fn tables(
    context: &RunContext<'_>,
    site: &Site<'_>,
    selection: &Selection,
    kinds: &[String],
) -> Vec<Table> {
    let request =
        dataset::Request { tables: selection.tables.clone(), ..data_request(context.plan) };
    dataset::tables(&site.recipe, &request)
        .into_iter()
        .filter(|table| kinds.contains(&table.kind))
        .collect()
}

/// Rows of bulk loads: those of a table of the big one's size.
pub(super) fn row_function(plan: &Plan) -> RowFunction {
    RowFunction { table_rows: table_rows("big", plan.size_gb), seed: plan.seed }
}
