#!/usr/bin/env python3
# needs: wherefore
"""M1 at the paper's size: 20 switches and 16 hosts in 36 namespaces, in at most 60 s."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import real_network
from m1_checks import *

reason = real_network.why_not()
if reason:
    print(f"skip M1 on real queues # {reason}")
    sys.exit(0)


def whole_tree():
    took = check_m1(16, {"switches": 20, "hosts": 16})
    check("a run takes at most 60 s", took <= 60, took)


run(whole_tree)
