//! sysbench on MariaDB, over the same Unix socket.

use std::ffi::OsStr;
use std::process::Command;

use dbdyno::error::{Error, Result};

use super::failed;
use super::lab::Lab;
use super::pairs::Done;

/// Name of the program, and of where its errors come from.
pub const SYSBENCH: &str = "sysbench";
/// Database of sysbench's own tables.
pub const DATABASE: &str = "sbtest";

/// Fails if it is not installed.
pub fn check() -> Result<()> {
    let advice = "install the package sysbench, or name comparisons that do without it";
    let run = Command::new(SYSBENCH).arg("--version").output();
    run.map(drop)
        .map_err(|error| failed(SYSBENCH, format!("cannot be run ({error})")).advise(advice))
}

/// Makes the database of sysbench's own tables anew, and empty.
pub fn recreate(lab: &Lab) -> Result<()> {
    let mut session = lab.session(SYSBENCH)?;
    for sql in
        [format!("drop database if exists {DATABASE}"), format!("create database {DATABASE}")]
    {
        session.execute(&sql).map_err(|error| error.at(SYSBENCH))?;
    }
    Ok(())
}

/// Way to call it.
pub struct Sysbench {
    socket: String,
    database: &'static str,
}

impl Sysbench {
    /// The way to call it on a database of the lab's server.
    pub fn on(lab: &Lab, database: &'static str) -> Result<Sysbench> {
        let server = lab.server.as_ref().ok_or_else(|| failed(SYSBENCH, "needs a server"))?;
        let url = server.url();
        let socket = url.split_once("socket=").and_then(|(_, rest)| rest.split('&').next());
        let socket = socket.ok_or_else(|| failed(SYSBENCH, "the server has no socket"))?.to_owned();
        Ok(Sysbench { socket, database })
    }

    /// Creates and fills its tables.
    pub fn prepare(&self, tables: u32, rows: u64, threads: u32) -> Result<()> {
        let sizes = [
            format!("--tables={tables}"),
            format!("--table-size={rows}"),
            format!("--threads={threads}"),
        ];
        self.run("oltp_read_write", &sizes, "prepare").map(drop)
    }

    /// Looks rows of its first table up, which has so many: lookups per second.
    pub fn point_select(&self, table_rows: u64, jobs: u32, seconds: f64) -> Result<Done> {
        let options = [
            format!("--threads={jobs}"),
            format!("--time={}", seconds.ceil()),
            format!("--table-size={table_rows}"),
            "--tables=1".into(),
            "--rand-type=uniform".into(),
        ];
        let text = self.run("oltp_point_select", &options, "run")?;
        // "    transactions:                        93451  (31148.28 per sec.)"
        let line = text.lines().find(|line| line.trim_start().starts_with("transactions:"));
        let figures: Vec<f64> = line
            .into_iter()
            .flat_map(|line| {
                line.split(|c: char| !c.is_ascii_digit() && c != '.')
                    .filter_map(|word| word.parse().ok())
            })
            .collect();
        match figures[..] {
            [ops, rate, ..] => Ok(Done::new(rate, Some(ops))),
            _ => Err(failed(SYSBENCH, "printed no rate")),
        }
    }

    /// Runs a command, as `prepare` or `run`, of a test or of a script: what it printed.
    pub fn run(
        &self,
        test: impl AsRef<OsStr>,
        options: &[String],
        command: &str,
    ) -> Result<String> {
        let mut sysbench = Command::new(SYSBENCH);
        sysbench.arg(test).args(["--db-driver=mysql", "--mysql-user=dbdyno", "--mysql-password="]);
        sysbench.arg(format!("--mysql-socket={}", self.socket));
        sysbench.arg(format!("--mysql-db={}", self.database));
        let output = sysbench.args(options).arg(command).output();
        let output =
            output.map_err(|error| failed(SYSBENCH, format!("cannot be run ({error})")))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.success() {
            true => Ok(text),
            false => Err(failed_by(&text)),
        }
    }
}

/// An error that the last line of what it printed explains.
pub fn failed_by(text: &str) -> Error {
    failed(SYSBENCH, text.lines().last().unwrap_or("failed").to_owned())
}
