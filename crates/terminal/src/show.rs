//! How things are shown: bars on a terminal, plain lines elsewhere, numbers that people can read.
//!
//! Progress goes to the error output and results to the output, so that a pipe gets results only. A
//! result that cannot be written ends the process; what is only said does not, nor does it change how
//! the process ends: a log may stand on a full disk.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often a plain line is written.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Progress towards a known end.
pub struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    next_line: Instant,
}

impl Progress {
    /// Progress towards `total`.
    pub fn new(total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            // The template is a constant that the library takes.
            let style = ProgressStyle::with_template("{elapsed:>4} {wide_bar} {pos}/{len} {msg}");
            bar.set_style(style.expect("the template is valid"));
            bar
        });
        Self { bar, total, next_line: Instant::now() }
    }

    /// Shows that `done` is done.
    pub fn show(&mut self, done: u64, message: &str) {
        match &self.bar {
            Some(bar) => {
                bar.set_position(done);
                bar.set_message(message.to_owned());
            }
            None if Instant::now() >= self.next_line => {
                self.next_line = Instant::now() + LINE_EVERY;
                say(&format!("{} of {} {message}", count(done), count(self.total)));
            }
            None => {}
        }
    }

    /// Takes the bar away.
    pub fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Says what happens now, if the error output can be written.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Tells on the output what a server that runs already goes on without, such as where it listens.
///
/// # Errors
/// The output cannot be written.
pub fn tell(lines: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{lines}")?;
    out.flush()
}

/// Prints a result as one line of JSON.
///
/// # Panics
/// If the output cannot be written: nobody has the result then.
pub fn print_json(value: &impl serde::Serialize) {
    println!("{}", json(value));
}

/// A result as JSON.
#[must_use]
pub fn json(value: &impl serde::Serialize) -> String {
    // What is printed has text keys and finite numbers only, which always can be written.
    serde_json::to_string(value).expect("results can be written as JSON")
}

/// A number with its thousands apart: `20,000`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in milliseconds, with the digits that matter: `0.42 ms`, `12.3 ms`, `1,240 ms`.
pub fn ms(time_ms: f64) -> String {
    if time_ms >= 100.0 {
        format!("{} ms", count(time_ms.round() as u64))
    } else if time_ms >= 10.0 {
        format!("{time_ms:.1} ms")
    } else {
        format!("{time_ms:.2} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count(number), text);
        }
    }

    #[test]
    fn times_have_the_digits_that_matter() {
        for (time_ms, text) in [(0.417, "0.42 ms"), (12.34, "12.3 ms"), (1_240.4, "1,240 ms")] {
            assert_eq!(ms(time_ms), text);
        }
    }
}
