#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 180
"""`critical-path`: keys, order and exit codes; one trace and many; the same bytes by CLI and HTTP. The rules themselves
are tested case by case beside the code (src/analysis/critical_path/testdata)."""
import json
import sys
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

BASE = 1_700_000_000 * SECOND
KEYS = ["trace_id", "root_span_id", "other_roots", "start_ns", "end_ns", "clock", "clock_error_ns", "complete", "segments"]
SEGMENT_KEYS = ["span_id", "service", "name", "category", "start_ns", "end_ns"]


def at(ms):
    return BASE + ms * MILLI


def shop(trace, slow=40):
    """GET / calls stock and prices in parallel, then the till."""
    return otlp(
        process("front", span(trace, 1, "GET /", at(0), at(100 + slow), kind="server"),
                span(trace, 2, "stock", at(10), at(30), parent=1, kind="client"),
                span(trace, 3, "prices", at(10), at(25), parent=1),
                span(trace, 4, "call till", at(30), at(90 + slow), parent=1, kind="client"),
                span(trace, 9, "log", at(95), at(300), parent=1, attrs={"wherefore.async": True})),
        process("till", span(trace, 5, "pay", at(40), at(80 + slow), parent=4, kind="server")))


def short(path):
    return [(int(s["span_id"], 16), s["category"], (s["start_ns"] - BASE) // MILLI, (s["end_ns"] - BASE) // MILLI)
            for s in path["segments"]]


def path_of(store, *flags, trace=1):
    return must(cli("critical-path", trace_id(trace), *flags, store=store)).json


def one_trace():
    store = folder()
    import_value(store, shop(1))
    path = path_of(store)
    equal("the contract's keys, in order", list(path), KEYS)
    equal("a segment's keys, in order", list(path["segments"][0]), SEGMENT_KEYS)
    equal("ids", (path["trace_id"], path["root_span_id"], path["other_roots"]), (trace_id(1), span_id(1), []))
    equal("the interval is the main root's", (path["start_ns"], path["end_ns"]), (at(0), at(140)))
    equal("clock and completeness", (path["clock"], path["clock_error_ns"], path["complete"]), ("aligned", 0, True))
    equal("the segments", short(path), [(1, "self", 0, 10), (2, "blocked", 10, 30), (4, "network", 30, 40),
                                        (5, "self", 40, 120), (4, "network", 120, 130), (1, "self", 130, 140)])
    equal("the sibling that ran beside it is an alternative", [s.get("alternatives") for s in path["segments"]],
          [None, [span_id(3)], None, None, None, None])
    equal("between two places", short(path_of(store, "--from", span_id(2) + ":end", "--to", span_id(5))),
          [(4, "network", 30, 40), (5, "self", 40, 120)])
    equal("an empty interval", path_of(store, "--to", span_id(1) + ":start")["segments"], [])
    equal("--clock raw", path_of(store, "--clock", "raw")["clock"], "raw")
    equal("what if the till were twice as fast", path_of(store, "--what-if", "service/till=0.5x")["what_if"],
          {"matched": 1, "duration_ns": 100 * MILLI})
    equal("what if stock took no time: prices remain", path_of(store, "--what-if", "operation/stock=0x")["what_if"],
          {"matched": 1, "duration_ns": 135 * MILLI})

    text = must(cli("critical-path", trace_id(1), store=store, text=True)).out.decode()
    lines = text.splitlines()
    check("text: a sentence first", "140 ms" in lines[0] and "57%" in lines[0] and "till pay" in lines[0], text)
    check("text: fits 100 columns", all(len(line) <= 100 for line in lines), text)
    check("text: a row for each segment", sum("%" in line for line in lines[1:]) == 6, text)


def overlap():
    store = folder()
    import_value(store, otlp(process("s", span(1, 1, "root", BASE, BASE + 200), span(1, 2, "a", BASE, BASE + 101, parent=1),
                                     span(1, 3, "b", BASE + 100, BASE + 200, parent=1))))
    names = lambda path: [s["name"] for s in path["segments"]]
    equal("an overlap of a nanosecond is succession", names(path_of(store)), ["a", "b"])
    equal("unless turned off", names(path_of(store, "--overlap-tolerance", "0")), ["root", "b"])


def time_zero_and_roots():
    store = folder()
    import_value(store, jaeger(jaeger_span(1, 1, "root", 0, 10), jaeger_span(1, 2, "child", 0, 4, [("CHILD_OF", 1, 1)]),
                               jaeger_span(1, 3, "later", 4, 9, [("FOLLOWS_FROM", 1, 1)]),
                               jaeger_span(1, 7, "other", 5, 100), jaeger_span(1, 6, "other", 5, 100)))
    path = path_of(store)
    equal("time 0 is a time, FOLLOWS_FROM does not block", [(s["name"], s["start_ns"], s["end_ns"]) for s in path["segments"]],
          [("child", 0, 4000), ("root", 4000, 10000)])
    equal("other roots", path["other_roots"], [span_id(6), span_id(7)])


def recorded_edges():
    """Events: a page whose style sheet loads while it parses."""
    unit, page, parse, css = "u1", "b1", "b2", "e1"
    tid = trace_id(0xeb)
    event = lambda kind, id1, time, **more: {"trace_id": tid, "type": kind, "id1": id1, "time_ns": time, **more}
    label = lambda **values: {"label:" + key: value for key, value in values.items()}
    lines = [
        event("unit_begin", unit, 0, annotations=label(service="browser")),
        event("block_begin", page, 0, id2=unit, annotations=label(name="page")),
        event("edge_begin", css, 20, id2=page, annotations=label(type="resource")),
        event("block_begin", parse, 30, id2=unit, annotations=label(name="parse")),
        event("block_end", parse, 50, id2=unit),
        event("edge_end", css, 70, id2=page, annotations={**label(type="resource"), "counter:bytes:B": "1000"}),
        event("block_end", page, 100, id2=unit),
        event("unit_end", unit, 100),
    ]
    store = folder()
    import_files(store, write("events.jsonl", "".join(json.dumps(line) + "\n" for line in lines)))
    edges = must(cli("trace", tid, store=store)).json["edges"]
    equal("the edge is a resource and blocks", [(e["type"], e["blocking"]) for e in edges], [("resource", True)])
    path = must(cli("critical-path", tid, "--what-if", "type/resource=0.5x", store=store)).json
    equal("its way is the page's wait", [(s["name"], s["category"], s["start_ns"], s["end_ns"]) for s in path["segments"]],
          [("page", "self", 0, 20), ("page", "blocked", 20, 70), ("page", "self", 70, 100)])
    equal("half the load: then it waits for the parsing", path["what_if"], {"matched": 1, "duration_ns": 80})


def errors():
    store = folder()
    import_value(store, shop(1))

    def fails(name, code, *arguments):
        ran = cli("critical-path", *arguments, store=store)
        check(name, ran.code == code and not ran.out and ran.error["message"] and ran.error["hint"], ran)

    fails("an unknown trace: 1", 1, trace_id(77))
    fails("an unknown span: 1", 1, trace_id(1), "--to", "abc")
    fails("unrelated places: 1", 1, trace_id(1), "--from", span_id(2), "--to", span_id(3))
    fails("the wrong way round: 1", 1, trace_id(1), "--from", span_id(4), "--to", span_id(2))
    fails("no trace id: 2", 2, "xyz")
    fails("no span id: 2", 2, trace_id(1), "--from", "xyz")
    fails("neither start nor end: 2", 2, trace_id(1), "--from", span_id(1) + ":middle")
    fails("no clock: 2", 2, trace_id(1), "--clock", "sundial")
    fails("no tolerance: 2", 2, trace_id(1), "--overlap-tolerance", "7")
    fails("no selector: 2", 2, trace_id(1), "--what-if", "till=0.5x")
    fails("no factor: 2", 2, trace_id(1), "--what-if", "service/till=fast")
    fails("search flags with an id: 2", 2, trace_id(1), "--service", "till")
    fails("places without an id: 2", 2, "--from", span_id(1))


def population():
    store = folder()
    for trace, slow in ((1, 0), (2, 40), (3, 400)):
        import_value(store, shop(trace, slow))
    import_value(store, otlp(process("batch", span(9, 1, "nightly", at(0), at(1000)))))
    ask = lambda *flags: must(cli("critical-path", *flags, store=store)).json
    answer = ask("--service", "till")
    equal("keys", list(answer), ["traces", "duration_ns", "skipped", "components", "requests", "next"])
    equal("three traces, together", (answer["traces"], answer["duration_ns"], answer["skipped"]), (3, 740 * MILLI, 0))
    first = answer["components"][0]
    equal("most time first", first, {
        "service": "till", "name": "pay", "category": "self", "traces": 3, "total_ns": 560 * MILLI, "share": first["share"],
        "p50_ns": 80 * MILLI, "p95_ns": 440 * MILLI, "max_ns": 440 * MILLI, "max_trace_id": trace_id(3)})
    check("shares add up", abs(sum(c["share"] for c in answer["components"]) - 1) < 1e-9, answer)
    equal("totals add up", sum(c["total_ns"] for c in answer["components"]), answer["duration_ns"])
    equal("the requests, newest first", [r["duration_ns"] // MILLI for r in answer["requests"]], [500, 140, 100])
    half = ask("--service", "till", "--what-if", "service/till=0.5x")
    equal("what if: each and together", ([r["what_if"]["duration_ns"] // MILLI for r in half["requests"]], half["what_if"]),
          ([280, 100, 80], {"matched": 3, "duration_ns": 460 * MILLI}))
    limited = ask("--service", "till", "--limit", "2")
    check("--limit, and where to go on", limited["traces"] == 2 and limited["next"], limited)
    equal("nothing matches", ask("--service", "nobody"),
          {"traces": 0, "duration_ns": 0, "skipped": 0, "components": [], "requests": [], "next": None})
    text = must(cli("critical-path", "--service", "till", store=store, text=True)).out.decode()
    check("text: a sentence first", text.startswith("3 traces, 740 ms in total; 76% of it in till pay"), text)
    check("text: fits 100 columns", all(len(line) <= 100 for line in text.splitlines()), text)


def by_http():
    store = folder()
    for trace in (1, 2):
        import_value(store, shop(trace, 40 * trace))
    questions = [
        ([trace_id(1)], {}), ([trace_id(1)], {"from": span_id(2) + ":end", "to": span_id(5)}),
        ([trace_id(2)], {"clock": "raw", "overlap_tolerance": "0", "what_if": "type/network=0.5x"}),
        ([], {"service": "till", "since": str(at(-1)), "until": str(at(1)), "limit": "10", "what_if": "service/till=2x"}),
        ([], {"attr": "a=b"}),
    ]
    flags = lambda given: [word for key, value in given.items() for word in ("--" + key.replace("_", "-"), value)]
    alone = [must(cli("critical-path", *words, *flags(given), store=store)).out for words, given in questions]
    with Server(store) as server:
        for (words, given), expected in zip(questions, alone):
            path = "/".join(["/api/v1/critical-path", *words]) + "?" + urllib.parse.urlencode(given)
            answer = server.get(path)
            equal(f"the same bytes by HTTP: {path[15:100]}", (answer.status, answer.body), (200, expected))
            equal("… and by the CLI of a served store", must(cli("critical-path", *words, *flags(given), store=store)).out,
                  expected)
        equal("unrelated places: 404", server.get(f"/api/v1/critical-path/{trace_id(1)}?from={span_id(2)}&to={span_id(3)}").status,
              404)
        equal("a bad selector: 400", server.get(f"/api/v1/critical-path/{trace_id(1)}?what_if=fast").status, 400)


run(one_trace, overlap, time_zero_and_roots, recorded_edges, errors, population, by_http)
