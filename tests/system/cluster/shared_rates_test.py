#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 300
"""A rate is shared by two receivers; one of them is killed while it is doubled (shared_rates.py; shared_rates_slow.py has one after
the other)."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from shared_rates import *


def together():
    keep_rates_together([{"policy", "killed"}])


run(together)
