#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 240
"""The tailer: rows of datasets appear as traces arrive, late spans replace them, and a kill in between loses nothing."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

# Quick, so that the test is; the shipped ones are the same in kind.
QUICK = ("--tailer-trigger", "quick 1s after last within 5s")

DATASET = """dataset: sizes
owner: test
row: Trace
columns: |
  Blocks | Count | RecordAs("blocks")
"""


def one(trace, *spans, start=None):
    start = now_ns() if start is None else start
    return otlp(process("shop", *(span(trace, n, "work", start, start + 5 * MILLI, parent=0 if n == 1 else 1)
                                  for n in spans)))


def apply(store):
    must(cli("dataset", "apply", write("sizes.yaml", DATASET), store=store))


def rows(place, dataset="sizes"):
    """trace number → its values of column blocks. Of a server, which is asked again and again, without a process each."""
    if isinstance(place, Server):
        answer = place.get(f"/api/v1/dataset/query/{dataset}?limit=10000")
        good = answer.status == 200
    else:
        answer = cli("dataset", "query", dataset, "--limit", "10000", store=place)
        good = answer.code == 0
    found = {}
    for row in answer.json["rows"] if good else []:
        found.setdefault(int(row["trace_id"], 16), []).append(row.get("blocks"))
    return found


def tailer(server):
    return server.get("/api/v1/status").json["tailer"]


def live():
    store = folder()
    with Server(store, *QUICK) as server:
        apply(store)
        server.send_otlp(one(1, 1, 2))
        server.send_otlp(one(2, 1))
        check("rows appear by themselves", wait_for(lambda: rows(server) == {1: [2], 2: [1]}, 60), lambda: rows(server))
        check("standing datasets have them too", wait_for(lambda: set(rows(server, "traces")) == {1, 2}, 60))
        server.send_otlp(one(1, 3))
        check("a late span replaces its trace's rows, and no others",
              wait_for(lambda: rows(server) == {1: [3], 2: [1]}, 60), lambda: rows(server))
        status = tailer(server)
        check("status tells what was processed again", status["traces_again"] >= 1 or status["traces_delayed_done"] >= 1, status)
        check("and the stages", [s["name"] for s in status["stages"]] == ["fetch", "build", "extract", "write", "delayed"], status)
        check("and the owners' CPU time", {o["owner"] for o in status["owners"]} >= {"test"}
              or status["traces_delayed_done"] > 0, status)
        text = must(cli("status", store=store, text=True)).out.decode()
        check("as text as well", "tailer" in text and "delayed" in text, text)
        metrics = server.get("/metrics").body.decode()
        check("and /metrics", "wherefore_tailer_traces_due" in metrics, metrics[:500])
        # A dataset that comes later needs no restart.
        must(cli("dataset", "apply", write("more.yaml", DATASET.replace("sizes", "more")), store=store))
        server.send_otlp(one(3, 1, 2, 3, 4))
        check("a new dataset is deployed without a restart", wait_for(lambda: rows(server, "more").get(3) == [4], 60))


def kill_between():
    store = folder()
    slow = ("--tailer-trigger", "slow 10m after last")
    server = Server(store, *slow)
    apply(store)
    for trace in range(1, 21):
        server.send_otlp(one(trace, 1, 2))
    server.kill()
    with Server(store, *QUICK) as server:
        everything = {trace: [2] for trace in range(1, 21)}
        check("a kill between receipt and rows loses nothing", wait_for(lambda: rows(server) == everything, 90),
              lambda: rows(server))
        server.send_otlp(one(5, 3))
        everything[5] = [3]
        check("a span that comes after it finds its trace", wait_for(lambda: rows(server) == everything, 60),
              lambda: rows(server))


def imports():
    store = folder()
    apply(store)
    import_value(store, one(1, 1, 2, start=5))
    equal("import without a server: rows are there when it ends", rows(store), {1: [2]})
    import_value(store, one(1, 3, start=5), "late.json")
    equal("and are replaced by a later one", rows(store), {1: [3]})
    with Server(store) as server:
        import_value(store, one(2, 1, start=5), "served.json")
        equal("import into a server: likewise", rows(store), {1: [3], 2: [1]})
        check("and it is not processed again later", tailer(server)["traces_due"] == 0, lambda: tailer(server))


def canopy():
    """The paper's values, as config/canopy.yaml has them, but for the timeouts."""
    path = os.path.join(SOURCE, "config/canopy.yaml")
    must(cli("serve", "--check", "--config", path, store=folder()))
    store = folder()
    with Server(store, "--config", path, *QUICK) as server:
        start = now_ns() + 3600 * SECOND  # surely after the server's own
        server.send_otlp(otlp(process("shop", *(span(trace, 1, "work", start, start + 5 * MILLI)
                                                for trace in range(1, 61)))))
        check("traces that come faster than 5 a second are delayed by their owner's queue",
              wait_for(lambda: tailer(server)["delayed"]["queue_full"] > 0, 60), lambda: tailer(server))
        check("and get their rows later", wait_for(lambda: len(rows(server, "traces")) == 60, 60),
              lambda: tailer(server))
        owner = [o for o in tailer(server)["owners"] if o["owner"] == "wherefore"][0]
        equal("all of them are counted", owner["taken"] + owner["refused"], 60)


def off():
    store = folder()
    with Server(store, "--tailer", "off") as server:
        apply(store)
        server.send_otlp(one(1, 1))
        check("off is off", tailer(server)["on"] is False, lambda: tailer(server))
    refused = cli("serve", "--check", "--tailer-trigger", "live soon after last", store=folder())
    check("a bad trigger is refused, with its text", refused.code == 2 and "live soon" in refused.error["message"], refused)


# Each row looks at every block that looks at every block.
CUBIC = """dataset: cubic
owner: test
row: Blocks
columns: |
  def Later(e, t) = e | Where(It | Timestamp | Gt(t)) | Count
  Blocks | Map(Blocks | Later(It | Timestamp | Add(Row | Timestamp))) | Sum | RecordAs("n")
"""


def over_budget():
    store = folder()
    must(cli("dataset", "apply", write("cubic.yaml", CUBIC), store=store))
    with Server(store) as server:
        import_value(store, one(1, *range(1, 401), start=5))
        features = tailer(server)["features"]
        check("a trace that needs more work than it may is counted", features["over_budget"] >= 1, features)
        check("and shown on a terminal", f"{features['over_budget']} traces over budget"
              in must(cli("status", store=store, text=True)).out.decode())
        metrics = server.get("/metrics").body.decode()
        check("and to Prometheus", f"features_over_budget {features['over_budget']}\n" in metrics
              or f"features_over_budget_total {features['over_budget']}\n" in metrics,
              [line for line in metrics.splitlines() if "budget" in line])


def too_long():
    store = folder()
    with Server(store, "--max-events-per-trace", "10") as server:
        server.send_otlp(one(1, *range(1, 12)))
        listed = wait_for(lambda: tailer(server)["blacklist"]["traces"] == 1, 30)
        check("a trace with too many events is refused from then on", listed, lambda: tailer(server))
        answer = server.send_otlp(one(1, 50, 51))
        check("its sender is told", "trace_too_long" in answer.body.decode(), answer)
        equal("what is dropped is counted", tailer(server)["blacklist"]["events_dropped"], 2)
        equal("and not stored", server.get("/api/v1/status").json["store"]["spans"], 11)


def too_long_imported():
    store = folder()
    spans = one(1, *range(1, 15), start=5)
    answer = must(cli("import", write("long.json", spans), "--max-events-per-trace", "10", store=store)).json
    equal("import stores no more of a trace that is too long", answer["spans"], 11)
    equal("and says what it left out", (answer["rejected"], answer["reasons"]), (3, {"trace_too_long": 3}))
    later = must(cli("import", write("later.json", one(1, 20, start=5)), store=store)).json
    equal("a later import knows it", (later["spans"], later["reasons"]), (0, {"trace_too_long": 1}))
    with Server(store) as server:
        served = must(cli("import", write("served.json", one(1, 30, 31, start=5)), store=store)).json
        equal("so does one through a server", (served["spans"], served["reasons"]), (0, {"trace_too_long": 2}))
        equal("which counts it", tailer(server)["blacklist"], {"traces": 1, "events_dropped": 2})
        refused = cli("import", write("served.json", "[]"), "--max-events-per-trace", "5", store=store)
        check("whose limit is its own", refused.code == 2 and "whose limit applies" in refused.error["message"], refused)
        equal("and nothing of it is stored", server.get("/api/v1/status").json["store"]["spans"], 11)
    with Server(folder(), "--max-events-per-trace", "10") as server:
        answer = must(cli("import", write("long.json", spans), store=server.store)).json
        equal("a server's limit holds for what it imports", (answer["spans"], answer["reasons"]),
              (11, {"trace_too_long": 3}))


run(live, kill_between, imports, canopy, off, over_budget, too_long, too_long_imported)
