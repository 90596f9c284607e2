#!/usr/bin/env python3
# A live query whose requests carry too much goes over to the emit plan: two linked processes, requests that go from one
# to the other and back, more tuples than --max-packed allows; then rows are what the programs did.
# needs: wherefore
# timeout: 240
import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, Commanded, Server, check, environment, equal, run, wait_for

HERE = tempfile.mkdtemp(prefix="wherefore-emit-")
atexit.register(shutil.rmtree, HERE, True)
TARGET = os.path.join(HERE, "emit-target")
# Not shorter: a server that is slow for two and a half intervals, on a busy machine, is taken for lost.
INTERVAL_MS = 1000
ITEMS = 400
QUERY = ("From d In Done Join s In Serve On s -> d Join i In Item On i -> s GroupBy i.n "
         "Select i.n, COUNT, SUM(s.k), MIN(s.procId)")


def linked(server, name):
    return Commanded(TARGET, name, server.url, env=environment())


def build():
    library = os.path.join(os.environ["WHEREFORE_BUILD"], "lib/libwherefore.a")
    subprocess.run(["c++", "-std=c++17", "-O2", "-I", os.path.join(SOURCE, "include"), "-o", TARGET,
                    os.path.join(SOURCE, "tests/targets/query_emit_target.cc"), library, "-lpthread"], check=True)


def one_request(front, back):
    """The bytes that travelled."""
    there = front.do(f"request {ITEMS}")
    answer = back.do("serve " + there)
    if front.do(answer) != "done":
        raise RuntimeError("the front process did not end its request")
    return len(there) // 2


def queries(server):
    return server.get("/api/v1/queries").json["queries"]


def told(server):
    def everybody():
        found = queries(server)
        return found and all(q["processes"]["told"] == q["processes"]["known"] == 2 for q in found)
    return wait_for(everybody, 60)


def over_to_the_emit_plan():
    build()
    with Server(None, "--no-agent") as server, linked(server, "front") as front, linked(server, "back") as back:
        wait_for(lambda: sum(t["processes"] for t in server.get("/api/v1/tracepoints").json["compiled_in"]) == 6, 60)
        live = subprocess.Popen(
            [WHEREFORE, "query", QUERY, "--store", server.store, "--format", "json", "--interval", f"{INTERVAL_MS}ms"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        check("both have the query", told(server), lambda: queries(server))
        equal("on baggage", queries(server)[0]["plan"], "rewritten")
        one_request(front, back)
        check("it goes over to the emit plan", wait_for(lambda: queries(server)[0]["plan"] == "emit", 60),
              lambda: queries(server))
        check("both are told", told(server), lambda: queries(server))
        cost = queries(server)[0]["cost"]
        check("the request is counted as overflowed", cost["overflowed"] >= 1, lambda: cost)
        # What the request before left is in intervals of its own.
        time.sleep(2 * INTERVAL_MS / 1000)
        since = time.time_ns() // (INTERVAL_MS * 10**6) * INTERVAL_MS * 10**6
        carried = {one_request(front, back) for _ in range(10)}
        check("baggage is of one size, and small", max(carried) <= 48, lambda: carried)
        live.send_signal(signal.SIGINT)
        out, err = live.communicate(timeout=60)
        objects = [json.loads(line) for line in out.splitlines()]
        rows, served = {}, set()
        for row in (row for o in objects if o["start_ns"] >= since for row in o["rows"]):
            before = rows.get(row[0], [0, 0])
            rows[row[0]] = [before[0] + row[1], before[1] + row[2]]
            served.add(row[3])
        equal("rows are what happened", rows, {n: [10, 10] for n in range(ITEMS)})
        equal("and who served", served, {back.process.pid})
        equal("nothing is lost", sum(o["lost"] for o in objects if o["start_ns"] >= since), 0)
        check("the client is told of the plan", "emit plan" in err, lambda: err)


run(over_to_the_emit_plan)
