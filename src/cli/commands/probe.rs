//! `probe`: the figures of this machine over HTTP, for a run against a database here from
//! elsewhere, until it is interrupted.

use std::io::Read;

use oxhttp::model::{Body, Request, Response, StatusCode};

use super::serve::{LISTEN, end, may_listen, token};
use crate::cli::args::ProbeArgs;
use crate::cli::context::Context;
use crate::cli::out;
use crate::error::{Error, Result};
use crate::monitor::{host_metrics, open_metrics};
use crate::serve::http::{self, PLAIN, response};
use crate::serve::{Token, check_access};

/// Path of the metrics.
const PATH: &str = "/metrics";
/// At once: a run needs one.
const MAX_CLIENTS: usize = 64;

/// Tells until Ctrl-C, which is its usual end.
///
/// # Errors
/// Nobody can listen there; an address of the network without a token.
pub fn probe(context: &Context, args: &ProbeArgs) -> Result<()> {
    context.text_only()?;
    let address = args.listen.0;
    let token = token(args.token_file.as_deref())?;
    may_listen(LISTEN, address, token.as_ref())?;
    let mut end = end()?;
    http::listen(LISTEN, address, MAX_CLIENTS, move |request| answer(request, token.as_ref()))?;
    out::print(&format!("http://{address}{PATH}"))?;
    end.read(&mut [0]).map(drop).map_err(|error| Error::target("signals", error.to_string()))
}

fn answer(request: &Request<Body>, token: Option<&Token>) -> Response<Body> {
    check_access(request, token).unwrap_or_else(|| match request.uri().path() {
        PATH => response(StatusCode::OK, open_metrics::CONTENT_TYPE, host_metrics::text()),
        _ => response(StatusCode::NOT_FOUND, PLAIN, format!("see {PATH}\n")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxhttp::model::Method;
    use oxhttp::model::header::AUTHORIZATION;

    fn status(method: Method, uri: &str, token: Option<&Token>, bearer: Option<&str>) -> u16 {
        let mut request = Request::new(Body::empty());
        (*request.method_mut(), *request.uri_mut()) = (method, uri.parse().unwrap());
        bearer.into_iter().for_each(|text| {
            drop(request.headers_mut().insert(AUTHORIZATION, text.parse().unwrap()))
        });
        answer(&request, token).status().as_u16()
    }

    #[test]
    fn figures_are_at_one_path_for_readers_who_know_the_token() {
        let token = Token::new("a token that nobody guesses");
        let bearer = Some("Bearer a token that nobody guesses");
        let asked = |method, uri, bearer| status(method, uri, token.as_ref(), bearer);
        assert_eq!(asked(Method::GET, "http://db1:9101/metrics", bearer), 200);
        assert_eq!(asked(Method::GET, "http://db1:9101/metrics", None), 401);
        assert_eq!(asked(Method::GET, "http://db1:9101/", bearer), 404);
        assert_eq!(asked(Method::POST, "http://db1:9101/metrics", bearer), 405);
        assert_eq!(status(Method::GET, "http://127.0.0.1:9101/metrics", None, None), 200);
        assert_eq!(status(Method::GET, "http://evil.example/metrics", None, None), 403);
    }
}
