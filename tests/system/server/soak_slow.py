#!/usr/bin/env python3
# needs: wherefore
# timeout: 4500
"""An hour of steady load on the embedded store: nothing grows."""
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, check, run


def an_hour_of_steady_load_is_flat():
    done = subprocess.run([f"{SOURCE}/bench/soak", "--for", os.environ.get("WHEREFORE_SOAK", "60m")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "WHEREFORE": os.path.abspath(WHEREFORE)}, check=False)
    text = done.stdout.decode()
    print("# " + text.replace("\n", "\n# "))
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 8 and cells[6] in ("flat", "**not flat**"):
            check(f"{cells[1]} is flat", cells[6] == "flat", line)
    check("every question was answered, nothing refused, a clean end", done.returncode == 0 or "not flat" in text, text)


run(an_hour_of_steady_load_is_flat)
