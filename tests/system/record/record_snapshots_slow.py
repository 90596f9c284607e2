#!/usr/bin/env python3
# needs: wherefore
# timeout: 1500
"""Live snapshots over 5 minutes and 100,000 created threads: the file keeps to its slots, the recorder's memory is flat."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import record_snapshots as snapshots
from harness import run

if __name__ == "__main__":
    run(lambda: snapshots.true_clocks(100), lambda: snapshots.full_speed(20), lambda: snapshots.long_run(300, 100_000, 6))
