# needs: wherefore  timeout: 300
"""A lineage has every true source: random programs whose flow of bytes is known, with locks that are recorded and locks
that nobody sees."""
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import WHEREFORE, check, folder, run

BUILD = os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release"))
HERE = folder("recorded")
os.makedirs(HERE, exist_ok=True)
SEEDS = int(os.environ.get("WHEREFORE_SEEDS", "2"))
FIRST = int(os.environ.get("WHEREFORE_SEED", "0"))
PIECE = 16
HOW = {"uffd": ("--tracker", "uffd"), "sigsegv": ("--tracker", "sigsegv"), "auto": (),
       "qemu": ("--control", "--control-source", "qemu")}


def true_sources(lines):
    """Of each output, by its offset: the pieces of the input that its bytes came from, and whether every lock on the way
    was one that is recorded."""
    fills, moves, outputs, hidden = {}, {}, [], set()
    for kind, *rest in (line.split() for line in lines):
        numbers = [int(text) for text in rest]
        if kind == "S":
            hidden.add(numbers[0])
        elif kind == "I":
            fills[tuple(numbers[:2])] = numbers[2]
        elif kind == "O":
            outputs.append(numbers)
        else:
            moves[tuple(numbers[2:])] = (kind, tuple(numbers[:2]))
    known = {}

    def sources(state):  # (cell, version) -> (pieces, seen)
        if state not in known:
            cell, version = state
            if version == 0:
                known[state] = frozenset(), True
            elif state in fills:
                known[state] = frozenset([fills[state]]), cell not in hidden
            else:
                kind, origin = moves[state]
                pieces, seen = sources(origin)
                if kind == "M":
                    before, seen_before = sources((cell, version - 1))
                    pieces, seen = pieces | before, seen and seen_before
                known[state] = pieces, seen and cell not in hidden
        return known[state]

    return {offset: sources((cell, version)) for cell, version, offset in sorted(outputs, key=lambda o: o[1])}


def lineage(file, *arguments):
    done = subprocess.run([WHEREFORE, "cpg", file, "lineage", *arguments, "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60, check=True)
    return json.loads(done.stdout)


def pieces_of(answer, name):
    found = set()
    for source in answer["sources"]:
        if source["name"] == name:
            for begin, end in source["ranges"]:
                found.update(range(begin // PIECE * PIECE, end, PIECE))
    return found


def every_true_source_is_in_the_lineage():
    given, out, file = (os.path.join(HERE, name) for name in ("input", "output", "p.cpg"))
    with open(given, "wb") as data:
        data.write(os.urandom(256 * PIECE))
    for how, flags in HOW.items():
        asked, missing, spare, possible = 0, [], 0, 0
        for seed in range(FIRST, FIRST + SEEDS):
            ran = subprocess.run([WHEREFORE, "record", "--data", *flags, "-o", file, "--", os.path.join(BUILD, "recorded/dataflow"),
                                  str(seed), given, out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, cwd=HERE)
            lines = ran.stdout.decode().splitlines()
            if ran.returncode != 0 or not lines:
                missing.append((seed, ran.returncode, ran.stderr))
                continue
            everything = {int(line.split()[3]) for line in lines if line.startswith("I")}
            for offset, (pieces, seen) in true_sources(lines).items():
                asked += 1
                what = ("--of", f"{out}:{offset}-{offset + PIECE}")
                found = pieces_of(lineage(file, *what), given)
                if not pieces <= found:
                    missing.append((seed, offset, sorted(pieces - found)))
                if seen and not pieces <= pieces_of(lineage(file, *what, "--ordered"), given):
                    missing.append((seed, offset, "ordered"))
                spare += len(found - pieces)
                possible += len(everything - pieces)
        check(f"{how}: every true source of {asked} outputs", asked > 20 * SEEDS and not missing, missing[:3])
        print(f"# {how}: {spare} of {possible} untrue ones too")


if __name__ == "__main__":
    run(every_true_source_is_in_the_lineage)
