//! A server in a folder of its own, whichever it is: started, ended and started again.

use crate::need::NotStarted;
use crate::server::{Server, folder};
use rustix::process::Signal;
use std::path::Path;
use tempfile::TempDir;

/// How often a server is started anew because somebody else took its port in the meantime.
const PORT_ATTEMPTS: usize = 5;

/// What only one kind of server has: its settings, its programs, and when it is ready.
pub trait Service: Sized {
    /// What its log says when somebody else has its port.
    const PORT_TAKEN: &[&str] = &["Address already in use"];
    /// What asks it to end in order.
    const STOP: Signal = Signal::TERM;
    /// What ends it when nobody wants what it has any more.
    const DROP: Signal = Signal::TERM;

    /// Starts it in its folder; it answers when this returns.
    ///
    /// # Errors
    ///
    /// If it does not start.
    fn spawn(&self, folder: &Path) -> Result<Server, NotStarted>;
}

/// A server in a folder of its own.
#[derive(Debug)]
pub struct Running<S> {
    // Ended before what it needs, and both before the folder goes.
    pub(crate) server: Server,
    pub(crate) service: S,
    folder: TempDir,
}

impl<S: Service> Running<S> {
    /// Starts what is prepared in a new folder; prepares another if somebody took one of its ports.
    pub(crate) fn begin(
        prepare: impl Fn(&Path) -> Result<S, NotStarted>,
    ) -> Result<Self, NotStarted> {
        let mut attempt = 1;
        loop {
            let folder = folder()?;
            let path = folder.path();
            let started = prepare(path).and_then(|service| Ok((spawn(&service, path)?, service)));
            match started {
                Ok((server, service)) => return Ok(Self { server, service, folder }),
                Err(NotStarted::Failed(why))
                    if S::PORT_TAKEN.iter().any(|said| why.contains(said))
                        && attempt < PORT_ATTEMPTS =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Its folder, with its settings, its data and its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it in order: connections are closed, what is durable is kept.
    pub fn stop(&mut self) {
        self.server.end(S::STOP);
    }

    /// SIGKILL: connections break, nothing more is written; returns when all its processes are gone.
    pub fn kill(&mut self) {
        self.server.kill();
    }

    /// Starts it again on the same ports, with what is in its folder; ends it first, in order, if it
    /// runs.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn restart(&mut self) -> Result<(), NotStarted> {
        self.stop();
        self.server = spawn(&self.service, self.folder.path())?;
        Ok(())
    }

    /// SIGSTOP: connections stay open and nothing is answered. PostgreSQL only takes no new ones.
    pub fn pause(&mut self) {
        self.server.pause();
    }

    /// SIGCONT: goes on after [`Running::pause`].
    pub fn resume(&mut self) {
        self.server.signal(Signal::CONT);
    }
}

fn spawn<S: Service>(service: &S, folder: &Path) -> Result<Server, NotStarted> {
    let mut server = service.spawn(folder)?;
    server.at_drop = S::DROP;
    Ok(server)
}
