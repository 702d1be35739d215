//! A run as a design: its plan in blocks, its ramps in their turns, with the fresh starts and loads
//! that its request asks for; then what limits its tests, if that is asked for.

use std::collections::VecDeque;

use super::experiment::{
    Blocks, Design, Execution, ReadyArm, Servers, Stage, StageEvents, unsuitable,
};
use super::explain::Explanation;
use super::measured_run::RunContext;
use super::progress::RunProgress;
use super::schedule::{self, ServerStart};
use crate::store::Store;
use dbdyno_core::error::Result;
use dbdyno_core::model::RunStatus;

/// The plan of the only arm, as often as it repeats its tests.
pub(super) struct PlanDesign;

impl Design for PlanDesign {
    fn carry_out(&mut self, execution: &mut Execution<'_, '_>) -> Result<RunStatus> {
        let [arm] = execution.arms[..] else { return Err(unsuitable(&execution.arms)) };
        let status = execution.measure(&mut PlannedBlocks::new(&arm))?;
        match arm.request.explain {
            Some(most_blocks) if status == RunStatus::Finished => {
                let mut explanation = Explanation::new(&execution.only_platform()?, most_blocks)?;
                execution.measure(&mut explanation)
            }
            _ => Ok(status),
        }
    }
}

/// The blocks of a plan that have not been measured, and what the run knows by now.
pub(super) struct PlannedBlocks {
    order: Option<String>,
    server_starts: VecDeque<ServerStart>,
    progress: RunProgress,
}

impl PlannedBlocks {
    /// All blocks of the arm's plan.
    pub(super) fn new(arm: &RunContext<'_>) -> PlannedBlocks {
        let (plan, fresh, target) = (arm.plan, arm.request.fresh, &arm.request.target);
        let server_starts = schedule::server_starts(plan, fresh, target);
        PlannedBlocks {
            order: schedule::describe_order(plan, fresh, target),
            progress: RunProgress::new(plan, &server_starts),
            server_starts: server_starts.into(),
        }
    }
}

impl Blocks for PlannedBlocks {
    fn describe(&self) -> Option<String> {
        self.order.clone()
    }

    fn next_stage(&mut self, _: &mut Store) -> Result<Option<Stage>> {
        let stage = |server_start| Stage {
            server_start,
            servers: Servers::Anew,
            plan: None,
            reported: StageEvents::All,
        };
        Ok(self.server_starts.pop_front().map(stage))
    }

    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let [ReadyArm { ready, probing }] = arms else { return Ok(Some(RunStatus::Failed)) };
        let status = ready.measuring.measure_all(&mut self.progress, probing, store)?;
        if status != RunStatus::Finished {
            return Ok(Some(status));
        }
        let load = ready.measuring.server_start.load;
        if self.server_starts.front().is_some_and(|next| next.load != load) {
            ready.drop_data()?;
        }
        Ok(None)
    }
}
