//! `binaries fetch`: binaries of a private server for a host that has none.

use serde_json::json;

use crate::cli::args::Server;
use crate::cli::context::Context;
use crate::cli::out;
use crate::error::Result;
use crate::server;

/// Fetches a server's binaries and says where they are.
///
/// # Errors
/// As [`server::fetch`]; an unknown format.
pub fn server(context: &Context, what: &Server) -> Result<()> {
    let format = context.format(&["text", "json"])?;
    let Server::Fetch { engine, version } = what;
    let fetched = server::fetch(engine, version.as_deref())?;
    if format == "json" {
        return out::json(
            &json!({ "engine": engine, "version": fetched.version, "server_bin": fetched.dir,
                                  "was_there": fetched.was_there }),
        );
    }
    let verb = if fetched.was_there { "exists already" } else { "is fetched" };
    out::print(&format!(
        "{} {verb}; use it with:\n--server-bin {}",
        fetched.product,
        fetched.dir.display()
    ))
}
