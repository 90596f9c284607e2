#!/usr/bin/env python3
# needs: wherefore
# timeout: 300
"""A rate is shared by two receivers, doubled, and then all the other's when one of them is killed (shared_rates.py)."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from shared_rates import *


def together():
    keep_rates_together([{"policy"}, {"killed"}])


run(together)
