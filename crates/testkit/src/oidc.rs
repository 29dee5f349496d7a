//! An OpenID provider: npm's `oidc-provider`, with people who are whoever they say.

use crate::authority::Tls;
use crate::free_port::free_port;
use crate::need::NotStarted;
use crate::running::{Running, Service};
use crate::server::{Server, program, tied_command};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const START_WITHIN: Duration = Duration::from_secs(300);

/// How a provider is started.
#[derive(Clone, Debug, Default)]
pub struct OidcOptions {
    /// The people there are, by the name that they sign in with: their claims, as a JSON object.
    pub people: String,
    /// How people sign in, by name, as a JSON object: `acr`, `amr`, and `age_s`, for how long they
    /// have been signed in already. Whoever is not there signs in now and in no special way.
    pub logins: String,
    /// The values of `acr` that it knows.
    pub acr_values: Vec<String>,
    /// Where each client may have people sent back to.
    pub redirect_uri: String,
    /// Where each client may have people sent to who signed out.
    pub post_logout_redirect_uri: String,
    /// Whether claims are told by UserInfo only, as the specification wants it, or in the ID token
    /// too, as many providers do.
    pub user_info_only: bool,
    /// Its certificate, if it is to speak TLS.
    pub tls: Option<Tls>,
}

/// A running provider, with the clients [`OidcProvider::CLIENTS`].
pub type OidcProvider = Running<OidcService>;

/// What a provider calls itself, and what it is run with.
#[derive(Debug)]
pub struct OidcService {
    issuer: String,
    install: Install,
}

#[derive(Clone, Debug)]
struct Install {
    node: PathBuf,
    script: PathBuf,
}

impl OidcProvider {
    /// The ids of the clients that it knows.
    pub const CLIENTS: [&'static str; 2] = ["onrush", "another"];
    /// The secret of each.
    pub const SECRET: &'static str = "a+secret/of the client";

    /// Starts one; takes a second.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not start.
    pub fn start(options: &OidcOptions) -> Result<Self, NotStarted> {
        let install = Install::find()?;
        Self::begin(|folder| {
            let port = free_port();
            let issuer = match options.tls {
                Some(_) => format!("https://localhost:{port}"),
                None => format!("http://127.0.0.1:{port}"),
            };
            configure(folder, port, &issuer, options)?;
            Ok(OidcService { issuer, install: install.clone() })
        })
    }

    /// Its address, as `iss` says it; the same after a restart.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.service.issuer
    }

    /// Starts it again with keys that nobody has seen yet.
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn rotate_keys(&mut self) -> Result<(), NotStarted> {
        self.stop();
        fs::remove_file(self.folder().join("keys.json"))
            .map_err(|error| NotStarted::failed("keys.json", error))?;
        self.restart()
    }
}

fn configure(
    folder: &Path,
    port: u16,
    issuer: &str,
    options: &OidcOptions,
) -> Result<(), NotStarted> {
    let clients = OidcProvider::CLIENTS.map(|client| {
        format!(
            "{{\"client_id\": \"{client}\", \"client_secret\": \"{}\", \"redirect_uris\": [\"{}\"], \
             \"post_logout_redirect_uris\": [\"{}\"], \
             \"response_types\": [\"code\"], \"grant_types\": [\"authorization_code\"]}}",
            OidcProvider::SECRET,
            options.redirect_uri,
            options.post_logout_redirect_uri
        )
    });
    let mut text = format!(
        "{{\"issuer\": \"{issuer}\", \"port\": {port}, \"keys\": {keys:?}, \"clients\": [{clients}], \
         \"people\": {people}, \"logins\": {logins}, \"acr_values\": {acr_values:?}, \
         \"claims\": \"{claims}\"",
        keys = folder.join("keys.json"),
        clients = clients.join(", "),
        people = options.people,
        logins = if options.logins.is_empty() { "{}" } else { &options.logins },
        acr_values = options.acr_values,
        claims = if options.user_info_only { "userinfo" } else { "id_token" },
    );
    if let Some(tls) = &options.tls {
        let files = tls.write(folder)?;
        let written = write!(text, ", \"cert\": {:?}, \"key\": {:?}", files.cert, files.key);
        written.expect("a string takes everything");
    }
    fs::write(folder.join("settings.json"), text + "}")
        .map_err(|error| NotStarted::failed("the provider's settings", error))
}

impl Install {
    fn find() -> Result<Self, NotStarted> {
        let missing = |what| {
            let install = "Run scripts/need.sh npm oidc-provider, which fetches it with npm";
            NotStarted::missing(what, install)
        };
        let node = program("node", &[]).ok_or_else(|| missing("node"))?;
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("oidc");
        let is_there = home.join("node_modules/oidc-provider/package.json").is_file();
        let script = home.join("provider.js");
        is_there.then_some(Self { node, script }).ok_or_else(|| missing("oidc-provider"))
    }
}

impl Service for OidcService {
    const PORT_TAKEN: &[&str] = &["EADDRINUSE"];

    fn spawn(&self, folder: &Path) -> Result<Server, NotStarted> {
        let mut command = tied_command(&self.install.node, None);
        command.arg(&self.install.script).arg(folder.join("settings.json")).current_dir(folder);
        Server::spawn("oidc-provider", command, folder.join("provider.log"))?
            .ready(START_WITHIN, |server| server.has_said("provider listens"))
    }
}
