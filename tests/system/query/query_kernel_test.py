#!/usr/bin/env python3
# What woven advice packs in a process linked with libwherefore is there where tracepoints compiled into it, or into the
# next process, unpack: the agent hands the kernel's map over a Unix socket, to a process without any privilege.
# needs: wherefore wherefore_static
# timeout: 180
import array
import atexit
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, Commanded, Server, check, cli, environment, equal, must, run, wait_for, write

HERE = tempfile.mkdtemp(prefix="wherefore-kernel-")
os.chmod(HERE, 0o755)
atexit.register(shutil.rmtree, HERE, True)
TARGET, PLAIN = os.path.join(HERE, "kernel-target"), os.path.join(HERE, "kernel-plain")
NOBODY = 65534


class Target(Commanded):
    def __init__(self, server, name, *more, program=TARGET, **how):
        super().__init__(program, name, server.url, *more, **how)

    def mapped(self):
        with open(f"/proc/{self.process.pid}/maps") as maps:
            return sum("bpf-map" in line for line in maps)


def as_nobody():
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def point(program):
    return {"version": 1, "name": "Order", "locations": [{"exe": program, "function": "Order", "at": "entry"}],
            "exports": {"who": "arg who", "amount": "arg amount"}}


def queries(server):
    return server.get("/api/v1/queries").json["queries"]


class Live:
    """A query that is woven where it should be when it is there."""

    def __init__(self, server, text, mapped, *arguments):
        self.server = server
        self.process = subprocess.Popen(
            [WHEREFORE, "query", text, "--store", server.store, "--format", "json", *(arguments or ("--total",))],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())

        def everywhere():
            found = queries(server)
            return found and all(q["processes"]["told"] == q["processes"]["known"] > 0 for q in found)
        wait_for(everywhere, 30)
        self.ready = wait_for(lambda: all(target.mapped() == 1 for target in mapped), 30)

    def end(self):
        self.cost = queries(self.server)[0]["cost"]
        self.process.send_signal(signal.SIGINT)
        out, self.err = self.process.communicate(timeout=60)
        answers = [json.loads(line) for line in out.splitlines()]
        return answers[0]["rows"] if answers else self.err


def known(server, *names):
    return wait_for(lambda: set(names) <= {t["name"] for t in server.get("/api/v1/tracepoints").json["compiled_in"]}, 30)


def asked(server, target, text, command, *arguments, mapped=None):
    """The rows of a query while the target does something."""
    live = Live(server, text, [target] if mapped is None else mapped, *arguments)
    check("its memory is mapped", live.ready)
    equal("it is done", target.do(command), "done")
    rows = live.end()
    return rows, live


BY_WHO = "GroupBy o.who Select o.who, COUNT, SUM(o.amount)"


def in_the_same_process():
    with Server() as server, Target(server, "front", **as_nobody()) as front:
        must(cli("tracepoints", "define", write("points.json", point(TARGET)), store=server.store))
        known(server, "Front.Done")
        with open(f"/proc/{front.process.pid}/status") as status:
            capabilities = [line.split()[1] for line in status if line.startswith("CapEff")]
        equal("the process has no privilege", [int(c, 16) for c in capabilities], [0])
        rows, _ = asked(server, front, f"From d In Front.Done Join o In Order On o -> d {BY_WHO}", "requests 200 3 4 0")
        equal("what was woven joins what is compiled in", rows, [[f"thread{i}", 600, 1200] for i in range(4)])
        check("nothing stays mapped", wait_for(lambda: front.mapped() == 0, 30))
        rows, _ = asked(server, front, "From d In Front.Done Join o In MostRecent(Order) On o -> d "
                        "GroupBy o.amount, o.procId Select o.amount, o.procId, COUNT", "requests 20 1000 2 0")
        equal("the most recent one of more than there is room for", rows, [[1000, front.process.pid, 40]])
        rows, _ = asked(server, front, "From d In Front.Done Join o In First(Order) On o -> d GroupBy o.amount, o.procName "
                        "Select o.amount, o.procName, COUNT", "requests 20 1000 2 0")
        equal("the first one", rows, [[1, "front", 40]])
        rows, _ = asked(server, front, "From d In Front.Done Join o In Order On o -> d Select COUNT, SUM(d.n)", "many 300")
        equal("threads that come and go", rows, [[300, 0]])
        # Past --max-packed the request is marked, as if all were compiled in.
        live = Live(server, "From d In Front.Done Join o In Order On o -> d GroupBy o.amount Select o.amount, COUNT", [front],
                    "--total", "--max-packed", "5", "--interval", "100ms")
        front.do("requests 1 20 1 0")
        told = wait_for(lambda: queries(server)[0]["cost"]["overflowed"] > 0 and queries(server)[0]["cost"]["hits"] >= 22, 30)
        check("requests past --max-packed are counted", told, lambda: queries(server))
        over = wait_for(lambda: queries(server)[0]["plan"] == "emit" and queries(server)[0]["processes"]["told"] ==
                        queries(server)[0]["processes"]["known"], 30)
        check("and the query goes over to the emit plan", over, lambda: queries(server))
        front.do("requests 10 20 2 0")
        rows = live.end()
        equal("on which no tuple is missing", rows, [[n, 21 if n <= 5 else 20] for n in range(1, 21)])
        check("what advice costs is told", live.cost["advice_ns"] > 0 and live.cost["baggage_bytes_max"] > 0, live.cost)


def in_the_next_process():
    with Server() as server, Target(server, "front", program=PLAIN, **as_nobody()) as front, \
            Target(server, "back", "back", **as_nobody()) as back:
        must(cli("tracepoints", "define", write("points.json", point(PLAIN)), store=server.store))
        known(server, "Back.Work")
        rows, _ = asked(server, front, f"From w In Back.Work Join o In Order On o -> w {BY_WHO}",
                        f"requests 100 3 4 {back.first}")
        equal("what was woven in one process joins what is compiled into the next, by the baggage between them", rows,
              [[f"thread{i}", 300, 600] for i in range(4)])
        check("nothing stays mapped", wait_for(lambda: front.mapped() == 0, 30))
        rows, _ = asked(server, front, "From w In Back.Work Join o In Order On o -> w Select o.who",
                        f"requests 10 3 1 {back.first}", "--count-first", "60s")
        equal("--count-first tells what requests would carry", [row[:3] for row in rows], [[10, 3, 3]])


def strangers():
    with Server() as server, Target(server, "front") as front:
        must(cli("tracepoints", "define", write("points.json", point(TARGET)), store=server.store))
        known(server, "Front.Done")
        live = Live(server, f"From d In Front.Done Join o In Order On o -> d {BY_WHO}", [front])
        name = "\0wherefore-tuples-" + queries(server)[0]["id"]
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
            stranger.settimeout(30)
            stranger.connect(name)
            data, ancillary, _, _ = stranger.recvmsg(65536, socket.CMSG_SPACE(array.array("i").itemsize))
            equal("who is not woven gets nothing", (data, ancillary), (b"", []))
        equal("and the one who is goes on", (front.do("requests 10 1 1 0"), live.end()), ("done", [["thread0", 10, 10]]))


def without_an_agent():
    with Server(None, "--no-agent") as server, Target(server, "front") as front:
        known(server, "Front.Done")
        live = Live(server, "From d In Front.Done Join e In First(Front.Done) On e -> d Select COUNT", [])
        equal("a process without an agent runs as ever", (front.do("requests 10 1 1 0"), live.end()), ("done", []))
        equal("and maps nothing", front.mapped(), 0)


def may_weave():
    with open("/proc/self/status") as status:
        capabilities = int(next(line for line in status if line.startswith("CapEff:")).split()[1], 16)
    return capabilities >> 21 & 1


def build():
    library = os.path.join(os.environ["WHEREFORE_BUILD"], "lib/libwherefore.a")
    for program, *flags in ((TARGET,), (PLAIN, "-DWITHOUT_TRACEPOINTS")):
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-O1", "-g", *flags, "-I", os.path.join(SOURCE, "include"),
                        "-o", program, os.path.join(SOURCE, "tests/targets/query_kernel_target.cc"), library, "-lpthread"],
                       check=True)


build()
if not may_weave():
    print("skip tuples of the kernel # this needs root")
    run(without_an_agent)
run(in_the_same_process, in_the_next_process, strangers, without_an_agent)
