#!/usr/bin/env bash
# timeout: 120
# parallel: yes
# Baggage through a Node.js service that uses OpenTelemetry and knows nothing of us: baggage_hops.cc.
set -uo pipefail
root=${WHEREFORE_SOURCE:-$(cd "$(dirname "$0")/../../.." && pwd)}
hops=${WHEREFORE_BUILD:-$root/build/release}/baggage_hops
[ -x "$hops" ] || { echo "not ok baggage # there is no $hops: run tools/build release baggage_hops"; exit 1; }
[ -d "$root/tests/clients/node_modules" ] ||
  { echo "not ok baggage # npm packages are missing: run tools/setup test"; exit 1; }

scratch=$(mktemp -d)
node "$root/tests/clients/otel-node/forward_service.cjs" >"$scratch/address" 2>"$scratch/log" &
service=$!
stop() {
  kill "$service" 2>/dev/null
  wait "$service" 2>/dev/null
  rm -rf "$scratch"
}
trap stop EXIT
for _ in $(seq 600); do
  [ -s "$scratch/address" ] && break
  kill -0 "$service" 2>/dev/null || break
  sleep 0.1
done
if [ ! -s "$scratch/address" ]; then
  echo "not ok the Node.js service starts"
  sed 's/^/    /' "$scratch/log"
  exit 1
fi
"$hops" "$(head -n 1 "$scratch/address")"
