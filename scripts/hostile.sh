#!/usr/bin/env bash
# Has hostile clients at a server that is held to 1 GiB of memory and 1,200 files, beside buyers who behave.
# Usage: scripts/hostile.sh [--minutes 10] [--only pings,bodies] [--json]
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh cargo cc
command -v prlimit >/dev/null || { echo "scripts/hostile.sh needs prlimit (Debian: util-linux)." >&2; exit 3; }
cargo build --release --locked --quiet
built=$(scripts/target_dir.sh)
exec "$built/release/onrush" bench hostile "$@"
