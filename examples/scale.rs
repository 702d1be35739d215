//! A results file of ten thousand tests with all their seconds, for measuring reports by hand:
//! `cargo run --release --example scale -- /tmp/scale.db`, then `dbdyno report html last --results /tmp/scale.db`.

use std::path::Path;
use std::process::ExitCode;

// The tests' own results; what only they use is not used here.
#[allow(dead_code)]
#[path = "../tests/it/fixture.rs"]
mod fixture;

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).filter(|path| !Path::new(path).exists()) else {
        eprintln!("scale: name a file that is not there yet");
        return ExitCode::from(2);
    };
    fixture::fill(Path::new(&path), true);
    ExitCode::SUCCESS
}
