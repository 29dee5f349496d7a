#!/usr/bin/env bash
# Every benchmark of docs/benchmarks.md, one after the other, into one document; and what differs by more than noise
# from the newest one that was kept. Takes some minutes; nothing else should run meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet -p onrush --features lab
target/release/onrush bench all --to target/bench.json "$@"
kept=$(find docs/benchmarks -name '*.json' 2>/dev/null | sort -V | tail -n 1)
[ -z "$kept" ] || target/release/onrush bench against "$kept" target/bench.json
