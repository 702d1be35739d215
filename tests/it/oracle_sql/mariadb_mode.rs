//! The part of Oracle's language that MariaDB has, too (`sql_mode=ORACLE`): the body of a workload
//! in a bare loop, compiled and run by a second database, which knows names, types and numbers of
//! arguments.

use std::collections::BTreeMap;
use std::process::Command;

use dbdyno::catalog::Catalog;
use dbdyno::engine::Session;
use dbdyno::model::{Drive, PartPlan, Workload};
use dbdyno::sql::fill;

use super::{Done, OPS, SEED, SIZE_GB, texts};
use crate::servers::Lease;
use crate::support::{Desk, finished_group, try_session_of};

const ENGINE: &str = "mariadb";
/// Features that MariaDB 10.11 lacks in its mode ORACLE, and the mark of a text that uses one.
const LACKS: &[(&str, &str)] = &[
    ("connect by", "CONNECT BY"),
    ("t_integers", "associative arrays"),
    ("dbms_random", "DBMS_RANDOM"),
    ("binary_float", "BINARY_FLOAT"),
    ("'fm0x", "TO_CHAR of a number"),
    ("cpu_fibonacci(n - 1)", "functions that call themselves"),
    ("user_indexes", "USER_INDEXES"),
    ("merge into", "MERGE"),
    ("alter system checkpoint", "ALTER SYSTEM"),
    ("dl_copy", "a table without a key to which rows are copied again"),
    ("|| to_char(p_job)", "names of Oracle's catalogue in dynamic statements"),
];

/// A server of MariaDB with the same data set.
pub(super) struct Mode<'a> {
    desk: &'a Desk,
    catalog: &'a Catalog,
    _lease: Lease,
    plain: Box<dyn Session>,
    oracle: Box<dyn Session>,
}

impl<'a> Mode<'a> {
    pub fn new(desk: &'a Desk, catalog: &'a Catalog) -> Mode<'a> {
        let lease = Lease::new(ENGINE, None, &[]);
        desk.run(&format!(
            "load {} --size {SIZE_GB} --quiet --workload TP-LIGHT --workload SRV-QUERY1",
            lease.url
        ))
        .ok();
        let (mut plain, mut oracle) = (
            try_session_of(ENGINE, &lease.url).unwrap(),
            try_session_of(ENGINE, &lease.url).unwrap(),
        );
        for session in [&mut plain, &mut oracle] {
            session.execute("use dbdyno").unwrap();
        }
        oracle.execute("set sql_mode = oracle").unwrap();
        Mode { desk, catalog, _lease: lease, plain, oracle }
    }

    /// Result of the workload's body for Oracle, or what MariaDB lacks for it.
    pub fn run(&mut self, workload: &Workload, part: &PartPlan) -> Result<Done, &'static str> {
        let texts = part.setup_sql();
        if let Some((_, what)) = LACKS
            .iter()
            .find(|(text, _)| texts.iter().any(|sql| is_routine(sql) && sql.contains(text)))
        {
            return Err(what);
        }
        // A plain COMMIT does there what it does in LGWR-LAT.
        let id = if workload.id == "LGWR-PLAIN" { "LGWR-LAT" } else { &workload.id };
        // Its tables are those of MariaDB's own form of the workload, whichever drive has one.
        let of = |drive| texts::parts_on(ENGINE, self.catalog, id, drive, SIZE_GB).pop();
        let native = of(Drive::Database).or_else(|| of(Drive::Client));
        let jobs = BTreeMap::from([("jobs".to_string(), "1".to_string())]);
        let plain = |session: &mut dyn Session, statements: Vec<String>| {
            for sql in &statements {
                session.execute(&fill(sql, &jobs)).unwrap_or_else(|error| panic!("{error}: {sql}"));
            }
        };
        plain(self.plain.as_mut(), native.as_ref().map(PartPlan::setup_sql).unwrap_or_default());
        for sql in texts.iter().filter(|sql| is_routine(sql)) {
            let sql = self.written(&bare(sql).unwrap_or_else(|| sql.clone()));
            self.oracle
                .execute(sql.trim())
                .unwrap_or_else(|error| panic!("{}: {error}: {sql}", workload.id));
        }
        let call = format!("call dbdyno.bare(1, 1, {OPS}, {SEED})");
        let rows = self
            .oracle
            .query(&call, &[])
            .unwrap_or_else(|error| panic!("{}: {error}", workload.id));
        plain(self.plain.as_mut(), native.as_ref().map(PartPlan::teardown_sql).unwrap_or_default());
        Ok(["ops", "row_count", "commits", "seed", "sink"]
            .map(|name| rows.get(0, name).unwrap_or("null").to_string()))
    }

    fn written(&self, text: &str) -> String {
        let file = self.desk.path("mode.sql");
        std::fs::write(&file, text.trim_end_matches("-- PL/SQL").trim_end()).unwrap();
        let mut script = Command::new("sh");
        script.arg("tests/oracle/mariadb.sh").arg(&file);
        finished_group(script, "mariadb.sh").ok().stdout
    }
}

fn is_routine(sql: &str) -> bool {
    sql.starts_with("create or replace")
}

/// Declarations and body of a workload, out of the harness around them.
pub(super) fn inside(routine: &str) -> Option<(&str, &str)> {
    let (_, rest) = routine.split_once("v_text varchar2(32767) := '';\n")?;
    let (declare, rest) = rest.split_once("begin\n  v_begin := ")?;
    let (_, rest) = rest.split_once("* c_modulus;\n")?;
    let (body, _) = rest.split_once("    end loop;\n    v_gone := systimestamp")?;
    Some((declare, body))
}

/// The body in the barest loop that counts as the harness does; nothing for a text that is not the
/// harness.
fn bare(routine: &str) -> Option<String> {
    let (declare, body) = inside(routine)?;
    Some(format!(
        "create or replace procedure dbdyno.bare(p_job number, p_jobs number, p_ops number, p_seed \
         number)\nas\n  c_multiplier binary_double := 48271;\n  c_modulus binary_double := \
         2147483647;\n  v_seed binary_double := p_seed;\n  v_rows number := 0;\n  v_commits number \
         := 0;\n  v_sink binary_double := 0;\n{declare}begin\n  for v_op in 1 .. p_ops loop\n    \
         v_seed := v_seed * c_multiplier;\n    v_seed := v_seed - floor(v_seed / c_modulus) * \
         c_modulus;\n{body}  end loop;\n  select p_ops as ops, v_rows as row_count, v_commits as \
         commits, v_seed as seed, v_sink as sink;\nend"
    ))
}
