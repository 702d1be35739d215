//! One request and its answer on a connection, each within a time of its own for the whole of it:
//! a limit for every single read would let a client hold the connection with a byte now and then.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use oxhttp::model::header::HOST;
use oxhttp::model::uri::{Authority, PathAndQuery, Scheme};
use oxhttp::model::{Body, HeaderMap, HeaderName, HeaderValue, Method, Request, Response};
use oxhttp::model::{StatusCode, Uri};

/// The head of a request has fewer bytes and headers.
const MAX_HEAD_BYTES: usize = 8 * 1024;
const MAX_HEADERS: usize = 100;
/// Maximum time for which data behind a client's head are read: closed with bytes unread, a
/// connection may lose the answer on its way.
const FAREWELL: Duration = Duration::from_secs(1);
const FAREWELL_BYTES: u64 = 64 * 1024;

/// A connection that refuses to read or write after its deadline.
pub(super) struct DeadlineStream<'a> {
    pub stream: &'a TcpStream,
    pub deadline: Instant,
}

impl DeadlineStream<'_> {
    /// Time that is left, which is more than none.
    fn remaining(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.remaining()?)?;
        self.stream.read(buffer)
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.remaining()?)?;
        self.stream.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reason why there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRequest {
    /// The client has closed the connection and does not wait for an answer.
    Gone,
    /// Status that the client gets.
    Refused(StatusCode),
}

const MALFORMED: NoRequest = NoRequest::Refused(StatusCode::BAD_REQUEST);

/// The head of a request as a request; what follows it is not read.
///
/// # Errors
/// The client is too slow, goes away, or sends no head of a request.
pub(super) fn request(from: &mut impl Read) -> Result<Request<Body>, NoRequest> {
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Err(NoRequest::Gone),
            Ok(count) => count,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => continue,
                ErrorKind::TimedOut | ErrorKind::WouldBlock => {
                    return Err(NoRequest::Refused(StatusCode::REQUEST_TIMEOUT));
                }
                _ => return Err(NoRequest::Gone),
            },
        };
        head.extend_from_slice(&buffer[..count]);
        if head.len() > MAX_HEAD_BYTES {
            return Err(MALFORMED);
        }
        if let Some(request) = parse_request(&head)? {
            return Ok(request);
        }
    }
}

/// The request of a head; none if it is not complete yet.
fn parse_request(head: &[u8]) -> Result<Option<Request<Body>>, NoRequest> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(status) if status.is_partial() => return Ok(None),
        Ok(_) => {}
        Err(_) => return Err(MALFORMED),
    }
    build_request(&parsed).map(Some).ok_or(MALFORMED)
}

/// The request with the whole address that is asked for; none if it is malformed, or does not name
/// the host, or more than one.
fn build_request(parsed: &httparse::Request<'_, '_>) -> Option<Request<Body>> {
    let mut headers = HeaderMap::new();
    for header in parsed.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_bytes(header.value).ok()?);
    }
    let mut uri = Uri::try_from(parsed.path?).ok()?.into_parts();
    if uri.authority.is_none() {
        let mut hosts = headers.get_all(HOST).iter();
        let (host, other) = (hosts.next()?, hosts.next());
        uri.authority =
            Some(Authority::try_from(host.as_bytes()).ok().filter(|_| other.is_none())?);
    }
    uri.scheme = Some(Scheme::HTTP);
    uri.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
    let mut request = Request::new(Body::empty());
    *request.method_mut() = Method::from_bytes(parsed.method?.as_bytes()).ok()?;
    *request.uri_mut() = Uri::from_parts(uri).ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// Writes an answer, after which the connection is closed.
///
/// # Errors
/// The client is too slow or went away.
pub(super) fn respond(to: &mut impl Write, answer: Response<Body>) -> io::Result<()> {
    let (parts, body) = answer.into_parts();
    let content = body.to_vec()?;
    let mut bytes = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
    for (name, value) in &parts.headers {
        bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let length = content.len();
    bytes.extend(format!("content-length: {length}\r\nconnection: close\r\n\r\n").into_bytes());
    bytes.extend(content);
    to.write_all(&bytes)
}

/// Ends a connection so that the client gets all that was written.
pub(super) fn farewell(stream: &TcpStream) {
    let rest = DeadlineStream { stream, deadline: Instant::now() + FAREWELL };
    if stream.shutdown(Shutdown::Write).is_ok() {
        // An error ends the connection as well.
        let _ = io::copy(&mut rest.take(FAREWELL_BYTES), &mut io::sink());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn read_request(head: &str) -> Result<(Method, String), NoRequest> {
        let request = request(&mut head.as_bytes())?;
        Ok((request.method().clone(), request.uri().to_string()))
    }

    #[test]
    fn a_request_is_its_method_and_the_whole_address() {
        let found = read_request("GET /run/1?a=b HTTP/1.1\r\nHost: db1:80\r\nCookie: x\r\n\r\n");
        assert_eq!(found, Ok((Method::GET, "http://db1:80/run/1?a=b".into())));
        let found = read_request("HEAD http://db1/x HTTP/1.0\r\n\r\n");
        assert_eq!(found, Ok((Method::HEAD, "http://db1/x".into())));
    }

    #[test]
    fn what_is_no_request_is_refused_and_nobody_answers_who_is_gone() {
        for malformed in [
            "no request\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        ] {
            assert_eq!(read_request(malformed), Err(MALFORMED), "{malformed:?}");
        }
        assert_eq!(read_request("GET / HTTP/1.1\r\nHost: a\r\n"), Err(NoRequest::Gone));
        let long = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(2 * MAX_HEAD_BYTES));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(MAX_HEADERS + 1));
        let whole = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(MAX_HEAD_BYTES));
        for large in [long, many, whole] {
            assert_eq!(read_request(&large), Err(MALFORMED));
        }
    }

    #[test]
    fn who_is_not_done_in_time_is_told_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let (stream, _) = listener.accept().unwrap();
        let mut late = DeadlineStream { stream: &stream, deadline: Instant::now() };
        let timeout = NoRequest::Refused(StatusCode::REQUEST_TIMEOUT);
        assert_eq!(request(&mut late).err(), Some(timeout));
        let late = late.write(b"x").unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn an_answer_tells_its_length_and_that_it_is_the_last() {
        let mut written = Vec::new();
        respond(&mut written, Response::new(Body::from("text"))).unwrap();
        let expected = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\ntext";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }
}
