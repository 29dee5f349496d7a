#!/usr/bin/env bash
# What one runs before a commit: format, lints, the tests that need no server, the pages' types. The rest: make test.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; }

step "format"
cargo fmt --all --check

# The pages meanwhile.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
scripts/check_pages.sh >"$said" 2>&1 &
pages=$!

step "lints"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

step "tests of libraries, of the rules and of the house"
cargo test --workspace --locked --quiet --lib --test rules --test tidy

step "pages"
wait "$pages" || { cat "$said"; exit 1; }
