#!/usr/bin/env python3
"""The store on ClickHouse: its unit tests and the whole conformance suite on a two-shard cluster of Debian's server.
parallel: yes
timeout: 600
"""
import os
import re
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import clickhouse_cluster  # noqa: E402
import harness  # noqa: E402

PROGRAM = os.path.join(os.environ.get("WHEREFORE_BUILD", "build/release"), "store_clickhouse_test")
# Side by side: each test waits for the servers more than it works, and has a database of its own.
PROCESSES = 3


def run_on(url, processes=PROCESSES, arguments=()):
    """Runs the test program on these servers; gives {test: passed} and what it printed."""
    running = []
    for index in range(processes):
        environment = {
            **os.environ,
            "WHEREFORE_CLICKHOUSE_URL": url,
            "GTEST_TOTAL_SHARDS": str(processes),
            "GTEST_SHARD_INDEX": str(index),
        }
        running.append(
            subprocess.Popen(
                [PROGRAM, *arguments],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        )
    results, output = {}, ""
    for process in running:
        text, _ = process.communicate(timeout=550)
        output += text
        for verdict, name in re.findall(r"^\[ +(OK|FAILED) +\] ([^ ,]+)[ ,].*\(\d+ ms\)$", text, re.M):
            results[name] = verdict == "OK"
        # A crash ends a process between two verdicts.
        harness.check(f"the test program ends by itself ({len(results)} tests)", process.returncode in (0, 1), text[-2000:])
    return results, output


def failures_of(name, output):
    """What the program printed while that test ran."""
    begun = output.find(f"[ RUN      ] {name}\n")
    ended = output.find(f"] {name}", begun + 15 + len(name))
    return output[begun:ended]


def conformance_on_two_shards():
    with clickhouse_cluster.Cluster(shards=2) as cluster:
        results, output = run_on(cluster.url())
        for name, passed in sorted(results.items()):
            harness.check(f"two shards: {name}", passed, lambda name=name: failures_of(name, output))
        harness.check("the conformance suite was run", sum("Conformance" in name for name in results) >= 40, sorted(results))
        left = cluster.ask("SELECT name FROM system.databases WHERE name LIKE 'wherefore%'").decode()
        harness.equal("every database was dropped", left, "")


if __name__ == "__main__":
    harness.run(conformance_on_two_shards)
