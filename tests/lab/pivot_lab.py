"""The block store (demo/blocks) under a server that asks it, and what the case studies of Pivot Tracing share."""
import json
import math
import os
import signal
import subprocess
import sys
import tempfile

from harness import WHEREFORE, environment, run, wait_for

HOSTS = "ABCDEFGH"
Q1 = "From incr In DataNodeMetrics.incrBytesRead GroupBy incr.host Select incr.host, SUM(incr.delta)"
Q2 = """From incr In DataNodeMetrics.incrBytesRead
    Join cl In First(ClientProtocols) On cl -> incr
    GroupBy cl.procName
    Select cl.procName, SUM(incr.delta)"""
Q3 = "From dnop In DN.DataTransferProtocol GroupBy dnop.host Select dnop.host, COUNT"
Q4 = """From getloc In NN.GetBlockLocations
    Join st In StressTest.DoNextOp On st -> getloc
    GroupBy st.host, getloc.src
    Select st.host, getloc.src, COUNT"""
Q5 = """From getloc In NN.GetBlockLocations
    Join st In StressTest.DoNextOp On st -> getloc
    GroupBy st.host, getloc.replicas
    Select st.host, getloc.replicas, COUNT"""
Q6 = """From DNop In DN.DataTransferProtocol
Join st In StressTest.DoNextOp On st -> DNop
GroupBy st.host, DNop.host
Select st.host, DNop.host, COUNT"""
Q7 = """From DNop In DN.DataTransferProtocol
Join getloc In NN.GetBlockLocations
On getloc -> DNop
Join st In StressTest.DoNextOp On st -> getloc
Where st.host != DNop.host
GroupBy DNop.host, getloc.replicas
Select DNop.host, getloc.replicas, COUNT"""
# §2: all kinds of clients, none so fast that the others starve.
WHO_READS = "FSread4m:1:100,FSread64m:1:300,Hget:2:10,Hscan:1:100,MRsort10g:1:100,MRsort100g:1:100"
# Figure 1c of one stream, and its margins.
CELLS = """From s In {0} Join cl In First(ClientProtocols) On cl -> s
    GroupBy s.host, cl.procName Select s.host, cl.procName, SUM(s.length)"""
ROWS = "From s In {0} Join cl In First(ClientProtocols) On cl -> s GroupBy s.host Select s.host, SUM(s.length)"
COLUMNS = "From s In {0} Join cl In First(ClientProtocols) On cl -> s GroupBy cl.procName Select cl.procName, SUM(s.length)"

BLOCKS = os.path.join(os.path.dirname(os.path.abspath(WHEREFORE)), "wherefore-blocks")


class Cluster:
    """A server, and the block store's processes, which tell it their tracepoints."""

    def __init__(self, server):
        self.server = server
        self.load("Read8k", "none", requests=1)  # now they are known

    def load(self, clients, fault, seconds=30, requests=0):
        """Runs clients to their end; what each of them says."""
        done = subprocess.run(
            [BLOCKS, "up", "--clients", clients, "--fault", fault, "--seconds", str(seconds), "--requests", str(requests),
             "--endpoint", self.server.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
            env=environment())
        if done.returncode != 0:
            raise RuntimeError(f"wherefore-blocks: {done.returncode}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def _during(self, commands, load, more):
        """What these query commands print over the whole of a load, and what its clients said."""
        running = []
        for command in commands:
            printed = tempfile.TemporaryFile("w+")  # nobody reads it while the load runs, and a pipe would fill up
            running.append((printed, subprocess.Popen([WHEREFORE, "query", *command, "--store", self.server.store, "--format", "json"],
                                                      stdout=printed, stderr=subprocess.PIPE, text=True, env=environment())))
        wait_for(lambda: len(self.server.get("/api/v1/queries").json["queries"]) >= len(commands), 20)
        clients = self.load(*load, **more)
        for _, process in running:
            process.send_signal(signal.SIGINT)
        answers = []
        for printed, process in running:
            _, err = process.communicate(timeout=60)
            if process.returncode != 0:
                raise RuntimeError(f"query: {process.returncode}: {err}")
            printed.seek(0)
            answers.append([json.loads(line) for line in printed])
        return answers, clients

    def ask(self, queries, *load, **more):
        """The answers to these queries over the whole of a load, and what its clients said."""
        printed, clients = self._during([[text, "--total"] for text in queries], load, more)
        return [lines[-1] for lines in printed], clients

    def watch(self, queries, *load, interval, **more):
        """The same, interval by interval: those with rows, by time. What came late is with its interval."""
        printed, clients = self._during([[text, "--interval", interval] for text in queries], load, more)
        series = []
        for lines in printed:
            intervals = {}
            for line in lines:
                if line["rows"]:
                    intervals.setdefault(line["start_ns"], {**line, "rows": []})["rows"] += line["rows"]
            series.append([intervals[start] for start in sorted(intervals)])
        return series, clients


def by(answer):
    """The last column by the others."""
    return {(row[0] if len(row) == 2 else tuple(row[:-1])): row[-1] for row in answer["rows"]}


COMPONENTS = {
    "network of a data node": """From done In RequestComplete Join call In Call On call -> done Where done.kind = "Hget"{0}
        && StartsWith(call.service, "data-node") GroupBy call.service Select call.service, SUM(call.ns)""",
    "work of a data node": """From done In RequestComplete Join part In DN.DiskRead On part -> done Where done.kind = "Hget"{0}
        GroupBy part.host Select part.host, SUM(part.ns)""",
    "lock of the name node": """From done In RequestComplete Join part In NN.Locked On part -> done Where done.kind = "Hget"{0}
        GroupBy part.host Select part.host, SUM(part.ns)""",
    "pause of a region server": """From done In RequestComplete Join part In RS.Running On part -> done Where done.kind = "Hget"{0}
        GroupBy part.host Select part.host, SUM(part.ns)""",
}


def time_by_component(cluster, load, fault):
    """Figure 9b: nanoseconds of a request by (component, place): of any, and of a slow one (over ten times the median); and the
    median, how many requests there were and how many slow ones."""
    median = next(client["p50_ns"] for client in cluster.load(load, fault, seconds=1) if client["client"] == "Hget")
    slow = f" && done.ns > {10 * median}"
    requests = 'From done In RequestComplete Where done.kind = "Hget"{0} Select COUNT'
    queries = [shape.format(which) for shape in (requests, *COMPONENTS.values()) for which in ("", slow)]
    (everyone, few, *answers), _ = cluster.ask(queries, load, fault, seconds=3)
    counts = [answer["rows"][0][0] if answer["rows"] else 0 for answer in (everyone, few)]
    split = ({}, {})
    for i, answer in enumerate(answers):
        for where, ns in by(answer).items():
            split[i % 2][(list(COMPONENTS)[i // 2], where)] = ns / counts[i % 2]
    return split[0], split[1], median, *counts


def where_time_goes(cluster, load, fault):
    """What a slow request spends more in than any does, by component and place."""
    any_of_them, slow, *_ = time_by_component(cluster, load, fault)
    return {where: ns - any_of_them[where] for where, ns in slow.items()}


def chi_square_p(value, freedom):
    """The probability of so much or more, by the regularised incomplete gamma function."""
    a, x = freedom / 2, value / 2
    if x <= 0:
        return 1.0
    term = total = 1 / a
    for n in range(1, 10_000):
        term *= x / (a + n)
        total += term
        if term < total * 1e-12:
            break
    return max(0.0, 1 - total * math.exp(-x + a * math.log(x) - math.lgamma(a)))


def choice(matrix):
    """How even the choice between two replicas is, over all pairs of hosts: the probability of so uneven a one."""
    value = freedom = 0
    for i, a in enumerate(HOSTS):
        for b in HOSTS[i + 1:]:
            ab, ba = matrix.get((a, b), 0), matrix.get((b, a), 0)
            if ab + ba > 0:
                value += (ab - ba) ** 2 / (ab + ba)
                freedom += 1
    return chi_square_p(value, freedom)


def run_in_own_network(file, *studies):
    """Runs them where slowing loopback hurts nobody: `file` again, in a network of its own."""
    if sys.argv[1:] == ["inside"]:
        sys.argv.pop()
        run(*studies)
    if os.geteuid() != 0:
        print("skip a slow link is found # no privilege to make network namespaces")
        sys.exit(0)
    inside = f"ip link set lo up mtu 1500 && exec {sys.executable} {os.path.abspath(file)} inside"
    sys.exit(subprocess.run(["unshare", "-n", "sh", "-c", inside], check=False).returncode)
