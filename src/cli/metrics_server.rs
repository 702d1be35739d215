//! Serves metrics over HTTP, on threads of its own, until the program ends.

use std::net::SocketAddr;

use oxhttp::model::{Body, Request, Response, StatusCode};

use super::commands::serve::{may_listen, token};
use crate::error::Result;
use crate::monitor::open_metrics;
use crate::serve::http::{self, PLAIN, response};
use crate::serve::{Token, check_access};

/// The option that gives the address of the metrics of a run or of a monitored database.
const OPTION: &str = "--metrics";
/// Path of the metrics.
pub const PATH: &str = "/metrics";
/// Clients that are served at once: a monitoring system or a run needs one.
const MAX_CLIENTS: usize = 64;

/// Serves what `text` gives at each request, from now on, at the address of `--metrics`.
///
/// # Errors
/// As [`listen`]; a token in the environment that is not valid.
pub fn serve(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> Result<()> {
    listen(OPTION, address, token(None)?, text)
}

/// Serves what `text` gives at each request, from now on, to those who know the token; `option` is
/// what the user gave the address by.
///
/// # Errors
/// Nobody can listen at this address; one of the network without a token.
pub fn listen(
    option: &str,
    address: SocketAddr,
    token: Option<Token>,
    text: impl Fn() -> String + Send + Sync + 'static,
) -> Result<()> {
    may_listen(option, address, token.as_ref())?;
    let answer = move |request: &Request<Body>| answer(request, token.as_ref(), &text);
    http::listen(option, address, MAX_CLIENTS, answer)
}

/// The answer to a request: the metrics at their path, for those who may read them.
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
    use oxhttp::model::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE};

    const LOCAL: &str = "http://127.0.0.1:9187";
    const REMOTE: &str = "http://db1:9101/metrics";

    fn request(method: Method, uri: &str) -> Request<Body> {
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.uri_mut()) = (method, uri.parse().unwrap());
        request
    }

    fn answer_to(request: &Request<Body>, token: Option<&Token>) -> Response<Body> {
        answer(request, token, &|| "# EOF\n".to_string())
    }

    /// The answer to a request from this machine, without a token.
    fn answer_locally(method: Method, path: &str) -> Response<Body> {
        answer_to(&request(method, &format!("{LOCAL}{path}")), None)
    }

    #[test]
    fn a_page_of_another_host_is_refused() {
        let evil = request(Method::GET, "http://evil.example/metrics");
        assert_eq!(
            answer_to(&evil, None).status(),
            StatusCode::FORBIDDEN,
            "by another name for us"
        );
    }

    #[test]
    fn only_who_knows_the_token_is_answered() {
        let token = Token::new("a token that nobody guesses");
        let unknown = request(Method::GET, REMOTE);
        assert_eq!(answer_to(&unknown, token.as_ref()).status(), StatusCode::UNAUTHORIZED);
        for (method, uri, status) in [
            (Method::GET, REMOTE, StatusCode::OK),
            (Method::GET, "http://db1:9101/", StatusCode::NOT_FOUND),
            (Method::POST, REMOTE, StatusCode::METHOD_NOT_ALLOWED),
        ] {
            let mut known = request(method, uri);
            let bearer = "Bearer a token that nobody guesses".parse().unwrap();
            known.headers_mut().insert(AUTHORIZATION, bearer);
            assert_eq!(answer_to(&known, token.as_ref()).status(), status, "{uri}");
        }
    }

    #[test]
    fn metrics_are_at_one_path_and_only_read() {
        let header = |response: &Response<Body>, name| {
            response.headers()[name].to_str().map(String::from).ok()
        };
        let found = answer_locally(Method::GET, "/metrics");
        assert_eq!(found.status(), StatusCode::OK);
        assert_eq!(header(&found, CONTENT_TYPE).as_deref(), Some(open_metrics::CONTENT_TYPE));
        assert_eq!(answer_locally(Method::GET, "/").status(), StatusCode::NOT_FOUND);
        let refused = answer_locally(Method::POST, "/metrics");
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(header(&refused, ALLOW).as_deref(), Some("GET, HEAD"));
    }
}
