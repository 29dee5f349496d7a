//! The money side of a server, as it is configured.

use super::backend::Backend;
use onrush_base::auth::hex;
use onrush_base::auth::keys::KeyDir;
use onrush_base::auth::payers::Payers;
use onrush_base::config::{Config, GatewayName, Secret};
use onrush_base::http_client::{AddressPolicy, HttpClient};
use onrush_relay::messages::Channels;
use onrush_saga::gateway::Gateway;
use onrush_saga::gateway::sandbox::SandboxGateway;
use onrush_saga::gateway::stripe::StripeGateway;
use onrush_saga::{Issuer, SagaDeps, Sagas};
use onrush_sandbox::{Sandbox, SandboxConfig};
use onrush_store::embedded::Clock;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Opens the gateway, starts the sandbox if that is it and nobody else runs it, and makes sagas of it all.
///
/// # Errors
/// Whatever stands in the way of the sandbox, as a sentence.
pub(super) async fn open(
    config: &Config,
    public: SocketAddr,
    backend: &Backend,
) -> io::Result<(Arc<Sagas>, Option<Sandbox>)> {
    let (gateway, sandbox) = gateway(config, public, &backend.clock).await?;
    let issuer = config.seller.as_ref().map(|seller| Issuer::of(seller, config.gateway));
    let sagas = Sagas::new(SagaDeps {
        engine: backend.engine.clone(),
        ledger: backend.ledger.clone(),
        gateway,
        clock: backend.clock.clone(),
        patience: config.saga,
        retention: config.retention,
        payers: Payers::new(&KeyDir::open(&config.data)?.load_or_draw("ids.key")?),
        channels: Channels::of(config),
        cluster: backend.cluster.clone(),
        pairing: backend.pairing.clone(),
        issuer: issuer.transpose().map_err(io::Error::other)?,
    });
    Ok((sagas, sandbox))
}

type Opened = (Option<Arc<dyn Gateway>>, Option<Sandbox>);

async fn gateway(config: &Config, public: SocketAddr, clock: &Clock) -> io::Result<Opened> {
    match config.gateway {
        GatewayName::None => Ok((None, None)),
        GatewayName::Sandbox => sandbox(config, public).await,
        GatewayName::Stripe => stripe(config, clock),
    }
}

fn stripe(config: &Config, clock: &Clock) -> io::Result<Opened> {
    let missing = || io::Error::other("stripe: set secret_key and webhook_secret");
    let settings = config.stripe.as_ref().ok_or_else(missing)?;
    let gateway = StripeGateway::new(&settings.secret_key, settings.webhook_secret.clone());
    let gateway = gateway.with_base_url(&settings.base_url).with_clock(clock.clone());
    let gateway = gateway.with_delayed_methods(settings.delayed_methods);
    Ok((Some(Arc::new(gateway.with_timeout_ms(config.saga.gateway_timeout_ms))), None))
}

async fn sandbox(config: &Config, public: SocketAddr) -> io::Result<Opened> {
    let keys = KeyDir::open(&config.data)?;
    let drawn = |name: &str, configured: &Option<Secret>| match configured {
        Some(secret) => Ok(secret.clone()),
        None => keys.load_or_draw(name).map(|bytes| Secret::from(hex(&bytes))),
    };
    let secret = drawn("sandbox.key", &config.sandbox.secret)?;
    let webhook_secret = drawn("sandbox-webhook.key", &config.sandbox.webhook_secret)?;
    let pages = config.pages_url(public);
    if let Some(url) = &config.sandbox.url {
        let gateway = SandboxGateway::new(url, &secret, webhook_secret).with_return_base(&pages);
        return Ok((Some(Arc::new(gateway)), None));
    }
    let (scheme, client) = match &config.tls {
        None => ("http", HttpClient::new(AddressPolicy::Any)),
        Some(_) => ("https", HttpClient::to_ourselves()),
    };
    let webhook_url = format!("{scheme}://{public}/api/v1/payments/webhook/sandbox");
    let sandbox = Sandbox::start(SandboxConfig {
        listen: config.sandbox.listen,
        webhook_url: Some(webhook_url.parse().map_err(io::Error::other)?),
        public_host: config.public_host(),
        faults: config.sandbox.faults,
        late_ms: config.sandbox.late_ms,
        allow_sandbox: config.allow_sandbox,
        client,
        ..SandboxConfig::new(config.data.join("sandbox"), secret.clone(), webhook_secret.clone())
    });
    let sandbox = sandbox.await.map_err(|error| io::Error::other(error.to_string()))?;
    let gateway = SandboxGateway::new(&sandbox.base_url(), &secret, webhook_secret);
    Ok((Some(Arc::new(gateway.with_return_base(&pages))), Some(sandbox)))
}
