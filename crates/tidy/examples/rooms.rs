//! Prints what the table of rooms in ARCHITECTURE.md would be today.

use std::process::ExitCode;
use tidy::{Repository, rooms};

fn main() -> ExitCode {
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
