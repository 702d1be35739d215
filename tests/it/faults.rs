//! The faults of PostgreSQL's tests on MariaDB: a server that dies while loading, passwords
//! that must not be seen.

use crate::cli_existing::assert_password_appears_nowhere;
use crate::servers::Existing;
use crate::support::{Desk, column, ended, until};

/// 240,000 rows, of which a chunk is a twelfth or less.
const ARGS: &str = "--size 0.24 --workload STO-READ";
const NOTED: &str = "select coalesce(sum(last_id - first_id + 1), 0) from dbdyno.state_chunks";

/// Rows that are noted as in; none before there is a note.
fn noted(server: &mut Existing) -> u64 {
    let rows = server.admin.query(NOTED, &[]).ok();
    rows.and_then(|rows| rows.scalar()?.parse().ok()).unwrap_or(0)
}

#[test]
fn an_existing_mariadb_that_dies_while_loading_is_one_line_and_what_is_in_stays() {
    let desk = Desk::new();
    // Commits that are lost with the server's process would be rows that do not stay.
    let mut server = Existing::start(&[("innodb_flush_log_at_trx_commit", "1")]);
    // By its own user: a server that is started anew may not hold what others may change.
    let url = server.admin_url();
    let line = format!("load {url} --quiet {ARGS}");
    let load = desk.spawn(&line);
    until("a third of the rows are in", || noted(&mut server) > 80_000);
    server.kill();
    ended(load, &line).fails(3, &["mariadb://", "table dbdyno.big"]);
    server.start_again();
    let kept = noted(&mut server);
    // All of them where there are as many sessions as chunks: only the indexes were missing then.
    assert!((80_001..=240_000).contains(&kept), "{kept} rows are in");
    let again = desk.run(&format!("load {url} {ARGS}")).ok();
    assert!(again.stderr.contains("resumes at"), "{}", again.stderr);
    desk.run(&format!("verify {url} {ARGS} --quiet")).ok();
    assert_eq!(column(server.admin.as_mut(), "select count(*) from dbdyno.big"), ["240000"]);
}

#[test]
fn passwords_for_mariadb_appear_nowhere() {
    let mut server = Existing::shared();
    server.create_user("secretive", "all");
    assert_password_appears_nowhere(&server.url("secretive"), "MYSQL_PWD");
}
