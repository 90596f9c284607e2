# needs: wherefore  timeout: 400  parallel: yes
"""Live snapshots: 20 seconds and 5,000 created threads; record_snapshots_slow.py has the long form."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import record_snapshots as snapshots
from harness import run

if __name__ == "__main__":
    run(lambda: snapshots.true_clocks(6), snapshots.refused, snapshots.growing_file, snapshots.killed,
        lambda: snapshots.full_speed(2), lambda: snapshots.long_run(20, 5_000, 6))
