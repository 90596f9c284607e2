#!/usr/bin/env python3
# `wherefore watch`: messages between processes that know nothing of it, and the paths they make.
# needs: wherefore
# parallel: yes
# timeout: 120
import http.client
import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import WHEREFORE, check, equal, folder, run, wait_for

# A service that asks others before it answers. Its process bears the service's name.
SERVICE = r"""
import ctypes, http.client, http.server, sys, time
name, port, below, work = sys.argv[1], int(sys.argv[2]), [int(p) for p in sys.argv[3].split(",") if p], float(sys.argv[4])
ctypes.CDLL(None).prctl(15, name.encode())
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        for other in below:
            connection = http.client.HTTPConnection("127.0.0.1", other)
            connection.request("GET", "/")
            connection.getresponse().read()
            connection.close()
        time.sleep(work)
        self.send_response(200)
        self.send_header("Content-Length", "2000")
        self.end_headers()
        self.wfile.write(b"x" * 2000)
    def log_message(self, *arguments): pass
class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
Server(("127.0.0.1", port), Handler).serve_forever()
"""
REQUESTS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def listening(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def start(name, port, below, work):
    return subprocess.Popen([sys.executable, "-c", SERVICE, name, str(port), ",".join(map(str, below)), str(work)])


def shape(pattern):
    """A→B(C,D): who asked, whom, and what that one asked."""
    def text(node):
        below = ",".join(sorted(text(child) for child in node["children"]))
        return node["node"] + (f"({below})" if below else "")
    return pattern["client"] + "→" + text(pattern["root"])


def watching(*flags):
    """The process, once it watches; None where the kernel cannot."""
    watch = subprocess.Popen([WHEREFORE, "watch", *flags, "--format", "json"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    line = watch.stderr.readline()
    if "watching" in line:
        return watch
    text = line + watch.communicate()[1]
    if "BPF" in text or "tracepoint" in text:
        print(f"skip messages of processes are watched # {text.splitlines()[0]}")
    else:
        check("messages of processes are watched", False, text)
    return None


def ask(port, times):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(times):
        connection.request("GET", "/")
        connection.getresponse().read()
    connection.close()


def paths_of_processes():
    front, one, two = free_port(), free_port(), free_port()
    services = [start("svc-front", front, [one, two], 0.0), start("svc-one", one, [], 0.02),
                start("svc-two", two, [], 0.004)]
    try:
        wait_for(lambda: all(listening(port) for port in (front, one, two)), 60)
        out = os.path.join(os.path.dirname(folder()), "watched.messages")
        watch = watching(*[word for port in (front, one, two) for word in ("--port", str(port))], "--out", out)
        if watch is None:
            return
        ask(front, REQUESTS)
        watch.send_signal(signal.SIGINT)
        printed, notes = watch.communicate(timeout=60)
        equal("messages of processes are watched, until Ctrl-C", watch.returncode, 0)
        check("and nothing was lost", "LOST" not in notes, notes)
    finally:
        for service in services:
            service.kill()
            service.wait()
    answer = json.loads(printed)
    equal("calls have returns, so they are linked", answer["algorithm"], "linking")
    found = {shape(pattern).split("→")[1]: pattern for pattern in answer["patterns"]}
    whole = found.get("svc-front(svc-one,svc-two)")
    if not check("each request's path is found", whole is not None, (sorted(found), notes)):
        return
    check("nearly all of them whole", whole["count"] >= REQUESTS * 0.9, whole["count"])
    below = {child["node"]: child["latency_ns"] for child in whole["root"]["children"]}
    check("a service takes what it takes", below["svc-one"] >= 20_000_000 and below["svc-two"] >= 4_000_000, below)
    check("one after the other", whole["root"]["latency_ns"] >= sum(below.values()), whole["root"])
    with open(out, encoding="utf-8") as file:
        lines = file.read().splitlines()
    ops = {line.split()[1] for line in lines}
    equal("both ends are told", sorted(ops), ["CALL_RCVD", "CALL_SENT", "RET_RCVD", "RET_SENT"])
    check("with thread and connection", all("thread=" in line and "conn=" in line for line in lines))
    again = subprocess.run([WHEREFORE, "paths", out, "--format", "json"], capture_output=True, text=True, timeout=60)
    equal("the file says the same", json.loads(again.stdout)["patterns"], answer["patterns"])


def processes_apart():
    port = free_port()
    service = start("svc-one", port, [], 0.001)
    try:
        wait_for(lambda: listening(port), 60)
        watch = watching("--pid", str(service.pid), "--by", "pid", "--for", "30s")
        if watch is None:
            return
        ask(port, 5)
        watch.send_signal(signal.SIGINT)
        answer = json.loads(watch.communicate(timeout=60)[0])
    finally:
        service.kill()
        service.wait()
    equal("--by pid tells processes apart, and who is not watched is an address",
          [shape(pattern) for pattern in answer["patterns"]], [f"127.0.0.1→svc-one/{service.pid}"])


def refused():
    for arguments, what in ((["--port", "70000"], "70000"), (["--pid", "2147483647"], "no such process"),
                            (["--for", "soon"], "soon"), (["--by", "thread"], "thread"),
                            (["--locks", "--pid", "1", "--port", "80"], "--port"),
                            (["--out", "/nowhere/there/x", "--for", "1s"], "/nowhere/there/x")):
        done = subprocess.run([WHEREFORE, "watch", *arguments], capture_output=True, text=True, timeout=60)
        check(f"watch {' '.join(arguments)}: refused, and {what} is named",
              done.returncode in (2, 3) and what in done.stderr and done.stdout == "",
              (done.returncode, done.stderr))


if os.geteuid() == 0:
    run(paths_of_processes, processes_apart, refused)
else:
    print("skip messages of processes are watched # BPF needs root")
