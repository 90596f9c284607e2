#!/usr/bin/env python3
# parallel: yes
"""npm lock files: no package is bound to one registry's address, each has a checksum, and each accepts the oldest
Node that we promise to run on (Debian 12's)."""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
FLOOR = (18, 19, 0)
NEVER = (10**9, 0, 0)


def version(text):
    """'18.x' -> ((18, 0, 0), 1): the version, and how many of its parts were given."""
    parts = [part for part in re.split(r"[.]", text.strip().lstrip("v=").split("-")[0].split("+")[0])]
    given = []
    for part in parts:
        if not part.isdigit():
            break
        given.append(int(part))
    return tuple(given + [0] * (3 - len(given))), len(given)


def above(base, given):
    """The first version beyond those that begin with the given parts."""
    if given == 0:
        return NEVER
    bound = list(base[:given]) + [0] * (3 - given)
    bound[given - 1] += 1
    return tuple(bound)


def accepts(range_text, node):
    """Does an npm version range accept this version?"""
    for alternative in range_text.split("||"):
        text = re.sub(r"(>=|<=|>|<|=|\^|~)\s+", r"\1", alternative.strip())
        hyphen = re.match(r"^(\S+)\s+-\s+(\S+)$", text)
        if hyphen:
            text = f">={hyphen[1]} <={hyphen[2]}"
        good = True
        for term in text.split():
            operator, rest = re.match(r"^(>=|<=|>|<|=|\^|~)?(.*)$", term).groups()
            base, given = version(rest)
            if operator == ">=":
                good &= node >= base
            elif operator == ">":
                good &= node >= above(base, given) if given < 3 else node > base
            elif operator == "<":
                good &= node < base
            elif operator == "<=":
                good &= node < above(base, given)
            elif operator == "^":
                good &= base <= node < above(base, 1 if base[0] or given == 1 else min(given, 2))
            elif operator == "~":
                good &= base <= node < above(base, min(given, 2))
            elif given:
                good &= base <= node < above(base, given)
        if good:
            return True
    return False


failed = 0


def report(name, good, detail=""):
    global failed
    failed += not good
    if not good:
        print(detail)
    print(f"{'ok' if good else 'not ok'} {name}")


# The range reader itself, on ranges as they occur.
for text, expected in [(">=18", True), (">= 18.20", False), ("^18.17.0 || >=20.5.0", True), ("^20.19.0 || >=22.12.0", False),
                       ("18.x", True), (">=14 <18", False), ("*", True), ("", True), ("16 || 18 || >=20", True),
                       ("~18.18", False), (">=16 || 14 >=14.17", True), ("14 - 18", True), (">18", False)]:
    report(f"the range '{text}' {'accepts' if expected else 'refuses'} Node 18.19", accepts(text, FLOOR) == expected)

listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*package-lock.json"], cwd=ROOT,
                         capture_output=True, text=True)
locks = listing.stdout.split()
if not locks:  # not a git checkout
    for directory, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in ("node_modules", "build", ".git")]
        locks += [os.path.relpath(os.path.join(directory, n), ROOT) for n in names if n == "package-lock.json"]
report("there are lock files", len(locks) > 0)
for path in sorted(locks):
    with open(os.path.join(ROOT, path)) as file:
        packages = json.load(file)["packages"]
    entries = {name: entry for name, entry in packages.items() if name and not entry.get("link")}
    bound = [name for name, entry in entries.items() if "resolved" in entry]
    report(f"{path}: no package is bound to an address", not bound, f"resolved: {bound[:5]}")
    loose = [name for name, entry in entries.items() if "integrity" not in entry and not entry.get("inBundle")]
    report(f"{path}: every package has a checksum", not loose, f"no integrity: {loose[:5]}")
    if path.startswith("deps/"):
        continue  # native libraries that travel by npm: nothing of it ever runs in Node
    picky = [f"{name}: {entry['engines']['node']}" for name, entry in packages.items()
             if isinstance(entry.get("engines"), dict) and not accepts(entry["engines"].get("node", "*"), FLOOR)]
    report(f"{path}: every package accepts Node {'.'.join(map(str, FLOOR))}", not picky, "\n".join(picky))
sys.exit(1 if failed else 0)
