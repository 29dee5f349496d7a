//! Connections from an address of one's own, and what hostile clients send over them.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Connects from `source`.
///
/// # Errors
/// What the system says.
pub(super) async fn connect_from(source: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// The same with the smallest buffer for what comes in that there is.
///
/// # Errors
/// What the system says.
pub(super) async fn connect_narrow(source: Ipv4Addr, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4_096)?;
    socket.bind((source, 0).into())?;
    socket.connect(to).await
}

/// Sends one request over a connection of its own; says the status.
///
/// # Errors
/// What the system says, or an answer that is not HTTP.
pub(super) async fn ask_from(source: Ipv4Addr, to: SocketAddr, request: &[u8]) -> io::Result<u16> {
    let mut stream = connect_from(source, to).await?;
    stream.write_all(request).await?;
    status(&mut stream).await
}

/// The status of the next answer; what follows is left in the socket.
///
/// # Errors
/// What the system says, or an answer that is not HTTP.
pub(super) async fn status(stream: &mut TcpStream) -> io::Result<u16> {
    let mut line = [0; 12];
    stream.read_exact(&mut line).await?;
    let code = std::str::from_utf8(&line[9..]).ok().and_then(|code| code.parse().ok());
    code.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Whether the other end has closed the connection, without waiting.
pub(super) fn is_closed(stream: &TcpStream) -> bool {
    let mut bytes = [0; 512];
    loop {
        match stream.try_read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
    }
}
