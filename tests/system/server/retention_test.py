#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 150
"""Retention: by age, counted from receipt; by bytes, the directory on disk, while the server runs."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *


def ids(server):
    found, cursor = set(), ""
    while cursor is not None:
        answer = server.get("/api/v1/traces?limit=10000" + (f"&cursor={cursor}" if cursor else "")).json
        found |= {int(t["trace_id"], 16) for t in answer["traces"]}
        cursor = answer["next"]
    return found


def one(number, start):
    return otlp(process("a", span(number, 1, "x", start, start + 5)))


def by_age_from_receipt():
    with Server(folder(), "--retention-age", "6s") as server:
        old = now_ns() - 400 * 86400 * SECOND
        sent, seen, early = {}, set(), []

        def look():
            """Who is there now. One that is missing must have been received longer ago than the age."""
            found = ids(server)
            seen.update(found)
            early.extend((n, time.monotonic() - at) for n, at in sent.items() if n not in found and time.monotonic() - at < 6)
            return found

        for number, start, send in ((1, old, server.send_otlp), (2, now_ns(), server.send_otlp),
                                    (3, old + 5, lambda value: import_value(server.store, value))):
            sent[number] = time.monotonic()
            send(one(number, start))
            look()
        equal("spans a year old are there when just received", seen, {1, 2, 3})
        gone = wait_for(lambda: not look() & {1, 2, 3}, 30, every=0.5)
        fresh = threading_sender(server)
        check("what was received longer ago than the age is gone, while running", gone, ids(server))
        equal("not before its age", early, [])
        check("by id as well", server.get("/api/v1/trace/1").status == 404)
        latest = fresh()
        check("what came since is there", latest in ids(server), (latest, ids(server)))
        counters = server.get("/api/v1/status").json["counters"]
        check("what was deleted is counted by name", any(("retire" in k or "retention" in k or "expired" in k or "deleted" in k) and v >= 3
                                                         for k, v in counters.items()), counters)
        check("status says what the retention is", server.get("/api/v1/status").json["retention"]["age_ns"] == 6_000_000_000)
    kept = folder()
    import_value(kept, one(7, 5))
    with Server(kept) as server:
        time.sleep(3)
        equal("without retention nothing is deleted, however old", ids(server), {7})


def threading_sender(server):
    """Sends a span now; the returned function sends one more and gives its number."""
    numbers = iter(range(100, 10_000))
    server.send_otlp(one(next(numbers), now_ns()))

    def again():
        number = next(numbers)
        server.send_otlp(one(number, now_ns()))
        return number

    return again


def by_bytes_on_disk():
    limit = 6_000_000
    with Server(folder(), "--retention-bytes", "6MB") as server:
        rng, number, sent, largest = random.Random(41), 0, 0, 0
        start = now_ns() - 3600 * SECOND
        while sent < 24_000_000:
            spans = []
            for _ in range(50):
                number += 1
                spans.append(span(number, 1, "x", start + number, start + number + 5, attrs={"payload": rng.randbytes(1500).hex()}))
            body = otlp_proto.encode(otlp(process("a", *spans)))
            sent += len(body) // 2  # hex holds half as much as it shows
            answer = server.send_proto(body)
            while answer.status in (429, 503):
                time.sleep(0.2)
                answer = server.send_proto(body)
            assert answer.status == 200, answer
            if number % 500 == 0:
                largest = max(largest, directory_bytes(server.store))
        shrunk = wait_for(lambda: directory_bytes(server.store) <= limit, 30, every=0.5)
        print(f"# {number} spans, directory at most {largest} bytes, now {directory_bytes(server.store)}")
        check("there was more on disk than may stay", largest > limit or sent > 3 * limit, (largest, sent))
        check("the directory shrinks below the limit while the server runs", shrunk, directory_bytes(server.store))
        check("the server is up", server.alive())
        equal("the oldest is gone", server.get("/api/v1/trace/1").status, 404)
        left = ids(server)
        check("something newer is kept", server.get(f"/api/v1/trace/{number:x}").status == 200 or left and min(left) > 1, sorted(left)[:5])
        check("what is kept is the newest", not left or max(left) >= number - 10_000 and min(left) > 1, (number, len(left)))
        latest = number + 1
        equal("new spans are taken", server.send_otlp(one(latest, now_ns())).status, 200)
        check("and found", latest in ids(server))
        status = server.get("/api/v1/status").json["store"]
        equal("status counts what is left", status["traces"], len(ids(server)))


run(by_age_from_receipt, by_bytes_on_disk)
