//! `onrush key new`: makes a key for somebody, and says what to put into the settings.

use onrush_base::auth::hex;
use onrush_base::auth::keyring::{hash, new_key};
use onrush_base::config::keys::{Scope, name_complaint};
use onrush_core::ids::ChannelId;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use std::fmt::Display;

pub(super) const PROMISE: &str = "\
The key is shown once and kept nowhere; the settings have only its SHA-256. A server reads them at its start.

Exit codes: 0 all is well, 2 the command line is wrong.";

/// What is to be done with keys.
#[derive(clap::Args)]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(clap::Subcommand)]
enum KeyCommand {
    /// Make a key, and print it with the lines to put into the settings
    #[command(after_help = PROMISE)]
    New(NewKey),
}

/// Whose key, and what it gives the right to.
#[derive(clap::Args)]
struct NewKey {
    /// Who has it: 1 to 40 letters, digits, - and _; histories say it
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// What it gives the right to: read, sell, stock, money, door, admin
    #[arg(long, value_name = "SCOPES", value_delimiter = ',', required = true)]
    scopes: Vec<Scope>,
    /// Channels that it may hold from, for others
    #[arg(long, value_name = "CHANNELS", value_delimiter = ',')]
    channels: Vec<ChannelId>,
}

fn name(text: &str) -> Result<String, &'static str> {
    name_complaint(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// Makes a key.
pub(crate) fn run(args: &KeyArgs) -> Exit {
    let KeyCommand::New(NewKey { name, scopes, channels }) = &args.command;
    let key = new_key();
    say(&format!("the key of {name}, which is not shown again:"));
    println!("{key}");
    say("for the settings:");
    println!("[[keys]]\nname = \"{name}\"\nscopes = {}", list(scopes));
    println!("sha256 = \"{}\"", hex(&hash(&key)));
    if !channels.is_empty() {
        println!("channels = {}", list(channels));
    }
    Exit::Ok
}

/// Texts without quotes in them, as TOML has a list.
fn list(words: &[impl Display]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    format!("[{}]", words.join(", "))
}
