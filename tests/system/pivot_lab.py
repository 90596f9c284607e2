"""The block store (demo/blocks) under a server that asks it, and what the case studies of Pivot Tracing share."""
import json
import os
import signal
import subprocess
import sys

from harness import WHEREFORE, environment, run, wait_for

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

    def ask(self, queries, *load, **more):
        """The answers to these queries over the whole of a load, and what its clients said."""
        running = [subprocess.Popen([WHEREFORE, "query", text, "--store", self.server.store, "--format", "json", "--total"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
                   for text in queries]
        wait_for(lambda: len(self.server.get("/api/v1/queries").json["queries"]) >= len(queries), 20)
        clients = self.load(*load, **more)
        answers = []
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            out, err = process.communicate(timeout=60)
            if process.returncode != 0:
                raise RuntimeError(f"query: {process.returncode}: {err}")
            answers.append(json.loads(out))
        return answers, clients


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


def where_time_goes(cluster, load, fault):
    """What a slow request (over ten times the median) spends more in than any does (figure 9b), by component and place."""
    median = next(client["p50_ns"] for client in cluster.load(load, fault, seconds=1) if client["client"] == "Hget")
    slow = f" && done.ns > {10 * median}"
    requests = 'From done In RequestComplete Where done.kind = "Hget"{0} Select COUNT'
    queries = [shape.format(which) for shape in (requests, *COMPONENTS.values()) for which in ("", slow)]
    (everyone, few, *answers), _ = cluster.ask(queries, load, fault, seconds=3)
    if not few["rows"]:
        return {}
    more = {}
    for name, usual, slower in zip(COMPONENTS, answers[::2], answers[1::2]):
        of_all = by(usual)
        for where, ns in by(slower).items():
            more[(name, where)] = ns / few["rows"][0][0] - of_all[where] / everyone["rows"][0][0]
    return more


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
