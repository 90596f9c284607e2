#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 600
"""The command line over ClickHouse: the same questions to a directory, to two shards of Debian's server and to today's
ClickHouse give the same bytes; SQL reaches nothing but datasets; export and import go around; retention deletes."""
import random
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import chdb_stack
import clickhouse_cluster
from explain_lab import *

TRACES = 60
DEFINITION = """
dataset: pages
owner: web
filter: Blocks | Filter(name = "GET /page") | Exists
row: Trace
columns: |
  Trace | Duration | RecordAs("latency_ns")
  Blocks | First | Label(country) | RecordAs("country")
include: [traces]
output: {table: true}
retention: 3650d
"""


def traces():
    """Pages of three countries, and requests that wait behind maintenance."""
    rng = random.Random(9)
    processes = [*page(1000), *sweep(1001)]
    for n in range(TRACES):
        start = at(10_000 + 1000 * n)
        country = rng.choice(["br", "de", "fr"])
        latency = rng.randrange(100, 150) * MILLI + (300 * MILLI if country == "br" and n >= TRACES // 2 else 0)
        tid = trace_id(n + 1)
        processes.append(process("web", span(tid, 1, "GET /page", start, start + latency, kind="server",
                                             attrs={"country": country, "n": n})))
        processes.append(process("db", span(tid, 2, "SELECT", start + MILLI, start + latency - MILLI, parent=1, kind="server",
                                            status="error" if n % 10 == 0 else "unset")))
    return otlp(*processes)


QUESTIONS = [
    ["traces", "--limit", "7"],
    ["traces", "--service", "web", "--attr", "country=br", "--min-duration", "200ms"],
    ["traces", "--status", "error", "--limit", "100"],
    ["trace", trace_id(5)],
    ["critical-path", trace_id(1000)],
    ["explain", trace_id(1000)],
    ["services"],
    ["operations", "--service", "db"],
    ["attributes"],
    ["attributes", "country"],
    ["dataset", "columns", "pages"],
    ["dataset", "query", "pages", "--limit", "5"],
    ["dataset", "query", "pages", "--group-by", "country", "--agg", "count,p95(latency_ns),mean(latency_ns),min(latency_ns)"],
    ["dataset", "query", "pages", "--bucket", "10s", "--agg", "count,sum(latency_ns),distinct(country)"],
    ["dataset", "query", "pages", "--where", 'latency_ns > 140ms and not country ~ "^d"', "--columns", "trace_id,latency_ns",
     "--order", "latency_ns desc", "--limit", "4"],
    ["dataset", "query", "calls", "--group-by", "service", "--agg", "count,p50(duration_ns)"],
    ["dataset", "compare", "pages", "--a", f"time_ns < {at(10_000 + 1000 * TRACES // 2)}", "--b",
     f"time_ns >= {at(10_000 + 1000 * TRACES // 2)}", "--metric", "latency_ns"],
]

ESCAPES = [
    "SELECT * FROM system.tables", "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a String')",
    "SELECT * FROM file('/etc/passwd', CSV, 'a String')", "SELECT * FROM remote('127.0.0.1', system.one)",
    "SELECT 1 INTO OUTFILE '/tmp/wherefore-escape'", "SELECT 1 FORMAT Native", "SELECT 1 SETTINGS readonly = 0",
    "SELECT * FROM pages, system.one", "SELECT 1 IN (system.one)", "SELECT in(1, system.one)", "SELECT file('/etc/passwd')",
    "DROP TABLE pages", "SELECT 1; DROP TABLE pages", "INSERT INTO pages SELECT 1", "SELECT * FROM documents",
    "SELECT * FROM numbers(10)", "SELECT sleep(3)", "SELECT dictGet('x', 'y', 1)", "nonsense", "SELECT nothing FROM pages",
]


def fill(store):
    report = import_value(store, traces())
    must(cli("dataset", "apply", write("pages.yaml", DEFINITION), store=store, timeout=120))
    for name in ("pages", "pages", "calls"):  # again: it replaces
        must(cli("dataset", "backfill", name, store=store, timeout=120))
    return report


EMBEDDED = folder()
EXPECTED = {}


def answer_of(question, store):
    """The bytes, but for when the events were received."""
    return re.sub(rb'"received_ns":\d+', b'"received_ns":0', must(cli(*question, store=store, timeout=120)).out)


def datasets_of(store):
    """What `dataset list` says, but for bytes and what extraction cost."""
    listed = must(cli("dataset", "list", store=store)).json["datasets"]
    return [{k: v for k, v in d.items() if k not in ("bytes", "cost_ns_per_trace")} for d in listed]


def embedded():
    EXPECTED["import"] = fill(EMBEDDED)
    for question in QUESTIONS:
        EXPECTED[tuple(question)] = answer_of(question, EMBEDDED)
    equal("the data has what is asked for", [json.loads(EXPECTED[tuple(QUESTIONS[4])]) != {},
                                             len(blamed(json.loads(EXPECTED[tuple(QUESTIONS[5])]))) > 0], [True, True])


def ask_everything(name, url):
    equal(f"{name}: import reports the same", fill(url), EXPECTED["import"])
    for question in QUESTIONS:
        equal(f"{name}: {' '.join(question)[:70]}", answer_of(question, url), EXPECTED[tuple(question)])
    equal(f"{name}: dataset list, but for bytes and costs", datasets_of(url), datasets_of(EMBEDDED))
    sql = must(cli("dataset", "sql", "SELECT country, count(*) AS n, sum(latency_ns) AS s FROM pages GROUP BY country "
                   "ORDER BY country -- end", store=url)).json
    check(f"{name}: the dialect is stated", sql["dialect"].startswith("ClickHouse "), sql["dialect"])
    grouped = must(cli("dataset", "sql", "SELECT country, count(*) AS n, sum(latency_ns) AS s FROM pages GROUP BY country "
                       "ORDER BY country", store=EMBEDDED)).json
    equal(f"{name}: SQL over a dataset", sql["rows"], grouped["rows"])
    joined = must(cli("dataset", "sql", 'SELECT count(*) AS n FROM "pages" JOIN calls USING (trace_id)', store=url)).json["rows"]
    equal(f"{name}: SQL over two", joined, [{"n": 2 * TRACES}])


def no_way_out(name, url):
    for text in ESCAPES:
        ran = cli("dataset", "sql", text, store=url)
        check(f"{name}: refused: {text}", ran.code == 2 and ran.out == b"" and "rows_" not in ran.err.decode(), ran)
    check("nothing was written", not os.path.exists("/tmp/wherefore-escape"))


def around(name, url):
    """Out of one store and into another."""
    out = folder("events.jsonl")
    must(cli("export", "--out", out, store=url))
    back = folder()
    import_files(back, out)
    for number in (3, 1000):
        equal(f"{name}: a trace that was exported and imported is the same",
              answer_of(["trace", trace_id(number)], back), answer_of(["trace", trace_id(number)], EMBEDDED))


class ClusterServer(Server):
    """`serve` whose store is no directory: what it keeps itself lies elsewhere."""

    def __init__(self, url, *flags):
        self.state = folder("state")
        super().__init__(url, "--state", self.state, *flags)

    def facts(self):
        try:
            with open(os.path.join(self.state, "server.json")) as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}


def retention(name, url):
    """A server deletes events that were received too long ago; rows of datasets live by their own time. (Retention of rows
    by age and by subsampling is in the conformance suite: a server looks after it every ten minutes.)"""
    count = lambda dataset: must(cli("dataset", "query", dataset, "--agg", "count", store=url)).json["rows"][0]["count"]
    with ClusterServer(url, "--retention-age", "1s") as server:
        there = lambda: len(server.get("/api/v1/traces").json["traces"])
        check(f"{name}: events received too long ago are gone", wait_for(lambda: there() == 0, 90, every=0.5), server.log())
        equal(f"{name}: rows of datasets are there", count("pages"), TRACES)
        equal(f"{name}: SIGTERM ends it", server.stop(60), 0)


def an_age_that_is_taken_back(server):
    """Servers that know ages delete by themselves: they must hear when `serve` is started without one again."""
    url = server.url()
    tables = lambda: server.ask("SELECT count() FROM system.tables WHERE database = 'wherefore' AND "
                                "position(create_table_query, ' TTL ') > 0")
    with ClusterServer(url, "--retention-age", "30d") as serving:
        check("today's: the server is told the age", wait_for(lambda: int(tables()) == 3, 30), lambda: (tables(), serving.log()))
        equal("today's: it ends", serving.stop(60), 0)
    equal("today's: the age stays when nobody runs", int(tables()), 3)
    with ClusterServer(url) as serving:
        check("today's: without the flag it is taken back", wait_for(lambda: int(tables()) == 0, 30), lambda: (tables(), serving.log()))


def shard_dies(cluster, url):
    """kill -9 of a shard while rows are replaced: whoever writes waits for it or says that it failed, and what is asked is
    what was there before or after, whole."""
    for round in range(3):
        writer = subprocess.Popen([WHEREFORE, "dataset", "backfill", "pages", "--store", url, "--format", "json"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        time.sleep(0.05 * round)
        cluster.kill(round % 2)
        cluster.start(round % 2)
        out, err = writer.communicate(timeout=120)
        check(f"18.16: a backfill while a shard dies ends well or with an error ({round})",
              writer.returncode == 0 or b"ClickHouse" in err, [writer.returncode, out, err])
        question = QUESTIONS[12]
        equal(f"18.16: … and the rows are all there, once ({round})", answer_of(question, url), EXPECTED[tuple(question)])


def two_shards():
    with clickhouse_cluster.Cluster(shards=2) as cluster:
        ask_everything("18.16", cluster.url())
        spread = [int(cluster.ask("SELECT count() FROM wherefore.events", shard)) for shard in (0, 1)]
        check("18.16: events lie on both shards", min(spread) > 20, spread)
        no_way_out("18.16", cluster.url())
        around("18.16", cluster.url())
        shard_dies(cluster, cluster.url())
        retention("18.16", cluster.url())


def today():
    with chdb_stack.Chdb() as server:
        for part in (ask_everything, no_way_out, around, retention):
            part("today's", server.url())
        an_age_that_is_taken_back(server)


if __name__ == "__main__":
    run(embedded, two_shards, today)
