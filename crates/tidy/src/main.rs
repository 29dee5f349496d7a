//! Prints what the tables of ARCHITECTURE.md would be today.

use std::process::ExitCode;
use tidy::{Repository, rooms};

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("rooms") {
        eprintln!("cargo run -p tidy -- rooms   prints the table \"{}\"", rooms::HEADING);
        return ExitCode::from(2);
    }
    match Repository::here() {
        Ok(repository) => {
            print!("{}", rooms::table(&repository));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the repository cannot be read: {error}");
            ExitCode::FAILURE
        }
    }
}
