//! Each rule on small repositories that break it, and on one that does not.

use tidy::{
    Repository, circles, crates, documents, examples, imports, lengths, lua, rooms, scripts,
    servers,
};

/// The findings are as many as these, and each has its words.
#[track_caller]
fn told(found: &[String], wanted: &[&str]) {
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
    for words in wanted {
        assert!(found.iter().any(|sentence| sentence.contains(words)), "{words}: {found:#?}");
    }
}

/// What a file of a crate with these files imports.
fn imported(files: &[(&str, &str)], from: &str) -> Vec<String> {
    let (arrows, found) = imports::of(&Repository::of(files));
    assert!(found.is_empty(), "{found:#?}");
    arrows[from].iter().cloned().collect()
}

const ROOT: &str = "crates/a/src/lib.rs";
const HALL: &str = "crates/a/src/hall/mod.rs";
const DOOR: &str = "crates/a/src/hall/door.rs";
const YARD: &str = "crates/a/src/yard.rs";

#[test]
fn each_way_to_import_is_an_arrow() {
    for (text, from, to) in [
        ("use crate::hall::door::Door;", YARD, DOOR),
        ("use crate::{yard::Gate, hall::{self, door::{Door as D}}};", ROOT, DOOR),
        ("pub(crate) use super::Hall;", DOOR, HALL),
        ("use super::super::yard;", DOOR, YARD),
        ("fn a() { crate::hall::door::shut(); }", YARD, DOOR),
        ("mod door; fn a() { door::shut(); }", HALL, DOOR),
        ("mod door; pub use door::Door;", HALL, DOOR),
        ("use crate::hall; fn a() { hall::door::shut(); }", YARD, DOOR),
        ("macro_rules! a { () => { $crate::hall::door::shut() }; }", YARD, DOOR),
        ("mod inner { use super::door::Door; }", HALL, DOOR),
        ("fn a() { onrush_a::hall::door::shut(); }", YARD, DOOR),
    ] {
        let mut files = vec![
            (ROOT, ""),
            (HALL, ""),
            (DOOR, ""),
            (YARD, ""),
            ("crates/a/Cargo.toml", "[package]\nname = \"onrush-a\"\n"),
        ];
        files.retain(|(path, _)| *path != from);
        files.push((from, text));
        assert!(imported(&files, from).contains(&to.to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_import_is_no_arrow() {
    for text in [
        "// crate::yard::Gate",
        "const A: &str = \"crate::yard::Gate\";",
        "#[cfg(test)] mod tests { use crate::yard::Gate; }",
        "pub(in crate::yard) fn a() {}",
        "mod door;",
        "fn a() -> impl Iterator + use<'_> { std::yard::b() }",
        "struct A { r#use: yard }",
    ] {
        let files = [(ROOT, ""), (HALL, text), (DOOR, ""), (YARD, "")];
        assert!(imported(&files, HALL).is_empty(), "{text}");
    }
}

#[test]
fn names_that_the_root_exports_lead_to_where_they_come_from() {
    let root = "mod hall; mod yard; pub use hall::door::Door;";
    let files = [(ROOT, root), (HALL, "mod door;"), (DOOR, ""), (YARD, "use crate::Door;")];
    assert_eq!(imported(&files, YARD), [DOOR]);
}

#[test]
fn file_that_is_no_rust_is_found() {
    let (_, found) = imports::of(&Repository::of(&[(YARD, "fn (")]));
    told(&found, &["crates/a/src/yard.rs: cannot be read as Rust"]);
}

fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    circles::findings(&imports::of(&Repository::of(files)).0)
}

#[test]
fn circle_across_folders_is_found() {
    let found = circles_of(&[
        (DOOR, "use crate::yard::Gate;"),
        (YARD, "use crate::hall::Hall;"),
        (HALL, "mod door; use door::Door;"),
    ]);
    told(&found, &["door.rs → crates/a/src/yard.rs → crates/a/src/hall/mod.rs → "]);
    assert!(found[0].contains("files of 2 folders import each other, 3 in all"), "{found:?}");
}

#[test]
fn file_beside_its_folder_stands_for_the_folder() {
    told(
        &circles_of(&[
            ("crates/a/src/hall.rs", "mod door; pub use door::Door; pub struct Hall;"),
            (DOOR, "use super::Hall;"),
        ]),
        &[],
    );
}

#[test]
fn circle_within_a_folder_may_have_eight_files() {
    let paths: Vec<String> = (0..9).map(|n| format!("crates/a/src/f{n}.rs")).collect();
    for (files, wanted) in [(8, 0), (9, 1)] {
        let texts: Vec<String> =
            (0..files).map(|n| format!("use crate::f{}::F;", (n + 1) % files)).collect();
        let files: Vec<(&str, &str)> =
            paths.iter().zip(&texts).map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(circles_of(&files).len(), wanted);
    }
}

const CRATES: &str = "## Crates\n\n\
    | crate | imports | with a feature also | in tests also |\n|---|---|---|---|\n";

#[test]
fn arrows_between_crates_are_those_of_the_table() {
    let rules = "[package]\nname = \"o-rules\"\n[dependencies]\nserde = \"1\"\n";
    let shop = "[package]\nname = \"o-shop\"\n[features]\ncluster = [\"dep:o-kit\"]\n\
        [dependencies]\no-rules.workspace = true\no-kit = { workspace = true, optional = true }\n\
        [dev-dependencies]\no-kit.workspace = true\n\
        o-shop = { path = \".\", features = [\"cluster\"] }\n";
    let kit = "[package]\nname = \"o-kit\"\n";
    for (rows, wanted) in [
        (
            "| `crates/rules` | – | – | – |\n| `crates/shop` | rules | kit | kit |\n\
             | `crates/kit` | – | – | – |\n",
            vec![],
        ),
        (
            "| `crates/rules` | kit | – | – |\n| `crates/shop` | – | kit | – |\n\
             | `crates/yard` | – | – | – |\n",
            vec![
                "ARCHITECTURE.md:5: rules does not depend on kit (\"imports\")",
                "crates/shop/Cargo.toml: rules is a dependency that ARCHITECTURE.md does not allow",
                "does not allow (Crates, \"in tests also\")",
                "ARCHITECTURE.md:7: there is no crate yard",
                "lacks kit",
            ],
        ),
    ] {
        let page = format!("{CRATES}{rows}");
        let repository = Repository::of(&[
            ("ARCHITECTURE.md", &page),
            ("crates/rules/Cargo.toml", rules),
            ("crates/shop/Cargo.toml", shop),
            ("crates/kit/Cargo.toml", kit),
        ]);
        told(&crates::findings(&repository), &wanted);
    }
}

#[test]
fn crates_without_a_table_are_found() {
    told(&crates::findings(&Repository::of(&[])), &["there is no table under \"Crates\""]);
}

#[test]
fn crate_that_comes_with_an_unknown_feature_is_found() {
    let shop = "[package]\nname = \"shop\"\n[features]\nfast = [\"dep:kit\"]\n\
        [dependencies]\nkit = { workspace = true, optional = true }\n";
    let page = format!("{CRATES}| `shop` | – | kit | – |\n| `kit` | – | – | – |\n");
    let repository = Repository::of(&[
        ("ARCHITECTURE.md", &page),
        ("crates/shop/Cargo.toml", shop),
        ("crates/kit/Cargo.toml", "[package]\nname = \"kit\"\n"),
    ]);
    told(
        &crates::findings(&repository),
        &["kit comes with another feature than cluster and servers"],
    );
}

/// A server with three rooms, of which the first imports the second, and a table.
fn house(rows: &str) -> Repository {
    let page = format!("### Who imports whom\n\n| room | imports |\n|---|---|\n{rows}");
    Repository::of(&[
        ("ARCHITECTURE.md", &page),
        ("crates/api/src/lib.rs", "mod http; mod saga; mod config;"),
        ("crates/api/src/http/mod.rs", "mod door;"),
        ("crates/api/src/http/door.rs", "use crate::saga::start;"),
        ("crates/api/src/saga.rs", "pub fn start() {}"),
        ("crates/api/src/config/mod.rs", ""),
    ])
}

#[test]
fn arrows_between_rooms_are_those_of_the_table() {
    for (rows, wanted) in [
        ("| `http/` | saga |\n| `saga.rs` | – |\n| `config/` | – |\n", vec![]),
        (
            "| `http/` | – |\n| `saga.rs` | – |\n| `config/` | – |\n",
            vec!["crates/api/src/http/door.rs: http imports saga, which ARCHITECTURE.md does not"],
        ),
        (
            "| `http/` | saga, config |\n| `saga.rs` | – |\n| `config/` | – |\n",
            vec!["ARCHITECTURE.md:5: http does not import config; take it out."],
        ),
        (
            "| `saga.rs` | – |\n| `http/` | saga |\n| `config/` | – |\n",
            vec!["ARCHITECTURE.md:6: http imports saga, which stands above it"],
        ),
        (
            "| `http/` | saga |\n| `saga.rs` | – |\n| `yard/` | – |\n| `saga.rs` | – |\n",
            vec!["there is no room yard", "saga has two rows", "lacks config"],
        ),
    ] {
        told(&rooms::findings(&house(rows)), &wanted);
    }
}

#[test]
fn table_that_is_printed_is_one_that_passes() {
    let printed = rooms::table(&house(""));
    let rows = printed.split_once("|---|---|\n").expect("a table").1;
    told(&rooms::findings(&house(rows)), &[]);
    assert!(rows.contains("| `http/` | saga |\n"), "{rows}");
}

#[test]
fn server_without_a_table_is_found() {
    told(
        &rooms::findings(&Repository::of(&[])),
        &["`cargo run -p tidy --example rooms` prints it"],
    );
}

#[test]
fn example_that_is_not_run_is_found_and_so_is_a_search_for_none() {
    let (off, on) = ("[lib]\ndoctest = false\n", "[package]\n");
    let drawing = "//! ```text\n//! a → b\n//! ```\n";
    let example = "//! ```text\n//! ```\n/// ```\n/// assert!(true);\n/// ```\nfn f() {}\n";
    let found = |manifest, source| {
        examples::findings(&Repository::of(&[
            ("crates/shop/Cargo.toml", manifest),
            ("crates/shop/src/lib.rs", ""),
            ("crates/shop/src/till.rs", source),
        ]))
    };
    told(&found(off, example), &["crates/shop/src/till.rs:3: the example is not run"]);
    told(&found(on, drawing), &["crates/shop/Cargo.toml: there are no examples to run"]);
    told(&found(off, drawing), &[]);
    told(&found(on, example), &[]);
}

#[test]
fn wide_line_of_code_is_found_by_characters() {
    let (fits, wide) = ("ü".repeat(110), "ü".repeat(111));
    let text = format!("{fits}\n{wide}\n");
    for path in ["a.rs", "b/a.lua", "web/a.ts", "web/A.svelte"] {
        let found = lengths::wide_lines(&Repository::of(&[(path, &text)]));
        told(&found, &[&format!("{path}:2: 111 columns")]);
    }
    let generated = [(".gitattributes", "*.gen.ts linguist-generated\n"), ("a.gen.ts", &text)];
    told(&lengths::wide_lines(&Repository::of(&generated)), &[]);
    told(&lengths::wide_lines(&Repository::of(&[("a.json", &text)])), &[]);
}

#[test]
fn long_file_of_code_is_found() {
    let (fits, long) = ("\n".repeat(600), "\n".repeat(601));
    told(&lengths::long_files(&Repository::of(&[("a.rs", &fits), ("a.md", &long)])), &[]);
    told(&lengths::long_files(&Repository::of(&[("a.rs", &long)])), &["a.rs: 601 lines"]);
}

#[test]
fn wide_prose_is_found_outside_tables_code_and_links() {
    let wide = "word ".repeat(30);
    for (page, wanted) in [
        (format!("{wide}\n"), vec!["a.md:1: "]),
        (format!("- {wide}\n"), vec!["a.md:1: "]),
        (format!("| {wide} |\n"), vec![]),
        (format!("```sh\n{wide}\n```\n{wide}\n"), vec!["a.md:4: "]),
        (format!("[a link](https://example.com/{})\n", "a".repeat(99)), vec![]),
        (format!("[a]: https://example.com/{}\n", "a".repeat(99)), vec![]),
        (format!("{wide} [a link](b.md)\n"), vec!["a.md:1: "]),
    ] {
        told(&lengths::wide_prose(&Repository::of(&[("a.md", &page)])), &wanted);
    }
}

#[test]
fn lua_that_nobody_takes_in_is_found() {
    let rust = "const A: &str = include_str!(\"../lua/alone.lua\");\n\
        macro_rules! b { ($n:literal) => { include_str!(concat!(\"../lua/\", $n, \".lua\")) } }\n\
        macro_rules! c { ($n:literal) => { include_str!(concat!(\"../lua/include/\", $n, \".lua\")) } }\n\
        const N: [&str; 3] = [\"engine/hold\", \"begin\", \"lines\"];\n\
        #[cfg(test)] const T: &str = \"engine/old\";\n";
    let found = lua::findings(&Repository::of(&[
        ("crates/a/src/scripts.rs", rust),
        ("crates/a/lua/alone.lua", ""),
        ("crates/a/lua/engine/hold.lua", "--#include begin\n"),
        ("crates/a/lua/engine/old.lua", ""),
        ("crates/a/lua/include/begin.lua", ""),
        ("crates/a/lua/include/lines.lua", ""),
        ("crates/a/lua/include/spare.lua", ""),
    ]));
    told(
        &found,
        &[
            "engine/old.lua: no Rust code takes it in",
            "include/spare.lua: no Rust code takes it in",
            "include/lines.lua: no script includes it",
        ],
    );
}

#[test]
fn keys_that_differ_from_their_document_are_found() {
    let code =
        "const PARTS: [&str; 3] = [\"meta\", \"pools\", \"seats\"];\nconst B: &str = \"c\";\n";
    let page = |keys: [&str; 3]| {
        let [a, b, c] = keys;
        format!(
            "# Keys\n\n```\nonrush:{{E}}:\n  {a}  hash\n  {b}  hash\n  {c}\nonrush:events\n```\n"
        )
    };
    for (keys, wanted) in [
        (["meta", "pools", "seats"], vec![]),
        (["meta", "pools", "stools"], vec!["lacks the key seats", "md:7: there is no key stools"]),
        (["pools", "meta", "seats"], vec!["md:5: scripts are given meta here, not pools"]),
    ] {
        let page = page(keys);
        let files =
            [("crates/store/src/redis/keys.rs", code), ("docs/design/redis-keys.md", &page)];
        told(&documents::redis_keys(&Repository::of(&files)), &wanted);
    }
    told(&documents::redis_keys(&Repository::of(&[])), &["mend this rule"]);
}

#[test]
fn fields_of_meta_that_differ_from_their_document_are_found() {
    let page = "# Keys\n\n**meta.** `seq` its number,\n`alive` a time, `gone` (`days:percent,…`).\n\n`b`\n";
    let files = [
        ("docs/design/redis-keys.md", page),
        ("crates/store/lua/engine/a.lua", "M.seq = M.seq + 1 -- M.never\nlocal x = SUM.y\n"),
        ("crates/store/lua/include/b.lua", "if M.phase then end\n"),
        ("crates/store/src/redis/c.rs", "command.arg(\"alive\")"),
    ];
    told(
        &documents::fields_of_meta(&Repository::of(&files)),
        &["include/b.lua: meta has phase", "no script and no code has meta's gone"],
    );
    told(&documents::fields_of_meta(&Repository::of(&[])), &["no paragraph begins with"]);
}

#[test]
fn settings_that_are_not_there_are_found() {
    let template =
        "# The door.\nlisten = \"a\"\n# [mail]\n# from = \"b\"\n[limits]\nreads_per_min = 1\n";
    let page = "`ONRUSH_LISTEN`, `ONRUSH_MAIL_FROM`, `ONRUSH_LIMITS`, `ONRUSH_<X>`, \
        `ONRUSH_LIMITS_READS_PER_MIN`, `ONRUSH_MAIL__FROM`, `ONRUSH_LISTEN_FILE`\n\
        `ONRUSH_LISTENS`\n\n\
        ```toml\nlisten = \"c\"   # here\n[limits]\nreads_per_min = 2\nwrites_per_min = 2\n```\n\n\
        ```toml\nlisten = \"c\"\nfrom = \"d\"\n[[mail]]\nfrom = \"d\"\n```\n";
    let files = [("crates/base/src/config/template.toml", template), ("docs/operating.md", page)];
    told(
        &documents::settings(&Repository::of(&files)),
        &[
            "docs/operating.md:2: no setting has the variable ONRUSH_LISTENS",
            "docs/operating.md:8: there is no setting limits.writes_per_min",
            "docs/operating.md:13: there is no setting from",
        ],
    );
    told(&documents::settings(&Repository::of(&[])), &["mend this rule"]);
}

#[test]
fn unit_test_that_starts_a_server_is_found() {
    let text = "fn a() {\n    let Some(redis) = need(Redis::start()) else { return };\n}\n";
    let found = |path| servers::findings(&Repository::of(&[(path, text)]));
    told(&found("crates/a/src/till.rs"), &["crates/a/src/till.rs:2: a unit test starts a server"]);
    for path in ["crates/a/tests/till.rs", "crates/testkit/src/redis.rs", "docs/a.md"] {
        told(&found(path), &[]);
    }
    let other = "fn knead(a: u8) {}\nfn b() { knead(1); cake.needed(2) }\n";
    told(&servers::findings(&Repository::of(&[("crates/a/src/till.rs", other)])), &[]);
}

#[test]
fn program_that_is_looked_for_in_target_is_found() {
    for line in [
        "target/debug/onrush simulate",
        "[ ! -d target/debug ] || exit",
        r#"cp "target/$triple/release/onrush" "$out""#,
        r#"path.join(ROOT, "target/debug/onrush")"#,
        r#"exec "$PWD/target/release/onrush""#,
        "dir=${CARGO_TARGET_DIR:-target}",
    ] {
        for path in ["scripts/run.sh", "web/tests/server.ts", "Makefile", ".ci/run"] {
            let found = scripts::findings(&Repository::of(&[(path, &format!("\n{line}\n"))]));
            told(&found, &[&format!("{path}:2: Cargo may build elsewhere")]);
        }
        told(&scripts::findings(&Repository::of(&[("docs/a.md", line)])), &[]);
    }
    for line in [
        r#""$built/debug/onrush" simulate"#,
        r#"cp "$built/$static_target/release/onrush" "$out""#,
        "target/python/bin/python scripts/run.py",
        "out=target/release-$version",
    ] {
        told(&scripts::findings(&Repository::of(&[("scripts/run.sh", line)])), &[]);
    }
}

#[test]
fn word_that_is_explained_twice_is_found() {
    let page = "| word | meaning |\n|---|---|\n| **hold** | Units. |\n| **seat**, **Hold** | A **row**. |\n";
    told(
        &documents::glossary(&Repository::of(&[("docs/glossary.md", page)])),
        &["docs/glossary.md:4: line 3 explains Hold too"],
    );
    told(&documents::glossary(&Repository::of(&[])), &["mend this rule"]);
}

#[test]
fn room_that_is_not_there_is_found() {
    let page = "### core: the rules\n\n| file | what |\n|---|---|\n\
        | `event/mod.rs` `tick.rs` | |\n| `event/decide_*.rs` | |\n| `event/` `lib.rs` | |\n\
        | `yard.rs` | |\n| `event/undo_*.rs` | |\n\n\
        | folder of `lua/` | what |\n|---|---|\n| `engine/` | |\n| `query/` | |\n";
    let files = [
        ("ARCHITECTURE.md", page),
        ("crates/core/src/lib.rs", ""),
        ("crates/core/src/event/mod.rs", ""),
        ("crates/core/src/event/tick.rs", ""),
        ("crates/core/src/event/decide_a.rs", ""),
        ("crates/core/lua/engine/a.lua", ""),
    ];
    told(
        &documents::rooms(&Repository::of(&files)),
        &[
            "ARCHITECTURE.md:8: there is no yard.rs in crates/core/src",
            "ARCHITECTURE.md:9: there is no event/undo_*.rs",
            "ARCHITECTURE.md:14: there is no query/ in crates/core/lua",
        ],
    );
}
