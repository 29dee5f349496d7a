#!/usr/bin/env bash
# What scripts/test.sh has built and looked over while the tests run.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/fuzz.sh --build-only
# Neither needs what the tests are made of.
unset RUSTC_WORKSPACE_WRAPPER
cargo clippy -p onrush --locked --quiet -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --features onrush/cluster,onrush-bridge/kafka-tls --no-deps \
  --document-private-items --locked --quiet
