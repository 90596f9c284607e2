#!/usr/bin/env python3
# needs: wherefore wherefore-blocks
# timeout: 200
"""Pivot Tracing §6.2, figure 9: a link that has lost nine tenths of its speed is found by asking the running system. Everything
runs in a network of its own, where slowing loopback hurts nobody."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import Server, check
from pivot_lab import Cluster, by, run_in_own_network, where_time_goes

LOAD = "Hget:6:10"
# Figure 9c: how much a link gets through in the time it is given; all carry answers of one size here.
LINKS = """From call In Call Where StartsWith(call.service, "data-node")
    GroupBy call.service Select call.service, AVERAGE(call.ns)"""


def faulty_link():
    cluster = Cluster(Server(None, "--no-agent"))
    more = where_time_goes(cluster, LOAD, "slow-link")
    worst = max(more, key=more.get) if more else None
    check("slow requests spend it in calls to one data node", worst == ("network of a data node", "data-node-B"), more)
    there = more.get(("work of a data node", "B"), 0)
    check("which does not work longer than it used to", worst is not None and there < more[worst] / 5, more)
    (links,), _ = cluster.ask([LINKS], LOAD, "slow-link", seconds=3)
    check("its link gets least through", max(by(links), key=by(links).get) == "data-node-B", by(links))


run_in_own_network(__file__, faulty_link)
