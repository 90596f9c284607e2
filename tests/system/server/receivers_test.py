#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""Receivers: every protocol and compression, partial success, what hostile senders get, rules on attributes."""
import gzip
import json
import random
import re
import socket
import struct
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *
from otlp_proto import field_bytes, field_fixed64, field_varint, partial_success, varint
import foreign_wire

BASE = 1_700_000_000 * SECOND
JSON_TYPE = {"Content-Type": "application/json"}
server = None


def setup():
    global server
    server = Server(folder(), "--max-request-bytes", "4MB")


def counters():
    return server.get("/api/v1/status").json["counters"]


def spans_of(number):
    answer = server.get(f"/api/v1/trace/{number:x}")
    return len(answer.json["blocks"]) if answer.status == 200 else 0


def simple(number, name="x"):
    return otlp(process("a", span(number, 1, name, BASE, BASE + 5), span(number, 2, "y", BASE, BASE + 2, parent=1)))


def protocols_and_compressions():
    number = 0x1000
    for form in ("protobuf", "json"):
        for coding, pack in ((None, bytes), ("gzip", gzip.compress), ("zstd", zstd), ("identity", bytes)):
            number += 1
            value = simple(number)
            body = pack(otlp_proto.encode(value) if form == "protobuf" else json.dumps(value).encode())
            headers = {"Content-Type": "application/x-protobuf" if form == "protobuf" else "application/json"}
            if coding:
                headers["Content-Encoding"] = coding
            answer = server.request("otlp_http", "POST", "/v1/traces", body, headers)
            name = f"OTLP/HTTP {form}, {coding or 'plain'}"
            check(f"{name}: 200, nothing rejected", answer.status == 200 and (
                answer.body == b"" if form == "protobuf" else answer.json == {}), answer)
            check(f"{name}: answered in the same form", answer.headers["Content-Type"].startswith(headers["Content-Type"]), answer)
            equal(f"{name}: both spans are there at once", spans_of(number), 2)
    charset = server.request("otlp_http", "POST", "/v1/traces", json.dumps(simple(0x1100)), {"Content-Type": "application/json; charset=utf-8"})
    equal("a charset in the content type is fine", charset.status, 200)
    unknown = server.send_proto(b"", {"Content-Encoding": "br"})
    check("an unknown Content-Encoding is refused, not guessed", unknown.status in (400, 415), unknown)

    answer = server.request("zipkin", "POST", "/api/v2/spans", json.dumps([zipkin_span(0x1200, 1, "z", 1000, 5, service="web")]), JSON_TYPE)
    equal("Zipkin: 202", answer.status, 202)
    packed = gzip.compress(json.dumps([zipkin_span(0x1201, 1, "z", 1000, 5)]).encode())
    answer = server.request("zipkin", "POST", "/api/v2/spans", packed, {**JSON_TYPE, "Content-Encoding": "gzip"})
    equal("Zipkin gzip: 202, stored", (answer.status, spans_of(0x1200), spans_of(0x1201)), (202, 1, 1))

    thrift = foreign_wire.jaeger_batch("cart", [dict(trace=0x1300, span=1, name="root", start=1000, duration=50, tags={"k": "v", "n": 5, "ok": True}),
                                              dict(trace=0x1300, span=2, parent=1, name="child", start=1010, duration=5)])
    answer = server.request("jaeger", "POST", "/api/traces?format=jaeger.thrift", thrift, {"Content-Type": "application/x-thrift"})
    check("Jaeger Thrift: accepted", answer.status in (200, 202), answer)
    trace = server.get("/api/v1/trace/1300").json
    equal("Jaeger Thrift: µs, parent, typed tags", [(b["name"], b["parent_id"], b["start_ns"], b["end_ns"]) for b in trace["blocks"]] +
          [trace["blocks"][0]["attributes"]], [("root", None, 1_000_000, 1_050_000), ("child", span_id(1), 1_010_000, 1_015_000),
                                               {"k": "v", "n": 5, "ok": True}])

    frames = foreign_wire.grpc_call(server.address("otlp_grpc"), "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                                  otlp_proto.encode(simple(0x1400)))
    check("OTLP/gRPC: the call ends", frames.ended, frames)
    equal("OTLP/gRPC: both spans are there", spans_of(0x1400), 2)


def what_comes_twice_is_kept_once():
    before = server.get("/api/v1/status").json["store"]["spans"]
    body = otlp_proto.encode(simple(0x1500))
    for _ in range(3):
        server.send_proto(body)
    server.send_otlp(simple(0x1500))
    equal("a batch sent four times is one: blocks, search, status", (
        spans_of(0x1500), [t["spans"] for t in server.get("/api/v1/traces?limit=100").json["traces"] if t["trace_id"] == trace_id(0x1500)],
        server.get("/api/v1/status").json["store"]["spans"] - before), (2, [2], 2))


def partial_success_tells_counts_and_reason():
    mixed = otlp(process("a", span(0x2001, 1, "good", BASE, BASE + 1), span(0, 2, "bad", BASE, BASE + 1), span(0x2001, 0, "bad", BASE, BASE + 1)))
    answer = server.send_proto(otlp_proto.encode(mixed))
    rejected, reason = partial_success(answer.body)
    check("protobuf: 200 with two rejected and a reason", answer.status == 200 and rejected == 2 and len(reason) > 5, answer)
    mixed = json.loads(json.dumps(mixed).replace(trace_id(0x2001), trace_id(0x2002)))
    answer = server.send_otlp(mixed)
    partial = answer.json["partialSuccess"]
    check("JSON: rejectedSpans and errorMessage", int(partial["rejectedSpans"]) == 2 and len(partial["errorMessage"]) > 5, answer)
    equal("the good span is stored", (spans_of(0x2001), spans_of(0x2002)), (1, 1))
    counted = counters()
    check("the rejected are counted by name", any("reject" in k and v >= 4 for k, v in counted.items()), counted)


def logs_and_metrics_are_refused_politely():
    before = counters()
    logs = field_bytes(1, field_bytes(2, field_bytes(2, field_bytes(5, field_bytes(1, "hello"))) * 3))
    point = field_bytes(1, field_fixed64(3, 5) + field_varint(6, 1))
    metrics = field_bytes(1, field_bytes(2, field_bytes(2, field_bytes(1, "m") + field_bytes(5, point * 2))))
    for path, body, n in (("/v1/logs", logs, 3), ("/v1/metrics", metrics, 2)):
        answer = server.send_proto(body, path=path)
        rejected, reason = partial_success(answer.body)
        check(f"{path} protobuf: 200, all {n} rejected, reason given", answer.status == 200 and rejected == n and reason, answer)
    logs_json = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "a"}}, {}]}]}]}
    metrics_json = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", "gauge": {"dataPoints": [{"asInt": "1"}, {"asInt": "2"}, {}]}}]}]}]}
    for path, body, key, n in (("/v1/logs", logs_json, "rejectedLogRecords", 2), ("/v1/metrics", metrics_json, "rejectedDataPoints", 3)):
        answer = server.request("otlp_http", "POST", path, json.dumps(body), JSON_TYPE)
        partial = answer.json.get("partialSuccess", {})
        check(f"{path} JSON: 200, all {n} rejected, reason given", answer.status == 200 and int(partial.get(key, 0)) == n and partial["errorMessage"], answer)
    for service in ("logs.v1.LogsService", "metrics.v1.MetricsService"):
        frames = foreign_wire.grpc_call(server.address("otlp_grpc"), f"/opentelemetry.proto.collector.{service}/Export", logs if "logs" in service else metrics)
        rejected, reason = partial_success(frames.message or b"")
        check(f"gRPC {service}: accepted with partial success", frames.ended and rejected > 0 and reason, frames)
    after = counters()
    grown = {k: after[k] - before.get(k, 0) for k in after if after[k] != before.get(k, 0)}
    check("they are counted", sum(v for k, v in grown.items() if "logs" in k) >= 8 and sum(v for k, v in grown.items() if "metrics" in k) >= 7, grown)
    lines = [l for l in server.log().splitlines() if re.search(r"\blogs\b", l)]
    check("logged once per sender", len(lines) == 1, lines)


def deep_value(levels):
    value = field_bytes(1, "end")
    for _ in range(levels):
        value = field_bytes(5, field_bytes(1, value))
    return value


def raw_span(trace, number, extra=b"", name=b"n", start=BASE, end=BASE + 5):
    return field_bytes(1, field_bytes(2, field_bytes(2, field_bytes(1, trace if isinstance(trace, bytes) else bytes.fromhex(trace_id(trace))) +
                       field_bytes(2, number if isinstance(number, bytes) else bytes.fromhex(span_id(number))) + field_bytes(5, name) +
                       field_fixed64(7, start) + field_fixed64(8, end) + extra)))


def hostile_protobuf():
    good = otlp_proto.encode(simple(0x3000))
    cases = [
        ("a length of 2^62", varint(0x0A) + varint(1 << 62) + b"x"), ("a length of 2^32", varint(0x0A) + varint(1 << 32) + b"x"),
        ("a length beyond the end inside", field_bytes(1, varint(0x12) + varint(1 << 31))), ("a varint of 11 bytes", b"\x08" + b"\xff" * 10 + b"\x01"),
        ("a length of 2^62 at the end", varint(0x0A) + varint(1 << 62)), ("a length of 2^32 + 2", varint(0x0A) + varint((1 << 32) + 2) + b"\x0a\x00"),
        ("field number 0", b"\x00\x01"), ("wire type 7", b"\x0f"), ("an open group", b"\x0b"), ("truncated", good[:-3]), ("one byte", b"\x0a"),
    ]
    for name, body in cases:
        answer = server.send_proto(body)
        check(f"protobuf: {name}: 400 that says why", answer.status == 400 and len(answer.body) > 4, answer)
    cuts = random.Random(1).sample(range(1, len(good)), 40)
    statuses = {server.send_proto(good[:n]).status for n in cuts}
    check("protobuf: cut anywhere: 400 or 200, never more", statuses <= {200, 400} and 400 in statuses, statuses)
    rng = random.Random(2)
    statuses = set()
    for _ in range(150):
        data = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        statuses.add(server.send_proto(bytes(data)).status)
    for _ in range(50):
        statuses.add(server.send_proto(rng.randbytes(rng.randrange(1, 400))).status)
    check("protobuf: 200 mangled requests: 200 or 400", statuses <= {200, 400}, statuses)

    def repaired(before, what):
        after = counters()
        return sum(after[k] - before.get(k, 0) for k in after if what in k)

    before = counters()
    answer = server.send_proto(raw_span(0x3100, 1, name=b"bad \xff\xfe\xc0\xaf utf-8"))
    check("bad UTF-8: accepted", answer.status == 200, answer)
    check("bad UTF-8: a counted repair", repaired(before, "utf8") >= 1, counters())
    body = server.get("/api/v1/trace/3100").body
    check("bad UTF-8: the answer is valid UTF-8", b"utf-8" in body and body.decode("utf-8"), body[:200])
    for name, trace, number in (("zero trace id", bytes(16), bytes.fromhex(span_id(1))), ("zero span id", bytes.fromhex(trace_id(9)), bytes(8)),
                                ("short trace id", b"abc", bytes.fromhex(span_id(1))), ("long span id", bytes.fromhex(trace_id(9)), b"123456789"),
                                ("no ids", b"", b"")):
        answer = server.send_proto(raw_span(trace, number))
        rejected, reason = partial_success(answer.body) if answer.status == 200 else (1, "refused")
        check(f"{name}: rejected with a reason", answer.status in (200, 400) and rejected == 1 and reason, answer)
    answer = server.send_proto(raw_span(0x3200, 1, start=BASE + 9, end=BASE))
    trace = server.get("/api/v1/trace/3200").json
    check("end before start: accepted, repaired, recorded", answer.status == 200 and trace["blocks"][0]["end_ns"] == BASE + 9 and
          repairs(trace, "end_before_start"), trace)
    answer = server.send_proto(raw_span(0x3300, 1, start=2**64 - 1, end=2**63))
    check("times beyond 2^63: an error, a rejection or a time", answer.status in (200, 400), answer)
    if answer.status == 200 and not answer.body:
        equal("times beyond 2^63: the trace still answers", server.get("/api/v1/trace/3300").status, 200)
    many = b"".join(field_bytes(9, field_bytes(1, f"key.{n}") + field_bytes(2, field_bytes(1, f"value {n}"))) for n in range(10_000))
    before = counters()
    answer = server.send_proto(raw_span(0x3400, 1, many))
    kept = len(server.get("/api/v1/trace/3400").json["blocks"][0]["attributes"]) if answer.status == 200 and not answer.body else None
    check("10,000 attributes: all kept, or counted, or a clear error", kept == 10_000 or answer.status == 400 or
          (kept is not None and repaired(before, "attribute") >= 10_000 - kept) or partial_success(answer.body)[1], (answer, kept))
    for levels in (20, 40, 200, 5000):
        before = counters()
        answer = server.send_proto(raw_span(0x3500 + levels, 1, field_bytes(9, field_bytes(1, "deep") + field_bytes(2, deep_value(levels)))))
        check(f"values {levels} deep: kept, counted or a clear error", answer.status == 400 or (answer.status == 200 and (
            levels <= 32 or repaired(before, "deep") >= 1)), answer)
    check("the server is up after all this", server.alive())


def hostile_json():
    cases = [
        ("nothing", b""), ("no JSON", b"hello"), ("a number", b"7"), ("truncated", json.dumps(simple(0x4000)).encode()[:-5]),
        ("bad UTF-8 outside a text", b'{"resourceSpans": \xff\xfe}'), ("100,000 brackets", b"[" * 100_000), ("100,000 objects", b'{"a":' * 100_000),
        ("a deep attribute", json.dumps(simple(0x4001)).encode().replace(b'"name": "x"', b'"name": "x", "attributes": [{"key":"k","value":' +
         b'{"arrayValue":{"values":[' * 3000 + b"]}}" * 3000 + b"}]")), ("resourceSpans is a text", b'{"resourceSpans": "x"}'),
        ("a span is a number", b'{"resourceSpans":[{"scopeSpans":[{"spans":[5]}]}]}'), ("times that are no numbers",
         json.dumps(simple(0x4002)).replace(str(BASE), "noon").encode()),
    ]
    def repaired(before, protocol):
        """A repair was counted: the values that could not be read are known by number."""
        after = counters()
        return sum(after[k] - before.get(k, 0) for k in after if k.startswith(protocol + "_repaired")) > 0

    for name, body in cases:
        before = counters()
        answer = server.request("otlp_http", "POST", "/v1/traces", body, JSON_TYPE)
        fine = answer.status == 400 and b"message" in answer.body or answer.status == 200 and (
            "partialSuccess" in answer.json or repaired(before, "otlp_http"))
        check(f"OTLP JSON: {name}: a clear error, a counted rejection or a counted repair", fine, answer)
    invalid = json.dumps(simple(0x4010, "NAME")).encode().replace(b"NAME", b"\xff\xfe\xed\xa0\x80")
    answer = server.request("otlp_http", "POST", "/v1/traces", invalid, JSON_TYPE)
    check("OTLP JSON: bad UTF-8 in a text: error or counted repair", answer.status in (200, 400), answer)
    lone = json.dumps(simple(0x4011, "NAME")).replace("NAME", "\\ud800").encode()
    answer = server.request("otlp_http", "POST", "/v1/traces", lone, JSON_TYPE)
    check("OTLP JSON: half a surrogate: error or counted repair", answer.status in (200, 400), answer)
    for name, body in (("nothing", b""), ("an object", b"{}"), ("truncated", b'[{"traceId":"1"'), ("a text for a time", b'[{"traceId":"1","id":"1","timestamp":"x"}]'),
                       ("deep", b"[" * 50_000), ("random", random.Random(4).randbytes(500)), ("zero ids", b'[{"traceId":"0","id":"0"}]'),
                       ("no ids", b'[{}]'), ("long ids", b'[{"traceId":"' + b"1" * 40 + b'","id":"1"}]')):
        before = counters()
        answer = server.request("zipkin", "POST", "/api/v2/spans", body, JSON_TYPE)
        check(f"Zipkin: {name}: 400, 202 that tells of the rejected, or a counted repair", answer.body and answer.status in (400, 202) or
              answer.status == 202 and repaired(before, "zipkin"), answer)
    good = foreign_wire.jaeger_batch("a", [dict(trace=0x4020, span=1, name="x", start=1, duration=1)])
    thrift_cases = [("nothing", b""), ("truncated", good[:-4]), ("random", random.Random(6).randbytes(500)),
                    ("a list of 2^31 spans", b"\x0f\x00\x02\x0c\x7f\xff\xff\xff"), ("a text of 2^31 bytes", b"\x0c\x00\x01\x0b\x00\x01\x7f\xff\xff\xff"),
                    ("a negative length", b"\x0c\x00\x01\x0b\x00\x01\xff\xff\xff\xff"), ("structs 50,000 deep", b"\x0c\x00\x01" * 50_000)]
    for name, body in thrift_cases:
        answer = server.request("jaeger", "POST", "/api/traces", body, {"Content-Type": "application/x-thrift"})
        check(f"Jaeger Thrift: {name}: 400 that says why", answer.status == 400 and answer.body, answer)
    rng, statuses = random.Random(8), set()
    for _ in range(100):
        data = bytearray(good)
        data[rng.randrange(len(data))] = rng.randrange(256)
        statuses.add(server.request("jaeger", "POST", "/api/traces", bytes(data), {"Content-Type": "application/x-thrift"}).status)
    check("Jaeger Thrift: 100 mangled batches", statuses <= {200, 202, 400}, statuses)
    check("the server is up after all this", server.alive())


def hostile_transport():
    for name, body, coding in (("gzip that is none", b"not gzip", "gzip"), ("truncated gzip", gzip.compress(b"x" * 1000)[:-9], "gzip"),
                               ("zstd that is none", b"not zstd", "zstd"), ("truncated zstd", zstd(bytes(range(256)) * 9)[:-9], "zstd")):
        answer = server.send_proto(body, {"Content-Encoding": coding})
        check(f"{name}: 400", answer.status == 400 and answer.body, answer)
    for coding, pack in (("gzip", gzip.compress), ("zstd", zstd)):
        answer = server.send_proto(pack(bytes(200_000_000)), {"Content-Encoding": coding})
        equal(f"200 MB of zeros in a small {coding} body: 413", answer.status, 413)
    for listener, path in (("otlp_http", "/v1/traces"), ("zipkin", "/api/v2/spans"), ("jaeger", "/api/traces"), ("http", "/api/v1/import")):
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {1 << 50}\r\n\r\n".encode()
        answer = raw_exchange(server.address(listener), head + b"x" * 1000)
        check(f"{listener}: a Content-Length of 2^50: 413", b" 413 " in answer.split(b"\r\n")[0], answer[:200])
        for name, text in (("random bytes", random.Random(9).randbytes(3000)), ("a header without end", b"GET / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 200_000),
                           ("a negative length", f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n".encode()),
                           ("two lengths", f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello".encode()),
                           ("bad chunks", f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\nhello\r\n".encode())):
            answer = raw_exchange(server.address(listener), text, half_close=True)
            first = answer.split(b"\r\n")[0]
            check(f"{listener}: {name}: 4xx or closed", first == b"" or re.match(rb"HTTP/1\.1 (4\d\d|501) ", first), answer[:200])
    big = json.dumps(simple(0x5000)).encode() + b" " * 5_000_000
    answer = server.request("otlp_http", "POST", "/v1/traces", big, JSON_TYPE)
    equal("a body above --max-request-bytes: 413", answer.status, 413)

    for name, data in (("random bytes", random.Random(10).randbytes(5000)), ("HTTP/1.1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                       ("a preface, then garbage", foreign_wire.H2_PREFACE + random.Random(11).randbytes(5000)),
                       ("a frame of 16 MB", foreign_wire.H2_PREFACE + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01")):
        raw_exchange(server.address("otlp_grpc"), data, seconds=1, half_close=True)
        check(f"gRPC: {name}: the server stays up", server.alive())
    before = counters()
    method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    for name, message in (("truncated message", otlp_proto.encode(simple(0x5100))[:-3]), ("a length of 2^31", varint(0x0A) + varint(1 << 31))):
        frames = foreign_wire.grpc_call(server.address("otlp_grpc"), method, message)
        check(f"gRPC: {name}: an answer without message", frames.ended and not frames.message, frames)
    check("gRPC: malformed ones are counted", counters().get("otlp_grpc_requests_malformed", 0) - before.get("otlp_grpc_requests_malformed", 0) == 2, counters())
    frames = foreign_wire.grpc_call(server.address("otlp_grpc"), method, b"\x00" * 6_000_000)
    check("gRPC: a message above the limit is refused", not frames.message, frames)

    slow = []
    for listener, path in (("otlp_http", "/v1/traces"), ("zipkin", "/api/v2/spans"), ("jaeger", "/api/traces"), ("http", "/")):
        for _ in range(30):
            sock = socket.create_connection(server.address(listener))
            sock.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-".encode())
            slow.append(sock)
    for _ in range(30):
        sock = socket.create_connection(server.address("otlp_grpc"))
        sock.sendall(foreign_wire.H2_PREFACE[:10])
        slow.append(sock)
    began = time.monotonic()
    answers = [server.send_otlp(simple(0x5200 + n)).status for n in range(5)]
    check("150 senders that never finish: others are served within a second each", answers == [200] * 5 and time.monotonic() - began < 5,
          (answers, time.monotonic() - began))
    for sock in slow:
        sock.close()
    check("the server is up after all this", server.alive())


def attributes_can_be_dropped_or_hashed():
    store = folder()
    secrets = [f"SECRET{n}-3f9c1b7e5d2a" for n in range(8)]
    marker = "VISIBLE-77aa11bb22cc"
    with Server(store, "--attribute-rule", "drop secret.*", "--attribute-rule", "hash span session.id", "--attribute-rule", "drop process host.ip") as guarded:
        hide = {"secret.a": secrets[0], "keep": marker, "session.id": secrets[1]}
        value = otlp(process("a", span(1, 1, "x", BASE, BASE + 5, attrs=hide, events=[(BASE, "e", {"secret.e": secrets[2], "keep": 1})],
                                       links=[(9, 9, {"secret.l": secrets[3], "keep": 2})]),
                             span(2, 1, "x", BASE, BASE + 5, attrs={"session.id": secrets[1]}), host__ip=secrets[4], secret__p=secrets[5]))
        equal("OTLP JSON is taken", guarded.send_otlp(value).status, 200)
        equal("OTLP protobuf is taken", guarded.send_proto(otlp_proto.encode(json.loads(json.dumps(value).replace(trace_id(1), trace_id(3))))).status, 200)
        guarded.request("zipkin", "POST", "/api/v2/spans", json.dumps([zipkin_span(4, 1, "z", 5, 5, tags={"secret.z": secrets[6], "keep": "1"})]), JSON_TYPE)
        guarded.request("jaeger", "POST", "/api/traces", foreign_wire.jaeger_batch("a", [dict(trace=5, span=1, name="j", start=1, duration=1,
                        tags={"secret.j": secrets[7], "keep": "1"})]), {"Content-Type": "application/x-thrift"})
        bodies = [guarded.get(f"/api/v1/trace/{n}") for n in (1, 3, 4, 5)]
        check("all are stored", all(b.status == 200 for b in bodies), bodies)
        check("no answer has a secret, every one the rest", not [s for s in secrets for b in bodies if s.encode() in b.body] and
              all(b"keep" in b.body for b in bodies), [(s, b.body[:60]) for s in secrets for b in bodies if s.encode() in b.body])
        one, two, three = (guarded.get(f"/api/v1/trace/{n}").json["blocks"][0]["attributes"].get("session.id") for n in (1, 2, 3))
        check("a hashed value is 16 hex digits, the same for the same value", one == two == three and re.fullmatch(r"[0-9a-f]{16}", one or ""), (one, two, three))
        equal("before the log is cut: no secret in any file", [s for s in secrets if files_containing(store, s.encode())], [])
        check("(a kept value does stand in a file, so that this means something)", files_containing(store, marker.encode()), os.listdir(store))
        equal("the store is flushed", guarded.flush().status, 200)
        equal("after it: no secret in any file", [s for s in secrets if files_containing(store, s.encode())], [])
        check("what was dropped and hashed is counted", any("attribute" in k and v > 0 for k, v in guarded.get("/api/v1/status").json["counters"].items()),
              guarded.get("/api/v1/status").json["counters"])
        own = "SECRET9-3f9c1b7e5d2a"
        uploaded = import_value(store, otlp(process("a", span(6, 1, "x", BASE, BASE + 5, attrs={"secret.u": own, "session.id": own, "keep": "1"}))))
        equal("an upload is taken", uploaded["spans"], 1)
        check("an upload obeys the rules: not in the answer, not in any file", own.encode() not in guarded.get("/api/v1/trace/6").body and
              not files_containing(store, own.encode()), files_containing(store, own.encode()))
        guarded.stop()
    equal("after the end: no secret in any file", [s for s in secrets if files_containing(store, s.encode())], [])
    for rule in ("forget user.*", "drop", "drop nowhere key", ""):
        ran = cli("serve", "--check", "--attribute-rule", rule, store=store)
        check(f"a rule \"{rule}\" is refused", ran.code == 2 and not ran.out, ran)


def teardown():
    equal("the server stops cleanly after everything", server.stop(), 0)


run(setup, protocols_and_compressions, what_comes_twice_is_kept_once, partial_success_tells_counts_and_reason, logs_and_metrics_are_refused_politely, hostile_protobuf,
    hostile_json, hostile_transport, attributes_can_be_dropped_or_hashed, teardown)
