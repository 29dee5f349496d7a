//! Which file of a crate imports from which: by `use`, by a path in the code, by a call into a module
//! of its own.
//!
//! A path leads to the file of the deepest module that it names, whatever that module exports
//! again; only the names that a crate's root exports lead to where they come from. `mod child;`
//! alone is no import. Tests are left out, and so is `main.rs`; what else a program has beside its
//! library names it by its name. This reads tokens and is no compiler: what a glob brings in, for
//! instance, it does not know.

use crate::repository::Repository;
use crate::tokens::{Token, of_source, word};
use std::collections::{BTreeMap, BTreeSet};

/// For each file the files that it imports from.
pub type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The arrows between the files of each crate, and the files that are no Rust.
#[must_use]
pub fn of(repository: &Repository) -> (Arrows, Vec<String>) {
    let mut modules: BTreeMap<(&str, Vec<String>), &str> = BTreeMap::new();
    for (path, _) in repository.files() {
        if let Some((library, module)) = module_of(path) {
            modules.insert((library, module), path);
        }
    }
    let (mut arrows, mut findings) = (Arrows::new(), Vec::new());
    // By its place in the order, a crate's root is read before its other files.
    let mut exports: BTreeMap<&str, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for ((library, module), path) in &modules {
        let text = repository.text(path).unwrap_or_default();
        let tokens = match of_source(text) {
            Ok(tokens) => tokens,
            Err(error) => {
                findings.push(format!("{path}: cannot be read as Rust ({error}); mend it."));
                continue;
            }
        };
        let known = |absolute: &[String]| modules.contains_key(&(*library, absolute.to_vec()));
        let name = name_of_library(repository, library);
        let mut reader = Reader::new(module, &name, &known);
        reader.read(&tokens);
        if module.is_empty() {
            exports.insert(library, reader.names.clone());
        }
        let file = arrows.entry((*path).to_owned()).or_default();
        for absolute in &reader.paths {
            let from = absolute.first().and_then(|name| exports.get(library)?.get(name));
            let absolute = from.filter(|_| !module.is_empty()).unwrap_or(absolute);
            let found = (0..=absolute.len())
                .rev()
                .find_map(|length| modules.get(&(*library, absolute[..length].to_vec())));
            if let Some(found) = found.filter(|found| *found != path) {
                file.insert((*found).to_owned());
            }
        }
    }
    (arrows, findings)
}

/// The crate's folder and the module's path of a file in `crates/*/src`.
fn module_of(path: &str) -> Option<(&str, Vec<String>)> {
    let (library, below) = path.split_once("/src/")?;
    if library.strip_prefix("crates/")?.contains('/') || below == "main.rs" {
        return None;
    }
    let mut module: Vec<String> =
        below.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
        module.pop();
    }
    Some((library, module))
}

/// What a program calls its library.
fn name_of_library(repository: &Repository, library: &str) -> String {
    let manifest = repository.text(&format!("{library}/Cargo.toml")).unwrap_or_default();
    let manifest = manifest.parse::<toml::Table>().unwrap_or_default();
    let name = |section: &str| manifest.get(section)?.get("name")?.as_str();
    name("lib").or_else(|| name("package")).unwrap_or_default().replace('-', "_")
}

/// Reads one file.
struct Reader<'a> {
    /// The crate's own name.
    library: &'a str,
    /// The module that is read: the file's, and those written out in it.
    here: Vec<String>,
    /// Whether a module has a file.
    known: &'a dyn Fn(&[String]) -> bool,
    /// The modules that it declares, by their names.
    children: BTreeSet<String>,
    /// What `use` gives names to, from the crate's root on.
    names: BTreeMap<String, Vec<String>>,
    /// What is imported, from the crate's root on.
    paths: BTreeSet<Vec<String>>,
}

impl<'a> Reader<'a> {
    fn new(module: &[String], library: &'a str, known: &'a dyn Fn(&[String]) -> bool) -> Self {
        Self {
            library,
            here: module.to_vec(),
            known,
            children: BTreeSet::new(),
            names: BTreeMap::new(),
            paths: BTreeSet::new(),
        }
    }

    fn read(&mut self, tokens: &[Token]) {
        for declared in tokens.windows(3) {
            if let [Token::Word(key), Token::Word(name), Token::Sign(';')] = declared
                && key == "mod"
            {
                self.children.insert(name.clone());
            }
        }
        // A name may be used above the `use` that gives it.
        self.walk(tokens, true);
        self.walk(tokens, false);
    }

    fn walk(&mut self, tokens: &[Token], only_uses: bool) {
        let top = self.here.clone();
        let mut depth = 0_usize;
        // The depths at which modules written out here began.
        let mut inside = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at..] {
                [Token::Word(key), Token::Word(name), Token::Open('{'), ..] if key == "mod" => {
                    self.here.push(name.clone());
                    inside.push(depth);
                    depth += 1;
                    at += 3;
                }
                // Not the `use<'a>` of a type.
                [Token::Word(key), next, ..] if key == "use" && *next != Token::Sign('<') => {
                    at = self.tree(tokens, at + 1, &[]);
                }
                [Token::Word(_), Token::Colons, ..]
                    if !only_uses && !follows_path(tokens, at) && !in_visibility(tokens, at) =>
                {
                    let mut path = Vec::new();
                    while let Some(Token::Word(part)) = tokens.get(at) {
                        path.push(part.clone());
                        at += 1;
                        match tokens.get(at) {
                            Some(Token::Colons) => at += 1,
                            _ => break,
                        }
                    }
                    self.import(&path);
                }
                [Token::Open(_), ..] => {
                    depth += 1;
                    at += 1;
                }
                [Token::Close(_), ..] => {
                    depth -= 1;
                    if inside.last() == Some(&depth) {
                        inside.pop();
                        self.here.pop();
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        self.here = top;
    }

    /// Reads a `use`, or what stands in its braces, after `before`; returns the first token after it.
    fn tree(&mut self, tokens: &[Token], mut at: usize, before: &[String]) -> usize {
        let mut path = before.to_vec();
        let mut name = None;
        loop {
            match tokens.get(at) {
                Some(Token::Word(key)) if key == "as" => {
                    name = tokens.get(at + 1).and_then(word);
                    at += 2;
                }
                Some(Token::Word(part)) => {
                    path.push(part.clone());
                    at += 1;
                }
                Some(Token::Open('{')) => {
                    at += 1;
                    while !matches!(tokens.get(at), None | Some(Token::Close(_))) {
                        at = self.tree(tokens, at, &path);
                    }
                    at += 1;
                    path.clear();
                }
                Some(Token::Sign(',' | ';')) => {
                    at += 1;
                    break;
                }
                None | Some(Token::Close(_)) => break,
                Some(_) => at += 1,
            }
        }
        if path.last().is_some_and(|last| last == "self") && path.len() > 1 {
            path.pop();
        }
        if let Some(absolute) = self.import(&path)
            && let Some(name) = name.or_else(|| path.last().map(String::as_str))
        {
            self.names.insert(name.to_owned(), absolute);
        }
        at
    }

    /// Notes a path, if it leads into this crate; returns it from the crate's root on.
    fn import(&mut self, path: &[String]) -> Option<Vec<String>> {
        let (head, rest) = path.split_first()?;
        let absolute = match head.as_str() {
            "crate" => rest.to_vec(),
            "self" | "super" => {
                let mut base = self.here.clone();
                let ups = path.iter().skip_while(|part| *part == "self");
                let ups = ups.take_while(|part| *part == "super").count();
                base.truncate(base.len().checked_sub(ups)?);
                let down = path.iter().skip_while(|part| matches!(part.as_str(), "self" | "super"));
                base.extend(down.cloned());
                base
            }
            child if self.children.contains(child) => [&self.here, path].concat(),
            name if name == self.library => rest.to_vec(),
            name => [self.names.get(name).filter(|path| (self.known)(path))?, rest].concat(),
        };
        self.paths.insert(absolute.clone());
        Some(absolute)
    }
}

/// Whether the token at `at` goes on with a path or a call.
fn follows_path(tokens: &[Token], at: usize) -> bool {
    at > 0 && matches!(tokens[at - 1], Token::Colons | Token::Sign('.'))
}

/// Whether this is the path of `pub(in crate::…)`.
fn in_visibility(tokens: &[Token], at: usize) -> bool {
    at >= 3
        && word(&tokens[at - 1]) == Some("in")
        && tokens[at - 2] == Token::Open('(')
        && word(&tokens[at - 3]) == Some("pub")
}
