//! Serves metrics over HTTP, on threads of its own, until the program ends.

use std::net::SocketAddr;
use std::time::Duration;

use oxhttp::Server;
use oxhttp::model::header::{ALLOW, CONTENT_TYPE};
use oxhttp::model::{Body, HeaderValue, Method, Request, Response, StatusCode};

use crate::error::{Error, Result};
use crate::monitor::open_metrics;

/// Where the metrics are.
const PATH: &str = "/metrics";
/// A client that says nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// Clients at once; more wait.
const MOST_CLIENTS: usize = 8;

/// Serves what `text` gives at each request, from now on.
///
/// # Errors
/// Nobody can listen at this address.
pub fn serve(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> Result<()> {
    let server = Server::new(move |request| answer(request, &text)).bind(address);
    let server = server.with_global_timeout(PATIENCE).with_max_concurrent_connections(MOST_CLIENTS);
    server.spawn().map(drop).map_err(|error| {
        Error::usage("--metrics", format!("cannot listen at {address}: {error}")).advise("choose another port")
    })
}

fn answer(request: &Request<Body>, text: &dyn Fn() -> String) -> Response<Body> {
    let plain = "text/plain; charset=utf-8";
    match (request.uri().path(), request.method() == Method::GET) {
        (_, false) => {
            let mut refused = response(StatusCode::METHOD_NOT_ALLOWED, plain, "only GET\n".into());
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
            refused
        }
        (PATH, true) => response(StatusCode::OK, open_metrics::CONTENT_TYPE, text()),
        (_, true) => response(StatusCode::NOT_FOUND, plain, format!("see {PATH}\n")),
    }
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, path: &str) -> Response<Body> {
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.uri_mut()) = (method, path.parse().unwrap());
        answer(&request, &|| "# EOF\n".to_string())
    }

    #[test]
    fn metrics_are_at_one_path_and_only_read() {
        let header = |response: &Response<Body>, name| response.headers()[name].to_str().map(String::from).ok();
        let found = asked(Method::GET, "/metrics");
        assert_eq!(found.status(), StatusCode::OK);
        assert_eq!(header(&found, CONTENT_TYPE).as_deref(), Some(open_metrics::CONTENT_TYPE));
        assert_eq!(asked(Method::GET, "/").status(), StatusCode::NOT_FOUND);
        let refused = asked(Method::POST, "/metrics");
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(header(&refused, ALLOW).as_deref(), Some("GET"));
    }
}
