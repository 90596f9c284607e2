#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""A small form of bench/paths-accuracy: inferred paths of generated messages against the truth. The benchmark holds the
figures; this holds that they can be had, and that the program's own marks agree with the benchmark's."""
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, check, cli, equal, must, run

os.environ["WHEREFORE"] = WHEREFORE
loader = importlib.machinery.SourceFileLoader("paths_accuracy", os.path.join(SOURCE, "bench/paths-accuracy"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("paths_accuracy", loader))
loader.exec_module(bench)
metrics = bench.metrics


class SmallLab(bench.Lab):
    """Fewer messages, and bars that are checks."""

    def size(self, messages):
        return messages / 8

    def bar(self, ok, text):
        check(text.split(":")[0], ok, text)

    def plot(self, *_):
        pass


folder = tempfile.TemporaryDirectory()
lab = SmallLab(folder.name, True, 1, folder.name)


def the_slow_node():
    bench.slow_node(lab)


def tied(counts, n):
    ranked = sorted(counts.values(), reverse=True)
    return n < len(ranked) and ranked[n - 1] == ranked[n]


def marks():
    for name, more in (("", {}), (" where messages are lost", {"drop": (160, 64)})):
        trace = lab.trace("multi-tier", 10, 30_000, **more)
        found = trace.infer("nesting")[1]
        says = must(cli("paths", trace.messages, "--algorithm", "nesting", "--truth", trace.truth)).json["accuracy"]
        rows = metrics.read_rows(os.path.join(trace.folder, "nesting.jsonl"), unpaired=True)
        edges, traces = metrics.accuracy(trace.true, metrics.Forest(rows, trace.calls))
        positive, negative = metrics.instances(trace.true.counts, found.counts)
        equal(f"edges{name}: the program and the benchmark give the same mark", round(says["edges"]["share"], 9), round(edges, 9))
        equal(f"traces{name}", round(says["traces"]["share"], 9), round(traces, 9))
        equal(f"instances{name}", [round(says["instances"][k], 9) for k in ("false_positive_rate", "false_negative_rate")],
              [round(positive, 9), round(negative, 9)])
        # Which of equals is the last among the first N is anybody's choice.
        clear = [t for t in says["top"] if not tied(trace.true.counts, t["n"]) and not tied(found.counts, t["n"])]
        check(f"there are clear top patterns{name}", len(clear) > 3, len(clear))
        equal(f"the top patterns{name}", [round(t["false_negative_rate"], 9) for t in clear],
              [round(metrics.top_missing(trace.true.counts, found.counts, t["n"]), 9) for t in clear])
        trace.drop()


def linking():
    """Between first come, first served and the oracle, where both differ much."""
    for system, parallel, sd in (("multi-tier", 16, 0.05), ("children-0-2", 12, 0.1), ("penalty-breaker", 9, 0.05)):
        trace = lab.trace(system, parallel, 8 * 400 * bench.MESSAGES[system], sd=sd)
        ways = {"nesting": trace.infer("nesting")[1], "linking": trace.infer("linking")[1]}
        if os.path.exists(bench.ORACLE):
            ways.update(fcfs=trace.reference("fcfs"), oracle=trace.reference("oracle"))
        right = {name: metrics.accuracy(trace.true, forest)[1] for name, forest in ways.items()}
        told = json.dumps({name: round(share, 4) for name, share in right.items()})
        check(f"{system}: linking is above nesting and first come, first served", right["linking"] > max(right["nesting"], right.get("fcfs", 0)), told)
        # 400 paths: a point is four of them.
        check(f"{system}: and within 6 points of the oracle", right["linking"] >= right.get("oracle", 0) - 0.06, told)
        trace.drop()


run(the_slow_node, marks, linking)
