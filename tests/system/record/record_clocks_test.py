# needs: wherefore  timeout: 300  parallel: yes
"""The clocks of a recording are those of the real order: programs that synchronize at random keep clocks of their own, and
every clock in the graph must be equal to theirs. Also: the edges' closure is the order of the clocks, without cycles.

WHEREFORE_CLOCK_RUNS=N for more programs."""
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import harness
from harness import check, folder, run

WHEREFORE = os.path.abspath(harness.WHEREFORE)
PROGRAM = os.path.join(os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release")), "record/record_random_run")
DEPTH = os.environ.get("WHEREFORE_PROBE_DEPTH", "schedule")
FLAGS = {"schedule": [], "data": ["--data"], "control": ["--control"]}[DEPTH]
RUNS = int(os.environ.get("WHEREFORE_CLOCK_RUNS", "12"))


def recorded(seed, threads, operations):
    """(clocks by the program, the graph)"""
    file = folder("r.cpg")
    process = subprocess.run([WHEREFORE, "record", *FLAGS, "-o", file, "--", PROGRAM, str(seed), str(threads), str(operations)],
                             capture_output=True, text=True, timeout=120, check=True)
    truth = {}
    for line in process.stdout.splitlines():
        name, *clock = line.split()
        truth[name] = [int(n) for n in clock]
    graph = subprocess.run([WHEREFORE, "cpg", file, "graph", "--format", "json"], capture_output=True, timeout=120, check=True)
    return truth, json.loads(graph.stdout)


def closure_differs(graph):
    """The first pair whose order by edges is not that by clocks."""
    before = {}  # id -> {thread: how many of its sub-computations reach this one}
    ahead = {}
    for edge in graph["edges"]:
        if edge["kind"] in ("control", "sync"):
            ahead.setdefault(edge["to"], []).append(edge["from"])
    subs = {s["id"]: s for s in graph["sub_computations"]}
    # Edges go forward in the sum of the clock, if there is no cycle.
    for sub in sorted(subs.values(), key=lambda s: sum(s["clock"])):
        reach = [0] * len(sub["clock"])
        reach[sub["thread"]] = sub["index"] + 1
        for source in ahead.get(sub["id"], ()):
            if source not in before:
                return f"{source} -> {sub['id']} is not in the order of the clocks"
            reach = [max(a, b) for a, b in zip(reach, before[source])]
        before[sub["id"]] = reach
        if reach != sub["clock"]:
            return f"{sub['id']}: edges say {reach}, clocks say {sub['clock']}"
    return None


def clocks_are_those_of_the_real_order():
    wrong, compared = [], 0
    for n in range(RUNS):
        truth, graph = recorded(n + 1, 2 + n % 7, 60 + 20 * (n % 3))
        found = {s["id"]: s["clock"] for s in graph["sub_computations"]}
        if set(found) != set(truth):
            wrong.append((n, "sub-computations", sorted(set(found) ^ set(truth))[:5]))
            continue
        compared += len(found)
        wrong += [(n, name, "recorded", found[name], "real", truth[name]) for name in truth if found[name] != truth[name]][:3]
        difference = closure_differs(graph)
        if difference is not None:
            wrong.append((n, difference))
    check(f"{RUNS} random programs at {DEPTH} depth: every clock is the real one", not wrong and compared > 100 * RUNS,
          (compared, wrong[:6]))


if __name__ == "__main__":
    run(clocks_are_those_of_the_real_order)
