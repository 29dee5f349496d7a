//! A server as a process: started, waited for, signalled and ended by its own process id.

use crate::need::NotStarted;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long a server may take to end after SIGTERM before it is killed.
const END_WITHIN: Duration = Duration::from_secs(60);

/// How much of a log an error carries.
const LOG_TAIL_LINES: usize = 40;

/// Looks at a condition again and again until it holds.
///
/// # Errors
///
/// If it does not hold within the limit; the text says what did not come.
pub fn wait_until(
    what: &str,
    limit: Duration,
    mut holds: impl FnMut() -> bool,
) -> Result<(), NotStarted> {
    let until = Instant::now() + limit;
    while !holds() {
        if Instant::now() >= until {
            return Err(NotStarted::Failed(format!("{what}: not within {} s", limit.as_secs())));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

/// A temporary folder for a server.
pub(crate) fn folder() -> Result<tempfile::TempDir, NotStarted> {
    tempfile::Builder::new()
        .prefix("onrush-testkit-")
        .tempdir()
        .map_err(|error| NotStarted::failed("a temporary folder", error))
}

/// The program of that name on the search path or in one of the folders.
pub(crate) fn program(name: &str, folders: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<_> = std::env::split_paths(&path).collect();
    places.extend(folders.iter().map(PathBuf::from));
    places.into_iter().map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// A command that ends when this process ends, however it ends, and runs as another user if one is named.
///
/// Without `setpriv` it is the plain command.
pub(crate) fn tied_command(program: &Path, as_user: Option<&User>) -> Command {
    static SETPRIV: LazyLock<Option<PathBuf>> = LazyLock::new(|| self::program("setpriv", &[]));
    let Some(setpriv) = &*SETPRIV else { return Command::new(program) };
    let mut command = Command::new(setpriv);
    if let Some(user) = as_user {
        command.arg(format!("--reuid={}", user.uid)).arg(format!("--regid={}", user.gid));
        command.arg("--clear-groups");
    }
    // Asked for last, because becoming another user forgets it.
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Another user of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// A running server, and the file that its output goes to.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: PathBuf,
    /// How long its log was before it started.
    log_before: usize,
    what: &'static str,
    /// What ends it when it is dropped.
    pub(crate) at_drop: Signal,
}

impl Server {
    /// Starts it with its output going to the end of a file.
    pub(crate) fn spawn(
        what: &'static str,
        mut command: Command,
        log: PathBuf,
    ) -> Result<Self, NotStarted> {
        let failed = |error: io::Error| NotStarted::failed(what, error);
        let out = File::options().create(true).append(true).open(&log).map_err(failed)?;
        let log_before = fs::read(&log).map_or(0, |log| log.len());
        command.stdin(Stdio::null()).stderr(out.try_clone().map_err(failed)?).stdout(out);
        let child = spawn(command).map_err(failed)?;
        Ok(Self { child, log, log_before, what, at_drop: Signal::TERM })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written so far, over all its starts.
    pub(crate) fn log(&self) -> String {
        fs::read(&self.log).map_or_else(
            |error| format!("(its log cannot be read: {error})"),
            |log| String::from_utf8_lossy(&log).into_owned(),
        )
    }

    /// Whether it has written this since it was started.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.log().get(self.log_before..).unwrap_or_default().contains(text)
    }

    /// Whether it has ended by itself or by a signal.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// An error with the end of its log.
    pub(crate) fn failure(&self, why: impl std::fmt::Display) -> NotStarted {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n");
        NotStarted::failed(self.what, format!("{why}. The end of its log:\n{tail}"))
    }

    /// Waits until it answers; ends early when it has ended.
    pub(crate) fn ready(
        mut self,
        limit: Duration,
        answers: impl Fn(&Self) -> bool,
    ) -> Result<Self, NotStarted> {
        let until = Instant::now() + limit;
        loop {
            if answers(&self) {
                return Ok(self);
            }
            if self.has_ended() {
                return Err(self.failure("it ended"));
            }
            if Instant::now() >= until {
                return Err(self.failure(format!("no answer within {} s", limit.as_secs())));
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Sends a signal, unless it has ended.
    pub(crate) fn signal(&mut self, signal: Signal) {
        // A child that has not been waited for keeps its id, so this reaches nobody else.
        if !self.has_ended() {
            kill_process(Pid::from_child(&self.child), signal).expect("a child can be signalled");
        }
    }

    /// SIGSTOP, and waits until it has taken effect where that can be seen.
    pub(crate) fn pause(&mut self) {
        self.signal(Signal::STOP);
        // No answer: there is no `/proc`, or it has ended.
        let pid = self.pid();
        let stopped = || stat(pid).is_none_or(|(state, _)| state == "T" || state == "Z");
        wait_until("a stopped process", END_WITHIN, stopped).expect("SIGSTOP cannot be ignored");
    }

    /// SIGKILL, and waits for its end and that of the processes it had started.
    pub(crate) fn kill(&mut self) {
        // Stopped, it starts no more of them while they are listed.
        self.pause();
        let children = children_of(self.pid());
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a child can be waited for");
        // They end by themselves when they find out.
        let gone = wait_until("its processes end", END_WITHIN, || !children.iter().any(is_alive));
        if let Err(error) = gone
            && !thread::panicking()
        {
            panic!("{}", self.failure(error));
        }
    }

    /// SIGTERM or whatever else asks it to end, then SIGKILL if it takes too long.
    pub(crate) fn end(&mut self, signal: Signal) {
        self.signal(signal);
        // One that is stopped would not hear.
        self.signal(Signal::CONT);
        let until = Instant::now() + END_WITHIN;
        while !self.has_ended() {
            if Instant::now() >= until {
                return self.kill();
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        match self.at_drop {
            Signal::KILL => self.kill(),
            signal => self.end(signal),
        }
    }
}

/// The processes that a process has started. None where `/proc` does not tell.
fn children_of(pid: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|child| stat(*child).is_some_and(|(_, parent)| parent == pid))
        .collect()
}

fn is_alive(pid: &u32) -> bool {
    // One that has ended and that nobody has waited for is a Z.
    stat(*pid).is_some_and(|(state, _)| state != "Z" && state != "X")
}

/// The state of a process and its parent.
fn stat(pid: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before them is in brackets and may have anything in it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// Starts a process from a thread that never ends.
///
/// The signal that `setpriv` arranges comes when the *thread* that started the process ends, and a
/// test's thread ends before the binary does, with a server that others may still use.
fn spawn(command: Command) -> io::Result<Child> {
    type Order = (Command, mpsc::Sender<io::Result<Child>>);
    static SPAWNER: LazyLock<Mutex<mpsc::Sender<Order>>> = LazyLock::new(|| {
        let (orders, receiver) = mpsc::channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in receiver {
                // Whoever asked waits for it.
                let _ = answer.send(command.spawn());
            }
        });
        Mutex::new(orders)
    });
    let (answer, started) = mpsc::channel();
    SPAWNER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((command, answer))
        .expect("the thread does not end");
    started.recv().expect("the thread does not end")
}
