//! Why a connection over TLS did not come about, as a sentence that says which setting to look at.
//!
//! Client libraries wrap errors of rustls each in its own way, and some keep the text alone. So the
//! text is looked at: rustls' words for each error, and OpenSSL's, which librdkafka speaks.

use std::error::Error;
use std::fmt::Write;

/// Why a connection over TLS did not come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody who is trusted signed the server's certificate.
    UnknownAuthority,
    /// The server's certificate is not believed, for one of several reasons: OpenSSL keeps which.
    NotBelieved,
    /// The server's certificate is of another server.
    OtherName,
    /// The server's certificate has expired.
    Expired,
    /// The server's certificate is not valid yet.
    NotYet,
    /// The server's certificate is good for something else, or its authority's own.
    OtherPurpose,
    /// The server wants to see a certificate of ours.
    WantsOurs,
    /// The server does not believe our certificate.
    DoubtsOurs,
    /// What answers does not speak TLS.
    NoTls,
    /// There is no version or cipher that both know.
    NothingInCommon,
}

/// What to look for, in this order: the first that is found says it.
const SIGNS: [(&str, Refusal); 27] = [
    ("not valid for name", Refusal::OtherName),
    ("NotValidForName", Refusal::OtherName),
    ("hostname mismatch", Refusal::OtherName),
    ("IP address mismatch", Refusal::OtherName),
    ("certificate not valid yet", Refusal::NotYet),
    ("NotValidYet", Refusal::NotYet),
    ("not yet valid", Refusal::NotYet),
    ("alert: CertificateRequired", Refusal::WantsOurs),
    ("certificate required", Refusal::WantsOurs),
    ("requires a valid client certificate", Refusal::WantsOurs),
    ("client authentication might be required", Refusal::WantsOurs),
    ("alert: UnknownCA", Refusal::DoubtsOurs),
    ("alert: BadCertificate", Refusal::DoubtsOurs),
    ("alert: DecryptError", Refusal::DoubtsOurs),
    ("alert: CertificateUnknown", Refusal::DoubtsOurs),
    ("alert: CertificateExpired", Refusal::DoubtsOurs),
    ("alert: AccessDenied", Refusal::DoubtsOurs),
    ("certificate expired", Refusal::Expired),
    ("certificate: Expired", Refusal::Expired),
    ("certificate has expired", Refusal::Expired),
    ("CaUsedAsEndEntity", Refusal::OtherPurpose),
    ("extended key usage", Refusal::OtherPurpose),
    ("UnknownIssuer", Refusal::UnknownAuthority),
    ("BadSignature", Refusal::UnknownAuthority),
    ("certificate verify failed", Refusal::NotBelieved),
    ("corrupt message of type", Refusal::NoTls),
    ("wrong version number", Refusal::NoTls),
];

/// Errors that mean the same.
const NOTHING_IN_COMMON: [&str; 3] =
    ["peer is incompatible", "alert: HandshakeFailure", "alert: ProtocolVersion"];

impl Refusal {
    /// What an error's text tells of.
    #[must_use]
    pub fn of_text(text: &str) -> Option<Self> {
        let nothing = || {
            let any = NOTHING_IN_COMMON.iter().any(|sign| text.contains(sign));
            any.then_some(Self::NothingInCommon)
        };
        let known = SIGNS.iter().find(|(sign, _)| text.contains(sign));
        known.map(|(_, refusal)| *refusal).or_else(nothing)
    }

    /// The sentence for a server whose certificates are set at `place`, such as `redis.certificates`.
    #[must_use]
    pub fn sentence(self, place: &str) -> String {
        match self {
            Self::UnknownAuthority => format!(
                "its certificate is signed by nobody who is trusted here; set {place}.ca to the \
                 certificate of the authority that signed it"
            ),
            Self::NotBelieved => format!(
                "its certificate is not believed: nobody who is trusted here signed it, it is \
                 another server's, or its time is over; look at {place}.ca, at the name that the \
                 settings call it by, and at its dates"
            ),
            Self::OtherName => "its certificate is another server's: it lacks the name or address \
                 that the settings call it by; use a name that is in the certificate, or have one \
                 issued for this name"
                .into(),
            Self::Expired => "its certificate has expired; renew it there, or set this machine's \
                 clock right"
                .into(),
            Self::NotYet => "its certificate is not valid yet; set this machine's clock right, or \
                 look at what was issued there"
                .into(),
            Self::OtherPurpose => "its certificate is not one for servers, or is its authority's \
                 own; have one issued for this server"
                .into(),
            Self::WantsOurs => {
                format!("it wants to see a client certificate; set {place}.cert and {place}.key")
            }
            Self::DoubtsOurs => format!(
                "it does not believe our certificate; look at {place}.cert and at which \
                 authorities the server trusts"
            ),
            Self::NoTls => "what answers there does not speak TLS; look at the port, or at \
                 whether TLS is switched on there"
                .into(),
            Self::NothingInCommon => "it speaks no version or cipher of TLS that is still safe; \
                 TLS 1.2 or 1.3 is needed"
                .into(),
        }
    }
}

/// What an error says with all that it is about, and the sentence that says which setting to look at
/// if TLS is the reason.
#[must_use]
pub fn why_refused(error: &(dyn Error + 'static), place: &str) -> Option<String> {
    Refusal::of_text(&whole(error)).map(|refusal| refusal.sentence(place))
}

/// An error's text, and those of all that it was caused by.
fn whole(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        write!(text, ": {error}").expect("memory can be written to");
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fmt;

    /// An error that says little, and its cause.
    #[derive(Debug)]
    struct Wrapped(rustls::Error);

    impl fmt::Display for Wrapped {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("no connection")
        }
    }

    impl Error for Wrapped {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_words_of_rustls_are_known_for_what_they_mean() {
        use rustls::CertificateError as Certificate;
        use rustls::{AlertDescription as Alert, Error as Tls, InvalidMessage, PeerIncompatible};
        for (error, refusal) in [
            (Tls::from(Certificate::UnknownIssuer), Refusal::UnknownAuthority),
            (Tls::from(Certificate::BadSignature), Refusal::UnknownAuthority),
            (Tls::from(Certificate::NotValidForName), Refusal::OtherName),
            (Tls::from(Certificate::Expired), Refusal::Expired),
            (Tls::from(Certificate::NotValidYet), Refusal::NotYet),
            (Tls::AlertReceived(Alert::CertificateRequired), Refusal::WantsOurs),
            (Tls::AlertReceived(Alert::UnknownCA), Refusal::DoubtsOurs),
            (Tls::AlertReceived(Alert::HandshakeFailure), Refusal::NothingInCommon),
            (Tls::from(InvalidMessage::InvalidContentType), Refusal::NoTls),
            (Tls::from(PeerIncompatible::ServerDoesNotSupportTls12Or13), Refusal::NothingInCommon),
        ] {
            assert_eq!(Refusal::of_text(&error.to_string()), Some(refusal), "{error}");
            let told = why_refused(&Wrapped(error), "mail.certificates");
            assert_eq!(told, Some(refusal.sentence("mail.certificates")));
        }
        assert_eq!(Refusal::of_text("Connection refused (os error 111)"), None);
    }

    #[test]
    fn every_refusal_has_a_sentence_of_its_own() {
        let all: BTreeSet<_> =
            SIGNS.iter().map(|(_, refusal)| refusal.sentence("redis.certificates")).collect();
        assert_eq!(all.len(), 9);
        let told = Refusal::UnknownAuthority.sentence("redis.certificates");
        assert!(told.contains("redis.certificates.ca"), "{told}");
    }
}
