//! Tells the program which commit it is of.

use std::process::Command;

/// What git prints, if it is there and this is a checkout.
fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|out| out.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ONRUSH_COMMIT");
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    let version = env!("CARGO_PKG_VERSION");
    // Built from an archive, the program can be told.
    let told = std::env::var("ONRUSH_COMMIT").ok().filter(|commit| !commit.is_empty());
    let version = match told.or_else(|| git(&["rev-parse", "--short=10", "HEAD"])) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=ONRUSH_VERSION={version}");
}
