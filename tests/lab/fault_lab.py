"""What the tests of faults share: constant load that remembers what it was answered, faults, and what must hold after them.

Every trace has a number; its spans, services and durations follow from it. A sender sends a trace again until it is
acknowledged, as exporters do, and notes each time how it was told that it was not. After a fault:

  every acknowledged span is found, exactly once;
  rows of datasets equal those of a run without faults, over the same traces;
  memory stayed under its cap;
  what was not acknowledged was reported to the sender: by an answer, or by a connection that ended.
"""
import collections
import http.client
import mmap
import re
import struct
import threading

import otlp_proto
from harness import *

SPANS = 6  # of a trace
SPAN_IDS = re.compile(rb'"traceId":\s*"([0-9a-f]{32})",\s*"spanId":\s*"([0-9a-f]{16})"')
DATASETS = ("traces", "calls")
QUICK = ("--tailer-trigger", "quick 1s after last within 5s", "--tailer-cache-bytes", "32MiB", "--log-level", "warn", "--no-agent")
LIMITS = ("--max-inflight-bytes", "16MiB", "--max-request-bytes", "4MiB")
# What a process may take is itself (32 MiB over a database, 96 MiB over a directory, most of it DuckDB's) and what these flags
# allow, of which a directory's store has two buffers more (docs/use/cluster.md, "Memory").
CLUSTER_CAP = (32 + 32 + 16) << 20
EMBEDDED_CAP = (96 + 32 + 16 + 48) << 20


def body(number, start, weight=0):
    """An OTLP request of one trace: a call through two services on two hosts, whose clocks agree. `weight`: bytes of a text
    that somebody attached."""
    step = MILLI * (1 + number % 50)
    ids = [rng_id(number, n) for n in range(1, SPANS + 1)]
    front = [span(number, ids[0], "checkout", start, start + 20 * step, kind="server", status="error" if number % 7 == 0 else None,
                  attrs={"http.method": "GET", "user.id": number, **({"note": "x" * weight} if weight else {})}),
             span(number, ids[1], "price", start + 2 * step, start + 12 * step, parent=ids[0], kind="client"),
             span(number, ids[2], "render", start + 13 * step, start + 19 * step, parent=ids[0])]
    back = [span(number, ids[3], "price", start + 3 * step, start + 11 * step, parent=ids[1], kind="server"),
            span(number, ids[4], "rates", start + 4 * step, start + 6 * step, parent=ids[3]),
            span(number, ids[5], "tax", start + 6 * step, start + 9 * step, parent=ids[3])]
    return otlp_proto.encode(otlp(process("shop", *front, host__name="h1"), process("prices", *back, host__name="h2")))


def span_ids(number):
    return {span_id(rng_id(number, n)) for n in range(1, SPANS + 1)}


class Load:
    """Senders over OTLP/HTTP to one of `addresses`, the next one when one does not answer. `pace`: seconds between two;
    `padding`: bytes that are received and not kept, `weight`: that are kept."""

    def __init__(self, addresses, first=1, senders=4, pace=0.005, inside=None, padding=0, weight=0, tenant=None):
        self.headers = {"Content-Type": "application/x-protobuf", **({"X-Scope-OrgID": tenant} if tenant else {})}
        self.addresses, self.pace, self.inside, self.padding, self.weight = addresses, pace, inside, padding, weight
        self.bodies, self.acknowledged = {}, set()
        self.reports = collections.Counter()  # how senders were told that a request was not kept
        self.odd = []
        self.next, self.lock, self.ended = first, threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self._send, args=(n,), daemon=True) for n in range(senders)]
        for thread in self.threads:
            thread.start()

    def _new(self):
        with self.lock:
            number, self.next = self.next, self.next + 1
        data = body(number, now_ns(), self.weight)
        if self.padding:
            data += otlp_proto.field_bytes(1000, b"x" * self.padding)
        with self.lock:
            self.bodies[number] = data
        return number

    def _send(self, target):
        connection, number = None, None
        while not (self.ended.is_set() and number is None):
            if number is None:
                number = self._new()
            try:
                if connection is None:
                    address = self.addresses()[target % len(self.addresses())]
                    connection = http.client.HTTPConnection(*address, timeout=15)
                    connect = connection.connect
                    self.inside(connect) if self.inside else connect()
                connection.request("POST", "/v1/traces", self.bodies[number], self.headers)
                answer = connection.getresponse()
                said = answer.read()
            except (OSError, http.client.HTTPException, ArithmeticError, KeyError, ValueError) as error:  # no address: nobody is there
                with self.lock:
                    self.reports[type(error).__name__] += 1
                if connection is not None:
                    connection.close()
                connection, target = None, target + 1
                if self.ended.wait(0.1) and self.give_up:
                    return
                continue
            if answer.status == 200 and not said:
                with self.lock:
                    self.acknowledged.add(number)
                    if self.weight:
                        self.bodies[number] = b""
                number = None
                self.ended.wait(self.pace)
                continue
            with self.lock:
                if answer.status in (429, 503) and answer.headers["Retry-After"]:
                    self.reports[answer.status] += 1
                else:
                    self.odd.append((answer.status, said[:300]))
            if self.ended.wait(0.1) and self.give_up:
                return

    give_up = False

    def acknowledge(self, more, seconds=60):
        """Waits until so many more are acknowledged."""
        wanted = len(self.acknowledged) + more
        if not wait_for(lambda: len(self.acknowledged) >= wanted, seconds):
            raise AssertionError(f"{len(self.acknowledged)} of {wanted} traces acknowledged within {seconds} s; "
                                 f"{dict(self.reports)}, {self.odd[:3]}")

    def join(self, other):
        """What another load sent counts as this one's."""
        self.acknowledged |= other.acknowledged
        self.bodies.update(other.bodies)
        self.odd += other.odd
        self.reports.update(other.reports)

    def end(self, seconds=60):
        """Nothing new; what is under way is sent until it is acknowledged."""
        self.ended.set()
        deadline = time.monotonic() + seconds
        for thread in self.threads:
            thread.join(max(0.1, deadline - time.monotonic()))
        self.give_up = True
        for thread in self.threads:
            thread.join(30)


class Memory:
    """The most that processes had resident, looked at while they run: it survives them."""

    def __init__(self):
        self.most, self.processes, self.ended = {}, {}, threading.Event()
        threading.Thread(target=self._look, daemon=True).start()

    def watch(self, name, process):
        self.processes[name] = process.pid

    def _look(self):
        while not self.ended.wait(0.2):
            for name, pid in list(self.processes.items()):
                with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/status") as file:
                    peak = [line for line in file if line.startswith("VmHWM")][0]
                    self.most[name] = max(self.most.get(name, 0), int(peak.split()[1]) << 10)

    def check(self, what, cap):
        self.ended.set()
        over = {name: f"{used >> 20} MiB" for name, used in self.most.items() if used > cap}
        check(f"{what}: memory stayed under its cap", self.most and not over, over or "nothing was measured")
        print(f"# {what}: most resident {({n: f'{u >> 20} MiB' for n, u in self.most.items()})}")


class Shim:
    """A server's clock and disk, in the test's hand."""
    library = None

    def __init__(self):
        if Shim.library is None:
            Shim.library = folder("fault_shim.so")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", Shim.library,
                            os.path.join(SOURCE, "tests/targets/fault_shim.c")], check=True)
        self.path = write("faults", bytes(16))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 16)
        self.env = {"LD_PRELOAD": Shim.library, "FAULT_SHIM": self.path}

    def clock(self, seconds):
        self.map[0:8] = struct.pack("<q", int(seconds * SECOND))

    def sync_takes(self, seconds):
        self.map[8:16] = struct.pack("<q", int(seconds * SECOND))


def found_spans(server):
    """{trace number: {span id: times found}} of an export."""
    found = collections.defaultdict(collections.Counter)
    answer = server.request("http", "GET", "/api/v1/export", timeout=300)
    if answer.status != 200:
        raise AssertionError(repr(answer))
    for trace, one in SPAN_IDS.findall(answer.body):
        found[int(trace, 16)][one.decode()] += 1
    return found


def all_rows(server):
    """Every row of the standing datasets, as text, sorted. What identifies a row may not depend on when it was written."""
    out = {}
    for name in DATASETS:
        answer = server.request("http", "GET", f"/api/v1/dataset/query/{name}?limit=1000000", timeout=120)
        out[name] = sorted(json.dumps(row, sort_keys=True) for row in (answer.json["rows"] if answer.status == 200 else []))
    return out


def reference_rows(load, numbers):
    """Rows of the same traces without faults: imported into a store of their own."""
    store = folder("reference")
    path = write("all.otlp", b"".join(load.bodies[n] for n in sorted(numbers)))
    import_files(store, path)
    out = {}
    for name in DATASETS:
        rows = must(cli("dataset", "query", name, "--limit", "1000000", store=store)).json["rows"]
        out[name] = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return out


def intact(what, server, load, wait_seconds=60):
    """What must hold after a fault, asked of `server`, which answers. Other loads may have left traces there, too."""
    check(f"{what}: there was load, and all that was sent is acknowledged in the end",
          load.acknowledged and not set(load.bodies) - load.acknowledged,
          lambda: (len(load.acknowledged), sorted(set(load.bodies) - load.acknowledged)[:5], dict(load.reports)))
    check(f"{what}: no answer but acknowledgement and Retry-After", not load.odd, load.odd[:3])

    def wrong():
        found = found_spans(server)
        return {n: dict(found[n]) for n in load.acknowledged if set(found[n]) != span_ids(n) or set(found[n].values()) != {1}}

    check(f"{what}: every acknowledged span is found exactly once", wait_for(lambda: not wrong(), wait_seconds, every=0.5),
          lambda: (len(wrong()), list(wrong().items())[:2]))
    expected = reference_rows(load, load.acknowledged)
    own = {trace_id(n) for n in load.acknowledged}

    def rows():
        return {name: [row for row in lines if json.loads(row)["trace_id"] in own] for name, lines in all_rows(server).items()}

    got = wait_for(lambda: (lambda now: now if now == expected else None)(rows()), wait_seconds, every=0.5) or rows()
    for name in DATASETS:
        missing = collections.Counter(expected[name]) - collections.Counter(got[name])
        extra = collections.Counter(got[name]) - collections.Counter(expected[name])
        check(f"{what}: rows of {name} equal those of a run without faults", expected[name] and not missing and not extra,
              lambda: f"{len(expected[name])} expected, {sum(missing.values())} missing, {sum(extra.values())} too many\n"
                      + "\n".join(list(missing)[:2] + ["+ " + row for row in list(extra)[:2]]))
    print(f"# {what}: {len(load.acknowledged)} traces acknowledged, reports {dict(load.reports)}")
