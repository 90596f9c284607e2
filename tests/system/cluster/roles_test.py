#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 240
"""Roles of `serve`: what fits together, what each listens to, health, readiness, draining, self-tracing."""
import http.client
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from free_ports import free_ports
from harness import *

KAFKA, DATABASE = "kafka://127.0.0.1:1/t", "clickhouse://user:very%20secret@127.0.0.1:1/d"
QUICK = ("--tailer-trigger", "quick 1s after last within 5s", "--no-agent")


def one(trace, start=None):
    start = now_ns() if start is None else start
    return otlp(process("shop", span(trace, 1, "work", start, start + 5 * MILLI, kind="server"),
                        span(trace, 2, "inner", start, start + MILLI, parent=1)))


def what_is_not_there_is_waited_for():
    """In a cluster that starts in any order: alive, not ready, and it says what it waits for, without a password."""
    (port,) = free_ports(1)
    server = Server(folder(), "--role", "query", "--http", f"127.0.0.1:{port}", database=DATABASE, wait=False)
    get = lambda path, host="localhost": request(("127.0.0.1", port), "GET", path, headers={"Host": host})

    def answers():
        with contextlib.suppress(OSError):
            return get("/healthz").status == 200
        return False

    check("a database that is not there: the process lives", wait_for(answers, 20), server.log)
    ready = get("/readyz")
    check("and is not ready, and says what it waits for", ready.status == 503 and not ready.json["ready"] and
          any("store" in c.get("message", "") and "127.0.0.1:1" in c["message"] for c in ready.json["checks"]), ready)
    equal("nothing else is answered", get("/api/v1/traces").status, 503)
    equal("and nothing at all to a page of another site", get("/readyz", "evil.example").status, 403)
    check("the log has it in one line", server.log().count("waiting for the store") == 1 and "127.0.0.1:1" in server.log(), server.log())
    check("nowhere is its password", "secret" not in server.log() + ready.body.decode(), server.log())
    check("and it is no server for others yet", not server.facts(), server.facts())
    equal("SIGTERM ends it", server.stop(10), 0)
    server = Server(folder(), "--role", "receive", "--bus", KAFKA, "--http", "127.0.0.1:" + str(port),
                    database="clickhouse://user:very%20secret@127.0.0.1:1/d", wait=False)
    check("a receiver waits likewise", wait_for(answers, 20), server.log)
    server.kill()


def what_fits_together():
    directory = folder()
    refused = {
        "tail without a bus": ("tail", None, DATABASE),
        "tail without a bus over a directory": ("tail", None, directory),
        "receive over a database without a bus": ("receive", None, DATABASE),
        "receive with a bus over a directory": ("receive", KAFKA, directory),
        "tail over a directory": ("tail", KAFKA, directory),
        "receive on a bus that nobody else sees": ("receive", "memory://", DATABASE),
        "a role that is none": ("observe", None, directory),
        "a bus that is none": ("all", "http://localhost:1", directory),
        "a store that is none": ("all", None, "postgres://localhost/x"),
        "a server as store": ("all", None, "http://localhost:8642"),
    }
    for name, (role, bus, store) in refused.items():
        ran = cli("serve", "--check", "--role", role, *(("--bus", bus) if bus else ()), store=store)
        check(f"refused: {name}", ran.code == 2 and ran.error["hint"], ran)
        check(f"no secret in what is said of {name}", b"very" not in ran.err + ran.out, ran)
    ran = cli("serve", "--check", "--role", "tail", "--bus", KAFKA, "--tailer", "off", store=DATABASE)
    check("refused: a tailer that is off", ran.code == 2, ran)
    taken = {
        "all over a directory": ("all", None, directory), "all on a bus over a directory": ("all", "memory://", directory),
        "all over bus and database": ("all", KAFKA, DATABASE), "receive over a directory": ("receive", None, directory),
        "receive": ("receive", KAFKA, DATABASE), "tail": ("tail", KAFKA, DATABASE), "query": ("query", None, DATABASE),
        "query that is told of the bus": ("query", KAFKA, DATABASE), "query over a directory": ("query", None, directory),
    }
    for name, (role, bus, store) in taken.items():
        ran = cli("serve", "--check", "--role", role, *(("--bus", bus) if bus else ()), store=store)
        check(f"taken: {name}", ran.code == 0, ran)
    ran = cli("traces", store="postgres://me:secret@localhost/x")
    check("other verbs refuse such a store too, without its password", ran.code == 2 and b"secret" not in ran.err, ran)


def every_role_over_a_directory():
    store = folder()
    with Server(store, "--role", "receive") as server:
        equal("receive: takes spans", server.send_otlp(one(1)).status, 200)
        equal("receive: answers no questions", server.get("/api/v1/traces").status, 404)
        equal("receive: has no pages", server.get("/").status, 404)
        equal("receive: tells clients what is in force", server.get("/api/v1/control").status, 200)
        equal("receive: says who it is", server.get("/api/v1/status").json["role"], "receive")
        equal("receive: stops", server.stop(), 0)
    with Server(store, "--role", "query") as server:
        equal("query: answers", len(server.trace(1)["blocks"]), 2)
        equal("query: takes no spans", [server.facts()[name] for name in LISTENERS[1:]], ["off"] * 4)
        equal("query: nor events", server.request("http", "POST", "/api/v1/events", b"{}").status, 404)
        imported = import_value(store, one(2))
        equal("query: imports", imported["spans"], 2)
        equal("query: and models what it imports", server.get("/api/v1/dataset/query/traces?limit=10").json["rows"][0]["blocks"], 2)
        ready = server.get("/readyz")
        check("query: is ready", ready.status == 200 and ready.json["ready"] and ready.json["role"] == "query", ready)


def a_bus_in_one_process():
    """As a cluster works, in a single process: what is received goes over the bus to the tailer, and from there to the store."""
    with Server(folder(), "--bus", "memory://", *QUICK) as server:
        for trace in range(1, 11):
            equal(f"span {trace} is taken", server.send_otlp(one(trace)).status, 200)
        found = lambda: len(server.get("/api/v1/traces?limit=100").json["traces"])
        check("what was published is stored", wait_for(lambda: found() == 10, 60), found)
        rows = lambda: len(server.get("/api/v1/dataset/query/traces?limit=100").json.get("rows", []))
        check("and has its rows", wait_for(lambda: rows() == 10, 60), rows)
        checks = {c["check"]: c["ok"] for c in server.get("/readyz").json["checks"]}
        equal("readiness looks at bus and store", checks, {"running": True, "bus": True, "store": True, "disk": True})
        counters = server.get("/api/v1/status").json["counters"]
        check("the bus is in the metrics", {"bus_lag", "bus_unsent", "bus_poisoned", "bus_partitions"} <= set(counters), counters)
        check("its lag goes back to nothing", wait_for(lambda: server.get("/api/v1/status").json["counters"]["bus_lag"] == 0, 60))
        equal("import works beside it", import_value(server.store, one(20))["spans"], 2)
        equal("it stops", server.stop(), 0)


def draining():
    server = Server(folder(), "--drain-delay", "2s", "--no-agent")
    with server:
        address = server.address("otlp_http")
        server.process.terminate()
        check("SIGTERM: not ready at once", wait_for(lambda: server.get("/readyz").status == 503, 2, every=0.01))
        check("and says why", any("stopping" in c.get("message", "") for c in server.get("/readyz").json["checks"]))
        equal("alive nevertheless", server.get("/healthz").status, 200)
        equal("requests are still taken", server.send_otlp(one(1)).status, 200)
        # One that is under way when connections are refused is answered.
        connection = http.client.HTTPConnection(*address, timeout=30)
        data = json.dumps(one(2)).encode()
        connection.putrequest("POST", "/v1/traces")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders()
        connection.send(data[:-1])

        def refused():
            with contextlib.suppress(OSError):
                request(address, "POST", "/v1/traces", b"{}", {"Content-Type": "application/json"}, timeout=2)
                return False
            return True

        check("then connections are refused", wait_for(refused, 20))
        connection.send(data[-1:])
        equal("what was under way is answered", connection.getresponse().status, 200)
        connection.close()
        equal("and it ends with 0", server.process.wait(30), 0)
    with Server(server.store) as again:
        equal("everything acknowledged is there", [len(again.trace(n)["blocks"]) for n in (1, 2)], [2, 2])


def self_tracing():
    with Server(folder(), *QUICK, "--self-trace", "1") as server:
        for trace in range(1, 6):
            server.send_otlp(one(trace))
        for _ in range(5):
            server.get("/api/v1/services")
        def operations():
            answer = server.get("/api/v1/operations?service=wherefore").json
            return {o["name"] if isinstance(o, dict) else o for o in answer["operations"]}
        wanted = {"receive otlp_http", "GET /api/v1/services", "decode", "keep", "answer", "tailer: write rows"}
        check("its own requests and rounds are traces of service wherefore", wait_for(lambda: wanted <= operations(), 60), operations)
        traces = server.get("/api/v1/traces?service=wherefore&limit=1000").json["traces"]
        check("with ids of their own", traces and all(t["trace_id"].startswith("77687966") for t in traces), traces[:2])
        # Left alone, it comes to rest: traces of traces would go on for ever. (Asking is itself traced, so not by asking.)
        time.sleep(4)
        before = server.get("/metrics").body
        spans = lambda text: int(re.search(rb"wherefore_self_trace_spans (\d+)", text)[1])
        time.sleep(5)
        grown = spans(server.get("/metrics").body) - spans(before)
        check("its own traces are not traced", grown <= 12, grown)
    with Server(folder(), *QUICK) as server:
        server.send_otlp(one(1))
        server.get("/api/v1/services")
        equal("off by default", server.get("/api/v1/services").json["services"], ["shop"])


run(what_fits_together, what_is_not_there_is_waited_for, every_role_over_a_directory, a_bus_in_one_process, draining, self_tracing)
