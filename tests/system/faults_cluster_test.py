#!/usr/bin/env python3
# needs: wherefore
# timeout: 400
"""Faults survived by a cluster under constant load: receivers, tailers, the broker and a shard are killed, a shard is slow,
the network is cut, a piece on the bus is poison (fault_lab.py says what must hold after each). faults_cluster_slow.py has
the long forms."""
import kafka_raw
from cluster_lab import *

lab = None
numbers = iter(range(10**6, 10**9, 10**6))  # of the first trace of each load


def load(**options):
    return Load(lab.receivers, first=next(numbers), pace=0.02, **options)


def finish(what, sending, seconds=90):
    sending.end(seconds)
    intact(what, lab.query, sending, seconds)


def start():
    global lab
    lab = Cluster()
    for name, role in lab.roles.items():
        checks = role.get("/readyz").json
        check(f"{name} is ready", checks["ready"] and checks["role"] == role.role, checks)


def processes_killed():
    """A receiver and a tailer, at the same time; the others go on without them until they are back."""
    sending = load()
    sending.acknowledge(40)
    lab.kill("receiver-0")
    lab.kill("tailer-0")
    sending.acknowledge(40)
    check("kill -9 of a receiver and a tailer: senders were told of what was lost", sending.reports, dict(sending.reports))
    lab.restart("receiver-0")
    lab.restart("tailer-0")
    sending.acknowledge(40)
    finish("kill -9 of a receiver and a tailer", sending)


def broker_killed():
    sending = load()
    sending.acknowledge(40)
    lab.broker.kill()
    told = wait_for(lambda: sum(n for said, n in sending.reports.items() if said in (429, 503)) > 0, 60)
    check("kill -9 of the broker: senders are told to come again", told, lambda: (dict(sending.reports), sending.odd[:3]))
    check("kill -9 of the broker: receivers live and are not ready",
          wait_for(lambda: lab.roles["receiver-1"].get("/readyz").status == 503, 30) and lab.roles["receiver-1"].alive())
    lab.broker.start()
    sending.acknowledge(40)
    finish("kill -9 of the broker", sending)


def shard_killed():
    """What is received meanwhile waits on the bus; a slow shard is the same for as long as it lasts."""
    sending = load()
    sending.acknowledge(40)
    lab.shards.kill(1)
    sending.acknowledge(60)
    check("kill -9 of a shard: receivers go on", lab.roles["receiver-0"].ready(), lambda: lab.roles["receiver-0"].get("/readyz"))
    lab.shards.start(1)
    lab.shards.processes[0].send_signal(signal.SIGSTOP)
    sending.acknowledge(60)
    lab.shards.processes[0].send_signal(signal.SIGCONT)
    finish("kill -9 of a shard, and a slow one", sending)


def poisoned():
    sending = load()
    sending.acknowledge(20)
    for partition in range(BUS_SETTINGS["partitions"]):
        kafka_raw.produce(lab.broker.address, "wherefore", partition, b"no batch", b"", b"\xff" * 5000)
    sending.acknowledge(40)
    counted = lambda: sum(lab.counters(f"tailer-{n}").get("bus_poisoned", 0) for n in range(2))
    check("poisoned batch: each piece is counted", wait_for(lambda: counted() >= 12, 60), counted)
    finish("poisoned batch", sending)


def network_cut():
    missing = real_network.why_not()
    if missing:
        return print(f"# network cut: skipped, {missing}")
    far = FarHost(lab)
    try:
        lab.launch("tail", "far", within=far.within).wait_until_ready()
        sending = load()
        sending.acknowledge(40)
        far.cut()
        sending.acknowledge(80)
        far.mend()
        sending.acknowledge(20)
        finish("network cut", sending)
        equal("network cut: the one that was cut off lives", lab.roles["far"].process.poll(), None)
        lab.roles.pop("far").kill()
    finally:
        far.close()


def end():
    """SIGTERM: every process finishes what it has and ends with 0."""
    sending = load()
    sending.acknowledge(20)
    for name in ("receiver-0", "tailer-0"):
        equal(f"drain: {name} ends with 0", lab.roles[name].stop(60), 0)
    sending.acknowledge(20)
    finish("drain", sending)
    for name, role in lab.roles.items():
        if role.process.poll() is None:
            equal(f"SIGTERM ends {name} with 0", role.stop(60), 0)
    lab.memory.check("cluster")
    lab.close()


try:
    run(start, processes_killed, broker_killed, shard_killed, poisoned, network_cut, end)
finally:
    if lab is not None:
        lab.close()
