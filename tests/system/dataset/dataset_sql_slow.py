#!/usr/bin/env python3
# needs: wherefore
# timeout: 300
"""A statement that would run for ever is stopped after 30 s."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *


def endless():
    began = time.monotonic()
    ran = cli("dataset", "sql", "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r",
              store=folder(), timeout=120)
    check("stopped after 30 s", ran.code == 3 and "30 s" in ran.error["message"], ran)
    check("not long after", 29 < time.monotonic() - began < 60, time.monotonic() - began)


run(endless)
