#!/usr/bin/env python3
# needs: wherefore
# timeout: 300
"""Faults survived by a single server over the embedded store, under constant load (fault_lab.py says what must hold)."""
import socket

import real_network
from fault_lab import *


class Lab:
    """One server that may come back, its load and its memory."""

    def __init__(self, *flags, store=None, env=None, **load):
        self.flags, self.env = (*QUICK, *flags), env or {}
        self.server = Server(store or folder(), *self.flags, env=self.env)
        self.memory = Memory()
        self.memory.watch("server", self.server.process)
        self.load = Load(lambda: [self.server.address("otlp_http")], **load)

    def restart(self):
        self.server = Server(self.server.store, *self.flags, env=self.env)
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
        self.memory.check(what)
        equal(f"{what}: SIGTERM ends it with 0", self.server.stop(), 0)


def killed():
    with Lab() as lab:
        for _ in range(2):
            lab.load.acknowledge(100)
            lab.server.kill()
            lab.restart()
        lab.load.acknowledge(50)
        check("kill -9: senders were told of what was lost", lab.load.reports, dict(lab.load.reports))
        lab.intact("kill -9")


def full_disk():
    place = folder("disk")
    os.mkdir(place)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode != 0:
        return print(f"# full disk: skipped, no mount: {mounted.stderr.strip()}")
    try:
        with Lab(store=os.path.join(place, "store")) as lab:
            lab.load.acknowledge(50)
            ballast = os.path.join(place, "ballast")
            with open(ballast, "wb", buffering=0) as file:
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(4096))
            told = wait_for(lambda: lab.load.reports[503] + lab.load.reports[429] >= 8, 60)
            check("full disk: senders are told to come again", told, lambda: (dict(lab.load.reports), lab.load.odd[:3]))
            check("full disk: the server lives", lab.server.alive(), lab.server.log)
            ready = lab.server.get("/readyz")
            equal("full disk: and is not ready", ready.status, 503)
            check("full disk: and says why", [c for c in ready.json["checks"] if not c["ok"] and c["check"] == "disk"], ready)
            os.remove(ballast)
            lab.load.acknowledge(100)
            check("full disk: room again, ready again", wait_for(lambda: lab.server.get("/readyz").status == 200, 20),
                  lambda: lab.server.get("/readyz"))
            lab.intact("full disk")
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def slow_store():
    shim = Shim()
    # Small limits, many senders, large requests: what cannot be kept in time must be refused, not gathered.
    with Lab("--max-inflight-bytes", "2MB", "--max-request-bytes", "1MB", env=shim.env, senders=24, padding=200_000) as lab:
        lab.load.acknowledge(30)
        shim.sync_takes(0.7)
        told = wait_for(lambda: lab.load.reports[429] + lab.load.reports[503] > 0, 30)
        check("slow store: senders are told to come again", told, lambda: dict(lab.load.reports))
        check("slow store: questions are answered meanwhile", lab.server.get("/api/v1/services").status == 200)
        lab.load.acknowledge(5)
        shim.sync_takes(0)
        lab.load.acknowledge(50)
        lab.intact("slow store")


def poisoned():
    """Requests that cannot be read, and some that can and are hard to model: those are refused, or kept, and nobody else
    notices."""
    with Lab() as lab:
        lab.load.acknowledge(30)
        good = body(10**6, now_ns())
        refused = [good[:len(good) // 2], b"\xff" * 1000, bytes([0x0A]) + b"\xff" * 9, good[::-1], b"\x0a\x05hello"]
        statuses = [lab.server.send_proto(data).status for data in refused]
        check("poisoned batch: told to be malformed", set(statuses) == {400}, statuses)
        big, small = 2**63 - 1, 0
        hard = otlp(process("odd", *(span(2 * 10**6, n, "cycle", 1000, 2000, parent=n % 5 + 1) for n in range(1, 6)),
                            span(2 * 10**6, 9, "endless", small, big), span(2 * 10**6, 10, "backwards", 5000, 10),
                            span(2 * 10**6, 11, "\x00\x7f" * 100, 1, 2, attrs={"k" * 1000: "v" * 10000, "": ""})))
        check("poisoned batch: what is only odd is taken", lab.server.send_otlp(hard).status == 200)
        lab.load.acknowledge(50)
        counters = lab.server.get("/api/v1/status").json["counters"]
        equal("poisoned batch: refusals are counted", counters.get("otlp_http_requests_malformed"), len(refused))
        check("poisoned batch: the odd trace can be asked for", lab.server.get(f"/api/v1/trace/{trace_id(2 * 10**6)}").status == 200)
        lab.load.end()
        # The odd trace has rows of its own: they are not the load's.
        rows = all_rows(lab.server)
        expected = reference_rows(lab.load, lab.load.acknowledged)
        odd = trace_id(2 * 10**6)
        fits = lambda: {name: [r for r in lines if odd not in r] for name, lines in all_rows(lab.server).items()} == expected
        check("poisoned batch: rows of the others equal those of a run without it", wait_for(fits, 60, every=0.5), lambda: rows)
        found = found_spans(lab.server)
        wrong = [n for n in lab.load.acknowledged if set(found[n]) != span_ids(n) or set(found[n].values()) != {1}]
        check("poisoned batch: every acknowledged span is found exactly once", not wrong, wrong[:3])
        check("poisoned batch: no answer but acknowledgement and Retry-After", not lab.load.odd, lab.load.odd[:3])
        lab.memory.check("poisoned batch")


def clock_jumps():
    shim = Shim()
    with Lab("--retention-age", "30d", env=shim.env) as lab:
        for offset in (3600, -3600, 0):
            lab.load.acknowledge(40)
            shim.clock(offset)
        lab.load.acknowledge(40)
        shim.clock(-7200)  # and a restart in the past of what was received
        lab.server.kill()
        lab.restart()
        lab.load.acknowledge(40)
        shim.clock(0)
        lab.intact("clock jumps")


def network_cut():
    missing = real_network.why_not()
    if missing:
        return print(f"# network cut: skipped, {missing}")
    sender, host = real_network.Namespace("sender"), real_network.Namespace("host")
    real_network.join(sender, "10.77.0.1", host, "10.77.0.2")
    with Lab() as lab:
        # The server stays on loopback; a relay in the host's namespace is its door to the link.
        port = lab.server.address("otlp_http")[1]
        relay = Relay(host, ("10.77.0.2", 4318), ("127.0.0.1", port))
        far = Load(lambda: [("10.77.0.2", 4318)], first=10**7, inside=sender.inside)
        far.acknowledge(40)
        sender.run("ip", "link", "set", "host", "down")
        stuck = len(far.acknowledged)
        lab.load.acknowledge(100)  # others go on meanwhile
        check("network cut: nothing is acknowledged through a cut link", len(far.acknowledged) <= stuck + 4)
        sender.run("ip", "link", "set", "host", "up")
        sender.run("ip", "neigh", "replace", "10.77.0.2", "lladdr", relay.mac, "dev", "host", "nud", "permanent")
        far.acknowledge(40)
        far.end()
        lab.load.end()
        lab.load.acknowledged |= far.acknowledged
        lab.load.bodies.update(far.bodies)
        lab.load.odd += far.odd
        lab.load.reports.update(far.reports)
        lab.intact("network cut")
        relay.close()


class Relay:
    """Takes connections in a namespace and passes bytes to an address here, both ways."""

    def __init__(self, namespace, at, to):
        def listen():
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(at)
            listener.listen(64)
            return listener
        self.to, self.listener = to, namespace.inside(listen)
        text = subprocess.run(["nsenter", "--net=" + namespace.path, "ip", "-o", "link", "show", "sender"],
                              capture_output=True, text=True, check=True).stdout
        self.mac = text.split("link/ether ")[1].split()[0]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                far = socket.create_connection(self.to)
                for a, b in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(a, b), daemon=True).start()

    @staticmethod
    def _pass(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.close()


run(killed, full_disk, slow_store, poisoned, clock_jumps, network_cut)
