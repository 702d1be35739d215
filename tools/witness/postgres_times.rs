//! Times on PostgreSQL by its own clock, and by pgbench with the same statements.

use dbdyno::error::Result;
use dbdyno::model::Drive;

use super::cases::Case;
use super::lab::Lab;
use super::pgbench::{Pgbench, write_script};
use super::postgres::{self, Postgres};
use super::script::Script;
use super::times::{JOBS, ServerTimed, TimeWitness, TimedServer, TimedTest, Times, nearest_rank};

const PGBENCH: TimeWitness = TimeWitness {
    name: "pgbench --log",
    reason: "pgbench's time is of its whole script: drawing the key, the answer as text, and its \
             waiting for sockets with poll are in it",
};
const STATEMENTS: TimeWitness = TimeWitness {
    name: postgres::STATEMENTS,
    reason: "the server's clock does not see messages on their way, their decoding and the client",
};
const COMMITTED_STATEMENTS: TimeWitness = TimeWitness {
    name: postgres::STATEMENTS,
    reason: "pg_stat_statements times the statement alone: the commit comes after it",
};
const ACTIVE: TimeWitness = TimeWitness {
    name: postgres::ACTIVE,
    reason: "active_time is of all sessions of the database: the setup, the creation of the \
             routine and the calls around the loop are in it",
};

impl TimedServer for Postgres {
    fn time(&self, test: &TimedTest<'_>) -> Result<ServerTimed> {
        let mut session = test.lab.session(postgres::PLACE)?;
        postgres::reset(session.as_mut())?;
        let (result, time_ms) = match test.drive() {
            Drive::Client => {
                let result = test.run()?;
                let is_own = |statement: &str| test.case.is_own(statement);
                (result, postgres::read_statements(session.as_mut(), is_own)?.time_ms)
            }
            Drive::Database => {
                let before_ms = postgres::read_active_ms(session.as_mut())?;
                let result = test.run()?;
                (result, postgres::read_active_ms(session.as_mut())? - before_ms)
            }
        };
        Ok(ServerTimed { result, time_ms, p99_us: None })
    }

    fn clock(&self, case: &Case, drive: Drive) -> TimeWitness {
        match drive {
            Drive::Client if case.change.is_some() => COMMITTED_STATEMENTS,
            Drive::Client => STATEMENTS,
            Drive::Database => ACTIVE,
        }
    }

    fn client(&self) -> TimeWitness {
        PGBENCH
    }

    fn run_script(&self, lab: &Lab, script: &Script, seconds: f64) -> Result<Times> {
        let path = write_script(lab, &script.to_pgbench())?;
        let mut times_us = Pgbench::find(lab)?.times_us(&path, JOBS, seconds, &lab.directory)?;
        times_us.sort_by(f64::total_cmp);
        let mean = times_us.iter().sum::<f64>() / times_us.len() as f64;
        Ok(Times { mean, p99: nearest_rank(&times_us, 0.99) })
    }
}
