#!/usr/bin/env bash
# Every benchmark of docs/benchmarks.md, one after the other. Takes some minutes; nothing else should run meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet -p onrush --features lab
target/release/onrush bench engine "$@"
target/release/onrush bench http "$@"
target/release/onrush bench map "$@"
target/release/onrush bench paid "$@"
target/release/onrush bench redis "$@"
target/release/onrush bench postgres "$@"
target/release/onrush bench compare "$@"
