"""What the whole-system tests share: result lines, servers and command lines that always end, senders and builders.

Only the standard library. A test file is a list of functions given to `run`; each checks with `check(name, truth)`.
"""
import atexit
import contextlib
import gzip
import http.client
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

import otlp_proto

WHEREFORE = os.environ.get("WHEREFORE", "build/release/wherefore")
SOURCE = os.environ.get("WHEREFORE_SOURCE", os.getcwd())
LISTENERS = ("http", "otlp_grpc", "otlp_http", "zipkin", "jaeger")
SECOND = 1_000_000_000
MILLI = 1_000_000

_failures = 0
_children = []
_folder = tempfile.mkdtemp(prefix="wherefore-test-")


def _clean_up():
    for child in _children:
        if child.poll() is None:
            child.kill()
            child.wait()
    shutil.rmtree(_folder, ignore_errors=True)


atexit.register(_clean_up)
for _signal in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(_signal, lambda number, _frame: sys.exit(128 + number))


# --- Results


def check(name, truth, detail=None):
    """One result line. `detail` is printed before a failure; it may be a function."""
    global _failures
    if not truth:
        _failures += 1
        text = detail() if callable(detail) else detail
        if text is not None:
            print("# " + str(text)[:2000].replace("\n", "\n# "))
    print(f"{'ok' if truth else 'not ok'} {name}", flush=True)
    return bool(truth)


def equal(name, got, expected):
    return check(name, got == expected, lambda: f"expected {expected!r}\ngot      {got!r}")


def run(*functions):
    """Runs each function; one that raises has failed. Exits non-zero when anything failed. Names on the command line
    choose functions."""
    chosen = [f for f in functions if not sys.argv[1:] or f.__name__ in sys.argv[1:]]
    for function in chosen:
        began = time.monotonic()
        try:
            function()
        except Exception:  # one broken part must not hide the others
            check(f"{function.__name__} runs to its end", False, traceback.format_exc())
        print(f"# {function.__name__} took {time.monotonic() - began:.1f} s", flush=True)
    sys.exit(1 if _failures else 0)


# --- Files and time


def folder(name="store"):
    """A new path in the test's own folder; nothing is there yet."""
    return os.path.join(tempfile.mkdtemp(dir=_folder), name)


def write(name, content):
    """A new file with these bytes (or this text, or this value as JSON)."""
    path = folder(name)
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def now_ns():
    return time.time_ns()


def wait_for(condition, seconds=10, every=0.05):
    """The first true value of condition(), or its last value when time is up."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(every)


def directory_bytes(path):
    total = 0
    for base, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(base, name)).st_blocks * 512
    return total


def files_containing(path, needle):
    found = []
    for base, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError), open(os.path.join(base, name), "rb") as file:
                if needle in file.read():
                    found.append(name)
    return found


# --- Processes


def environment(**extra):
    """Ours without any WHEREFORE_ setting, with a home of our own."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("WHEREFORE")}
    env["HOME"] = _folder
    env.update(extra)
    return env


class Commanded:
    """A program that says when it is ready, then takes commands from its stdin and answers each with a line; killed at the end."""

    def __init__(self, *command, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **how)
        self.pid = self.process.pid
        self.first = self.process.stdout.readline().strip()

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


class Ran:
    """What a command left behind."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def error(self):
        """The error object of --format json: the last line of stderr (the log may stand before it)."""
        return json.loads(self.err.decode().strip().splitlines()[-1])["error"]

    def __repr__(self):
        return f"exit {self.code}, stdout {self.out[:600]!r}, stderr {self.err[:600]!r}"


def cli(*arguments, store=None, env=None, text=False, timeout=60):
    """Runs `wherefore ARGUMENTS --store STORE --format json`."""
    command = [WHEREFORE, *map(str, arguments)]
    if store is not None:
        command += ["--store", str(store)]
    if not text:
        command += ["--format", "json"]
    return Ran(subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, env=environment(**(env or {}))))


def must(ran):
    if ran.code != 0:
        raise AssertionError(repr(ran))
    return ran


def import_files(store, *paths, **options):
    return must(cli("import", *paths, store=store, **options)).json


def import_value(store, value, name="input.json"):
    return import_files(store, write(name, value))


def get_trace(store, trace_id, *flags):
    return must(cli("trace", trace_id, *flags, store=store)).json


class Server:
    """`wherefore serve` on free ports over `store`; use as a context manager. `database`: the URL of a store that is no
    directory; `store` is then where the process keeps its state. `within`: a command that runs it."""

    def __init__(self, store=None, *flags, env=None, wait=True, ports=True, database=None, within=()):
        self.store = store or folder()
        self.log_path = folder("serve.log")
        place = ["--store", database, "--state", self.store] if database else ["--store", self.store]
        command = [*within, WHEREFORE, "serve", *place, *map(str, flags)]
        if ports:
            for name in LISTENERS:
                flag = "--" + name.replace("_", "-")
                if flag not in flags:
                    command += [flag, "127.0.0.1:0"]
        self.out_path = folder("serve.out")
        with open(self.log_path, "wb") as log, open(self.out_path, "wb") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                                            env=environment(**(env or {})))
        _children.append(self.process)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self, seconds=30):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"serve ended with {self.process.returncode}: {self.log()}")
            return self.facts().get("pid") == self.process.pid

        if not wait_for(ready, seconds, every=0.02):
            raise AssertionError(f"serve did not write server.json within {seconds} s: {self.log()}")

    def facts(self):
        try:
            with open(os.path.join(self.store, "server.json")) as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def log(self):
        with open(self.log_path, errors="replace") as file:
            return file.read()

    def printed(self):
        with open(self.out_path) as file:
            return file.read()

    def address(self, name):
        host, port = self.facts()[name].rsplit(":", 1)
        return host.strip("[]"), int(port)

    @property
    def url(self):
        return "http://" + self.facts()["http"]

    @property
    def token(self):
        return self.facts()["token"]

    def request(self, listener, method, path, body=None, headers=None, timeout=30):
        return request(self.address(listener), method, path, body, headers, timeout)

    def get(self, path, headers=None):
        return self.request("http", "GET", path, headers=headers)

    def trace(self, number, **parameters):
        """The answer of `trace`, by HTTP: quicker than a process each."""
        query = "?" + "&".join(f"{k}={v}" for k, v in parameters.items()) if parameters else ""
        answer = self.get(f"/api/v1/trace/{number if isinstance(number, str) else trace_id(number)}{query}")
        if answer.status != 200:
            raise AssertionError(repr(answer))
        return answer.json

    def send_otlp(self, value, headers=None):
        """OTLP over HTTP, JSON."""
        return self.request("otlp_http", "POST", "/v1/traces", json.dumps(value),
                            {"Content-Type": "application/json", **(headers or {})})

    def send_proto(self, data, headers=None, path="/v1/traces"):
        return self.request("otlp_http", "POST", path, data, {"Content-Type": "application/x-protobuf", **(headers or {})})

    def flush(self):
        """What waits in the log goes into a part."""
        return self.request("http", "POST", "/api/v1/flush", b"", {"Authorization": "Bearer " + self.token}, timeout=60)

    def alive(self):
        return self.process.poll() is None and self.get("/healthz").status == 200

    def stop(self, seconds=20):
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()


class Response:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"HTTP {self.status}, {dict(self.headers)}, {self.body[:600]!r}"


def request(address, method, path, body=None, headers=None, timeout=30):
    connection = http.client.HTTPConnection(*address, timeout=timeout)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def raw_exchange(address, data, seconds=3, half_close=False):
    """Sends bytes, reads until the other side closes or falls silent; what it answered."""
    answer = b""
    with socket.create_connection(address, timeout=seconds) as sock:
        with contextlib.suppress(OSError):
            sock.sendall(data)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            while time.monotonic() < deadline:
                sock.settimeout(max(0.01, deadline - time.monotonic()))
                piece = sock.recv(65536)
                if not piece:
                    break
                answer += piece
    return answer


# --- Builders

KINDS = {"unspecified": 0, "internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
STATUSES = {"unset": 0, "ok": 1, "error": 2}


def trace_id(n):
    return f"{n:032x}"


def span_id(n):
    return f"{n:016x}"


def any_value(value):
    """A Python value as OTLP's AnyValue."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, bytes):
        import base64
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [any_value(v) for v in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": attributes(value)}}
    if value is None:
        return {}
    return {"stringValue": value}


def attributes(values):
    return [{"key": key, "value": any_value(value)} for key, value in values.items()]


def span(trace, number, name="work", start=0, end=None, parent=0, kind="internal", attrs=None, events=None, links=None,
         status=None, message="", **extra):
    """One OTLP span. Ids are numbers or texts; no end is sent when `end` is None."""
    out = {
        "traceId": trace if isinstance(trace, str) else trace_id(trace),
        "spanId": number if isinstance(number, str) else span_id(number),
        "name": name, "kind": KINDS[kind], "startTimeUnixNano": str(start),
    }
    if end is not None:
        out["endTimeUnixNano"] = str(end)
    if parent:
        out["parentSpanId"] = parent if isinstance(parent, str) else span_id(parent)
    if attrs:
        out["attributes"] = attributes(attrs)
    if events:
        out["events"] = [{"timeUnixNano": str(e[0]), "name": e[1], "attributes": attributes(e[2] if len(e) > 2 else {})}
                         for e in events]
    if links:
        out["links"] = [{"traceId": l[0] if isinstance(l[0], str) else trace_id(l[0]),
                         "spanId": l[1] if isinstance(l[1], str) else span_id(l[1]),
                         "attributes": attributes(l[2] if len(l) > 2 else {})} for l in links]
    if status:
        out["status"] = {"code": STATUSES[status], "message": message}
    out.update(extra)
    return out


def process(service, *spans, scope=None, **resource):
    """ResourceSpans of one service; `resource` keys have __ where the attribute has a dot."""
    attrs = {"service.name": service} if service is not None else {}
    attrs.update({key.replace("__", "."): value for key, value in resource.items()})
    scope_spans = {"spans": list(spans)}
    if scope:
        scope_spans["scope"] = {"name": scope[0], "version": scope[1]}
    return {"resource": {"attributes": attributes(attrs)}, "scopeSpans": [scope_spans]}


def otlp(*processes):
    return {"resourceSpans": list(processes)}


def otlp_bytes(*processes):
    return otlp_proto.encode(otlp(*processes))


def zipkin_span(trace, number, name="work", start_us=None, duration_us=None, parent=None, kind=None, service=None,
                ip=None, shared=False, tags=None, annotations=None):
    out = {"traceId": trace if isinstance(trace, str) else trace_id(trace),
           "id": number if isinstance(number, str) else span_id(number), "name": name}
    if start_us is not None:
        out["timestamp"] = start_us
    if duration_us is not None:
        out["duration"] = duration_us
    if parent is not None:
        out["parentId"] = parent if isinstance(parent, str) else span_id(parent)
    if kind:
        out["kind"] = kind
    if service or ip:
        out["localEndpoint"] = {k: v for k, v in (("serviceName", service), ("ipv4", ip)) if v}
    if shared:
        out["shared"] = True
    if tags:
        out["tags"] = tags
    if annotations:
        out["annotations"] = [{"timestamp": t, "value": v} for t, v in annotations]
    return out


def jaeger_span(trace, number, name="work", start_us=0, duration_us=0, references=(), process_id="p1", tags=None,
                logs=()):
    """`references` are (type, trace, span)."""
    def tag(key, value):
        kind = {bool: "bool", int: "int64", float: "float64"}.get(type(value), "string")
        return {"key": key, "type": kind, "value": value}

    tid = trace if isinstance(trace, str) else trace_id(trace)
    return {"traceID": tid, "spanID": number if isinstance(number, str) else span_id(number), "operationName": name,
            "references": [{"refType": r[0], "traceID": r[1] if isinstance(r[1], str) else trace_id(r[1]),
                            "spanID": r[2] if isinstance(r[2], str) else span_id(r[2])} for r in references],
            "startTime": start_us, "duration": duration_us, "processID": process_id,
            "tags": [tag(k, v) for k, v in (tags or {}).items()],
            "logs": [{"timestamp": t, "fields": [tag(k, v) for k, v in fields.items()]} for t, fields in logs]}


def jaeger(*spans, **processes):
    """{"data": [traces]} as Jaeger's UI downloads it; processes are name=(service, tags)."""
    processes = processes or {"p1": ("shop", {})}
    traces = {}
    for one in spans:
        traces.setdefault(one["traceID"], []).append(one)
    return {"data": [{"traceID": tid, "spans": members, "processes": {
        key: {"serviceName": service, "tags": [{"key": k, "type": "string", "value": v} for k, v in tags.items()]}
        for key, (service, tags) in processes.items()}} for tid, members in traces.items()]}


def random_trace(rng, trace, spans=8, start=None):
    """ResourceSpans of one complete trace over a few services, for comparing what went in with what comes out."""
    start = now_ns() - rng.randrange(60 * SECOND) if start is None else start
    tree = [(1, 0, start, start + 100 * MILLI)]
    while len(tree) < spans:
        parent, _, low, high = rng.choice(tree)
        a, b = sorted(rng.randrange(low, high + 1) for _ in range(2))
        tree.append((len(tree) + 1, parent, a, b))
    by_service = {}
    for number, parent, a, b in tree:
        service = f"service-{number % 3}"
        by_service.setdefault(service, []).append(span(
            trace, rng_id(trace, number), f"op-{rng.randrange(5)}", a, b, parent=rng_id(trace, parent) if parent else 0,
            kind=rng.choice(list(KINDS)), status=rng.choice([None, "ok", "error"]),
            attrs={"text": f"v{rng.randrange(100)} ä€", "int": rng.randrange(-10**12, 10**12), "flag": bool(number % 2),
                   "ratio": rng.random(), "list": [1, 2, 3], "thread.id": rng.randrange(4)},
            events=[((a + b) // 2, "noted", {"n": number})], links=[(trace + 1, 77, {"why": "test"})] if number == 2 else None,
            traceState="vendor=1", flags=1))
    return [process(service, *members, scope=("lib", "1.2"), host__name=f"host-{service[-1]}", process__pid=100)
            for service, members in by_service.items()]


def rng_id(trace, number):
    return (trace << 16) + number


# --- Reading an answer of `trace`


def block(trace, name):
    """The block with this name (or this span id)."""
    found = [b for b in trace["blocks"] if name in (b["name"], b["span_id"])]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} blocks called {name} in {[b['name'] for b in trace['blocks']]}")
    return found[0]


def edges_between(trace, a, b):
    """{(type, point type at a, point type at b)} of edges from block a to block b (names or ids)."""
    points = {p["id"]: p for p in trace["points"]}
    ids = block(trace, a)["span_id"], block(trace, b)["span_id"]
    return {(e["type"], points[e["from"]]["type"], points[e["to"]]["type"]) for e in trace["edges"]
            if (points[e["from"]]["span_id"], points[e["to"]]["span_id"]) == ids}


def repairs(trace, pass_name):
    return [r for r in trace["repairs"] if r["pass"] == pass_name]


def without_receipt(value):
    """The same JSON value without receipt times."""
    if isinstance(value, dict):
        return {k: without_receipt(v) for k, v in value.items() if k != "received_ns"}
    if isinstance(value, list):
        return [without_receipt(v) for v in value]
    return value
