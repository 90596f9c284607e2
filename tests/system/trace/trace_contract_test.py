#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""`trace ID`: keys, types and order; how spans map to units, blocks, points and edges; every repair; clocks; ids."""
import json
import random
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

BASE = 1_700_000_000 * SECOND
HEX16, HEX32 = re.compile(r"[0-9a-f]{16}\Z"), re.compile(r"[0-9a-f]{32}\Z")
KEYS = ["trace_id", "start_ns", "end_ns", "complete", "units", "blocks", "points", "edges", "repairs", "missing"]


def build(value, tid, *flags):
    """The trace that a fresh store makes of this input."""
    store = folder()
    import_value(store, value)
    return get_trace(store, tid if isinstance(tid, str) else trace_id(tid), *flags)


def at(ms):
    return BASE + ms * MILLI


def keys_types_and_order():
    trace = build(otlp(
        process("front", span(1, 0x10, "GET /", at(0), at(100), kind="server", status="error", message="boom",
                              attrs={"s": "text", "i": 2**60, "b": True, "d": 0.5, "l": [1, "a"], "y": b"\x01\x02",
                                     "m": {"k": 1}}, events=[(at(50), "cache miss", {"key": "k1"})],
                              traceState="a=1,b=2", flags=0x101),
                span(1, 0x11, "call", at(10), at(90), parent=0x10, kind="client", links=[(9, 8, {"why": "retry"})]),
                scope=("lib", "3"), host__name="h1", process__pid=42),
        process("back", span(1, 0x12, "work", at(20), at(80), parent=0x11, kind="server"), host__name="h1")), 1)
    equal("the contract's keys come first, in order", list(trace)[:len(KEYS)], KEYS)
    equal("trace_id is 32 digits", trace["trace_id"], trace_id(1))
    equal("start_ns and end_ns are the trace's", (trace["start_ns"], trace["end_ns"]), (at(0), at(100)))
    check("complete is a boolean", trace["complete"] is True, trace["complete"])

    def instants(value, path=""):
        if isinstance(value, dict):
            for k, v in value.items():
                if k.endswith("_ns"):
                    yield path + k, v
                if k != "attributes":
                    yield from instants(v, path + k + ".")
        elif isinstance(value, list):
            for v in value:
                yield from instants(v, path)

    every = list(instants(trace))
    check("every *_ns is an integer, never a string or float", every and all(type(v) is int for _, v in every), every)
    for kind, key in (("units", "id"), ("blocks", "span_id"), ("points", "id")):
        check(f"{kind}: every id has 16 hex digits, lower case, and is unique",
              trace[kind] and all(HEX16.match(e[key]) for e in trace[kind]) and
              len({e[key] for e in trace[kind]}) == len(trace[kind]), trace[kind])
    equal("blocks stand in order of start, then id", [b["span_id"] for b in trace["blocks"]],
          [span_id(n) for n in (0x10, 0x11, 0x12)])
    check("points stand in order of time, then id",
          [(p["time_ns"], p["id"]) for p in trace["points"]] == sorted((p["time_ns"], p["id"]) for p in trace["points"]))
    units = {u["id"] for u in trace["units"]}
    points = {p["id"] for p in trace["points"]}
    blocks = {b["span_id"] for b in trace["blocks"]}
    check("every block is in one unit, every point in a block, both ends of every edge exist",
          all(b["unit"] in units for b in trace["blocks"]) and all(p["span_id"] in blocks for p in trace["points"]) and
          all(e["from"] in points and e["to"] in points for e in trace["edges"]))
    root = block(trace, "GET /")
    equal("a block keeps kind, status, message, flags and tracestate",
          [root[k] for k in ("kind", "status", "status_message", "flags", "tracestate")],
          ["server", "error", "boom", 0x101, "a=1,b=2"])
    equal("attributes keep their types", {k: root["attributes"][k] for k in "sibdl"},
          {"s": "text", "i": 2**60, "b": True, "d": 0.5, "l": [1, "a"]})
    equal("a bytes attribute is base64, a map an object", (root["attributes"]["y"], root["attributes"]["m"]),
          ({"bytes": "AQI="}, {"k": 1}))
    equal("scope, process, point and link attributes are apart from the span's",
          (set(root["attributes"]), root["scope"]["name"], root["scope"]["version"]), (set("sibdlym"), "lib", "3"))
    event = [p for p in trace["points"] if p["type"] == "event"]
    check("a span event is a point with its own attributes", len(event) == 1 and event[0]["name"] == "cache miss" and
          event[0]["time_ns"] == at(50) and event[0]["attributes"] == {"key": "k1"}, event)
    link = block(trace, "call")["links"]
    equal("a link keeps ids and attributes", [(l["trace_id"], l["span_id"], l["attributes"]) for l in link],
          [(trace_id(9), span_id(8), {"why": "retry"})])
    front = [p for p in trace["processes"] if p["service"] == "front"]
    check("process attributes are with the process", front and front[0]["attributes"].get("process.pid") == 42, front)
    equal("kind of parent reference", [b["reference"] for b in trace["blocks"]], ["none", "child_of", "child_of"])
    check("source, probability and receipt time are on every block", all(
        b["source"] == "recorded" and b["probability"] == 1 and b["received_ns"] > BASE for b in trace["blocks"]))
    equal("each block has a begin and an end point",
          sorted((p["span_id"], p["type"], p["time_ns"]) for p in trace["points"] if p["type"] != "event"),
          sorted([(span_id(n), kind, t) for n, a, b in ((0x10, 0, 100), (0x11, 10, 90), (0x12, 20, 80))
                  for kind, t in (("begin", at(a)), ("end", at(b)))]))
    equal("nothing repaired, nothing missing", (trace["repairs"], trace["missing"]), ([], []))


def units_of_process_and_thread():
    def p(service, *spans, **more):
        return process(service, *spans, **more)

    trace = build(otlp(
        p("a", span(2, 1, "root", at(0), at(100), kind="server", attrs={"thread.id": 1}),
          span(2, 2, "same thread", at(1), at(9), parent=1, attrs={"thread.id": 1}),
          span(2, 3, "other thread", at(10), at(20), parent=1, attrs={"thread.id": 2}),
          span(2, 7, "back again", at(41), at(42), parent=6, attrs={"thread.id": 1}), service__instance__id="i1"),
        p("a", span(2, 4, "other instance", at(30), at(35), parent=1, attrs={"thread.id": 1}), service__instance__id="i2"),
        p("b", span(2, 6, "elsewhere", at(40), at(50), parent=1, attrs={"thread.id": 1}))), 2)
    unit = {b["name"]: b["unit"] for b in trace["blocks"]}
    check("parent and child of one process and thread share a unit", unit["root"] == unit["same thread"], unit)
    check("another thread.id is another unit", unit["other thread"] != unit["root"], unit)
    check("another process of the same service is another unit", unit["other instance"] != unit["root"], unit)
    check("spans of one process that are not parent-linked are different units", unit["back again"] != unit["root"], unit)
    equal("a unit is named by service.name", {u["id"]: u["name"] for u in trace["units"]}[unit["elsewhere"]], "b")
    equal("parent and child across units: call between begins, return between ends",
          edges_between(trace, "root", "other thread") | edges_between(trace, "other thread", "root"),
          {("call", "begin", "begin"), ("return", "end", "end")})
    equal("no edge within a unit", edges_between(trace, "root", "same thread"), set())


def edges_of_calls_and_messages():
    trace = build(otlp(
        process("a", span(3, 1, "root", at(0), at(100)), span(3, 2, "client", at(10), at(40), parent=1, kind="client"),
                span(3, 4, "producer", at(50), at(55), parent=1, kind="producer"),
                span(3, 8, "linked", at(90), at(95), parent=1, links=[(3, 2)])),
        process("b", span(3, 3, "server", at(15), at(35), parent=2, kind="server"),
                span(3, 5, "consumer", at(60), at(80), parent=4, kind="consumer"),
                span(3, 6, "consumer of internal", at(61), at(150), parent=1, kind="consumer"))), 3)
    equal("CLIENT → SERVER: request between begins", edges_between(trace, "client", "server"),
          {("request", "begin", "begin")})
    equal("SERVER → CLIENT: response between ends", edges_between(trace, "server", "client"), {("response", "end", "end")})

    def one_way(a, b, what):
        points = {p["id"]: p["span_id"] for p in trace["points"]}
        ids = block(trace, a)["span_id"], block(trace, b)["span_id"]
        found = [e for e in trace["edges"] if (points[e["from"]], points[e["to"]]) == ids]
        check(f"{what}: one one-way edge that does not block",
              [(e["type"], e["blocking"]) for e in found] == [("one_way", False)], found)
        back = [e for e in trace["edges"] if (points[e["to"]], points[e["from"]]) == ids]
        check(f"{what}: nothing comes back", not back, back)

    one_way("producer", "consumer", "PRODUCER → CONSUMER")
    one_way("root", "consumer of internal", "a CONSUMER under a non-CONSUMER")
    one_way("client", "linked", "a link")
    check("the PRODUCER itself is no message: nothing one-way leads to it",
          not [e for e in edges_between(trace, "root", "producer") if e[0] == "one_way"])
    late = block(trace, "consumer of internal")
    equal("an asynchronous child is not squeezed into its parent", (late["start_ns"], late["end_ns"]), (at(61), at(150)))
    equal("the trace ends when its last span ends", trace["end_ns"], at(150))

    refs = build(jaeger(jaeger_span(4, 1, "root", 0, 100), jaeger_span(4, 2, "after", 10, 20, [("FOLLOWS_FROM", 4, 1)]),
                        jaeger_span(4, 3, "both", 30, 5, [("FOLLOWS_FROM", 4, 2), ("CHILD_OF", 4, 1), ("CHILD_OF", 4, 2)]),
                        jaeger_span(4, 5, "foreign", 40, 5, [("CHILD_OF", 99, 7), ("FOLLOWS_FROM", 4, 1)])), 4)
    parents = {b["name"]: (b["parent_id"], b["reference"]) for b in refs["blocks"]}
    equal("Jaeger: FOLLOWS_FROM alone is the parent", parents["after"], (span_id(1), "follows_from"))
    equal("Jaeger: the first CHILD_OF of the trace wins over FOLLOWS_FROM", parents["both"], (span_id(1), "child_of"))
    equal("Jaeger: a CHILD_OF of another trace is a link, the FOLLOWS_FROM the parent", parents["foreign"],
          (span_id(1), "follows_from"))
    links = {b["name"]: [(l["trace_id"], l["span_id"]) for l in b.get("links", [])] for b in refs["blocks"]}
    equal("Jaeger: other references are links", (sorted(links["both"]), links["foreign"]),
          ([(trace_id(4), span_id(2))] * 2 if len(links["both"]) == 2 else [(trace_id(4), span_id(2))],
           [(trace_id(99), span_id(7))]))
    check("FOLLOWS_FROM: a one-way edge", {e[0] for e in edges_between(refs, "root", "after")} == {"one_way"},
          edges_between(refs, "root", "after"))


def repairs_of_times():
    trace = build(otlp(process(
        "a", span(5, 1, "root", at(0), at(100)), span(5, 2, "no end, children", at(10), parent=1),
        span(5, 3, "child", at(20), at(30), parent=2), span(5, 4, "grandchild", at(25), at(60), parent=3),
        span(5, 5, "no end, alone", at(40), parent=1), span(5, 6, "end first", at(50), at(45), parent=1),
        span(5, 7, "stray", at(70), at(80), parent=1, events=[(at(65), "early"), (at(85), "late"), (at(75), "within")]))), 5)

    def repair(pass_name, element):
        found = [r for r in repairs(trace, pass_name) if r["element"] == element]
        return (found[0]["before"], found[0]["after"]) if len(found) == 1 else found

    equal("no end: the latest end below it", block(trace, "no end, children")["end_ns"], at(60))
    check("no end: the repair says so", repair("missing_end", span_id(2))[1] == at(60), trace["repairs"])
    equal("no end and nothing below: the start", block(trace, "no end, alone")["end_ns"], at(40))
    check("no end and nothing below: the repair says so", repair("missing_end", span_id(5))[1] == at(40), trace["repairs"])
    equal("end < start: end := start", (block(trace, "end first")["start_ns"], block(trace, "end first")["end_ns"]),
          (at(50), at(50)))
    equal("end < start: the raw end is kept", repair("end_before_start", span_id(6)), (at(45), at(50)))
    times = {p["name"]: p["time_ns"] for p in trace["points"] if p["type"] == "event"}
    equal("a stray point goes to the nearest bound", times, {"early": at(70), "late": at(80), "within": at(75)})
    equal("a stray point: raw values are kept", sorted((r["before"], r["after"]) for r in repairs(trace, "stray_point")),
          [(at(65), at(70)), (at(85), at(80))])
    check("repaired blocks say that they are", all(block(trace, n)["source"] == "repaired" for n in
          ("no end, children", "no end, alone", "end first")), [(b["name"], b["source"]) for b in trace["blocks"]])
    check("every repair has element, pass, before and after",
          all(list(r)[:4] == ["element", "pass", "before", "after"] for r in trace["repairs"]), trace["repairs"])
    check("what is missing is listed: two ends", sorted(m["span_id"] for m in trace["missing"] if m["what"] == "end") ==
          [span_id(2), span_id(5)], trace["missing"])
    check("a trace with missing ends is not complete", trace["complete"] is False)


def repairs_of_structure():
    orphans = build(otlp(process("a", span(6, 2, "x", at(10), at(20), parent=99), span(6, 3, "y", at(15), at(40), parent=99),
                                 span(6, 4, "z", at(5), at(6), parent=98))), 6)
    stand_in = block(orphans, span_id(99))
    equal("a missing parent: one stand-in per id, unknown/missing, covering its children",
          [stand_in[k] for k in ("service", "name", "source", "start_ns", "end_ns", "parent_id")],
          ["unknown", "missing", "inferred", at(10), at(40), None])
    equal("its children hang below it", [block(orphans, n)["parent_id"] for n in "xyz"],
          [span_id(99), span_id(99), span_id(98)])
    equal("no more blocks than that", len(orphans["blocks"]), 5)
    check("the stand-in is a repair, and the parent is missing", repairs(orphans, "missing_parent") and
          {m["span_id"] for m in orphans["missing"] if m["what"] == "parent"} == {span_id(98), span_id(99)}, orphans["missing"])
    check("it is not complete, and says whether the rest may still come", orphans["complete"] is False and
          all(type(m["may_still_come"]) is bool for m in orphans["missing"]))

    cycle = build(otlp(process("a", span(7, 1, "late", at(20), at(30), parent=2), span(7, 2, "early", at(10), at(40), parent=3),
                               span(7, 3, "middle", at(15), at(35), parent=1), span(7, 4, "child", at(21), at(22), parent=1),
                               span(7, 5, "own parent", at(50), at(60), parent=5))), 7)
    equal("a cycle is cut above its earliest span", [block(cycle, n)["parent_id"] for n in ("early", "late", "middle", "child")],
          [None, span_id(2), span_id(1), span_id(1)])
    cut = {r["element"]: (r["before"], r["after"]) for r in repairs(cycle, "cycle")}
    equal("the cut is recorded with the raw parent", cut.get(span_id(2)), (span_id(3), None))
    equal("a span that is its own parent becomes a root", (block(cycle, "own parent")["parent_id"], cut.get(span_id(5))),
          (None, (span_id(5), None)))

    shared = build([zipkin_span(8, 1, "get", at(0) // 1000, 100_000, kind="CLIENT", service="front", ip="10.0.0.1"),
                    zipkin_span(8, 1, "get", at(10) // 1000, 80_000, kind="SERVER", service="back", ip="10.0.0.2", shared=True),
                    zipkin_span(8, 2, "sql", at(20) // 1000, 10_000, parent=1, service="back", ip="10.0.0.2")], 8)
    client = [b for b in shared["blocks"] if b["kind"] == "client"][0]
    server = [b for b in shared["blocks"] if b["kind"] == "server"][0]
    equal("one id for CLIENT and SERVER: SERVER becomes the child", (client["span_id"], server["parent_id"]),
          (span_id(1), span_id(1)))
    check("the SERVER half has an id of its own, of 16 digits", HEX16.match(server["span_id"]) and
          server["span_id"] != span_id(1), server["span_id"])
    equal("what the server did hangs below the server", block(shared, "sql")["parent_id"], server["span_id"])
    equal("request and response join the halves", edges_between(shared, client["span_id"], server["span_id"]) |
          edges_between(shared, server["span_id"], client["span_id"]),
          {("request", "begin", "begin"), ("response", "end", "end")})
    check("the shared id is a recorded repair", len(repairs(shared, "shared_span_id")) == 1, shared["repairs"])

    double = build(otlp(process("a", span(9, 1, "first", at(0), at(50)), span(9, 1, "second", at(10), at(20)),
                                span(9, 2, "child", at(12), at(13), parent=1))), 9)
    check("two different spans with one id are both kept, under different ids", len(double["blocks"]) == 3 and
          len({b["span_id"] for b in double["blocks"]}) == 3 and repairs(double, "duplicate_id"), double["blocks"])
    equal("the earliest keeps the id", block(double, "first")["span_id"], span_id(1))

    roots = build(otlp(process("a", span(10, 1, "one", at(0), at(10)), span(10, 2, "two", at(20), at(90)))), 10)
    check("several roots: all are kept, counted and recorded", len(roots["roots"]) == 2 and
          repairs(roots, "several_roots") and len(roots["blocks"]) == 2, roots["repairs"])
    equal("the main root is the earliest", roots["main_root"], span_id(1))


def invariants_hold_on_random_damage():
    rng = random.Random(17)
    store, processes = folder(), []
    for n in range(60):
        tid = 0x5000 + n
        spans = []
        for s in range(1, rng.randrange(2, 12)):
            start = at(rng.randrange(200))
            spans.append(span(tid, rng.randrange(1, 10), f"s{s}", start, rng.choice([None, start + rng.randrange(-50, 100) * MILLI]),
                              parent=rng.randrange(0, 12), kind=rng.choice(list(KINDS)),
                              events=[(at(rng.randrange(300)), "e")] * rng.randrange(2),
                              links=[(tid, rng.randrange(1, 12))] * rng.randrange(2), attrs={"thread.id": rng.randrange(3)}))
        for k, one in enumerate(spans):
            processes.append(process(f"svc{k % 3}", one, **({"host__name": f"h{k % 3}"} if n % 2 else {})))
    import_value(store, otlp(*processes))
    faults = []
    with Server(store) as server:
        traces = [server.trace(0x5000 + n) for n in range(60)]
    for n, trace in enumerate(traces):
        blocks = {b["span_id"]: b for b in trace["blocks"]}
        points = {p["id"]: p for p in trace["points"]}
        units = {u["id"] for u in trace["units"]}
        if len(blocks) != len(trace["blocks"]) or len(points) != len(trace["points"]):
            faults.append((n, "ids are not unique"))
        for b in blocks.values():
            seen, up = set(), b
            while up["parent_id"] is not None and up["span_id"] not in seen:
                seen.add(up["span_id"])
                up = blocks[up["parent_id"]]
            if up["parent_id"] is not None:
                faults.append((n, "cycle"))
            if b["unit"] not in units or b["end_ns"] < b["start_ns"]:
                faults.append((n, "unit or times", b))
        for p in points.values():
            if not blocks[p["span_id"]]["start_ns"] <= p["time_ns"] <= blocks[p["span_id"]]["end_ns"]:
                faults.append((n, "point outside its block", p))
        if any(e["from"] not in points or e["to"] not in points for e in trace["edges"]):
            faults.append((n, "edge without end"))
        if trace["usable"] != (not trace["violations"]):
            faults.append((n, "usable", trace["violations"]))
    check("60 damaged traces: no cycle, blocks in units, points in blocks, edges with ends", not faults, faults[:5])


def skewed(tid, shift, n, hosts=True, rng=random):
    """client on h1, server on h2 whose clock is `shift` ahead; 2 ms there, 2 ms back, at least."""
    start = at(1000 * n)
    there, back = (2 * MILLI + rng.randrange(3 * MILLI) for _ in range(2))
    h1, h2 = ({"host__name": "h1"}, {"host__name": "h2"}) if hosts else ({}, {})
    return [process("front", span(tid, 1, "client", start, start + 20 * MILLI + there + back, kind="client"), **h1),
            process("back", span(tid, 2, "server", start + there + shift, start + there + 20 * MILLI + shift, parent=1, kind="server"),
                    span(tid, 3, "inner", start + there + shift + MILLI, start + there + shift + 2 * MILLI, parent=2), **h2)]


def clocks_are_aligned_by_exchanges():
    rng, store = random.Random(23), folder()
    # All within one window of ten minutes, whatever its border: windows are multiples of it.
    shift = 80 * MILLI
    n0 = (600 * SECOND - BASE % (600 * SECOND)) // SECOND + 100
    processes = [p for n in range(40) for p in skewed(0x6000 + n, shift, n0 + n, rng=rng)]
    start = at(1000 * (n0 + 50))
    processes += [process("front", span(0x6100, 1, "publish", start, start + MILLI, kind="producer"), host__name="h1"),
                  process("back", span(0x6100, 2, "handle", start + 5 * MILLI + shift, start + 6 * MILLI + shift, parent=1,
                                       kind="consumer"), host__name="h2")]
    import_value(store, otlp(*processes))
    offsets, inside, causal, ordered = set(), True, True, True
    with Server(store) as server:
        answers = [[server.trace(0x6000 + n, clock=c) for c in ("aligned", "raw")] for n in range(40)]
    for n, (aligned, raw) in enumerate(answers):
        client, server, inner = (block(aligned, x) for x in ("client", "server", "inner"))
        slack = aligned["clock_error_ns"]
        inside &= client["start_ns"] - slack <= server["start_ns"] and server["end_ns"] <= client["end_ns"] + slack
        causal &= not aligned["violations"]
        ordered &= server["start_ns"] < inner["start_ns"] < inner["end_ns"] < server["end_ns"]
        moved = (server["raw_start_ns"] - server["start_ns"]) - (client["raw_start_ns"] - client["start_ns"])
        offsets.add(round(moved / MILLI))
        if n == 0:
            equal("--clock raw: recorded times, unmoved", [block(raw, x)["start_ns"] for x in ("client", "server")],
                  [block(raw, x)["raw_start_ns"] for x in ("client", "server")])
            check("raw: the server seems to start after the client ended", block(raw, "server")["start_ns"] > block(raw, "client")["end_ns"])
            equal("raw times are in both answers", [block(raw, x)["raw_start_ns"] for x in ("client", "server")],
                  [block(aligned, x)["raw_start_ns"] for x in ("client", "server")])
            equal("the answer names its clock", (aligned["clock"], raw["clock"]), ("aligned", "raw"))
            check("the offsets applied are listed: host, from, offset, error", aligned["clocks"] and all(
                {"host", "from_ns", "offset_ns", "error_ns"} <= set(c) for c in aligned["clocks"]), aligned["clocks"])
            default = get_trace(store, trace_id(0x6000))
            equal("aligned is the default", default, aligned)
    check("aligned: every server span lies within its client span", inside)
    check("aligned: no receive before its send by more than the clock error", causal)
    check("order on one host stays the recorded order", ordered)
    check("every trace sees the host's clock the same way, 80 ms ahead within 2.5 ms",
          max(offsets) - min(offsets) <= 1 and all(77 <= o <= 83 for o in offsets), offsets)
    one_way = get_trace(store, trace_id(0x6100))
    moved = block(one_way, "handle")["raw_start_ns"] - block(one_way, "handle")["start_ns"] - (
        block(one_way, "publish")["raw_start_ns"] - block(one_way, "publish")["start_ns"])
    check("a trace that could not tell by itself is moved by the same offset", abs(round(moved / MILLI) - min(offsets)) <= 1, moved)

    plain = folder()
    import_value(plain, otlp(*[p for n in range(20) for p in skewed(0x6200 + n, shift, n, hosts=False, rng=rng)]))
    still = [get_trace(plain, trace_id(0x6200 + n)) for n in range(2)]
    check("without any host nothing is moved", all(b["start_ns"] == b["raw_start_ns"] and b["end_ns"] == b["raw_end_ns"]
                                                   for t in still for b in t["blocks"]))
    bad = cli("trace", trace_id(0x6200), "--clock", "sundial", store=plain)
    check("an unknown clock is refused, exit 2", bad.code == 2 and not bad.out, bad)


def hosts_come_from_many_places():
    def host_of(value, tid):
        return build(value, tid)["units"][0]["host"]

    equal("host.id, before host.name", host_of(otlp(process("a", span(20, 1, "x", at(0), at(1)), host__id="i-7", host__name="n")), 20), "i-7")
    equal("host.name", host_of(otlp(process("a", span(20, 1, "x", at(0), at(1)), host__name="n7")), 20), "n7")
    equal("Jaeger hostname", host_of(jaeger(jaeger_span(20, 1), p1=("a", {"hostname": "hj", "ip": "10.0.0.3"})), 20), "hj")
    equal("Jaeger ip", host_of(jaeger(jaeger_span(20, 1), p1=("a", {"ip": "10.0.0.3"})), 20), "10.0.0.3")
    equal("Zipkin address", host_of([zipkin_span(20, 1, "x", 5, 5, service="a", ip="10.0.0.9")], 20), "10.0.0.9")
    equal("no host is null", host_of(otlp(process("a", span(20, 1, "x", at(0), at(1)))), 20), None)


def ids_are_padded_and_checked():
    store = folder()
    import_value(store, [zipkin_span("abc123", "9f", "short", 1000, 5)])
    import_value(store, jaeger(jaeger_span("5f", "7", "jaeger short", 1000, 5)))
    trace = get_trace(store, "abc123")
    equal("shorter ids are zero-padded", (trace["trace_id"], trace["blocks"][0]["span_id"]),
          ("abc123".zfill(32), "9f".zfill(16)))
    equal("the padded id finds it too", get_trace(store, "abc123".zfill(32)), trace)
    equal("upper case is the same id", get_trace(store, "ABC123"), trace)
    equal("Jaeger's short ids as well", get_trace(store, "5f")["blocks"][0]["span_id"], "7".zfill(16))
    bad = cli("trace", "12x4", store=store)
    check("an id that is not hex: exit 2, with its place", bad.code == 2 and not bad.out and
          bad.error["code"] == "bad_input" and "x" in bad.error["message"] and
          re.search(r"\b[23]\b", bad.error["message"]), bad)
    long = cli("trace", "1" * 33, store=store)
    check("an id that is too long: exit 2", long.code == 2 and not long.out, long)
    unknown = cli("trace", "dead", store=store)
    check("an unknown trace: exit 1, the padded id in the message", unknown.code == 1 and not unknown.out and
          unknown.error["code"] == "not_found" and "dead".zfill(32) in unknown.error["message"], unknown)
    for name, value in (("OTLP", otlp(process("a", span("zz" * 16, 1, "x", at(0), at(1)), span(0x31, 1, "y", at(0), at(1))))),
                        ("Zipkin", [zipkin_span("0x12", 1, "x", 5, 5), zipkin_span(0x32, 1, "y", 5, 5)]),
                        ("Jaeger", jaeger(jaeger_span("12g4", 1), jaeger_span(0x33, 1)))):
        ran = cli("import", write("bad.json", value), store=folder())
        counted = ran.code == 0 and ran.json["rejected"] == 1 and ran.json["spans"] == 1
        check(f"{name}: a non-hex id is rejected: counted, or exit 2", counted or (ran.code == 2 and not ran.out), ran)
        check(f"{name}: and its place is told", re.search(rb"zzzz|0x12|12g4|byte|line", ran.err + ran.out), ran)


def time_zero_is_a_time():
    trace = build(jaeger(jaeger_span(40, 1, "root", 0, 5), jaeger_span(40, 2, "child", 1, 0, [("CHILD_OF", 40, 1)])), 40)
    equal("Jaeger: start 0 is kept, µs become ns", [(b["start_ns"], b["end_ns"]) for b in trace["blocks"]],
          [(0, 5000), (1000, 1000)])
    equal("nothing was repaired", (trace["repairs"], trace["missing"], trace["complete"]), ([], [], True))
    store = folder()
    import_value(store, jaeger(jaeger_span(40, 1, "root", 0, 5)))
    found = must(cli("traces", "--since", "0", "--until", "1", store=store)).json["traces"]
    equal("it is found by --since 0 --until 1", [t["start_ns"] for t in found], [0])


def events_of_all_types(tid=0x70):
    """Our own events, JSON lines: a queue item, a lock, an RPC, and a type nobody knows."""
    t, lines = trace_id(tid), []

    def event(kind, id1, id2=None, ms=0, **annotations):
        one = {"trace_id": t, "type": kind, "id1": span_id(id1), "time_ns": at(ms), "seq": len(lines)}
        if id2 is not None:
            one["id2"] = span_id(id2)
        if annotations:
            one["annotations"] = annotations
        lines.append(json.dumps(one))

    event("unit_begin", 0xA, ms=0)
    event("block_begin", 1, 0xA, ms=0)
    event("point", 0x90, 1, ms=1)
    event("annotate", 1, ms=1, **{"counter:bytes:B": "512", "label:page": "home"})
    event("queue_put", 0x30, 1, ms=2)
    event("lock_request", 0x40, 1, ms=3)
    event("lock_acquire", 0x40, 1, ms=5)
    event("lock_release", 0x40, 1, ms=7)
    event("block_end", 1, 0xA, ms=20)
    event("unit_end", 0xA, ms=20)
    event("unit_begin", 0xB, 1, ms=8)
    event("block_begin", 2, 0xB, ms=8)
    event("queue_take", 0x30, 2, ms=9)
    event("queue_done", 0x30, 2, ms=12)
    event("sparkle", 0x50, 2, ms=10)
    event("block_end", 2, 0xB, ms=15)
    event("unit_end", 0xB, ms=15)
    return "\n".join(lines) + "\n"


def events_become_elements():
    with Server() as server:
        answer = server.request("http", "POST", "/api/v1/events", events_of_all_types(), {"Content-Type": "application/x-ndjson"})
        if answer.status in (404, 405):
            ran = cli("import", write("events.jsonl", events_of_all_types()), store=server.store)
            check("events as JSON lines are imported", ran.code == 0 and ran.json["traces"] == 1, ran)
        else:
            check("POST /api/v1/events takes JSON lines", answer.status == 200, answer)
        trace = get_trace(server.store, trace_id(0x70))
    kinds = sorted((b["kind"], b["start_ns"], b["end_ns"]) for b in trace["blocks"] if b["kind"] in ("wait", "work", "hold"))
    equal("a queue item is a wait and a work block, a lock a wait and a hold block", kinds,
          [("hold", at(5), at(7)), ("wait", at(2), at(9)), ("wait", at(3), at(5)), ("work", at(9), at(12))])
    check("the queue's edges are there", {"queue", "dequeue"} <= {e["type"] for e in trace["edges"]}, trace["edges"])
    equal("a type without handler is kept, counted and shown", trace["unknown_events"], [{"type": "sparkle", "count": 1}])
    notes = [(a["kind"], a["name"], a.get("unit")) for a in block(trace, span_id(1)).get("annotations", [])]
    check("annotations carry kind, name and unit", ("counter", "bytes", "B") in notes and
          ("label", "page") in [n[:2] for n in notes], notes)


def late_spans_rebuild_the_trace():
    """Two parts of one trace, received more than ten seconds apart."""
    store = folder()
    import_value(store, otlp(process("a", span(0x80, 1, "root", at(0), at(50)), span(0x80, 2, "child", at(1), at(5), parent=1))))
    first = get_trace(store, trace_id(0x80))
    import_value(store, otlp(process("a", span(0x81, 2, "child", at(1), at(5), parent=1))))
    waiting = get_trace(store, trace_id(0x81))
    yield
    import_value(store, otlp(process("b", span(0x80, 3, "late", at(2), at(90), parent=1))))
    second = get_trace(store, trace_id(0x80))
    check("before: complete, two blocks", first["complete"] and len(first["blocks"]) == 2)
    equal("after: the late span is in the trace", (len(second["blocks"]), second["end_ns"], block(second, "late")["parent_id"]),
          (3, at(90), span_id(1)))
    check("the trace says that it was rebuilt", [r["element"] for r in repairs(second, "late")] == [span_id(3)], second["repairs"])
    found = must(cli("traces", store=store)).json["traces"]
    equal("search sees the rebuilt trace", [(t["spans"], t["duration_ns"]) for t in found if t["trace_id"] == trace_id(0x80)],
          [(3, 90 * MILLI)])
    check("a parent that is missing right after receipt may still come", waiting["missing"] and
          waiting["missing"][0]["may_still_come"] is True, waiting["missing"])
    import_value(store, otlp(process("a", span(0x81, 1, "root", at(0), at(50)))))
    came = get_trace(store, trace_id(0x81))
    check("when the parent comes, the stand-in goes and the trace is complete", came["complete"] and
          [b["name"] for b in came["blocks"]] == ["root", "child"], came["blocks"])


def one_span_only():
    store = folder()
    import_value(store, otlp(process("a", span(0x90, 1, "root", at(0), at(50), events=[(at(3), "e")]), span(0x90, 2, "child", at(1), at(5), parent=1))))
    part = get_trace(store, trace_id(0x90), "--span", span_id(2))
    equal("--span: only that block and its points", ([b["name"] for b in part["blocks"]], {p["span_id"] for p in part["points"]}),
          (["child"], {span_id(2)}))
    equal("--span: an unknown one is no answer, exit 1", cli("trace", trace_id(0x90), "--span", "77", store=store).code, 1)


def the_waterfall_on_a_terminal():
    store = folder()
    import_value(store, otlp(process("front", span(0x91, 1, "GET /", at(0), at(50), kind="server"),
                                     span(0x91, 2, "query", at(1), at(45), parent=1))))
    ran = cli("trace", trace_id(0x91), store=store, text=True)
    lines = ran.out.decode().splitlines()
    check("the waterfall names spans and service", ran.code == 0 and all(w in ran.out for w in (b"GET /", b"query", b"front")), ran)
    check("it fits 100 columns", max(map(len, lines)) <= 100, max(lines, key=len))


def late_part():
    if late is None:
        raise AssertionError("the first part did not run")
    time.sleep(max(0, 11 - (time.monotonic() - began)))
    for _ in late:
        pass


late, began = None, 0


def late_start():
    global late, began
    late = late_spans_rebuild_the_trace()
    next(late)
    began = time.monotonic()


run(late_start, keys_types_and_order, units_of_process_and_thread, edges_of_calls_and_messages, repairs_of_times,
    repairs_of_structure, invariants_hold_on_random_damage, clocks_are_aligned_by_exchanges, hosts_come_from_many_places,
    ids_are_padded_and_checked, time_zero_is_a_time, events_become_elements, one_span_only, the_waterfall_on_a_terminal,
    late_part)
