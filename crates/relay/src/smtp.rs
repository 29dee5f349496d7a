//! A mail server that is spoken with over SMTP.
//!
//! A connection is used again only after a mail that the server took on it. One whose mail was given
//! up half-way still has answers to come: whoever used it next would take them for their own, and
//! could hold a mail for delivered that the server refused.
//!
//! Each step has as long as RFC 5321 (4.5.3.2) gives it. A server that looks into a mail for minutes may
//! have taken it all the while: whoever does not wait for its answer sends the mail again, and again.

use crate::mail::{Asked, Mail, MailServer, NotTaken, Sending};
use lettre::address::Envelope;
use lettre::transport::smtp::Error;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, Certificate, CertificateStore, Identity, TlsParameters,
};
use lettre::transport::smtp::commands::{self, Data, Rcpt};
use lettre::transport::smtp::extension::{
    ClientId, Extension, MailBodyParameter, MailParameter, ServerInfo,
};
use onrush_base::config::ConfigError;
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_tls::{Certificates, why_refused};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections to the server at a time.
pub(crate) const PARALLEL: usize = 4;
/// How long connecting, asking whether a connection is still there, or a goodbye may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a greeting with TLS and the login may take, and a command: five minutes.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(300);
/// How long it may take to write a mail, and until the server has taken it: three minutes and ten.
const CONTENT_TIMEOUT: Duration = Duration::from_secs(780);
/// How long a connection is kept for the next mail.
const KEEP: Duration = Duration::from_secs(60);
/// What the settings call the certificates.
const CERTIFICATES: &str = "mail.certificates";

/// The shop's mail server.
pub(crate) struct Smtp {
    host: String,
    port: u16,
    wire: Wire,
    credentials: Option<Credentials>,
    hello: ClientId,
    /// Connections whose last mail was taken, and when.
    idle: Mutex<Vec<(AsyncSmtpConnection, Instant)>>,
}

/// How a connection is kept from being read.
enum Wire {
    Plain,
    Starttls(TlsParameters),
    Tls(TlsParameters),
}

impl Smtp {
    /// The server of these settings. It is not connected to yet.
    ///
    /// # Errors
    /// The settings cannot be used.
    pub(crate) fn new(settings: &MailSettings) -> Result<Self, ConfigError> {
        let (host, port) = settings.server().map_err(ConfigError::new)?;
        let certificates = settings.certificates.load(CERTIFICATES).map_err(ConfigError::new)?;
        let tls = || parameters(host, &certificates);
        let wire = match settings.tls {
            Tls::Starttls => Wire::Starttls(tls()?),
            Tls::Tls => Wire::Tls(tls()?),
            Tls::None => Wire::Plain,
        };
        let credentials = settings.user.clone().zip(settings.password.as_ref());
        let credentials = credentials
            .map(|(user, password)| Credentials::new(user, password.reveal().to_owned()));
        let (host, hello, idle) = (host.to_owned(), ClientId::default(), Mutex::default());
        Ok(Self { host, port, wire, credentials, hello, idle })
    }

    async fn hand_over(&self, mail: &Mail) -> Result<(), NotTaken> {
        let mut connection = match self.known().await {
            Some(connection) => connection,
            None => within(COMMAND_TIMEOUT, Asked::Session, self.connect()).await?,
        };
        if let Err(why) = say(&mut connection, mail).await {
            // Whoever said something hears a goodbye; the others are not there.
            if why.code.is_some() {
                drop(tokio::time::timeout(CONNECT_TIMEOUT, connection.abort()).await);
            }
            return Err(why);
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.truncate(PARALLEL - 1);
        idle.push((connection, Instant::now()));
        Ok(())
    }

    /// A connection of before that is still there.
    async fn known(&self) -> Option<AsyncSmtpConnection> {
        loop {
            let last = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let (mut connection, since) = last?;
            let asked = tokio::time::timeout(CONNECT_TIMEOUT, connection.test_connected());
            if since.elapsed() < KEEP && asked.await == Ok(true) {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Error> {
        let server = (self.host.as_str(), self.port);
        let tls = match &self.wire {
            Wire::Tls(tls) => Some(tls.clone()),
            Wire::Plain | Wire::Starttls(_) => None,
        };
        let (timeout, hello) = (Some(CONNECT_TIMEOUT), &self.hello);
        let connecting = AsyncSmtpConnection::connect_tokio1(server, timeout, hello, tls, None);
        let mut connection = connecting.await?;
        if let Wire::Starttls(tls) = &self.wire {
            connection.starttls(tls.clone(), hello).await?;
        }
        if let Some(credentials) = &self.credentials {
            connection.auth(DEFAULT_MECHANISMS, credentials).await?;
        }
        Ok(connection)
    }
}

impl MailServer for Smtp {
    fn send(&self, mail: Mail) -> Sending<'_> {
        Box::pin(async move { self.hand_over(&mail).await })
    }
}

/// Says a mail command by command: only which of them was refused tells whom that is about.
async fn say(connection: &mut AsyncSmtpConnection, mail: &Mail) -> Result<(), NotTaken> {
    let (envelope, content) = (mail.envelope(), mail.formatted());
    let extensions = extensions(connection.server_info(), envelope, &content)?;
    let sender = commands::Mail::new(envelope.from().cloned(), extensions);
    within(COMMAND_TIMEOUT, Asked::Session, connection.command(sender)).await?;
    for receiver in envelope.to() {
        let receiver = Rcpt::new(receiver.clone(), Vec::new());
        within(COMMAND_TIMEOUT, Asked::Receiver, connection.command(receiver)).await?;
    }
    within(COMMAND_TIMEOUT, Asked::Content, connection.command(Data)).await?;
    within(CONTENT_TIMEOUT, Asked::Content, connection.message(&content)).await?;
    Ok(())
}

/// Waits for what comes of what the server was asked, for so long.
async fn within<T>(
    limit: Duration,
    asked: Asked,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, NotTaken> {
    let answered = tokio::time::timeout(limit, answer).await;
    let said = "the mail server took too long".to_owned();
    let answered = answered.map_err(|_| NotTaken { code: None, asked, said })?;
    answered.map_err(|error| refused(asked, &error))
}

/// What a mail needs beyond ASCII, if the server can do it.
fn extensions(
    server: &ServerInfo,
    envelope: &Envelope,
    content: &[u8],
) -> Result<Vec<MailParameter>, NotTaken> {
    let unfit = |why: &str| NotTaken { code: None, asked: Asked::Session, said: why.to_owned() };
    let mut addresses = envelope.from().into_iter().chain(envelope.to());
    let mut needed = Vec::new();
    if addresses.any(|address| !AsRef::<str>::as_ref(address).is_ascii()) {
        if !server.supports_feature(Extension::SmtpUtfEight) {
            return Err(unfit("the mail server takes no addresses beyond ASCII (SMTPUTF8)"));
        }
        needed.push(MailParameter::SmtpUtfEight);
    }
    if !content.is_ascii() {
        if !server.supports_feature(Extension::EightBitMime) {
            return Err(unfit("the mail server takes no text beyond ASCII (8BITMIME)"));
        }
        needed.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    Ok(needed)
}

/// What an error means that came of what the server was asked.
fn refused(asked: Asked, error: &Error) -> NotTaken {
    let said = match why_refused(error, CERTIFICATES) {
        Some(why) => format!("no connection: {why}. ({error})"),
        None => error.to_string(),
    };
    NotTaken { code: error.status().map(u16::from), asked, said }
}

/// How to speak TLS with the server.
fn parameters(host: &str, certificates: &Certificates) -> Result<TlsParameters, ConfigError> {
    let wrong = |error: Error| ConfigError::new(format!("{CERTIFICATES}: {error}"));
    let mut builder = TlsParameters::builder(host.to_owned());
    if let Some(authorities) = certificates.authorities() {
        builder = builder.certificate_store(CertificateStore::None);
        builder = builder.add_root_certificate(Certificate::from_pem(authorities).map_err(wrong)?);
    }
    if let Some(own) = certificates.own() {
        builder = builder.identify_with(Identity::from_pem(own.chain(), own.key()).map_err(wrong)?);
    }
    builder.build_rustls().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::courier::Attempt;
    use crate::mail::failed;
    use onrush_base::config::CertificateSettings;
    use std::future::pending;
    use std::net::SocketAddr;
    use std::sync::Arc;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::Notify;

    /// A server that takes the first mail when it is told to, and no other.
    struct Slow {
        /// The first mail is here, and has no answer.
        arrived: Notify,
        answer: Notify,
        mails: Mutex<u32>,
    }

    impl Slow {
        async fn talk(&self, stream: TcpStream) -> std::io::Result<()> {
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 here\r\n").await?;
            let (mut line, mut is_mail) = (String::new(), false);
            while {
                line.clear();
                stream.read_line(&mut line).await?
            } > 0
            {
                let answer = match line.trim_end() {
                    "." if is_mail => {
                        is_mail = false;
                        let first = {
                            let mut mails = self.mails.lock().unwrap();
                            *mails += 1;
                            *mails == 1
                        };
                        if first {
                            self.arrived.notify_one();
                            self.answer.notified().await;
                        }
                        if first { "250 taken" } else { "451 not now" }
                    }
                    _ if is_mail => continue,
                    "DATA" => {
                        is_mail = true;
                        "354 go on"
                    }
                    _ => "250 fine",
                };
                stream.write_all(format!("{answer}\r\n").as_bytes()).await?;
            }
            Ok(())
        }
    }

    fn mail(subject: &str) -> Mail {
        let builder = Mail::builder().from("a@x.org".parse().unwrap());
        builder.to("b@x.org".parse().unwrap()).subject(subject).body(String::new()).unwrap()
    }

    fn smtp_at(address: SocketAddr) -> Smtp {
        let smtp = Smtp::new(&MailSettings {
            smtp: address.to_string(),
            tls: Tls::None,
            user: None,
            password: None,
            from: "a@x.org".into(),
            reply_to: None,
            booking_url: None,
            certificates: CertificateSettings::default(),
        });
        smtp.unwrap()
    }

    /// A server that gives these answers, one after the other, and hangs up.
    async fn with_answers(answers: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (read, mut write) = listener.accept().await?.0.into_split();
            let mut lines = BufReader::new(read).lines();
            for answer in answers.split('|') {
                write.write_all(format!("{answer}\r\n").as_bytes()).await?;
                let mut line = lines.next_line().await?;
                // What follows a 354 is a mail, up to its dot.
                while answer.starts_with("354") && line.as_ref().is_some_and(|line| line != ".") {
                    line = lines.next_line().await?;
                }
            }
            Ok::<_, std::io::Error>(())
        });
        address
    }

    /// What each answer means once the server has said it.
    async fn check(cases: &[(&'static str, u16, bool)]) {
        for &(answers, code, is_final) in cases {
            let smtp = smtp_at(with_answers(answers).await);
            let why = smtp.send(mail("one")).await.expect_err("it is refused");
            assert_eq!(why.code, Some(code), "{answers}: {why:?}");
            let attempt = failed(&why, "b@x.org");
            assert_eq!(matches!(attempt, Attempt::Hopeless(_)), is_final, "{answers}: {attempt:?}");
        }
    }

    #[tokio::test]
    async fn a_refusal_before_the_receiver_is_named_is_not_of_the_receiver() {
        check(&[
            ("550 too many connections", 550, false),
            ("220 here|550 not from your network", 550, false),
            ("220 here|250 fine|553 Mail from must equal authorized user", 553, false),
            ("220 here|250 fine|550 5.1.1 no such sender", 550, false),
        ])
        .await;
    }

    #[tokio::test]
    async fn a_refusal_of_the_receiver_is_final_and_one_of_the_content_only_if_it_says_so() {
        check(&[
            ("220 here|250 fine|250 fine|550 no such user", 550, true),
            ("220 here|250 fine|250 fine|550 5.7.1 relaying denied", 550, false),
            ("220 here|250 fine|250 fine|250 fine|550 not now", 550, false),
            ("220 here|250 fine|250 fine|250 fine|354 go on|550 looks like spam", 550, false),
            ("220 here|250 fine|250 fine|250 fine|354 go on|550 5.1.1 no such user", 550, true),
        ])
        .await;
    }

    /// A server that takes mail after it has looked into it for nine minutes, and how often it did.
    async fn that_scans() -> (SocketAddr, Arc<Mutex<u32>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, taken) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(0)));
        let mails = taken.clone();
        tokio::spawn(async move {
            let (read, mut write) = listener.accept().await?.0.into_split();
            let (mut lines, mut answer) = (BufReader::new(read).lines(), "220 here");
            write.write_all(format!("{answer}\r\n").as_bytes()).await?;
            while let Some(line) = lines.next_line().await? {
                answer = match line.as_str() {
                    "." => {
                        *mails.lock().unwrap() += 1;
                        // Time passes by itself only where nobody waits for a socket.
                        tokio::time::pause();
                        tokio::time::sleep(Duration::from_secs(540)).await;
                        tokio::time::resume();
                        "250 taken"
                    }
                    _ if answer.starts_with("354") => continue,
                    "DATA" => "354 go on",
                    _ => "250 fine",
                };
                write.write_all(format!("{answer}\r\n").as_bytes()).await?;
            }
            Ok::<_, std::io::Error>(())
        });
        (address, taken)
    }

    #[tokio::test]
    async fn a_server_that_looks_into_a_mail_for_minutes_is_waited_for() {
        let (address, taken) = that_scans().await;
        let smtp = smtp_at(address);
        assert_eq!(smtp.send(mail("one")).await, Ok(()));
        assert_eq!(*taken.lock().unwrap(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_says_nothing_is_waited_for_as_long_as_its_step_may_take() {
        for limit in [COMMAND_TIMEOUT, CONTENT_TIMEOUT] {
            let begun = tokio::time::Instant::now();
            let why = within(limit, Asked::Content, pending::<Result<(), Error>>()).await;
            assert_eq!(why.expect_err("nothing was said").code, None);
            let waited = begun.elapsed();
            assert!((limit..limit + Duration::from_secs(1)).contains(&waited), "{waited:?}");
        }
    }

    #[tokio::test]
    async fn answers_to_a_mail_that_was_given_up_are_not_taken_for_those_to_the_next() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let slow = Arc::new(Slow {
            arrived: Notify::new(),
            answer: Notify::new(),
            mails: Mutex::default(),
        });
        let server = slow.clone();
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                tokio::spawn(async move { server.talk(stream).await });
            }
        });
        let smtp = smtp_at(address);
        tokio::select! {
            sent = smtp.send(mail("one")) => panic!("{sent:?} without an answer"),
            () = slow.arrived.notified() => {}
        }
        slow.answer.notify_one();
        let refused = smtp.send(mail("two")).await.expect_err("the server said 451");
        assert_eq!(refused.code, Some(451));
        serving.abort();
    }

    #[tokio::test]
    async fn a_server_that_falls_silent_is_given_up_after_five_minutes_at_each_command() {
        let answers = ["220 here", "250 fine", "250 fine", "250 fine"];
        for said in 0..=answers.len() {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let smtp = smtp_at(listener.local_addr().unwrap());
            let silent = tokio::spawn(async move {
                let (read, mut write) = listener.accept().await.unwrap().0.into_split();
                let mut lines = BufReader::new(read).lines();
                for answer in &answers[..said] {
                    write.write_all(format!("{answer}\r\n").as_bytes()).await.unwrap();
                    lines.next_line().await.unwrap();
                }
                let begun = tokio::time::Instant::now();
                tokio::time::pause();
                assert_eq!(lines.next_line().await.unwrap(), None, "it hangs up, and says nothing");
                let waited = begun.elapsed();
                tokio::time::resume();
                waited
            });
            assert_eq!(smtp.send(mail("one")).await.expect_err("nothing is said").code, None);
            let waited = silent.await.unwrap();
            let near =
                COMMAND_TIMEOUT - Duration::from_secs(5)..COMMAND_TIMEOUT + Duration::from_secs(5);
            assert!(near.contains(&waited), "{said} answers: {waited:?}");
        }
    }
}
