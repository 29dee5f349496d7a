//! Ports for servers.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, TcpListener};

/// Below the range that systems take outgoing connections' ports from.
///
/// Port 0 would give one from that range, and then a client that keeps on calling a server which is
/// down can be given the server's own port, be connected to itself, and keep the server from coming
/// back.
const FIRST: u64 = 10_240;
const LAST: u64 = 32_767;

/// A port on the loopback address that nobody listens on just now; whoever binds it must be ready
/// to find it taken.
pub(crate) fn free_port() -> u16 {
    loop {
        let random = RandomState::new().build_hasher().finish();
        let port = u16::try_from(FIRST + random % (LAST - FIRST + 1)).expect("it is below LAST");
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
