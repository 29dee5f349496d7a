//! Kafka.

use onrush_testkit::{Kafka, need};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

fn runs(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Asks which versions of the protocol the broker speaks; the answer is the error code.
fn api_versions(port: u16) -> io::Result<i16> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    // Length; ApiVersions is request 18 in version 0; correlation 7; no client's name.
    stream.write_all(&[0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff])?;
    let mut answer = [0; 10];
    stream.read_exact(&mut answer)?;
    assert_eq!(answer[4..8], [0, 0, 0, 7]);
    Ok(i16::from_be_bytes([answer[8], answer[9]]))
}

#[test]
fn broker_answers_comes_back_and_leaves_nothing_behind() {
    let Some(mut kafka) = need(Kafka::start()) else { return };
    assert_eq!(api_versions(kafka.port()).unwrap(), 0);

    kafka.stop();
    assert!(api_versions(kafka.port()).is_err());
    kafka.restart().unwrap();
    assert_eq!(api_versions(kafka.port()).unwrap(), 0);

    kafka.kill();
    assert!(api_versions(kafka.port()).is_err());
    kafka.restart().unwrap();
    assert_eq!(api_versions(kafka.port()).unwrap(), 0);

    let (pid, folder) = (kafka.pid(), kafka.folder().to_owned());
    assert!(runs(pid) && folder.exists());
    drop(kafka);
    assert!(!runs(pid));
    assert!(!folder.exists());
}
