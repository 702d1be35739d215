//! Preparation of a platform for measuring: its data, loaded and locked, its caches warmed, its
//! counters read.

use super::deferred_work::CatchUp;
use super::evict::{self, Evictor};
use super::instrument::SampleCost;
use super::measure::MeasureContext;
use super::platform::Platform;
use super::probing::Probing;
use super::run::{data_request, interruptible, load_with, make_site, spare, standard_definition};
use super::schedule::{Answers, ServerStart};
use super::server_evidence::ServerEvidence;
use super::sync::SyncProbe;
use super::{RunContext, answers};
use crate::dataset::{self, Lock, Site, Table};
use crate::store::Store;
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
    campaign: &RunContext<'_>,
    platform: &Platform,
    leg: &ServerStart,
    probing: &mut Probing<'p>,
    run: &mut OpenRun<'_>,
    work: impl FnOnce(&Ready<'_>, &mut Probing<'p>, &mut Store) -> Result<T>,
) -> Result<T> {
    let OpenRun { record, store } = run;
    let sync = SyncProbe::open(campaign.request, campaign.plan, platform, record.device_sync);
    if record.device_sync.is_none() && sync.is_some() {
        record.device_sync = sync.as_ref().map(|(_, found)| *found);
        store.update_run(record)?;
    }
    let measuring = MeasureContext {
        database: platform.database.as_ref(),
        plan: campaign.plan,
        facts: &|_| Facts::new(),
        rows: row_function(campaign.plan),
        run_id: record.id,
        leg,
        interrupt: campaign.interrupt,
        in_process: platform.engine.capabilities().in_process,
        prepare: &|_, _| Ok(Evictor::default()),
        sync: sync.as_ref().map(|(probe, _)| probe),
        debtor: None,
        aside: ServerEvidence::of(platform, campaign.catalog, &campaign.request.repositories)?,
        back_within: platform.back_within(),
        is_duet: campaign.request.duet,
        unconfirmed: unconfirmed(campaign, platform),
        round_trip_s: probing.round_trip_s(),
        sample_cost: SampleCost::of_our_loop(),
        events: campaign.events,
        workers: campaign.workers,
    };
    if !platform.engine.is_target() {
        probing.attach(platform, campaign.catalog, campaign.request.is_sampled)?;
        return work(&Ready { measuring, data: None }, probing, store);
    }
    let definition = standard_definition(campaign.catalog)?;
    let label = platform.label();
    let site = make_site(campaign.catalog, platform, &definition, &label)?;
    let lock = Lock::take(&site)?;
    spare(&site, campaign.plan, campaign.events)?;
    let sample_cost = match &campaign.plan.calibration {
        Some(routine) if campaign.plan.calls_routines() => {
            measuring.sample_cost.with_routine(measuring.database, routine)
        }
        _ => measuring.sample_cost,
    };
    let measuring = MeasureContext { sample_cost, ..measuring };
    let loaded =
        load_with(&site, &lock, &data_request(campaign.plan), campaign.interrupt, campaign.events)?;
    let block_bytes = probing.block_bytes();
    probing.attach(platform, campaign.catalog, campaign.request.is_sampled)?;
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
        interruptible(&site, campaign.interrupt, || {
            lock.renew(&site)?;
            for selection in selection.with_background() {
                if answers == Answers::Check {
                    answers::check(site.db, campaign.plan, selection, &facts(selection))?;
                }
                warm(campaign, &site, selection)?;
                read_in(campaign, &site, selection)?;
            }
            evictor(campaign, &site, selection)
        })
    };
    let debtor = CatchUp::open(campaign, platform);
    let measuring =
        MeasureContext { facts: &facts, prepare: &prepare, debtor: debtor.as_ref(), ..measuring };
    work(&Ready { measuring, data: Some((&site, &lock)) }, probing, store)
}

/// Said of the engine's version, if it has one.
fn unconfirmed(campaign: &RunContext<'_>, platform: &Platform) -> Option<Reason> {
    let (engine, version) = (platform.engine, platform.database.version());
    let reason =
        || campaign.catalog.unconfirmed(engine.name(), engine.capabilities().product, &version.0);
    if engine.is_target() { reason() } else { None }
}

/// Reads the tables of a cached workload into the cache before its tests; the contract checks that
/// it worked.
fn warm(campaign: &RunContext<'_>, site: &Site<'_>, selection: &Selection) -> Result<()> {
    tables(campaign, site, selection, &selection.workload.warm)
        .iter()
        .try_for_each(|table| dataset::warm(site, table))
}

/// Reads the files of the other tables of a workload into the operating system's cache: what ran
/// before decides nothing.
fn read_in(campaign: &RunContext<'_>, site: &Site<'_>, selection: &Selection) -> Result<()> {
    let workload = &selection.workload;
    let is_other =
        |table: &&String| !workload.warm.contains(table) && !workload.evict.contains(table);
    let others: Vec<String> = workload.tables.iter().filter(is_other).cloned().collect();
    for table in tables(campaign, site, selection, &others) {
        evict::read_in(&dataset::system_cached_files(site, &table)?, || {
            campaign.interrupt.is_set()
        });
    }
    Ok(())
}

/// Evictor that keeps the tables of a workload that is not cached out of the operating system's
/// cache.
fn evictor(campaign: &RunContext<'_>, site: &Site<'_>, selection: &Selection) -> Result<Evictor> {
    let of = |selection: &Selection| tables(campaign, site, selection, &selection.workload.evict);
    let all: Vec<Table> = selection.with_background().flat_map(of).collect();
    Evictor::of(site, &all)
}

/// The tables of a selection that are of these kinds.
fn tables(
    campaign: &RunContext<'_>,
    site: &Site<'_>,
    selection: &Selection,
    kinds: &[String],
) -> Vec<Table> {
    let request =
        dataset::Request { tables: selection.tables.clone(), ..data_request(campaign.plan) };
    dataset::tables(&site.recipe, &request)
        .into_iter()
        .filter(|table| kinds.contains(&table.kind))
        .collect()
}

/// Rows of bulk loads: those of a table of the big one's size.
pub(super) fn row_function(plan: &Plan) -> RowFunction {
    RowFunction { table_rows: table_rows("big", plan.size_gb), seed: plan.seed }
}
