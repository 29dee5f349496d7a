//! Pebble.

use onrush_testkit::{Pebble, PebbleOptions, need};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn authority_comes_back_where_it_was_and_leaves_nothing_behind() {
    let Some(mut pebble) = need(Pebble::start(PebbleOptions::default())) else { return };
    let address = pebble.directory();
    let address = address.trim_start_matches("https://localhost:").trim_end_matches("/dir");
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, address.parse().unwrap()));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    pebble.look_at(listener.local_addr().unwrap());
    assert_eq!(pebble.looks(), 0, "nobody asked it to");
    TcpStream::connect(address).unwrap();
    pebble.stop();
    assert!(TcpStream::connect(address).is_err());
    pebble.restart().unwrap();
    TcpStream::connect(address).unwrap();

    let (pids, folder) = (pebble.pids(), pebble.folder().to_owned());
    assert!(pids.into_iter().all(runs) && folder.exists());
    drop(pebble);
    assert!(!pids.into_iter().any(runs));
    assert!(!folder.exists());
}
