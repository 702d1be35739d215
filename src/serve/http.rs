//! HTTP on threads of its own, until the program ends: for the site, and for the metrics of a run.

use std::net::SocketAddr;
use std::time::Duration;

use oxhttp::Server;
use oxhttp::model::header::{ALLOW, CONTENT_TYPE};
use oxhttp::model::{Body, HeaderValue, Method, Request, Response, StatusCode};

use crate::error::{Error, Result};

/// What a server grants its clients.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// At once; more wait.
    pub clients: usize,
    /// A client that says or takes nothing for so long is gone.
    pub patience_s: u64,
}

pub const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers every request at an address, from now on; `option` is what the user gave the address by.
///
/// # Errors
/// Nobody can listen at this address.
pub fn listen(
    option: &str,
    address: SocketAddr,
    limits: Limits,
    answer: impl Fn(&Request<Body>) -> Response<Body> + Send + Sync + 'static,
) -> Result<()> {
    let server = Server::new(move |request| answer(request)).bind(address);
    let server = server.with_global_timeout(Duration::from_secs(limits.patience_s));
    server.with_max_concurrent_connections(limits.clients).spawn().map(drop).map_err(|error| {
        Error::usage(option, format!("cannot listen at {address}: {error}")).advise("choose another port")
    })
}

/// A response of this kind.
pub fn response(status: StatusCode, kind: &'static str, text: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Who does not only read is refused.
pub fn refused_method(request: &Request<Body>) -> Option<Response<Body>> {
    let is_reading = [Method::GET, Method::HEAD].contains(request.method());
    (!is_reading).then(|| {
        let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n");
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        refused
    })
}
