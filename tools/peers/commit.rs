//! The comparison of the shortest transaction: one row changed, committed, waited for.

use dbdyno::error::Result;
use dbdyno::model::Drive;

use crate::drive;
use crate::lab::Lab;
use crate::pairs::{Comparison, Outcome, Rules, interleave};
use crate::pgbench::{Pgbench, write_script};

const WORKLOAD: &str = "LGWR-LAT";
const TARGET: f64 = 1.2;
const JOBS: u32 = 1;

/// LGWR-LAT in the database drive against pgbench with the statement of its client drive, which
/// commits by itself: one round trip per transaction. Both on a table made anew by the workload's
/// own setup.
pub fn compare(lab: &Lab, rules: &Rules, seconds: f64) -> Result<Outcome> {
    let pgbench = Pgbench::find(lab)?;
    let selection = drive::workload(lab, WORKLOAD, Drive::Database, seconds)?;
    let client = drive::workload(lab, WORKLOAD, Drive::Client, seconds)?;
    let update = drive::statement(&client)?.with_values(|_| ":job");
    let script = write_script(lab, &format!("\\set job :client_id + 1\n{update};\n"))?;
    let comparison = Comparison {
        name: format!(
            "PostgreSQL update and commit, database drive : pgbench -M prepared, {JOBS} job"
        ),
        unit: "commits/s",
        target: Some(TARGET),
        ours: &mut || drive::run(lab, &selection, JOBS),
        peer: &mut || {
            drive::run_beside_setup(lab, &client, JOBS, || pgbench.script(&script, JOBS, seconds))
        },
    };
    interleave(rules, comparison)
}
