"""The faults of a cluster, one function each: what happens, under load, and what is seen while it lasts."""
import itertools

import kafka_raw
from cluster_lab import *


# What the flags allow (docs/use/cluster.md), twice: pieces are there again while they are decoded, encoded and sent.
WEIGHT_CAP = 2 * (32 + 32 + 8 + 16 + 8) << 20


class Faults:
    def __init__(self):
        self.lab = Cluster()
        self.numbers = itertools.count(10**6, 10**6)  # of the first trace of each load
        self.cap = CLUSTER_CAP
        for name, role in self.lab.roles.items():
            checks = role.get("/readyz").json
            check(f"{name} is ready", checks["ready"] and checks["role"] == role.role, checks)

    def load(self, **options):
        return Load(self.lab.receivers, first=next(self.numbers), pace=0.02, **options)

    def finish(self, what, sending, seconds=90):
        sending.end(seconds)
        intact(what, self.lab.query, sending, seconds)

    def kill_receiver(self, sending, name="receiver-0"):
        self.lab.kill(name)
        sending.acknowledge(40)
        check("kill -9 of a receiver: senders were told of what was lost", sending.reports, dict(sending.reports))
        self.lab.restart(name)
        sending.acknowledge(20)

    def kill_tailer(self, sending, name="tailer-0"):
        self.lab.kill(name)
        sending.acknowledge(40)
        self.lab.restart(name)
        sending.acknowledge(20)

    def kill_broker(self, sending):
        before = sending.reports[429] + sending.reports[503]
        self.lab.broker.kill()
        told = wait_for(lambda: sending.reports[429] + sending.reports[503] > before, 60)
        check("kill -9 of the broker: senders are told to come again", told, lambda: (dict(sending.reports), sending.odd[:3]))
        receiver = self.lab.roles["receiver-1"]
        check("kill -9 of the broker: receivers live and are not ready",
              wait_for(lambda: receiver.get("/readyz").status == 503, 30) and receiver.alive())
        self.lab.broker.start()
        sending.acknowledge(40)
        check("kill -9 of the broker: ready again", wait_for(receiver.ready, 60), lambda: receiver.get("/readyz"))

    def kill_shard(self, sending, shard=0, traces=60):
        """What is received meanwhile waits on the bus. The first is also the home of texts, clocks and what rows count."""
        self.lab.shards.kill(shard)
        sending.acknowledge(traces)
        receiver = self.lab.roles["receiver-0"]
        check("kill -9 of a shard: receivers go on", receiver.ready(), lambda: receiver.get("/readyz"))
        self.lab.shards.start(shard)

    def store_away_under_weight(self, traces=6000, weight=200_000):
        """A gigabyte is published while tailers cannot store anything: the bus keeps it, not they. A tenant of its own, because
        these are too heavy to be compared one by one."""
        self.cap = WEIGHT_CAP
        heavy = Load(self.lab.receivers, first=next(self.numbers), senders=8, pace=0, weight=weight, tenant="heavy")
        heavy.acknowledge(20)
        self.lab.shards.kill(0)
        heavy.acknowledge(traces, 180)
        self.lab.shards.start(0)
        heavy.end(120)
        stored = lambda: [self.lab.query.get("/api/v1/status", {"X-Scope-OrgID": "heavy"}).json["store"][key] for key in ("traces", "spans")]
        wanted = [len(heavy.acknowledged), SPANS * len(heavy.acknowledged)]
        check("a store that is away under weight: everything acknowledged is stored, once",
              wait_for(lambda: stored() == wanted, 180, every=1), lambda: (stored(), wanted, dict(heavy.reports)))

    def slow_shard(self, sending, shard=1, traces=60):
        self.lab.shards.processes[shard].send_signal(signal.SIGSTOP)
        try:
            sending.acknowledge(traces)
        finally:
            self.lab.shards.processes[shard].send_signal(signal.SIGCONT)

    def poison(self, sending):
        partitions = BUS_SETTINGS["partitions"]
        tailers = [name for name, role in self.lab.roles.items() if role.role == "tail" and name != "far"]
        counted = lambda: sum(self.lab.counters(name).get("bus_poisoned", 0) for name in tailers)
        before = counted()
        for partition in range(partitions):
            kafka_raw.produce(self.lab.broker.address, "wherefore", partition, b"no batch", b"", b"\xff" * 5000)
        sending.acknowledge(20)
        check("poisoned batch: each piece is counted", wait_for(lambda: counted() >= before + 3 * partitions, 60), counted)

    def cut_network(self, sending, traces=80):
        """A tailer behind a link of its own; the others take over what it had, or it goes on when the link is back."""
        missing = real_network.why_not()
        if missing:
            return print(f"# network cut: skipped, {missing}")
        link = FarHost(self.lab)
        try:
            far = self.lab.launch("tail", "far", within=link.within)
            far.wait_until_ready()
            sending.acknowledge(20)
            link.cut()
            sending.acknowledge(traces)
            link.mend()
            sending.acknowledge(20)
            equal("network cut: the one that was cut off lives", far.process.poll(), None)
            self.lab.roles.pop("far").kill()
        finally:
            link.close()

    def drain(self, sending):
        """SIGTERM: a process finishes what it has and ends with 0."""
        sending.acknowledge(20)
        for name in ("receiver-0", "tailer-0"):
            equal(f"drain: {name} ends with 0", self.lab.roles[name].stop(60), 0)
        sending.acknowledge(20)

    def grow(self, sending, partitions=9):
        """More partitions, as docs/use/cluster.md tells it, and one more tailer to use them."""
        of = lambda role: [name for name, r in self.lab.roles.items() if r.role == role]
        for name in of("receive"):
            equal(f"growing: {name} stops", self.lab.roles[name].stop(60), 0)
        rest = lambda: [self.lab.counters(name)[key] for name in of("tail") for key in ("bus_lag", "tailer_delayed_queue")]
        check("growing: the tailers finish", wait_for(lambda: not any(rest()), 60), rest)
        for name in of("tail"):
            equal(f"growing: {name} stops", self.lab.roles[name].stop(60), 0)
        for topic in ("wherefore", "wherefore.delayed"):
            kafka_raw.grow(self.lab.broker.address, topic, partitions)
        for name in of("tail") + of("receive"):
            self.lab.restart(name)
        self.lab.start("tail", "tailer-9")
        sending.acknowledge(100)
        held = lambda: [self.lab.counters(name)["bus_partitions"] for name in of("tail")]
        check("growing: every partition has its tailer, every tailer its partitions",
              wait_for(lambda: sum(held()) == partitions and min(held()) > 0, 60), held)

    def end(self):
        for name, role in self.lab.roles.items():
            if role.process.poll() is None:
                equal(f"SIGTERM ends {name} with 0", role.stop(60), 0)
        self.lab.memory.check("cluster", self.cap)
        self.lab.close()


def under_load(what, *steps):
    """A function for `run`: the faults one after another under one load, and what must hold after them."""
    def faults(state):
        sending = state.load()
        sending.acknowledge(30)
        for step in steps:
            step(state, sending)
        state.finish(what, sending)
    return faults


def run_faults(*phases):
    """The phases on one cluster, each a result of `under_load`."""
    state = []

    def start():
        state.append(Faults())

    def phase(number, faults):
        function = lambda: faults(state[0])
        function.__name__ = f"phase_{number}"
        return function

    def end():
        state[0].end()

    try:
        run(start, *(phase(n, faults) for n, faults in enumerate(phases, 1)), end)
    finally:
        if state:
            state[0].lab.close()
