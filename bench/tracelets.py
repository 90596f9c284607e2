#!/usr/bin/env python3
"""The systems that inference is measured on, as configs for `wherefore generate`.

bench/tracelets.py [FOLDER] writes them with their default parameters (into config/generate). bench/paths-accuracy and
tests ask for other parameters. A tracelet is one way through a system, so that every combination of choices is written out
with the product of their probabilities as its weight.
"""
import itertools
import os
import sys

CALL_MS, RETURN_MS = 50, 10  # Aguilera et al. §7.5.6: the mean delay before a call, and before a return


class Path:
    """One tracelet: calls made, and returned from, in the order told."""

    def __init__(self, sd):
        self.sd, self.lines, self.calls = sd, [], 0

    def delay(self, mean):
        # What is added to a mean is a constant: it does not widen the distribution.
        base = min(mean, CALL_MS)
        return f"delay_ms: [{mean:g}, {base * self.sd:g}]"

    def call(self, sender, receiver, mean=CALL_MS, after=None):
        label = f"{receiver.lower()}.{self.calls}"
        self.calls += 1
        timing = f", after: {after}" if after else ""
        timing += ", " + self.delay(mean) if self.lines else ""
        self.lines.append(f"{{op: CALL, from: {sender}, to: {receiver}, label: {label}{timing}}}")
        return label

    def leave(self, label, mean=RETURN_MS, after=None):
        timing = f", after: {after}" if after else ""
        self.lines.append(f"{{op: RET, label: {label}{timing}, {self.delay(mean)}}}")


def serial(sd, *callees):
    """A → B, which calls the given ones one after another."""
    path = Path(sd)
    root = path.call("A", "B")
    for callee in callees:
        path.leave(path.call("B", callee))
    path.leave(root)
    return path


def in_parallel(sd):
    path = Path(sd)
    root = path.call("A", "B")
    first = path.call("B", "C")
    second = path.call("B", "C", after=root)
    path.leave(first, after=first)
    path.leave(second, after=second)
    path.leave(root, after=f"[{first}, {second}]")
    return path


def multi_tier_path(sd, web, auth_reads, app, databases, slow):
    """Figure 10. `slow`: {node: ms added before that node's last kind of call, or before its return}."""
    path = Path(sd)
    root = path.call("client", web)
    auth = path.call(web, "AUTH")
    if auth_reads:
        path.leave(path.call("AUTH", "DB1"), RETURN_MS + slow.get("DB1", 0))
    path.leave(auth, RETURN_MS + slow.get("AUTH", 0))
    served = path.call(web, app, CALL_MS + slow.get(web, 0))
    for database in databases:
        path.leave(path.call(app, database), RETURN_MS + slow.get(database, 0))
    path.leave(served, RETURN_MS + slow.get(app, 0))
    path.leave(root)
    return path


def multi_tier(sd=0.1, slow=None):
    tracelets = []
    database = [("DB1", 0.65), ("DB2", 0.35)]
    accesses = [((d,), 0.75 * p) for d, p in database]
    accesses += [((d, e), 0.25 * p * q) for (d, p), (e, q) in itertools.product(database, database)]
    choices = itertools.product([("WS1", 0.6), ("WS2", 0.4)], [(True, 0.7), (False, 0.3)], [("AP1", 0.55), ("AP2", 0.45)], accesses)
    for (web, a), (auth_reads, b), (app, c), (databases, d) in choices:
        tracelets.append((a * b * c * d, multi_tier_path(sd, web, auth_reads, app, databases, slow or {})))
    return tracelets


def children_parallel(sd=0.1):
    return [(1, in_parallel(sd))]


def children_0_2(sd=0.1):
    return [(1, serial(sd, "C", "C")), (1, serial(sd))]


def children_d_cc(sd=0.1):
    return [(1, serial(sd, "C", "C")), (1, serial(sd, "D"))]


def penalty_breaker(sd=0.1):
    return [(1, serial(sd, "C", "C")), (1, serial(sd, "D", "D")), (1, serial(sd))]


SYSTEMS = {
    "multi-tier": multi_tier,
    "children-parallel": children_parallel,
    "children-0-2": children_0_2,
    "children-d-cc": children_d_cc,
    "penalty-breaker": penalty_breaker,
}


def config(tracelets, duration_s, parallel, think_ms=(0, 500), skew_ms=None, drop=None, title=""):
    """The text of a config file."""
    lines = [f"# {title}"] if title else []
    lines.append(f"duration_s: {duration_s:g}")
    if skew_ms:
        lines.append("skew_ms: {" + ", ".join(f"{node}: {x:g}" for node, x in skew_ms.items()) + "}")
    if drop:
        lines.append(f"drop: {{rate: {drop[0]:g}, queue: {drop[1]}}}")
    lines += ["groups:", f"  - parallel: {parallel}", f"    think_ms: [{think_ms[0]:g}, {think_ms[1]:g}]", "    tracelets:"]
    for weight, path in tracelets:
        lines += [f"      - weight: {weight:.7g}", "        messages:"]
        lines += [f"          - {line}" for line in path.lines]
    return "\n".join(lines) + "\n"


DEFAULTS = {
    "multi-tier": ("The multi-tier system of Aguilera et al., figure 10.", {}),
    "multi-tier-slow": ("The same, with 200 ms more in WS2 between its calls to AUTH and to AP1 or AP2 (§7.2).", {"slow": {"WS2": 200}}),
    "children-parallel": ("Figure 18: B calls C twice at the same time.", {}),
    "children-0-2": ("Figure 18: B calls C twice, one after the other, or not at all.", {}),
    "children-d-cc": ("Figure 18: B calls C twice, one after the other, or D once.", {}),
    "penalty-breaker": ("Figure 18: B calls C twice, or D twice with the same delays, or nobody.", {}),
}


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(root, "config/generate")
    for name, (title, parameters) in DEFAULTS.items():
        system = SYSTEMS[name.removesuffix("-slow")](**parameters)
        with open(os.path.join(folder, f"{name}.yaml"), "w") as file:
            file.write(config(system, 500, 10, title=title + " Written by bench/tracelets.py."))


if __name__ == "__main__":
    main()
