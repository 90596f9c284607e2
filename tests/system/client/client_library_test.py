#!/usr/bin/env python3
# needs: wherefore
# timeout: 240
"""libwherefore from outside: installed, found by find_package, used by a program of its own; its events in a trace; the
events endpoint; policies that reach clients. docs/use/client-library.md and docs/reference/events.md describe what is tested here."""
import gzip
import json
import os
import subprocess
import sys
import threading
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import Server, check, cli, environment, equal, folder, run, trace_id, wait_for, write, zstd

BUILD = os.environ["WHEREFORE_BUILD"]
SOURCE = os.environ["WHEREFORE_SOURCE"]


def build_example():
    """The example, built against the library as it is installed."""
    prefix, build = folder("prefix"), folder("build")
    subprocess.run(["cmake", "--install", BUILD, "--component", "libwherefore", "--prefix", prefix],
                   check=True, capture_output=True)
    subprocess.run(["cmake", "-S", os.path.join(SOURCE, "examples/every_api"), "-B", build,
                    f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release"], check=True, capture_output=True)
    built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True)
    check("the example builds against the installed package", built.returncode == 0, built.stdout + built.stderr)
    return os.path.join(build, "every_api")


def block(trace, name, kind=None):
    found = [b for b in trace["blocks"] if b["name"] == name and (kind is None or b["kind"] == kind)]
    if not found:
        raise AssertionError(f"no block {name} {kind} in {[(b['name'], b['kind']) for b in trace['blocks']]}")
    return found[0]


def edge_between(trace, kind, a, b):
    points = {p["id"]: p for p in trace["points"]}
    return any(e["type"] == kind and points[e["from"]]["span_id"] == a["span_id"] and
               points[e["to"]]["span_id"] == b["span_id"] for e in trace["edges"])


def every_api():
    program = build_example()
    with Server() as server:
        out = subprocess.run([program, "http://%s:%d" % server.address("http")], capture_output=True, text=True,
                             env=environment(), timeout=60)
        if not check("the example says that all its events arrived", out.returncode == 0, out.stderr):
            return
        trace = server.trace(out.stdout.strip())
        check("the trace is complete", trace["complete"], lambda: json.dumps(trace["missing"] + trace["repairs"]))
        equal("no repair was needed", [r for r in trace["repairs"]], [])
        checkout = block(trace, "checkout")
        check("units are threads of the service",
              {u["name"] for u in trace["units"]} >= {"every-api"} and len(trace["units"]) >= 6,
              lambda: json.dumps(trace["units"]))
        for name in ("validate", "get stock", "stock", "restock", "notify", "show", "pay", "wrap"):
            check(f"block {name}", block(trace, name)["end_ns"] >= block(trace, name)["start_ns"])
        wait, work = block(trace, "packing", "wait"), block(trace, "packing", "work")
        check("the queue wait is a block of its own, 3 ms long or more", wait["end_ns"] - wait["start_ns"] >= 3_000_000)
        check("the work on the item follows it", work["start_ns"] >= wait["end_ns"])
        check("edge into the queue", edge_between(trace, "queue", checkout, wait))
        check("edge out of the queue", edge_between(trace, "dequeue", wait, work))
        waits = [b for b in trace["blocks"] if b["name"] == "shelf" and b["kind"] == "wait"]
        holds = [b for b in trace["blocks"] if b["name"] == "shelf" and b["kind"] == "hold"]
        equal("two lock waits and two holds", (len(waits), len(holds)), (2, 2))
        check("one hold is 5 ms or longer", max(b["end_ns"] - b["start_ns"] for b in holds) >= 5_000_000)
        check("edge from the lock's release", any(e["type"] == "lock" for e in trace["edges"]))
        check("edge request", edge_between(trace, "request", block(trace, "get stock"), block(trace, "stock")))
        check("edge response", edge_between(trace, "response", block(trace, "stock"), block(trace, "get stock")))
        check("edge continuation", edge_between(trace, "continuation", checkout, block(trace, "notify")))
        check("edge resource, a type of the program's own", edge_between(trace, "resource", checkout, block(trace, "show")))
        check("edge join", any(e["type"] == "join" for e in trace["edges"]))
        text = json.dumps(trace)
        for word in ("cart loaded", "priced", "reached", "card read", "4711", "shards", "cpu_time", "orders", "preemptions"):
            check(f"the trace tells {word}", word in text)
        found = server.get("/api/v1/traces?service=every-api").json["traces"]
        equal("search by service finds it", [t["trace_id"] for t in found], [trace["trace_id"]])


def event(trace, kind, id1, time_ns, **more):
    return {"trace_id": trace_id(trace), "type": kind, "id1": id1, "time_ns": time_ns, **more}


def lines(*events):
    return "\n".join(e if isinstance(e, str) else json.dumps(e) for e in events) + "\n"


def events_endpoint():
    with Server() as server:
        def post(body, **headers):
            return server.request("http", "POST", "/api/v1/events", body, {k.replace("_", "-"): v for k, v in headers.items()})

        unit = event(1, "unit_begin", "a1", 10, annotations={"label:service": "web"})
        good = lines(unit, event(1, "block_begin", "b1", 10, id2="a1", annotations={"label:name": "load"}),
                     event(1, "block_end", "b1", 30, id2="a1"), event(1, "unit_end", "a1", 30))
        answer = post(good)
        equal("JSON lines are taken", (answer.status, answer.json), (200, {"accepted": 4, "rejected": 0, "reasons": {}}))
        equal("and are visible at once", [b["name"] for b in server.trace(1)["blocks"]], ["load"])
        equal("gzip", post(gzip.compress(good.replace(trace_id(1), trace_id(2)).encode()), Content_Encoding="gzip").json["accepted"], 4)
        equal("zstd", post(zstd(good.replace(trace_id(1), trace_id(3)).encode()), Content_Encoding="zstd").json["accepted"], 4)
        mixed = post(lines(event(4, "point", "p1", 5), "{broken", "", event(0, "point", "p2", 5), {"trace_id": "xyz"}))
        equal("bad lines do not spoil good ones", (mixed.status, mixed.json["accepted"], mixed.json["rejected"]), (200, 1, 3))
        equal("they are told by line", [fault["line"] for fault in mixed.json["lines"]], [2, 4, 5])
        equal("and by reason", mixed.json["reasons"], {"malformed_line": 1, "trace_id_malformed": 1, "trace_id_zero": 1})
        none = post("not json\n")
        check("nothing but bad lines is an error that names the line",
              none.status == 400 and "line 1" in none.json["error"]["message"], none)
        metrics = server.get("/metrics").body.decode()
        check("accepted and rejected are counted", "wherefore_events_accepted 13" in metrics and
              "wherefore_events_rejected 3" in metrics, lambda: "\n".join(l for l in metrics.splitlines() if "events" in l))
        binary = "application/vnd.wherefore.events"
        bad = post(b"WFEV\x01\x00\x05", Content_Type=binary)
        check("a cut binary body is refused with the place", bad.status == 400 and "event 1" in bad.json["error"]["message"], bad)
        later = post(b"WFEV\x02", Content_Type=binary)
        check("a later version of the binary form is refused", later.status == 400 and "version 2" in later.json["error"]["message"], later)
        other = post(good, Origin="http://evil.example")
        equal("pages of other sites may not send", other.status, 403)
        # Durable when acknowledged.
        equal("acknowledged before the kill", post(lines(event(9, "point", "p9", 5))).status, 200)
        store = server.store
        server.kill()
    with Server(store=store) as server:
        equal("an acknowledged event survives kill -9", len(server.trace(9)["points"]) >= 1, True)


POLICY = """policy: checkout
owner: web-team
probability: 1
where:
  endpoint: [/checkout, "/pay*"]
detail: 3
lifetime: 1h
"""


def policies():
    with Server() as server:
        def control(version=None, timeout=30):
            return server.request("http", "GET", "/api/v1/control" + (f"?version={version}" if version else ""),
                                  timeout=timeout).json

        first = control()
        equal("no policies at first", first["policies"], [])
        told = {}

        def wait():
            told["answer"] = control(first["version"])
            told["at"] = time.monotonic()

        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_for(lambda: "control_waits 1" in server.get("/metrics").body.decode())
        check("a client that knows the version waits", "answer" not in told)
        out = cli("policy", "apply", write("p.yaml", POLICY), store=server.store)
        applied = time.monotonic()
        equal("apply prints the policy as it is kept", (out.code, {k: v for k, v in out.json.items() if k != "expires_ns"}),
              (0, {"policy": "checkout", "owner": "web-team", "probability": 1.0,
                   "where": {"endpoint": ["/checkout", "/pay*"]}, "detail": 3}))
        waiting.join(20)
        check("the change reaches it within a second", told.get("at", applied + 9) - applied < 1, told)
        equal("with the policy", [p["policy"] for p in told["answer"]["policies"]], ["checkout"])
        listed = cli("policy", "list", store=server.store)
        equal("list", [p["policy"] for p in listed.json["policies"]], ["checkout"])
        check("list for people", b"web-team" in cli("policy", "list", store=server.store, text=True).out)
        for name, text in (("no owner", "policy: x\nprobability: 1\n"), ("two strategies", "policy: x\nowner: o\nrate: 1\nprobability: 1\n"),
                           ("detail 4", "policy: x\nowner: o\nrate: 1\ndetail: 4\n"), ("unknown key", "policy: x\nowner: o\nrate: 1\nhue: 4\n"),
                           ("no YAML", ": : :")):
            bad = cli("policy", "apply", write("bad.yaml", text), store=server.store)
            check(f"{name}: refused with exit 2", bad.code == 2 and bad.err and not bad.out, bad)
        denied = server.request("http", "PUT", "/api/v1/policies/x", json.dumps({"owner": "o", "rate": 1}))
        equal("who has no administrator's token may not edit", denied.status, 403)
        gone = cli("policy", "delete", "checkout", store=server.store)
        equal("delete", gone.code, 0)
        equal("delete again: exit 1", cli("policy", "delete", "checkout", store=server.store).code, 1)
        equal("gone", control()["policies"], [])
        store = server.store
        cli("policy", "apply", write("p.yaml", POLICY), store=store)
        equal("a stopping server does not wait for those who wait", server.stop(), 0)
    equal("policies can be listed without a server", b"checkout" in cli("policy", "list", store=store, text=True).out, True)


run(every_api, events_endpoint, policies)
