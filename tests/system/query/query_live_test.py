#!/usr/bin/env python3
# `wherefore query` against a server, `wherefore tracepoints`, `wherefore agent`: a running program is asked through the
# server's own agent and through one beside it; who may; what happens when a client, an agent or the server goes.
# needs: wherefore
# timeout: 240
import atexit
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, Commanded, Server, check, cli, environment, equal, folder, must, request, run, wait_for, write

HERE = tempfile.mkdtemp(prefix="wherefore-live-")
atexit.register(shutil.rmtree, HERE, True)
TARGET = os.path.join(HERE, "live-target")
POINT = {"version": 1, "name": "Meter.Add",
         "locations": [{"exe": TARGET, "function": "Meter::Add", "at": "entry"}],
         "exports": {"delta": "arg delta", "who": "arg who"}}
BY_WHO = "From m In Meter.Add GroupBy m.who Select m.who, COUNT, SUM(m.delta)"


class Target(Commanded):
    def __init__(self):
        super().__init__(TARGET)


def admin(server):
    return {"Authorization": "Bearer " + server.token}


def ask(server, method, path, body=None, token=True):
    body = json.dumps(body) if isinstance(body, dict) else body
    return server.request("http", method, path, body, admin(server) if token else {})


def queries(server):
    return server.get("/api/v1/queries").json["queries"]


def woven(server, target=None):
    """Waits until everybody who is connected has taken all queries over and, of a process that has just begun, until
    the agent has found it."""
    def everywhere():
        found = queries(server)
        return found and all(q["processes"]["known"] > 0 and q["processes"]["told"] == q["processes"]["known"]
                             for q in found) and (target is None or probes(target) > 0)
    return wait_for(everywhere, 30)


class Live:
    """A running `wherefore query`."""

    def __init__(self, server, text, *arguments):
        self.process = subprocess.Popen(
            [WHEREFORE, "query", text, "--store", server.store, "--format", "json", *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())

    def end(self, how=signal.SIGINT):
        if how is not None:
            self.process.send_signal(how)
        out, err = self.process.communicate(timeout=60)
        self.err = err
        return [json.loads(line) for line in out.splitlines()]


def define(server):
    must(cli("tracepoints", "define", write("points.json", POINT), store=server.store))


def tracepoints():
    store = folder()
    file = write("points.json", [POINT, {**POINT, "name": "Other"}])
    equal("defined without a server", cli("tracepoints", "define", file, store=store).out.decode(),
          json.dumps(POINT, separators=(",", ":")) + "\n" +
          json.dumps({**POINT, "name": "Other"}, separators=(",", ":")) + "\n")
    equal("show is as the file", cli("tracepoints", "show", "Meter.Add", store=store).json, POINT)
    wrong = cli("tracepoints", "define", write("bad.json", {**POINT, "locations": [{"at": "noon"}]}), store=store)
    equal("a wrong file is refused", (wrong.code, wrong.out), (2, b""))
    with Server(store, "--no-agent") as server:
        listed = cli("tracepoints", "list", store=store).json
        equal("listed by name", [t["name"] for t in listed["tracepoints"]], ["Meter.Add", "Other"])
        equal("HTTP says the same", server.get("/api/v1/tracepoints").json, listed)
        control = server.get("/api/v1/control").json
        equal("agents are told", [t["name"] for t in control["tracepoints"]], ["Meter.Add", "Other"])
        must(cli("tracepoints", "delete", "Other", store=store))
        equal("an unknown one is no answer", cli("tracepoints", "show", "Meter.Ad", store=store).code, 1)
        check("and the nearest is named", "Meter.Add" in cli("tracepoints", "show", "Meter.Ad", store=store).error["hint"])
        equal("nor is its deletion", cli("tracepoints", "delete", "Other", store=store).code, 1)
        check("agents are told at once", server.get("/api/v1/control").json["version"] != control["version"])
        # A linked process tells what is compiled into it.
        told = {"instance": "i1", "service": "s", "tracepoints": [{"name": "Compiled.in", "exports": ["n"]}]}
        equal("a report is taken", ask(server, "POST", "/api/v1/control/report", told, token=False).status, 200)
        equal("what is compiled in is listed", cli("tracepoints", "list", store=store).json["compiled_in"],
              [{"name": "Compiled.in", "exports": ["n"], "processes": 1}])
        server.stop()
    equal("and remembered", [t["name"] for t in cli("tracepoints", "list", store=store).json["compiled_in"]],
          ["Compiled.in"])


def who_may():
    with Server(None, "--no-agent") as server:
        define(server)
        query = {"query": BY_WHO}
        for method, path, body in (("PUT", "/api/v1/tracepoints/Meter.Add", POINT),
                                   ("DELETE", "/api/v1/tracepoints/Meter.Add", None),
                                   ("POST", "/api/v1/queries", query), ("DELETE", "/api/v1/queries/x", None)):
            equal(f"{method} {path} without token", ask(server, method, path, body, token=False).status, 403)
            wrong = server.request("http", method, path, json.dumps(body) if body else None, {"Authorization": "Bearer no"})
            equal(f"{method} {path} with a wrong one", wrong.status, 403)
        equal("reading needs none", server.get("/api/v1/queries").json, {"queries": []})
        denied = cli("query", BY_WHO, "--server", server.url, "--for", "1s")
        equal("the command says so", (denied.code, denied.error["code"], denied.out), (3, "denied", b""))
        token_file = write("token", server.token + "\n")
        allowed = cli("query", BY_WHO, "--server", server.url, "--token-file", token_file, "--for", "100ms", "--interval", "50ms")
        equal("with --token-file it is allowed", allowed.code, 0)
        allowed = cli("query", "--list", "--server", server.url, "--token-file", os.path.join(server.store, "server.json"))
        equal("server.json is a token file, too", allowed.json, {"queries": []})


def wrong_queries():
    with Server(None, "--no-agent") as server:
        define(server)
        unknown = cli("query", "From m In Meter.Ad Select COUNT", store=server.store)
        equal("an unknown tracepoint", (unknown.code, unknown.out), (2, b""))
        check("names near ones", "Meter.Add" in unknown.error["hint"], unknown)
        equal("a wrong text", cli("query", "From m In", store=server.store).code, 2)
        for flags in (("--interval", "1ms"), ("--interval", "x"), ("--for", "0s"), ("--max-packed", "many"),
                      ("--standing", "--total"), ("--dataset", "calls"), ("--list",)):
            wrong = cli("query", BY_WHO, *flags, store=server.store)
            equal(f"{' '.join(flags)} is refused", (wrong.code, wrong.out), (2, b""))
        equal("removing what is not there", cli("query", "--remove", "x", store=server.store).code, 1)
    nobody = cli("query", BY_WHO, store=folder())
    equal("without a server", (nobody.code, nobody.out), (3, b""))
    check("the next step is told", "serve" in nobody.error["hint"])


def intervals_without_agent():
    with Server(None, "--no-agent") as server:
        define(server)
        lines = must(cli("query", BY_WHO, "--for", "600ms", "--interval", "200ms", store=server.store)).out.splitlines()
        objects = [json.loads(line) for line in lines]
        check("every interval is told", len(objects) >= 3, objects)
        equal("in this form", [list(o) for o in objects[:1]], [["start_ns", "end_ns", "columns", "rows", "lost"]])
        check("one after the other", all(a["end_ns"] == b["start_ns"] for a, b in zip(objects, objects[1:])))
        equal("at multiples of the interval", {o["start_ns"] % 200_000_000 for o in objects}, {0})
        equal("the query is gone", queries(server), [])
        total = must(cli("query", BY_WHO, "--for", "100ms", "--total", store=server.store)).json
        equal("a total is as of --events", (list(total), total["rows"]), (["columns", "rows", "cost", "input"], []))


def counts_exactly():
    with Server() as server, Target() as target:
        define(server)
        live = Live(server, BY_WHO, "--interval", "200ms")
        check("it is woven", woven(server, target), lambda: queries(server))
        target.do("add 4 25000")
        objects = live.end()
        counted = {}
        for one in objects:
            for who, count, delta in one["rows"]:
                counted.setdefault(who, [0, 0])
                counted[who][0] += count
                counted[who][1] += delta
        half = 25000 // 2
        equal("a hundred thousand calls over all intervals", counted,
              {"alice": [4 * half, 4 * half * (half - 1)], "bob": [4 * half, 4 * half * half]})
        equal("nothing was lost", sum(o["lost"] for o in objects), 0)
        equal("Ctrl-C is no error", live.process.returncode, 0)
        total = Live(server, BY_WHO, "--total")
        woven(server, target)
        target.do("add 2 1000")
        answers = total.end(signal.SIGTERM)
        equal("in total", [a["rows"] for a in answers], [[["alice", 1000, 499000], ["bob", 1000, 500000]]])
        equal("of so many events", [(a["input"]["events"], a["cost"]["emitted"] > 0) for a in answers], [(2000, True)])
        equal("both are gone", queries(server), [])


def a_killed_client():
    with Server() as server:
        define(server)
        live = Live(server, BY_WHO, "--interval", "1s")
        wait_for(lambda: queries(server) and queries(server)[0]["listeners"] == 1)
        live.process.kill()
        killed = time.monotonic()
        gone = wait_for(lambda: not server.get("/api/v1/control").json["queries"], 20, every=0.02)
        took = time.monotonic() - killed
        check("the query is taken out within three intervals", gone and took < 3, f"{took:.2f} s")
        live.process.communicate()


def standing():
    store = folder()
    with Server(store) as server, Target() as target:
        define(server)
        told = must(cli("query", BY_WHO, "--standing", "--name", "by who", "--interval", "100ms", "--dataset", "who",
                        store=store)).json
        equal("it has an id and a name", (len(told["id"]), told["name"]), (16, "by who"))
        woven(server, target)
        target.do("add 1 1000")
        hits = wait_for(lambda: queries(server)[0]["cost"]["hits"] == 1000, 30)
        check("its cost is told", hits, lambda: queries(server))
        stored = wait_for(lambda: sum(r.get("COUNT", 0) for r in rows_of(store)) == 1000, 30)
        check("its rows are in the dataset", stored, lambda: rows_of(store))
        equal("the tracepoint cannot go", cli("tracepoints", "delete", "Meter.Add", store=store).code, 2)
        server.stop()
    with Server(store) as server, Target() as target:
        listed = must(cli("query", "--list", store=store)).json["queries"]
        equal("it stands after a restart", [(q["id"], q["name"], q["cost"]["hits"]) for q in listed],
              [(told["id"], "by who", 1000)])
        check("and is woven again", woven(server, target))
        # Two listeners hear the same.
        heard = [[], []]
        threads = [threading.Thread(target=listen, args=(server, told["id"], lines)) for lines in heard]
        for thread in threads:
            thread.start()
        wait_for(lambda: queries(server)[0]["listeners"] == 2)
        target.do("add 1 2000")
        def counted(lines):
            return sum(row[1] for line in list(lines) for row in line["rows"])
        check("every listener hears all of it", wait_for(lambda: [counted(l) for l in heard] == [2000, 2000], 30),
              lambda: heard)
        must(cli("query", "--remove", "by who", store=store))
        for thread in threads:
            thread.join(30)
        check("streams end with the query", not any(thread.is_alive() for thread in threads))
        server.stop()
    with Server(store, "--no-agent") as server:
        equal("removed is removed", queries(server), [])


def rows_of(store):
    answer = cli("dataset", "query", "who", store=store)
    return answer.json["rows"] if answer.code == 0 else []


def listen(server, query, lines):
    connection = http.client.HTTPConnection(*server.address("http"), timeout=60)
    connection.request("GET", f"/api/v1/queries/{query}/stream")
    answer = connection.getresponse()
    name = None
    with contextlib.suppress(OSError, http.client.HTTPException):
        for raw in answer:
            line = raw.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            if line.startswith("data: ") and name == "interval":
                lines.append(json.loads(line[6:]))
    connection.close()


def an_agent_beside():
    with Server(None, "--no-agent") as server, Target() as target:
        define(server)
        log = open(os.path.join(HERE, "agent.log"), "w+")
        token = write("token", server.token)
        agent = subprocess.Popen([WHEREFORE, "agent", "--server", server.url, "--token-file", token],
                                 stdin=subprocess.DEVNULL, stderr=log, env=environment())
        atexit.register(agent.kill)
        live = Live(server, BY_WHO, "--interval", "500ms", "--total")
        wait_for(lambda: queries(server))
        check("the agent has the query", woven(server, target), lambda: open(log.name).read())
        target.do("add 2 1000")
        answers = live.end()
        equal("and reports it", ([[r[1] for r in a["rows"]] for a in answers], live.err), ([[1000, 1000]], ""))

        # It loses the server: what it has woven goes, and comes back with it.
        live = Live(server, BY_WHO, "--interval", "1s")
        wait_for(lambda: queries(server))
        check("a probe is there", woven(server, target))
        os.kill(server.process.pid, signal.SIGSTOP)
        stopped = time.monotonic()
        gone = wait_for(lambda: probes(target) == 0, 20, every=0.02)
        took = time.monotonic() - stopped
        os.kill(server.process.pid, signal.SIGCONT)
        check("a silent server's advice goes within three intervals", gone and took < 3, f"{took:.2f} s")
        check("and comes back with it", wait_for(lambda: probes(target) > 0, 20))
        # kill -9: the kernel takes the probes with the agent.
        agent.kill()
        agent.wait()
        check("and at once with the agent", wait_for(lambda: probes(target) == 0, 5))
        live.end()

        # Advice only from an authenticated server.
        wrong = write("token", "0" * 64)
        agent = subprocess.Popen([WHEREFORE, "agent", "--server", server.url, "--token-file", wrong],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment())
        said = ""
        for line in agent.stderr:
            said += line
            if "prove" in line:
                break
        check("a server that cannot prove the token is not believed", "did not prove" in said, said)
        agent.kill()
        agent.communicate()
        remote = cli("agent", "--server", "http://192.0.2.1:8642", "--store", folder())
        equal("nor one elsewhere without token", (remote.code, remote.error["code"]), (3, "denied"))


def an_agent_that_stops():
    """It says that it goes: the end of a query does not wait for it."""
    with Server(None, "--no-agent") as server, Target() as target:
        define(server)
        live = Live(server, BY_WHO, "--interval", "30s", "--total")
        wait_for(lambda: queries(server))
        agent = subprocess.Popen([WHEREFORE, "agent", "--server", server.url, "--token-file", write("token", server.token)],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        atexit.register(agent.kill)
        check("an agent is known", woven(server, target), lambda: queries(server))
        target.do("add 1 10")
        agent.terminate()
        equal("it stops", agent.wait(30), 0)
        check("and is not waited for", wait_for(lambda: queries(server)[0]["processes"]["known"] == 0, 10),
              lambda: queries(server))
        equal("what it had was reported", [sum(r[1] for r in a["rows"]) for a in live.end()], [10])


LINKED = os.path.join(HERE, "linked-target")


class Linked(Commanded):
    """A process that is linked with libwherefore."""

    def __init__(self, server, name):
        super().__init__(LINKED, name, server.url, env=environment())


def build_linked():
    library = os.path.join(os.environ["WHEREFORE_BUILD"], "lib/libwherefore.a")
    subprocess.run(["c++", "-std=c++17", "-O2", "-I", os.path.join(SOURCE, "include"), "-o", LINKED,
                    os.path.join(SOURCE, "tests/targets/query_linked_target.cc"), library, "-lpthread"], check=True)


def linked_processes():
    build_linked()
    with Server(None, "--no-agent") as server, Linked(server, "one") as one, Linked(server, "two") as two:
        names = wait_for(lambda: sorted(t["name"] for t in server.get("/api/v1/tracepoints").json["compiled_in"]
                                        if t["processes"] == 2) == ["Count", "Enter", "Step"], 30)
        check("processes tell what is compiled into them", names, lambda: server.get("/api/v1/tracepoints").json)
        # Not shorter: a server that is slow for two and a half intervals, on a busy machine, is taken for lost.
        live = Live(server, "From c In Count GroupBy c.procName Select c.procName, COUNT, SUM(c.n)", "--interval", "1s")
        joined = Live(server, "From s In Step Join e In First(Enter) On e -> s GroupBy e.kind Select e.kind, COUNT, "
                              "SUM(s.n)", "--total")
        wait_for(lambda: len(queries(server)) == 2)
        check("both processes have both queries", woven(server), lambda: queries(server))
        one.do("count 1000000")
        two.do("count 1000")
        one.do("requests 100")
        two.do("requests 50")
        objects = live.end()
        counted = {}
        for row in (row for o in objects for row in o["rows"]):
            counted[row[0]] = [a + b for a, b in zip(counted.get(row[0], [0, 0]), row[1:])]
        equal("a million hits over all intervals", counted,
              {"one": [1000000, 1000000 * 999999 // 2], "two": [1000, 1000 * 999 // 2]})
        equal("joined by what happened before", [a["rows"] for a in joined.end()],
              [[["even", 225, 450], ["odd", 225, 450]]])
        check("both are gone", wait_for(lambda: queries(server) == []))
        counting = Live(server, "From s In Step Join e In Enter On e -> s Select e.kind", "--count-first", "60s")
        wait_for(lambda: queries(server))
        woven(server)
        one.do("requests 10")
        answers = counting.end()
        equal("--count-first tells what requests would carry",
              [dict(zip(a["columns"], a["rows"][0]))["tuples_max"] for a in answers if a["rows"]] or counting.err, [1])
        # The server goes: what is woven goes with it, and a new one finds the same.
        standing_query = must(cli("query", "From c In Count Select COUNT", "--standing", "--interval", "200ms",
                                  store=server.store)).json["id"]
        woven(server)
        address = server.facts()["http"]
        server.kill()
        with Server(server.store, "--no-agent", "--http", address) as again:
            found = wait_for(lambda: woven(again) and queries(again)[0]["processes"]["known"] == 2, 30)
            check("processes find a server that comes back", found, lambda: queries(again))
            one.do("count 100")
            check("and report to it", wait_for(lambda: again.get("/api/v1/queries/" + standing_query).json["cost"]["hits"]
                                               >= 100, 30), lambda: queries(again))


def processes_that_go():
    """Neither the end of a query nor its rows wait for a process that has ended."""
    with Server(None, "--no-agent") as server, Linked(server, "stays") as stays, Linked(server, "goes") as goes, \
            Linked(server, "exits") as exits:
        wait_for(lambda: sum(t["processes"] for t in server.get("/api/v1/tracepoints").json["compiled_in"]) == 9, 30)
        live = Live(server, "From c In Count GroupBy c.procName Select c.procName, COUNT", "--interval", "30s", "--total")
        wait_for(lambda: queries(server))
        check("all have the query", woven(server), lambda: queries(server))
        stays.do("count 10")
        goes.do("count 20")
        goes.process.stdin.close()  # it returns from main
        equal("a process ends as ever", goes.process.wait(30), 0)
        exits.do("exit 30")  # it calls exit() with its tracer where it is
        equal("and by exit()", exits.process.wait(30), 0)
        check("the server knows at once", wait_for(lambda: queries(server)[0]["processes"]["known"] == 1, 10),
              lambda: queries(server))
        began = time.monotonic()
        answers = live.end()
        took = time.monotonic() - began
        equal("what they had was reported", [a["rows"] for a in answers], [[["exits", 30], ["goes", 20], ["stays", 10]]])
        # One that neither says that it goes nor that it has reported is waited for: an interval and twice the grace.
        check("the end waits for nobody", took < 15, f"{took:.2f} s")


def probes(target):
    """Breakpoints in the target's code: bytes that differ from the file's."""
    different = 0
    with open(f"/proc/{target.process.pid}/maps") as maps, open(f"/proc/{target.process.pid}/mem", "rb", 0) as memory, \
            open(TARGET, "rb") as file:
        for line in maps:
            words = line.split()
            if words[1] != "r-xp" or words[-1] != TARGET:
                continue
            begin, end = (int(x, 16) for x in words[0].split("-"))
            memory.seek(begin)
            now = memory.read(end - begin)
            file.seek(int(words[2], 16))
            before = file.read(end - begin).ljust(end - begin, b"\0")
            different += sum(a != b for a, b in zip(now, before))
    return different


def a_stopping_server():
    server = Server(None, "--no-agent")
    define(server)
    live = Live(server, BY_WHO, "--interval", "200ms")
    wait_for(lambda: queries(server) and queries(server)[0]["listeners"] == 1)
    equal("a server with listeners stops cleanly", server.stop(), 0)
    live.end(None)
    equal("and its client says so", (live.process.returncode, "server" in live.err), (1, True))


def may_weave():
    with open("/proc/self/status") as status:
        capabilities = int(next(line for line in status if line.startswith("CapEff:")).split()[1], 16)
    return capabilities >> 21 & 1 or (capabilities >> 38 & 1 and capabilities >> 39 & 1)


def build_target():
    subprocess.run(["c++", "-std=c++17", "-O1", "-g", "-o", TARGET,
                    os.path.join(SOURCE, "tests/targets/query_weave_target.cc"), "-lpthread"], check=True)


woven_parts = [counts_exactly, a_killed_client, standing, an_agent_beside, an_agent_that_stops]
if may_weave():
    build_target()
else:
    print("skip live queries of woven processes # no BPF here", flush=True)
    woven_parts = []
run(tracepoints, who_may, wrong_queries, intervals_without_agent, a_stopping_server, linked_processes, processes_that_go,
    *woven_parts)
