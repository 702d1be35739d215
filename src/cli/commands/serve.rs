//! `serve`: the results file as a local web site, until it is interrupted.

use std::io::Read;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::cli::args::ServeArgs;
use crate::cli::context::Context;
use crate::cli::{file, out};
use crate::error::{Error, Result};
use crate::host::others_read;
use crate::serve::{self, Site, Token};

/// Holds the token, unless a file does.
const TOKEN: &str = "DBDYNO_TOKEN";
/// Gives the address of the site, and of the figures of a machine.
pub(super) const LISTEN: &str = "--listen";

/// Serves until Ctrl-C, which is its usual end.
///
/// # Errors
/// No results file; nobody can listen there; an address of the network without a token.
pub fn serve(context: &Context, args: &ServeArgs) -> Result<()> {
    context.text_only()?;
    let address = args.listen.0;
    let token = token(args.token_file.as_deref())?;
    may_listen(LISTEN, address, token.as_ref())?;
    let results = context.place_to_serve()?;
    let has_token = token.is_some();
    let site = Site::new(results, context.catalog()?, args.language, token)?;
    let mut end = end()?;
    serve::listen(site, address)?;
    out::print(&address_line(address, has_token))?;
    end.read(&mut [0]).map(drop).map_err(|error| Error::target("signals", error.to_string()))
}

/// Refuses an address that others can reach without a token; `option` is what gave it.
pub fn may_listen(option: &str, address: SocketAddr, token: Option<&Token>) -> Result<()> {
    if token.is_some() || address.ip().is_loopback() {
        return Ok(());
    }
    let file = if option == LISTEN { " or give --token-file FILE" } else { "" };
    Err(Error::usage(option, format!("{address} can be reached from the network"))
        .advise(format!("set {TOKEN}{file} ({})", Token::rule())))
}

/// `http://127.0.0.1:8433/`, and how to come in.
fn address_line(address: SocketAddr, has_token: bool) -> String {
    let how = if has_token { "?token=..., with your token, once" } else { "" };
    format!("http://{address}/{how}")
}

/// Token from the file, which only this user may read, else from the environment.
pub fn token(file: Option<&Path>) -> Result<Option<Token>> {
    let (place, text) = match file {
        Some(path) => {
            let place = path.display().to_string();
            if others_read(path) {
                return Err(Error::usage(place, "holds the token and may be read by others")
                    .advise("chmod 600 it, and choose another token"));
            }
            (place, Some(file::read_small(path, "for a token")?))
        }
        None => (TOKEN.to_string(), std::env::var(TOKEN).ok().filter(|token| !token.is_empty())),
    };
    let short = || Error::usage(place.clone(), "is not a valid token").advise(Token::rule());
    text.map(|text| Token::new(text.trim()).ok_or_else(short)).transpose()
}

/// Pipe that can be read once a signal ends the program.
pub(super) fn end() -> Result<UnixStream> {
    let listen = || -> std::io::Result<UnixStream> {
        let (end, stopped) = UnixStream::pair()?;
        for signal in [SIGINT, SIGTERM] {
            pipe::register(signal, stopped.try_clone()?)?;
        }
        Ok(end)
    };
    listen().map_err(|error| Error::target("signals", error.to_string()))
}
