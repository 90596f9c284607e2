#!/usr/bin/env python3
# needs: wherefore
# timeout: 1200
"""As faults_embedded_test.py, each fault alone and several times."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from embedded_faults import *


def several(what, step, times, *flags, **load):
    def faults():
        with Lab(*flags, **load) as lab:
            for _ in range(times):
                step(lab)
            lab.intact(what)
    faults.__name__ = what.replace(" ", "_").replace("-", "")
    return faults


def full_disk():
    with small_disk(64) as place:
        if place is None:
            return
        with Lab(store=os.path.join(place, "store")) as lab:
            for _ in range(3):
                fill_disk(lab, place)
            lab.intact("full disk")


def disk_full_and_killed():
    """A server that is killed on a full disk starts on it again, and goes on when there is room."""
    with small_disk(64) as place:
        if place is None:
            return
        with Lab(store=os.path.join(place, "store")) as lab:
            fill_disk(lab, place)
            kill(lab)
            fill_disk(lab, place)
            lab.intact("full disk and kill -9")


run(several("kill -9", kill, 8), several("poisoned batches", poison, 1), several("clock jumps", clock_jumps, 4, "--retention-age", "30d"),
    full_disk, disk_full_and_killed, several("slow store", slow_disk, 4, *SLOW, **SLOW_LOAD),
    several("network cut", lambda lab: cut_network(lab, traces=600), 1))
