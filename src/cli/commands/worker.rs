//! `worker`: this machine runs jobs of a run that is conducted elsewhere.

use std::time::Duration;

use crate::cli::args::WorkerArgs;
use crate::cli::context::{Context, interrupt};
use crate::cli::out;
use crate::error::{Error, Kind, Result};
use crate::store::Place;
use crate::workers::{Orders, serve};

/// Works until Ctrl-C, or until there was nothing to do for long enough.
///
/// # Errors
/// The URL does not lead to a database that keeps results, or it cannot be reached.
pub fn worker(context: &Context, args: &WorkerArgs) -> Result<()> {
    context.text_only()?;
    let name =
        format!("{}:{}", rustix::system::uname().nodename().to_string_lossy(), std::process::id());
    let interrupt = interrupt()?;
    let tell = |line: &str| {
        if !context.global.quiet {
            out::tell(line);
        }
    };
    let mut place = Place::from(&args.results_url);
    let work = |place: &Place| {
        serve(&Orders {
            place,
            name: name.clone(),
            idle: args.idle.map(|idle| Duration::from_secs_f64(idle.0)),
            interrupt: &interrupt,
            tell: &tell,
        })
    };
    match work(&place) {
        Err(error) if error.kind == Kind::NoPassword => {
            place.password = Some(context.ask_password(&error.place).ok_or::<Error>(error)?);
            work(&place)
        }
        done => done,
    }
}
