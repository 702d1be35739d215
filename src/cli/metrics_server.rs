//! Serves metrics over HTTP, on threads of its own, until the program ends.

use std::net::SocketAddr;

use oxhttp::model::{Body, Request, Response, StatusCode};

use super::commands::serve::{may_listen, token};
use crate::error::Result;
use crate::monitor::open_metrics;
use crate::serve::http::{self, PLAIN, response};
use crate::serve::{Token, check_access};

const OPTION: &str = "--metrics";
/// Path of the metrics.
const PATH: &str = "/metrics";
/// At once: a monitoring system needs one.
const MAX_CLIENTS: usize = 64;

/// Serves what `text` gives at each request, from now on.
///
/// # Errors
/// Nobody can listen at this address; one of the network without a token.
pub fn serve(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> Result<()> {
    let token = token(None)?;
    may_listen(OPTION, address, token.as_ref())?;
    let answer = move |request: &Request<Body>| answer(request, token.as_ref(), &text);
    http::listen(OPTION, address, MAX_CLIENTS, answer)
}

fn answer(
    request: &Request<Body>,
    token: Option<&Token>,
    text: &dyn Fn() -> String,
) -> Response<Body> {
    check_access(request, token).unwrap_or_else(|| match request.uri().path() {
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
        of_host(method, &format!("http://127.0.0.1:9187{path}"), None)
    }

    fn of_host(method: Method, uri: &str, token: Option<&Token>) -> Response<Body> {
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.uri_mut()) = (method, uri.parse().unwrap());
        answer(&request, token, &|| "# EOF\n".to_string())
    }

    #[test]
    fn a_page_of_another_host_and_who_knows_no_token_are_refused() {
        let asked = |uri, token| of_host(Method::GET, uri, token).status().as_u16();
        assert_eq!(asked("http://evil.example/metrics", None), 403, "by another name for us");
        let token = Token::new("a token that nobody guesses");
        assert_eq!(asked("http://db1:9187/metrics", token.as_ref()), 401);
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
