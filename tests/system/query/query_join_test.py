#!/usr/bin/env python3
# Queries joined by happened-before between processes that know nothing of us: the request is followed through their
# threads and sockets.
# needs: wherefore
# timeout: 120
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, check, equal, run, write

HERE = tempfile.mkdtemp(prefix="wherefore-join-")
TARGET = os.path.join(HERE, "join-target")


def definition(name, function, exports, **more):
    return {"version": 1, "name": name, "locations": [{"exe": "join-*", "function": function, "at": "entry"}],
            "exports": exports, **more}


POINTS = write("tracepoints.json", [
    definition("Client.Call", "ClientCall", {"name": "arg name", "number": "arg number"}),
    definition("Client.Done", "ClientDone", {"answer": "arg answer"}),
    definition("Server.Work", "ServerWork", {"number": "arg number"}),
    definition("give", "GiveJob", {"key": "arg0"}, handoff="give"),
    definition("take", "TakeJob", {"key": "arg0"}, handoff="take"),
])


class Process:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([TARGET, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.first = self.process.stdout.readline().strip()

    def go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def done(self):
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.kill()
        self.process.wait()


def asked(text, kind, how, clients, *more, flags=("--total",)):
    """The answer to a query while clients (name, calls) ask one server side by side, and what was told."""
    where = os.path.join(HERE, "socket") if kind == "unix" else "0"
    if kind == "unix" and os.path.exists(where):
        os.unlink(where)
    server = Process("server", "tcp6" if kind == "mixed" else kind, where, how)
    processes = [Process("client", "tcp" if kind == "mixed" else kind, where if kind == "unix" else server.first, *client, *more)
                 for client in clients]
    query = subprocess.Popen([WHEREFORE, "query", text, "--exe", "join-target", "--tracepoint-file", POINTS,
                              "--format", "json", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = ""
    for line in query.stderr:
        told += line
        if line.startswith("woven"):
            break
    for process in processes:
        process.go()
    done = [process.done() for process in processes]
    query.send_signal(signal.SIGINT)
    out, err = query.communicate(timeout=60)
    for process in [server, *processes]:
        process.end()
    if query.returncode != 0 or any(word != "done" for word in done):
        return None, f"{done} {told} {err}"
    return json.loads(out)["rows"], told + err


BY_NAME = ("From w In Server.Work Join c In MostRecent(Client.Call) On c -> w GroupBy c.name "
           "Select c.name, COUNT, SUM(w.number), MAX(c.number)")


def expected(clients):
    return sorted([name, calls, calls * (calls - 1) // 2, calls - 1] for name, calls in clients)


def across_processes():
    clients = [("alice", 500), ("bob", 300), ("carol", 200)]
    for kind, how in (("tcp", "threads"), ("tcp", "loop"), ("unix", "threads"), ("unix", "loop"), ("tcp6", "loop"),
                      ("mixed", "threads")):
        if kind in ("tcp6", "mixed") and not os.path.exists("/proc/net/if_inet6"):
            continue
        rows, told = asked(BY_NAME, kind, how, clients)
        if not equal(f"the server's work by the client's name ({kind}, {how})", rows, expected(clients)):
            print("# " + told.replace("\n", "\n# "))


def each_call_by_its_own():
    rows, _ = asked("From w In Server.Work Join c In MostRecent(Client.Call) On c -> w Where c.number != w.number "
                    "Select COUNT", "tcp", "loop", [("alice", 300), ("bob", 300)])
    equal("each piece of work is joined to the call that caused it", rows, [])
    rows, _ = asked("From w In Server.Work Join c In MostRecent(Client.Call) On c -> w Where c.number = w.number "
                    "Select COUNT", "unix", "threads", [("alice", 300), ("bob", 300)])
    equal("and to one only", rows, [[600]])


def back_to_the_client():
    rows, _ = asked("From d In Client.Done Join w In MostRecent(Server.Work) On w -> d GroupBy w.procId "
                    "Select COUNT, SUM(d.answer), SUM(w.number)", "tcp", "threads", [("alice", 200)])
    equal("what the server packed comes back with its answer", rows, [[200, 39800, 19900]])
    rows, _ = asked("From w In Server.Work Join d In Client.Done On d -> w Select COUNT", "unix", "loop",
                    [("alice", 40)])
    equal("a client that goes on by itself is one request: each call follows all before it", rows, [[780]])
    rows, _ = asked("From w In Server.Work Join c In First(Client.Call) On c -> w GroupBy c.number, c.name "
                    "Select c.name, c.number, COUNT", "tcp", "loop", [("alice", 50), ("bob", 60)])
    equal("the first call of each client", rows, [["alice", 0, 50], ["bob", 0, 60]])


def handed_over():
    clients = [("alice", 200), ("bob", 100)]
    rows, told = asked(BY_NAME, "tcp", "queue", clients)
    if not equal("a request that is handed to a worker is followed there", rows, expected(clients)):
        print("# " + told.replace("\n", "\n# "))


def pipelined():
    rows, _ = asked("From w In Server.Work Join c In MostRecent(Client.Call) On c -> w Select COUNT, SUM(w.number)",
                    "tcp", "threads", [("alice", 500)], "pipelined")
    equal("requests that are sent ahead of answers", rows, [[500, 124750]])
    rows, _ = asked("From w In Server.Work Join c In MostRecent(Client.Call) On c -> w Where c.number = w.number "
                    "Select COUNT", "unix", "threads", [("alice", 500)], "pipelined")
    equal("each by its bytes", rows, [[500]])


def limits_and_counting():
    text = "From w In Server.Work Join d In Client.Done On d -> w Select COUNT"
    rows, told = asked(text, "tcp", "loop", [("alice", 40)], flags=("--total", "--max-packed", "10"))
    equal("past --max-packed the answer is the same", rows, [[780]])
    check("and the request is counted", "wherefore: 1 requests packed more than --max-packed" in told, told)
    rows, told = asked(text, "tcp", "loop", [("alice", 40)])
    check("within it is not", "--max-packed" not in told, told)
    rows, _ = asked("From w In Server.Work Join d In Client.Done On d -> w Select d.answer", "tcp", "loop", [("alice", 40)],
                    flags=("--count-first", "60s"))
    equal("--count-first tells what requests would carry", [(row[0], row[2]) for row in rows], [(39, 39)])


def main():
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-g", "-pthread", "-o", TARGET,
                    os.path.join(SOURCE, "tests/targets/query_join_target.cc")], check=True)
    rows, told = asked(BY_NAME, "tcp", "loop", [("alice", 1)])
    if rows is None and ("BPF" in told or "uprobe" in told or "kernel" in told):
        print(f"skip requests are followed # {told.splitlines()[0]}")
        return
    run(across_processes, each_call_by_its_own, back_to_the_client, handed_over, pipelined, limits_and_counting)


main()
