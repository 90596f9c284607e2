#!/usr/bin/env python3
# needs: wherefore
# timeout: 300
"""Faults survived by a single server over the embedded store, under constant load (fault_lab.py says what must hold). Several
faults share a load here, for time's sake; faults_embedded_slow.py has each alone, and again."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from embedded_faults import *


def killed_poisoned_and_in_the_past():
    with Lab("--retention-age", "30d") as lab:
        kill(lab)
        poison(lab)
        clock_jumps(lab)
        lab.intact("kill -9, poisoned batches, clock jumps")


def full_disk():
    with small_disk(64) as place:
        if place is None:
            return
        with Lab(store=os.path.join(place, "store")) as lab:
            fill_disk(lab, place)
            lab.intact("full disk")


def slow_store_and_cut_network():
    with Lab(*SLOW, **SLOW_LOAD) as lab:
        slow_disk(lab)
        cut_network(lab)
        lab.intact("slow store, network cut")


run(killed_poisoned_and_in_the_past, full_disk, slow_store_and_cut_network)
