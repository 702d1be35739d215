//! A job that runs in our process.

use super::context::TestContext;
use super::gate::Gate;
use super::job_group::JobGroup;
use super::log::JobLog;
use super::pacer::JobPacer;
use dbdyno_core::model::Facts;
use dbdyno_engines::engine::{EngineError, ErrorClass, JobSpec};

/// A job of a group.
pub(super) struct GroupJob<'a> {
    pub(super) group: &'a JobGroup<'a>,
    /// Number of the job within the group, from 1.
    pub(super) number: u32,
    /// Node of the cluster that it works on.
    pub(super) node: Option<&'a str>,
    /// Seed of the test.
    pub(super) seed: u64,
    pub(super) facts: &'a Facts,
}

/// Runs a job in this thread until its gate stops it; its log holds what ended it, if that was not
/// an interrupt.
pub(super) fn run_job(
    context: &TestContext<'_>,
    job: &GroupJob<'_>,
    mut pacer: JobPacer<'_>,
    gate: &Gate,
) -> JobLog {
    let GroupJob { group, number, node, seed, facts } = *job;
    let part = &group.selection.parts[group.part(number)];
    let mut facts = facts.clone();
    facts.extend(part.facts.clone());
    let order = JobSpec {
        job: group.after + number,
        jobs: group.jobs,
        code: &part.code,
        session: &part.session,
        seed: group.seed(seed),
        facts: &facts,
        rows: context.rows,
        wire: group.selection.wire,
        node,
    };
    let result = context.database.run_job(&order, &mut pacer);
    let mut log = pacer.into_log();
    // After an interrupt the statement under way was cancelled by us: no failure.
    let is_ours = |error: &EngineError| {
        error.class == ErrorClass::Cancelled && gate.is_stopped() || context.is_of_interrupt(error)
    };
    log.failure = result.err().filter(|error| !is_ours(error));
    log
}
