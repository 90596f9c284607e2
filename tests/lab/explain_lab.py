"""Requests of a shop that wait at storage behind maintenance (figure 1 of Zeno), and what is asked about them."""
from harness import *

BASE = 1_700_000_000 * SECOND
VERTEX_KEYS = ["id", "type", "node", "tuple", "start_ns", "end_ns", "delay_ns", "self_ns", "functional", "count", "origin"]


def at(ms):
    return BASE + int(ms * MILLI)


def storage_span(trace, number, name, parent, arrival, start, end):
    return span(trace, number, name, at(start), at(end), parent=parent, kind="server",
                attrs={"wherefore.arrival_ns": at(arrival), "thread.id": 9})


def page(trace, base=0, waited=900):
    """frontend asks storage, whose worker is busy for so long."""
    return [process("frontend", span(trace, 1, "GET /", at(base), at(base + 100 + waited), kind="server"),
                    span(trace, 2, "ask", at(base + 10), at(base + 90 + waited), parent=1, kind="client")),
            process("storage", storage_span(trace, 3, "get", 2, base + 20, base + 20 + waited, base + 80 + waited),
                    service__instance__id="s1")]


def sweep(trace):
    """maintenance asks for three scans at once: storage works them off until 920."""
    spans, served = [span(trace, 100, "sweep", at(0), at(2000))], []
    for i, (start, end) in enumerate([(10, 310), (310, 610), (610, 920)]):
        spans.append(span(trace, 101 + i, "call", at(5), at(end + 5), parent=100, kind="client"))
        served.append(storage_span(trace, 201 + i, "scan", 101 + i, 10 + i, start, end))
    return [process("maintenance", *spans), process("storage", *served, service__instance__id="s1")]


def explain(store, *flags):
    return must(cli("explain", *flags, store=store)).json


def blamed(answer):
    """Off-path work, most time first: (node, tuple, origin, count, ms)."""
    off = [v for v in answer["vertices"] if not v["functional"] and v["self_ns"] > 0]
    return [(v["node"], v["tuple"], v["origin"], v["count"], v["self_ns"] // MILLI)
            for v in sorted(off, key=lambda v: -v["self_ns"])]
