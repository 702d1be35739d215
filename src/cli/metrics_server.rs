//! Serves metrics over HTTP, on threads of its own, until the program ends.

use std::net::SocketAddr;

use oxhttp::model::{Body, Request, Response, StatusCode};

use crate::error::Result;
use crate::monitor::open_metrics;
use crate::serve::http::{self, Limits, PLAIN, response};

/// Where the metrics are.
const PATH: &str = "/metrics";
const LIMITS: Limits = Limits { clients: 8, patience_s: 30 };

/// Serves what `text` gives at each request, from now on.
///
/// # Errors
/// Nobody can listen at this address.
pub fn serve(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> Result<()> {
    http::listen("--metrics", address, LIMITS, move |request| answer(request, &text))
}

fn answer(request: &Request<Body>, text: &dyn Fn() -> String) -> Response<Body> {
    http::refused_method(request).unwrap_or_else(|| match request.uri().path() {
        PATH => response(StatusCode::OK, open_metrics::CONTENT_TYPE, text()),
        _ => response(StatusCode::NOT_FOUND, PLAIN, format!("see {PATH}\n")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxhttp::model::Method;
    use oxhttp::model::header::{ALLOW, CONTENT_TYPE};

    fn asked(method: Method, path: &str) -> Response<Body> {
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.uri_mut()) = (method, path.parse().unwrap());
        answer(&request, &|| "# EOF\n".to_string())
    }

    #[test]
    fn metrics_are_at_one_path_and_only_read() {
        let header = |response: &Response<Body>, name| {
            response.headers()[name].to_str().map(String::from).ok()
        };
        let found = asked(Method::GET, "/metrics");
        assert_eq!(found.status(), StatusCode::OK);
        assert_eq!(header(&found, CONTENT_TYPE).as_deref(), Some(open_metrics::CONTENT_TYPE));
        assert_eq!(asked(Method::GET, "/").status(), StatusCode::NOT_FOUND);
        let refused = asked(Method::POST, "/metrics");
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(header(&refused, ALLOW).as_deref(), Some("GET, HEAD"));
    }
}
