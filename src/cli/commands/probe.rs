//! `probe`: the figures of this machine over HTTP, for a run against a database here from
//! elsewhere, until it is interrupted.

use std::io::Read;

use super::serve::{LISTEN, end, token};
use crate::cli::args::ProbeArgs;
use crate::cli::context::Context;
use crate::cli::{metrics_server, out};
use crate::error::{Error, Result};
use crate::monitor::host_metrics;

/// Tells until Ctrl-C, which is its usual end.
///
/// # Errors
/// Nobody can listen there; an address of the network without a token.
pub fn probe(context: &Context, args: &ProbeArgs) -> Result<()> {
    context.text_only()?;
    let address = args.listen.0;
    let token = token(args.token_file.as_deref())?;
    let mut end = end()?;
    metrics_server::listen(LISTEN, address, token, host_metrics::text)?;
    out::print(&format!("http://{address}{}", metrics_server::PATH))?;
    end.read(&mut [0]).map(drop).map_err(|error| Error::target("signals", error.to_string()))
}
