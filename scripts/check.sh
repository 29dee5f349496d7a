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

step "tests of libraries and of the rules"
cargo test --workspace --locked --quiet --lib --test rules

if [ -d crates/tidy ]; then
  step "tests of the house"
  cargo test --manifest-path crates/tidy/Cargo.toml --locked --quiet
fi

step "pages"
wait "$pages" || { cat "$said"; exit 1; }
