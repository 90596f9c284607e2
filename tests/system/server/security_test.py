#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 180
"""The attempts of docs/use/security.md, made against a running server: strangers, tenants that reach for each other's data,
tokens that should not work any more, requests that lie about their size or never end, frames that are wrong on every
port, TLS that is too old or without a certificate. After each the server still answers others."""
import base64
import gzip
import hashlib
import json
import os
import re
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *
import foreign_wire
import otlp_proto

BASE = 1_700_000_000 * SECOND
SECRETS = {"shop": "tok-shop-5f2a9c", "ops": "tok-ops-77b1de", "boss": "tok-boss-c0ffee", "old": "tok-old-404404",
           "reader": "tok-reader-1234"}
PASSWORD = "correct horse battery"


def bearer(name, tenant=None):
    headers = {"Authorization": "Bearer " + SECRETS[name]}
    if tenant:
        headers["X-Scope-OrgID"] = tenant
    return headers


def account(name, tenants, roles, more=""):
    digest = hashlib.sha256(SECRETS[name].encode()).hexdigest()
    return f"  - name: {name}\n    token: sha256:{digest}\n    tenants: {tenants}\n    roles: {roles}\n{more}"


def accounts_text(*without):
    made = {"shop": account("shop", "[shop]", "[read, write]"), "ops": account("ops", "[ops]", "[read, write]"),
            "boss": account("boss", '["*"]', "[administer]"), "reader": account("reader", "[shop]", "[read]"),
            "old": account("old", "[shop]", "[read, write]", "    expires: 2020-01-01\n")}
    text = "accounts:\n" + "".join(entry for name, entry in made.items() if name not in without)
    return text + ada + "tenants:\n  ops:\n    spans-per-second: 50\n    request-bytes: 100kB\n"


def spans(tenant, count=2, first=1):
    return otlp(process(f"service-of-{tenant}", *[
        span(trace_of(tenant), first + i, f"work-of-{tenant}", BASE, BASE + 5 * MILLI, attrs={"secret.of": tenant})
        for i in range(count)]))


def trace_of(tenant):
    return {"shop": 0xA1, "ops": 0xB2}[tenant]


# --- One server with accounts for most of it


def setup():
    global server, ada, accounts_path
    password_file = write("password", PASSWORD + "\n")
    made = must(cli("accounts", "new", "ada", "--tenants", "shop", "--roles", "read,write", "--password-file", password_file))
    ada = made.json["entry"]
    check("accounts new: the hash of a password, not the password", "scrypt:" in ada and PASSWORD not in made.out.decode(), made)
    accounts_path = write("accounts.yaml", accounts_text())
    os.chmod(accounts_path, 0o600)
    server = Server(None, "--accounts", accounts_path)
    for tenant in ("shop", "ops"):
        answer = server.send_otlp(spans(tenant), bearer(tenant))
        equal(f"{tenant} sends its spans", answer.status, 200)
        check(f"{tenant} sees its trace", wait_for(lambda: server.get(f"/api/v1/trace/{trace_id(trace_of(tenant))}", bearer(tenant)).status == 200))


def a_token_is_made_and_works():
    made = must(cli("accounts", "new", "fresh", "--tenants", "shop,ops", "--roles", "read")).json
    token, entry = made["token"], made["entry"]
    check("the entry has the token's hash, not the token", hashlib.sha256(token.encode()).hexdigest() in entry and token not in entry, made)
    with open(accounts_path, "a") as file:
        file.write("")  # the file is as it was; the entry goes into another one
    other = write("accounts.yaml", "accounts:\n" + entry)
    checked = cli("accounts", "check", other)
    equal("accounts check reads what accounts new wrote", (checked.code, checked.json["accounts"]), (0, 1))
    bad = cli("accounts", "check", write("accounts.yaml", "accounts:\n  - name: x\n    token: plain-text\n"))
    check("a plain token in the file is refused with its line", bad.code == 2 and "line 3" in bad.error["message"] and "plain-text" not in bad.error["message"], bad)


def strangers():
    for path in ("/api/v1/traces", "/api/v1/status", "/metrics", "/api/v1/routes", "/api/traces?service=x", "/api/v1/none", "/api/v1/control"):
        answer = server.get(path)
        check(f"{path} without credentials: 401 and how", answer.status == 401 and answer.headers.get("WWW-Authenticate", "").startswith("Bearer"), answer)
    for path in ("/", "/search", "/healthz", "/readyz"):
        check(f"{path} is for everybody", server.get(path).status in (200, 404), server.get(path))
    body = json.dumps(spans("shop"))
    kind = {"Content-Type": "application/json"}
    equal("OTLP/HTTP without credentials", server.request("otlp_http", "POST", "/v1/traces", body, kind).status, 401)
    equal("Zipkin without credentials", server.request("zipkin", "POST", "/api/v2/spans", "[]", kind).status, 401)
    equal("Jaeger without credentials", server.request("jaeger", "POST", "/api/traces", b"", {"Content-Type": "application/x-thrift"}).status, 401)
    equal("events without credentials", server.request("http", "POST", "/api/v1/events", "{}", kind).status, 401)
    equal("OTLP/gRPC without credentials: UNAUTHENTICATED", grpc_status(), "16")
    equal("OTLP/gRPC with a wrong token", grpc_status({"authorization": "Bearer nonsense"}), "16")
    equal("OTLP/gRPC for another's tenant: PERMISSION_DENIED", grpc_status({"authorization": "Bearer " + SECRETS["shop"], "x-scope-orgid": "ops"}), "7")
    equal("OTLP/gRPC with its token", grpc_status({"authorization": "Bearer " + SECRETS["shop"]}), "0")
    equal("logs are nobody's without credentials either", server.request("otlp_http", "POST", "/v1/logs", "{}", kind).status, 401)


def rights():
    reader = bearer("reader")
    equal("a reader may read", server.get("/api/v1/traces", reader).status, 200)
    equal("a reader may not send", server.send_otlp(spans("shop"), reader).status, 403)
    who = server.get("/api/v1/whoami", reader).json
    equal("whoami", (who["name"], who["tenant"], who["rights"]), ("reader", "shop", ["read"]))
    routes = server.get("/api/v1/routes", bearer("boss")).json
    for route in [r for r in routes if r["right"] == "administer"]:
        path = re.sub(r"\{.*?\}", "x", route["path"])
        for name in ("shop", "reader"):
            answer = server.request("http", route["method"], path, b"{}", bearer(name))
            equal(f"{route['method']} {path} by {name}", answer.status, 403)
        answer = server.request("http", route["method"], path, b"{}", bearer("boss", "shop"))
        check(f"{route['method']} {path} by the administrator", answer.status not in (401, 403), answer)
    basic = {"Authorization": "Basic " + base64.b64encode(f"ada:{PASSWORD}".encode()).decode()}
    equal("a name and a password", server.get("/api/v1/traces", basic).status, 200)
    wrong = {"Authorization": "Basic " + base64.b64encode(b"ada:wrong").decode()}
    statuses = [server.get("/api/v1/traces", wrong).status for _ in range(15)]
    check("guessing: unknown, then slowed down", statuses[0] == 401 and 429 in statuses and set(statuses) <= {401, 429}, statuses)
    equal("and who has signed in before still gets in", server.get("/api/v1/traces", basic).status, 200)


def tenants_do_not_cross():
    """Every GET route, asked by one tenant about the other's names and ids, in every way to name a tenant."""
    needles = {"shop": [b"service-of-ops", b"work-of-ops", b"secret.of\":\"ops", trace_id(0xB2).encode()],
               "ops": [b"service-of-shop", b"work-of-shop", b"secret.of\":\"shop", trace_id(0xA1).encode()]}
    routes = server.get("/api/v1/routes", bearer("boss")).json
    asked = 0
    for tenant, other in (("shop", "ops"), ("ops", "shop")):
        for route in [r for r in routes if r["method"] == "GET" and not r["path"].endswith("/stream") and r["path"] != "/api/v1/control"]:
            arguments = [""] if "{" not in route["path"] else [trace_id(trace_of(other)), f"service-of-{other}", "spans"]
            for argument in arguments:
                path = re.sub(r"\{.*?\}", argument, route["path"])
                for query in (f"?service=service-of-{other}&tenant={other}&limit=50", ""):
                    answer = server.get(path + query, bearer(tenant))
                    asked += 1
                    # An error may repeat what was asked.
                    leaks = [n for n in needles[tenant] if n in answer.body and answer.status == 200 and n.decode() not in path + query]
                    if leaks or answer.status in (401, 500):
                        check(f"{tenant} asks {path}{query}: nothing of {other}", False, (leaks, answer))
        for header in (other, f"{tenant}|{other}", f"{other},{tenant}", f"../{other}", "*", "default"):
            answer = server.get("/api/v1/traces", bearer(tenant, header))
            equal(f"{tenant} calls itself {header}", answer.status, 403)
        twice = raw_exchange(server.address("http"), (
            f"GET /api/v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {SECRETS[tenant]}\r\n"
            f"X-Scope-OrgID: {tenant}\r\nX-Scope-OrgID: {other}\r\nConnection: close\r\n\r\n").encode())
        check(f"{tenant} names two tenants at once", b" 403 " in twice.split(b"\r\n")[0], twice[:100])
        for listener, path, kind, body in (
                ("otlp_http", "/v1/traces", "application/json", json.dumps(spans(tenant, 1, 77))),
                ("zipkin", "/api/v2/spans", "application/json", json.dumps([zipkin_span(trace_of(other), 99, service="intruder", start_us=1, duration_us=1)])),
                ("jaeger", "/api/traces", "application/x-thrift", foreign_wire.jaeger_batch("intruder", [dict(trace=trace_of(other), span=98, name="in", start=1, duration=1)])),
                ("http", "/api/v1/events", "application/json", json.dumps({"trace_id": trace_id(trace_of(other)), "type": "mark", "id1": 1, "time_ns": BASE}))):
            answer = server.request(listener, "POST", path, body, {"Content-Type": kind, **bearer(tenant, other)})
            equal(f"{tenant} sends by {listener} as {other}", answer.status, 403)
            server.request(listener, "POST", path, body, {"Content-Type": kind, **bearer(tenant)})
    check("every GET route was asked", asked > 100, asked)
    # What they sent under the other's trace id went to themselves.
    for tenant in ("shop", "ops"):
        trace = server.get(f"/api/v1/trace/{trace_id(trace_of(tenant))}", bearer(tenant))
        check(f"no span of another tenant stands in {tenant}'s trace", trace.status == 200 and b"intruder" not in trace.body, trace.body[:400])
        for table in ("traces", "calls", "blocks"):
            sql = server.get(f"/api/v1/dataset/sql?sql=SELECT%20*%20FROM%20{table}", bearer(tenant))
            check(f"SQL of {tenant} sees no row of the other in {table}", all(n not in sql.body for n in needles[tenant]), sql.body[:300])
    status = server.get("/api/v1/status", bearer("shop")).json
    check("status counts what is its own", status["store"]["spans"] >= 2 and not any("grpc" in name for name in status["counters"]), status)
    metrics = server.get("/metrics", bearer("shop")).body.decode()
    check("metrics name no other tenant", 'tenant="shop"' in metrics and 'tenant="ops"' not in metrics, metrics[:500])
    metrics = server.get("/metrics", bearer("boss")).body.decode()
    check("the administrator's metrics name both", 'tenant="shop"' in metrics and 'tenant="ops"' in metrics, metrics[-800:])


def limits_of_a_tenant():
    big = server.send_otlp(spans("ops", 2000, 1000), bearer("ops"))
    equal("a request over the tenant's size", big.status, 413)
    first = server.send_otlp(spans("ops", 200, 5000), bearer("ops"))
    equal("a burst is taken whole", first.status, 200)
    late = server.send_otlp(spans("ops", 1, 9000), bearer("ops"))
    check("the next has to wait, and is told how long", late.status == 429 and int(late.headers["Retry-After"]) >= 2, late)
    equal("gRPC says RESOURCE_EXHAUSTED", grpc_status({"authorization": "Bearer " + SECRETS["ops"]}), "8")
    equal("the other tenant does not notice", server.send_otlp(spans("shop", 1, 9100), bearer("shop")).status, 200)
    metrics = server.get("/metrics", bearer("boss")).body.decode()
    check("counted by tenant and limit", re.search(r'wherefore_tenant_limited_spans_per_second\{tenant="ops"\} [1-9]', metrics)
          and re.search(r'wherefore_tenant_limited_request_bytes\{tenant="ops"\} [1-9]', metrics), metrics[-1500:])


def tokens_end():
    equal("an expired token", server.get("/api/v1/traces", bearer("old")).status, 401)
    connection = http_connection()
    connection.request("GET", "/api/v1/traces", headers=bearer("reader"))
    equal("a token that is good", connection.getresponse().read() and 200, 200)
    with open(accounts_path + ".new", "w") as file:
        file.write(accounts_text("reader"))
    os.rename(accounts_path + ".new", accounts_path)
    server.process.send_signal(signal.SIGHUP)
    gone = wait_for(lambda: server.get("/api/v1/traces", bearer("reader")).status == 401)
    check("withdrawn: replaying it is of no use", gone, server.log()[-500:])
    connection.request("GET", "/api/v1/traces", headers=bearer("reader"))
    equal("nor on a connection that was open before", connection.getresponse().status, 401)
    connection.close()
    equal("the others still work", server.get("/api/v1/traces", bearer("shop")).status, 200)
    with open(accounts_path, "w") as file:
        file.write("accounts: [{name: broken\n")
    check("a broken file is told", wait_for(lambda: "stay in force" in server.log(), 15), server.log()[-500:])
    equal("and what was there stays in force", server.get("/api/v1/traces", bearer("shop")).status, 200)
    with open(accounts_path, "w") as file:
        file.write(accounts_text())
    check("a change is seen without a signal", wait_for(lambda: server.get("/api/v1/traces", bearer("reader")).status == 200, 15))


def http_connection():
    import http.client
    return http.client.HTTPConnection(*server.address("http"), timeout=20)


def paths_and_injections():
    boss = bearer("boss", "shop")
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/assets/..%2f..%2f..%2fetc%2fpasswd", "//etc/passwd",
                 "/assets/%00/etc/passwd", "/..\\..\\etc\\passwd", "/api/v1/trace/..%2f..%2fserver.json",
                 "/api/v1/dashboards/..%2f..%2fserver.json", "/api/v1/dataset/show/..%2f..%2faudit.jsonl"):
        answer = server.get(path, boss)
        check(f"{path}: no file", b"root:" not in answer.body and server.token.encode() not in answer.body and answer.status in (200, 400, 404), answer)
        if answer.status == 200:
            check(f"{path}: a page of ours", b"<!doctype html" in answer.body.lower(), answer)
    quote = "x'; DROP TABLE events; --"
    for path in (f"/api/v1/traces?service={quote}", f"/api/v1/traces?attr={quote}={quote}", f"/api/v1/operations?service={quote}",
                 f"/api/v1/attributes?prefix={quote}", f"/api/v1/trace/{quote}", f"/api/v1/resource?host={quote}",
                 f"/api/traces?service={quote}", f"/api/v1/dataset/query/spans?where={quote}"):
        answer = server.get(path.replace(" ", "%20").replace("'", "%27"), boss)
        check(f"{path[:40]}…: an answer or a clear error", answer.status in (200, 400, 404), answer)
    for sql in ("ATTACH '/etc/passwd' AS x", "COPY (SELECT 1) TO '/tmp/stolen'", "SELECT * FROM read_text('/etc/passwd')",
                "SELECT * FROM read_csv('/etc/passwd')", "INSTALL httpfs", "PRAGMA database_list", "SELECT 1; SELECT 2",
                "SELECT * FROM 'server.json'", "SELECT getenv('HOME')", "SET memory_limit='100GB'"):
        answer = server.request("http", "GET", "/api/v1/dataset/sql?sql=" + urllib.parse.quote(sql), headers=boss, timeout=60)
        check(f"SQL {sql[:30]}: refused or harmless", answer.status in (400, 403, 404) or (answer.status == 200 and b"root:" not in answer.body and b"token" not in answer.body), answer)
    equal("the trace is still there", server.get(f"/api/v1/trace/{trace_id(0xA1)}", bearer("shop")).status, 200)
    split = raw_exchange(server.address("http"), (
        "GET /api/v1/trace/a%0d%0aSet-Cookie:%20x=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {SECRETS['shop']}\r\nConnection: close\r\n\r\n").encode())
    check("a line break in a path ends no header", b"\nSet-Cookie" not in split.split(b"\r\n\r\n")[0], split[:300])
    for name, request in (
            ("Content-Length twice", "POST /api/v1/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345"),
            ("both lengths", "POST /api/v1/import HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"),
            ("a bare line feed in a header", "GET / HTTP/1.1\r\nHost: 127.0.0.1\nX: y\r\n\r\n"),
            ("a space before the colon", "GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n"),
            ("a folded header", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\r\n b\r\n\r\n"),
            ("no Host", "GET /api/v1/traces HTTP/1.1\r\n\r\n")):
        answer = raw_exchange(server.address("http"), request.encode(), seconds=1)
        statuses = re.findall(rb"HTTP/1.1 (\d+)", answer)
        check(f"{name}: refused, and nothing smuggled", len(statuses) <= 1 and (not statuses or int(statuses[0]) >= 400 or name == "a folded header"), answer[:300])


def rebinding_and_other_sites():
    port = server.address("http")[1]
    shop = bearer("shop")
    for name, headers in (("a foreign Host", {"Host": "evil.example"}), ("a foreign Host with our port", {"Host": f"evil.example:{port}"}),
                          ("a foreign Origin", {"Origin": "http://evil.example"}), ("Origin null", {"Origin": "null"}),
                          ("two Hosts", None)):
        if headers is None:
            answer = raw_exchange(server.address("http"), f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n".encode())
            check("two Hosts", b" 403 " in answer.split(b"\r\n")[0] or b" 400 " in answer.split(b"\r\n")[0], answer[:100])
            continue
        for path in ("/", "/healthz", "/api/v1/traces"):
            equal(f"{name}: {path}", server.get(path, {**headers, **shop}).status, 403)
        equal(f"{name} cannot change anything, not even with the token", server.request("http", "PUT", "/api/v1/dashboards/x", "{}", {**headers, **shop}).status, 403)
    page = server.get("/")
    policy = page.headers["Content-Security-Policy"]
    check("a strict CSP", "script-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy and "object-src 'none'" in policy, policy)
    for header, value in (("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer")):
        for path in ("/", "/api/v1/traces", "/api/v1/none"):
            equal(f"{path}: {header}", server.get(path, shop).headers.get(header), value)


# --- Bytes that lie


def bomb(size):
    return gzip.compress(bytes(size), 9)


def zip_bombs():
    gz = bomb(160 << 20)
    z = subprocess.run("head -c 167772160 /dev/zero | zstd -q -c", shell=True, capture_output=True, check=True).stdout
    before = memory(server.process.pid)
    for listener, path, kind in (("otlp_http", "/v1/traces", "application/x-protobuf"), ("zipkin", "/api/v2/spans", "application/json"),
                                 ("jaeger", "/api/traces", "application/x-thrift"), ("http", "/api/v1/import", "application/octet-stream"),
                                 ("http", "/api/v1/events", "application/json")):
        for encoding, body in (("gzip", gz), ("zstd", z)):
            answer = server.request(listener, "POST", path, body, {"Content-Type": kind, "Content-Encoding": encoding, **bearer("shop")}, timeout=60)
            equal(f"{listener} {path}: 160 MB in {len(body)} bytes of {encoding}", answer.status, 413)
    for encoding, body in (("gzip", gz), ("zstd", z)):
        equal(f"gRPC: the same in {encoding}", grpc_status({"authorization": "Bearer " + SECRETS["shop"], "grpc-encoding": encoding}, body, compressed=1), "8")
    check("memory stayed within its bounds", memory(server.process.pid) - before < 300 << 20, (before, memory(server.process.pid)))


def memory(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024


def oversized_and_malformed():
    shop = bearer("shop")
    huge = f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {SECRETS['shop']}\r\nContent-Type: application/x-protobuf\r\nContent-Length: 99999999999\r\n\r\n"
    for listener in ("http", "otlp_http", "zipkin", "jaeger"):
        answer = raw_exchange(server.address(listener), huge.replace("/v1/traces", "/api/v1/import" if listener == "http" else "/v1/traces").encode())
        check(f"{listener}: a body of 99 GB is refused before it is sent", b" 413 " in answer.split(b"\r\n")[0], answer[:100])
        answer = raw_exchange(server.address(listener), b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 100_000 + b"\r\n\r\n")
        check(f"{listener}: a head of 100 kB", b" 431 " in answer.split(b"\r\n")[0], answer[:100])
        answer = raw_exchange(server.address(listener), os.urandom(3000))
        check(f"{listener}: noise", not answer or b" 400 " in answer.split(b"\r\n")[0], answer[:100])
    deep = b"[" * 200_000 + b"]" * 200_000
    for listener, path in (("otlp_http", "/v1/traces"), ("zipkin", "/api/v2/spans"), ("http", "/api/v1/import"), ("http", "/api/v1/events")):
        answer = server.request(listener, "POST", path, deep, {"Content-Type": "application/json", **shop})
        check(f"{listener} {path}: JSON 200,000 deep", answer.status == 400, answer)
    nested = b""
    for _ in range(20_000):  # kvlist in kvlist
        nested = otlp_proto.field_bytes(6, otlp_proto.field_bytes(1, otlp_proto.field_bytes(1, b"k") + otlp_proto.field_bytes(2, nested)))
        if len(nested) > 400_000:
            break
    deep_span = otlp_proto.field_bytes(1, otlp_proto.field_bytes(2, otlp_proto.field_bytes(2, otlp_proto.field_bytes(9, otlp_proto.field_bytes(1, b"k") + otlp_proto.field_bytes(2, nested)))))
    for name, body in (("protobuf nested deep", deep_span), ("a length beyond the end", b"\x0a\xff\xff\xff\xff\x0f"), ("a varint without end", b"\xff" * 200),
                       ("group tags", b"\x0b" * 10_000)):
        answer = server.request("otlp_http", "POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf", **shop})
        check(f"otlp_http: {name}", answer.status in (200, 400), answer)
        check(f"gRPC: {name}", grpc_status({"authorization": "Bearer " + SECRETS["shop"]}, body) in ("0", "3"))
    for name, body in (("a list of 2^31 structs", b"\x0f\x00\x02\x0c\x7f\xff\xff\xff"), ("a string of 2 GB", b"\x0b\x00\x01\x7f\xff\xff\xff"),
                       ("structs in structs", b"\x0c\x00\x01" * 100_000)):
        answer = server.request("jaeger", "POST", "/api/traces", body, {"Content-Type": "application/x-thrift", **shop})
        check(f"jaeger: {name}", answer.status == 400, answer)
    check("it still answers", server.alive())


# --- HTTP/2 by hand: no library, so that frames can be wrong

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def literal(name, value):
    """HPACK: a header that is not indexed, without Huffman."""
    def text(raw):
        raw = raw if isinstance(raw, bytes) else raw.encode()
        if len(raw) < 127:
            return bytes([len(raw)]) + raw
        rest, out = len(raw) - 127, bytes([127])
        while rest >= 128:
            out += bytes([rest % 128 + 128])
            rest //= 128
        return out + bytes([rest]) + raw
    return b"\x00" + text(name) + text(value)


EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def call_headers(more=None):
    return b"".join(literal(k, v) for k, v in [(":method", "POST"), (":scheme", "http"), (":path", EXPORT), (":authority", "x"),
                                               ("te", "trailers"), ("content-type", "application/grpc"), *(more or {}).items()])


def grpc_status(metadata=None, message=b"", compressed=0):
    """The grpc-status of one export, read from the frames of the answer."""
    body = bytes([compressed]) + struct.pack(">I", len(message)) + message
    # The acknowledgement at once: its window for streams is then ours, too.
    out = PREFACE + frame(4, 0, 0) + frame(4, 1, 0) + frame(1, 4, 1, call_headers(metadata))
    pieces = [body[i:i + 16_000] for i in range(0, len(body), 16_000)]
    for i, piece in enumerate(pieces):
        out += frame(0, 1 if i == len(pieces) - 1 else 0, 1, piece)
    with socket.create_connection(server.address("otlp_grpc"), timeout=60) as sock:
        threading.Thread(target=lambda: _send(sock, out), daemon=True).start()
        held = b""
        while True:
            piece = sock.recv(65536)
            if not piece:
                return None
            held += piece
            while len(held) >= 9 and len(held) >= 9 + int.from_bytes(held[:3], "big"):
                size, kind = int.from_bytes(held[:3], "big"), held[3]
                payload, held = held[9:9 + size], held[9 + size:]
                if kind == 1 and (found := _find_status(payload)) is not None:
                    return found


def _send(sock, data):
    with contextlib.suppress(OSError):
        sock.sendall(data)


def _find_status(block):
    """The value of grpc-status in a header block: nghttp2 writes its name in Huffman code (or, the second time, as an index)."""
    name = bytes.fromhex("9acac8b21234da8f")  # "grpc-status"
    at = block.find(name)
    if at < 0:
        at = block.find(b"grpc-status")
        if at < 0:
            return None
        name = b"grpc-status"
    size, rest = block[at + len(name)], block[at + len(name) + 1:]
    if size & 0x80:  # Huffman: digits have 5 bits for 0 to 2 and 6 for the others
        bits = "".join(f"{b:08b}" for b in rest[:size & 0x7F])
        codes = {"00000": "0", "00001": "1", "00010": "2", "011001": "3", "011010": "4", "011011": "5", "011100": "6", "011101": "7",
                 "011110": "8", "011111": "9"}
        out, held = "", ""
        for bit in bits:
            held += bit
            if held in codes:
                out, held = out + codes[held], ""
        return out
    return rest[:size].decode()


def http2_attacks():
    address = server.address("otlp_grpc")
    before = memory(server.process.pid)
    attacks = {
        "rapid reset": frame(4, 0, 0) + b"".join(frame(1, 5, n, call_headers()) + frame(3, 0, n, struct.pack(">I", 8)) for n in range(1, 40_001, 2)),
        "CONTINUATION flood": frame(4, 0, 0) + frame(1, 0, 1, call_headers()) + frame(9, 0, 1, literal("x", "y" * 100)) * 20_000,
        "empty CONTINUATION flood": frame(4, 0, 0) + frame(1, 0, 1, call_headers()) + frame(9, 0, 1) * 50_000,
        "SETTINGS flood": frame(4, 0, 0) * 50_000,
        "PING flood": frame(4, 0, 0) + frame(6, 0, 0, b"12345678") * 50_000,
        "HPACK bomb": frame(4, 0, 0) + frame(1, 5, 1, call_headers() + b"\x40" + literal("x", "y" * 3000)[1:] + b"\xbe" * 15_000),
        "a frame of 16 MB": frame(4, 0, 0) + b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + bytes(100_000),
        "a window beyond 2^31": frame(4, 0, 0) + frame(8, 0, 0, struct.pack(">I", 0x7FFFFFFF)) * 2,
        "DATA on no stream": frame(4, 0, 0) + frame(0, 0, 0, b"x"),
        "an even stream": frame(4, 0, 0) + frame(1, 5, 2, call_headers()),
        "SETTINGS of half an entry": frame(4, 0, 0, b"\x00\x01\x00"),
        "priority of itself": frame(4, 0, 0) + frame(2, 0, 1, struct.pack(">IB", 1, 1)),
        "streams without end": frame(4, 0, 0) + b"".join(frame(1, 4, n, call_headers()) for n in range(1, 4001, 2)),
    }
    for name, data in attacks.items():
        with contextlib.suppress(OSError):
            raw_exchange(address, PREFACE + data, seconds=0.4)
        check(f"after {name}: others are answered", grpc_status({"authorization": "Bearer " + SECRETS["shop"]}) == "0")
    check("memory stayed within its bounds", memory(server.process.pid) - before < 200 << 20, (before, memory(server.process.pid)))


# --- Clients that never finish


def slow_loris():
    """Three hundred connections that send a byte now and then on every port; the others are answered meanwhile, and the
    slow ones are cut when their time is up (10 s for a head)."""
    held = []
    for name in LISTENERS:
        for i in range(60):
            sock = socket.create_connection(server.address(name), timeout=30)
            sock.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\n" if name != "otlp_grpc" else PREFACE[:5])
            held.append(sock)
    return held, time.monotonic()


def others_are_answered():
    for name in LISTENERS:
        check(f"{name} answers beside them", (grpc_status({"authorization": "Bearer " + SECRETS["shop"]}) == "0") if name == "otlp_grpc"
              else server.request(name, "GET", "/none").status in (200, 401, 404))


def the_slow_ones_are_cut(held, began):
    deadline = max(began + 20, time.monotonic() + 15)
    open_ = list(held)
    while open_ and time.monotonic() < deadline:
        for sock in list(open_):
            sock.setblocking(False)
            try:
                if sock.recv(4096) == b"":
                    open_.remove(sock)
            except BlockingIOError:
                with contextlib.suppress(OSError):
                    sock.send(b"X")
            except OSError:
                open_.remove(sock)
        time.sleep(0.5)
    equal("every slow connection was cut", len(open_), 0)
    for sock in held:
        sock.close()


# --- What is recorded, and what is not


def audit_and_secrets():
    path = os.path.join(server.store, "audit.jsonl")
    server.request("http", "PUT", "/api/v1/policies/audited", json.dumps({"policy": "x"}), bearer("boss", "shop"))
    server.request("http", "PUT", "/api/v1/policies/audited", "{}", bearer("shop"))
    server.request("http", "PUT", "/api/v1/policies/audited?token=" + SECRETS["boss"], "{}", {})
    server.flush()
    with open(path) as file:
        lines = [json.loads(line) for line in file]
    equal("only its owner reads the audit log", os.stat(path).st_mode & 0o777, 0o600)
    mine = [l for l in lines if l["action"] == "PUT /api/v1/policies/audited"]
    equal("who, for whom, with what outcome", [(l["who"], l["tenant"], l["outcome"]) for l in mine[:3]],
          [("boss", "shop", mine[0]["outcome"]), ("shop", "", "denied"), ("anonymous", "", "denied")])
    check("when and from where", all(l["time_ns"] > BASE and l["remote_address"].startswith("127.0.0.1:") for l in mine), mine)
    check("the token of server.json is the administrator", any(l["who"] == "administrator" and l["action"] == "POST /api/v1/flush" and l["outcome"] == "ok" for l in lines), lines[-3:])
    check("reloads are recorded", any(l["action"] == "reload accounts" and l["outcome"] == "ok" for l in lines) and
          any(l["action"] == "reload accounts" and l["outcome"] == "failed" for l in lines), lines[-5:])
    for secret in [*SECRETS.values(), PASSWORD, server.token]:
        check("no secret in the log", secret not in server.log(), secret)
        check("no secret in the audit log", secret not in open(path).read(), secret)
    stored = [n for secret in [*SECRETS.values(), PASSWORD] for n in files_containing(server.store, secret.encode())]
    equal("no secret in the store", stored, [])


def teardown():
    check("it lived through all of it", server.alive(), server.log()[-1000:])
    equal("and stops cleanly", server.stop(90), 0)  # rows of datasets are written first


# --- Doors that are closed unless told otherwise


def nothing_listens_beyond_loopback_by_accident():
    for flag in ("--http", "--otlp-grpc", "--otlp-http", "--zipkin", "--jaeger", "--int"):
        refused = cli("serve", "--check", flag, "0.0.0.0:0", store=folder())
        check(f"{flag} 0.0.0.0 without authentication is refused", refused.code == 2 and "anyone" in refused.error["message"]
              and "--allow-anonymous" in refused.error["hint"], refused)
        equal(f"{flag} 0.0.0.0 when it is meant", cli("serve", "--check", flag, "0.0.0.0:0", "--allow-anonymous", store=folder()).code, 0)
        if flag != "--int":
            equal(f"{flag} 0.0.0.0 with accounts", cli("serve", "--check", flag, "0.0.0.0:0", "--accounts", accounts_path, store=folder()).code, 0)
    with Server() as plain:
        sockets = {line.split()[1].split(":")[0] for table in ("tcp", "tcp6") for line in open(f"/proc/{plain.process.pid}/net/{table}").readlines()[1:]
                   if line.split()[3] == "0A" and int(line.split()[1].split(":")[1], 16) in [plain.address(l)[1] for l in LISTENERS]}
        equal("without configuration everything is on loopback", sockets, {"0100007F"})
        sent = plain.send_otlp(spans("shop"), {"X-Scope-OrgID": "shop"})
        equal("without accounts the header names the tenant", sent.status, 200)
        plain.flush()
        equal("another tenant has nothing", plain.get("/api/v1/services").json["services"], [])
        equal("that one has", plain.get("/api/v1/services", {"X-Scope-OrgID": "shop"}).json["services"], ["service-of-shop"])
        equal("and the command line by --tenant", must(cli("services", "--tenant", "shop", store=plain.store)).json["services"], ["service-of-shop"])
        store = plain.store
        plain.stop()
    equal("also without a server", must(cli("services", "--tenant", "shop", store=store)).json["services"], ["service-of-shop"])


# --- TLS


def make_certificate(where, name, issuer=None, ca=False, san="IP:127.0.0.1,DNS:localhost"):
    key, cert = os.path.join(where, name + ".key"), os.path.join(where, name + ".pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
               "-out", cert, "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={san}"]
    if issuer:
        command += ["-CA", issuer + ".pem", "-CAkey", issuer + ".key", "-addext", "basicConstraints=critical,CA:FALSE"]
    subprocess.run(command, check=True, capture_output=True)
    return os.path.join(where, name)


def tls_get(address, context, path="/healthz"):
    with socket.create_connection(address, timeout=20) as plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return answer, sock.version(), sock.getpeercert(binary_form=True)


def tls():
    where = folder("tls")
    os.makedirs(where)
    ca = make_certificate(where, "ca", ca=True)
    first, second = make_certificate(where, "first", ca), make_certificate(where, "second", ca)
    client, stranger = make_certificate(where, "sender", ca), make_certificate(where, "stranger")
    cert, key = os.path.join(where, "server.pem"), os.path.join(where, "server.key")

    def install(name):
        for source, target in ((name + ".key", key), (name + ".pem", cert)):
            shutil.copy(source, target + ".new")
            os.rename(target + ".new", target)

    install(first)
    wrong = cli("serve", "--check", "--tls-cert", cert, "--tls-key", second + ".key", store=folder())
    check("a key of another certificate is refused at start", wrong.code == 2 and "not the key" in wrong.error["message"], wrong)
    check("as is a file that is not there", cli("serve", "--check", "--tls-cert", cert, "--tls-key", where + "/no", store=folder()).code == 3)

    def trusting(certificate=None, versions=None, alpn=None):
        context = ssl.create_default_context(cafile=ca + ".pem")
        if certificate:
            context.load_cert_chain(certificate + ".pem", certificate + ".key")
        if versions:
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = versions
        if alpn:
            context.set_alpn_protocols(alpn)
        return context

    with Server(None, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca + ".pem", "--jaeger", "off", "--zipkin", "127.0.0.1:0") as s:
        good = trusting(client)
        body, version, shown = tls_get(s.address("http"), good)
        check("TLS with a client certificate", b"200 OK" in body and version == "TLSv1.3", (body[:100], version))
        old = s.address("http")
        kept = socket.create_connection(old, timeout=20)
        kept = good.wrap_socket(kept, server_hostname="localhost")
        for name in ("http", "otlp_http", "zipkin", "otlp_grpc"):
            for what, context in (("no certificate", trusting()), ("a stranger's certificate", trusting(stranger)),
                                  ("TLS 1.1", trusting(client, ssl.TLSVersion.TLSv1_1)), ("TLS 1.0", trusting(client, ssl.TLSVersion.TLSv1))):
                try:
                    answer = tls_get(s.address(name), context)[0]
                except (OSError, ssl.SSLError):
                    answer = b""
                equal(f"{name} with {what}: no answer", answer, b"")
            check(f"{name}: plain text gets no answer", b"200" not in raw_exchange(s.address(name), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"))
        with socket.create_connection(s.address("otlp_grpc"), timeout=20) as plain:
            h2 = trusting(client, alpn=["h2"]).wrap_socket(plain, server_hostname="localhost")
            h2.sendall(PREFACE + frame(4, 0, 0))
            check("gRPC over TLS: h2 by ALPN", h2.selected_alpn_protocol() == "h2" and h2.recv(9)[3] == 4)
        flags = ("--ca", ca + ".pem", "--client-cert", client + ".pem", "--client-key", client + ".key")
        url = f"https://localhost:{s.address('http')[1]}"
        equal("the command line with --ca and a certificate", cli("services", *flags, store=url).code, 0)
        equal("without them", cli("services", store=url).code, 3)
        equal("the local store finds its server by its certificate", cli("services", *flags[2:], store=s.store).code, 0)
        install(second)
        s.process.send_signal(signal.SIGHUP)
        check("a new certificate is shown to new connections", wait_for(lambda: tls_get(s.address("http"), good)[2] != shown, 15), s.log())
        kept.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        check("and the connection from before goes on", b"200 OK" in kept.recv(4096))
        silent = [socket.create_connection(s.address("http"), timeout=20) for _ in range(300)]
        check("300 silent handshakes keep nobody out", b"200 OK" in tls_get(s.address("http"), good)[0])
        for sock in silent:
            sock.close()
        metrics = tls_get(s.address("http"), good, "/metrics")[0].decode()
        check("handshakes are counted", re.search(r"wherefore_tls_handshakes_failed [1-9]", metrics) and re.search(r"wherefore_tls_handshakes [1-9]", metrics), metrics[:400])
        equal("it stops cleanly", s.stop(90), 0)


def slow_ones_and_the_rest():
    held, began = slow  # since the start
    for _ in range(2):
        others_are_answered()
    zip_bombs()
    oversized_and_malformed()
    http2_attacks()
    the_slow_ones_are_cut(held, began)


def the_slow_ones_begin():
    global slow
    slow = slow_loris()
    others_are_answered()


run(setup, the_slow_ones_begin, a_token_is_made_and_works, strangers, rights, tenants_do_not_cross, limits_of_a_tenant, tokens_end, paths_and_injections,
    rebinding_and_other_sites, slow_ones_and_the_rest, audit_and_secrets, teardown, nothing_listens_beyond_loopback_by_accident, tls)
