# needs: wherefore  timeout: 120  parallel: yes
"""A recorded program as traces: its own, and what its threads did for requests in theirs. Zeno's Z3 without annotations: why
did the lookup take so long? Because compact held the lock."""
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
import harness
from harness import Server, check, equal, folder, run, wait_for

WHEREFORE = os.path.abspath(harness.WHEREFORE)
BUILD = os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release"))


def ask(server, *words):
    done = subprocess.run([WHEREFORE, *words, "--store", server.url, "--format", "json"], capture_output=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def trace_of(server, name):
    return wait_for(lambda: next((t["trace_id"] for t in ask(server, "traces", "--service", "table")["traces"] if t["name"] == name), None))


def a_lookup_waits_for_a_lock_nobody_told_of():
    with Server() as server:
        file = folder("service.cpg")
        done = subprocess.run([WHEREFORE, "record", "-o", file, "--", f"{BUILD}/record/record_locked_service", server.url],
                              capture_output=True, timeout=60)
        equal("the service ends well", (done.returncode, done.stderr.decode()), (0, ""))
        lookup, compact = trace_of(server, "GET /lookup"), trace_of(server, "compact")
        before = ask(server, "explain", lookup)
        check("without the recording nobody is to blame", "table_lock" not in json.dumps(before), json.dumps(before)[:400])
        imported = ask(server, "import", file)
        check("the requests' traces are among the imported", {lookup, compact} <= set(imported["trace_ids"]), imported)
        equal("three traces: the program's own, and two requests", imported["traces"], 3)
        again = ask(server, "import", file)
        equal("importing again changes nothing", again["events"], 0)
        after = ask(server, "explain", lookup)
        blamed = [v for v in after["vertices"] if compact in v.get("trace_ids", [])]
        check("compact is to blame", sum(v["self_ns"] for v in blamed) > 200e6, json.dumps(after)[:800])
        check("for the lock", "table_lock" in json.dumps(after), json.dumps(after)[:800])
        path = ask(server, "critical-path", lookup)
        queued = sum(s["end_ns"] - s["start_ns"] for s in path["segments"] if s["category"] == "queue")
        check("on the critical path it is a wait", queued > 200e6, path["segments"])


run(a_lookup_waits_for_a_lock_nobody_told_of)
