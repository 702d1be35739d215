//! HTTP on threads of its own, until the program ends: for the site, and for the metrics of a run.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use oxhttp::model::header::{ALLOW, CONTENT_TYPE};
use oxhttp::model::{Body, HeaderValue, Method, Request, Response, StatusCode};

use super::slots::{Slot, Slots};
use super::wire::{self, DeadlineStream, NoRequest};
use crate::error::{Error, Result};

/// Maximum time for the head of a request, however slowly it is sent; then it is refused.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Maximum time for sending an answer: a page of some megabytes over a slow line.
const ANSWER_TIME: Duration = Duration::from_secs(60);
/// After a connection that cannot be taken, as when there are no file descriptors left.
const PAUSE: Duration = Duration::from_millis(100);

/// A function that answers a request.
trait Answer: Fn(&Request<Body>) -> Response<Body> + Send + Sync + 'static {}
impl<F: Fn(&Request<Body>) -> Response<Body> + Send + Sync + 'static> Answer for F {}

pub const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers every request at an address, from now on, for this many clients at once; `option` is
/// what the user gave the address by. If more come, those that have waited longest without a
/// complete request make place.
///
/// # Errors
/// Nobody can listen at this address.
pub fn listen(
    option: &str,
    address: SocketAddr,
    clients: usize,
    answer: impl Fn(&Request<Body>) -> Response<Body> + Send + Sync + 'static,
) -> Result<()> {
    let listening = TcpListener::bind(address).and_then(|listener| {
        let accept = move || accept(&listener, &Slots::new(clients), &Arc::new(answer));
        thread::Builder::new().name("http".into()).spawn(accept)
    });
    listening.map(drop).map_err(|error| {
        Error::usage(option, format!("cannot listen at {address}: {error}"))
            .advise("choose another port")
    })
}

/// Takes connections for ever, each into a thread of its own.
fn accept(listener: &TcpListener, slots: &Arc<Slots>, answer: &Arc<impl Answer>) {
    for stream in listener.incoming() {
        let second = stream.and_then(|stream| Ok((stream.try_clone()?, stream)));
        let Ok((second, stream)) = second else {
            thread::sleep(PAUSE);
            continue;
        };
        let (slot, answer) = (slots.take(second), Arc::clone(answer));
        let respond = move || converse(&stream, &slot, &*answer);
        // A thread that does not start drops the connection and its place.
        drop(thread::Builder::new().name("http client".into()).spawn(respond));
    }
}

/// Reads one request and answers it.
fn converse(stream: &TcpStream, slot: &Slot, answer: &impl Answer) {
    let asked = wire::request(&mut DeadlineStream { stream, deadline: Instant::now() + HEAD_TIME });
    slot.has_request();
    let answer = match asked {
        Ok(request) => head_only(&request, answer(&request)),
        Err(NoRequest::Refused(status)) => response(status, PLAIN, format!("{status}\n")),
        Err(NoRequest::Gone) => return,
    };
    let mut client = DeadlineStream { stream, deadline: Instant::now() + ANSWER_TIME };
    // Who goes away before the end of the answer does not need it.
    if wire::respond(&mut client, answer).is_ok() {
        wire::farewell(stream);
    }
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

/// Refuses requests that do not only read.
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
