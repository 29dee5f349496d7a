//! The documented command lines.

use crate::{Kit, kit, scripts};
use onrush_testkit::{Missing, NotStarted, need};
use std::process::Command;

/// Runs a command line in the folder of the scripts; what it prints.
fn shell(kit: &Kit, line: &str) -> Option<String> {
    let options = format!("-p {} -n {}", kit.server.port(), kit.database);
    let line = line.replacen("redis-cli", &format!("redis-cli {options}"), 1);
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    let output = match Command::new(program).args(words).current_dir(scripts()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let install = "On Debian or Ubuntu: sudo apt-get install redis-tools";
            need::<()>(Err(NotStarted::Missing(Missing { what: "redis-cli", install })));
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).expect("text"))
}

#[test]
fn documented_redis_cli_line_works_as_printed() {
    let Some(mut kit) = kit() else { return };
    kit.redis(&["SET", "zone:availability:test", "100"]);
    let line = "redis-cli --eval reserve_seats.lua zone:availability:test user:reservations:test:event \
                reservation:test , 1 4 user123 booking123 zone123 event123 show123 15000 600";
    let Some(printed) = shell(&kit, line) else { return };
    assert_eq!(printed.split_whitespace().collect::<Vec<_>>(), ["1", "99", "1"]);
    assert_eq!(kit.get(&["HGET", "reservation:test", "unit_price"]), "15000");
}

#[test]
fn command_lines_of_the_document_work() {
    let Some(mut kit) = kit() else { return };
    let path = scripts().join("../../../../docs/script-kit.md");
    let document = std::fs::read_to_string(path).expect("the kit has its document");
    let block = document
        .split("```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("a block of commands");
    let mut prints = Vec::new();
    for line in block.lines().filter(|line| line.starts_with("redis-cli")) {
        let (line, comment) = line.split_once(" # ").expect("each line says what it prints");
        let Some(printed) = shell(&kit, line) else { return };
        let printed: Vec<_> = printed.split_whitespace().collect();
        assert_eq!(printed, comment.split_whitespace().collect::<Vec<_>>(), "{line}");
        prints.push(printed.len());
    }
    assert!(prints.len() >= 4, "the document shows how a seat is held, given back, and expires");
    assert_eq!(kit.get(&["GET", "zone:availability:test"]), "100");
}
