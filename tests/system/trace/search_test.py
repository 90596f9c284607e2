#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""`traces` and `resource`: filters alone and together against a model in Python, order, pages, forms of time."""
import datetime
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

BASE = 1_700_000_000 * SECOND
KEYS = ["trace_id", "service", "name", "start_ns", "duration_ns", "spans", "errors", "complete"]


class Known:
    """One trace as the test knows it."""

    def __init__(self, rng, n):
        self.id = trace_id(0x10000 + n * 7919 % 600)
        self.start = BASE + rng.randrange(0, 300) * SECOND  # several traces start in the same instant
        self.duration = rng.randrange(1, 500) * MILLI
        self.spans = []
        for s in range(1, rng.randrange(2, 6)):
            root = s == 1
            a = self.start if root else self.start + rng.randrange(0, self.duration)
            b = self.start + self.duration if root else min(a + rng.randrange(0, 50 * MILLI), self.start + self.duration)
            self.spans.append({
                "service": "web" if root else rng.choice(["web", "db", "queue"]), "name": rng.choice(["get", "put", "list ü"]),
                "status": rng.choice(["unset", "unset", "ok", "error"]), "start": a, "end": b, "id": s,
                "attrs": {"user": f"u{rng.randrange(20)}", "code": rng.choice([200, 404, 500]), "cached": rng.random() < .5,
                          "ratio": rng.choice([0.5, 2.25, -1.5])},
                "resource": {"region": rng.choice(["eu", "us"])}})
        self.complete = rng.random() < .9
        if not self.complete:
            self.spans[-1]["parent"] = 99
            if len(self.spans) == 1:
                self.complete, self.spans[-1]["parent"] = True, 0

    def processes(self):
        return [process(s["service"], span(self.id, s["id"], s["name"], s["start"], s["end"],
                                           parent=s.get("parent", 0 if s["id"] == 1 else 1), status=s["status"], attrs=s["attrs"]),
                        **s["resource"]) for s in self.spans]

    def row(self):
        root = self.spans[0]
        return [self.id, root["service"], root["name"], self.start, self.duration, len(self.spans),
                sum(s["status"] == "error" for s in self.spans), self.complete]


def text_of(value):
    return {True: "true", False: "false"}.get(value) if isinstance(value, bool) else str(value)


def matches(trace, query):
    """One of its spans has the service, operation, attributes and status; the trace the duration and the time."""
    def fits(s):
        attrs = {k: text_of(v) for k, v in {**s["resource"], **s["attrs"]}.items()}
        return (query.get("service") in (None, s["service"]) and query.get("operation") in (None, s["name"]) and
                query.get("status") in (None, s["status"]) and
                all(attrs.get(k) == v for k, v in (a.split("=", 1) for a in query.get("attr", []))))

    low, high = query.get("min-duration"), query.get("max-duration")
    return (any(fits(s) for s in trace.spans) and (low is None or trace.duration >= low) and
            (high is None or trace.duration <= high) and query.get("since", 0) <= trace.start < query.get("until", 2**63))


def flags(query):
    out = []
    for key, value in query.items():
        for one in value if isinstance(value, list) else [value]:
            out += ["--" + key, f"{one}ns" if key.endswith("duration") else str(one)]
    return out


rng = random.Random(29)
KNOWN = [Known(rng, number) for number in range(600)]
NEWEST_FIRST = sorted(KNOWN, key=lambda t: (t.start, t.id), reverse=True)
STORE = folder()


def load():
    # In several imports, out of order, some spans of a trace apart from the others.
    processes = [(t, p) for t in KNOWN for p in t.processes()]
    rng.shuffle(processes)
    third = len(processes) // 3
    paths = [write(f"{k}.json", otlp(*[p for _, p in processes[k * third:(k + 1) * third if k < 2 else None]])) for k in range(3)]
    report = import_files(STORE, *paths)
    equal("600 traces are in", (report["traces"], report["duplicates"], report["rejected"]), (600, 0, 0))


def search(query, *more, store=None):
    return must(cli("traces", *flags(query), *more, store=store or STORE)).json


def keys_and_rows():
    answer = search({}, "--limit", 1000)
    equal("the answer has traces and next", list(answer), ["traces", "next"])
    equal("each row has the contract's keys, in order, and no other", [list(t) for t in answer["traces"][:3]], [KEYS] * 3)
    equal("all of them, newest first, every value right", [list(t.values()) for t in answer["traces"]],
          [t.row() for t in NEWEST_FIRST])
    equal("no next when that was all", answer["next"], None)
    check("types", all(type(t[k]) is int for t in answer["traces"] for k in ("start_ns", "duration_ns", "spans", "errors")))
    equal("without --limit there are 20", len(search({})["traces"]), 20)
    equal("nothing found is an empty list, exit 0", search({"service": "nobody"}), {"traces": [], "next": None})


def pages():
    with Server(STORE) as server:
        for limit in (1, 7, 100, 600):
            seen, cursor, sizes = [], "", []
            while cursor is not None and len(sizes) < 700:
                answer = server.get(f"/api/v1/traces?limit={limit}" + (f"&cursor={cursor}" if cursor else "")).json
                seen += [t["trace_id"] for t in answer["traces"]]
                sizes.append(len(answer["traces"]))
                cursor = answer["next"]
            equal(f"pages of {limit}: no gap, no repeat", seen, [t.id for t in NEWEST_FIRST])
            check(f"pages of {limit}: all but the last are full", set(sizes[:-1]) <= {limit}, sizes)
        first = search({}, "--limit", 50)
        import_value(STORE, otlp(process("web", span(0x99999, 1, "new", BASE + 1000 * SECOND, BASE + 1001 * SECOND))))
        second = search({}, "--limit", 50, "--cursor", first["next"])
        equal("what arrives between two pages moves nothing", [t["trace_id"] for t in second["traces"]],
              [t.id for t in NEWEST_FIRST][50:100])
        equal("it is on the first page of a new search", search({}, "--limit", 1)["traces"][0]["trace_id"], trace_id(0x99999))
        check("the server was still up", server.alive())
    query = {"service": "db", "status": "error"}
    expected = [t.id for t in NEWEST_FIRST if matches(t, query)]
    page, cursor = [], None
    for _ in range(100):
        answer = search(query, "--limit", 40, *(["--cursor", cursor] if cursor else []))
        page += [t["trace_id"] for t in answer["traces"]]
        cursor = answer["next"]
        if cursor is None:
            break
    equal("pages of a filtered search", page, expected)


QUERIES = [
    {"service": "db"}, {"service": "web"}, {"operation": "put"}, {"operation": "list ü"}, {"status": "error"}, {"status": "ok"},
    {"status": "unset"}, {"attr": ["user=u7"]}, {"attr": ["code=404"]}, {"attr": ["cached=true"]}, {"attr": ["ratio=2.25"]},
    {"attr": ["ratio=-1.5"]}, {"attr": ["region=eu"]}, {"attr": ["user=u7", "code=500"]}, {"min-duration": 400 * MILLI},
    {"max-duration": 20 * MILLI}, {"min-duration": 100 * MILLI, "max-duration": 110 * MILLI}, {"since": BASE + 250 * SECOND},
    {"until": BASE + 9 * SECOND}, {"since": BASE + 100 * SECOND, "until": BASE + 120 * SECOND},
    {"service": "db", "operation": "get"}, {"service": "db", "status": "error"},
    {"service": "queue", "operation": "put", "status": "error", "attr": ["region=us"]},
    {"service": "web", "operation": "get", "status": "ok", "attr": ["cached=false", "code=200"], "min-duration": 50 * MILLI,
     "since": BASE, "until": BASE + 200 * SECOND},
    {"service": "db", "attr": ["user=u3"]}, {"attr": ["nothing=like this"]}, {"attr": ["user=u"]}, {"operation": "pu"},
]


def filters():
    for query in QUERIES:
        got = search(query, "--limit", 1000)["traces"]
        name = " ".join(flags(query)).replace(str(BASE)[:10], "BASE+")
        known = [t["trace_id"] for t in got if t["trace_id"] != trace_id(0x99999)]
        equal(f"traces {name}", known, [t.id for t in NEWEST_FIRST if matches(t, query)])


def summaries_agree_with_the_traces():
    """The summary is derived: the modeled trace, by the recorded clock, says the same."""
    with Server(STORE) as server:
        rows = server.get("/api/v1/traces?limit=120").json["traces"]
        for row in rows:
            trace = server.trace(row["trace_id"], clock="raw")
            real = [b for b in trace["blocks"] if b["source"] != "inferred"]
            root = block(trace, trace["main_root"])
            modeled = [trace["trace_id"], root["service"], root["name"], trace["start_ns"], trace["end_ns"] - trace["start_ns"],
                       len(real), sum(b["status"] == "error" for b in real), trace["complete"]]
            if list(row.values()) != modeled:
                return equal("120 summaries say what the modeled traces say", list(row.values()), modeled)
    check("120 summaries say what the modeled traces say", len(rows) == 120)


def from_parts():
    """All again, from the engine's files instead of the log."""
    with Server(STORE) as server:
        equal("the store is flushed", server.flush().status, 200)
        for query in QUERIES:
            got = search(query, "--limit", 1000)["traces"]
            name = " ".join(flags(query)).replace(str(BASE)[:10], "BASE+")
            equal(f"from a part: traces {name}", [t["trace_id"] for t in got], [t.id for t in NEWEST_FIRST if matches(t, query)])
        equal("from a part: every value right", [list(t.values()) for t in search({}, "--limit", 1000)["traces"]], [t.row() for t in NEWEST_FIRST])
        # Half of what a trace is may be in a part, and half in the log.
        first = NEWEST_FIRST[5]
        import_value(STORE, otlp(process("db", span(first.id, 50, "get", first.start, first.start + 1, parent=1, status="error"))))
        row = [t for t in search({}, "--limit", 20)["traces"] if t["trace_id"] == first.id][0]
        equal("part and log together make one trace", (row["spans"], row["errors"], row["service"]), (len(first.spans) + 1, first.row()[6] + 1, "web"))
        import_value(STORE, otlp(*first.processes()))
        row = [t for t in search({}, "--limit", 20)["traces"] if t["trace_id"] == first.id][0]
        equal("what is in a part already is not counted again", row["spans"], len(first.spans) + 1)
        for one in first.processes():
            server.send_otlp(otlp(one))
        row = [t for t in search({}, "--limit", 20)["traces"] if t["trace_id"] == first.id][0]
        equal("nor when it is received again", (row["spans"], len(server.trace(first.id)["blocks"])),
              (len(first.spans) + 1, len(first.spans) + 1 + (not first.complete)))
        first.spans.append({"service": "db", "name": "get", "status": "error", "start": first.start, "end": first.start + 1, "id": 50,
                            "attrs": {}, "resource": {}})


def attribute_values_with_equals_signs():
    store = folder()
    import_value(store, otlp(process("a", span(1, 1, "x", BASE, BASE + 1, attrs={"q": "a=b=c", "k.v/w": "1 2", "n": 5, "s": "5"}),
                                     span(2, 1, "x", BASE, BASE + 1, attrs={"q": "a", "n": 5.0, "t": "true"}))))
    for text, expected in (("q=a=b=c", [1]), ("q=a", [2]), ("k.v/w=1 2", [1]), ("s=5", [1]), ("t=true", [2])):
        equal(f"--attr {text}", [t["trace_id"] for t in search({"attr": [text]}, store=store)["traces"]],
              [trace_id(n) for n in expected])


def forms_of_time():
    store, now = folder(), now_ns()
    ages = {1: 30, 2: 600, 3: 5400, 4: 3 * 86400}
    import_value(store, otlp(process("a", *[span(n, 1, "x", now - age * SECOND, now - age * SECOND + 5) for n, age in ages.items()])))

    def found(**query):
        return [int(t["trace_id"], 16) for t in search(query, store=store)["traces"]]

    equal("--since 90s", found(since="90s"), [1])
    equal("--since 15m", found(since="15m"), [1, 2])
    equal("--since 2h", found(since="2h"), [1, 2, 3])
    equal("--since 7d", found(since="7d"), [1, 2, 3, 4])
    equal("--since 7d --until 1h", found(since="7d", until="1h"), [3, 4])
    stamp = datetime.datetime.fromtimestamp((now - 1000 * SECOND) / 1e9, datetime.timezone.utc)
    equal("--since RFC 3339 with Z", found(since=stamp.strftime("%Y-%m-%dT%H:%M:%SZ")), [1, 2])
    equal("--since RFC 3339 with fraction and zone", found(since=stamp.astimezone(datetime.timezone(datetime.timedelta(
        hours=5, minutes=30))).isoformat(timespec="microseconds")), [1, 2])
    equal("--since and --until in Unix ns: since is included, until is not",
          (found(since=now - 600 * SECOND), found(until=now - 600 * SECOND)), ([1, 2], [3, 4]))
    for flag, value in (("since", "yesterday"), ("until", "12x"), ("since", "2026-13-45T00:00:00Z"), ("min-duration", "5"),
                        ("max-duration", "fast"), ("limit", "0"), ("limit", "many"), ("limit", "-1"), ("cursor", "zzz"), ("attr", "novalue"),
                        ("status", "great")):
        ran = cli("traces", "--" + flag, value, store=store)
        check(f"--{flag} {value}: exit 2, nothing on stdout, the flag is named",
              ran.code == 2 and not ran.out and flag in ran.error["message"] and ran.error["hint"], ran)
    for text, ns in (("40ns", 40), ("1us", 1000), ("0.5ms", 500_000), ("2s", 2 * SECOND), ("1m", 60 * SECOND), ("1h", 3600 * SECOND)):
        ran = cli("traces", "--min-duration", text, store=store)
        equal(f"--min-duration {text} is a duration", ran.code, 0)


def duration_units_mean_what_they_say():
    store = folder()
    import_value(store, otlp(process("a", *[span(n, 1, "x", BASE + n, BASE + n + d) for n, d in
                                            ((1, 40), (2, 1000), (3, 500_000), (4, 2 * SECOND), (5, 60 * SECOND), (6, 3600 * SECOND))])))
    for text, expected in (("40ns", 6), ("41ns", 5), ("1us", 5), ("0.5ms", 4), ("2s", 3), ("1m", 2), ("1h", 1), ("1d", 0)):
        equal(f"--min-duration {text} finds those at least so long",
              len(search({}, "--min-duration", text, store=store)["traces"]), expected)
        # Equal lengths are found by both.
        equal(f"--max-duration {text} finds those at most so long", len(search({}, "--max-duration", text, store=store)["traces"]),
              6 - expected + (0 if text in ("41ns", "1d") else 1))


def what_ran_on_a_resource():
    store = folder()
    _what_ran_on_a_resource(store, "from the log")
    with Server(store) as server:
        equal("the store is flushed", server.flush().status, 200)
    _what_ran_on_a_resource(store, "from a part")


def _what_ran_on_a_resource(store, where):
    def equal(name, got, expected):
        return check(f"{name}, {where}", got == expected, lambda: f"expected {expected!r}\ngot      {got!r}")

    import_value(store, otlp(
        process("a", span(1, 1, "t7 early", BASE, BASE + 10, attrs={"thread.id": 7, "wherefore.resource": ["lock A", "disk"]}),
                span(2, 1, "t7 late", BASE + 100, BASE + 110, attrs={"thread.id": 7}),
                span(3, 1, "t8", BASE, BASE + 10, attrs={"thread.id": 8, "messaging.destination.partition.id": "3"}),
                host__name="h1", service__instance__id="i-1", process__pid=77),
        process("b", span(4, 1, "other host", BASE, BASE + 10, attrs={"thread.id": 7, "db.client.connection.pool.name": "main",
                                                                     "wherefore.resource": "disk"}), host__name="h2")))

    def on(*flags):
        return [s["name"] for s in must(cli("resource", *flags, store=store)).json["spans"]]

    equal("by host", sorted(on("--host", "h1")), ["t7 early", "t7 late", "t8"])
    equal("by thread on a host", on("--host", "h1", "--thread", "7"), ["t7 early", "t7 late"])
    equal("by instance", len(on("--instance", "i-1")), 3)
    equal("by pid", len(on("--pid", "77")), 3)
    equal("by partition", on("--partition", "3"), ["t8"])
    equal("by pool", on("--pool", "main"), ["other host"])
    equal("by wherefore.resource, repeated or not", (sorted(on("--resource", "disk")), on("--resource", "lock A")),
          (["other host", "t7 early"], ["t7 early"]))
    equal("during [t0, t1]: what overlaps it", on("--host", "h1", "--since", BASE + 5, "--until", BASE + 100), ["t7 early", "t8"])
    row = must(cli("resource", "--pool", "main", store=store)).json["spans"][0]
    equal("a row names trace, span, service, name and times", row, {"trace_id": trace_id(4), "span_id": span_id(1), "service": "b",
                                                                "name": "other host", "start_ns": BASE, "end_ns": BASE + 10})
    ran = cli("resource", store=store)
    check("no resource named: exit 2", ran.code == 2 and not ran.out, ran)


def completion():
    equal("services", must(cli("services", store=STORE)).json, {"services": ["db", "queue", "web"]})
    operations = must(cli("operations", "--service", "db", store=STORE)).json["operations"]
    equal("operations of a service", sorted({o["name"] for o in operations}), ["get", "list ü", "put"])
    keys = must(cli("attributes", store=STORE)).json["keys"]
    check("attribute keys, span's and process's", {"user", "code", "cached", "ratio", "region"} <= set(keys), keys)
    equal("attribute keys by prefix", must(cli("attributes", "--prefix", "ca", store=STORE)).json["keys"], ["cached"])
    equal("values of a key", sorted(must(cli("attributes", "region", store=STORE)).json["values"]), ["eu", "us"])
    equal("values by prefix", must(cli("attributes", "user", "--prefix", "u1", "--limit", "3", store=STORE)).json["values"],
          ["u1", "u10", "u11"])


def the_table_on_a_terminal():
    ran = cli("traces", "--limit", "5", store=STORE, text=True)
    lines = ran.out.decode().splitlines()
    check("text: ids and names, within 100 columns", ran.code == 0 and max(map(len, lines)) <= 100 and
          sum(t.id in ran.out.decode() for t in NEWEST_FIRST[:6]) >= 4, ran)


run(load, keys_and_rows, filters, summaries_agree_with_the_traces, from_parts, pages, attribute_values_with_equals_signs, forms_of_time, duration_units_mean_what_they_say,
    what_ran_on_a_resource, completion, the_table_on_a_terminal)
