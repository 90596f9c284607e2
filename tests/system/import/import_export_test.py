#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""import and export: every format by content, the report, importing again, export → import, what is refused."""
import gzip
import json
import os
import random
import re
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *
import foreign_wire

BASE = 1_700_000_000 * SECOND
REPORT_KEYS = ["files", "traces", "spans", "duplicates", "rejected", "repairs"]
MAY_BE_ADDED = {"messages", "trace_ids", "events", "reasons"}


def small_trace(number, name="checkout"):
    return otlp(process("shop", span(number, 1, name, BASE, BASE + 50 * MILLI, kind="server"),
                        span(number, 2, "query", BASE + MILLI, BASE + 9 * MILLI, parent=1, kind="client",
                             attrs={"db.system": "sqlite", "rows": 3})))


def htrace_line(high, low, parent, begin_ms, end_ms, name):
    return json.dumps({"a": f"{high:016x}{low:016x}", "b": begin_ms, "e": end_ms, "d": name, "r": "datanode",
                       "p": [f"{high:016x}{parent:016x}"] if parent else [], "n": {"block": "blk_7"},
                       "t": [{"t": begin_ms, "m": "started"}]})


ZIPKIN = [zipkin_span(0x51, 1, "get", BASE // 1000, 5000, kind="SERVER", service="web", tags={"http.path": "/"}),
          zipkin_span(0x51, 2, "sql", BASE // 1000 + 100, 700, parent=1, kind="CLIENT", service="web")]
JAEGER = jaeger(jaeger_span(0x61, 1, "GET /", BASE // 1000, 5000),
                jaeger_span(0x61, 2, "sql", BASE // 1000 + 100, 700, [("CHILD_OF", 0x61, 1)], tags={"rows": 3}))
HTRACE = "\n".join([htrace_line(0x71, 1, 0, 1_700_000_000_000, 1_700_000_000_050, "read"),
                    htrace_line(0x71, 2, 1, 1_700_000_000_010, 1_700_000_000_040, "seek")]) + "\n"


def every_format_is_found_by_content():
    store = folder()
    line = json.dumps(small_trace(0x21))
    cases = [
        ("OTLP JSON", json.dumps(small_trace(0x11)), trace_id(0x11)),
        ("OTLP JSON, indented", json.dumps(small_trace(0x12), indent=2), trace_id(0x12)),
        ("OTLP JSON lines", line + "\n" + json.dumps(small_trace(0x22)) + "\n", trace_id(0x21)),
        ("OTLP protobuf", otlp_proto.encode(small_trace(0x31)), trace_id(0x31)),
        ("Zipkin v2", json.dumps(ZIPKIN), trace_id(0x51)),
        ("Jaeger JSON", json.dumps(JAEGER), trace_id(0x61)),
        ("HTrace JSON", HTRACE, None),
    ]
    for name, content, tid in cases:
        report = import_value(store, content, "anything.dat")
        spans = 4 if name == "OTLP JSON lines" else 2
        equal(f"{name}: spans are counted", (report["files"], report["spans"], report["rejected"]), (1, spans, 0))
        equal(f"{name}: the report has the contract's keys first", list(report)[:len(REPORT_KEYS)], REPORT_KEYS)
        check(f"{name}: no unknown key in the report", set(report) <= set(REPORT_KEYS) | MAY_BE_ADDED, list(report))
        tid = tid or report["trace_ids"][0]
        check(f"{name}: trace_ids names the trace", tid in report["trace_ids"], report)
        trace = get_trace(store, tid)
        equal(f"{name}: two blocks, one below the other",
              [b["parent_id"] for b in trace["blocks"]], [None, trace["blocks"][0]["span_id"]])
        check(f"{name}: the trace is complete", trace["complete"], trace["missing"])
    for tag, pack, value in (("gzip", gzip.compress, 0x41), ("zstd", zstd, 0x42)):
        for form, content in (("JSON", json.dumps(small_trace(value)).encode()),
                              ("protobuf", otlp_proto.encode(small_trace(value + 0x1000)))):
            report = import_value(store, pack(content), "packed.json")
            equal(f"{tag} of OTLP {form} is read", (report["traces"], report["spans"]), (1, 2))
    equal("units of time: Zipkin and Jaeger µs, HTrace ms, all shown as ns",
          [get_trace(store, trace_id(0x51))["end_ns"], get_trace(store, trace_id(0x61))["end_ns"]],
          [BASE + 5 * MILLI] * 2)
    seek = must(cli("traces", "--operation", "seek", store=store)).json["traces"]
    check("HTrace: found by operation, 50 ms long, starting in ns", len(seek) == 1 and
          (seek[0]["start_ns"], seek[0]["duration_ns"], seek[0]["name"]) == (BASE, 50 * MILLI, "read"), seek)


def the_same_bytes_by_every_format_are_the_same_trace():
    json_store, proto_store = folder(), folder()
    rng = random.Random(3)
    request_value = otlp(*[p for n in range(5) for p in random_trace(rng, 0x900 + 10 * n)])
    import_value(json_store, request_value)
    import_value(proto_store, otlp_proto.encode(request_value))
    for n in range(5):
        a, b = (without_receipt(get_trace(s, trace_id(0x900 + 10 * n))) for s in (json_store, proto_store))
        if a != b:
            return equal("OTLP JSON and protobuf of one request are the same trace", b, a)
    check("OTLP JSON and protobuf of one request are the same trace", True)
    again = import_value(json_store, otlp_proto.encode(request_value))
    equal("what came as JSON is a duplicate when it comes as protobuf", (again["spans"], again["duplicates"]), (0, 40))


def folders_are_walked():
    store, top = folder(), folder("tree")
    os.makedirs(top + "/a/b")
    os.makedirs(top + "/.git")
    for path, value in (("a/one.json", 0x101), ("a/b/two.pb", 0x102), ("three.json.gz", 0x103)):
        content = json.dumps(small_trace(value)).encode()
        if path.endswith(".pb"):
            content = otlp_proto.encode(small_trace(value))
        if path.endswith(".gz"):
            content = gzip.compress(content)
        with open(os.path.join(top, path), "wb") as file:
            file.write(content)
    report = import_files(store, top)
    equal("a folder is walked, each file by its content", (report["files"], report["traces"], report["spans"]), (3, 3, 6))
    other = import_files(store, top + "/a", write("four.json", small_trace(0x104)))
    equal("several paths, folders and files", (other["files"], other["spans"], other["duplicates"]), (3, 2, 4))


def importing_again_changes_nothing():
    store = folder()
    rng = random.Random(7)
    path = write("traces.json", otlp(*[p for n in range(20) for p in random_trace(rng, 0x2000 + 10 * n)]))
    first = import_files(store, path)
    traces = must(cli("traces", "--limit", 100, store=store)).out
    numbers = range(0x2000, 0x2000 + 200, 10)
    with Server(store) as server:
        details = [server.trace(n) for n in numbers]
    status = must(cli("status", store=store)).json["store"]
    second = import_files(store, path)
    equal("the first import has no duplicates", (first["spans"], first["duplicates"]), (160, 0))
    equal("the second has only duplicates", (second["spans"], second["duplicates"], second["traces"]), (0, 160, 20))
    equal("the search answer is the same, byte for byte", must(cli("traces", "--limit", 100, store=store)).out, traces)
    with Server(store) as server:
        check("every trace is the same, receipt times included", [server.trace(n) for n in numbers] == details)
    after = must(cli("status", store=store)).json["store"]
    equal("counts are of distinct events", [after[k] for k in ("spans", "events", "traces")],
          [status[k] for k in ("spans", "events", "traces")])
    twice = folder()
    report = import_files(twice, path, write("copy.json", open(path, "rb").read()))
    equal("the same file given twice at once: the copy is duplicates", (report["spans"], report["duplicates"]), (160, 160))
    with Server() as server:
        served = import_files(server.store, path, write("copy.json", open(path, "rb").read()))
        equal("the report of an import through a server is the same", served, report)


def a_file_larger_than_a_request_goes_through_a_server():
    """70 MB, more than --max-request-bytes, as JSON lines with a malformed one, and as one document."""
    long_text = "x" * 200_000
    values = [otlp(process("big", span(0x7000 + n // 2, n + 1, "x", BASE + n, BASE + n + 5, **{"text": f"{n}{long_text}"}))) for n in range(350)]
    lines = [json.dumps(value) for value in values]
    lines.insert(300, '{"resourceSpans": "open')
    whole = {"resourceSpans": [p for value in values for p in value["resourceSpans"]]}
    for name, content in (("lines.json", "\n".join(lines)), ("whole.json", json.dumps(whole))):
        path = write(name, content.encode())
        check(f"{name}: larger than a request may be", os.path.getsize(path) > 64 << 20)
        direct = import_files(folder(), path)
        with Server() as server:
            equal(f"{name}: the report through a server is the same", import_files(server.store, path), direct)
        equal(f"{name}: every span came in", direct["spans"], 350)
    equal("the malformed line was counted", import_files(folder(), write("lines.json", "\n".join(lines).encode()))["rejected"], 1)


def export_then_import_gives_the_same_traces():
    store = folder()
    rng = random.Random(11)
    ids = [0x3000 + 10 * n for n in range(30)]
    import_value(store, otlp(*[p for n in ids for p in random_trace(rng, n, spans=rng.randrange(1, 20))]))
    import_value(store, ZIPKIN)
    import_value(store, JAEGER)
    odd = otlp(process("odd", span(0x4000, 1, "no end", BASE), span(0x4000, 2, "end first", BASE + 10, BASE, parent=1),
                       span(0x4000, 3, "orphan", BASE, BASE + 5, parent=99, kind="consumer"),
                       span(0x4000, 4, "values", BASE, BASE + 5, parent=1, attrs={
                           "nan": float("inf"), "bytes": b"\x00\xff", "map": {"a": [1, "x"]}, "none": None, "empty": "",
                           "big": 2**63 - 1, "small": -2**63})))
    import_value(store, json.dumps(odd).replace("Infinity", '"Infinity"'))
    must(cli("import", write("h.json", HTRACE), store=store))
    all_ids = [t["trace_id"] for t in must(cli("traces", "--limit", 1000, store=store)).json["traces"]]
    equal("all traces are there before the export", len(all_ids), 34)
    with Server(store) as server:
        before = {t: without_receipt(server.trace(t)) for t in all_ids}

    def same_in(other, how):
        got = [t["trace_id"] for t in must(cli("traces", "--limit", 1000, store=other)).json["traces"]]
        equal(f"{how}: the same search result", got, all_ids)
        with Server(other) as server:
            after = {t: without_receipt(server.trace(t)) for t in got}
        differing = [t for t in all_ids if after.get(t) != before[t]]
        check(f"{how}: every trace is the same", not differing, lambda: f"{len(differing)} differ, the first in: " + str(
            [(k, before[differing[0]][k], after.get(differing[0], {}).get(k)) for k in before[differing[0]]
             if before[differing[0]][k] != after.get(differing[0], {}).get(k)]))

    out = folder("traces.json")
    ran = must(cli("export", "--out", out, store=store))
    check("export says what it wrote", ran.json["events"] == must(cli("status", store=store)).json["store"]["events"], ran)
    check("OTLP JSON: each line is an object with resourceSpans",
          all("resourceSpans" in json.loads(line) for line in open(out)), open(out).read()[:300])
    other = folder()
    import_files(other, out)
    same_in(other, "export → import as OTLP JSON")
    again = import_files(store, out)
    equal("importing an export into its own store adds nothing", again["spans"], 0)
    piped = cli("export", "--out", "-", store=store, text=True)
    equal("export to standard output is the same", piped.out, open(out, "rb").read())

    parquet = folder("traces.parquet")
    written = must(cli("export", "--out", parquet, store=store)).json
    data = open(parquet, "rb").read()
    check("Parquet: begins and ends with its magic", data[:4] == b"PAR1" == data[-4:] and len(data) > 1000, data[:20])
    equal("Parquet: as many events as OTLP JSON", written["events"], ran.json["events"])
    rows, columns = foreign_wire.parquet_facts(data)
    equal("Parquet: as many rows as events", rows, written["events"])
    check("Parquet: a column for trace id, name and times at least", all(any(w in c for c in columns) for w in ("trace", "name", "start", "end")), columns)
    third = folder()
    ran = cli("import", parquet, store=third)
    if ran.code == 0:
        same_in(third, "export → import as Parquet")
    else:
        check("a Parquet file that import does not read is refused by name, exit 2",
              ran.code == 2 and not ran.out and b"arquet" in ran.err, ran)

    with Server(store) as server:
        via = folder("via.json")
        must(cli("export", "--out", via, store=store))
        equal("export through a server writes the same lines", sorted(open(via)), sorted(open(out)))
        equal("GET /api/v1/export gives them too", sorted(server.get("/api/v1/export").body.decode().splitlines()),
              sorted(open(out).read().splitlines()))


def export_can_be_cut_by_time():
    store = folder()
    import_value(store, otlp(process("shop", *[span(0x500 + n, 1, "x", BASE + n * SECOND, BASE + n * SECOND + 1)
                                               for n in range(10)])))
    out = folder("some.json")
    ran = must(cli("export", "--out", out, "--since", BASE + 2 * SECOND, "--until", BASE + 5 * SECOND, store=store))
    equal("--since is included, --until is not", ran.json["events"], 3)
    for name, path, code in (("a folder that is not there", "/does/not/exist/x.json", 3), ("a full disk", "/dev/full", 3),
                             ("Parquet to a folder that is not there", "/does/not/exist/x.parquet", 3)):
        ran = cli("export", "--out", path, store=store)
        check(f"{name}: exit {code}, the path is named, stdout is empty", ran.code == code and not ran.out and path in ran.error["message"], ran)
    for name, flags in (("no --out", []), ("an unknown form", ["--to", "csv", "--out", out]), ("a bad time", ["--since", "x", "--out", out]),
                        ("Parquet to a pipe", ["--to", "parquet", "--out", "-"])):
        ran = cli("export", *flags, store=store)
        check(f"export with {name}: exit 2", ran.code == 2 and not ran.out, ran)


def files_of_other_verbs_are_refused_by_name():
    explain = "\n".join(json.dumps(e) for e in (
        {"id": "e1", "type": "INS", "node": "a", "tuple": "t(1)", "start_ns": 0, "end_ns": 5},
        {"id": "e2", "type": "DRV", "node": "a", "tuple": "u(1)", "start_ns": 5, "end_ns": 9, "causes": ["e1"]})) + "\n"
    query = "\n".join(json.dumps(e) for e in (
        {"id": "a", "tracepoint": "Client.send", "time_ns": 1, "host": "h"},
        {"id": "b", "tracepoint": "Server.receive", "time_ns": 2, "after": ["a"], "vars": {"n": 1}})) + "\n"
    for verb, content in (("explain --events", explain), ("query --events", query)):
        store = folder()
        path = write("events.jsonl", content)
        ran = cli("import", path, store=store)
        equal(f"a file for {verb}: exit 2", ran.code, 2)
        check(f"a file for {verb}: stdout is empty, stderr names file and verb",
              not ran.out and path.encode() in ran.err and verb.encode() in ran.err, ran)


def bad_files_are_refused_with_their_place():
    whole = json.dumps(small_trace(0x77))
    proto = otlp_proto.encode(small_trace(0x78))
    bad_hex = json.dumps(small_trace(0x79)).replace(trace_id(0x79), "xyz" + trace_id(0x79)[3:])
    cases = [
        ("an empty file", b"", None),
        ("white space only", b"  \n\n", None),
        ("a text", b"hello, this is no trace\n", None),
        ("an image", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, None),
        ("other JSON", b'{"hello": [1, 2, 3]}', None),
        ("truncated OTLP JSON", whole[:-40].encode(), b"byte|line|offset|column"),
        ("truncated protobuf", proto[:-11], b"byte|offset|field"),
        ("truncated gzip", gzip.compress(whole.encode())[:-20], None),
        ("truncated zstd", zstd(whole.encode())[:-10], None),
        ("truncated Zipkin", json.dumps(ZIPKIN)[:-9].encode(), b"byte|line|offset|column"),
        ("truncated Jaeger", json.dumps(JAEGER)[:-9].encode(), b"byte|line|offset|column"),
        ("truncated HTrace", HTRACE[:90].encode(), b"line|byte|offset"),
        ("random bytes", random.Random(5).randbytes(4000), None),
    ]
    for name, content, place in cases:
        store, path = folder(), write("input.bin", content)
        ran = cli("import", path, store=store)
        check(f"{name}: exit 2, nothing on stdout", ran.code == 2 and not ran.out, ran)
        check(f"{name}: stderr names the file", path.encode() in ran.err, ran)
        if place:
            check(f"{name}: stderr names the place", re.search(place, ran.err), ran)
        with_json = ran.err.strip().splitlines()[-1:] if ran.err else []
        check(f"{name}: the error is JSON with code, message and hint", with_json and
              set(json.loads(with_json[0])["error"]) == {"code", "message", "hint"}, ran)
        status = must(cli("status", store=store)).json["store"]
        equal(f"{name}: nothing of it is kept", status["spans"], 0)
    store = folder()
    missing = cli("import", "/does/not/exist.json", store=store)
    check("a missing file: refused with its name", missing.code in (2, 3) and b"/does/not/exist.json" in missing.err
          and not missing.out, missing)
    equal("no path at all: exit 2", cli("import", store=store).code, 2)
    ran = cli("import", write("bad_hex.json", bad_hex), store=store)
    check("ids that are not hex are rejected: counted, or exit 2", ran.code == 2 and not ran.out or
          ran.code == 0 and (ran.json["rejected"], ran.json["spans"]) == (2, 0), ran)
    check("and their place is told", re.search(rb"byte|line|offset|column|xyz", ran.err + ran.out), ran)
    # Of JSON lines the good ones may count, but not silently.
    for name, content in (("OTLP lines, the second broken", whole + "\n" + whole[:100] + "\n"), ("HTrace, the last line cut", HTRACE[:-9])):
        ran = cli("import", write("lines.json", content), store=folder())
        check(f"{name}: exit 2, or the good line kept and the bad one counted as rejected", ran.code == 2 and not ran.out or
              ran.code == 0 and ran.json["rejected"] == 1 and ran.json["spans"] >= 1, ran)
        check(f"{name}: the place is told", re.search(rb"line 2|byte \d+", ran.err + ran.out), ran)


def a_good_file_with_bad_spans_counts_them():
    store = folder()
    report = import_value(store, otlp(process(
        "shop", span(0x801, 1, "good", BASE, BASE + 5), span(0, 2, "zero trace id", BASE, BASE + 5),
        span(0x801, 0, "zero span id", BASE, BASE + 5), span(0x801, 3, "no end", BASE, parent=1),
        span(0x801, 4, "end first", BASE + 3, BASE + 1, parent=1))))
    equal("zero ids are rejected, the rest is kept", (report["spans"], report["rejected"]), (3, 2))
    equal("repairs are counted by name",
          {k: report["repairs"].get(k) for k in ("missing_end", "end_before_start")},
          {"missing_end": 1, "end_before_start": 1})


def people_read_the_report_too():
    quiet = must(cli("import", write("x.json", small_trace(0x98)), store=folder()))
    equal("with --format json nothing but the report is printed, no progress", quiet.err, b"")
    ran = cli("import", write("x.json", small_trace(0x99)), store=folder(), text=True)
    check("without --format json the report is text", ran.code == 0 and b"2 spans" in ran.out, ran)


run(every_format_is_found_by_content, the_same_bytes_by_every_format_are_the_same_trace, folders_are_walked,
    importing_again_changes_nothing, a_file_larger_than_a_request_goes_through_a_server, export_then_import_gives_the_same_traces, export_can_be_cut_by_time,
    files_of_other_verbs_are_refused_by_name, bad_files_are_refused_with_their_place,
    a_good_file_with_bad_spans_counts_them, people_read_the_report_too)
