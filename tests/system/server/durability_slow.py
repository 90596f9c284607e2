#!/usr/bin/env python3
# needs: wherefore
# timeout: 1800
"""durability_test with a hundred kills."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from durability_rounds import *


def kills_with_sync():
    kill_rounds(60, "on", seed=11)


def kills_without_sync():
    kill_rounds(40, "off", seed=12)


run(kills_with_sync, kills_without_sync)
