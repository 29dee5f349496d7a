//! The repository's files, as git has them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// Folders that a walk leaves out: what is built, installed or git's own.
const NOT_OURS: [&str; 4] = ["target", "node_modules", "dist", ".git"];

/// Texts by their paths from the root, with `/` between the parts.
#[derive(Debug, Default)]
pub struct Repository {
    texts: BTreeMap<String, String>,
}

impl Repository {
    /// The repository that this crate stands in.
    pub fn here() -> io::Result<Self> {
        Self::read(&this_crate().join("../.."))
    }

    /// Everything under `root` that is text: what git tracks and has not lost, or what is there if
    /// there is no git.
    pub fn read(root: &Path) -> io::Result<Self> {
        let paths = match tracked(root) {
            Some(paths) => paths,
            None => walked(root)?,
        };
        let mut texts = BTreeMap::new();
        for path in paths {
            match fs::read(root.join(&path)) {
                Ok(bytes) => {
                    if let Ok(text) = String::from_utf8(bytes) {
                        texts.insert(path, text);
                    }
                }
                // Moved or deleted, and not committed yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self { texts })
    }

    /// A repository of these files.
    #[must_use]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self { texts: texts.collect() }
    }

    /// The text of a file.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// All files with their texts, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The files that people write: without what .gitattributes calls `linguist-generated`.
    pub fn written(&self) -> impl Iterator<Item = (&str, &str)> {
        let attributes = self.text(".gitattributes").unwrap_or_default();
        let generated: Vec<&str> = attributes
            .lines()
            .filter_map(|line| line.strip_suffix(" linguist-generated"))
            .map(str::trim)
            .collect();
        self.files().filter(move |(path, _)| !generated.iter().any(|pattern| fits(pattern, path)))
    }
}

/// Whether a pattern of .gitattributes fits a path: `*` is any text, and a pattern without `/` is
/// about the file's name.
fn fits(pattern: &str, path: &str) -> bool {
    let path = if pattern.contains('/') { path } else { name_of(path) };
    let mut parts = pattern.trim_start_matches('/').split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = path.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    match last {
        None => rest.is_empty(),
        Some(last) => path.len() >= first.len() + last.len() && path.ends_with(last),
    }
}

/// The last part of a path.
pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The folder that a path stands in; empty for the root.
pub(crate) fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// `path` from `folder` on, with `..` taken back.
pub(crate) fn joined(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The crate's folder, as cargo says when it runs: checkouts may share what was built.
pub(crate) fn this_crate() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from)
}

fn tracked(root: &Path) -> Option<Vec<String>> {
    if !root.join(".git").exists() {
        return None;
    }
    let listed = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let names = String::from_utf8(listed.stdout).ok()?;
    Some(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn walked(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let path = folder.join(&name);
            let kind = entry.file_type()?;
            if kind.is_dir() {
                if !NOT_OURS.iter().any(|left_out| name == *left_out) {
                    folders.push(path);
                }
            } else if kind.is_file()
                && let Some(path) = path.to_str()
            {
                found.push(path.replace('\\', "/"));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Repository, fits, joined};

    #[test]
    fn pattern_of_gitattributes_fits_names_and_paths() {
        for (pattern, path, wanted) in [
            ("Cargo.lock", "Cargo.lock", true),
            ("Cargo.lock", "fuzz/Cargo.lock", true),
            ("web/openapi.json", "web/openapi.json", true),
            ("web/openapi.json", "docs/web/openapi.json", false),
            ("*.gen.ts", "web/src/a.gen.ts", true),
            ("web/src/**/*.gen.ts", "web/src/api/a.gen.ts", true),
            ("web/src/**/*.gen.ts", "web/src/api/a.ts", false),
        ] {
            assert_eq!(fits(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn generated_files_are_not_written_ones() {
        let attributes = "* text=auto\na.json linguist-generated\n";
        let all = Repository::of(&[(".gitattributes", attributes), ("a.json", ""), ("b.json", "")]);
        let written: Vec<&str> = all.written().map(|(path, _)| path).collect();
        assert_eq!(written, [".gitattributes", "b.json"]);
    }

    #[test]
    fn path_goes_up_and_down() {
        assert_eq!(joined("a/b/c", "../../d/e.lua"), "a/d/e.lua");
    }

    #[test]
    fn files_are_found_with_git_and_without() {
        let here = Repository::here().expect("it can be read");
        let walked = super::walked(&super::this_crate().join("src"));
        assert!(walked.expect("it can be walked").contains(&"lib.rs".to_owned()));
        assert!(here.text("crates/tidy/src/lib.rs").is_some());
    }
}
