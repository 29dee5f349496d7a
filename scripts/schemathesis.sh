#!/usr/bin/env bash
# Lets schemathesis loose on running servers, with everything their OpenAPI document says and much that it forbids: as a
# visitor and as an organiser, side by side, each with a server of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

st=target/python/bin/schemathesis
if [ ! -x "$st" ]; then
  echo "NOT RUN: the HTTP API against its OpenAPI document, for want of schemathesis (scripts/need.sh schemathesis)"
  [ -z "${CI:-}" ] || exit 1
  exit 0
fi
# The program as the tests have it: there is nothing to build after them. By itself it would have other features, and so
# would nearly everything that it is made of.
cargo test --workspace --features onrush-bridge/kafka-tls --locked --no-run --quiet
built=$(scripts/target_dir.sh)

export ONRUSH_ADMIN_KEY=schemathesis-admin-key ONRUSH_VISITORS_PER_MIN=1000000 ONRUSH_LIMITS=off ONRUSH_SHED_AFTER_MS=0 ONRUSH_LIMITS_ADDRESS_WRONG_KEYS_PER_MIN=off ONRUSH_GATEWAY=sandbox ONRUSH_BOOKING_PATHS=true

# Usage: as <visitor|organiser> <options of schemathesis>
as() (
  role=$1
  data=$(mktemp -d)
  coproc SERVER { exec "$built/debug/onrush" serve --data "$data" --listen 127.0.0.1:0 --operator-listen off --log error --json; }
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

  case $role in
    visitor) token=$visitor ;;
    organiser) token=$ONRUSH_ADMIN_KEY ;;
  esac
  printf -- '-- as %s\n' "$role"
  "$st" --config-file scripts/schemathesis.toml run "http://$address/api/openapi.json" --header "Authorization: Bearer $token" --seed 20261201 --workers 1 --suppress-health-check too_slow \
    --no-color --max-examples 25 --continue-on-failure "${@:2}"
)

# A WebSocket wants an upgrade, which schemathesis does not ask for, and a stream does not end; crates/server/tests has their tests.
# An event that is archived answers 410 and nothing else from then on: all others would be asked of nothing.
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
as visitor --exclude-path-regex '^/api/v1/admin|/(ws|stream)$' >"$said/visitor" 2>&1 &
visitor=$!
as organiser --include-path-regex '^/api/v1/admin' --exclude-path-regex '/(live|archive)$' >"$said/organiser" 2>&1 &
organiser=$!
failed=0
wait "$visitor" || failed=1
wait "$organiser" || failed=1
cat "$said/visitor" "$said/organiser"
exit "$failed"
