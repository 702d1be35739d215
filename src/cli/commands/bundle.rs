//! `bundle`: a run that is sealed in one file.

use std::path::{Path, PathBuf};

use super::report;
use crate::cli::args::{AuditArgs, BundleArgs};
use crate::cli::context::Context;
use crate::cli::{file, out};
use crate::error::{Error, Result, quote};
use crate::model::{RunKind, RunStatus};
use crate::report::audit::AuditReport;
use crate::report::{Input, RunTests};
use crate::store::{Bundle, open_bundle};

/// A larger file is no bundle.
const MAX_BYTES: usize = 500_000_000;

/// Seals a run, and says the file's name and its digest.
///
/// # Errors
/// Unknown runs, a run that was not measured or has not ended; an unwritable file.
pub fn bundle(context: &Context, args: &BundleArgs) -> Result<()> {
    context.text_only()?;
    let store = context.store_to_read()?;
    let run = store.run(&args.run)?;
    if run.kind != RunKind::Measured {
        return Err(Error::usage(
            "RUN",
            format!("{} was not measured by dbdyno", quote(&args.run)),
        )
        .advise("name a run of 'dbdyno run'"));
    }
    if run.status == RunStatus::Running {
        return Err(Error::usage("RUN", format!("{} is still running", quote(&args.run)))
            .advise("wait for its end"));
    }
    let path =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("run-{}.dbdyno", run.id)));
    let digest = file::stream(context, &path, |file| store.seal(run.id, file))?;
    out::print(&format!("{}\n{digest}", path.display()))
}

/// Checks a bundle, and says point by point what it lacks.
///
/// # Errors
/// Of the bundle; a form that the report has not.
pub fn audit(context: &Context, args: &AuditArgs) -> Result<()> {
    let bundle = open(&args.bundle, args.digest.as_deref())?;
    if !context.global.quiet {
        out::report(&format!("{}: every hash is right", bundle.digest));
    }
    let runs = vec![RunTests::new(bundle.run, bundle.tests).ordered()];
    let input = Input { runs, is_sealed: true, language: args.out.language, ..Input::default() };
    let input = report::with_prices(input, &args.price)?;
    let output = args.out.output.as_deref();
    let format = report::form(context, &AuditReport, output)?;
    let document = report::build(&AuditReport, format, input);
    report::show(context, format, &document, output)
}

/// Opens a bundle, which must be the one with this digest, if one is given.
///
/// # Errors
/// Of usage: unreadable, no bundle, altered, another one.
pub fn open(path: &Path, digest: Option<&str>) -> Result<Bundle> {
    let place = path.display().to_string();
    let bundle = open_bundle(&place, &file::read_bytes(path, MAX_BYTES)?)?;
    match digest {
        Some(digest) if digest != bundle.digest => {
            Err(Error::usage(place, format!("is another bundle: its digest is {}", bundle.digest))
                .advise("ask the person who gave you the digest for the file"))
        }
        _ => Ok(bundle),
    }
}
