#!/usr/bin/env bash
# Runs the demo. On a terminal it stays for whoever wants to buy among the crowd; elsewhere it ends with the figures.
set -euo pipefail
cd "$(dirname "$0")/.."
stay=()
[ ! -t 1 ] || stay=(--stay)
exec cargo run --release --locked --quiet --bin onrush -- demo "${stay[@]}" "$@"
