#!/usr/bin/env python3
# needs: wherefore
"""M1 on a small real tree: the culprit's flow carries most of the delay of a request it has no part in; without it the
request takes its normal time, and nobody is named."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import real_network
from m1_checks import *

reason = real_network.why_not()
if reason:
    ran = cli("scenario", "M1", "--size", "4", "--out", folder("m1"))
    check("where namespaces are not permitted, M1 says so", ran.code == 3 and ran.out == b"" and ran.error["hint"], ran)
    print(f"skip M1 on real queues # {reason}")
    sys.exit(1 if ran.code != 3 else 0)


def small_tree():
    check_m1(4, {"switches": 5, "hosts": 4})


def sizes_are_checked():
    for size in ("3", "17"):
        ran = cli("scenario", "M1", "--size", size, "--out", folder("m1"))
        check(f"a tree of {size} hosts is refused", ran.code == 2 and size in ran.error["message"], ran)


run(small_tree, sizes_are_checked)
