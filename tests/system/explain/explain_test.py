#!/usr/bin/env python3
# needs: wherefore wherefore-demo
# parallel: yes
# timeout: 180
"""`explain` of stored requests: the flood of figure 1 by hand and by the demo's real processes; keys, places, exit codes;
the same bytes by CLI and HTTP. The rules themselves are tested beside the code (src/analysis/provenance)."""
import json
import subprocess
import sys
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lab")
from explain_lab import *

def flooded():
    store = folder()
    import_value(store, otlp(*page(1), *sweep(2), *page(3, base=5000, waited=0)))
    return store


def by_hand():
    store = flooded()
    answer = explain(store, trace_id(1))
    equal("the contract's keys, in order", list(answer),
          ["delay_ns", "from", "root", "vertices", "edges", "sentence", "assumed", "loaded"])
    first = answer["vertices"][0]
    equal("a vertex's keys, in order", list(first),
          VERTEX_KEYS + ["intervals_ns", "self_intervals_ns", "trace_ids", "span_ids"])
    equal("the delay is the root's", answer["delay_ns"], 1000 * MILLI)
    equal("who was in the way", blamed(answer), [("storage", "scan", "maintenance", 3, 900)])
    culprit = next(v for v in answer["vertices"] if not v["functional"] and v["self_ns"])
    equal("its trace and spans", (culprit["trace_ids"], culprit["span_ids"]),
          ([trace_id(2)], [span_id(201), span_id(202), span_id(203)]))
    own = [v for v in answer["vertices"] if v["functional"]]
    equal("each instant is somebody's", sum(v["self_ns"] for v in answer["vertices"]), answer["delay_ns"])
    check("the request's own path is its own trace", all(v["trace_ids"] == [trace_id(1)] for v in own), own)
    ids = {v["id"] for v in answer["vertices"]}
    check("edges name vertices", all(e["from"] in ids and e["to"] in ids for e in answer["edges"]))
    check("a sequencing edge", any(e["kind"] == "sequencing" and e["delay_ns"] == 900 * MILLI for e in answer["edges"]),
          answer["edges"])
    equal("arrivals were recorded", answer["assumed"]["arrivals"], {"recorded": 4, "least_one_way": 0, "span_start": 1})
    workers = [r for r in answer["assumed"]["resources"] if r["resource"].startswith("workers of storage")]
    equal("storage is taken for one synchronous worker", [(w["servers"], w["servers_by"], w["kind"], w["kind_by"])
                                                          for w in workers], [(1, "threads", "synchronous", "threads")])
    equal("nothing was left out, and only what shared the wait was read",
          (answer["loaded"]["traces"], answer["loaded"]["left_out_traces"]), (2, 0))


def places_and_flags():
    store = flooded()
    with Server(store):  # quicker than a process that opens the store each
        asked_of(store)


def asked_of(store):
    one = trace_id(1)
    equal("from a span to its end", explain(store, one, "--from", span_id(2), "--to", span_id(2))["delay_ns"], 980 * MILLI)
    equal("from its end", explain(store, one, "--from", span_id(3) + ":end")["delay_ns"], 20 * MILLI)
    equal("to its start", explain(store, one, "--to", span_id(3) + ":start")["delay_ns"], 920 * MILLI)
    stats = explain(store, one, "--stats")
    check("sizes with --stats", stats["sizes"]["raw"] >= stats["sizes"]["pruned"] >= stats["sizes"]["aggregated"] > 0,
          stats["sizes"])
    single = explain(store, one, "--no-aggregate")
    equal("one by one", [b[3:] for b in blamed(single)], [(1, 310), (1, 300), (1, 290)])
    check("the raw graph has no delays on edges", all("delay_ns" not in e for e in explain(store, one, "--raw")["edges"]))
    faster = explain(store, one, "--what-if", "storage/scan=0.5x")["what_if"]
    # The scans take 455 ms instead of 910. Matched: three times receiving and scanning.
    equal("what if scans were twice as fast", faster, {"matched": 6, "delay_ns": 545 * MILLI})
    gone = explain(store, one, "--retain-from-ns", str(at(600)), "--from", span_id(1) + ":end")
    equal("retention that keeps the interval changes nothing in it", gone["delay_ns"], 0)
    rules = write("resources.yaml", "workers:\n  - service: storage\n    workers: 2\n")
    roomy = explain(store, one, "--resources", rules)
    equal("with two workers nobody was in the way", blamed(roomy), [])
    for code, name, flags in [(1, "an unknown trace", [trace_id(77)]), (1, "an unknown span", [one, "--from", "abc"]),
                              (1, "unrelated places", [one, "--from", span_id(1) + ":end", "--to", span_id(3)]),
                              (2, "no id", ["xyz"]), (2, "neither start nor end", [one, "--to", span_id(3) + ":middle"]),
                              (2, "nothing asked", []), (2, "a factor that is none", [one, "--what-if", "scan"]),
                              (2, "two views", [one, "--raw", "--no-aggregate"]),
                              (2, "no count", [one, "--resources", write("bad.yaml", "workers:\n  - service: s\n    workers: many\n")])]:
        ran = cli("explain", *flags, store=store)
        check(f"refused: {name}", ran.code == code and ran.out == b"" and ran.err, ran)
    text = must(cli("explain", one, store=store, text=True)).out.decode()
    check("text: the sentence", text.startswith("900 ms of 1.00 s: waited on storage behind ") and "maintenance" in
          text.splitlines()[0], text)
    check("text: fits 100 columns", all(len(line) <= 100 for line in text.splitlines()), text)
    for kind, mark in [("dot", b"digraph"), ("svg", b"<svg")]:
        ran = subprocess.run([WHEREFORE, "explain", one, "--store", store, "--format", kind], capture_output=True, timeout=60)
        check(f"--format {kind}", ran.returncode == 0 and mark in ran.stdout, ran)


def many_and_normal():
    store = folder()
    parts = [*page(1), *sweep(2)]
    for i in range(3, 13):
        parts += page(i, base=i * 2000, waited=i)  # 3 to 12 ms of an idle gap: nobody is there
    parts += page(13, base=100_000, waited=500)
    import_value(store, otlp(*parts))
    since = ["--service", "frontend", "--operation", "GET /", "--since", str(at(0))]
    answer = explain(store, *since, "--slowest", "2")
    equal("the two slowest, slowest first", answer["requests"], [trace_id(1), trace_id(13)])
    equal("their times add up", answer["delay_ns"], 1600 * MILLI)
    equal("and all their instants are somebody's", sum(v["self_ns"] for v in answer["vertices"]), 1600 * MILLI)
    root = next(v for v in answer["vertices"] if v["id"] == answer["root"])
    equal("what both did stands once", (root["count"], root["delay_ns"], root["trace_ids"]),
          (2, 1600 * MILLI, [trace_id(1), trace_id(13)]))
    equal("who was in the way of one", blamed(answer), [("storage", "scan", "maintenance", 3, 900)])
    equal("nobody of that name", cli("explain", "--service", "frontend", "--operation", "GET /nothing", store=store).code, 1)

    beside = explain(store, trace_id(1), "--baseline")
    # Twelve requests; the median of their latencies is that of the sixth, 108 ms, so 3 to 8 are normal.
    equal("normal requests", beside["baseline"], {"requests": 6, "median_ns": 108 * MILLI, "skipped": 0})
    check("every vertex has its baseline", all("baseline_ns" in v for v in beside["vertices"]))
    root = next(v for v in beside["vertices"] if v["id"] == beside["root"])
    culprit = next(v for v in beside["vertices"] if not v["functional"] and v["self_ns"])
    equal("the median of the same key; 0 where it is absent", (root["baseline_ns"], culprit["baseline_ns"]),
          (105 * MILLI, 0))


def without_arrivals_or_threads():
    """The least that anybody sends: services, names, kinds, parents, times."""
    def bare(value):
        for part in value["resourceSpans"]:
            part["resource"]["attributes"] = part["resource"]["attributes"][:1]
            for spans in (s["spans"] for s in part["scopeSpans"]):
                for one in spans:
                    one["attributes"] = []
        return value

    store = folder()
    import_value(store, bare(otlp(*page(1), *sweep(2), *page(3, base=5000, waited=0))))
    answer = explain(store, trace_id(1))
    equal("no arrival is recorded", answer["assumed"]["arrivals"]["recorded"], 0)
    check("they are estimated", answer["assumed"]["arrivals"]["least_one_way"] >= 4, answer["assumed"])
    found = blamed(answer)
    # The least one-way time seen to storage is 10 ms of the third request and 5 ms of the first scan.
    check("the scans are named all the same", found and found[0][:4] == ("storage", "scan", "maintenance", 3) and
          found[0][4] >= 890, found)
    workers = [r for r in answer["assumed"]["resources"] if r["resource"].startswith("workers of storage")]
    equal("lanes are inferred", [(w["servers"], w["servers_by"], w["kind"]) for w in workers],
          [(1, "concurrency", "synchronous")])


def locks_seen_from_outside():
    """Two requests of a bank, and the holdings of its locks in a trace of their own, as a probe of the process sends them."""
    def bank(trace, thread, name, start, end):
        return process("bank", span(trace, trace, name, at(start), at(end), kind="server", attrs={"thread.id": thread}),
                       host__name="h", process__pid=7)

    def event(kind, id1, ms, id2=None, **annotations):
        told = {"label:service": "bankd", "label:host": "h", "process.pid": 7}
        told.update({key.replace("__", "."): value for key, value in annotations.items()})
        told.update({"label:" + key[6:]: told.pop(key) for key in list(told) if key.startswith("label_")})
        line = {"trace_id": trace_id(99), "type": kind, "id1": id1, "time_ns": at(ms), "annotations": told}
        return json.dumps(line | ({"id2": id2} if id2 else {}))

    lines = [event("unit_begin", "u0", 10), event("block_begin", "root", 10, "u0", label_name="locks of bankd")]
    for thread in (1, 2):
        lines += [event("unit_begin", f"u{thread}", 10, "root", label_thread=str(thread)),
                  event("block_begin", f"b{thread}", 10, f"u{thread}", label_name=f"thread {thread}", thread__id=thread)]
    for step, hold, thread, ms in [("request", "l1", 1, 200), ("acquire", "l1", 1, 500), ("release", "l1", 1, 550),
                                   ("acquire", "l2", 2, 20), ("release", "l2", 2, 500)]:
        lines.append(event("lock_" + step, hold, ms, f"b{thread}", label_lock="bankd+0x40", thread__id=thread))
    store = folder()
    import_value(store, otlp(bank(1, 1, "pay", 100, 600), bank(2, 2, "audit", 0, 900)))
    import_files(store, write("locks.jsonl", "\n".join(lines) + "\n"))
    answer = explain(store, trace_id(1))
    equal("who held the lock", blamed(answer), [("bank", "audit(" + span_id(2) + ")", "bank", 1, 300)])
    check("the lock is named", any(r["resource"].startswith("lock bankd+0x40 of ") for r in answer["assumed"]["resources"]),
          answer["assumed"])


def by_http():
    store = flooded()
    printed = must(cli("explain", trace_id(1), "--from", span_id(1), store=store)).out
    with Server(store) as server:
        answer = server.get(f"/api/v1/explain/{trace_id(1)}?from={span_id(1)}")
        equal("the same bytes by HTTP", answer.body, printed)
        equal("and by the command line through the server",
              must(cli("explain", trace_id(1), "--from", span_id(1), store=store)).out, printed)
        query = urllib.parse.urlencode({"service": "frontend", "operation": "GET /", "since": at(0), "slowest": 1})
        many = json.loads(server.get("/api/v1/explain?" + query).body)
        equal("the slowest by HTTP", many["requests"], [trace_id(1)])
        rules = write("resources.yaml", "workers:\n  - service: storage\n    workers: 2\n")
        equal("a file of resources travels", blamed(explain(store, trace_id(1), "--resources", rules)), [])
        equal("404 for an unknown trace", server.get(f"/api/v1/explain/{trace_id(77)}").status, 404)


def real_processes():
    """The demo shop, flooded: the slowest page waited behind maintenance, which no trace of a customer shows."""
    demo = os.path.join(os.environ.get("WHEREFORE_BUILD", os.path.dirname(WHEREFORE)), "wherefore-demo")
    with Server() as server:
        endpoint = "http://" + server.facts()["otlp_http"] + "/v1/traces"
        ran = subprocess.run([demo, "up", "--endpoint", endpoint, "--trouble", "maintenance-flood", "--seconds", "4"],
                             capture_output=True, timeout=90)
        if not check("the shop runs", ran.returncode == 0, ran):
            return
        found = []
        for operation in ("GET /browse", "GET /search"):
            query = urllib.parse.urlencode({"service": "frontend", "operation": operation, "limit": 1000})
            found += json.loads(server.get("/api/v1/traces?" + query).body)["traces"]
        slowest = max(found, key=lambda t: t["duration_ns"])
        answer = json.loads(server.get(f"/api/v1/explain/{slowest['trace_id']}?stats=true").body)
        flood = [v for v in answer["vertices"] if v.get("origin") == "maintenance" and v["node"] == "storage"]
        share = sum(v["self_ns"] for v in flood) / answer["delay_ns"]
        check("maintenance carries more than half of the delay", share > 0.5, (share, blamed(answer)))
        check("off the request's own path and trace",
              flood and all(not v["functional"] and slowest["trace_id"] not in v["trace_ids"] for v in flood), flood)
        check("few enough vertices to read", len(answer["vertices"]) <= 100, len(answer["vertices"]))
        check("arrivals are recorded by the shop", answer["assumed"]["arrivals"]["least_one_way"] == 0, answer["assumed"])
        text = must(cli("explain", slowest["trace_id"], store=server.store, text=True)).out.decode()
        check("the sentence names them", "waited on storage behind" in text.splitlines()[0] and
              "maintenance" in text.splitlines()[0], text)


run(by_hand, places_and_flags, many_and_normal, without_arrivals_or_threads, locks_seen_from_outside, by_http, real_processes)
