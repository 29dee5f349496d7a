#!/usr/bin/env bash
# Every check there is: format, lints, tests, the pages in a browser, and the HTTP API against its own OpenAPI document.
# A check that cannot run says so in a line that begins with NOT RUN, and fails when CI is set.
set -euo pipefail
cd "$(dirname "$0")/.."

# Tests write there what they could not run, and on what mock they ran.
ONRUSH_NOT_RUN=$(mktemp)
export ONRUSH_NOT_RUN
not_run() {
  if [ -s "$ONRUSH_NOT_RUN" ]; then
    printf '\n%s tests did not run, %s ran on a mock:\n' \
      "$(grep -c '^NOT RUN' "$ONRUSH_NOT_RUN")" "$(grep -c '^ON A MOCK' "$ONRUSH_NOT_RUN")"
    sort "$ONRUSH_NOT_RUN"
  fi
  rm -f "$ONRUSH_NOT_RUN"
}
trap not_run EXIT

step() { printf '\n== %s\n' "$*"; }

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

step "lints without the cluster"
cargo clippy -p onrush --locked --quiet -- -D warnings

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --features onrush/cluster --no-deps --document-private-items --locked --quiet

step "files to deploy"
if target/python/bin/python -c "import yaml" 2>/dev/null; then
  target/python/bin/python scripts/check_deploy.py
else
  echo "NOT RUN: scripts/check_deploy.py needs PyYAML, which comes with schemathesis (scripts/need.sh schemathesis)"
  [ -z "${CI:-}" ]
fi

step "tests"
cargo test --workspace --locked --quiet

step "pages"
scripts/pages.sh
(cd web && npm run --silent format:check && npm run --silent lint && npm run --silent check)

step "pages in a browser"
(cd web && npm run --silent test)

step "the HTTP API against its OpenAPI document"
scripts/schemathesis.sh
