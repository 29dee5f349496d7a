//! Scripts, and tests of pages, run programs from where Cargo builds them.

use crate::repository::Repository;

/// Where programs are run that Cargo has built.
const RUN: [&str; 5] = [".ci/", ".github/", "Makefile", "scripts/", "web/"];

/// A sentence for each line that looks into `target/` for what Cargo has built. It may build elsewhere,
/// and what lies in `target/` then is an old program.
#[must_use]
pub fn findings(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    let scripts = repository.files().filter(|(path, _)| RUN.iter().any(|at| path.starts_with(at)));
    for (path, text) in scripts {
        for (line, number) in text.lines().zip(1..) {
            if line.contains("CARGO_TARGET_DIR:-") || line.split(is_between).any(is_built) {
                found.push(format!(
                    "{path}:{number}: Cargo may build elsewhere; ask scripts/target_dir.sh.",
                ));
            }
        }
    }
    found
}

/// What stands around a path.
fn is_between(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]=;".contains(c)
}

/// Whether a path leads to what Cargo builds, if it builds into `target/`.
fn is_built(path: &str) -> bool {
    let mut parts = path.split('/').skip_while(|part| *part != "target");
    parts.any(|part| part == "debug" || part == "release")
}

#[cfg(test)]
mod tests {
    use crate::repository::this_crate;
    use std::process::Command;

    #[test]
    fn folder_that_cargo_builds_into_is_told_wherever_it_is() {
        // The second is the name, as a variable, of what a configuration of Cargo's says.
        for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
            let mut script = Command::new(this_crate().join("../../scripts/target_dir.sh"));
            script.env_remove("CARGO_TARGET_DIR").env(variable, "/somewhere/else");
            let said = script.output().expect("it can be run");
            let complaint = String::from_utf8_lossy(&said.stderr);
            assert_eq!(String::from_utf8_lossy(&said.stdout), "/somewhere/else\n", "{complaint}");
        }
    }
}
