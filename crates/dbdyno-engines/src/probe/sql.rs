//! Counters and disclosure of the database: its counters, through the catalog's `counters.*`
//! blocks, and its part of the disclosure.

use std::time::{Duration, Instant};

use crate::engine::{Rows, Session};
use dbdyno_core::model::{Counters, Disclosure};
use dbdyno_core::sql::{Block, statement};

use super::Probe;

/// One block: a query of one row whose columns are standard counters.
struct Query {
    name: String,
    sql: String,
    is_for_rest: bool,
}

/// Attribute of a block of counters: with the value `no` it is read only before the jobs run and
/// after they ended.
const WHILE_JOBS_RUN: &str = "while-jobs-run";

/// Block of a query after which the counters hold all that was done before. If it gives `now_s`,
/// the server's time, and `counted_s`, the time up to which its counters go (seconds of one clock),
/// it is asked again until they do. Only for servers whose counters lag behind.
const SETTLED: &str = "settled";
/// Longest wait for counters that lag behind: some do by half a second.
const MAX_LAG: Duration = Duration::from_secs(5);
/// Interval between two reads of them.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Reads all counter blocks through one control session.
pub struct SqlProbe {
    session: Box<dyn Session>,
    queries: Vec<Query>,
    settled: Option<String>,
    own: Option<String>,
    own_counts: OwnCounts,
}

/// Counts that our session itself has added to the counters, including those of sessions before a
/// reconnect.
#[derive(Default)]
pub(super) struct OwnCounts {
    ended: Counters,
    now: Counters,
}

impl OwnCounts {
    /// Counts of all sessions so far, with those of the current one.
    pub(super) fn all(&mut self, now: Counters) -> Counters {
        let fell = |(name, value): (&String, &f64)| {
            self.now.get(name).is_some_and(|before| before > *value)
        };
        if now.0.iter().any(fell) {
            self.ended.add(&self.now);
        }
        self.now = now.clone();
        let mut all = now;
        all.add(&self.ended);
        all
    }
}

/// Block of a query of one row: what the session that asks has done itself, by the names of
/// counters behind `job_`. The sessions of jobs ask it.
pub const SESSION_COUNTS: &str = "session-counts";

/// Block of a query of one row: what a session of ours that only looks has added to the counters
/// itself, by their names.
pub(super) const OWN_COUNTS: &str = "own-counts";

impl SqlProbe {
    /// The probe over the `counters.*` blocks among `blocks`, which are already chosen for the
    /// server's version.
    pub fn new(session: Box<dyn Session>, blocks: &[&Block]) -> Self {
        let queries = blocks.iter().map(|block| Query {
            name: block.name.clone(),
            sql: statement(&block.text).to_string(),
            is_for_rest: block.attributes.get(WHILE_JOBS_RUN).is_some_and(|said| said == "no"),
        });
        let (counters, others): (Vec<_>, Vec<_>) = queries
            .filter(|query| !query.sql.is_empty())
            .partition(|query| query.name.starts_with("counters."));
        let other = |name: &str| {
            others.iter().find(|query| query.name == name).map(|query| query.sql.clone())
        };
        let (settled, own) = (other(SETTLED), other(OWN_COUNTS));
        SqlProbe { session, queries: counters, settled, own, own_counts: OwnCounts::default() }
    }

    /// Reads the blocks, without those that are only for the time in which no job runs if
    /// `beside_jobs`. A block that fails does not stop the others; the first error is told.
    fn read_blocks(&mut self, beside_jobs: bool, counters: &mut Counters) -> Result<(), String> {
        let mut result = Ok(());
        for query in self.queries.iter().filter(|query| !(beside_jobs && query.is_for_rest)) {
            match self.session.query_again(&query.sql) {
                Ok(rows) => take(&rows, counters),
                Err(error) => result = result.and(Err(format!("{}: {error}", query.name))),
            }
        }
        if let Some(Ok(rows)) = self.own.as_ref().map(|sql| self.session.query_again(sql)) {
            let mut own = Counters::default();
            take(&rows, &mut own);
            counters.subtract(&self.own_counts.all(own));
        }
        result
    }
}

impl Probe for SqlProbe {
    fn name(&self) -> &'static str {
        "sql"
    }
    fn read(&mut self, counters: &mut Counters) -> Result<(), String> {
        self.read_blocks(false, counters)
    }
    fn read_beside_jobs(&mut self, counters: &mut Counters) -> Result<(), String> {
        self.read_blocks(true, counters)
    }
    fn settle(&mut self) {
        let Some(sql) = &self.settled else { return };
        let began = Instant::now();
        let mut since_s = None;
        while began.elapsed() < MAX_LAG {
            let mut times = Counters::default();
            // A server that cannot be asked has failed the reading that follows, which tells it.
            let Ok(rows) = self.session.query_again(sql) else { return };
            take(&rows, &mut times);
            let (Some(now_s), Some(counted_s)) = (times.get("now_s"), times.get("counted_s"))
            else {
                return;
            };
            if counted_s >= *since_s.get_or_insert(now_s) {
                return;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Takes every column of the first row that is a number.
pub fn take(rows: &Rows, counters: &mut Counters) {
    counters.0.extend(rows.counters().0);
}

/// Facts that the database reports: block `version` (section `database`, after the name of the
/// `product`) and the rows (name, value) of the blocks `settings.*`. Returns the blocks that
/// failed, with the reason.
pub fn disclose(
    session: &mut dyn Session,
    blocks: &[&Block],
    product: &str,
    disclosure: &mut Disclosure,
) -> Vec<(String, String)> {
    let mut failed = Vec::new();
    for block in blocks {
        let is_version = block.name == "version";
        if !is_version && !block.name.starts_with("settings.") {
            continue;
        }
        match session.query(statement(&block.text), &[]) {
            Ok(rows) if is_version => {
                let version = rows
                    .scalar()
                    .map_or(Disclosure::UNKNOWN.into(), |version| format!("{product} {version}"));
                disclosure.set("database", "version", &version);
            }
            Ok(rows) => rows.rows.iter().for_each(|row| set_pair(disclosure, row)),
            Err(error) => failed.push((block.name.clone(), error.to_string())),
        }
    }
    failed
}

/// Blocks whose only value is as short as can be, and a text of some megabytes.
const ROUND_TRIP: &str = "network.round-trip";
const TRANSFER: &str = "network.transfer";
/// The median round trip and the fastest transfer count.
const TRIPS: usize = 21;
const TRANSFERS: usize = 3;

/// The way to a server elsewhere: section `network`, the round trip of a statement in us and what a
/// transfer reached in MB/s (the server's own work on it included, so the network does at least
/// that much). What cannot be measured is left out.
pub fn disclose_network(session: &mut dyn Session, blocks: &[&Block], disclosure: &mut Disclosure) {
    let Some(trips) = measure_answers(session, blocks, ROUND_TRIP, TRIPS) else { return };
    let trip_s = trips[trips.len() / 2].0;
    disclosure.set("network", "round_trip_us", format!("{:.0}", trip_s * 1e6));
    let Some(&(fastest_s, bytes)) =
        measure_answers(session, blocks, TRANSFER, TRANSFERS).as_ref().and_then(|all| all.first())
    else {
        return;
    };
    if fastest_s > trip_s {
        disclosure.set(
            "network",
            "transfer_mb_per_s",
            format!("{:.0}", bytes as f64 / 1e6 / (fastest_s - trip_s)),
        );
    }
}

/// Seconds and bytes of the answers to a block, the fastest first.
fn measure_answers(
    session: &mut dyn Session,
    blocks: &[&Block],
    name: &str,
    times: usize,
) -> Option<Vec<(f64, usize)>> {
    let block = blocks.iter().find(|block| block.name == name)?;
    let sql = statement(&block.text);
    let mut once = || {
        let start = Instant::now();
        let rows = session.query(sql, &[]).ok()?;
        Some((start.elapsed().as_secs_f64(), rows.scalar()?.len()))
    };
    let mut all: Vec<_> = (0..times).map(|_| once()).collect::<Option<_>>()?;
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    Some(all)
}

fn set_pair(disclosure: &mut Disclosure, row: &[Option<String>]) {
    if let Some(Some(name)) = row.first() {
        let value = row.get(1).and_then(Option::as_deref).unwrap_or(Disclosure::UNKNOWN);
        disclosure.set("settings", name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineError;
    use dbdyno_core::sql::parse_blocks;

    #[test]
    fn what_a_session_counted_before_it_was_opened_anew_counts_on() {
        let mut own = OwnCounts::default();
        let told = [5.0, 7.0, 2.0, 3.0, 1.0].map(|reads| {
            let all = own.all(Counters([("reads".to_string(), reads)].into()));
            all.get("reads")
        });
        assert_eq!(told, [5.0, 7.0, 9.0, 10.0, 11.0].map(Some));
    }

    #[test]
    fn null_is_unknown_not_zero() {
        let columns = vec!["commits".to_string(), "wal_bytes".to_string()];
        let rows = Rows { columns, rows: vec![vec![Some("12".into()), None]] };
        let mut counters = Counters::default();
        take(&rows, &mut counters);
        assert_eq!((counters.get("commits"), counters.get("wal_bytes")), (Some(12.0), None));
    }

    /// Answers each question about the time with the next of these: now, counted up to.
    struct Lagging(std::vec::IntoIter<(f64, f64)>);

    impl Session for Lagging {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, _: &str, _: &[i64]) -> Result<Rows, EngineError> {
            let (now_s, counted_s) = self.0.next().expect("the counters had caught up");
            let columns = vec!["now_s".to_string(), "counted_s".to_string()];
            Ok(Rows {
                columns,
                rows: vec![vec![Some(now_s.to_string()), Some(counted_s.to_string())]],
            })
        }
    }

    #[test]
    fn counters_that_lag_are_waited_for() {
        let answers = vec![(10.0, 9.6), (10.1, 9.6), (10.2, 10.0), (10.3, 10.3)];
        let blocks = parse_blocks("probes.sql", "-- name: settled\nselect now").unwrap();
        let blocks: Vec<_> = blocks.iter().collect();
        let mut probe = SqlProbe::new(Box::new(Lagging(answers.into_iter())), &blocks);
        probe.settle(); // up to the third answer
        probe.settle(); // up to the fourth; a fifth would fail
    }

    /// Gives each block's text as the name of its only counter.
    struct Echo;

    impl Session for Echo {
        fn execute(&mut self, _: &str) -> Result<u64, EngineError> {
            Ok(0)
        }
        fn query(&mut self, sql: &str, _: &[i64]) -> Result<Rows, EngineError> {
            Ok(Rows { columns: vec![sql.to_string()], rows: vec![vec![Some("1".into())]] })
        }
    }

    #[test]
    fn while_jobs_run_nothing_is_read_that_is_only_for_before_and_after() {
        let text = "-- name: counters.one\ncommits\n\n-- name: counters.two\n\
                    -- while-jobs-run: no\ndebt";
        let blocks = parse_blocks("probes.sql", text).unwrap();
        let mut probe = SqlProbe::new(Box::new(Echo), &blocks.iter().collect::<Vec<_>>());
        let (mut at_rest, mut beside_jobs) = (Counters::default(), Counters::default());
        probe.read(&mut at_rest).unwrap();
        probe.read_beside_jobs(&mut beside_jobs).unwrap();
        let names = |counters: &Counters| counters.0.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&at_rest), ["commits", "debt"]);
        assert_eq!(names(&beside_jobs), ["commits"]);
    }
}
