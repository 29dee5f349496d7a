//! `onrush config`: the configuration file, as a template or checked.

use onrush_base::config::Config;
use onrush_base::config::TEMPLATE;
use onrush_terminal::exit::Exit;
use onrush_terminal::show::say;
use std::path::PathBuf;

/// What is to be done with the configuration.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(crate) struct ConfigArgs {
    /// Print every setting with its default and what it means
    #[arg(long)]
    template: bool,
    /// Check a file, together with the variables that are set
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

/// Prints the template, or says what is wrong with a file, and what is odd.
pub(crate) fn run(args: &ConfigArgs) -> Exit {
    let Some(file) = &args.check else {
        print!("{TEMPLATE}");
        return Exit::Ok;
    };
    let read = Config::read_here(Some(file));
    match read.and_then(|config| config.check_with_files().map(|()| config)) {
        Ok(config) => {
            let warnings = config.warnings(Some(file));
            warnings.iter().for_each(|why| say(&format!("warning: {why}")));
            println!("{} can be used", file.display());
            Exit::Ok
        }
        Err(error) => {
            say(&format!("error: {error}"));
            Exit::Usage
        }
    }
}
