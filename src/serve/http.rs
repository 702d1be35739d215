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
    let server = Server::new(move |request| head_only(request, answer(request))).bind(address);
    let server = server.with_global_timeout(Duration::from_secs(limits.patience_s));
    server.with_max_concurrent_connections(limits.clients).spawn().map(drop).map_err(|error| {
        Error::usage(option, format!("cannot listen at {address}: {error}"))
            .advise("choose another port")
    })
}

/// The answer without its content, if only the head was asked for.
fn head_only(request: &Request<Body>, mut answer: Response<Body>) -> Response<Body> {
    if request.method() == Method::HEAD {
        *answer.body_mut() = Body::empty();
    }
    answer
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

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method) -> Request<Body> {
        let mut request = Request::new(Body::empty());
        *request.method_mut() = method;
        request
    }

    #[test]
    fn only_readers_are_answered_and_a_head_has_no_content() {
        let body = |method| {
            let answer = head_only(&request(method), response(StatusCode::OK, PLAIN, "text"));
            answer.into_body().to_string().unwrap()
        };
        assert_eq!((body(Method::GET), body(Method::HEAD)), ("text".into(), String::new()));
        assert!(
            [Method::GET, Method::HEAD]
                .map(request)
                .iter()
                .all(|request| refused_method(request).is_none())
        );
        let refused = refused_method(&request(Method::DELETE)).unwrap();
        assert_eq!(
            (refused.status(), refused.headers()[ALLOW].to_str().ok()),
            (StatusCode::METHOD_NOT_ALLOWED, Some("GET, HEAD"))
        );
    }
}
