//! Access control, and the headers of every answer: only readers, only by a name of this machine (a
//! page of others that lets its own name point here is refused), and where there is a token only
//! with it.

use std::net::IpAddr;

use oxhttp::model::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HeaderName, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use oxhttp::model::{Body, HeaderValue, Request, Response, StatusCode};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::http::{PLAIN, refused_method, response};
use super::query::Query;

/// No page of ours holds a script or a style; nothing of others is loaded, framed or told.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const COOKIE_NAME: &str = "dbdyno";
/// A shorter token can be guessed.
const SHORTEST: usize = 16;

/// Secret that a reader must know. It is kept and compared as a hash, in a time that does not
/// depend on what was given.
pub struct Token([u8; 32]);

impl Token {
    /// The token; none if it can be guessed.
    pub fn new(text: &str) -> Option<Token> {
        (text.chars().count() >= SHORTEST).then(|| Token(hash(text)))
    }

    /// Required length, in words.
    pub fn rule() -> String {
        format!("a token has {SHORTEST} characters or more")
    }

    fn is(&self, given: &str) -> bool {
        hash(given).ct_eq(&self.0).into()
    }

    /// Content of the cookie: not the token itself.
    fn cookie(&self) -> String {
        let digest = Sha256::new().chain_update(b"dbdyno serve ").chain_update(self.0).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

fn hash(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The answer to a client without access, or one that has just shown a token; none if the site
/// answers.
pub fn check_access(request: &Request<Body>, token: Option<&Token>) -> Option<Response<Body>> {
    let wrong_host = || (token.is_none() && !is_local(request)).then(wrong_host);
    refused_method(request).or_else(wrong_host).or_else(|| check_token(request, token?))
}

/// True if it is asked for by a name or an address of this machine's own loop.
fn is_local(request: &Request<Body>) -> bool {
    let host = request.uri().host().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

fn wrong_host() -> Response<Body> {
    response(
        StatusCode::FORBIDDEN,
        PLAIN,
        "only for this machine: use the address that 'dbdyno serve' printed\n",
    )
}

/// The answer to a reader without the token, or who brings it in the address and gets a cookie for
/// it.
fn check_token(request: &Request<Body>, token: &Token) -> Option<Response<Body>> {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    match query.get("token") {
        Some(given) if token.is(given) => {
            Some(set_token_cookie(request.uri().path(), &query, token))
        }
        None if is_known(request, token) => None,
        _ => {
            let text = "give the token once as ?token=..., or as 'Authorization: Bearer ...'\n";
            Some(response(StatusCode::UNAUTHORIZED, PLAIN, text))
        }
    }
}

fn is_known(request: &Request<Body>, token: &Token) -> bool {
    let text = |name: HeaderName| {
        request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    };
    let (cookie, expected) = (text(COOKIE), token.cookie());
    let cookies = cookie.split(';').filter_map(|pair| pair.trim().split_once('='));
    let has_cookie = |(name, value): (&str, &str)| {
        name == COOKIE_NAME && bool::from(value.as_bytes().ct_eq(expected.as_bytes()))
    };
    let bearer = text(AUTHORIZATION);
    let bearer = bearer.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    bearer.is_some_and(|(_, given)| token.is(given.trim())) || cookies.into_iter().any(has_cookie)
}

/// Sends the reader to the same page without the token in its address.
fn set_token_cookie(path: &str, query: &Query, token: &Token) -> Response<Body> {
    let mut answer = response(StatusCode::SEE_OTHER, PLAIN, "welcome\n");
    // One slash: '//name' would be a page of others.
    let place = format!("/{}{}", path.trim_start_matches('/'), query.without("token"));
    let cookie = format!("{COOKIE_NAME}={}; Path=/; HttpOnly; SameSite=Strict", token.cookie());
    for (name, value) in [(LOCATION, place), (SET_COOKIE, cookie)] {
        if let Ok(value) = HeaderValue::try_from(value) {
            answer.headers_mut().insert(name, value);
        }
    }
    answer
}

/// The answer with what browsers shall keep to.
pub fn with_security_headers(mut answer: Response<Body>) -> Response<Body> {
    let rules = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (CACHE_CONTROL, "no-store"),
    ];
    for (name, rule) in rules {
        answer.headers_mut().insert(name, HeaderValue::from_static(rule));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a token that nobody guesses";

    fn request(uri: &str, headers: &[(HeaderName, &str)]) -> Request<Body> {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = uri.parse().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(name.clone(), value.parse().unwrap());
        }
        request
    }

    fn status(request: &Request<Body>, token: Option<&Token>) -> Option<u16> {
        check_access(request, token).map(|answer| answer.status().as_u16())
    }

    #[test]
    fn without_a_token_only_names_of_this_machine_are_answered() {
        for host in ["localhost:8433", "LOCALHOST", "127.0.0.1:8433", "127.9.9.9", "[::1]:8433"] {
            assert_eq!(status(&request(&format!("http://{host}/"), &[]), None), None, "{host}");
        }
        for host in ["evil.example:8433", "localhost.evil.example", "192.0.2.1", "[2001:db8::1]"] {
            assert_eq!(
                status(&request(&format!("http://{host}/"), &[]), None),
                Some(403),
                "{host}"
            );
        }
    }

    #[test]
    fn a_token_opens_by_address_header_and_cookie_and_nothing_else_does() {
        let token = Token::new(SECRET).unwrap();
        let asked = |uri: &str, headers: &[(HeaderName, &str)]| {
            check_access(&request(uri, headers), Some(&token))
        };
        let is_closed =
            |answer: Option<Response<Body>>| answer.is_some_and(|answer| answer.status() == 401);
        assert!(is_closed(asked("http://any.example/", &[])));
        assert!(is_closed(asked("http://any.example/?token=a+token", &[])));
        assert!(is_closed(asked("http://any.example/", &[(AUTHORIZATION, "Bearer wrong")])));
        assert!(is_closed(asked("http://any.example/", &[(COOKIE, "dbdyno=00")])));
        assert!(
            asked("http://any.example/", &[(AUTHORIZATION, &format!("bearer {SECRET}"))]).is_none()
        );
        let brought =
            format!("http://any.example//run/1?token={}&q=a%26b", SECRET.replace(' ', "+"));
        let welcome = asked(&brought, &[]).unwrap();
        assert_eq!(welcome.status(), 303);
        assert_eq!(welcome.headers()[LOCATION], "/run/1?q=a%26b");
        let cookie = welcome.headers()[SET_COOKIE].to_str().unwrap();
        assert!(
            cookie.contains("HttpOnly")
                && cookie.contains("SameSite=Strict")
                && !cookie.contains("token")
        );
        let pair = format!("other=1; {}", cookie.split(';').next().unwrap());
        assert!(asked("http://any.example/", &[(COOKIE, &pair)]).is_none());
    }

    #[test]
    fn a_short_token_is_none() {
        assert!(
            Token::new("123456789012345").is_none() && Token::new("1234567890123456").is_some()
        );
    }

    #[test]
    fn every_answer_forbids_scripts_in_pages() {
        let answer = with_security_headers(response(StatusCode::OK, PLAIN, "text"));
        let policy = answer.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        assert_eq!(answer.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
