//! A mail server that is spoken with over SMTP.
//!
//! A connection is used again only after a mail that the server took on it. One whose mail was given
//! up half-way still has answers to come: whoever used it next would take them for their own, and
//! could hold a mail for delivered that the server refused.

use crate::mail::{Mail, MailServer, NotTaken, Sending};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{
    AsyncSmtpConnection, Certificate, CertificateStore, Identity, TlsParameters,
};
use lettre::transport::smtp::{Error, extension::ClientId};
use onrush_base::config::ConfigError;
use onrush_base::config::relay::{MailSettings, Tls};
use onrush_tls::{Certificates, why_refused};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Connections to the server at a time.
pub(crate) const PARALLEL: usize = 4;
/// How long connecting, or asking whether a connection is still there, may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
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

    async fn hand_over(&self, mail: &Mail) -> Result<(), Error> {
        let mut connection = match self.known().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        connection.send(mail.envelope(), &mail.formatted()).await?;
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
        Box::pin(async move {
            self.hand_over(&mail).await.map_err(|error| NotTaken {
                code: error.status().map(u16::from),
                said: match why_refused(&error, CERTIFICATES) {
                    Some(why) => format!("no connection: {why}. ({error})"),
                    None => error.to_string(),
                },
            })
        })
    }
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
    use onrush_base::config::CertificateSettings;
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
        let smtp = smtp.unwrap();
        tokio::select! {
            sent = smtp.send(mail("one")) => panic!("{sent:?} without an answer"),
            () = slow.arrived.notified() => {}
        }
        slow.answer.notify_one();
        let refused = smtp.send(mail("two")).await.expect_err("the server said 451");
        assert_eq!(refused.code, Some(451));
        serving.abort();
    }
}
