#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 180
"""`query`: the contract of its answers and errors, over a file of events and over stored traces. The language itself is
tested beside the code (src/lang/query)."""
import gzip
import json
import random
import subprocess
import sys
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

T0 = 1_700_000_000 * SECOND


def event(id, tracepoint, time, *after, **vars):
    return {"id": id, "tracepoint": tracepoint, "time_ns": time, **({"after": list(after)} if after else {}),
            **({"vars": vars} if vars else {})}


# Pivot Tracing, figure 3.
FIGURE3 = [event("s", "S", 0), event("a1", "A", 1, "s", n="a1"), event("a2", "A", 2, "a1", n="a2"),
           event("b2", "B", 3, "a2", n="b2"), event("b1", "B", 1, "s", n="b1"), event("c1", "C", 2, "b1", n="c1"),
           event("a3", "A", 3, "c1", n="a3"), event("c2", "C", 5, "b2", "a3", n="c2")]
PLANS = ["reference", "advice", "rewritten", "emit"]


def lines(events):
    return "".join(json.dumps(e) + "\n" for e in events)


def query(path, asked, *flags, **options):
    return cli("query", "--events", path, asked, *flags, **options)


def rows(path, text, *flags):
    return must(query(path, text, *flags)).json["rows"]


def events():
    path = write("events.jsonl", lines(FIGURE3))
    got = must(query(path, "From c In C Join b In B On b -> c Select b.n, c.n")).json
    equal("the contract's keys, in order", [list(got), list(got["cost"]), list(got["input"])],
          [["columns", "rows", "cost", "input"], ["packed_tuples_max", "baggage_bytes_max", "emitted"], ["events", "unknown_after"]])
    equal("columns", got["columns"], ["b.n", "c.n"])
    equal("input", got["input"], {"events": 8, "unknown_after": 0})
    for plan in PLANS:
        ask = lambda text: rows(path, text, "--plan", plan)
        equal(f"figure 3 by {plan}: A", ask("From a In A Select a.n"), [["a1"], ["a2"], ["a3"]])
        equal(f"figure 3 by {plan}: A ⋈ B", ask("From b In B Join a In A On a -> b Select a.n, b.n"), [["a1", "b2"], ["a2", "b2"]])
        equal(f"figure 3 by {plan}: B ⋈ C", ask("From c In C Join b In B On b -> c Select b.n, c.n"),
              [["b1", "c1"], ["b1", "c2"], ["b2", "c2"]])
        equal(f"figure 3 by {plan}: (A ⋈ B) ⋈ C",
              ask("From c In C Join b In B On b -> c Join a In A On a -> b Select a.n, b.n, c.n"),
              [["a1", "b2", "c2"], ["a2", "b2", "c2"]])
    equal("values are written as the contract says",
          b'"rows":[[1,2.0,0.1,null,true,"x"]]' in must(query(path, "From s In S Select 1, 4 / 2, 0.1, s.no, true, 'x'")).out, True)
    table = must(query(path, "From a In A GroupBy a.tracepoint Select a.tracepoint, COUNT", text=True)).out.decode()
    equal("a table for a terminal", table, "a.tracepoint  COUNT\nA                 3\n1 row of 8 events\n")


def inputs():
    text = lines([event("1", "A", 1, "gone", v=1), event("2", "A", 2, "1", "gone", "lost", v=2)])
    path = write("events.jsonl", text)
    got = must(query(path, "From a In A Select SUM(a.v)")).json
    equal("unknown ids are counted", (got["rows"], got["input"]), ([[3]], {"events": 2, "unknown_after": 3}))
    for name, data in ("events.gz", gzip.compress(text.encode())), ("events.zst", zstd(text.encode())):
        equal(f"{name} is read", rows(write(name, data), "From a In A Select SUM(a.v)"), [[3]])
    done = subprocess.run([WHEREFORE, "query", "--events", "-", "From a In A Select COUNT", "--format", "json"],
                          input=text.encode(), capture_output=True, timeout=60, env=environment())
    equal("- is standard input", json.loads(done.stdout)["rows"], [[2]])
    ran = must(query(path, "From z In Zebra Select COUNT"))
    check("an unknown tracepoint gives no rows and a note", ran.json["rows"] == [] and b"Zebra" in ran.err, ran)
    equal("an empty file is no events", must(query(write("none.jsonl", ""), "From a In A Select a.v")).json["rows"], [])


def errors():
    path = write("events.jsonl", lines(FIGURE3))
    bad = {"From a In": b"1:10", "From a In A Select b.n": b"1:20", "From a In A Select SUM(a.n) + a.n": b"1:31", "": b"1:1",
           "From a In A\n Select a.n,": b"2:13"}
    for text, place in bad.items():
        for ran in query(path, text, text=True), query(path, text):
            check(f"{text!r} is refused at {place.decode()}",
                  ran.code == 2 and ran.out == b"" and place in ran.err, ran)
    shown = query(path, "From a In A Select b.n", text=True).err.decode()
    check("… with its line, a caret and a hint", "From a In A Select b.n" in shown and "^~~" in shown and "did you mean a?" in shown, shown)
    for name, text, place in (("a line that is no JSON", lines(FIGURE3) + "{\n", "events.jsonl:9"),
                              ("an id twice", lines(FIGURE3 + FIGURE3[:1]), "events.jsonl:9"),
                              ("a circle", lines([event("1", "A", 1, "2"), event("2", "A", 1, "1")]), "events.jsonl:"),
                              ("a default redefined", lines([event("1", "A", 1, host="x")]), "events.jsonl:1")):
        ran = query(write("events.jsonl", text), "From a In A Select COUNT")
        check(f"{name} is refused with its line", ran.code == 2 and ran.out == b"" and place in ran.error["message"], ran)
    ran = query("/nowhere/events.jsonl", "From a In A Select COUNT")
    check("a file that is not there is refused", ran.code == 2 and "No such file" in ran.error["message"], ran)
    ran = query(path, "From a In A Select COUNT", "--plan", "fast")
    check("an unknown plan is refused", ran.code == 2 and ran.out == b"", ran)


def random_traces(count, seed):
    """Spans of random trees: (trace, id, parent, name, process, start, end, attributes, points)."""
    r = random.Random(seed)
    spans = []
    for t in range(1, count + 1):
        times = {}
        for s in range(1, r.randint(2, 9)):
            parent = r.randint(1, s - 1) if s > 1 else 0
            lo, hi = times.get(parent, (T0 + t * SECOND, T0 + t * SECOND + 1000))
            start = r.randint(lo, hi)
            end = r.randint(start, hi)
            times[s] = (start, end)
            points = [(r.randint(start, end), r.choice(["miss", "retry"]), {"key": r.choice("kl")}) for _ in range(r.choice([0, 0, 1, 2]))]
            attrs = {"user": r.choice(["ann", "bob"]), "size": r.randint(0, 5), "tags": r.choice([["x"], ["x", "y"], []])}
            spans.append((t, s, parent, r.choice(["buy", "load", "pay"]), r.randint(0, 2), start, end, attrs, points))
    return spans


def as_otlp(spans):
    names = ["shop", "cart", "bank"]
    return otlp(*(process(names[p], *(span(t, s, name, start, end, parent, attrs=attrs, events=points)
                                      for t, s, parent, name, q, start, end, attrs, points in spans if q == p),
                          host__name=f"h{p}", process__pid=100 + p) for p in range(3)))


def as_events(spans):
    """The same by the rules of docs/reference/query-language.md: begin → children and points → end."""
    names = ["shop", "cart", "bank"]
    out = {}
    for t, s, parent, name, p, start, end, attrs, points in spans:
        where = {"host": f"h{p}", "proc": names[p], "pid": 100 + p}
        begin, finish, above = f"{t}/{s}/b", f"{t}/{s}/e", f"{t}/{parent}"
        out[begin] = {"id": begin, "tracepoint": name, "time_ns": start, "after": [above + "/b"] if parent else [], "vars": attrs, **where}
        out[finish] = {"id": finish, "tracepoint": name + ".end", "time_ns": end, "after": [begin],
                       "vars": {**attrs, "duration": end - start}, **where}
        for i, (time, point, extra) in enumerate(points):
            id = f"{t}/{s}/{i}"
            out[id] = {"id": id, "tracepoint": point, "time_ns": time, "after": [begin], "vars": extra, **where}
            out[finish]["after"].append(id)
    for t, s, parent, *_ in spans:
        if parent:
            out[f"{t}/{parent}/e"]["after"].append(f"{t}/{s}/e")
    return list(out.values())


QUERIES = [
    "From x In buy GroupBy x.host Select x.host, COUNT, SUM(x.size)",
    "From x In buy.end, pay.end Where x.duration > 10 GroupBy x.procName, x.tracepoint Select x.procName, x.tracepoint, AVERAGE(x.duration)",
    "From x In miss GroupBy x.key, x.procId Select x.key, x.procId, COUNT",
    "From x In buy Select x.tags, x.user, x.time",
    "From x In load Window 5s GroupBy x.tags Select x.tags, COUNT",
    "From y In pay Join x In buy On x -> y GroupBy x.host, y.host Select x.host, y.host, COUNT, SUM(y.size)",
    "From y In buy.end Join x In load.end On x -> y Select y.time, x.duration, x.user",
    "From y In miss, retry Join x In buy On x -> y Join z In load On z -> x Where z.size < 4 Select y.time, x.time, z.host",
    "From y In load Join s In (From x In buy GroupBy x.user Select x.user As u, COUNT As n) On s -> y Select y.time, s.u, s.n",
    "From y In pay.end Join x In (From b In load.end Join a In load On a -> b Select b.time - a.time As t) On x -> y "
    "GroupBy y.user Select y.user, PERCENTILE(x.t, 90), COUNT",
]


def stored():
    spans = random_traces(60, 7)
    path = write("events.jsonl", lines(as_events(spans)))
    store = folder()
    import_value(store, as_otlp(spans))
    for text in QUERIES:
        answer = must(cli("query", "--stored", text, store=store)).json
        equal(f"stored as in a file: {text}", answer["rows"], rows(path, text, "--plan", "reference"))
        if "Join" not in text:
            equal("… without modeling a trace", answer["input"]["traces_modeled"], 0)
    # --since is of From events, joined ones may be older.
    since = T0 + 30 * SECOND + 300
    text = "From y In load.end Join x In buy On x -> y Select y.time, x.time"
    expected = [row for row in rows(path, text) if row[0] >= since]
    check("the question has an answer", expected and len(expected) < len(rows(path, text)), expected)
    equal("--since selects From events", must(cli("query", "--stored", "--since", since, text, store=store)).json["rows"], expected)
    text = "From y In load.end Select y.time"
    equal("… in a scan of columns too", must(cli("query", "--stored", "--since", since, text, store=store)).json["rows"],
          [row for row in rows(path, text) if row[0] >= since])
    # The same through a server, byte for byte.
    direct = [must(cli("query", "--stored", text, store=store)).out for text in QUERIES]
    with Server(store) as server:
        for text, expected in zip(QUERIES, direct):
            answer = server.get("/api/v1/query?" + urllib.parse.urlencode({"q": text}))
            check(f"the API answers alike: {text}", answer.status == 200 and answer.body == expected, answer)
        equal("the command line asks the server", must(cli("query", "--stored", QUERIES[0], store=store)).out, direct[0])
        answer = server.get("/api/v1/query?" + urllib.parse.urlencode({"q": "From x In buy Select y.a"}))
        check("a wrong query is a bad request with its place", answer.status == 400 and "1:22" in answer.json["error"]["message"], answer)
    ran = cli("query", "--stored", "From x In buy Select y.a", store=store)
    check("… and exit code 2", ran.code == 2 and ran.out == b"" and "1:22" in ran.error["message"], ran)


if __name__ == "__main__":
    run(events, inputs, errors, stored)
