#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""The doors: the same answer by every one, exit codes and errors, settings, listeners, rights, start and end."""
import json
import os
import random
import re
import socket
import stat
import subprocess
import sys
import urllib.parse

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

BASE = 1_700_000_000 * SECOND
ID = trace_id(0x100)


def fill(store):
    rng = random.Random(31)
    import_value(store, otlp(*[p for n in range(30) for p in random_trace(rng, 0x100 + 10 * n, start=BASE + n * SECOND)]))


QUESTIONS = [
    ("traces", [], {}), ("traces", ["--limit", "3"], {"limit": "3"}),
    ("traces", ["--service", "service-1", "--min-duration", "5ms", "--attr", "flag=true", "--status", "error", "--limit", "100"],
     {"service": "service-1", "min_duration": "5ms", "attr": "flag=true", "status": "error", "limit": "100"}),
    ("traces", ["--since", str(BASE), "--until", str(BASE + 9 * SECOND)], {"since": str(BASE), "until": str(BASE + 9 * SECOND)}),
    ("trace/" + ID, [], {}), ("trace/" + ID, ["--clock", "raw"], {"clock": "raw"}),
    ("trace/" + ID[4:], [], {}), ("trace/" + ID, ["--view", "waterfall"], {"view": "waterfall"}),
    ("services", [], {}), ("operations", ["--service", "service-1"], {"service": "service-1"}),
    ("attributes", [], {}), ("attributes/text", ["--prefix", "v1"], {"prefix": "v1"}),
    ("resource", ["--host", "host-1"], {"host": "host-1"}),
    ("resource", ["--host", "host-1", "--limit", "2"], {"host": "host-1", "limit": "2"}),
]
FAILURES = [
    ("trace/dead", [], {}, 1, 404), ("trace/12x4", [], {}, 2, 400), ("traces", ["--limit", "no"], {"limit": "no"}, 2, 400),
    ("trace/" + ID, ["--clock", "moon"], {"clock": "moon"}, 2, 400), ("traces", ["--since", "soon"], {"since": "soon"}, 2, 400),
    ("resource", [], {}, 2, 400), ("traces", ["--cursor", "x"], {"cursor": "x"}, 2, 400),
    ("resource", ["--host", "h", "--cursor", "x"], {"host": "h", "cursor": "x"}, 2, 400),
]


def ask(question, flags, store):
    verb, _, argument = question.partition("/")
    return cli(verb, *([argument] if argument else []), *flags, store=store)


def a_long_resource_answer_goes_on():
    store = folder()
    fill(store)
    whole = ask("resource", ["--host", "host-1"], store).json
    check("all spans of a short answer, and no next", len(whole["spans"]) > 5 and whole["next"] is None, len(whole["spans"]))
    spans, cursor = [], []
    while True:
        page = ask("resource", ["--host", "host-1", "--limit", "4", *cursor], store).json
        check("a page holds at most the limit", 0 < len(page["spans"]) <= 4, page)
        spans += page["spans"]
        if page["next"] is None:
            break
        cursor = ["--cursor", page["next"]]
    equal("page by page the same spans in the same order", spans, whole["spans"])


def one_answer_by_every_door():
    store = folder()
    fill(store)
    direct = [ask(q, flags, store) for q, flags, _ in QUESTIONS]
    failed = [ask(q, flags, store) for q, flags, *_ in FAILURES]
    with Server(store) as server:
        for (question, flags, params), first in zip(QUESTIONS, direct):
            name = " ".join([question.replace(ID, "ID"), *flags])[:90]
            check(f"{name}: an answer", first.code == 0 and first.out, first)
            served = ask(question, flags, store)
            by_url = ask(question, flags, server.url)
            http_answer = server.get(f"/api/v1/{question}" + ("?" + urllib.parse.urlencode(params) if params else ""))
            equal(f"{name}: the served directory gives the same bytes", served.out, first.out)
            equal(f"{name}: --store http:// gives the same bytes", by_url.out, first.out)
            equal(f"{name}: GET gives the same bytes", (http_answer.status, http_answer.body), (200, first.out))
            check(f"{name}: it is JSON by Content-Type", http_answer.headers["Content-Type"].startswith("application/json"))
        for (question, flags, params, code, status), first in zip(FAILURES, failed):
            name = " ".join([question.replace(ID, "ID"), *flags])
            equal(f"{name}: exit {code}", first.code, code)
            equal(f"{name}: stdout is empty", first.out, b"")
            served, by_url = ask(question, flags, store), ask(question, flags, server.url)
            equal(f"{name}: the same error through the server", (served.code, served.out, served.error), (code, b"", first.error))
            equal(f"{name}: the same error by --store http://", (by_url.code, by_url.error), (code, first.error))
            answer = server.get(f"/api/v1/{question}" + ("?" + urllib.parse.urlencode(params) if params else ""))
            equal(f"{name}: HTTP {status} and the same error", (answer.status, answer.json["error"]), (status, first.error))
        equal("the store is flushed", server.flush().status, 200)
        status = server.get("/api/v1/status").json["store"]
        equal("nothing waits in the log any more", status["pending_rows"], 0)
        for (question, flags, params), first in zip(QUESTIONS, direct):
            answer = server.get(f"/api/v1/{question}" + ("?" + urllib.parse.urlencode(params) if params else ""))
            equal(f"{' '.join([question.replace(ID, 'ID'), *flags])[:90]}: the same bytes from a part as from the log", answer.body, first.out)
    text = cli("trace", "dead", store=store, text=True)
    check("in text an error names object, reason and next step on stderr", text.code == 1 and not text.out and
          "dead".zfill(32).encode() in text.err and len(text.err.strip().splitlines()) >= 1, text)


def exit_codes():
    store = folder()
    fill(store)
    equal("0: done", cli("traces", store=store).code, 0)
    for name, arguments in (("an unknown verb", ["frobnicate"]), ("an unknown flag", ["traces", "--colour", "red"]),
                            ("a flag without value", ["traces", "--limit"]), ("a missing argument", ["trace"]),
                            ("no verb", []), ("an unknown format", ["traces", "--format", "xml"])):
        ran = cli(*arguments, store=store, text=True) if "--format" in arguments else cli(*arguments, store=store)
        check(f"2: {name}, stdout empty, stderr tells", ran.code == 2 and not ran.out and ran.err, ran)
    typo = cli("critical-pth", store=store)
    check("a verb with a typo is named, and the one meant", typo.error["message"].startswith("critical-pth") and
          "critical-path" in typo.error["hint"], typo)
    nobody = socket.socket()
    nobody.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    for name, target in (("a server that is not there", url), ("a directory that cannot be made", "/proc/no/store")):
        ran = cli("traces", store=target)
        check(f"3: {name}", ran.code == 3 and not ran.out and ran.error["code"] == "environment" and ran.error["hint"], ran)
    nobody.close()
    ran = cli("traces", store="ftp://host/x")
    check("2: --store of another scheme", ran.code == 2 and not ran.out, ran)
    file = write("not a directory", "x")
    ran = cli("traces", store=file)
    check("3: --store is a file", ran.code == 3 and not ran.out and file in ran.error["message"], ran)
    newer = folder()
    fill(newer)
    with open(os.path.join(newer, "format")) as current:
        version = current.read()
    check("the store's version is in its format file", re.search(r"\d", version), version)
    with open(os.path.join(newer, "format"), "w") as out:
        out.write(re.sub(r"\d+", "999", version))
    ran = cli("traces", store=newer)
    check("a newer store is refused, with both versions' names", ran.code in (2, 3) and not ran.out and "999" in ran.error["message"], ran)
    made = folder("made/when/missing")
    ran = cli("traces", store=made)
    check("a store's directory is made when missing", ran.code == 0 and os.path.isdir(made), ran)
    by_env = cli("traces", "--limit", "100", env={"WHEREFORE_STORE": store})
    equal("$WHEREFORE_STORE is the default store", len(by_env.json["traces"]), 30)
    home = folder("home")
    ran = cli("traces", env={"HOME": home})
    check("else ~/.local/share/wherefore", ran.code == 0 and os.path.isdir(home + "/.local/share/wherefore"), ran)
    began = time.monotonic()
    ran = cli("--version", text=True)
    check("--version", ran.code == 0 and re.search(rb"\d+\.\d+", ran.out), ran)
    best = min(_timed("--version") for _ in range(5))
    check("--version takes at most 50 ms (best of 5)", best <= 0.05, best)


def _timed(*arguments):
    began = time.monotonic()
    subprocess.run([WHEREFORE, *arguments], stdout=subprocess.DEVNULL, env=environment())
    return time.monotonic() - began


def settings():
    store = folder()

    def config(text):
        return write("serve.yaml", text)

    good = config("http: 0\notlp-grpc: off\nsync: off\nretention-age: 7d\nretention-bytes: 20GB\n")
    ran = cli("serve", "--check", "--config", good, store=store)
    check("serve --check: a good file, exit 0", ran.code == 0, ran)
    check("serve --check starts nothing", not os.path.exists(store + "/server.json"))
    for name, text, needle in (("an unknown key", "htttp: 0\n", "htttp"), ("a bad port", "http: 123456\n", "http"),
                               ("a bad duration", "retention-age: soon\n", "retention-age"), ("a bad size", "retention-bytes: many\n", "retention-bytes"),
                               ("a bad switch", "sync: maybe\n", "sync"), ("broken YAML", "http: [1\n", ""), ("no map", "- 1\n", "")):
        path = config(text)
        ran = cli("serve", "--check", "--config", path, store=store)
        check(f"serve --check: {name} is refused, exit 2, named", ran.code == 2 and not ran.out and needle in ran.error["message"], ran)
    for name, flags in (("a bad listener", ["--zipkin", "here"]), ("a bad host and port", ["--http", "a:b:c"]), ("a bad age", ["--retention-age", "-3"])):
        ran = cli("serve", "--check", *flags, store=store)
        check(f"serve --check: {name} on the command line, exit 2", ran.code == 2 and flags[0] in ran.error["message"], ran)
    ran = cli("serve", "--check", store=store, env={"WHEREFORE_ZIPKIN": "here"})
    check("serve --check: a bad variable is refused", ran.code == 2 and not ran.out, ran)
    ran = cli("serve", "--check", "--config", "/does/not/exist.yaml", store=store)
    check("a missing file is refused with its name", ran.code in (2, 3) and "/does/not/exist.yaml" in ran.error["message"], ran)

    off = config("".join(f"{n.replace('_', '-')}: off\n" for n in LISTENERS if n != "http") + "http: 127.0.0.1:0\n")
    with Server(folder(), "--config", off, ports=False) as server:
        facts = server.facts()
        equal("the file's keys are flags", [facts[n] for n in LISTENERS[1:]], ["off"] * 4)
    with Server(folder(), "--config", off, ports=False, env={"WHEREFORE_ZIPKIN": "127.0.0.1:0", "WHEREFORE_OTLP_HTTP": "127.0.0.1:0"}) as server:
        check("WHEREFORE_* wins over the file", server.facts()["zipkin"] != "off" and server.facts()["otlp_http"] != "off" and
              server.facts()["jaeger"] == "off", server.facts())
    with Server(folder(), "--config", off, "--otlp-http", "off", ports=False,
                env={"WHEREFORE_ZIPKIN": "127.0.0.1:0", "WHEREFORE_OTLP_HTTP": "127.0.0.1:0"}) as server:
        check("a flag wins over WHEREFORE_*", server.facts()["otlp_http"] == "off" and server.facts()["zipkin"] != "off", server.facts())
    rule = config('attribute-rule:\n  - "drop user.*"\n  - "hash span session"\n')
    equal("a list in the file is a repeated flag", cli("serve", "--check", "--config", rule, store=store).code, 0)


def listeners():
    with Server(folder(), "--jaeger", "off", "--zipkin", "0", "--otlp-http", "[::1]:0") as server:
        facts = server.facts()
        printed = server.printed()
        for name in LISTENERS:
            lines = [line for line in printed.splitlines() if re.match(rf"{name.replace('_', '[-_]')}\b", line)]
            check(f"{name}: one line with its address on stdout", len(lines) == 1 and facts[name] in lines[0], printed)
        equal("as many lines as listeners", len([line for line in printed.splitlines() if line.strip()]), 5)
        equal("off is off", facts["jaeger"], "off")
        check("port 0 picked a free one on loopback", re.fullmatch(r"127\.0\.0\.1:[1-9]\d+|\[::1\]:[1-9]\d+", facts["zipkin"]), facts)
        check("[HOST:]PORT takes IPv6", re.fullmatch(r"\[::1\]:[1-9]\d+", facts["otlp_http"]) and
              server.send_otlp(otlp()).status == 200, facts)
        mode = os.stat(server.store + "/server.json").st_mode
        equal("server.json has mode 0600", oct(stat.S_IMODE(mode)), "0o600")
        equal("server.json names the process", facts["pid"], server.process.pid)
        check("server.json holds a random token", len(facts["token"]) >= 32, facts)
        host, port = server.address("http")
        taken = cli("serve", "--http", f"{host}:{port}", "--otlp-grpc", "off", "--otlp-http", "off", "--zipkin", "off", "--jaeger", "off",
                    store=folder(), timeout=20)
        check("a port that is taken: exit 3, flag and port named", taken.code == 3 and not taken.out and
              "--http" in taken.error["message"] and str(port) in taken.error["message"], taken)
        other = Server(folder())
        check("another server has another token", other.token != server.token)
        other.kill()


def rights_and_origins():
    with Server() as server:
        port = server.address("http")[1]

        def post(path, **headers):
            return server.request("http", "POST", path, b"", {k.replace("_", "-"): v for k, v in headers.items()})

        routes = server.get("/api/v1/routes").json
        check("every route declares the right it needs", routes and all(r["right"] in ("read", "write", "administer") for r in routes), routes)
        admin = [r for r in routes if r["right"] == "administer"]
        check("there are administrative routes", admin, routes)
        for route in admin:
            path = re.sub(r"\{.*\}", "x", route["path"])

            def call(**headers):
                return server.request("http", route["method"], path, b"", {k: v for k, v in headers.items()})

            denied = call()
            check(f"{route['method']} {path}: no token, refused even on loopback",
                  denied.status in (401, 403) and denied.json["error"]["code"] == "denied", denied)
            wrong = call(Authorization="Bearer " + "0" * 64)
            check(f"{route['method']} {path}: a wrong token is refused", wrong.status in (401, 403), wrong)
            right = call(Authorization="Bearer " + server.token)
            check(f"{route['method']} {path}: the token of server.json is taken", right.status not in (401, 403), right)

        equal("localhost is a name of the server", server.get("/api/v1/traces", {"Host": f"localhost:{port}"}).status, 200)
        for name, headers in (("another Host (DNS rebinding)", {"Host": "evil.example"}), ("another Host with our port", {"Host": f"evil.example:{port}"}),
                              ("another Origin", {"Origin": "http://evil.example"}), ("Origin null", {"Origin": "null"}),
                              ("Origin of another port", {"Origin": f"http://127.0.0.1:{port + 1}"})):
            answer = server.get("/api/v1/traces", headers)
            check(f"{name} is refused", answer.status in (403, 421) and "error" in answer.json, answer)
            answer = server.request("http", "POST", "/api/v1/import", json.dumps(otlp()), headers)
            check(f"{name} cannot upload", answer.status in (403, 421), answer)
        same = server.get("/api/v1/traces", {"Origin": f"http://127.0.0.1:{port}"})
        equal("our own Origin may ask", same.status, 200)
        answer = server.request("otlp_http", "POST", "/v1/traces", json.dumps(otlp()), {"Content-Type": "application/json", "Origin": "http://evil.example"})
        check("a page of another site cannot send spans", answer.status == 403, answer)
        check("no CORS header invites other sites", "Access-Control-Allow-Origin" not in same.headers)

        for path in ("/", "/api/v1/traces", "/api/v1/none", "/trace/1234"):
            policy = server.get(path).headers.get("Content-Security-Policy", "")
            check(f"{path}: a strict CSP", "default-src" in policy and "unsafe" not in policy and "*" not in policy and
                  "frame-ancestors 'none'" in policy, policy)
        equal("nosniff", server.get("/").headers["X-Content-Type-Options"], "nosniff")
        page = server.get("/")
        check("/ is the web interface", page.status == 200 and b"<html" in page.body.lower() and
              "text/html" in page.headers["Content-Type"], page)
        inline = re.findall(rb"<script(?![^>]*\bsrc=)[^>]*>\s*\S", page.body)
        check("the page has no inline script, which the CSP would stop", not inline, page)


def routes():
    with Server() as server:
        for path in ("/api/v1/nothing", "/api/v1", "/api/v2/spans", "/missing.js"):
            answer = server.get(path)
            check(f"GET {path}: 404 with an error object", answer.status == 404 and
                  set(answer.json["error"]) == {"code", "message", "hint"}, answer)
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets/../../../etc/passwd"):
            answer = server.get(path)
            check(f"GET {path}: no file of the machine", answer.status in (200, 400, 404) and b"root:" not in answer.body, answer)
        for method, path, allowed in (("POST", "/api/v1/traces", "GET, HEAD"), ("DELETE", "/api/v1/trace/12", "GET, HEAD"),
                                      ("GET", "/api/v1/import", "POST"), ("PUT", "/api/v1/status", "GET, HEAD")):
            answer = server.request("http", method, path, b"" if method != "GET" else None)
            check(f"{method} {path}: 405 with an error object", answer.status == 405 and "error" in answer.json, answer)
            equal(f"{method} {path}: Allow names the methods", answer.headers.get("Allow"), allowed)
        for listener, method, path, status in (("otlp_http", "GET", "/v1/traces", 405), ("otlp_http", "PUT", "/v1/logs", 405), ("otlp_http", "POST", "/v1/none", 404),
                                               ("zipkin", "GET", "/api/v2/spans", 405), ("zipkin", "POST", "/api/v1/spans", 404),
                                               ("jaeger", "GET", "/api/traces", 405), ("jaeger", "POST", "/none", 404)):
            answer = server.request(listener, method, path, b"" if method == "POST" else None, {"Content-Type": "application/json"})
            check(f"{listener}: {method} {path}: {status} with an error object", answer.status == status and "error" in answer.json, answer)
            equal(f"{listener}: {method} {path}: Allow", answer.headers.get("Allow"), "POST" if status == 405 else None)
        wrong = server.request("otlp_http", "POST", "/v1/traces", b"x", {"Content-Type": "text/plain"})
        equal("OTLP of another content type: 415", wrong.status, 415)
        unknown = server.get("/api/v1/traces?colour=red")
        check("an unknown parameter is refused and named", unknown.status == 400 and "colour" in unknown.json["error"]["message"], unknown)
        twice = server.get("/api/v1/traces?limit=1&limit=2")
        equal("a parameter given twice is refused", twice.status, 400)
        equal("HEAD answers without a body", (server.request("http", "HEAD", "/api/v1/traces").status, server.request("http", "HEAD", "/api/v1/traces").body),
              (200, b""))
        equal("/healthz", server.get("/healthz").status, 200)
        equal("/readyz", server.get("/readyz").status, 200)
        metrics = server.get("/metrics").body.decode()
        check("/metrics is Prometheus text", re.search(r"^wherefore_\w+(\{[^}]*\})? \d", metrics, re.MULTILINE), metrics[:300])
        status = server.get("/api/v1/status").json
        check("status knows version, store, counters and listeners", {"version", "store", "counters", "listeners"} <= set(status), status)
        equal("status lists every listener", {l["name"]: l["address"] for l in status["listeners"]},
              {n: server.facts()[n] for n in LISTENERS})


def one_server_per_store():
    store = folder()
    with Server(store) as server:
        second = cli("serve", "--http", "0", "--otlp-grpc", "0", "--otlp-http", "0", "--zipkin", "0", "--jaeger", "0", store=store, timeout=20)
        check("a second serve on the same store: exit 3, a clear message", second.code == 3 and not second.out and
              store in second.error["message"] and second.error["hint"], second)
        check("the first goes on", server.alive() and server.facts()["pid"] == server.process.pid)
        import_value(store, otlp(process("a", span(1, 1, "x", BASE, BASE + 5))))
        equal("import into a served store goes through the server", server.get("/api/v1/trace/1").status, 200)
        began = time.monotonic()
        equal("SIGTERM: exit 0", server.stop(), 0)
        check("it stops within 5 seconds", time.monotonic() - began < 5)
        check("server.json is gone", not os.path.exists(store + "/server.json"))
    equal("afterwards the directory answers by itself", cli("trace", "1", store=store).code, 0)
    with Server(store) as server:
        server.process.send_signal(signal.SIGINT)
        equal("SIGINT: exit 0", server.process.wait(20), 0)
    check("server.json is gone after SIGINT", not os.path.exists(store + "/server.json"))


def a_stale_server_file_is_recognised():
    store = folder()
    server = Server(store)
    server.send_otlp(otlp(process("a", span(2, 1, "x", BASE, BASE + 5))))
    server.kill()
    check("kill -9 leaves server.json", os.path.exists(store + "/server.json"))
    ran = cli("trace", "2", store=store)
    check("the command line sees that the server is gone, and answers itself", ran.code == 0, ran)
    sleeper = subprocess.Popen(["sleep", "60"])  # another program now has the number of the dead server
    try:
        facts = json.load(open(store + "/server.json")) if os.path.exists(store + "/server.json") else server.facts()
        if facts:
            facts["pid"] = sleeper.pid
            with open(store + "/server.json", "w") as out:
                json.dump(facts, out)
            ran = cli("trace", "2", store=store)
            check("also when its process number belongs to another program", ran.code == 0, ran)
            with Server(store) as again:
                check("and serve starts on it", again.alive())
    finally:
        sleeper.kill()
        sleeper.wait()
    with Server(store) as again:
        equal("a new server takes the store over and has the span", again.get("/api/v1/trace/2").status, 200)


run(one_answer_by_every_door, a_long_resource_answer_goes_on, exit_codes, settings, listeners, rights_and_origins, routes, one_server_per_store,
    a_stale_server_file_is_recognised)
