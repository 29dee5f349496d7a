#!/usr/bin/env bash
# Lets schemathesis loose on a running server, with everything its OpenAPI document says and much that it forbids.
set -euo pipefail
cd "$(dirname "$0")/.."

st=target/python/bin/schemathesis
if [ ! -x "$st" ]; then
  echo "NOT RUN: the HTTP API against its OpenAPI document, for want of schemathesis (scripts/need.sh schemathesis)"
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi
cargo build --locked --quiet

data=$(mktemp -d)
export ONRUSH_ADMIN_KEY=schemathesis-admin-key ONRUSH_VISITORS_PER_MIN=1000000 ONRUSH_LIMITS=off ONRUSH_LIMITS_ADDRESS_WRONG_KEYS_PER_MIN=off ONRUSH_GATEWAY=sandbox ONRUSH_S3_PATHS=true
coproc SERVER { exec target/debug/onrush serve --data "$data" --listen 127.0.0.1:0 --operator-listen off --log error --json; }
server=$SERVER_PID
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$data"' EXIT
# The first line comes when it listens; no line means that it ended.
read -r ready <&"${SERVER[0]}"
while [[ $ready != {* ]]; do read -r ready <&"${SERVER[0]}"; done
address=$(python3 -c 'import json, sys; print(json.loads(sys.argv[1])["listen"])' "$ready")

api=http://$address/api/v1
post() { curl --silent --show-error --fail -X POST -H "Authorization: Bearer $1" -H 'Content-Type: application/json' -d "$3" "$api$2"; }
visitor=$(post none /visitors '{}' | python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])')

# The ids that the document gives as examples, so that more is met than 404.
post "$ONRUSH_ADMIN_KEY" /admin/events '{"event": "tour-1", "title": "Winter tour", "currency": "EUR", "room": null}' >"$data/made"
post "$ONRUSH_ADMIN_KEY" /admin/events/tour-1/pools '{"pool": "ga", "capacity": 1000, "price_minor": 0}' >"$data/made"
post "$ONRUSH_ADMIN_KEY" /admin/events/tour-1/open '{}' >"$data/made"

run() {
  printf -- '-- as %s\n' "$1"
  "$st" --config-file scripts/schemathesis.toml run "http://$address/api/openapi.json" --header "Authorization: Bearer $2" --seed 20261201 --workers 1 \
    --no-color --max-examples "$3" --continue-on-failure "${@:4}" || failed=1
}
failed=0
# A WebSocket wants an upgrade, which schemathesis does not ask for, and a stream does not end; crates/server/tests has their tests.
run visitor "$visitor" 25 --exclude-path-regex '^/api/v1/admin|/(ws|stream)$'
run organiser "$ONRUSH_ADMIN_KEY" 25 --include-path-regex '^/api/v1/admin' --exclude-path-regex '/live$'
exit "$failed"
