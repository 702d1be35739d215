//! The comparison of the shortest transaction: one row changed, committed, waited for.

use dbdyno::error::Result;
use dbdyno::model::{Drive, Selection};
use dbdyno::sql;

use crate::lab::Lab;
use crate::pairs::{Comparison, Done, Outcome, Rules, interleave};
use crate::pgbench::{Pgbench, write_script};
use crate::{drive, failed};

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
        peer: &mut || peer(lab, &client, || pgbench.script(&script, JOBS, seconds)),
    };
    interleave(rules, comparison)
}

/// Runs the peer between the workload's setup and teardown.
fn peer(lab: &Lab, selection: &Selection, run: impl Fn() -> Result<Done>) -> Result<Done> {
    let part = selection.parts.first().ok_or_else(|| failed(WORKLOAD, "has no part"))?;
    execute(lab, part.setup_sql())?;
    let done = run();
    execute(lab, part.teardown_sql())?;
    done
}

fn execute(lab: &Lab, statements: Vec<String>) -> Result<()> {
    let mut session = lab.database.session().map_err(|error| error.at(WORKLOAD))?;
    for statement in statements {
        session.execute(&sql::bind_late(&statement, JOBS)).map_err(|error| error.at(WORKLOAD))?;
    }
    Ok(())
}
