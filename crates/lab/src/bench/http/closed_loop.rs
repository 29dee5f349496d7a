//! A closed loop: each connection sends its next request when the last one is answered.

use crate::load::{Connection, Latency};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// What a round gave.
pub(crate) struct Round {
    /// Answers a second.
    pub(crate) per_s: f64,
    /// How long they took.
    pub(crate) latency: Latency,
}

/// A request with a part that changes each time: the same bytes, some hexadecimal digits patched.
pub(crate) struct Template {
    bytes: Vec<u8>,
    at: usize,
    next: u64,
}

/// How a template marks the digits that change.
pub(crate) const DIGITS: &str = "################";

impl Template {
    /// A request whose [`DIGITS`] count up from `first`. Without any, it is the same each time.
    pub(crate) fn new(bytes: &[u8], first: u64) -> Self {
        let digits = DIGITS.as_bytes();
        let at = bytes.windows(digits.len()).position(|w| w == digits).unwrap_or(bytes.len());
        Self { bytes: bytes.to_vec(), at, next: first }
    }

    pub(crate) fn next(&mut self) -> &[u8] {
        let number = self.next;
        self.next += 1;
        for (i, byte) in self.bytes[self.at..].iter_mut().take(DIGITS.len()).enumerate() {
            *byte = b"0123456789abcdef"[(number >> (60 - 4 * i)) as usize & 15];
        }
        &self.bytes
    }
}

/// Runs one round: every connection has its own list of templates, which it goes through again and again.
///
/// # Errors
/// A connection broke, or something was not accepted.
pub(crate) async fn round(
    address: SocketAddr,
    connections: Vec<Vec<Template>>,
    warm_up: Duration,
    time: Duration,
) -> Result<(Round, Vec<Vec<Template>>), String> {
    let from = Instant::now() + warm_up;
    let until = from + time;
    let mut tasks = JoinSet::new();
    for templates in connections {
        tasks.spawn(drive(address, templates, from, until));
    }
    let (mut latency, mut back) = (Latency::new(), Vec::new());
    while let Some(done) = tasks.join_next().await {
        let (times, templates) = done.map_err(|error| error.to_string())??;
        times.into_iter().for_each(|us| latency.record(Duration::from_micros(us.into())));
        back.push(templates);
    }
    let per_s = latency.count() as f64 / time.as_secs_f64();
    Ok((Round { per_s, latency }, back))
}

async fn drive(
    address: SocketAddr,
    mut templates: Vec<Template>,
    from: Instant,
    until: Instant,
) -> Result<(Vec<u32>, Vec<Template>), String> {
    let mut connection = Connection::open(address).await.map_err(|error| error.to_string())?;
    let mut times = Vec::with_capacity(16_384);
    let mut which = 0;
    let mut asked = Instant::now();
    loop {
        let request = templates[which].next();
        let answer = connection.exchange(request).await.map_err(|error| error.to_string())?;
        if !(200..300).contains(&answer.status) {
            let body = String::from_utf8_lossy(answer.body);
            return Err(format!("status {}: {body}", answer.status));
        }
        let answered = Instant::now();
        if answered >= until {
            return Ok((times, templates));
        }
        if answered >= from {
            times.push(u32::try_from((answered - asked).as_micros()).unwrap_or(u32::MAX));
        }
        asked = answered;
        which = (which + 1) % templates.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_counts_up_in_place() {
        let mut template = Template::new(b"key: ################\r\n", 0xfe);
        assert_eq!(template.next(), b"key: 00000000000000fe\r\n");
        assert_eq!(template.next(), b"key: 00000000000000ff\r\n");
        assert_eq!(template.next(), b"key: 0000000000000100\r\n");
        assert_eq!(Template::new(b"the same", 7).next(), b"the same");
    }
}
