//! Shows every target all that is in its corpus: what was ever found stays found.

use onrush_fuzz::{TARGETS, Verdict, quiet};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files have no name by chance: it tells what comes of them, or what they once did.
const BEGINNINGS: [(&str, Option<Verdict>); 3] = [
    ("accepted-", Some(Verdict::Accepted)),
    ("refused-", Some(Verdict::Refused)),
    ("found-", None),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap_or_else(|why| panic!("{}: {why}", dir.display()));
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_file_of_the_corpus_comes_to_what_its_name_says() {
    quiet::install(|| ());
    for target in TARGETS {
        let dir = corpus().join(target.name);
        for name in names(&dir).into_iter().filter(|name| !name.ends_with(".json")) {
            let beginning = BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
            let (_, expected) = beginning.unwrap_or_else(|| {
                panic!("{}/{name}: a name begins with accepted-, refused- or found-", target.name)
            });
            println!("{}/{name}", target.name);
            let verdict = (target.run)(&fs::read(dir.join(&name)).unwrap());
            assert!(expected.is_none_or(|it| it == verdict), "{}/{name}: {verdict:?}", target.name);
        }
    }
}

#[test]
fn every_target_has_a_corpus_with_something_that_is_accepted_and_no_other_is_there() {
    let targets: BTreeSet<_> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names(&corpus()), targets);
    for target in targets {
        let names = names(&corpus().join(&target));
        assert!(names.iter().any(|name| name.starts_with("accepted-")), "{target}");
    }
}
