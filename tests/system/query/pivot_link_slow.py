#!/usr/bin/env python3
# needs: wherefore wherefore-blocks
# timeout: 200
"""pivot_link_test with its fault absent."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import Server, check
from pivot_lab import Cluster, run_in_own_network, where_time_goes


def even_links():
    cluster = Cluster(Server(None, "--no-agent"))
    more = where_time_goes(cluster, "Hget:6:10", "even-links")
    network = {where: ns for (name, where), ns in more.items() if name == "network of a data node"}
    others = [ns for where, ns in network.items() if where != "data-node-B"]
    check("no data node stands out", not others or network.get("data-node-B", 0) < 5 * max(others), more)


run_in_own_network(__file__, even_links)
