//! A look into Redis behind the engine's back, for tests only.

use super::client::{Client, ClientError, Servers};
use super::head::Head;
use super::keys::{self, EventKeys};
use super::layout::Layout;
use super::rows::SeatSpecs;
use super::scripts::Script;
use super::wire::{Call, ListOfEntrants, Outcome, Setback, call, outcome};
use super::{refusal, scripts, wire};
use crate::engine::Seq;
use onrush_core::ids::EventId;
use onrush_core::snapshot::SnapshotRow;
use onrush_core::{Change, Command, Event, Refusal, Reply, Time};
use onrush_tls::Certificates;

/// How long it may take until Redis answers: a test judges what is there, not how soon it is told.
const ANSWER_MS: u32 = 60_000;

/// One event in Redis, as a test sees it.
pub struct Probe {
    client: Client,
    event: EventId,
    keys: EventKeys,
    head: Head,
}

/// A script in both ways in which Redis is given it.
#[derive(Clone, Copy, Debug)]
pub struct GivenScript {
    /// Its path below `lua/`, without `.lua`.
    pub name: &'static str,
    /// What it is called as a function.
    pub function: &'static str,
    /// The library that has the function.
    pub library: &'static str,
    /// The text's SHA-1.
    pub sha: &'static str,
    /// It without a function.
    pub text: &'static str,
}

fn told(error: ClientError) -> String {
    error.to_string()
}

impl Probe {
    /// Connects; no event is looked at yet.
    ///
    /// # Errors
    /// If nobody answers.
    pub async fn open(urls: &[String], is_cluster: bool) -> Result<Self, String> {
        let certificates = Certificates::default();
        let sentinels = Vec::new();
        let servers = Servers { urls: urls.to_vec(), is_cluster, sentinels, certificates };
        let client = Client::open(&servers, 1, ANSWER_MS).await.map_err(told)?;
        let event: EventId = "nothing".parse().map_err(|_| "an id".to_owned())?;
        Ok(Self { client, keys: EventKeys::new(&event), event, head: Head::default() })
    }

    /// The script of each command and question.
    ///
    /// # Panics
    /// If one of them is no function.
    #[must_use]
    pub fn scripts() -> Vec<GivenScript> {
        let given = |script: &'static Script| {
            let library = script.library.as_ref().expect("each is a function, too");
            GivenScript {
                name: script.name,
                function: &library.name,
                library: &library.text,
                sha: &script.sha,
                text: &script.text,
            }
        };
        scripts::all().into_iter().map(given).collect()
    }

    /// Looks at this event from now on.
    pub fn look_at(&mut self, event: EventId) {
        self.keys = EventKeys::new(&event);
        self.event = event;
        self.head = Head::default();
    }

    /// The event's key of this name.
    #[must_use]
    pub fn key(&self, part: &str) -> String {
        format!("onrush:{{{}}}:{part}", self.event)
    }

    /// Runs one command, as it is, and gives its text or texts.
    ///
    /// # Errors
    /// What Redis says.
    pub async fn raw(&self, words: &[&str]) -> Result<redis::Value, String> {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        self.client.command(&command).await.map_err(told)
    }

    /// Sets the event's clock.
    ///
    /// # Errors
    /// What Redis says.
    pub async fn set_clock(&self, clock: Time) -> Result<(), String> {
        let (key, clock) = (self.key("meta"), clock.to_string());
        self.raw(&["HSET", &key, "clock", &clock]).await.map(drop)
    }

    /// Runs a command's script once.
    ///
    /// # Errors
    /// What Redis says, or an answer other than a decision or a refusal.
    pub async fn run(
        &mut self,
        command: &Command,
        request: &str,
    ) -> Result<Result<(Time, Reply), Refusal>, String> {
        let mut call = call(command);
        if let Command::Join { user, .. }
        | Command::Leave { user, .. }
        | Command::RemoveVisitor { user, .. } = command
        {
            call.keys.push(keys::places_of(&self.event, user));
        }
        match self.call(&call, request).await? {
            Outcome::Ok { at, .. } if matches!(command, Command::Tick) => Ok(Ok((at, Reply::Done))),
            Outcome::Ok { at, reply, .. } => Ok(Ok((at, wire::read_json(&reply)?))),
            Outcome::No { refusal, .. } => Ok(Err(refusal)),
            other @ Outcome::Other(_) => Err(format!("{command:?} is answered by {other:?}")),
        }
    }

    async fn call(&mut self, call: &Call, request: &str) -> Result<Outcome, String> {
        let complaint = call.complaint.as_ref().map(refusal::write).unwrap_or_default();
        let (seq, epoch) = (self.head.seq.0.to_string(), self.head.epoch.to_string());
        let mark = self.head.mark_text();
        let begin = [seq.as_str(), &epoch, &mark, request, &complaint];
        let args: Vec<&str> =
            begin.into_iter().chain(call.args.iter().map(String::as_str)).collect();
        let keys: Vec<&str> = self.keys.all().chain(call.keys.iter().map(String::as_str)).collect();
        let answer =
            self.client.script(call.script, &keys, &args, call.is_long).await.map_err(told)?;
        let outcome = outcome(answer)?;
        if let Outcome::Ok { head, .. } | Outcome::No { head, .. } = &outcome {
            self.head = *head;
        }
        Ok(outcome)
    }

    /// Asks to close the prequeue as a node does that has no list yet, and has joins and leaves barred
    /// for so long.
    ///
    /// # Errors
    /// What Redis says, or an answer other than that the list is wanted.
    pub async fn bar_joins(&mut self, bar_ms: u32) -> Result<(), String> {
        let list = ListOfEntrants { bar_ms, ..ListOfEntrants::default() };
        let answer = self.call(&wire::close_prequeue(&list), "").await?;
        if matches!(answer, Outcome::Other(Setback::Entrants { .. })) {
            Ok(())
        } else {
            Err(format!("{answer:?} does not ask for the list"))
        }
    }

    /// When the event is due; the beginning of time if it is whatever the clock says.
    ///
    /// # Errors
    /// What Redis says, or an answer that a tick does not give.
    pub async fn next_deadline(&mut self) -> Result<Option<Time>, String> {
        let tick = wire::tick(0, &ListOfEntrants::default());
        match self.call(&tick, "").await? {
            Outcome::Ok { reply, .. } => {
                let body: serde_json::Value = wire::read_json(&reply)?;
                Ok(body["ticked"]["next"].as_i64().map(Time))
            }
            Outcome::No {
                refusal: Refusal::EventNotFound | Refusal::EventArchived { .. }, ..
            } => Ok(None),
            other @ (Outcome::No { .. } | Outcome::Other(_)) => {
                Err(format!("a tick is answered by {other:?}"))
            }
        }
    }

    /// All keys whose names match.
    ///
    /// # Errors
    /// What Redis says.
    pub async fn keys(&self, pattern: &str) -> Result<Vec<String>, String> {
        let answer = self.raw(&["KEYS", pattern]).await?;
        redis::from_redis_value(answer).map_err(|error| error.to_string())
    }

    /// The event's decisions after this one: number, time, changes.
    ///
    /// # Errors
    /// What Redis says, or what cannot be read.
    pub async fn feed(&self, after: Seq) -> Result<Vec<(Seq, Time, Vec<Change>)>, String> {
        let (key, from) = (self.key("feed"), format!("({}-0", after.0));
        let answer = self.raw(&["XRANGE", &key, &from, "+"]).await?;
        let entries: Vec<(String, Vec<String>)> =
            redis::from_redis_value(answer).map_err(|error| error.to_string())?;
        let read = |(id, fields): (String, Vec<String>)| {
            let number = id.split('-').next().unwrap_or_default();
            let seq = number.parse().map_err(|_| format!("{id} is no number"))?;
            let field = |name: &str| {
                let found = fields.chunks(2).find(|pair| pair[0] == name);
                found.map(|pair| pair[1].as_str()).ok_or_else(|| format!("{id} has no {name}"))
            };
            let at = field("at")?.parse().map_err(|_| format!("{id} has no time"))?;
            Ok((Seq(seq), Time(at), wire::read_json(field("c")?)?))
        };
        entries.into_iter().map(read).collect()
    }

    /// The event's state as the rows of a snapshot; nothing if it does not exist.
    ///
    /// # Errors
    /// What Redis says, or what cannot be read.
    pub async fn rows(&self, seats: &SeatSpecs) -> Result<Vec<SnapshotRow>, String> {
        let layout = Layout::read(&self.client, &self.keys).await?;
        layout.map_or_else(|| Ok(Vec::new()), |layout| layout.rows(seats))
    }

    /// Where the counts, indexes and deadlines in Redis are not those of this state.
    ///
    /// # Errors
    /// What Redis says.
    pub async fn differences(&self, event: &Event) -> Result<Vec<String>, String> {
        let layout = Layout::read(&self.client, &self.keys).await?;
        Ok(layout.map_or_else(Vec::new, |layout| layout.differences(&Layout::of(event))))
    }

    /// Writes this state, in place of whatever is there, as if it had been rebuilt.
    ///
    /// # Errors
    /// What Redis says.
    pub async fn fill(&mut self, event: &Event, clock: Time) -> Result<(), String> {
        let mut pipe = redis::pipe();
        let mut unlink = redis::cmd("UNLINK");
        for key in self.keys.all() {
            unlink.arg(key);
        }
        pipe.add_command(unlink);
        let layout = Layout::of(event);
        let head = Head { epoch: self.head.epoch + 1, ..self.head };
        for command in layout.commands(&self.event, &self.keys) {
            pipe.add_command(of_words(&command));
        }
        pipe.add_command(of_words(&layout.meta_command(&self.keys, head, clock)));
        self.client.pipeline(&pipe).await.map_err(told)?;
        self.head = head;
        self.set_clock(clock).await
    }
}

fn of_words(words: &[String]) -> redis::Cmd {
    let mut command = redis::cmd(&words[0]);
    command.arg(&words[1..]);
    command
}
