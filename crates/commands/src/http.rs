//! One request over HTTP/1.1 and its answer, as far as a page on this machine needs them.
//!
//! A request is read up to its body, which is not needed, within bounds of size and time. Every answer closes the
//! connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The most bytes of a request: browsers send far less to ask for a page.
const MOST_BYTES: usize = 16 * 1024;
/// The most lines of a request.
const MOST_HEADERS: usize = 64;
/// The longest that a request may take to arrive, and that a browser may make a part of an answer wait.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a browser has to read an answer after its end.
const FAREWELL: Duration = Duration::from_millis(500);

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The host as the browser knows it, if the request names exactly one.
    pub(crate) host: Option<String>,
    /// The version of the page that the browser has.
    pub(crate) known: Option<String>,
}

/// How a request is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    NotModified,
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    HeadersTooLarge,
}

impl Status {
    /// Its number and name.
    fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::NotModified => "304 Not Modified",
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::HeadersTooLarge => "431 Request Header Fields Too Large",
        }
    }
}

/// A page, or a sentence on why there is none.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: Status,
    /// Such as `text/html`.
    pub(crate) kind: &'static str,
    pub(crate) body: &'a [u8],
    /// Names this version of the body.
    pub(crate) tag: Option<&'a str>,
}

impl<'a> Answer<'a> {
    /// `reason` in place of a page.
    pub(crate) fn refusal(status: Status, reason: &'a str) -> Self {
        Self {
            status,
            kind: "text/plain",
            body: reason.as_bytes(),
            tag: None,
        }
    }
}

/// Reads a request from `stream`; or says why it is none.
///
/// # Errors
/// What the system says if the connection ends or the request takes too long.
pub(crate) fn read(stream: &mut TcpStream) -> io::Result<Result<HttpRequest, Status>> {
    let end = Instant::now() + PATIENCE;
    let (mut bytes, mut part) = (Vec::new(), [0; 2048]);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&part[..count]);
        match parse(&bytes) {
            Ok(Some(request)) => return Ok(Ok(request)),
            Ok(None) if bytes.len() < MOST_BYTES => {}
            Ok(None) => return Ok(Err(Status::HeadersTooLarge)),
            Err(status) => return Ok(Err(status)),
        }
    }
}

/// The request in `bytes`; nothing if its end is yet to come.
fn parse(bytes: &[u8]) -> Result<Option<HttpRequest>, Status> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadersTooLarge),
        Err(_) => return Err(Status::BadRequest),
    }
    let all = |name: &str| {
        let named = parsed.headers.iter();
        let named = named.filter(|header| header.name.eq_ignore_ascii_case(name));
        let values = named.map(|header| String::from_utf8_lossy(header.value).into_owned());
        values.collect::<Vec<_>>()
    };
    let only = |name: &str| <[String; 1]>::try_from(all(name)).ok().map(|[value]| value);
    Ok(Some(HttpRequest {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        host: only("host"),
        known: only("if-none-match"),
    }))
}

/// Writes `answer` to `stream` and closes it; without its body if only the `head` was asked for.
///
/// # Errors
/// What the system says if the browser does not take it.
pub(crate) fn write(stream: &mut TcpStream, answer: &Answer<'_>, head: bool) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(answer.head().as_bytes())?;
    if !head && answer.status != Status::NotModified {
        stream.write_all(answer.body)?;
    }
    stream.shutdown(Shutdown::Write)?;
    // A connection that is closed with bytes unread would take the answer back.
    stream.set_read_timeout(Some(FAREWELL))?;
    io::copy(&mut stream.take(MOST_BYTES as u64), &mut io::sink()).map(drop)
}

impl Answer<'_> {
    fn head(&self) -> String {
        let mut head = format!(
            "HTTP/1.1 {}\r\nContent-Type: {}; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close\r\n\
             Content-Security-Policy: frame-ancestors 'none'\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\n",
            self.status.line(),
            self.kind
        );
        if self.status != Status::NotModified {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        if self.status == Status::MethodNotAllowed {
            head.push_str("Allow: GET, HEAD\r\n");
        }
        if let Some(tag) = self.tag {
            head.push_str(&format!("ETag: \"{tag}\"\r\n"));
        }
        head.push_str("\r\n");
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_known_once_it_is_whole() {
        let text = "GET / HTTP/1.1\r\nhost: localhost:6174\r\nIf-None-Match: \"1-2\"\r\n\r\n";
        for end in 0..text.len() {
            assert_eq!(parse(&text.as_bytes()[..end]), Ok(None), "{end}");
        }
        let request = HttpRequest {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            host: Some("localhost:6174".to_owned()),
            known: Some("\"1-2\"".to_owned()),
        };
        assert_eq!(parse(text.as_bytes()), Ok(Some(request)));
    }

    #[test]
    fn two_hosts_are_none() {
        let text = "GET / HTTP/1.1\r\nHost: localhost:6174\r\nHost: evil.example\r\n\r\n";
        assert_eq!(parse(text.as_bytes()).unwrap().unwrap().host, None);
    }

    #[test]
    fn what_is_no_request_or_too_many_lines_is_refused() {
        assert_eq!(parse(b"\x16\x03\x01\x02\0\x01"), Err(Status::BadRequest));
        let lines = "A: b\r\n".repeat(MOST_HEADERS + 1);
        let text = format!("GET / HTTP/1.1\r\n{lines}\r\n");
        assert_eq!(parse(text.as_bytes()), Err(Status::HeadersTooLarge));
    }
}
