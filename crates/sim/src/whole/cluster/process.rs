//! A child process that says where it listens: started, killed, stopped for a while.

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long a start may take; the other servers may be away meanwhile.
const STARTS_WITHIN: Duration = Duration::from_secs(30);

/// The line that the program says when it is ready.
#[derive(Deserialize)]
struct Ready {
    listen: SocketAddr,
}

/// A running child. It is killed when this is dropped, and ends with its input when this process
/// does.
struct Life {
    child: Child,
    address: SocketAddr,
    _input: Option<ChildStdin>,
    _output: BufReader<ChildStdout>,
}

/// A program that is run again and again.
pub(super) struct Process {
    program: PathBuf,
    arguments: Vec<String>,
    variables: Vec<(&'static str, String)>,
    log: PathBuf,
    life: Option<Life>,
}

impl Process {
    pub(super) fn new(
        program: &Path,
        arguments: Vec<String>,
        variables: Vec<(&'static str, String)>,
        log: PathBuf,
    ) -> Self {
        Self { program: program.to_owned(), arguments, variables, log, life: None }
    }

    /// The program, without the variables of whoever runs this.
    pub(super) fn command(program: &Path) -> Command {
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ONRUSH_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Starts it, and says where it listens.
    pub(super) async fn start(&mut self) -> Result<SocketAddr, String> {
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.map_err(|error| error.to_string())?;
        let mut command = Self::command(&self.program);
        command
            .args(&self.arguments)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let input = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut line = String::new();
        let read = timeout(STARTS_WITHIN, output.read_line(&mut line)).await;
        let ready = serde_json::from_str::<Ready>(&line);
        let (Ok(Ok(_)), Ok(Ready { listen: address })) = (read, ready) else {
            // It has said in its log why it is not ready.
            child.kill().await.map_err(|error| error.to_string())?;
            return Err(format!("it does not say where it listens: {line:?}"));
        };
        self.life = Some(Life { child, address, _input: input, _output: output });
        Ok(address)
    }

    /// Where it listens, if it runs.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.life.as_ref().map(|life| life.address)
    }

    /// How it ended, if it did so by itself.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.life.as_mut()?.child.try_wait().ok()??;
        self.life = None;
        Some(status.to_string())
    }

    /// Ends it as a power cut would.
    pub(super) async fn kill(&mut self) {
        if let Some(mut life) = self.life.take() {
            // If it has ended already there is nothing to do.
            let _ = life.child.kill().await;
        }
    }

    /// It stands still.
    pub(super) fn pause(&mut self) {
        self.signal(Signal::STOP);
    }

    /// It goes on.
    pub(super) fn resume(&mut self) {
        self.signal(Signal::CONT);
    }

    fn signal(&mut self, signal: Signal) {
        // A child that has ended and was waited for has no id any more, so this reaches nobody else.
        let id = self.life.as_ref().and_then(|life| life.child.id());
        let id = id.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(id) = id {
            kill_process(id, signal).expect("a child can be signalled");
        }
    }

    /// What it has said about its troubles, over all its lives.
    pub(super) fn log(&self) -> String {
        std::fs::read(&self.log)
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }
}
