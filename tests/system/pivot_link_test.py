#!/usr/bin/env python3
# needs: wherefore wherefore-blocks
# timeout: 200
"""Pivot Tracing §6.2, figure 9: a link that has lost nine tenths of its speed is found by asking the running system. Everything
runs in a network of its own, where slowing loopback hurts nobody."""
import os
import subprocess
import sys

from harness import Server, check, run
from pivot_lab import Cluster, by, where_time_goes

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


def even_links():
    cluster = Cluster(Server(None, "--no-agent"))
    more = where_time_goes(cluster, LOAD, "even-links")
    network = {where: ns for (name, where), ns in more.items() if name == "network of a data node"}
    others = [ns for where, ns in network.items() if where != "data-node-B"]
    check("fault absent: no data node stands out", not others or network.get("data-node-B", 0) < 5 * max(others), more)


if len(sys.argv) < 2 or sys.argv[1] != "inside":
    if os.geteuid() != 0:
        print("skip a slow link is found # no privilege to make network namespaces")
        sys.exit(0)
    inside = f"ip link set lo up mtu 1500 && exec {sys.executable} {os.path.abspath(__file__)} inside"
    sys.exit(subprocess.run(["unshare", "-n", "sh", "-c", inside], check=False).returncode)
sys.argv.pop()
run(faulty_link, even_links)
