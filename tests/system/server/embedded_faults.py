"""The faults of a single server over the embedded store, one function each: what happens, under load, and what is seen while
it lasts."""
import socket

import real_network
from cluster_lab import relay
from fault_lab import *


class Lab:
    """One server that may come back, its load and its memory; its clock and its disk are in the test's hand."""

    def __init__(self, *flags, store=None, **load):
        self.shim = Shim()
        self.flags = (*QUICK, *(() if LIMITS[0] in flags else LIMITS), *flags)
        self.server = Server(store or folder(), *self.flags, env=self.shim.env)
        self.memory = Memory()
        self.memory.watch("server", self.server.process)
        self.load = Load(lambda: [self.server.address("otlp_http")], **load)
        self.load.acknowledge(30)

    def restart(self):
        self.server = Server(self.server.store, *self.flags, env=self.shim.env)
        self.memory.watch("server", self.server.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.load.end(1)
        self.server.__exit__()

    def intact(self, what):
        self.load.end()
        check(f"{what}: the server lives", self.server.alive(), self.server.log)
        intact(what, self.server, self.load)
        self.memory.check(what, EMBEDDED_CAP)
        equal(f"{what}: SIGTERM ends it with 0", self.server.stop(), 0)


def kill(lab):
    lab.server.kill()
    lab.restart()
    lab.load.acknowledge(50)
    check("kill -9: senders were told of what was lost", lab.load.reports, dict(lab.load.reports))


def poison(lab):
    """Requests that cannot be read, and some that can and are hard to model: those are refused, or kept, and nobody else
    notices."""
    good = body(10**6, now_ns())
    refused = [good[:len(good) // 2], b"\xff" * 1000, bytes([0x0A]) + b"\xff" * 9, good[::-1], b"\x0a\x05hello"]
    statuses = [lab.server.send_proto(data).status for data in refused]
    check("poisoned batch: told to be malformed", set(statuses) == {400}, statuses)
    odd, big, small = 2 * 10**6, 2**63 - 1, 0
    hard = otlp(process("odd", *(span(odd, n, "cycle", 1000, 2000, parent=n % 5 + 1) for n in range(1, 6)),
                        span(odd, 9, "endless", small, big), span(odd, 10, "backwards", 5000, 10),
                        span(odd, 11, "\x00\x7f" * 100, 1, 2, attrs={"k" * 1000: "v" * 10000, "": ""})))
    check("poisoned batch: what is only odd is taken", lab.server.send_otlp(hard).status == 200)
    lab.load.acknowledge(30)
    counters = lab.server.get("/api/v1/status").json["counters"]
    equal("poisoned batch: refusals are counted", counters.get("otlp_http_requests_malformed"), len(refused))
    check("poisoned batch: the odd trace can be asked for", lab.server.get(f"/api/v1/trace/{trace_id(odd)}").status == 200)


def clock_jumps(lab):
    for offset in (3600, -3600, 0):
        lab.load.acknowledge(30)
        lab.shim.clock(offset)
    lab.load.acknowledge(30)
    lab.shim.clock(-7200)  # and a restart in the past of what was received
    lab.server.kill()
    lab.restart()
    lab.load.acknowledge(30)
    lab.shim.clock(0)


def slow_disk(lab):
    """With small limits, many senders and large requests: what cannot be kept in time must be refused, not gathered."""
    lab.shim.sync_takes(0.7)
    told = wait_for(lambda: lab.load.reports[429] + lab.load.reports[503] > 0, 30)
    check("slow store: senders are told to come again", told, lambda: dict(lab.load.reports))
    check("slow store: questions are answered meanwhile", lab.server.get("/api/v1/services").status == 200)
    lab.load.acknowledge(5)
    lab.shim.sync_takes(0)
    lab.load.acknowledge(50)


SLOW = ("--max-inflight-bytes", "2MB", "--max-request-bytes", "1MB")
SLOW_LOAD = {"senders": 24, "padding": 200_000}


def fill_disk(lab, place):
    """`place` is the whole disk."""
    ballast = os.path.join(place, "ballast")
    with open(ballast, "wb", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
    before = lab.load.reports[503] + lab.load.reports[429]
    told = wait_for(lambda: lab.load.reports[503] + lab.load.reports[429] >= before + 8, 60)
    check("full disk: senders are told to come again", told, lambda: (dict(lab.load.reports), lab.load.odd[:3]))
    check("full disk: the server lives", lab.server.alive(), lab.server.log)
    not_ready = wait_for(lambda: (lambda ready: ready if ready.status == 503 else None)(lab.server.get("/readyz")), 10)
    check("full disk: it is not ready, and says why",
          not_ready and [c for c in not_ready.json["checks"] if not c["ok"] and c["check"] == "disk"], not_ready)
    os.remove(ballast)
    lab.load.acknowledge(50)
    check("full disk: room again, ready again", wait_for(lambda: lab.server.get("/readyz").status == 200, 20),
          lambda: lab.server.get("/readyz"))


@contextlib.contextmanager
def small_disk(megabytes):
    """A folder that is a file system of that size; None when there can be none."""
    place = folder("disk")
    os.mkdir(place)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode != 0:
        print(f"# full disk: skipped, no mount: {mounted.stderr.strip()}")
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def cut_network(lab, traces=60):
    """Other senders, behind a link. The server stays on loopback; a relay at the link's end is its door."""
    missing = real_network.why_not()
    if missing:
        return print(f"# network cut: skipped, {missing}")
    sender, host = real_network.Namespace("sender"), real_network.Namespace("host")
    real_network.join(sender, "10.77.0.1", host, "10.77.0.2")
    mac = subprocess.run(["nsenter", "--net=" + host.path, "ip", "-o", "link", "show", "sender"], capture_output=True, text=True,
                         check=True).stdout.split("link/ether ")[1].split()[0]
    door = relay(host, ("10.77.0.2", 4318), None, ("127.0.0.1", lab.server.address("otlp_http")[1]))
    far = Load(lambda: [("10.77.0.2", 4318)], first=10**7, inside=sender.inside)
    far.acknowledge(30)
    sender.run("ip", "link", "set", "host", "down")
    stuck = len(far.acknowledged)
    lab.load.acknowledge(traces)  # others go on meanwhile
    check("network cut: nothing is acknowledged through a cut link", len(far.acknowledged) <= stuck + 4)
    sender.run("ip", "link", "set", "host", "up")
    sender.run("ip", "neigh", "replace", "10.77.0.2", "lladdr", mac, "dev", "host", "nud", "permanent")
    far.acknowledge(30)
    far.end()
    lab.load.join(far)
    door.close()
