//! The rules of the house, each held against this repository, and each shown to find what it is for.

mod rules;

use std::sync::LazyLock;
use tidy::{
    Repository, circles, crates, documents, examples, imports, lengths, lua, rooms, scripts,
    servers,
};

static HERE: LazyLock<Repository> =
    LazyLock::new(|| Repository::here().expect("the repository can be read"));

/// Fails with the findings, one a line.
#[track_caller]
fn nothing(found: &[String]) {
    assert!(found.is_empty(), "\n{} findings:\n{}\n", found.len(), found.join("\n"));
}

#[test]
fn no_circle_of_imports_crosses_folders_or_is_too_large_to_read() {
    let (arrows, mut found) = imports::of(&HERE);
    assert!(arrows.len() > 100, "the crates' files are read");
    found.extend(circles::findings(&arrows));
    nothing(&found);
}

#[test]
fn crates_depend_on_what_the_architecture_allows() {
    nothing(&crates::findings(&HERE));
}

#[test]
fn rooms_import_what_the_architecture_allows() {
    nothing(&rooms::findings(&HERE));
}

#[test]
fn rooms_that_the_architecture_names_are_there() {
    nothing(&documents::rooms(&HERE));
}

#[test]
fn lines_of_code_can_be_read_without_scrolling() {
    nothing(&lengths::wide_lines(&HERE));
}

#[test]
fn files_of_code_can_be_read_at_once() {
    nothing(&lengths::long_files(&HERE));
}

#[test]
fn lines_of_documents_can_be_read_in_any_terminal() {
    nothing(&lengths::wide_prose(&HERE));
}

#[test]
fn every_lua_file_is_taken_in_by_rust_code() {
    nothing(&lua::findings(&HERE));
}

#[test]
fn keys_of_redis_are_those_of_their_document() {
    nothing(&documents::redis_keys(&HERE));
}

#[test]
fn fields_of_meta_are_those_of_their_document() {
    nothing(&documents::fields_of_meta(&HERE));
}

#[test]
fn settings_in_documents_are_those_of_the_template() {
    nothing(&documents::settings(&HERE));
}

#[test]
fn examples_are_run_where_there_are_some() {
    nothing(&examples::findings(&HERE));
}

#[test]
fn unit_tests_start_no_server() {
    nothing(&servers::findings(&HERE));
}

#[test]
fn programs_are_where_cargo_builds() {
    nothing(&scripts::findings(&HERE));
}

#[test]
fn glossary_explains_each_word_once() {
    nothing(&documents::glossary(&HERE));
}
