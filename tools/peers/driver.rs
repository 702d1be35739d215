//! Cost of Oracle's driver for the client: the look-up of a row in our client loop, answered at
//! once by a stub of the protocol, beside the same look-up by our client of MariaDB. Processor time
//! of the client is compared, not speed.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use dbdyno::engine::{self, Access, ConnectTo, Database};
use dbdyno::error::Result;
use dbdyno::model::{Drive, Target};

use crate::lab::Lab;
use crate::pairs::{CLIENT, Comparison, Outcome, Rules, interleave};
use crate::ttc::{Answer, Value, serve};
use crate::{drive, failed};

/// This program is the stub if it is set: its processor time must not count as the client's.
const IS_STUB: &str = "DBDYNO_PEERS_STUB";
const WORKLOAD: &str = "SRV-QUERY1";
const COLUMNS: [&str; 11] = [
    "ID",
    "KEY25",
    "KEY125",
    "KEY320",
    "REGION",
    "BOOKED_ON",
    "AMOUNT",
    "QUANTITY",
    "STATUS",
    "CODE",
    "FILLER",
];

/// Runs as the stub if that is what this process was started for: tells its port, ends with its
/// parent.
pub fn was_stub() -> bool {
    if std::env::var_os(IS_STUB).is_none() {
        return false;
    }
    println!("{}", serve(answer));
    let _ = std::io::stdout().flush();
    let _ = std::io::stdin().read(&mut [0]); // the parent's end closes it
    true
}

/// One row of the data set, as wide as they are.
fn answer(sql: &str) -> Answer {
    if sql.contains("'instance'") {
        return Answer::scalar("1");
    }
    if !sql.starts_with("select") {
        return Answer::Changed(0);
    }
    let mut row = vec![Value::Number(123_456); COLUMNS.len()];
    row[5] = "2026-01-01".into();
    row[9] = Value::Text("c".repeat(32));
    row[10] = Value::Text("f".repeat(200));
    Answer::Rows { columns: COLUMNS.to_vec(), rows: vec![row] }
}

/// The stub in a process of its own.
struct Stub {
    process: Child,
    database: Box<dyn Database>,
}

impl Stub {
    fn start() -> Result<Stub> {
        let wrong = |why: String| failed("stub of Oracle", why);
        let program = std::env::current_exe().map_err(|error| wrong(error.to_string()))?;
        let mut command = Command::new(program);
        command.env(IS_STUB, "1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| wrong(error.to_string()))?;
        let mut port = String::new();
        let told = process.stdout.take().map(|out| BufReader::new(out).read_line(&mut port));
        told.transpose().map_err(|error| wrong(error.to_string()))?;
        let url = format!("oracle://stub@127.0.0.1:{}/stub", port.trim());
        let target = Target::Existing { engine: "oracle".into(), url: url.clone() };
        let password = Some("stub".into());
        let to = ConnectTo { url: Some(url), password, ..ConnectTo::new(target) };
        let oracle = engine::find("oracle").ok_or_else(|| wrong("is not compiled in".into()))?;
        let database =
            oracle.open(&to, Access::Watch).map_err(|error| error.at("stub of Oracle"))?;
        Ok(Stub { process, database })
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One look-up per op, one job: ops per second of the client's processor time.
pub fn compare(lab: &Lab, rules: &Rules, seconds: f64) -> Result<Outcome> {
    let stub = Stub::start()?;
    let oracle = drive::workload_of("oracle", lab, WORKLOAD, Drive::Client, seconds)?;
    let mariadb = drive::workload(lab, WORKLOAD, Drive::Client, seconds)?;
    let by_clock = interleave(
        rules,
        Comparison {
            name:
                "Oracle's driver on a stub that answers at once, TCP : our MariaDB client on its \
                   server, Unix socket"
                    .into(),
            unit: "lookups/s",
            target: None,
            ours: &mut || drive::run_on(stub.database.as_ref(), lab, &oracle, 1),
            peer: &mut || drive::run(lab, &mariadb, 1),
        },
    )?;
    Ok(Outcome {
        name: format!("{}, by the client's processor time", by_clock.name),
        ..by_clock.by_processor(&CLIENT, "lookups/CPU s")
    })
}
