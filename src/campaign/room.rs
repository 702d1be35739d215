//! Is there room for all jobs of a plan, before anything is measured: sessions that the server takes, files that we may
//! open. A run of hours should not find that out at its widest step.

use std::borrow::Cow;

use super::events::{Event, Sink};
use super::platform::Platform;
use crate::error::{Error, Result};
use crate::model::Plan;
use crate::plan::{self, Fitted, OWN_SESSIONS};
use crate::server::allow_files;

/// Files that one session of a job has open: its socket, or the database, its log and a file to sort in.
const FILES_OF_REMOTE: u64 = 1;
const FILES_OF_IN_PROCESS: u64 = 3;
/// Everything else that we have open: the results file, counters, files of tables that are put out of the cache.
const OTHER_FILES: u64 = 128;

/// Jobs that there is room for at once, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Room {
    jobs: u32,
    /// `max_connections = 100, 3 kept for superusers, 12 in use`.
    limit: String,
}

/// The plan as far as there is room for its jobs; one line says what of it is left out.
///
/// # Errors
/// Of usage, if numbers of jobs that the user gave do not fit; of the target, if nothing does.
pub(super) fn fitted<'a>(plan: Cow<'a, Plan>, platform: &Platform, events: &Sink<'_>) -> Result<Cow<'a, Plan>> {
    Ok(match narrowed(&plan, platform)? {
        None => plan,
        Some((narrower, line)) => {
            events(Event::Note(&line));
            Cow::Owned(narrower)
        }
    })
}

/// What there is no room for, as the line that a run would say; none if all jobs of the plan fit.
///
/// # Errors
/// As a run would refuse it.
pub fn without_room(plan: &Plan, platform: &Platform) -> Result<Option<String>> {
    Ok(narrowed(plan, platform)?.map(|(_, line)| line))
}

/// The narrower plan and the line about it, if not all jobs fit.
fn narrowed(plan: &Plan, platform: &Platform) -> Result<Option<(Plan, String)>> {
    let most = plan::most_jobs(plan);
    let rooms = [of_server(platform), of_files(platform, most)];
    let Some(room) = rooms.into_iter().flatten().filter(|room| room.jobs < most).min_by_key(|room| room.jobs) else {
        return Ok(None);
    };
    let fitted = plan::within(plan, room.jobs, &room.words());
    if fitted.plan.selections.is_empty() || (plan.jobs_given && !fitted.steps.is_empty()) {
        return Err(refusal(plan, &room, platform));
    }
    let line = format!("{}: {}", room.words(), left_out(&fitted, room.jobs));
    Ok(Some((fitted.plan, line)))
}

impl Room {
    fn words(&self) -> String {
        let jobs = if self.jobs == 1 { "job" } else { "jobs" };
        format!("there is room for {} {jobs} ({}, {OWN_SESSIONS} for ourselves)", self.jobs, self.limit)
    }
}

fn refusal(plan: &Plan, room: &Room, platform: &Platform) -> Error {
    let what = format!("{} jobs are asked for, {}", plan::most_jobs(plan), room.words());
    let error = if plan.jobs_given { Error::usage("--jobs", what) } else { Error::target(platform.label(), what) };
    error.advise("raise the limit, or give fewer --jobs")
}

/// `left out are T616 at 128, 256 and 512, T716 at 128; 4 automatic ramps end at 94`.
fn left_out(fitted: &Fitted, room: u32) -> String {
    let steps: Vec<String> =
        fitted.steps.iter().map(|(label, jobs)| format!("{label} at {}", plan::list_jobs(jobs))).collect();
    let steps = (!steps.is_empty()).then(|| format!("left out are {}", steps.join(", ")));
    let ramps = match fitted.shortened {
        0 => None,
        1 => Some(format!("an automatic ramp ends at {room}")),
        several => Some(format!("{several} automatic ramps end at {room}")),
    };
    steps.into_iter().chain(ramps).collect::<Vec<_>>().join("; ")
}

/// What the server takes; what cannot be found out limits nothing.
fn of_server(platform: &Platform) -> Option<Room> {
    let room = platform.database.session_room().ok().flatten()?;
    Some(Room { jobs: room.free.saturating_sub(OWN_SESSIONS), limit: room.limit })
}

/// What our own files allow. Our limit is raised as far as the system lets us.
fn of_files(platform: &Platform, jobs: u32) -> Option<Room> {
    let in_process = platform.engine.capabilities().in_process;
    let per_session = if in_process { FILES_OF_IN_PROCESS } else { FILES_OF_REMOTE };
    let allowed = allow_files(u64::from(jobs + OWN_SESSIONS) * per_session + OTHER_FILES)?;
    let sessions = allowed.saturating_sub(OTHER_FILES) / per_session;
    let jobs = u32::try_from(sessions).unwrap_or(u32::MAX).saturating_sub(OWN_SESSIONS);
    Some(Room { jobs, limit: format!("open files of this process = {allowed}, ulimit -n") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Plan;

    fn empty() -> Plan {
        Plan {
            engine: "x".into(),
            suite: "x".into(),
            seed: 1,
            size_gb: 1.0,
            jobs_given: false,
            tables: Vec::new(),
            selections: Vec::new(),
            left_out: Vec::new(),
        }
    }

    #[test]
    fn the_line_names_the_limit_and_every_step_that_does_not_fit() {
        let room = Room { jobs: 94, limit: "max_connections = 100, 3 kept for superusers, 0 in use".into() };
        let steps = vec![("T616".to_string(), vec![128, 256, 512]), ("T716".to_string(), vec![128])];
        let fitted = Fitted { plan: empty(), steps, shortened: 0 };
        assert_eq!(
            format!("{}: {}", room.words(), left_out(&fitted, 94)),
            "there is room for 94 jobs (max_connections = 100, 3 kept for superusers, 0 in use, 4 for ourselves): \
             left out are T616 at 128, 256 and 512, T716 at 128"
        );
        let fitted = Fitted { plan: empty(), steps: Vec::new(), shortened: 4 };
        assert_eq!(left_out(&fitted, 94), "4 automatic ramps end at 94");
    }
}
