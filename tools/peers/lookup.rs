//! The comparisons of the cached lookups: of one row by primary key, of 25 rows by a secondary key.

use std::path::PathBuf;

use dbdyno::error::Result;
use dbdyno::model::Drive;

use crate::lab::Lab;
use crate::pairs::{CLIENT_AND_SERVER, Comparison, Outcome, Ramp, Rules, SERVER, interleave};
use crate::pgbench::Pgbench;
use crate::sysbench::{self, Sysbench};
use crate::{bare_client, bare_duckdb, bare_sqlite, barest_routine, drive, failed, pgbench};

const DATABASE_TARGET: f64 = 3.5;
const CLIENT_TARGET: f64 = 1.05;
const TLS_TARGET: f64 = 0.95;
/// At most 5 % more than a bare client takes, which always waits in its read.
const BARE_CLIENT_TARGET: f64 = 0.95;
const SQLITE_TARGET: f64 = 0.95;
const DUCKDB_TARGET: f64 = 0.97;
const ROWS25_TARGET: f64 = 1.25;
const MARIADB_DATABASE_TARGET: f64 = 1.5;
const MARIADB_CLIENT_TARGET: f64 = 1.0;
/// At most 3 % overhead.
pub const HARNESS_TARGET: f64 = 1.0 / 1.03;
const UNIT: &str = "lookups/s";
/// Sysbench's statement in our drives (`tools/peers/catalog`).
const SYSBENCH_POINT: &str = "SYSBENCH-POINT";
/// Rows of sysbench's table for look-ups: as many as ours has.
const SYSBENCH_ROWS: u64 = 16_000;

/// A workload and the fact that says how many keys it has.
struct Lookup {
    id: &'static str,
    keys: &'static str,
    what: &'static str,
}

const ONE_ROW: Lookup = Lookup { id: "SRV-QUERY1", keys: "small_rows", what: "" };
const ROWS_25: Lookup = Lookup { id: "SRV-QUERY25", keys: "small_key25", what: " of 25 rows" };

/// A lookup in one of our drives that pgbench does too, and the ratio that we want.
struct Duel {
    lookup: &'static Lookup,
    drive: Drive,
    target: f64,
}

const IN_DATABASE: Duel =
    Duel { lookup: &ONE_ROW, drive: Drive::Database, target: DATABASE_TARGET };
const BY_CLIENT: Duel = Duel { lookup: &ONE_ROW, drive: Drive::Client, target: CLIENT_TARGET };
const BY_CLIENT_OVER_TLS: Duel = Duel { target: TLS_TARGET, ..BY_CLIENT };
const OF_25_ROWS: Duel = Duel { lookup: &ROWS_25, drive: Drive::Database, target: ROWS25_TARGET };

/// Database drive against pgbench.
pub fn database(
    lab: &Lab,
    rules: &Rules,
    ramp: Ramp<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    against_pgbench(lab, rules, &IN_DATABASE, ramp, outcomes)
}

/// Client drive against pgbench and against a bare client, and the bare client against pgbench.
pub fn client(lab: &Lab, rules: &Rules, ramp: Ramp<'_>, outcomes: &mut Vec<Outcome>) -> Result<()> {
    against_pgbench(lab, rules, &BY_CLIENT, ramp, outcomes)?;
    for &jobs in ramp.jobs {
        against_bare_client(lab, rules, jobs, ramp.seconds, outcomes)?;
    }
    Ok(())
}

/// Client drive against a bare client, by the clock and by processor time; and the bare client
/// against pgbench.
fn against_bare_client(
    lab: &Lab,
    rules: &Rules,
    jobs: u32,
    seconds: f64,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let selection = drive::lookup(lab, "", Drive::Client, seconds)?;
    let sql = drive::statement(&selection)?.with_values(|_| "$1");
    let keys = keys(lab, &ONE_ROW)?;
    let mut bare = || bare_client::run(lab, &sql, keys, jobs, seconds);
    let by_clock = interleave(
        rules,
        Comparison {
            name: format!("PostgreSQL client drive : bare client, {jobs} jobs"),
            unit: UNIT,
            target: Some(BARE_CLIENT_TARGET),
            ours: &mut || drive::run(lab, &selection, jobs),
            peer: &mut bare,
        },
    )?;
    let by_clock = Outcome { is_estimated: true, ..by_clock };
    let by_processor = by_clock.by_processor(&CLIENT_AND_SERVER, "lookups/CPU s");
    let by_processor = Outcome { is_estimated: true, ..by_processor };
    let pgbench = Pgbench::find(lab)?;
    let script = script(lab, &ONE_ROW, seconds)?;
    let of_bare_client = interleave(
        rules,
        Comparison {
            name: format!("PostgreSQL bare client : pgbench -M prepared, {jobs} jobs"),
            unit: UNIT,
            target: None,
            ours: &mut bare,
            peer: &mut || pgbench.script(&script, jobs, seconds),
        },
    )?;
    let of_bare_client = Outcome { is_estimated: true, ..of_bare_client };
    outcomes.extend([by_clock, by_processor, of_bare_client]);
    Ok(())
}

/// Client drive against pgbench, both over TCP and TLS (sslmode=require).
pub fn tls(lab: &Lab, rules: &Rules, ramp: Ramp<'_>, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let before = outcomes.len();
    against_pgbench(lab, rules, &BY_CLIENT_OVER_TLS, ramp, outcomes)?;
    outcomes[before..].iter_mut().for_each(|outcome| outcome.name.push_str(", TLS"));
    Ok(())
}

/// 25 rows by one key, every column of every row on both sides: in the database drive against
/// pgbench.
pub fn rows25(lab: &Lab, rules: &Rules, ramp: Ramp<'_>, outcomes: &mut Vec<Outcome>) -> Result<()> {
    against_pgbench(lab, rules, &OF_25_ROWS, ramp, outcomes)
}

fn against_pgbench(
    lab: &Lab,
    rules: &Rules,
    duel: &Duel,
    ramp: Ramp<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let Duel { lookup, drive, target } = *duel;
    let Ramp { jobs, seconds } = ramp;
    let pgbench = Pgbench::find(lab)?;
    let script = script(lab, lookup, seconds)?;
    let selection = drive::workload(lab, lookup.id, drive, seconds)?;
    for &jobs in jobs {
        let comparison = Comparison {
            name: format!(
                "PostgreSQL {} drive{} : pgbench -M prepared, {jobs} jobs",
                drive.name(),
                lookup.what
            ),
            unit: UNIT,
            target: Some(target),
            ours: &mut || drive::run(lab, &selection, jobs),
            peer: &mut || pgbench.script(&script, jobs, seconds),
        };
        outcomes.push(interleave(rules, comparison)?);
    }
    Ok(())
}

/// pgbench's script with the statement of our client drive.
fn script(lab: &Lab, lookup: &Lookup, seconds: f64) -> Result<PathBuf> {
    let selection = drive::workload(lab, lookup.id, Drive::Client, seconds)?;
    let sql = drive::statement(&selection)?.with_values(|_| ":key");
    let keys = keys(lab, lookup)?;
    pgbench::write_script(lab, &format!("\\set key random(1, {keys})\n{sql};\n"))
}

/// Number of keys of a lookup.
fn keys(lab: &Lab, lookup: &Lookup) -> Result<u64> {
    let keys = lab.loaded.facts_for(&[]).get(lookup.keys).copied();
    let keys = keys.ok_or_else(|| failed(lookup.id, format!("no fact {}", lookup.keys)))?;
    Ok(keys as u64)
}

/// The generated routine against the barest loop, and against the same loop with its rows counted:
/// by the clock, and by the server's processor time.
pub fn harness(lab: &Lab, rules: &Rules, seconds: f64, outcomes: &mut Vec<Outcome>) -> Result<()> {
    let selection = drive::lookup(lab, "", Drive::Database, seconds)?;
    for routine in [&barest_routine::BAREST, &barest_routine::COUNTING] {
        barest_routine::create(lab, routine)?;
        let by_clock = interleave(
            rules,
            Comparison {
                name: format!("PostgreSQL generated routine : {}, 1 job", routine.what),
                unit: UNIT,
                target: Some(HARNESS_TARGET),
                ours: &mut || drive::run_with_server_time(lab, &selection, 1),
                peer: &mut || barest_routine::run(lab, routine, seconds),
            },
        )?;
        barest_routine::drop_routine(lab, routine)?;
        // Sessions are so far apart that some pairs decide nothing: the interval says so.
        let by_clock = Outcome { is_estimated: true, ..by_clock };
        let by_processor = by_clock.by_processor(&SERVER, "lookups/CPU s");
        let by_processor = Outcome { target: by_clock.target, is_estimated: true, ..by_processor };
        outcomes.extend([by_clock, by_processor]);
    }
    Ok(())
}

/// Our client loop on SQLite against a bare loop: a read transaction per op, and one per slice.
pub fn sqlite(lab: &Lab, rules: &Rules, seconds: f64, outcomes: &mut Vec<Outcome>) -> Result<()> {
    for (read_tx, one_transaction) in [("op", false), ("slice", true)] {
        let selection = drive::lookup(lab, &format!(":read_tx={read_tx}"), Drive::Client, seconds)?;
        let sql = drive::statement(&selection)?.sql.clone();
        let comparison = Comparison {
            name: format!(
                "SQLite client drive, read_tx={read_tx} : bare loop over its C interface, 1 job"
            ),
            unit: UNIT,
            target: Some(SQLITE_TARGET),
            ours: &mut || drive::run(lab, &selection, 1),
            peer: &mut || bare_sqlite::run(lab, &sql, seconds, one_transaction),
        };
        outcomes.push(interleave(rules, comparison)?);
    }
    Ok(())
}

/// Our client loop on DuckDB against a bare loop: a look-up of one row, and an aggregate of the
/// cached table.
pub fn duckdb(lab: &Lab, rules: &Rules, seconds: f64, outcomes: &mut Vec<Outcome>) -> Result<()> {
    // Bytes of the values: texts are 16 bytes that point to the rest.
    let of_row = [8, 4, 4, 4, 4, 4, 8, 4, 4, 16, 16];
    let keys = lab.loaded.facts_for(&[]).get(ONE_ROW.keys).copied().unwrap_or_default() as u64;
    let aggregate = "DA-SCAN:cached=yes";
    for (id, what, keys, widths) in
        [(ONE_ROW.id, "lookup", keys, &of_row[..]), (aggregate, "aggregate", 0, &[8, 16, 16][..])]
    {
        let selection = drive::workload(lab, id, Drive::Client, seconds)?;
        // The file is the bare loop's own database, whose tables need no more than their names.
        let sql = drive::statement(&selection)?.with_values(|_| "$1").replace("dbdyno.main.", "");
        let query = bare_duckdb::Query { sql: &sql, keys, widths };
        let comparison = Comparison {
            name: format!("DuckDB client drive, {what} : bare loop over its C interface, 1 job"),
            unit: "statements/s",
            target: Some(DUCKDB_TARGET),
            ours: &mut || drive::run(lab, &selection, 1),
            peer: &mut || bare_duckdb::run(lab, query, seconds),
        };
        outcomes.push(interleave(rules, comparison)?);
    }
    Ok(())
}

/// Our drives on MariaDB against oltp_point_select: with its own statement and table, which the
/// targets are for, and with SRV-QUERY1, which fetches all 11 columns of a row of 300 bytes where
/// sysbench fetches one of 120.
pub fn mariadb(
    lab: &Lab,
    rules: &Rules,
    Ramp { jobs, seconds }: Ramp<'_>,
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let sysbench = Sysbench::on(lab, sysbench::DATABASE)?;
    sysbench::recreate(lab)?;
    sysbench.prepare(1, SYSBENCH_ROWS, 1)?;
    let contests = [
        (SYSBENCH_POINT, Drive::Database, Some(MARIADB_DATABASE_TARGET)),
        (SYSBENCH_POINT, Drive::Client, Some(MARIADB_CLIENT_TARGET)),
        (ONE_ROW.id, Drive::Database, None),
        (ONE_ROW.id, Drive::Client, None),
    ];
    for (id, drive, target) in contests {
        let selection = drive::workload(lab, id, drive, seconds)?;
        for &jobs in jobs {
            let by_clock = interleave(
                rules,
                Comparison {
                    name: format!(
                        "MariaDB {id}, {} drive : sysbench oltp_point_select, {jobs} jobs",
                        drive.name()
                    ),
                    unit: UNIT,
                    target,
                    ours: &mut || drive::run(lab, &selection, jobs),
                    peer: &mut || sysbench.point_select(SYSBENCH_ROWS, jobs, seconds),
                },
            )?;
            let by_processor = by_clock.by_processor(&CLIENT_AND_SERVER, "lookups/CPU s");
            outcomes.extend([by_clock, by_processor]);
        }
    }
    Ok(())
}
