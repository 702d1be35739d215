//! Times on MariaDB by its own clock, and by sysbench with the same statements.

use dbdyno::error::Result;
use dbdyno::model::Drive;

use super::cases::Case;
use super::lab::Lab;
use super::mariadb::{self, MariaDb};
use super::script::Script;
use super::sysbench::{SYSBENCH, Sysbench, failed_by};
use super::times::{JOBS, ServerTimed, TimeWitness, TimedServer, TimedTest, Times, nearest_rank};

const EVENTS: TimeWitness = TimeWitness {
    name: mariadb::EVENTS,
    reason: "the server's clock does not see messages on their way, their decoding and the client",
};
const LUA_CLIENT: TimeWitness = TimeWitness {
    name: SYSBENCH,
    reason: "sysbench's time is of its whole event: the interpreter of its script, the copy of the \
             rows that it keeps, and its library's waiting for sockets with poll are in it",
};

impl TimedServer for MariaDb {
    /// The 99th percentile is known where an op is one execution.
    fn time(&self, test: &TimedTest<'_>) -> Result<ServerTimed> {
        let mut session = test.lab.session(mariadb::PLACE)?;
        mariadb::reset(session.as_mut())?;
        let result = test.run()?;
        let executed = mariadb::read_events(session.as_mut(), mariadb::EXECUTE)?;
        let mut time_ms = executed.time_ms;
        for kind in [mariadb::CALL, mariadb::BEGIN, mariadb::COMMIT] {
            time_ms += mariadb::read_events(session.as_mut(), kind)?.time_ms;
        }
        let p99_us = match executed.count == result.total.ops {
            true => nearest_rank(&mariadb::read_executions_us(session.as_mut())?, 0.99),
            false => None,
        };
        Ok(ServerTimed { result, time_ms, p99_us })
    }

    fn clock(&self, _case: &Case, _drive: Drive) -> TimeWitness {
        EVENTS
    }

    fn client(&self) -> TimeWitness {
        LUA_CLIENT
    }

    fn run_script(&self, lab: &Lab, script: &Script, seconds: f64) -> Result<Times> {
        let path = lab.write_file("script.lua", &script.to_sysbench())?;
        let options = [
            "--percentile=99".to_owned(),
            "--rand-type=uniform".to_owned(),
            format!("--threads={JOBS}"),
            format!("--time={}", seconds.ceil()),
        ];
        let text = Sysbench::on(lab, "dbdyno")?.run(path, &options, "run")?;
        let line = text.lines().find_map(|line| line.strip_prefix("witness "));
        let figures: Vec<f64> = line
            .into_iter()
            .flat_map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()))
            .collect();
        match figures[..] {
            [mean, p99] => Ok(Times { mean, p99: Some(p99) }),
            _ => Err(failed_by(&text)),
        }
    }
}
