//! The jobs of a plan, and the sessions that the server takes, the files that we may open and the
//! threads that we may start. A run of hours should not find that out at its widest step.

use std::collections::BTreeMap;

use dbdyno_core::error::{Error, Result};
use dbdyno_core::model::rows::table_rows;
use dbdyno_core::model::{
    JobCode, LeftOut, LimitedRamp, PartPlan, Plan, Protocol, Selection, TableRef,
};
use dbdyno_engines::engine::SessionsLeft;
use dbdyno_engines::host::{self, ThreadsLeft};

use super::cache::MAX_INDEXED_ROW_BYTES;
use super::profile::SHARE_OF_MEMORY;

/// Sessions of ours beside those of the jobs while a test runs: for setup and teardown, for the
/// database's counters, one that looks at the others, one that keeps other dbdynos out, and one to
/// cancel statements after an interrupt.
const OWN_SESSIONS: u32 = 5;
/// Sessions that the server must still take while we load: one to note what is done, one to cancel
/// after an interrupt.
const SESSIONS_BESIDE_LOAD: u32 = 2;
/// Sessions of a private server that stay free beside those of a run, for users who look at it.
const ONLOOKERS: u32 = 7;
/// Sessions of a server whose profile does not state them: the default of servers.
const USUAL_SESSIONS: u32 = 100;

/// Files that one session of a job has open: its socket, or the database, its log and a file to
/// sort in.
const FILES_OF_REMOTE: u64 = 1;
const FILES_OF_IN_PROCESS: u64 = 3;
/// Statements that our sessions beside those of jobs prepare: what probes ask again and again.
const OWN_STATEMENTS: u32 = 64;
/// Everything else that we have open: the results file, counters, files of tables that are put out
/// of the cache, as far as each table and index is one file.
const OTHER_FILES: u64 = 128;
/// Bytes of a file above which some servers go on in another.
const FILE_BYTES: f64 = 1_073_741_824.0;
/// Files of a table in an organization of its own: 32 partitions with a table and four indexes each
/// are 160, and those of a log-structured table are smaller and more.
const FILES_OF_ORGANIZED: u64 = 512;
/// Files that a server may have open besides one for each session: tables, logs, temporary ones.
const OTHER_FILES_OF_SERVER: u64 = 16_384;

/// Most jobs that a test of the plan has at once, sessions that do nothing counted among them.
pub fn most_jobs(plan: &Plan) -> u32 {
    let most = |selection: &Selection| selection.ramp.most_jobs() + sessions_beside(selection);
    plan.selections.iter().map(most).max().unwrap_or(0)
}

/// Sessions that are open beside those of a selection's jobs: of a workload beside it, and idle
/// ones.
fn sessions_beside(selection: &Selection) -> u32 {
    selection.background_jobs().saturating_add(selection.idle_sessions())
}

/// Sessions that a private server must take: those of the plan's jobs, or of loading with one for
/// each processor, and ours.
pub fn sessions_of_plan(plan: Option<&Plan>) -> u32 {
    host::processors().max(plan.map_or(0, most_jobs)) + OWN_SESSIONS
}

/// Number of sessions to load with: the given number, or what the server still accepts, at least
/// one.
pub fn load_sessions(wanted: u32, left: Option<&SessionsLeft>) -> u32 {
    left.map_or(wanted, |left| wanted.min(left.free.saturating_sub(SESSIONS_BESIDE_LOAD))).max(1)
}

/// The settings of a private server that takes so many sessions of ours: `names` are those that say
/// how many there can be.
pub fn raised_sessions(
    settings: &BTreeMap<String, String>,
    names: &[&str],
    sessions: u32,
) -> BTreeMap<String, String> {
    let mut settings = settings.clone();
    for name in names {
        let wanted = sessions.saturating_add(ONLOOKERS);
        let has = settings.get(*name).map_or(Some(USUAL_SESSIONS), |value| value.parse().ok());
        // What is not a number is left for the server to complain about.
        if has.is_some_and(|has| has < wanted) {
            settings.insert((*name).into(), wanted.to_string());
        }
    }
    settings
}

/// Files that a server with these settings may have open at once.
pub fn files_of_server(settings: &BTreeMap<String, String>, names: &[&str]) -> u64 {
    let sessions = names.iter().filter_map(|name| settings.get(*name)?.parse().ok()).max();
    sessions.unwrap_or(u64::from(USUAL_SESSIONS)) + OTHER_FILES_OF_SERVER
}

/// Limits of the jobs of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Sessions that the server still takes; what cannot be found out limits nothing.
    pub sessions: Option<SessionsLeft>,
    /// Statements that may still be prepared, in all sessions together; as sessions.
    pub statements: Option<SessionsLeft>,
    /// True if the database runs in our process, which then opens its files.
    pub in_process: bool,
    /// Number of threads that may still be started; none if it is not limited, or unknown.
    pub threads: Option<ThreadsLeft>,
    /// The server is a private one: what its sessions take of threads is ours, too.
    pub has_private_server: bool,
    /// Caches that sessions have of their own; none if all share one.
    pub session_caches: Option<SessionCaches>,
}

/// Caches of which each session has one, and the memory for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCaches {
    /// Most bytes that one of them holds.
    pub most_bytes: u64,
    /// Memory of this machine, in bytes.
    pub memory_bytes: u64,
}

/// Jobs that fit at once, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Limit {
    jobs: u32,
    /// `max_connections = 100, 3 kept for superusers, 12 in use`.
    because: String,
}

/// The plan as far as its jobs fit, and the line that says what of it is left out; none if all fit.
/// `label` names the target.
///
/// # Errors
/// Of usage, if numbers of jobs that the user gave do not fit; of the target, if nothing does.
pub fn check_jobs(plan: &Plan, limits: Limits, label: &str) -> Result<Option<(Plan, String)>> {
    let most = most_jobs(plan);
    let limits = [
        limits.by_sessions(),
        limits.by_statements(plan),
        limits.by_files(most, files_put_out(plan)),
        limits.by_threads(),
        limits.by_caches(&plan.tables, plan.size_gb),
    ];
    let Some(limit) = limits
        .into_iter()
        .flatten()
        .filter(|limit| limit.jobs < most)
        .min_by_key(|limit| limit.jobs)
    else {
        return Ok(None);
    };
    let fitted = within(plan, limit.jobs, &limit.to_text());
    if fitted.plan.selections.is_empty() || (plan.jobs_given && !fitted.steps.is_empty()) {
        return Err(refusal(plan, &limit, label));
    }
    let line = format!("{}: {}", limit.to_text(), left_out(&fitted, limit.jobs));
    Ok(Some((fitted.plan, line)))
}

impl Limits {
    fn by_sessions(&self) -> Option<Limit> {
        let left = self.sessions.as_ref()?;
        Some(Limit { jobs: left.free.saturating_sub(OWN_SESSIONS), because: left.limit.clone() })
    }

    /// Limit of jobs by our own open files, where so many files of tables are put out of the cache.
    /// Our limit is raised as far as the system lets us.
    fn by_files(&self, jobs: u32, put_out: u64) -> Option<Limit> {
        let per_session = if self.in_process { FILES_OF_IN_PROCESS } else { FILES_OF_REMOTE };
        let others = OTHER_FILES + put_out;
        let allowed = host::allow_files(u64::from(jobs + OWN_SESSIONS) * per_session + others)?;
        let sessions = allowed.saturating_sub(others) / per_session;
        let jobs = u32::try_from(sessions).unwrap_or(u32::MAX).saturating_sub(OWN_SESSIONS);
        Some(Limit { jobs, because: format!("open files of this process = {allowed}, ulimit -n") })
    }
}

/// The most files of large tables that are open at once because they are put out of the cache again
/// and again while a test runs.
fn files_put_out(plan: &Plan) -> u64 {
    let of_table = |table: &TableRef| {
        let bytes = table_rows(&table.kind, plan.size_gb) as f64 * MAX_INDEXED_ROW_BYTES;
        let organized = if table.org.is_some() { FILES_OF_ORGANIZED } else { 0 };
        (bytes / FILE_BYTES).ceil() as u64 + organized
    };
    let of_one = |selection: &Selection| {
        let tables = selection.tables.iter();
        let put_out = tables.filter(|table| selection.workload.evict.contains(&table.kind));
        put_out.map(of_table).sum::<u64>()
    };
    let of_test = |selection: &Selection| selection.with_background().map(of_one).sum::<u64>();
    plan.selections.iter().map(of_test).max().unwrap_or(0)
}

impl Limits {
    /// Each job prepares the statements of its part. Only selections that would need more than
    /// there are limit the jobs.
    fn by_statements(&self, plan: &Plan) -> Option<Limit> {
        let left = self.statements.as_ref()?;
        let free = left.free.saturating_sub(OWN_STATEMENTS);
        let fitting = |selection: &Selection| {
            let jobs = free.checked_div(prepared_by_a_job(selection))?;
            (jobs < selection.ramp.most_jobs() + selection.background_jobs()).then_some(jobs)
        };
        let jobs = plan.selections.iter().filter_map(fitting).min()?;
        let because = format!("{}, {OWN_STATEMENTS} statements for ourselves", left.limit);
        Some(Limit { jobs, because })
    }
}

/// The most statements that a job of the selection, or of what runs beside it, prepares.
fn prepared_by_a_job(selection: &Selection) -> u32 {
    let of_part = |part: &PartPlan| match &part.code {
        JobCode::Client { branches, .. } => {
            branches.iter().map(|branch| branch.statements.len()).sum::<usize>() as u32
        }
        JobCode::Routine(routine) => routine.per_op.into(),
        JobCode::Bulk { .. } => 0,
    };
    let prepares = |selection: &&Selection| selection.wire.protocol != Protocol::Simple;
    let all = selection.with_background().filter(prepares);
    all.flat_map(|selection| selection.parts.iter().map(of_part)).max().unwrap_or(0)
}

impl Limits {
    /// A job is a thread of ours; its session is a process or a thread of its server.
    fn by_threads(&self) -> Option<Limit> {
        let left = self.threads.as_ref()?;
        let sessions = left.free / if self.has_private_server { 2 } else { 1 };
        let jobs = u32::try_from(sessions).unwrap_or(u32::MAX).saturating_sub(OWN_SESSIONS);
        Some(Limit { jobs, because: left.limit.clone() })
    }

    /// A cache holds no more than the tables at this nominal size with their indexes, and our
    /// sessions beside the jobs may fill theirs, too.
    fn by_caches(&self, tables: &[TableRef], size_gb: f64) -> Option<Limit> {
        let caches = self.session_caches?;
        let rows: u64 = tables.iter().map(|table| table_rows(&table.kind, size_gb)).sum();
        let cache_bytes =
            (caches.most_bytes as f64).min(rows as f64 * MAX_INDEXED_ROW_BYTES).max(1.0);
        let sessions = caches.memory_bytes as f64 * SHARE_OF_MEMORY / cache_bytes;
        let because = format!(
            "{:.0} MB of cache for each, {:.0} MB of memory",
            cache_bytes / 1e6,
            caches.memory_bytes as f64 / 1e6
        );
        Some(Limit { jobs: (sessions as u32).saturating_sub(OWN_SESSIONS), because })
    }
}

impl Limit {
    fn to_text(&self) -> String {
        let jobs = if self.jobs == 1 { "job" } else { "jobs" };
        format!(
            "there is room for {} {jobs} ({}, {OWN_SESSIONS} for ourselves)",
            self.jobs, self.because
        )
    }
}

fn refusal(plan: &Plan, limit: &Limit, label: &str) -> Error {
    let what = format!("{} jobs are asked for, {}", most_jobs(plan), limit.to_text());
    let error =
        if plan.jobs_given { Error::usage("--jobs", what) } else { Error::target(label, what) };
    error.advise("raise the limit, or give fewer --jobs")
}

/// A plan without tests of too many jobs.
#[derive(Debug, Clone, PartialEq)]
struct FittedPlan {
    plan: Plan,
    /// Tests and their numbers of jobs that were removed.
    steps: Vec<(String, Vec<u32>)>,
    /// Automatic ramps that end earlier.
    shortened: usize,
}

/// The plan with no test of more than `limit` jobs; what is gone is noted among what it leaves out,
/// with `reason`.
fn within(plan: &Plan, limit: u32, reason: &str) -> FittedPlan {
    let mut fitted = FittedPlan { plan: plan.clone(), steps: Vec::new(), shortened: 0 };
    fitted.plan.selections.clear();
    for selection in &plan.selections {
        let own = limit.saturating_sub(sessions_beside(selection));
        let LimitedRamp { ramp, dropped: gone } = selection.ramp.up_to(own, selection.parts.len());
        fitted.shortened +=
            usize::from(gone.is_empty() && ramp.most_jobs() < selection.ramp.most_jobs());
        if !gone.is_empty() {
            fitted.steps.push((selection.label().to_string(), gone));
        }
        if ramp.most_jobs() > 0 {
            fitted.plan.selections.push(Selection { ramp, ..selection.clone() });
        }
    }
    let left_out = |(label, jobs): &(String, Vec<u32>)| {
        LeftOut::new(label.as_str(), format!("{} jobs: {reason}", list_jobs(jobs)))
    };
    fitted.plan.left_out.extend(fitted.steps.iter().map(left_out));
    fitted
}

/// `left out are T616 at 128, 256 and 512, T716 at 128; 4 automatic ramps end at 94`.
fn left_out(fitted: &FittedPlan, limit: u32) -> String {
    let steps: Vec<String> = fitted
        .steps
        .iter()
        .map(|(label, jobs)| format!("{label} at {}", list_jobs(jobs)))
        .collect();
    let steps = (!steps.is_empty()).then(|| format!("left out are {}", steps.join(", ")));
    let ramps = match fitted.shortened {
        0 => None,
        1 => Some(format!("an automatic ramp ends at {limit}")),
        several => Some(format!("{several} automatic ramps end at {limit}")),
    };
    steps.into_iter().chain(ramps).collect::<Vec<_>>().join("; ")
}

/// `128`, `128 and 256`, `128, 256 and 512`.
pub fn list_jobs(jobs: &[u32]) -> String {
    let numbers: Vec<String> = jobs.iter().map(u32::to_string).collect();
    match numbers.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, selection};
    use super::*;
    use dbdyno_core::model::Ramp;

    fn wide() -> Plan {
        let auto = || Ramp::Auto { from: 1, max: 32 };
        plan(vec![
            selection("P1", Ramp::Fixed(vec![1, 1, 2]), 1),
            selection("P2", auto(), 1),
            selection("P3", auto(), 1),
        ])
    }

    #[test]
    fn the_line_names_the_limit_and_every_step_that_does_not_fit() {
        let limit = Limit {
            jobs: 94,
            because: "max_connections = 100, 3 kept for superusers, 0 in use".into(),
        };
        let steps =
            vec![("T616".to_string(), vec![128, 256, 512]), ("T716".to_string(), vec![128])];
        let fitted = FittedPlan { plan: plan(Vec::new()), steps, shortened: 0 };
        assert_eq!(
            format!("{}: {}", limit.to_text(), left_out(&fitted, 94)),
            "there is room for 94 jobs (max_connections = 100, 3 kept for superusers, 0 in use, 5 \
             for ourselves): left out are T616 at 128, 256 and 512, T716 at 128"
        );
        let fitted = FittedPlan { plan: plan(Vec::new()), steps: Vec::new(), shortened: 4 };
        assert_eq!(left_out(&fitted, 94), "4 automatic ramps end at 94");
        assert_eq!(list_jobs(&[128]), "128");
    }

    #[test]
    fn what_a_server_has_no_sessions_for_is_left_out_with_the_reason() {
        let plan = wide();
        assert_eq!(most_jobs(&plan), 32);
        let fitted = within(&plan, 32, "no");
        assert_eq!((fitted.plan, fitted.steps.len(), fitted.shortened), (plan.clone(), 0, 0));
        let fitted = within(&plan, 1, "the server has room for 1 job");
        assert_eq!(fitted.steps, [("P1".to_string(), vec![2])]);
        assert_eq!(fitted.plan.selections[0].ramp, Ramp::Fixed(vec![1, 1]));
        assert_eq!(
            (fitted.plan.selections[1].ramp.clone(), fitted.shortened),
            (Ramp::Auto { from: 1, max: 1 }, 2)
        );
        let reason = "2 jobs: the server has room for 1 job";
        assert_eq!(fitted.plan.left_out, [LeftOut::new("P1", reason)]);
        assert_eq!(most_jobs(&fitted.plan), 1);
        assert!(within(&plan, 0, "none").plan.selections.is_empty());
    }

    #[test]
    fn jobs_of_a_mixed_workload_stay_multiples_of_its_parts() {
        let plan = plan(vec![selection("MIXED", Ramp::Auto { from: 2, max: 32 }, 2)]);
        assert_eq!(within(&plan, 7, "no").plan.selections[0].ramp, Ramp::Auto { from: 2, max: 6 });
        let none = within(&plan, 1, "no");
        assert_eq!(
            (none.plan.selections.len(), none.steps),
            (0, vec![("MIXED".to_string(), vec![2])])
        );
    }

    #[test]
    fn numbers_of_the_users_own_are_refused_and_those_of_a_suite_are_left_out() {
        let left = |free| Limits {
            sessions: Some(SessionsLeft { free, limit: "most = 9".into() }),
            statements: None,
            in_process: false,
            threads: None,
            has_private_server: false,
            session_caches: None,
        };
        let (_, line) = check_jobs(&wide(), left(6), "here").unwrap().unwrap();
        assert_eq!(
            line,
            "there is room for 1 job (most = 9, 5 for ourselves): left out are P1 at 2; 2 \
             automatic ramps end at 1"
        );
        assert_eq!(check_jobs(&wide(), left(37), "here"), Ok(None));
        let given = Plan { jobs_given: true, ..wide() };
        assert!(
            check_jobs(&given, left(6), "here")
                .unwrap_err()
                .to_string()
                .starts_with("--jobs: 32 jobs are asked")
        );
        assert!(
            check_jobs(&wide(), left(5), "here")
                .unwrap_err()
                .to_string()
                .starts_with("here: 32 jobs are asked")
        );
    }

    #[test]
    fn statements_that_may_not_be_prepared_limit_the_jobs_that_prepare_them() {
        let limits = |free| Limits {
            sessions: None,
            statements: Some(SessionsLeft { free, limit: "most = 99, 0 in use".into() }),
            in_process: false,
            threads: None,
            has_private_server: false,
            session_caches: None,
        };
        assert_eq!(check_jobs(&wide(), limits(0), "here"), Ok(None), "nothing is prepared");
        let statement = || dbdyno_core::model::BoundStatement {
            name: "s".into(),
            sql: "select 1".into(),
            binds: Vec::new(),
        };
        let mut plan = wide();
        let branch = dbdyno_core::model::Branch {
            upto: 1.0,
            commit: dbdyno_core::model::Commit::None,
            times: 1,
            statements: vec![statement(), statement(), statement()],
        };
        plan.selections[1].parts[0].code = JobCode::Client {
            branches: vec![branch],
            binds: Default::default(),
            shared_read: false,
            hits: false,
            connects: false,
        };
        assert_eq!(check_jobs(&plan, limits(64 + 3 * 32), "here"), Ok(None));
        let (fitted, line) = check_jobs(&plan, limits(64 + 3 * 32 - 1), "here").unwrap().unwrap();
        assert!(line.contains("31 jobs (most = 99, 0 in use, 64 statements for our"), "{line}");
        assert_eq!(most_jobs(&fitted), 31);
    }

    #[test]
    fn files_that_are_put_out_of_the_cache_all_the_time_count_among_the_open_ones() {
        let with_evicted = |size_gb: f64| {
            let mut plan = Plan { size_gb, ..wide() };
            plan.selections[1].tables = vec![TableRef::new("small"), TableRef::new("big")];
            plan.selections[1].workload.evict = vec!["big".into()];
            plan
        };
        assert_eq!([files_put_out(&wide()), files_put_out(&with_evicted(1.0))], [0, 1]);
        // 1000 million rows of at most 400 bytes are 372.5 GiB.
        assert_eq!(files_put_out(&with_evicted(1000.0)), 373);
    }

    #[test]
    fn threads_that_may_not_be_started_limit_the_jobs() {
        let limits = |free, has_private_server| Limits {
            sessions: None,
            statements: None,
            in_process: true,
            threads: Some(ThreadsLeft { free, limit: "threads = 9".into() }),
            has_private_server,
            session_caches: None,
        };
        let (_, line) = check_jobs(&wide(), limits(12, true), "here").unwrap().unwrap();
        assert!(line.starts_with("there is room for 1 job (threads = 9, 5 for our"), "{line}");
        assert_eq!(check_jobs(&wide(), limits(37, false), "here"), Ok(None));
        assert!(check_jobs(&wide(), limits(4, false), "here").is_err());
    }

    #[test]
    fn caches_of_the_sessions_must_fit_the_memory_as_far_as_the_tables_fill_them() {
        let limits = Limits {
            sessions: None,
            statements: None,
            in_process: true,
            threads: None,
            has_private_server: false,
            session_caches: Some(SessionCaches {
                most_bytes: 100_000_000,
                memory_bytes: 1_000_000_000,
            }),
        };
        // 1 GB is a million rows of at most 400 bytes: 0.9 of the memory holds nine caches.
        let with_tables = |size_gb| Plan { tables: vec![TableRef::new("big")], size_gb, ..wide() };
        let (_, line) = check_jobs(&with_tables(1.0), limits.clone(), "here").unwrap().unwrap();
        let because = "100 MB of cache for each, 1000 MB of memory";
        assert!(line.starts_with(&format!("there is room for 4 jobs ({because}")), "{line}");
        assert_eq!(check_jobs(&with_tables(0.01), limits, "here"), Ok(None), "4 MB of tables");
    }

    #[test]
    fn loading_leaves_sessions_for_others() {
        let left = |free| SessionsLeft { free, limit: String::new() };
        let sessions = [None, Some(&left(100)), Some(&left(5)), Some(&left(0))]
            .map(|left| load_sessions(4, left));
        assert_eq!(sessions, [4, 4, 3, 1]);
    }

    #[test]
    fn more_sessions_than_the_profile_has_raise_its_limit_and_fewer_leave_it() {
        let profile = BTreeMap::from([("max_connections".to_string(), "128".to_string())]);
        let raised = |settings: &BTreeMap<String, String>, sessions| {
            raised_sessions(settings, &["max_connections", "max_user_connections"], sessions)
        };
        let large = raised(&profile, 515);
        assert_eq!((large["max_connections"].as_str(), large.len()), ("522", 2));
        assert_eq!(raised(&profile, 20), profile);
        assert!(raised(&BTreeMap::new(), 5).is_empty(), "the server's own default is enough");
        assert_eq!(raised(&BTreeMap::new(), 153)["max_connections"], "160");
        let odd = BTreeMap::from([("max_connections".to_string(), "many".to_string())]);
        assert_eq!(raised_sessions(&odd, &["max_connections"], 500), odd);
        assert_eq!(files_of_server(&profile, &["max_connections"]), 128 + 16_384);
    }
}
