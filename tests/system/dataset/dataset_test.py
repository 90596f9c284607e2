#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 180
"""`dataset`: defined, filled, asked and compared, by the command line and over HTTP with the same bytes; SQL cannot leave."""
import random
import sys
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

BASE = 1_760_000_000 * SECOND
TRACES = 300
DEFINITION = """
dataset: pages
owner: web
filter: Blocks | Filter(name = "GET /") | Exists
row: Trace
columns: |
  Trace | Duration | RecordAs("latency_ns")
  Blocks | First | Label(country) | RecordAs("country")
  Blocks | First | Label(bytes) | RecordAs("bytes_text")
include: [traces]
output: {table: true, parquet: true}
retention: 30d
"""

rng = random.Random(41)
KNOWN = []  # (trace id, start, country, latency)


def make_traces():
    """From the middle on, requests from br take 300 ms longer."""
    processes = []
    for n in range(TRACES):
        start, country = BASE + n * SECOND, rng.choice(["br", "de", "fr"])
        latency = rng.randrange(100, 150) * MILLI + (300 * MILLI if country == "br" and n >= TRACES // 2 else 0)
        tid = trace_id(n + 1)
        KNOWN.append((tid, start, country, latency))
        processes.append(process("web", span(tid, 1, "GET /", start, start + latency, kind="server", attrs={"country": country, "bytes": n})))
        processes.append(process("db", span(tid, 2, "SELECT", start + MILLI, start + latency - MILLI, parent=1, kind="server",
                                            status="error" if n % 10 == 0 else "unset")))
    return otlp(*processes)


STORE = folder()
FILE = write("pages.yaml", DEFINITION)


def nearest_rank(values, percent):
    values = sorted(values)
    return values[max(0, -(-len(values) * percent // 100) - 1)]


def dataset(*arguments, **options):
    return cli("dataset", *arguments, store=options.pop("store", STORE), **options)


def defining():
    import_value(STORE, make_traces())
    applied = must(dataset("apply", FILE)).json
    equal("apply tries the definition on stored traces", [applied["trial"][k] for k in ("traces", "matched", "rows")], [TRACES] * 3)
    check("… and says what it costs", applied["trial"]["cost_ns_per_trace"] > 0 and applied["saved"])
    names = [c["name"] for c in applied["columns"]]
    check("columns: fixed, own, included", names[:4] == ["trace_id", "time_ns", "row_key", "complete"] and
          {"latency_ns", "country", "duration_ns", "path_self_ns"} <= set(names), names)
    other = write("dear.yaml", DEFINITION.replace("dataset: pages", "dataset: dear"))
    refused = dataset("apply", other, "--share", "1ns")
    check("above the owner's share it is refused", refused.code == 2 and "--force" in refused.error["hint"], refused)
    check("… unless forced", dataset("apply", other, "--share", "1ns", "--force").code == 0)
    must(dataset("delete", "dear"))
    bad = dataset("apply", write("bad.yaml", DEFINITION.replace("Duration", "Durration")))
    check("a fault has its line, a caret and a suggestion", bad.code == 2 and "line 7" in bad.error["message"] and
          "^" in bad.error["message"] and "Duration" in bad.error["hint"], bad)
    for text, words in [("dataset: 'a b'\n", "not a valid name"), ("dataset: x\ncolums: y\n", "colums"), ("- x\n", "not a dataset"),
                        ("dataset: &a x\n", "anchor"), ("dataset: x\nretention: soon\n", "is not a duration"),
                        ("dataset: x\ninclude: [nothing]\ncolumns: Trace | Duration | RecordAs(\"d\")\n", "nothing")]:
        ran = dataset("apply", write("x.yaml", text))
        check(f"refused: {words}", ran.code in (1, 2) and words in ran.err.decode(), ran)
    check("a trial saves nothing", must(dataset("apply", other, "--trial")).json["saved"] is False and
          "dear" not in [d["dataset"] for d in must(dataset("list")).json["datasets"]])


def filling():
    none = dataset("query", "pages")
    check("asked before it is filled, it says how", none.code == 1 and "backfill" in none.error["hint"], none)
    half = must(dataset("backfill", "pages", "--until", BASE + 100 * SECOND)).json
    equal("a time range takes the traces that start in it", [half["traces"], half["rows"]], [100, 100])
    for _ in range(2):
        full = must(dataset("backfill", "pages")).json
    equal("filling again replaces", [full["rows"], must(dataset("query", "pages", "--agg", "count")).json["rows"]],
          [TRACES, [{"count": TRACES}]])
    for name in ("traces", "calls", "critical_path", "repairs"):
        check(f"the standing dataset {name} fills", dataset("backfill", name).code == 0)
    hours = os.listdir(os.path.join(STORE, "parquet", "default", "pages"))
    check("Parquet files by the hour", hours and all(h.endswith(".parquet") for h in hours), hours)
    check("there is none of that name", dataset("backfill", "pagse").error["hint"].startswith("did you mean pages"))


def asking():
    rows = must(dataset("query", "pages", "--group-by", "country", "--agg", "count, p95(latency_ns),mean(latency_ns)")).json
    expected = []
    for country in ("br", "de", "fr"):
        mine = [k[3] for k in KNOWN if k[2] == country]
        expected.append({"country": country, "count": len(mine), "p95(latency_ns)": nearest_rank(mine, 95),
                         "mean(latency_ns)": sum(mine) / len(mine)})
    expected.sort(key=lambda r: (-r["count"], r["country"]))
    got = rows["rows"]
    check("groups, percentiles and means are those of a model", [r["country"] for r in got] == [r["country"] for r in expected] and
          all(abs(a["mean(latency_ns)"] - b["mean(latency_ns)"]) < 1 and a["p95(latency_ns)"] == b["p95(latency_ns)"]
              for a, b in zip(got, expected)), [got, expected])
    equal("columns have names and types", rows["columns"], [
        {"name": "country", "type": "text"}, {"name": "count", "type": "int"}, {"name": "p95(latency_ns)", "type": "int"},
        {"name": "mean(latency_ns)", "type": "double"}])
    top = must(dataset("query", "pages", "--columns", "trace_id,latency_ns", "--order", "latency_ns desc", "--limit", 1)).json
    slowest = max(KNOWN, key=lambda k: k[3])[3]
    equal("the slowest row", [top["rows"][0]["latency_ns"], top["more"]], [slowest, True])
    series = must(dataset("query", "pages", "--bucket", "1m", "--agg", "count")).json["rows"]
    check("buckets are in order of time", sum(r["count"] for r in series) == TRACES and
          [r["time_ns"] for r in series] == sorted(r["time_ns"] // (60 * SECOND) * 60 * SECOND for r in series), series)
    one = must(dataset("query", "pages", "--where", f'trace_id = "{KNOWN[7][0]}"')).json["rows"]
    equal("one trace's row", [one[0]["latency_ns"], one[0]["country"], one[0]["complete"]], [KNOWN[7][3], KNOWN[7][2], True])
    some = must(dataset("query", "pages", "--where", 'latency_ns > 400ms and country in ("br", "de") and not country = "de"',
                        "--agg", "count")).json["rows"][0]["count"]
    equal("conditions", some, sum(k[3] > 400 * MILLI and k[2] == "br" for k in KNOWN))
    for flags, words in [(["--where", "latency >"], "expected a value"), (["--where", "contry = \"de\""], "country"),
                         (["--agg", "avg(latency_ns)"], "is not an aggregate"), (["--group-by", "x,"], "expected a column"),
                         (["--where", "latency_ns ~ \"1\""], "for texts"), (["--where", 'country ~ "("'], "~"),
                         (["--limit", "0"], "--limit"), (["--bucket", "soon"], "--bucket")]:
        ran = dataset("query", "pages", *flags)
        check(f"refused: {' '.join(flags)}", ran.code == 2 and words in ran.err.decode() and ran.out == b"", ran)
    csv = must(dataset("query", "pages", "--columns", "country,latency_ns", "--limit", 2, "--format", "csv", text=True)).out
    equal("CSV", csv.splitlines()[0], b"country,latency_ns")
    parquet = must(dataset("query", "pages", "--limit", 2, "--format", "parquet", text=True)).out
    check("Parquet", parquet[:4] == b"PAR1" and parquet[-4:] == b"PAR1", parquet[:20])
    used = {c["name"]: c["queries"] for c in must(dataset("columns", "pages")).json["columns"]}
    check("columns count the queries that used them", used["latency_ns"] >= 4 and used["bytes_text"] == 0, used)
    first = must(dataset("columns", "pages")).json["columns"][0]["name"]
    check("… and are sorted by it", used[first] == max(used.values()), [first, used])


def comparing():
    middle = BASE + TRACES // 2 * SECOND
    sides = ["--a", f"time_ns < {middle}", "--b", f"time_ns >= {middle}", "--metric", "latency_ns"]
    found = must(dataset("compare", "pages", *sides)).json
    equal("both populations are counted", [found["n_a"], found["n_b"]], [TRACES // 2, TRACES - TRACES // 2])
    best = found["columns"][0]
    check("the country that got slower comes first", [best["column"], best["value"]] == ["country", "br"] and
          best["effect"] > 0.9 and best["p"] <= best["q"] < 0.05, found)
    same = must(dataset("compare", "pages", "--a", f"time_ns < {BASE + 75 * SECOND}", "--b",
                        f"time_ns >= {BASE + 75 * SECOND} and time_ns < {middle}", "--metric", "latency_ns")).json
    equal("where nothing changed, nothing is found", same["columns"], [])
    check("the metric must be a number", dataset("compare", "pages", *sides[:-1], "country").code == 2)
    check("two populations are needed", dataset("compare", "pages", "--a", "time_ns > 0").code == 2)


ESCAPES = [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'", "FROM sniff_csv('/etc/passwd')", "COPY pages TO '{mark}'", "EXPORT DATABASE '{mark}'",
    "ATTACH '{mark}'", "PRAGMA database_list", "PRAGMA enable_external_access", "SET enable_external_access = true",
    "SET memory_limit = '100GB'", "RESET lock_configuration", "INSTALL httpfs", "LOAD httpfs", "CREATE TABLE x (a INT)",
    "DROP TABLE pages", "DELETE FROM pages", "UPDATE pages SET country = 'x'", "SELECT 1; COPY pages TO '{mark}'", "CHECKPOINT",
    "CALL force_checkpoint()", "SELECT getenv('HOME')", "SELECT * FROM parquet_scan('{parquet}')", "nonsense",
]


def sql():
    rows = must(dataset("sql", "SELECT country, count(*) AS n, sum(latency_ns) AS s FROM pages GROUP BY 1 ORDER BY 1 -- end")).json
    equal("SQL over a dataset", [[r["country"], r["n"], r["s"]] for r in rows["rows"]],
          [[c, sum(k[2] == c for k in KNOWN), sum(k[3] for k in KNOWN if k[2] == c)] for c in ("br", "de", "fr")])
    check("the dialect is stated", rows["dialect"].startswith("DuckDB"), rows["dialect"])
    joined = must(dataset("sql", 'SELECT count(*) AS n FROM "pages" JOIN calls USING (trace_id)')).json["rows"]
    equal("… over two", joined, [{"n": 2 * TRACES}])
    mark = folder("mark")
    parquet = os.path.join(STORE, "parquet", "default", "pages", os.listdir(os.path.join(STORE, "parquet", "default", "pages"))[0])
    with Server(STORE) as server:  # quicker than opening the store for each
        for text in ESCAPES:
            ran = server.get("/api/v1/dataset/sql?" + urllib.parse.urlencode({"sql": text.format(mark=mark, parquet=parquet)}))
            check(f"refused: {text}", ran.status == 400, ran)
        check("nothing was written", not os.path.exists(mark))
        huge = server.get("/api/v1/dataset/sql?" + urllib.parse.urlencode({"sql": "SELECT list(a) FROM range(3000000000) t(a)"}))
        check("too much memory ends the statement, not the server", huge.status == 500 and b"1 GB" in huge.body and
              server.get("/healthz").status == 200, huge)
    check("the rows are as before", must(dataset("query", "pages", "--agg", "count")).json["rows"] == [{"count": TRACES}])


def serving():
    questions = [
        ("list", "", []), ("columns", "pages", []),
        ("query", "pages", ["--group-by", "country", "--agg", "count,p50(latency_ns),mean(latency_ns)", "--where", "latency_ns > 1ms"]),
        ("query", "calls", ["--bucket", "1m", "--group-by", "service", "--agg", "count,sum(duration_ns)"]),
        ("compare", "pages", ["--a", 'country = "br"', "--b", 'country = "de"', "--metric", "latency_ns", "--show", "all"])]
    direct = {}
    for action, name, flags in questions:
        direct[action, name] = must(dataset(action, *([name] if name else []), *flags)).out
    with Server(STORE) as server:
        for action, name, flags in questions:
            query = urllib.parse.urlencode([(k.strip("-").replace("-", "_"), v) for k, v in zip(flags[::2], flags[1::2])])
            path = f"/api/v1/dataset/{action}" + (f"/{name}" if name else "") + (f"?{query}" if query else "")
            # Bytes on disk and newest rows move while a server that has just started catches up: asked until they rest.
            for _ in range(20):
                answer = server.get(path)
                served = must(dataset(action, *([name] if name else []), *flags)).out
                if answer.body == served:
                    break
            check(f"{action} {name}: served and by HTTP the same bytes", answer.body == served, [answer.body[:300], served[:300]])
            if action not in ("list", "columns"):  # the questions count as uses
                equal(f"{action} {name}: as from the directory", served, direct[action, name])
        csv = server.get("/api/v1/dataset/query/pages?columns=country&limit=1&format=csv")
        check("CSV over HTTP", csv.status == 200 and csv.headers["content-type"].startswith("text/csv"), csv)
        posted = server.request("http", "POST", "/api/v1/dataset/apply?name=x.yaml", DEFINITION.replace("pages", "again", 1))
        check("apply by HTTP", posted.status == 200 and json.loads(posted.body)["saved"], posted)
        filled = must(dataset("backfill", "again")).json
        equal("backfill through the server, in pieces", filled["rows"], TRACES)
        check("a definition by GET is refused", server.get("/api/v1/dataset/apply").status == 405)
        gone = server.request("http", "DELETE", "/api/v1/dataset/delete/again")
        check("delete by HTTP", gone.status == 200 and server.get("/api/v1/dataset/columns/again").status == 404, gone)
        foreign = server.request("http", "DELETE", "/api/v1/dataset/delete/pages", headers={"Origin": "http://evil.example"})
        equal("a page of another site may not", foreign.status, 403)
    check("standing datasets can be hidden, and return", dataset("delete", "repairs").code == 0 and
          "repairs" not in [d["dataset"] for d in must(dataset("list")).json["datasets"]] and
          dataset("apply", os.path.join(SOURCE, "config", "datasets", "repairs.yaml")).code == 0)
    must(dataset("delete", "pages"))
    equal("deleted is gone", dataset("query", "pages").code, 1)


run(defining, filling, asking, comparing, sql, serving)
