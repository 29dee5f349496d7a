#!/usr/bin/env bash
# The benchmarks of docs/benchmarks.md that run by themselves, one after the other, into one document; and what differs
# by more than noise from the newest one that was kept. docs/benchmarks.md says what is not in it. Archive, backup,
# overload and hostile alone take a quarter of an hour (`scripts/bench.sh --scale 0.1`: less); nothing else should run
# meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --quiet -p onrush --features lab
built=$(scripts/target_dir.sh)
"$built/release/onrush" bench all --to "$built/bench.json" "$@"
kept=$(find docs/benchmarks -name '*.json' 2>/dev/null | sort -V | tail -n 1)
[ -z "$kept" ] || "$built/release/onrush" bench against "$kept" "$built/bench.json"
