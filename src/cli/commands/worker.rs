//! `worker`: this machine runs jobs of a run that is conducted elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use crate::cli::args::WorkerArgs;
use crate::cli::context::{Context, interrupt};
use crate::cli::out;
use crate::cli::target::{TargetLocation, parse};
use crate::error::{Error, Kind, Result};
use crate::model::Target;
use crate::store::Place;
use crate::workers::{WorkerOptions, serve};

/// Works until Ctrl-C, or until there was nothing to do for long enough.
///
/// # Errors
/// The URL does not lead to a database that keeps results, or it cannot be reached; a target that
/// does not exist.
pub fn worker(context: &Context, args: &WorkerArgs) -> Result<()> {
    context.text_only()?;
    let name =
        format!("{}:{}", rustix::system::uname().nodename().to_string_lossy(), std::process::id());
    let interrupt = interrupt()?;
    let tell = |line: &str| {
        if !context.global.quiet {
            out::report(line);
        }
    };
    let targets = args.targets.iter().map(|text| target(text)).collect::<Result<Vec<_>>>()?;
    let mut place = Place::from(&args.results_url);
    let work = |place: &Place| {
        serve(&WorkerOptions {
            place,
            targets: &targets,
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

/// A target that jobs elsewhere can have in common.
///
/// # Errors
/// No such target, or a database that only this machine sees.
fn target(text: &str) -> Result<Target> {
    let place = TargetLocation {
        data_dir: PathBuf::new(),
        server_bin: None,
        port: None,
        without_database: true,
    };
    let (target, engine) = parse(text, place)?;
    if target.url().is_some() || !engine.is_target() {
        return Ok(target);
    }
    Err(Error::usage("TARGET", format!("{} is only seen by this machine", target.label()))
        .advise("give the URL of an existing server"))
}
