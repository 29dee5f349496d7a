#!/usr/bin/env bash
# Format, lints and types of the pages.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/pages.sh --fetch-only
cd web
npm run --silent format:check
npm run --silent lint
npm run --silent check
