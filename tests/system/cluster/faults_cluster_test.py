#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 400
"""Faults survived by a cluster under constant load: receivers, tailers, the broker and a shard are killed, a shard is slow,
the network is cut, pieces on the bus are poison (fault_lab.py says what must hold after them). Several faults share a load
here, for time's sake; faults_cluster_slow.py has each alone, longer and again."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from cluster_faults import *

run_faults(
    under_load("kill -9 of a receiver and a tailer, poison", Faults.kill_receiver, Faults.kill_tailer, Faults.poison),
    under_load("kill -9 of the broker", Faults.kill_broker),
    under_load("kill -9 of a shard, a slow shard, a cut network", Faults.kill_shard, Faults.slow_shard, Faults.cut_network),
    under_load("drain", Faults.drain),
)
