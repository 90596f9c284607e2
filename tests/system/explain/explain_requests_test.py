#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""`explain` of stored requests, the finer points: how far back it looks, what is normal between two places, requests that
cannot be explained among the slowest, its events as a file, links between traces."""
import json
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from explain_lab import *

MINUTE = 60_000  # in ms


def long_job():
    """A job of three hours whose last step waits for storage, which a job that began two hours before keeps busy."""
    hours = 60 * MINUTE
    return otlp(
        process("mill", span(1, 1, "job", at(0), at(3 * hours)), span(1, 2, "early", at(1000), at(2000), parent=1),
                span(1, 3, "late", at(3 * hours - 5000), at(3 * hours), parent=1, kind="client")),
        process("storage", storage_span(1, 4, "get", 3, 3 * hours - 4900, 3 * hours - 1000, 3 * hours - 100),
                service__instance__id="s1"),
        process("maintenance", span(2, 5, "sweep", at(hours), at(3 * hours - 500), kind="client")),
        process("storage", storage_span(2, 6, "scan", 5, hours + 10, hours + 20, 3 * hours - 1000), service__instance__id="s1"))


def retention():
    store = folder()
    import_value(store, long_job())
    late = ["--from", span_id(3)]
    figures = lambda answer: [(v["id"], v["delay_ns"], v["self_ns"]) for v in answer["vertices"] if v["delay_ns"] > 0]
    usual = explain(store, trace_id(1), *late)
    equal("half an hour before the place asked from", usual["loaded"]["retained_from_ns"], at(3 * 60 * MINUTE - 5000 - 30 * MINUTE))
    check("what ended before is gone", usual["loaded"]["events_gone"] > 0, usual["loaded"])
    equal("who lost a cause says so", [v["tuple"].split("(")[0] for v in usual["vertices"] if v.get("expired")], ["job", "scan"])
    whole = explain(store, trace_id(1), *late, "--retain", "5h")
    equal("further back, nothing is gone", (whole["loaded"]["events_gone"], [v for v in whole["vertices"] if v.get("expired")]),
          (0, []))
    equal("and every figure is the same", figures(whole), figures(usual))
    equal("the scan is named though it began long before", [b[:4] for b in blamed(usual)],
          [("storage", "scan(" + span_id(6) + ")", "maintenance", 1)])
    text = must(cli("explain", trace_id(1), *late, store=store, text=True)).out.decode()
    check("on the terminal, too", "expired" in text and "--retain" in text, text)
    exact = explain(store, trace_id(1), *late, "--retain-from-ns", str(at(0)))
    equal("or from a time on", exact["loaded"]["retained_from_ns"], at(0))
    for name, flags in [("two retentions", ["--retain", "1h", "--retain-from-ns", "5"]), ("no duration", ["--retain", "long"])]:
        ran = cli("explain", trace_id(1), *flags, store=store)
        check(f"refused: {name}", ran.code == 2 and ran.out == b"" and "retain" in ran.error["message"], ran)


def bad_ones_among_the_slowest():
    store = folder()
    import_value(store, otlp(*page(1), *page(3, base=3000, waited=500), *page(4, base=6000, waited=100)))
    ask = ["--service", "frontend", "--operation", "GET /", "--since", str(at(0)), "--retain-from-ns", str(at(2500))]
    answer = explain(store, *ask)
    equal("those that can be", answer["requests"], [trace_id(3), trace_id(4)])
    equal("the other is skipped, by name", [(s["trace_id"], s["reason"]) for s in answer["skipped"]], [(trace_id(1), "expired")])
    equal("their times", answer["delay_ns"], 800 * MILLI)
    text = must(cli("explain", *ask, store=store, text=True)).out.decode()
    check("the terminal says so", "skipped: 1 older than what is retained" in text, text)
    none = cli("explain", *ask[:-1], str(at(99000)), store=store)
    check("none left: no answer", none.code == 1 and none.out == b"" and "3 older" in none.error["message"], none)
    equal("nothing skipped, else", explain(store, *ask[:-2])["skipped"], [])


def normal_between_places():
    store = folder()
    parts = page(1)
    for i in range(3, 13):
        parts += page(i, base=i * 2000, waited=i)
    import_value(store, otlp(*parts))
    answer = explain(store, trace_id(1), "--baseline", "--from", span_id(3), "--to", span_id(3))
    own = next(v for v in answer["vertices"] if v["id"] == answer["root"])
    equal("of the span that was asked about", (own["delay_ns"], own["baseline_ns"]), (60 * MILLI, 60 * MILLI))
    whole = explain(store, trace_id(1), "--baseline")
    root = next(v for v in whole["vertices"] if v["id"] == whole["root"])
    check("and not of the whole request", root["baseline_ns"] > 100 * MILLI, root)
    many = explain(store, "--service", "storage", "--operation", "get", "--since", str(at(0)), "--slowest", "2", "--baseline")
    own = next(v for v in many["vertices"] if v["id"] == many["root"])
    equal("of all of the slowest, in their places", (own["count"], own["baseline_ns"]), (2, 120 * MILLI))


def as_a_file():
    store = folder()
    parts = page(1) + sweep(2)
    for i in range(3, 9):  # two workers of the frontend, busy with others
        parts += page(i, base=i * 30, waited=100)
    import_value(store, otlp(*parts))
    out = os.path.join(folder("extract"), "events.jsonl")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    answer = explain(store, trace_id(1), "--stats", "--extract", out)
    check("nothing is left beside the file", os.listdir(os.path.dirname(out)) == ["events.jsonl"], os.listdir(os.path.dirname(out)))
    again = must(cli("explain", "--events", out, "--from", answer["from"], "--to", answer["root"])).json
    same = lambda a: ([{k: v[k] for k in VERTEX_KEYS} for v in a["vertices"]], a["edges"], a["sizes"], a["delay_ns"])
    equal("explaining it gives the same answer", same(again), same(answer))
    raw = explain(store, trace_id(1), "--raw")
    with open(out) as file:
        ids = [json.loads(line)["id"] for line in file if '"id"' in line]
    check("it has the raw graph", {v["id"] for v in raw["vertices"]} <= set(ids), ids)
    with Server(store) as server:
        served = server.get(f"/api/v1/explain/{trace_id(1)}?format=events")
        with open(out, "rb") as file:
            equal("the same by HTTP", served.body, file.read())
    ran = cli("explain", "--service", "frontend", "--operation", "GET /", "--since", str(at(0)), "--extract", out, store=store)
    check("of many: refused", ran.code == 2 and ran.out == b"", ran)
    ran = cli("explain", trace_id(1), "--extract", "/nonexistent/folder/x", store=store)
    check("a folder that is not there", ran.code == 3 and ran.out == b"" and "/nonexistent/folder/x" in ran.error["message"], ran)


def linked():
    """A batch that works off what two others put, which nothing but links tells."""
    store = folder()
    import_value(store, otlp(
        process("shop", span(1, 1, "buy", at(0), at(1000)), span(1, 2, "ask", at(10), at(990), parent=1, kind="client")),
        process("mill", span(1, 3, "grind", at(700), at(980), parent=2, kind="server", links=[(2, 4)],
                             attrs={"wherefore.arrival_ns": at(20)}), service__instance__id="m1"),
        process("farm", span(2, 4, "feed", at(100), at(700))), process("farm", span(3, 5, "feed", at(100), at(700)))))
    answer = explain(store, trace_id(1))
    feed = [v for v in answer["vertices"] if v["node"] == "farm" and v["type"] == "DRV"]
    equal("who is linked to is a cause", [(v["trace_ids"], v["functional"], v["self_ns"]) for v in feed],
          [([trace_id(2)], True, 600 * MILLI)])
    check("and its edge is causal", any(e["from"] == feed[0]["id"] and e["kind"] == "causal" for e in answer["edges"]), answer["edges"])


run(retention, bad_ones_among_the_slowest, normal_between_places, as_a_file, linked)
