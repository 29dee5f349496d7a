//! Texts that must not change by accident, each in a file beside its test.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes the files anew instead of comparing, if it is set.
const WRITE: &str = "ONRUSH_WRITE_GOLDEN";

/// Compares a text with the file at `path`, an absolute one.
///
/// ```no_run
/// # let text = "";
/// onrush_testkit::golden(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/help.txt"), text);
/// ```
///
/// # Panics
///
/// If they differ or there is no such file: with the lines that differ, and how to renew the file.
#[track_caller]
pub fn golden(path: impl AsRef<Path>, text: &str) {
    let path = path.as_ref();
    let shown = path.display();
    if env::var_os(WRITE).is_some() {
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        fs::write(path, text).unwrap_or_else(|error| panic!("{shown}: {error}"));
        return;
    }
    let renew =
        format!("If that is meant, run this test with {WRITE}=1 and look at the difference.");
    let kept = fs::read_to_string(path).unwrap_or_else(|error| panic!("{shown}: {error}. {renew}"));
    assert!(kept == text, "{shown} has another text.\n{}{renew}", difference(&kept, text));
}

/// The lines of only one text, in order: `-` before those of the first, `+` before those of the second.
fn difference(first: &str, second: &str) -> String {
    let (a, b): (Vec<_>, Vec<_>) =
        (first.split_inclusive('\n').collect(), second.split_inclusive('\n').collect());
    // How many lines the rests from here on have in common.
    let mut common = vec![vec![0_usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] = if a[i] == b[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let mut out = String::new();
    let mut tell = |sign, line: &str| {
        // Escaped, so that a missing line break shows.
        writeln!(
            out,
            "{sign} {}",
            line.strip_suffix('\n').map_or(format!("{line:?}"), str::to_owned)
        )
        .expect("memory can be written to");
    };
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            tell('-', a[i]);
            i += 1;
        } else {
            tell('+', b[j]);
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{difference, golden};

    #[test]
    fn lines_that_differ_are_told_in_order() {
        for (first, second, told) in [
            ("a\nb\nc\n", "a\nb\nc\n", ""),
            ("a\nb\nc\n", "a\nB\nc\n", "- b\n+ B\n"),
            ("a\nb\n", "b\nc\n", "- a\n+ c\n"),
            ("", "a\n", "+ a\n"),
            ("a\n", "a", "- a\n+ \"a\"\n"),
        ] {
            assert_eq!(difference(first, second), told, "{first:?} {second:?}");
        }
    }

    #[test]
    fn same_text_passes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a\n").unwrap();
        golden(&path, "a\n");
    }

    #[test]
    #[should_panic(expected = "has another text.\n- a\n+ b\n")]
    fn other_text_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a\n").unwrap();
        golden(&path, "b\n");
    }

    #[test]
    #[should_panic(expected = "ONRUSH_WRITE_GOLDEN=1")]
    fn missing_file_fails_and_says_how_to_make_it() {
        golden("/nowhere/text", "a\n");
    }
}
