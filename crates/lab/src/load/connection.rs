//! One keep-alive connection.

use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// The largest answer we take: a seat map of a large house is far below it.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// A request as it goes over the wire.
#[derive(Clone)]
pub(crate) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request without a body.
    pub(crate) fn to(method: &str, path: &str) -> RequestHead {
        let mut head = String::with_capacity(256);
        // Writing to a string cannot fail.
        let _ = write!(head, "{method} {path} HTTP/1.1\r\nhost: onrush\r\n");
        RequestHead { head }
    }

    /// The bytes to send.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A request that still gets headers.
pub(crate) struct RequestHead {
    head: String,
}

impl RequestHead {
    /// With a bearer token.
    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", format_args!("Bearer {token}"))
    }

    /// With the key that makes a repetition harmless.
    pub(crate) fn key(self, key: &str) -> Self {
        self.header("idempotency-key", format_args!("{key}"))
    }

    /// With one more header.
    pub(crate) fn header(mut self, name: &str, value: std::fmt::Arguments<'_>) -> Self {
        let _ = write!(self.head, "{name}: {value}\r\n");
        self
    }

    /// Ready, without a body.
    pub(crate) fn bare(mut self) -> Request {
        self.head.push_str("content-length: 0\r\n\r\n");
        Request { bytes: self.head.into_bytes() }
    }

    /// Ready, with a form as a page sends it, for an answer in JSON.
    pub(crate) fn form(mut self, body: &str) -> Request {
        let length = body.len();
        let _ = write!(
            self.head,
            "accept: application/json\r\ncontent-type: application/x-www-form-urlencoded\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        Request { bytes: self.head.into_bytes() }
    }

    /// Ready, with a JSON body.
    pub(crate) fn json(mut self, body: &str) -> Request {
        let length = body.len();
        let _ = write!(
            self.head,
            "content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        Request { bytes: self.head.into_bytes() }
    }
}

/// One answer, in the connection's own buffer.
pub(crate) struct Answer<'a> {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The body.
    pub(crate) body: &'a [u8],
    head: &'a [u8],
}

impl Answer<'_> {
    /// After how many seconds to come back, if the answer says so.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        number_in(self.head, "retry-after")
    }
}

/// One connection, one request at a time.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) async fn open(address: SocketAddr) -> io::Result<Self> {
        Self::over(TcpStream::connect(address).await?)
    }

    /// Connects from an address of this machine: all of 127.0.0.0/8 are.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) async fn open_from(source: Ipv4Addr, address: SocketAddr) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((source, 0).into())?;
        Self::over(socket.connect(address).await?)
    }

    fn over(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(2048) })
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Errors
    /// The connection broke, or the answer is not one of ours. The connection is of no use then.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let (status, start, length) = loop {
            if let Some(head) = parse_head(&self.buffer)? {
                break head;
            }
            self.read_more().await?;
        };
        while self.buffer.len() < start + length {
            self.read_more().await?;
        }
        let (head, rest) = self.buffer.split_at(start);
        Ok(Answer { status, body: &rest[..length], head })
    }

    async fn read_more(&mut self) -> io::Result<()> {
        if self.buffer.len() > MAX_ANSWER_BYTES {
            return Err(malformed("the answer is too long"));
        }
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

/// Status, where the body starts, and how long it is; `None` while the head is incomplete.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(u16, usize, usize)>> {
    let Some((status, start)) = super::stream::status_line(bytes)? else { return Ok(None) };
    let length = number_in(&bytes[..start], "content-length");
    // 204 and 304 have no body and no length.
    let length = match (status, length) {
        (_, Some(length)) => length,
        (204 | 304, None) => 0,
        _ => return Err(malformed("the answer has no content-length")),
    };
    Ok(Some((status, start, length)))
}

/// The number that a header of this name has.
fn number_in<N: FromStr>(head: &[u8], wanted: &str) -> Option<N> {
    head.split(|&b| b == b'\n').find_map(|line| {
        let colon = line.iter().position(|&b| b == b':')?;
        let (name, value) = line.split_at(colon);
        let value = || std::str::from_utf8(&value[1..]).ok()?.trim().parse().ok();
        name.eq_ignore_ascii_case(wanted.as_bytes()).then(value)?
    })
}

/// An answer that is not HTTP as we speak it.
pub(super) fn malformed(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_read_only_when_it_is_complete() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        assert_eq!(parse_head(&whole[..20]).ok().flatten(), None);
        assert_eq!(parse_head(whole).ok().flatten(), Some((201, whole.len() - 2, 2)));
    }

    #[test]
    fn answer_without_a_length_is_an_error() {
        assert!(parse_head(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(parse_head(b"SMTP ready to go\r\n\r\n").is_err());
    }
}
