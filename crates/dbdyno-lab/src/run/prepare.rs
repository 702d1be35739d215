//! Preparation of a platform for measuring: its data, loaded and locked, its caches warmed, its
//! counters read.

use super::deferred_work::CatchUp;
use super::evict::{self, EvictionNote, Evictor};
use super::instrument::{costs_of_our_loop, costs_with_routine};
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
use crate::dataset::{self, LoadedDataset, Lock, Site, Table};
use crate::store::Store;
use dbdyno_core::analysis::circumstances;
use dbdyno_core::error::Result;
use dbdyno_core::model::rows::{RowFunction, table_rows};
use dbdyno_core::model::{Facts, Plan, Reason, RunRecord, Selection};

/// A platform that is ready to be measured.
pub(super) struct ReadyPlatform<'a> {
    pub measuring: MeasureContext<'a>,
    /// Its data; none without a database.
    data: Option<LockedData<'a>>,
}

/// Data that is locked against changes by others.
struct LockedData<'a> {
    site: &'a Site<'a>,
    lock: &'a Lock,
}

impl ReadyPlatform<'_> {
    /// Site of its data; none without a database.
    pub(super) fn site(&self) -> Option<&Site<'_>> {
        self.data.as_ref().map(|data| data.site)
    }

    /// Drops the data.
    pub(super) fn drop_data(&self) -> Result<()> {
        match &self.data {
            Some(data) => dataset::drop_all(data.site, data.lock).map(drop),
            None => Ok(()),
        }
    }
}

/// An arm that is about to be made ready.
pub(super) struct UnreadyArm<'u, 'p> {
    pub context: RunContext<'u>,
    pub platform: &'u Platform,
    pub record: &'u mut RunRecord,
    pub probing: &'u mut Probing<'p>,
    /// Note of the run on files that could not be evicted.
    pub eviction_note: &'u EvictionNote,
}

impl UnreadyArm<'_, '_> {
    /// Opens the probe of the device's durable writes, and notes what it found in the record of the
    /// run where that is not known yet.
    fn open_sync_probe(&mut self, store: &mut Store) -> Result<Option<SyncProbe>> {
        let RunContext { request, plan, .. } = self.context;
        let opened = SyncProbe::open(request, plan, self.platform, self.record.device_sync);
        let Some((probe, found)) = opened else { return Ok(None) };
        if self.record.device_sync.is_none() {
            self.record.device_sync = Some(found);
            store.update_run(self.record)?;
        }
        Ok(Some(probe))
    }

    /// Attaches the probes of the database.
    fn attach_probes(&mut self) -> Result<()> {
        let RunContext { catalog, request, .. } = self.context;
        self.probing.attach(self.platform, catalog, request.is_sampled)
    }

    /// Notes the data in the record of the run, unless it knows its data already.
    fn note_data(&mut self, loaded: &LoadedDataset, store: &mut Store) -> Result<()> {
        if self.record.data_set_id.is_none() {
            self.record.loads.clone_from(&loaded.loads);
            self.record.data_set_id = Some(loaded.data_set_id.clone());
            store.update_run(self.record)?;
        }
        Ok(())
    }
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
pub(super) fn with_ready_platform<'p, T>(
    arm: &mut UnreadyArm<'_, 'p>,
    server_start: &ServerStart,
    store: &mut Store,
    work: impl FnOnce(&ReadyPlatform<'_>, &mut Probing<'p>, &mut Store) -> Result<T>,
) -> Result<T> {
    let sync = arm.open_sync_probe(store)?;
    let bare = without_data(arm, server_start)?;
    let measuring = MeasureContext { sync: sync.as_ref(), ..bare };
    if arm.platform.engine.is_target() {
        return with_data(arm, measuring, store, work);
    }
    arm.attach_probes()?;
    work(&ReadyPlatform { measuring, data: None }, arm.probing, store)
}

/// The context of measuring on a platform without data, and without a probe of its device.
fn without_data<'m>(
    arm: &UnreadyArm<'m, '_>,
    server_start: &'m ServerStart,
) -> Result<MeasureContext<'m>> {
    let (context, platform) = (arm.context, arm.platform);
    Ok(MeasureContext {
        database: platform.database.as_ref(),
        plan: context.plan,
        facts: &|_| Facts::new(),
        rows: row_function(context.plan),
        run_id: arm.record.id,
        server_start,
        interrupt: context.interrupt,
        in_process: platform.engine.capabilities().in_process,
        prepare: &|_, _| Ok(Evictor::default()),
        sync: None,
        catch_up: None,
        evidence: ServerEvidence::open(platform, context.catalog, &context.request.repositories)?,
        eviction_note: arm.eviction_note,
        back_within: platform.back_within(),
        is_duet: context.request.duet,
        unconfirmed: unconfirmed_reason(&context, platform),
        round_trip_s: arm.probing.round_trip_s(),
        timing_costs: costs_of_our_loop(&context.plan.selections),
        events: context.events,
        workers: context.workers,
    })
}

/// Loads and locks the data of a platform, and gives it to `work` with them.
fn with_data<'p, T>(
    arm: &mut UnreadyArm<'_, 'p>,
    measuring: MeasureContext<'_>,
    store: &mut Store,
    work: impl FnOnce(&ReadyPlatform<'_>, &mut Probing<'p>, &mut Store) -> Result<T>,
) -> Result<T> {
    let (context, platform) = (arm.context, arm.platform);
    let definition = standard_definition(context.catalog)?;
    let label = platform.label();
    let site = make_site(context.catalog, platform, &definition, &label)?;
    let lock = Lock::take(&site)?;
    spare(&site, context.plan, context.events)?;
    let timing_costs = match &context.plan.calibration {
        Some(routine) if context.plan.calls_routines() => {
            interruptible(&site, context.interrupt, || {
                Ok(costs_with_routine(measuring.timing_costs, measuring.database, routine))
            })?
        }
        _ => measuring.timing_costs,
    };
    let loaded =
        load_with(&site, &lock, &data_request(context.plan), context.interrupt, context.events)?;
    let block_bytes = arm.probing.block_bytes();
    arm.attach_probes()?;
    arm.note_data(&loaded, store)?;
    let facts = |selection: &Selection| facts_for(selection, &loaded, block_bytes);
    let prepare = |selection: &Selection, answers: Answers| {
        interruptible(&site, context.interrupt, || {
            lock.renew(&site)?;
            for selection in selection.with_background() {
                if answers == Answers::Check {
                    answers::check(site.db, context.plan, selection, &facts(selection))?;
                }
                warm(&context, &site, selection)?;
                read_in(&context, &site, selection)?;
            }
            evictor(&context, &site, selection)
        })
    };
    let catch_up = CatchUp::open(&context, platform);
    let measuring = MeasureContext {
        facts: &facts,
        prepare: &prepare,
        catch_up: catch_up.as_ref(),
        timing_costs,
        ..measuring
    };
    let data = LockedData { site: &site, lock: &lock };
    work(&ReadyPlatform { measuring, data: Some(data) }, arm.probing, store)
}

/// Facts of the loaded data as a selection sees them; `block_bytes` is the size of a block where
/// its tables have none of their own.
fn facts_for(selection: &Selection, loaded: &LoadedDataset, block_bytes: Option<f64>) -> Facts {
    let mut facts = loaded.facts_for(&selection.tables);
    let block_bytes = loaded.block_bytes(&selection.tables).or(block_bytes);
    facts.extend(block_bytes.map(|bytes| ("block_bytes".to_string(), bytes)));
    facts
}

/// The reason against the engine's version, if no test has confirmed that version.
fn unconfirmed_reason(context: &RunContext<'_>, platform: &Platform) -> Option<Reason> {
    let (engine, version) = (platform.engine, platform.database.version());
    let is_known = !engine.is_target() || context.catalog.is_confirmed(engine.name(), &version.0);
    let product = engine.capabilities().product;
    (!is_known).then(|| circumstances::unconfirmed_reason(product, &version.to_string()))
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
