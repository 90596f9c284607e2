#!/usr/bin/env python3
# Causal paths of a real stack from its packets alone: nginx, PostgreSQL, Redis, a thread pool and an event loop.
# needs: wherefore
# timeout: 180
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import WHEREFORE, check, equal, run

import black_box_stack
from black_box_stack import HOSTS, Stack

REQUESTS, RATE = 300, 60.0


def wherefore(*arguments):
    return subprocess.run([WHEREFORE, *arguments], capture_output=True, text=True, timeout=120)


def captured(home, delay):
    """A capture of the load, its truth, and the latencies that the client saw."""
    stack = Stack(home, delay)
    try:
        stack.load(30, RATE)  # connections are made
        capture = stack.capture()
        taken = stack.load(REQUESTS, RATE)
        capture.stop()
    finally:
        stack.stop()
    path = os.path.join(home, "capture.pcap")
    marks = black_box_stack.write_capture(path, black_box_stack.frames(capture))
    return path, marks, taken


def names(home):
    path = os.path.join(home, "names")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{address} {name}\n" for name, address in HOSTS.items())
    return path


def latencies(answer):
    """Mean latency of each node of each pattern, weighted by its count: {path of names: ns}."""
    sums, counts = {}, {}

    def walk(node, above, count):
        path = above + (node["node"],)
        sums[path] = sums.get(path, 0) + node["latency_ns"] * count
        counts[path] = counts.get(path, 0) + count
        for child in node["children"]:
            walk(child, path, count)

    for pattern in answer["patterns"]:
        walk(pattern["root"], (), pattern["count"])
    return {path: sums[path] / counts[path] for path in sums if counts[path] >= REQUESTS / 20}


def of_a_real_stack():
    why = black_box_stack.why_not()
    if why:
        print(f"skip paths of a real stack # {why}")
        return
    found = {}
    for delay in ("0", "0.05"):
        home = black_box_stack.home()
        path, marks, taken = captured(home, delay)
        said = wherefore("messages", path)
        equal(f"delay {delay}: the capture is read", (said.returncode, bool(said.stdout)), (0, True))
        lines = said.stdout.splitlines()
        rows = black_box_stack.truth(lines, marks)
        roots = sum(1 for parent in rows.values() if parent is None)
        check(f"delay {delay}: every request is seen at each step", roots == REQUESTS and len(rows) == 4 * REQUESTS,
              (roots, len(rows), len(marks), said.stderr))
        truth = os.path.join(home, "truth.jsonl")
        with open(truth, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"call": call, "parent": parent}) + "\n" for call, parent in sorted(rows.items()))
        done = wherefore("paths", path, "--truth", truth, "--format", "json")
        answer = json.loads(done.stdout)
        accuracy = answer["accuracy"]
        print(f"# delay {delay}: {accuracy['edges']} {accuracy['traces']} parallelism {answer['parallelism']:.2f}")
        equal(f"delay {delay}: linked, since calls have returns", answer["algorithm"], "linking")
        check(f"delay {delay}: most requests come out whole", accuracy["traces"]["share"] >= 0.8, accuracy)
        named = json.loads(wherefore("paths", path, "--nodes", names(home), "--top", "0", "--format", "json").stdout)
        equal(f"delay {delay}: nodes have names", named["patterns"][0]["client"], "client")
        found[delay] = latencies(named)
        mean = sum(taken) / len(taken) * 1e9
        root = found[delay].get(("nginx",), 0)
        check(f"delay {delay}: the root takes what the client saw, less its own work", 0.5 * mean < root <= 1.05 * mean,
              (root, mean))
    # The PetStore experiment: a constant delay in one leaf shows at the leaf, in its parents and in the total.
    for path in (("nginx",), ("nginx", "pool"), ("nginx", "pool", "postgres"), ("nginx", "loop"),
                 ("nginx", "loop", "postgres")):
        grown = found["0.05"].get(path, 0) - found["0"].get(path, 0)
        check(f"50 ms more at {'/'.join(path)}", 45e6 < grown < 75e6, grown)
    for path in (("nginx", "pool", "redis"), ("nginx", "loop", "redis")):
        grown = found["0.05"].get(path, 0) - found["0"].get(path, 0)
        check(f"and none at {'/'.join(path)}", abs(grown) < 10e6, grown)


run(of_a_real_stack)
