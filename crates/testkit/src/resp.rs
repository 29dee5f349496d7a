//! As much of Redis's protocol as starting servers needs.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);

/// Sends one command to the server on a port of the loopback address and returns what it says,
/// lines for an array.
pub(crate) fn command(port: u16, parts: &[&str]) -> io::Result<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let mut request = format!("*{}\r\n", parts.len());
    for part in parts {
        request.push_str(&format!("${}\r\n{part}\r\n", part.len()));
    }
    (&stream).write_all(request.as_bytes())?;
    reply(&mut BufReader::new(&stream))
}

fn reply(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    let line = line.trim_end();
    let broken = || io::Error::new(io::ErrorKind::InvalidData, format!("not a reply: {line:?}"));
    let Some((kind, rest)) = line.split_at_checked(1) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    match kind {
        "+" | ":" => Ok(rest.to_owned()),
        "-" => Err(io::Error::other(rest.to_owned())),
        "$" => {
            let Ok(length) = rest.parse::<usize>() else { return Ok(String::new()) };
            let mut text = vec![0; length + 2];
            from.read_exact(&mut text)?;
            text.truncate(length);
            String::from_utf8(text).map_err(|_| broken())
        }
        "*" => {
            let items = rest.parse::<usize>().map_err(|_| broken())?;
            let items = (0..items).map(|_| reply(from)).collect::<io::Result<Vec<_>>>()?;
            Ok(items.join("\n"))
        }
        _ => Err(broken()),
    }
}

/// The value of `name:value` in what INFO or CLUSTER INFO say.
pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}
