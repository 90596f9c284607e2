"""Kills a loaded server with SIGKILL at random moments and looks for every span it had acknowledged."""
import collections
import http.client
import json
import random
import re
import threading

from harness import *
import otlp_proto

SENDERS = 4
SPANS = 25  # a request, all of one trace
PLACEHOLDER = bytes.fromhex("5eed" * 8)


def template():
    """One encoded request whose trace id is the placeholder; ids are put in by replacing bytes."""
    start = now_ns()
    spans = [span(PLACEHOLDER.hex(), n + 1, f"operation {n % 7}", start + n, start + n + 1000, parent=1 if n else 0,
                  attrs={"http.method": "GET", "user.id": n, "session": f"{n:032x}"}) for n in range(SPANS)]
    return otlp_proto.encode(otlp(process("load", *spans, host__name="h1", service__instance__id="i1")))


class Load:
    """Senders over OTLP/HTTP; `acknowledged` holds the numbers of traces that were answered with 200."""

    def __init__(self, server, first):
        self.acknowledged, self.attempted, self.refused = set(), set(), 0
        self.stop, self.lock, self.address = threading.Event(), threading.Lock(), server.address("otlp_http")
        self.next, self.odd = first, []
        self.threads = [threading.Thread(target=self.send, daemon=True) for _ in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def send(self):
        connection = http.client.HTTPConnection(*self.address, timeout=20)
        request_body, sent = template(), 0
        try:
            while not self.stop.is_set():
                if sent % 20 == 19:
                    request_body = template()  # traces start at different times, as they do
                sent += 1
                with self.lock:
                    number, self.next = self.next, self.next + 1
                    self.attempted.add(number)
                connection.request("POST", "/v1/traces", request_body.replace(PLACEHOLDER, number.to_bytes(16, "big")),
                                   {"Content-Type": "application/x-protobuf"})
                answer = connection.getresponse()
                body = answer.read()
                with self.lock:
                    if answer.status == 200 and not body:
                        self.acknowledged.add(number)
                    elif answer.status in (429, 503) and answer.headers["Retry-After"]:
                        self.refused += 1
                    else:
                        self.odd.append((answer.status, body[:200]))
        except (OSError, http.client.HTTPException):
            pass  # the server is gone: what was not answered was not acknowledged
        finally:
            connection.close()

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join(30)


def spans_by_trace(store):
    """{trace number: {span id: times found}} of an export."""
    out = folder("all.json")
    must(cli("export", "--out", out, store=store, timeout=600))
    found = collections.defaultdict(collections.Counter)
    pattern = re.compile(r'"traceId":\s*"([0-9a-f]{32})",\s*"spanId":\s*"([0-9a-f]{16})"')
    with open(out) as file:
        for line in file:
            for trace, one in pattern.findall(line):
                found[int(trace, 16)][one] += 1
    return found


def summary_counts(server, since):
    """{trace number: spans} by search, all pages."""
    counts, cursor = {}, ""
    while True:
        answer = server.request("http", "GET", f"/api/v1/traces?limit=10000&since={since}{cursor}", timeout=120).json
        for t in answer["traces"]:
            counts[int(t["trace_id"], 16)] = t["spans"]
        if answer["next"] is None:
            return counts
        cursor = "&cursor=" + answer["next"]


def kill_rounds(rounds, sync, seed):
    """One store, killed `rounds` times under load."""
    rng, store = random.Random(seed), folder()
    acknowledged, attempted, bad, odd = set(), set(), [], []
    killed_with = []
    for number in range(rounds):
        since = now_ns() - SECOND
        server = Server(store, "--sync", sync, "--log-level", "warn")
        token = server.token
        load = Load(server, 1 + (number + 1) * 10_000_000)
        time.sleep(rng.uniform(0.05, 0.7))
        if number % 3 == 1:  # also while a segment is being written
            threading.Thread(target=lambda: _quietly(server, token), daemon=True).start()
            time.sleep(rng.uniform(0, 0.05))
        server.kill()
        load.end()
        killed_with.append(len(load.acknowledged))
        acknowledged |= load.acknowledged
        attempted |= load.attempted
        odd += load.odd
        with Server(store, "--sync", sync, "--log-level", "warn") as again:
            counts = summary_counts(again, since)
        lost = [n for n in load.acknowledged if counts.get(n) != SPANS]  # those of earlier rounds: by export, below
        if lost:
            bad.append((number, len(lost), [(n, counts.get(n)) for n in lost[:3]]))
            break
    check(f"--sync {sync}: {rounds} kills, every acknowledged span is found again", not bad and len(killed_with) == rounds, bad)
    check(f"--sync {sync}: there was load: spans were acknowledged before each kill", min(killed_with) > 0, killed_with)
    check(f"--sync {sync}: no answer but acknowledgement and Retry-After", not odd, odd[:3])
    found = spans_by_trace(store)
    expected = {span_id(n + 1) for n in range(SPANS)}
    wrong = [n for n in acknowledged if set(found[n]) != expected or set(found[n].values()) != {1}]
    check(f"--sync {sync}: exactly once, by export", not wrong and len(found) >= len(acknowledged), wrong[:3])
    partial = [n for n in found if n not in acknowledged and (set(found[n]) != expected or set(found[n].values()) != {1})]
    check(f"--sync {sync}: what was not acknowledged is there whole and once, or not at all", not partial and set(found) - acknowledged <= attempted, partial[:3])
    status = must(cli("status", store=store)).json["store"]
    equal(f"--sync {sync}: status counts distinct spans", (status["spans"], status["traces"]), (sum(map(len, found.values())), len(found)))
    print(f"# sync {sync}: {len(acknowledged)} requests, {len(acknowledged) * SPANS} spans acknowledged over {rounds} kills")


def _quietly(server, token):
    with contextlib.suppress(Exception):
        server.request("http", "POST", "/api/v1/flush", b"", {"Authorization": "Bearer " + token})
