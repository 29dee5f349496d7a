#!/usr/bin/env bash
# Builds the pages into web/dist, from where the binary takes them; does nothing if they are newer than their sources.
# Usage: scripts/pages.sh [--if-possible | --fetch-only]
#   --if-possible   without npm say so, and go on
#   --fetch-only    fetch what they are built with, and build nothing
set -euo pipefail
cd "$(dirname "$0")/.."

if ! problem=$(scripts/need.sh npm 2>&1); then
  echo "$problem" >&2
  [ "${1:-}" = --if-possible ] || exit 3
  echo "going on without the pages: the API works, and / says how to get them" >&2
  exit 0
fi

cd web
built=dist/index.html.br
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  echo "fetching what the pages are built with" >&2
  npm ci --no-audit --no-fund --silent
  touch node_modules/.package-lock.json
fi
[ "${1:-}" != --fetch-only ] || exit 0
if [ ! -e "$built" ] || [ -n "$(find src public index.html admin.html openapi.json package-lock.json ./*.ts -newer "$built" -print -quit)" ]; then
  echo "building the pages" >&2
  npm run --silent build -- --logLevel warn >&2
fi
