#!/usr/bin/env python3
# `wherefore watch --locks` on a process that tells spans but nothing of its locks: the answer joins the two.
# needs: wherefore
# parallel: yes
# timeout: 120
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SECOND, WHEREFORE, check, equal, folder, run, wait_for, write

# Two requests, each in a thread of its own, and a thread that works for nobody. They share a pthread mutex; the C
# library's functions are called without Python's own lock. It prints its spans when done.
CHILD = r"""
import ctypes, json, sys, threading, time
libc = ctypes.CDLL(None)
mutexes = [ctypes.create_string_buffer(64) for _ in range(2)]
spans = []
def request(name, mutex, before, held):
    start = time.time_ns()
    time.sleep(before)
    libc.pthread_mutex_lock(mutex)
    libc.usleep(int(held * 1e6))
    libc.pthread_mutex_unlock(mutex)
    spans.append({"name": name, "thread": threading.get_native_id(), "start": start, "end": time.time_ns()})
def nobody(mutex, held):
    libc.pthread_mutex_lock(mutex)
    libc.usleep(int(held * 1e6))
    libc.pthread_mutex_unlock(mutex)
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=request, args=("GET /report", mutexes[0], 0.0, 0.8)),
           threading.Thread(target=request, args=("GET /page", mutexes[0], 0.2, 0.02)),
           threading.Thread(target=nobody, args=(mutexes[1], 0.8)),
           threading.Thread(target=request, args=("GET /status", mutexes[1], 0.2, 0.02))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(spans), flush=True)
sys.stdin.readline()
"""


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def otlp(pid, spans):
    return {"resourceSpans": [{
        "resource": {"attributes": [attribute("service.name", "shop"), attribute("host.name", socket.gethostname()),
                                    attribute("process.pid", pid)]},
        "scopeSpans": [{"spans": [{
            "traceId": f"{i + 1:032x}", "spanId": f"{i + 1:016x}", "name": span["name"], "kind": 2,
            "startTimeUnixNano": str(span["start"]), "endTimeUnixNano": str(span["end"]),
            "attributes": [attribute("thread.id", span["thread"])]} for i, span in enumerate(spans)]}]}]}


def wherefore(*arguments, store):
    return subprocess.run([WHEREFORE, *arguments, "--store", store, "--format", "json"], capture_output=True,
                          text=True, timeout=60)


def watched():
    store = folder()
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    watch = subprocess.Popen([WHEREFORE, "watch", "--locks", "--pid", str(child.pid), "--at-least", "1ms", "--store",
                              store], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = watch.stderr.readline()  # it says so once the probes are there
        if "watching" not in line:
            text = line + watch.stderr.read()
            if "BPF" in text or "uprobe" in text:
                print(f"skip the locks of a process are watched # {text.splitlines()[0]}")
                return
            check("the locks of a process are watched", False, text)
            return
        child.stdin.write("go\n")
        child.stdin.flush()
        spans = json.loads(child.stdout.readline())
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=60)
        equal("watch ends well on Ctrl-C", watch.returncode, 0)
        check("and says what it stored", "holds stored as" in out, out + err)
        check("nothing was lost", "LOST" not in out, out)
        check("the process goes on, unharmed", child.poll() is None)
    finally:
        watch.kill()
        child.stdin.close()
        equal("and ends as it would have", child.wait(timeout=30), 0)

    imported = wherefore("import", write("spans.json", otlp(child.pid, spans)), store=store)
    equal("its spans are imported", imported.returncode, 0)
    traces = {span["name"]: f"{i + 1:032x}" for i, span in enumerate(spans)}
    for victim, holder in (("GET /page", "GET /report"), ("GET /status", "thread ")):
        done = wherefore("explain", traces[victim], store=store)
        if not check(f"{victim} is explained", done.returncode == 0, done.stderr):
            continue
        answer = json.loads(done.stdout)
        by_blame = sorted(answer["vertices"], key=lambda v: -v["self_ns"])
        detail = [(v["node"], v["tuple"], v["functional"], v["self_ns"]) for v in by_blame[:5]]
        check(f"{victim} waited for {holder.strip()}, which is none of its own",
              by_blame[0]["tuple"].startswith(holder) and not by_blame[0]["functional"] and
              by_blame[0]["self_ns"] > answer["delay_ns"] / 2, detail)


def refused():
    for arguments, what in ((["--locks"], "--pid"), (["--locks", "--pid", "2147483647"], "no such process"),
                            (["--egress", "lo"], "--out"),
                            (["--locks", "--pid", str(os.getpid()), "--for", "soon"], "soon")):
        done = wherefore("watch", *arguments, store=folder())
        denied = "CAP_" in done.stderr  # an unprivileged user hears that first
        check(f"watch {' '.join(arguments)[:20]}: exit 2, and {what} is named",
              (done.returncode == 2 and what in done.stderr or denied) and done.stdout == "",
              (done.returncode, done.stderr))


run(watched, refused)
