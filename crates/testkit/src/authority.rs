//! Authorities that live as long as a test, and the certificates that they sign.

use crate::need::NotStarted;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The names that servers started here are called by.
pub const HERE: [&str; 2] = ["localhost", "127.0.0.1"];

/// An authority of its own, with a key that nobody else has.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

/// A certificate and its key, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The certificate.
    pub cert: String,
    /// Its key, in PKCS #8.
    pub key: String,
}

/// What a server shows of itself, and which clients it wants to see certificates of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Its certificate.
    pub issued: Issued,
    /// The authority of clients' certificates; a client without one is refused. `None` asks for none.
    pub clients: Option<String>,
}

/// Where the files of a [`Tls`] are.
#[derive(Clone, Debug)]
pub(crate) struct TlsFiles {
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) clients: Option<PathBuf>,
}

impl Authority {
    /// A new one of that name.
    ///
    /// # Panics
    /// If the machine has no random numbers.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let mut params = params(name, &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key is drawn");
        let pem = params.self_signed(&key).expect("it signs itself").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Its own certificate, as PEM: what others trust.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A certificate for servers on this machine.
    #[must_use]
    pub fn server(&self) -> Issued {
        self.server_of(&HERE)
    }

    /// A certificate for servers of these names and addresses.
    #[must_use]
    pub fn server_of(&self, names: &[&str]) -> Issued {
        self.sign(params("server", names))
    }

    /// A certificate for servers on this machine that has expired long ago.
    #[must_use]
    pub fn expired_server(&self) -> Issued {
        let mut params = params("server", &HERE);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.sign(params)
    }

    /// A client's certificate, with the user's name as its common name.
    #[must_use]
    pub fn client(&self, user: &str) -> Issued {
        self.sign(params(user, &[]))
    }

    fn sign(&self, params: CertificateParams) -> Issued {
        let key = KeyPair::generate().expect("a key is drawn");
        let cert = params.signed_by(&key, &self.issuer).expect("it is signed");
        Issued { cert: cert.pem(), key: key.serialize_pem() }
    }
}

fn params(name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("these are names");
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2200, 1, 1);
    params.use_authority_key_identifier_extension = true;
    params
}

impl Issued {
    /// Writes both into a folder, as `<name>.pem` and `<name>.key`, and says where they are.
    ///
    /// # Errors
    /// The folder cannot be written to.
    pub fn write(&self, folder: &Path, name: &str) -> std::io::Result<(PathBuf, PathBuf)> {
        let place = |end: &str| folder.join(format!("{name}.{end}"));
        let (cert, key) = (place("pem"), place("key"));
        fs::write(&cert, &self.cert)?;
        fs::write(&key, &self.key)?;
        // Some servers refuse a key that others may read.
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        Ok((cert, key))
    }
}

impl Tls {
    /// A server with this certificate that asks clients for none.
    #[must_use]
    pub fn new(issued: Issued) -> Self {
        Self { issued, clients: None }
    }

    /// The same for a server that lets in only clients with certificates of this authority.
    #[must_use]
    pub fn for_clients_of(self, authority: &Authority) -> Self {
        Self { clients: Some(authority.pem.clone()), ..self }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<TlsFiles, NotStarted> {
        let failed = |error| NotStarted::failed("files of certificates", error);
        let (cert, key) = self.issued.write(folder, "server").map_err(failed)?;
        let clients = match &self.clients {
            None => None,
            Some(pem) => {
                let file = folder.join("clients.pem");
                fs::write(&file, pem).map_err(failed)?;
                Some(file)
            }
        };
        Ok(TlsFiles { cert, key, clients })
    }
}
