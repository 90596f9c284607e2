#!/usr/bin/env bash
# `make install` into a scratch prefix: what is there runs from another folder, with nothing taken from the checkout.
# needs: wherefore wherefore-demo wherefore_record wherefore_static wherefore_shared
# timeout: 120
set -uo pipefail
cd "$WHEREFORE_SOURCE"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
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
prefix=$place/prefix
export WHEREFORE_BUILD
# `make install` builds first; a test must not, so it calls what make calls after the build.
check "make install calls tools/install with PREFIX" \
  bash -c "make -n install PREFIX=/some/where | grep -qx 'tools/install install \"/some/where\"'"
check "the default prefix is ~/.local" \
  bash -c "HOME=/home/someone make -n install | grep -qx 'tools/install install \"/home/someone/.local\"'"
check "it installs" tools/install install "$prefix"
for file in bin/wherefore lib/wherefore/wherefore-demo lib/wherefore/libwherefore_record.so share/man/man1/wherefore.1 \
  share/bash-completion/completions/wherefore share/zsh/site-functions/_wherefore \
  share/fish/vendor_completions.d/wherefore.fish include/wherefore/event.h lib/libwherefore.a lib/libwherefore.so \
  lib/cmake/wherefore/wherefore-config.cmake; do
  check "it installs $file" test -s "$prefix/$file"
done
check "no unit of the system and no configuration in a user's prefix" bash -c "! ls '$prefix/etc' '$prefix/lib/systemd'"

cd /
binary=$prefix/bin/wherefore
clean=(env -i HOME="$place" PATH=/usr/bin:/bin)
check "no library comes from the checkout" bash -c "! ldd '$binary' | grep -F '$WHEREFORE_SOURCE'"
check "no library is missing" bash -c "! ldd '$binary' | grep 'not found'"
check "wherefore version" bash -c "[ \"\$(${clean[*]} '$binary' version)\" = \"\$('$WHEREFORE' --version)\" ]"
check "wherefore help" bash -c "${clean[*]} '$binary' help | grep -q explain"

# The store needs DuckDB, which is opened at run time: by LD_DEBUG the loader says from where.
cat >"$place/trace.json" <<'J'
{"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}, "scopeSpans": [{"spans": [
  {"traceId": "11111111111111111111111111111111", "spanId": "2222222222222222", "name": "GET /", "kind": 2,
   "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000000500000000"}]}]}]}
J
check "it imports into a store" "${clean[@]}" "$binary" import "$place/trace.json" --store "$place/store"
check "and finds the trace again" bash -c "${clean[*]} '$binary' traces --store '$place/store' | grep -q shop"
if [ -f "$prefix/lib/wherefore/libduckdb.so" ]; then
  check "DuckDB is the one that was installed" bash -c "
    ${clean[*]} LD_DEBUG=files '$binary' traces --store '$place/store' 2>&1 >/dev/null |
      grep -E 'calling init: .*libduckdb' | grep -F '$prefix/' &&
    ! ${clean[*]} LD_DEBUG=files '$binary' traces --store '$place/store' 2>&1 | grep -E 'calling init: .*libduckdb' |
      grep -F '$WHEREFORE_SOURCE/'"
fi
check "man shows the page" bash -c "MANPAGER=cat man -l '$prefix/share/man/man1/wherefore.1' | grep -q 'why your software took that long'"
check "man finds the page beside the program" bash -c "PATH='$prefix/bin:/usr/bin:/bin' man -w wherefore | grep -F '$prefix/'"
check "bash completes verbs" bash -c "
  source '$prefix/share/bash-completion/completions/wherefore'
  COMP_WORDS=(wherefore expl) COMP_CWORD=1
  _wherefore
  [ \"\${COMPREPLY[*]}\" = explain ]"

cd "$WHEREFORE_SOURCE"
check "installing again is no error" tools/install install "$prefix"
check "it uninstalls" tools/install uninstall "$prefix"
check "nothing stays" bash -c "[ -z \"\$(find '$prefix' -type f -o -type l)\" ]"
check "uninstalling what is not there is an error" bash -c "! tools/install uninstall '$prefix'"
check "DESTDIR comes before PREFIX" env DESTDIR="$place/stage" tools/install install /opt/wherefore
check "and nothing of it is outside" test -x "$place/stage/opt/wherefore/bin/wherefore" -a ! -e /opt/wherefore/bin/wherefore
check "a prefix that cannot be written to is an error that says so" bash -c "
  touch '$place/file'; tools/install install '$place/file/x' 2>&1 | grep -q 'cannot write to'"
exit $failed
