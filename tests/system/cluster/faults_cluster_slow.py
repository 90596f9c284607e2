#!/usr/bin/env python3
# needs: wherefore
# timeout: 1800
"""As faults_cluster_test.py, each fault alone and several times, and for longer than sessions and retries last."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from cluster_faults import *


def times(n, step, **options):
    def repeated(state, sending):
        for _ in range(n):
            step(state, sending, **options)
    return repeated


def both_tailers(state, sending):
    """Nobody reads for a while."""
    for name in ("tailer-0", "tailer-1"):
        state.lab.kill(name)
    sending.acknowledge(200)
    for name in ("tailer-0", "tailer-1"):
        state.lab.restart(name)


def both_receivers(state, sending):
    for name in ("receiver-0", "receiver-1"):
        state.lab.kill(name)
    wait_for(lambda: sum(sending.reports.values()) > 20, 30)
    for name in ("receiver-0", "receiver-1"):
        state.lab.restart(name)


def frozen_tailer(state, sending):
    """Not dead, only stopped for longer than its session: it must not write over what others wrote since."""
    process = state.lab.roles["tailer-1"].process
    process.send_signal(signal.SIGSTOP)
    try:
        sending.acknowledge(100)
        time.sleep(12)
    finally:
        process.send_signal(signal.SIGCONT)
    sending.acknowledge(50)


run_faults(
    under_load("receivers killed", times(3, Faults.kill_receiver), both_receivers),
    under_load("tailers killed", times(3, Faults.kill_tailer), both_tailers),
    under_load("a tailer frozen beyond its session", frozen_tailer),
    under_load("the broker killed", times(2, Faults.kill_broker)),
    under_load("each shard killed", times(1, Faults.kill_shard, shard=1, traces=400), times(1, Faults.kill_shard, shard=0, traces=400)),
    lambda state: state.store_away_under_weight(),
    under_load("a shard slow beyond patience", times(1, Faults.slow_shard, traces=1000)),
    under_load("poison", times(3, Faults.poison)),
    under_load("network cut beyond the session", times(2, Faults.cut_network, traces=600)),
    under_load("more partitions", Faults.grow),
    under_load("drain", Faults.drain),
)
