#!/usr/bin/env bash
# Prints the folder that Cargo builds into: target/, unless CARGO_TARGET_DIR or Cargo's configuration names
# another. A program that lies in target/ all the same is an old one.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo metadata --format-version 1 --no-deps | grep -o '"target_directory":"[^"]*"' | cut -d '"' -f 4
