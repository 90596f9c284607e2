"""A whole cluster on loopback: Kafka, two shards of ClickHouse, receivers, tailers and a query process; some of them may
stand behind a link that can be cut."""
import socket

import clickhouse_cluster
import kafka_broker
import real_network
from fault_lab import *

# Sessions as short as the tests' broker allows: who is killed is missed soon.
BUS_SETTINGS = {"partitions": 4, "session.timeout.ms": 3000, "heartbeat.interval.ms": 500}


class Role(Server):
    """One process of the cluster."""

    def __init__(self, lab, role, name, within=()):
        self.role, self.name, self.lab = role, name, lab
        super().__init__(folder(name), "--role", role, "--bus", lab.bus_url, *QUICK, *LIMITS, database=lab.store_url, within=within,
                         wait=False)
        lab.memory.watch(name, self)

    @property
    def pid(self):
        """Of the process itself, which a command may have started."""
        return self.facts().get("pid", self.process.pid)

    def wait_until_ready(self, seconds=90):
        def up():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}: {self.log()}")
            return "http" in self.facts()
        if not wait_for(up, seconds):
            raise AssertionError(f"{self.name} did not write server.json within {seconds} s: {self.log()}")

    def ready(self):
        with contextlib.suppress(OSError):
            return self.get("/readyz").status == 200
        return False


class Cluster:
    """Everything, started; `close` ends it. The load goes to all receivers."""

    def __init__(self, receivers=2, tailers=2):
        self.memory = Memory()
        self.shards = clickhouse_cluster.Cluster(shards=2, started=False)
        self.broker = kafka_broker.Broker(folder("kafka"), session_ms=1000)
        self.bus_url = self.broker.url(**BUS_SETTINGS)
        self.store_url = self.shards.url("faults")
        self.roles = {}
        try:
            # In no order: whoever is up first waits for the others.
            self.launch("query", "query")
            for n in range(receivers):
                self.launch("receive", f"receiver-{n}")
            for n in range(tailers):
                self.launch("tail", f"tailer-{n}")
            starting = threading.Thread(target=self.shards.start_all)
            starting.start()
            try:
                self.broker.start()
            finally:
                starting.join()
            self.await_all()
        except BaseException:
            self.close()
            raise

    def launch(self, role, name, within=()):
        self.roles[name] = Role(self, role, name, within)
        return self.roles[name]

    def start(self, role, name):
        self.launch(role, name).wait_until_ready()
        return self.roles[name]

    def await_all(self):
        for role in self.roles.values():
            role.wait_until_ready()
        for role in self.roles.values():
            if role.name != "far" and not wait_for(role.ready, 60):
                raise AssertionError(f"{role.name} is not ready: {role.get('/readyz')}, {role.log()}")

    @property
    def query(self):
        return self.roles["query"]

    def receivers(self):
        return [r.address("otlp_http") for r in self.roles.values() if r.role == "receive" and r.name != "far" and
                r.process.poll() is None and "otlp_http" in r.facts()]

    def kill(self, name):
        """kill -9; it comes back by restart."""
        self.roles[name].kill()

    def restart(self, name):
        old = self.roles[name]
        return self.start(old.role, name)

    def counters(self, name):
        return self.roles[name].get("/api/v1/status").json["counters"]

    def close(self):
        for role in self.roles.values():
            role.__exit__()
        self.broker.kill()
        self.shards.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def relay(inside, at, outside, to):
    """Takes connections at an address of one namespace and passes them to one of another; None: our own."""
    here = lambda function: function()
    enter, leave = (inside.inside if inside else here), (outside.inside if outside else here)

    def listen():
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(at)
        listener.listen(64)
        return listener

    listener = enter(listen)

    def passing(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def accepting():
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=joining, args=(near,), daemon=True).start()

    def joining(near):
        try:
            far = leave(lambda: socket.create_connection(to, timeout=20))
        except OSError:
            return near.close()
        far.settimeout(None)
        for a, b in ((near, far), (far, near)):
            threading.Thread(target=passing, args=(a, b), daemon=True).start()

    threading.Thread(target=accepting, daemon=True).start()
    return listener


class FarHost:
    """A namespace whose processes reach the cluster over a link, under the addresses that they have here."""

    def __init__(self, lab):
        self.there, self.here = real_network.Namespace("there"), real_network.Namespace("here")
        real_network.join(self.there, "10.78.0.1", self.here, "10.78.0.2")
        self.listeners = []
        for port in (lab.broker.port, *lab.shards.http):
            # loopback there → the link → loopback of the other end → ours
            self.listeners.append(relay(self.there, ("127.0.0.1", port), self.there, ("10.78.0.2", port)))
            self.listeners.append(relay(self.here, ("10.78.0.2", port), None, ("127.0.0.1", port)))
        text = subprocess.run(["nsenter", "--net=" + self.here.path, "ip", "-o", "link", "show", "there"],
                              capture_output=True, text=True, check=True).stdout
        self.mac = text.split("link/ether ")[1].split()[0]

    @property
    def within(self):
        return ("nsenter", "--net=" + self.there.path)

    def cut(self):
        self.there.run("ip", "link", "set", "here", "down")

    def mend(self):
        self.there.run("ip", "link", "set", "here", "up")
        self.there.run("ip", "neigh", "replace", "10.78.0.2", "lladdr", self.mac, "dev", "here", "nud", "permanent")

    def close(self):
        for listener in self.listeners:
            listener.close()
