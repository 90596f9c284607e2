#!/usr/bin/env python3
"""The store on today's ClickHouse, one node: the whole conformance suite and the folder's own tests.
parallel: yes
timeout: 600
"""
import os
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import chdb_stack  # noqa: E402
import clickhouse_test  # noqa: E402
import harness  # noqa: E402


def conformance_on_one_node():
    with chdb_stack.Chdb() as server:
        # Two: its engine runs in one process, and most of the work is there.
        results, output = clickhouse_test.run_on(server.url(), processes=2)
        for name, passed in sorted(results.items()):
            harness.check(f"today's: {name}", passed, lambda name=name: clickhouse_test.failures_of(name, output))
        harness.check("the conformance suite was run", sum("Conformance" in name for name in results) >= 40, sorted(results))


if __name__ == "__main__":
    harness.run(conformance_on_one_node)
