#!/usr/bin/env bash
# `make demo ONCE=1` as people see it, with the trouble and without: the text must follow from what happened. Then plain
# `make demo`: it leaves its server and shop running, and links to the explanation that it printed.
# needs: wherefore
# timeout: 180
set -uo pipefail
cd "$WHEREFORE_SOURCE"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export TMPDIR=$place DEMO_SECONDS=6 DEMO_HTTP=0
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
  ONCE=1 TROUBLE=$trouble tools/demo >"$place/$trouble.txt" 2>&1
  check "trouble $trouble: it exits 0 by itself" [ $? = 0 ]
  sed 's/^/# /' "$place/$trouble.txt"
  check "trouble $trouble: it links to no server that has ended" bash -c "! grep /explain/ '$place/$trouble.txt'"
  check "trouble $trouble: it says how to install" grep -q 'make install' "$place/$trouble.txt"
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

# --- plain: no terminal, nothing on standard input
ONCE= tools/demo </dev/null >"$place/plain.txt" 2>&1 &
demo=$!
for _ in $(seq 600); do
  ! grep -q 'until Ctrl-C' "$place/plain.txt" || break
  kill -0 $demo 2>/dev/null || break
  sleep 0.1
done
sed 's/^/# /' "$place/plain.txt"
link=$(sed -n 's/^Look at it: //p' "$place/plain.txt")
id=${link##*/explain/}
check "plain: the link is that of an explanation" bash -c "[[ '$link' =~ ^http://127\.0\.0\.1:[0-9]+/explain/[0-9a-f]{32}$ ]]"
check "plain: the page is there" curl -fsS "$link"
check "plain: it is the explanation of the request that was printed" bash -c "
  wanted=\$(sed -n 's/^Why: //p' '$place/plain.txt')
  curl -fsS '${link%%/explain/*}/api/v1/explain/$id?format=text' | sed '/^$/q' | tr '\n' ' ' | sed 's/ *$//' | grep -qxF \"\$wanted\""
check "plain: it says how to install" grep -q 'make install' "$place/plain.txt"
spans() { curl -fsS "${link%%/explain/*}/api/v1/status" | grep -oE '"spans":[0-9]+' | head -n1 | cut -d: -f2; }
before=$(spans)
sleep 4
check "plain: it still runs" kill -0 $demo
check "plain: customers still come" [ "$(spans)" -gt "${before:-0}" ]
kill -TERM $demo
wait $demo
check "plain: it ends well when told to" [ $? = 0 ]
check "plain: nothing is left behind" bash -c "! ls '$place' | grep wherefore-demo"
check "plain: the server has ended" bash -c "! curl -fs '$link'"
exit $failed
