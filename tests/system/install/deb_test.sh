#!/usr/bin/env bash
# The Debian package: what is in it, and that the unpacked binary runs on the libraries that came with it.
# needs: wherefore wherefore-demo
# timeout: 600
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

check "make deb packs it" tools/deb
package=$(ls -t build/wherefore_*.deb | head -n1)
check "dpkg-deb unpacks it" dpkg-deb -x "$package" "$place/root"
check "its control files unpack" dpkg-deb -e "$package" "$place/control"
for file in usr/bin/wherefore usr/lib/wherefore/wherefore-demo lib/systemd/system/wherefore.service lib/systemd/system/wherefore@.service etc/wherefore/wherefore.yaml \
  usr/share/man/man1/wherefore.1.gz usr/share/bash-completion/completions/wherefore \
  usr/share/doc/wherefore/copyright usr/share/doc/wherefore/changelog.gz; do
  check "it holds /$file" test -s "$place/root/$file"
done
check "its configuration is a conffile" grep -qx /etc/wherefore/wherefore.yaml "$place/control/conffiles"
check "it depends on the C library" grep -q '^Depends:.*libc6' "$place/control/control"
check "its checksums hold" bash -c "cd '$place/root' && md5sum --quiet -c '$place/control/md5sums'"

binary=$place/root/usr/bin/wherefore
check "no library comes from the build folder" bash -c "! ldd '$binary' | grep -F '$WHEREFORE_SOURCE'"
check "no library is missing" bash -c "! ldd '$binary' | grep 'not found'"
check "the unpacked binary tells its version" bash -c \
  "env -i '$binary' --version | grep -F \"$(dpkg-deb -f "$package" Version)\""
check "its configuration is valid" env -i HOME="$place" "$binary" serve --check \
  --config "$place/root/etc/wherefore/wherefore.yaml" --store "$place/store"
# Incidents that are real processes need the demo system, which came along.
check "the unpacked binary runs an incident" env -i HOME="$place" "$binary" scenario Z3 --out "$place/z3"
check "and explains it" bash -c "
  ids=(\$(sed -n 's/.*\"from\":\"\([^\"]*\)\".*\"to\":\"\([^\"]*\)\".*/\1 \2/p' '$place/z3/query.json'))
  env -i HOME='$place' '$binary' explain --events '$place/z3/events.jsonl' --from \"\${ids[0]}\" --to \"\${ids[1]}\" |
    grep -F 'POST /compact'"
rm "$place/root/usr/lib/wherefore/wherefore-demo"
check "without it, it says so and exits 3" bash -c "
  env -i HOME='$place' '$binary' scenario Z3 --out '$place/z3-without' 2>'$place/err'; [ \$? = 3 ] && grep -q wherefore-demo '$place/err'"
exit $failed
