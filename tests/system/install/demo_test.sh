#!/usr/bin/env bash
# `make demo ONCE=1` as people see it, with the trouble and without: the text must follow from what happened.
# needs: wherefore
# timeout: 180
set -uo pipefail
cd "$WHEREFORE_SOURCE"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export TMPDIR=$place ONCE=1 DEMO_SECONDS=6 DEMO_HTTP=0
failed=0
check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$place/out" 2>&1; then echo "ok $name"; else
    cat "$place/out"
    echo "not ok $name"
    failed=1
  fi
}
slowest_ms() { sed -n 's/^The slowest request, \([0-9]*\) ms:$/\1/p' "$1"; }
why() { grep '^Why: ' "$1"; }

for trouble in none maintenance-flood; do
  TROUBLE=$trouble tools/demo >"$place/$trouble.txt" 2>&1
  check "trouble $trouble: it exits 0 by itself" [ $? = 0 ]
  sed 's/^/# /' "$place/$trouble.txt"
  check "trouble $trouble: it prints the address of the web interface" \
    grep -qE '^web interface: http://127\.0\.0\.1:[0-9]+$' "$place/$trouble.txt"
  for service in frontend compute storage; do
    check "trouble $trouble: the waterfall shows $service" \
      bash -c "sed '1,/^The slowest request/d' '$place/$trouble.txt' | grep -q $service"
  done
  check "trouble $trouble: it says why" bash -c "grep -qE '^Why: [0-9.]+ .?s of [0-9.]+ .?s: ' '$place/$trouble.txt'"
  check "trouble $trouble: nothing is left behind" bash -c "! ls '$place' | grep wherefore-demo"
done
check "the trouble makes the slowest request at least 500 ms slower" \
  [ "$(slowest_ms "$place/maintenance-flood.txt")" -gt $(($(slowest_ms "$place/none.txt") + 500)) ]
check "in trouble, it waited on storage behind maintenance" \
  bash -c "grep '^Why: ' '$place/maintenance-flood.txt' | grep -q 'waited on storage behind .*maintenance'"
# A healthy shop's slowest page may meet one of maintenance's four scans, never a flood of them.
check "without trouble, it says something else" \
  bash -c "! grep '^Why: ' '$place/none.txt' | grep -qE 'maintenance.*[0-9][0-9]+ times|behind [0-9][0-9]+ requests from maintenance'"
check "the trouble changes the sentence" [ "$(why "$place/none.txt")" != "$(why "$place/maintenance-flood.txt")" ]
exit $failed
