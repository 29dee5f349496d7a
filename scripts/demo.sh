#!/usr/bin/env bash
# Runs the demo. On a terminal it stays for whoever wants to buy among the crowd; elsewhere it ends with the figures.
set -euo pipefail
cd "$(dirname "$0")/.."
stay=()
[ ! -t 1 ] || stay=(--stay)
# The servers of a cluster are gone after the sale.
for argument in "$@"; do
  [ "$argument" != --cluster ] || stay=()
done
# Bash before 4.4 takes an empty array for a variable that is not set.
exec cargo run --release --locked --quiet --bin onrush -- demo ${stay[@]+"${stay[@]}"} "$@"
