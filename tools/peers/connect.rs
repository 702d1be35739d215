//! The comparison of connections: opened, asked one trivial query, closed.

use dbdyno::error::Result;
use dbdyno::model::Drive;

use crate::drive;
use crate::lab::Lab;
use crate::pairs::{Comparison, Outcome, Rules, interleave};
use crate::pgbench::{Pgbench, write_script};

const WORKLOAD: &str = "CONN-NEW";
const JOBS: u32 = 2;

/// CONN-NEW against `pgbench -C` with its statement. Ours waits until the server has ended each
/// session, pgbench does not: its next connection is opened while that happens.
pub fn compare(lab: &Lab, rules: &Rules, seconds: f64) -> Result<Outcome> {
    let pgbench = Pgbench::find(lab)?;
    let selection = drive::workload(lab, WORKLOAD, Drive::Client, seconds)?;
    let ask = drive::statement(&selection)?;
    let script = write_script(lab, &format!("{};\n", ask.sql))?;
    let comparison = Comparison {
        name: format!("PostgreSQL connect, ask, close : pgbench -C, {JOBS} jobs"),
        unit: "connections/s",
        target: None,
        ours: &mut || drive::run(lab, &selection, JOBS),
        peer: &mut || pgbench.run_connecting(&script, JOBS, seconds),
    };
    interleave(rules, comparison)
}
