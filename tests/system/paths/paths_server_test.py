#!/usr/bin/env python3
# needs: wherefore
"""Paths of stored messages, asked of a server: what was inferred is given again until messages come, and who asks at the
same time waits for one."""
import random
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *


def trace(requests, first=0):
    """Message text of a front end that asks two services, several requests at once."""
    random.seed(first)
    sightings = []
    for i in range(first, first + requests):
        at = SECOND + i * 3 * MILLI
        inner = at + 2 * MILLI + random.randrange(MILLI)
        last = inner + 8 * MILLI + random.randrange(4 * MILLI)
        sightings += [(at, "CALL client web", i), (inner, "CALL web cache", i),
                      (inner + MILLI + random.randrange(MILLI), "RET cache web", i),
                      (inner + 3 * MILLI, "CALL web base", i), (last, "RET base web", i),
                      (last + MILLI, "RET web client", i)]
    return "".join(f"{t // SECOND}.{t % SECOND:09} {what} {i}\n" for t, what, i in sorted(sightings))


def counters(server):
    return {line.split()[0].removeprefix("wherefore_"): int(float(line.split()[1]))
            for line in server.get("/metrics").body.decode().splitlines() if line.startswith("wherefore_paths_")}


def visit(server, query=""):
    """The answer and how many ms it took."""
    began = time.monotonic()
    answer = server.get("/api/v1/paths" + query)
    took = (time.monotonic() - began) * 1000
    if answer.status != 200:
        raise AssertionError(repr(answer))
    return answer, took


def visited_again():
    store = folder()
    import_files(store, write("messages.txt", trace(4000)))
    stored = must(cli("paths", store=store)).out
    with Server(store) as server:
        first, slow = visit(server)
        again = [visit(server) for _ in range(5)]
        quick = sorted(took for _, took in again)[2]
        print(f"# 24,000 messages: {slow:.0f} ms at the first visit, {quick:.1f} ms at the next")
        check("the server says what the store says", first.body == stored, (first.body[:300], stored[:300]))
        check("and says it again", all(answer.body == first.body for answer, _ in again))
        equal("which was inferred once", (counters(server)["paths_inferred"], counters(server)["paths_reused"]), (1, 5))
        check("and takes less than a fifth of the time", quick < slow / 5, (slow, quick))
        visit(server, "?sort=count&top=1")
        visit(server, "?format=svg")
        equal("another view of it is none to infer", counters(server)["paths_inferred"], 1)
        check("what is kept is counted", 0 < counters(server)["paths_kept_bytes"] < 128 << 20, counters(server))
        sent = server.request("http", "POST", "/api/v1/import", trace(100, first=4000),
                              {"Authorization": "Bearer " + server.token}, timeout=60)
        equal("more messages come", sent.status, 200)
        more, _ = visit(server)
        equal("and are in the next answer", (more.json["messages"], first.json["messages"]), (24_600, 24_000))
        equal("which was inferred anew", counters(server)["paths_inferred"], 2)


def asked_at_once():
    store = folder()
    import_files(store, write("messages.txt", trace(4000)))
    with Server(store) as server:
        bodies = []
        asking = [threading.Thread(target=lambda: bodies.append(visit(server)[0].body)) for _ in range(4)]
        for one in asking:
            one.start()
        for one in asking:
            one.join()
        equal("all who ask at once get the same", (len(bodies), len(set(bodies))), (4, 1))
        equal("which was inferred once", counters(server)["paths_inferred"], 1)


run(visited_again, asked_at_once)
