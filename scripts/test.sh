#!/usr/bin/env bash
# Every check there is: format, lints, tests, and the HTTP API against its own OpenAPI document.
# A check that cannot run says so in a line that begins with NOT RUN, and fails when CI is set.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet

step "tests"
cargo test --workspace --locked --quiet

step "the HTTP API against its OpenAPI document"
scripts/schemathesis.sh
