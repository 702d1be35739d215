//! The blocks of a plan: its ramps in their turns, with the fresh starts and loads that its request
//! asks for.

use std::collections::VecDeque;

use super::experiment::{Blocks, ReadyArm};
use super::measured_run::RunContext;
use super::progress::RunProgress;
use super::schedule::{self, ServerStart};
use crate::store::Store;
use dbdyno_core::error::Result;
use dbdyno_core::model::RunStatus;

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
            order: schedule::described(plan, fresh, target),
            progress: RunProgress::new(plan, &server_starts),
            server_starts: server_starts.into(),
        }
    }
}

impl Blocks for PlannedBlocks {
    fn describe(&self) -> Option<String> {
        self.order.clone()
    }

    fn next_server_start(&mut self) -> Option<ServerStart> {
        self.server_starts.pop_front()
    }

    fn measure(
        &mut self,
        arms: &mut [ReadyArm<'_, '_>],
        store: &mut Store,
    ) -> Result<Option<RunStatus>> {
        let [ReadyArm { ready, probing }] = arms else { return Ok(Some(RunStatus::Failed)) };
        let status = ready.measuring.all(&mut self.progress, probing, store)?;
        if status != RunStatus::Finished {
            return Ok(Some(status));
        }
        let load = ready.measuring.server_start.load;
        if self.server_starts.front().is_some_and(|next| next.load != load) {
            ready.drop_data()?;
        }
        Ok(None)
    }

    fn is_brief(&self) -> bool {
        false
    }
}
