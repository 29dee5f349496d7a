//! A reader of server-sent events.

use super::connection::{Request, malformed};
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest message we take.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// An open stream of server-sent events.
pub(crate) struct EventStream {
    stream: TcpStream,
    /// Bytes as they came, still in chunks.
    wire: Vec<u8>,
    /// Text out of the chunks that is not a whole message yet.
    text: Vec<u8>,
    /// Bytes of the current chunk that are still to come.
    chunk_left: usize,
}

impl EventStream {
    /// Opens a stream.
    ///
    /// # Errors
    /// The connection broke, or the answer is not a stream.
    pub(crate) async fn open(address: SocketAddr, request: &Request) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(request.bytes()).await?;
        // Small on purpose: tens of thousands of these are open at a time.
        let mut wire = Vec::with_capacity(512);
        loop {
            if let Some((status, start)) = status_line(&wire)? {
                if status != 200 {
                    return Err(malformed("the stream was refused"));
                }
                wire.drain(..start);
                return Ok(Self { stream, wire, text: Vec::new(), chunk_left: 0 });
            }
            if stream.read_buf(&mut wire).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The JSON text of the next message; `None` at the end of the stream.
    ///
    /// # Errors
    /// The connection broke, or what came is not a stream of events.
    pub(crate) async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            self.unwrap_chunks()?;
            if let Some(data) = take_message(&mut self.text) {
                return Ok(Some(data));
            }
            if self.text.len() > MAX_MESSAGE_BYTES {
                return Err(malformed("the message is too long"));
            }
            if self.stream.read_buf(&mut self.wire).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Moves what is complete from `wire` to `text`.
    fn unwrap_chunks(&mut self) -> io::Result<()> {
        let mut used = 0;
        loop {
            let rest = &self.wire[used..];
            if self.chunk_left > 0 {
                let take = self.chunk_left.min(rest.len());
                self.text.extend_from_slice(&rest[..take]);
                self.chunk_left -= take;
                used += take;
                if self.chunk_left > 0 {
                    break;
                }
                continue;
            }
            // A chunk's size stands on a line of its own; the line end after a chunk's bytes gives
            // an empty one.
            let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else { break };
            let line = &rest[..end];
            if !line.is_empty() {
                let size = std::str::from_utf8(line)
                    .ok()
                    .and_then(|hex| usize::from_str_radix(hex, 16).ok());
                self.chunk_left = size.ok_or_else(|| malformed("a chunk has no size"))?;
            }
            used += end + 2;
        }
        self.wire.drain(..used);
        Ok(())
    }
}

/// The data of the first whole message in `text`, which is taken out of it. Comments are passed over.
fn take_message(text: &mut Vec<u8>) -> Option<String> {
    loop {
        let end = text.windows(2).position(|pair| pair == b"\n\n")?;
        let message = String::from_utf8_lossy(&text[..end]).into_owned();
        text.drain(..end + 2);
        let data: Vec<&str> = message
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(|data| data.strip_prefix(' ').unwrap_or(data))
            .collect();
        if !data.is_empty() {
            return Some(data.join("\n"));
        }
    }
}

/// The status and where the body starts; `None` while the head is incomplete.
///
/// # Errors
/// It is not HTTP.
pub(super) fn status_line(bytes: &[u8]) -> io::Result<Option<(u16, usize)>> {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return Ok(None);
    };
    bytes
        .strip_prefix(b"HTTP/1.1 ")
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok())
        .map(|status| Some((status, end + 4)))
        .ok_or_else(|| malformed("the answer is not HTTP/1.1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_is_taken_only_when_it_is_whole() {
        let mut text = b":\n\nevent: phase\ndata: {\"type\":".to_vec();
        assert_eq!(take_message(&mut text), None);
        text.extend_from_slice(b"\"phase\"}\n\ndata: 2\n");
        assert_eq!(take_message(&mut text).as_deref(), Some("{\"type\":\"phase\"}"));
        assert_eq!(take_message(&mut text), None);
    }
}
