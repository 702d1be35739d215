//! Results of many tests with all their seconds, for measuring reports by hand, and how long
//! reading them takes: `cargo run --release --example scale -- /tmp/scale.db 500`, then `dbdyno
//! report html last --results /tmp/scale.db`. The second word is the number of runs of 200 tests
//! (50); instead of a file it may be the URL of a database.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints"
)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use dbdyno::error::Result;
use dbdyno::store::Store;

// The tests' own results; what only they use is not used here.
#[allow(dead_code)]
#[path = "../tests/it/fixture.rs"]
mod fixture;

fn main() -> ExitCode {
    let place = std::env::args().nth(1).filter(|place| !Path::new(place).exists());
    let runs = std::env::args().nth(2).map_or(Some(fixture::RUNS), |runs| runs.parse().ok());
    let (Some(place), Some(runs)) = (place, runs) else {
        eprintln!(
            "scale: name a file that is not there yet, or the URL of a database, and perhaps a \
             number of runs"
        );
        return ExitCode::from(2);
    };
    fixture::fill(Path::new(&place), runs, true);
    match Store::open_to_read(&place).and_then(|store| timed_reads(&store)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("scale: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints how long what reports read takes.
fn timed_reads(store: &Store) -> Result<()> {
    let last = store.run("last")?.id;
    timed("list of the runs", || store.runs().map(|runs| runs.len()))?;
    timed("list of the runs with verdicts", || store.listing().map(|runs| runs.len()))?;
    timed("points that were measured", || store.measured(200).map(|points| points.len()))?;
    timed("history of a point", || {
        store.tests_beside("SRV-QUERY1", 2, 200).map(|tests| tests.len())
    })?;
    timed("runs with a label", || store.measured_with("host", "lab-1").map(|runs| runs.len()))?;
    timed("figures of a run", || store.figures(last).map(|tests| tests.len()))?;
    timed("a run with its seconds", || store.tests(last).map(|tests| tests.len()))
}

fn timed(what: &str, read: impl FnOnce() -> Result<usize>) -> Result<()> {
    let began = Instant::now();
    let rows = read()?;
    println!("{what}: {rows} in {:.3} s", began.elapsed().as_secs_f64());
    Ok(())
}
