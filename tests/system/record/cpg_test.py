#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""`wherefore cpg F ...` on files that were written by the format's description, and on recordings of real programs: the
answers' keys, order and exit codes are a contract."""
import sys
import xml.dom.minidom

sys.path.insert(1, sys.path[0] + "/../../lab")
from cpg_file import DATA, SCHEDULE, CpgFile
from harness import *

FOLDER = tempfile.mkdtemp(prefix="wherefore-cpg-")
atexit.register(shutil.rmtree, FOLDER, True)


def cpg(*arguments):
    done = subprocess.run([WHEREFORE, "cpg", *map(str, arguments)], capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def answer(*arguments):
    code, out, err = cpg(*arguments, "--format", "json")
    if code != 0:
        raise AssertionError(f"{arguments}: exit {code}: {err}")
    return json.loads(out)


def path_of(name):
    return os.path.join(FOLDER, name)


def figure_one(first):
    """Two threads, x on page 16 and y on page 17, one lock: thread `first` gets it first."""
    file = CpgFile().start(0).create(0, 1).create(0, 2)
    for thread in (first, 3 - first):
        file.lock(thread, "m", wait=5 if thread != first else 0)
        file.reads(thread, 16 + thread % 2).writes(thread, 17 - thread % 2)
        file.unlock(thread, "m")
    for thread in (1, 2):
        file.end(thread).join(0, thread)
    return file.end(0, "exit")


def figure_one_in_both_orders():
    for first in (1, 2):
        second = 3 - first
        graph = answer(figure_one(first).write(path_of(f"figure{first}.cpg")), "graph")
        lock = next(o["id"] for o in graph["objects"] if o["kind"] == "mutex")
        edges = [(e["from"], e["to"]) for e in graph["edges"] if e["kind"] == "sync" and e["object"] == lock]
        check(f"figure 1: the lock went from thread {first} to thread {second}", edges == [(f"{first}.1", f"{second}.1")],
              graph["edges"])
        data = [(e["from"], e["to"], e["pages"], e["granularity"]) for e in graph["edges"] if e["kind"] == "data"]
        check(f"figure 1: what thread {first} wrote, thread {second} read",
              data == [(f"{first}.1", f"{second}.1", 1, "page")], data)
        clocks = {s["id"]: s["clock"] for s in graph["sub_computations"]}
        check(f"figure 1: clocks, thread {first} first", clocks[f"{second}.1"][first] == 2 and clocks[f"{first}.1"][second] == 0,
              clocks)


def the_graph_is_as_the_contract_says():
    path = path_of("graph.cpg")
    file = figure_one(1)
    file.name(0, "prog")
    file.write(path)
    graph = answer(path, "graph", "--pages")
    check("graph: keys in their order", list(graph) == ["version", "depth", "complete", "started_unix_ns", "threads", "objects",
                                                        "sub_computations", "edges", "inputs", "outputs"], list(graph))
    check("graph: version, depth, complete, start", (graph["version"], graph["depth"], graph["complete"], graph["started_unix_ns"])
          == (1, ["schedule", "data"], True, 1_700_000_000_000_000_000))
    check("graph: threads", graph["threads"][0] == {"id": 0, "parent": None, "name": "prog"} and
          [t["parent"] for t in graph["threads"]] == [None, 0, 0], graph["threads"])
    sub = next(s for s in graph["sub_computations"] if s["id"] == "2.0")
    check("graph: a sub-computation's keys", list(sub) == ["id", "thread", "index", "clock", "start_ns", "end_ns", "wait_ns", "sync",
                                                           "reads", "writes", "read_pages", "write_pages"], list(sub))
    check("graph: it ended by the call that it waited in", sub["sync"]["op"] == "pthread_mutex_lock" and sub["wait_ns"] == 5, sub)
    check("graph: a site's keys", list(sub["sync"]["site"]) == ["function", "file", "line", "module", "offset"], sub["sync"])
    one = next(s for s in graph["sub_computations"] if s["id"] == "2.1")
    check("graph: what is written is read too", one["read_pages"] == ["0x10000", "0x11000"] and one["write_pages"] == ["0x11000"]
          and (one["reads"], one["writes"]) == (2, 1), one)
    keys = [(tuple(map(int, e["from"].split("."))), tuple(map(int, e["to"].split("."))), e["kind"], e.get("object", 0))
            for e in graph["edges"]]
    check("graph: edges sorted by from, to, kind, object", keys == sorted(keys), keys)
    order = [(s["thread"], s["index"]) for s in graph["sub_computations"]]
    check("graph: sub-computations sorted by thread, index", order == sorted(order))
    data = next(e for e in graph["edges"] if e["kind"] == "data")
    check("graph: --pages lists an edge's pages", data["page_list"] == ["0x10000"], data)
    bare = answer(path, "graph")
    check("graph: without --pages no lists", "read_pages" not in bare["sub_computations"][0] and
          all("page_list" not in e for e in bare["edges"]))
    last = [s for s in graph["sub_computations"] if s["thread"] == 0][-1]
    check("graph: main ended the process", last["sync"]["op"] == "exit" and last["sync"]["object"] is None, last)
    join = next(s for s in graph["sub_computations"] if s["sync"]["op"] == "pthread_join")
    objects = {o["id"]: o for o in graph["objects"]}
    check("graph: the object of a join is the thread", objects[join["sync"]["object"]]["kind"] == "thread", join)


def schedule_depth_has_no_pages():
    path = CpgFile(SCHEDULE).start(0).lock(0, "m").end(0, "exit").write(path_of("schedule.cpg"))
    graph = answer(path, "graph")
    check("schedule: no reads and writes", "reads" not in graph["sub_computations"][0] and graph["depth"] == ["schedule"])
    for words in (["lineage", "--of", "stdout"], ["races"], ["pages"], ["layout", "--nodes", "2"], ["graph", "--pages"]):
        code, out, err = cpg(path, *words)
        check(f"schedule: {words[0]} {' '.join(words[1:])} exits 2 and says how to record data",
              code == 2 and out == "" and "--data" in err, (code, out, err))


def an_unfinished_file():
    file = CpgFile().start(0).create(0, 1).lock(1, "m")
    path = file.write(path_of("unfinished.cpg"), end=False)
    graph = answer(path, "graph")
    ends = {s["id"]: (s["end_ns"], s["sync"]["op"]) for s in graph["sub_computations"]}
    check("unfinished: not complete, and what ran was killed", graph["complete"] is False and ends["1.1"] == (None, "killed"), ends)
    whole = file.bytes()
    for size in range(40, len(whole), 61):
        with open(path, "wb") as cut:
            cut.write(whole[:size])
        code, out, err = cpg(path, "summary", "--format", "json")
        if code != 0 or json.loads(out)["complete"]:
            check(f"unfinished: cut off at {size}", False, (code, out, err))
            return
    check("unfinished: cut off anywhere it is read", True)
    for content, what in ((b"", "empty"), (b"{}", "another format"), (whole[:20], "cut in its head"),
                          (whole[:8] + b"\2" + whole[9:], "newer")):
        with open(path, "wb") as bad:
            bad.write(content)
        code, out, err = cpg(path, "summary")
        check(f"unfinished: a file that is {what} exits 2", code == 2 and out == "" and path in err, (code, err))
    code, out, err = cpg(path_of("nowhere.cpg"), "summary")
    check("unfinished: no file exits 2", code == 2 and "nowhere.cpg" in err, (code, err))


def order():
    path = figure_one(1).write(path_of("order.cpg"))
    check("order: before, with its path", answer(path, "order", "1.0", "2.2") ==
          {"a": "1.0", "b": "2.2", "relation": "before", "path": ["1.0", "1.1", "2.1", "2.2"]}, answer(path, "order", "1.0", "2.2"))
    check("order: after, with the path from the earlier", answer(path, "order", "2.1", "0.0") ==
          {"a": "2.1", "b": "0.0", "relation": "after", "path": ["0.0", "0.1", "2.0", "2.1"]}
          or answer(path, "order", "2.1", "0.0")["path"] == ["0.0", "1.0", "1.1", "2.1"], answer(path, "order", "2.1", "0.0"))
    check("order: concurrent", answer(path, "order", "1.0", "2.0") == {"a": "1.0", "b": "2.0", "relation": "concurrent", "path": []})
    check("order: the same", answer(path, "order", "1.0", "1.0") == {"a": "1.0", "b": "1.0", "relation": "same", "path": ["1.0"]})
    check("order: not in the recording exits 1", cpg(path, "order", "1.0", "7.0")[0] == 1 and cpg(path, "order", "1.9", "1.0")[0] == 1)
    check("order: no name of a sub-computation exits 2", cpg(path, "order", "1.0", "x")[0] == 2 and cpg(path, "order", "1.0")[0] == 2)
    check("order: an unknown question exits 2", cpg(path, "colour")[0] == 2 and cpg(path)[0] == 2)


def lineage():
    file = CpgFile().start(0).transfer(0, "/data/a:1", 0, 10).writes(0, 5).create(0, 1)
    file.transfer(1, "stdin", 0, 20).writes(1, 6)
    file.reads(0, 5).reads(0, 6).transfer(0, "stdout", 0, 7, output=True).transfer(0, "arg:1", 0, 3)
    file.transfer(0, "stdout", 7, 9, output=True).crash(0, 11).end(1).end(0, "killed")
    path = file.write(path_of("lineage.cpg"))
    got = answer(path, "lineage", "--of", "stdout:0-7")
    check("lineage: of an output's bytes", got == {
        "sources": [{"kind": "file", "name": "/data/a:1", "ranges": [[0, 10]], "unordered": False},
                    {"kind": "stdin", "name": "stdin", "ranges": [[0, 20]], "unordered": True}],
        "sub_computations": [{"id": "0.0", "unordered": False}, {"id": "0.1", "unordered": False},
                             {"id": "1.0", "unordered": True}]}, got)
    got = answer(path, "lineage", "--of", "stdout", "--ordered")
    check("lineage: --ordered omits what nothing orders", [s["name"] for s in got["sources"]] == ["/data/a:1", "arg:1"] and
          [s["id"] for s in got["sub_computations"]] == ["0.0", "0.1"], got)
    got = answer(path, "lineage", "--from", "/data/a:1:0-1")
    check("lineage: --from tells sinks", got == {
        "sinks": [{"kind": "stdout", "name": "stdout", "ranges": [[0, 9]], "unordered": False}],
        "sub_computations": [{"id": "0.0", "unordered": False}, {"id": "0.1", "unordered": False}]}, got)
    got = answer(path, "lineage", "--address", "0x5008")
    check("lineage: of memory", [s["name"] for s in got["sources"]] == ["/data/a:1"] and got["memory"]["page"] == "0x5000", got)
    got = answer(path, "lineage", "--address", "0x6000", "--at", "0.0")
    check("lineage: --at looks earlier", got["sub_computations"] == [], got)
    got = answer(path, "lineage", "--crash")
    check("lineage: of what crashed", [s["id"] for s in got["sub_computations"]] == ["0.0", "0.1", "1.0"] and
          got["crash"]["signal"] == 11, got)
    for words in (["--of", "/nowhere"], ["--of", "stdout:100-200"], ["--address", "0x99000"], ["--address", "no_such_variable"],
                  ["--address", "0x5000", "--at", "9.9"], ["--from", "stdout"]):
        code, out, err = cpg(path, "lineage", *words)
        check(f"lineage: {' '.join(words)} is not in the recording, exit 1", code == 1 and out == "" and err, (code, out, err))
    for words in ([], ["--of", "stdout", "--from", "stdin"], ["--of", "stdout", "--at", "0.0"], ["--address", "0xzz"]):
        check(f"lineage: {' '.join(words) or 'of nothing'} is no question, exit 2", cpg(path, "lineage", *words)[0] == 2)
    path = figure_one(1).write(path_of("fine.cpg"))
    check("lineage: --crash of what did not crash exits 1", cpg(path, "lineage", "--crash")[0] == 1)


def races():
    file = CpgFile().start(0).create(0, 1).create(0, 2)
    file.writes(1, 9, 10).reads(2, 9).writes(2, 11).lock(1, "m").writes(1, 9)
    path = file.write(path_of("races.cpg"))
    got = answer(path, "races")
    check("races: one for each page and pair of threads", got == {"races": [
        {"page": "0x9000", "symbol": None, "a": "1.0", "b": "2.0", "a_access": "write", "b_access": "read", "pairs": 2}]}, got)
    check("races: none where a lock orders", answer(figure_one(2).write(path_of("ordered.cpg")), "races") == {"races": []})


def summary_and_pages():
    path = figure_one(1).write(path_of("summary.cpg"))
    got = answer(path, "summary")
    graph = answer(path, "graph")
    kinds = {kind: sum(e["kind"] == kind for e in graph["edges"]) for kind in ("control", "sync", "data")}
    check("summary: counts what the graph has", got["threads"] == 3 and got["sub_computations"] == len(graph["sub_computations"]) and
          got["edges"] == kinds and got["complete"] is True, (got, kinds))
    check("summary: its first keys", list(got)[:4] == ["threads", "sub_computations", "edges", "complete"], list(got))
    code, out, _ = cpg(path, "pages", "--format", "csv")
    check("pages: csv", code == 0 and out == "page,symbol,thread,reading,writing\n0x10000,,1,1,1\n0x10000,,2,1,0\n"
          "0x11000,,1,1,0\n0x11000,,2,1,1\n", out)
    for words in (["pages"], ["graph"]):
        code, out, _ = cpg(path, *words, "--format", "svg")
        check(f"{words[0]}: svg is well formed", code == 0 and xml.dom.minidom.parseString(out).documentElement.tagName == "svg")
    got = answer(path, "layout", "--nodes", "2")
    shares = got["remote_share"]
    check("layout: the proposal is no worse", shares["proposed"] <= min(shares["first_touch"], shares["interleaved"]) and
          len(got["threads"]) == 3 and {p["node"] for p in got["pages"]} <= {0, 1}, got)
    with open(path_of("distances"), "w") as file:
        file.write("10 30\n30 10\n")
    check("layout: with distances", answer(path, "layout", "--nodes", "2", "--distances", path_of("distances"))
          ["mean_distance"]["proposed"] >= 10)
    check("layout: distances for another number of nodes exit 2", cpg(path, "layout", "--nodes", "3", "--distances",
                                                                      path_of("distances"))[0] == 2)
    check("layout: without --nodes exits 2", cpg(path, "layout")[0] == 2)
    check("formats that there are not exit 2", cpg(path, "order", "0.0", "0.1", "--format", "svg")[0] == 2 and
          cpg(path, "graph", "--format", "csv")[0] == 2)


def programs_get_json():
    path = figure_one(1).write(path_of("json.cpg"))
    for words in (("summary",), ("order", "0.0", "1.0"), ("races",), ("lineage", "--address", "0x10000"), ("graph",)):
        code, out, err = cpg(path, *words)
        check(f"{words[0]} into a pipe is JSON", code == 0 and isinstance(json.loads(out), dict), (out, err))


def text_fits_a_terminal():
    path = figure_one(1).write(path_of("text.cpg"))
    for words in (["graph"], ["order", "1.0", "2.2"], ["races"], ["summary"], ["pages"], ["layout", "--nodes", "2"],
                  ["snapshots"], ["lineage", "--address", "0x10000"]):
        code, out, err = cpg(path, *words, "--format", "text")
        check(f"text: {' '.join(words)} fits 100 columns", code == 0 and out and max(map(len, out.split("\n"))) <= 100, (out, err))


def drawings_of_large_graphs_ask_for_less():
    file = CpgFile(SCHEDULE).start(0).create(0, 1)
    for _ in range(1300):
        file.lock(0, "a").unlock(0, "a").lock(1, "a").unlock(1, "a")
    path = file.write(path_of("large.cpg"))
    for form in ("dot", "svg"):
        code, out, err = cpg(path, "graph", "--format", form)
        check(f"large: {form} asks for --thread, --window or --around", code == 2 and out == "" and
              all(word in err for word in ("--thread", "--window", "--around")), (code, err))
        for words in (["--thread", "1"], ["--window", "0-10000"], ["--window", "0us-10us"], ["--around", "1.600"]):
            code, out, err = cpg(path, "graph", "--format", form, *words)
            check(f"large: {form} with {' '.join(words)}", code == 0 and len(out) > 1000, (code, err))
    graph = answer(path, "graph", "--around", "1.600")
    check("large: --around holds its centre", any(s["id"] == "1.600" for s in graph["sub_computations"]) and
          {e["from"] for e in graph["edges"]} <= {s["id"] for s in graph["sub_computations"]})
    check("large: json is not bounded", len(answer(path, "graph")["sub_computations"]) == 5202 + 1)
    check("large: --thread that there is not exits 1", cpg(path, "graph", "--thread", "7")[0] == 1)
    check("large: a window that is none exits 2", cpg(path, "graph", "--window", "5-")[0] == 2)


def snapshots():
    file = CpgFile().start(0).create(0, 1).lock(1, "m").unlock(1, "m").snapshot(1, 0)
    middle = file.now
    file.lock(0, "m").unlock(0, "m").snapshot(2, middle).lock(1, "m")
    path = file.write(path_of("snapshots.cpg"))
    got = answer(path, "snapshots")["snapshots"]
    check("snapshots: numbers and times", [(s["n"], s["start_ns"], s["end_ns"]) for s in got] ==
          [(1, 0, middle), (2, middle, middle + 20)], got)
    graph = answer(path, "graph")
    clocks = {(s["thread"], s["index"]): s["clock"] for s in graph["sub_computations"]}
    check("snapshots: each cut is consistent", all(
        clocks[t, i][u] <= one["cut"][u] for one in got for t, k in enumerate(one["cut"]) for i in range(k)
        for u in range(len(one["cut"]))), got)
    part = answer(path, "graph", "--snapshot", "1")
    check("snapshots: a question about one", [len([s for s in part["sub_computations"] if s["thread"] == t])
                                              for t in range(2)] == got[0]["cut"], (part["sub_computations"], got))
    check("snapshots: one that there is not exits 1", cpg(path, "graph", "--snapshot", "9")[0] == 1)


def large_files_are_read_in_time():
    """10^5 sub-computations and 10^3 pages; anything quadratic would take minutes."""
    threads, rounds = 8, 6000
    file = CpgFile().start(0)
    for child in range(1, threads):
        file.create(0, child)
    draw = random.Random(8)
    for i in range(rounds):
        for t in range(threads):
            file.pages(t, (1000 + draw.randrange(1000), 1 + draw.randrange(8)), written=draw.random() < 0.3)
            file.lock(t, f"m{draw.randrange(4)}")
            if i % 2:
                file.cut(t, "fork")
    path = file.write(path_of("big.cpg"))
    begin = time.monotonic()
    got = answer(path, "summary")
    took = time.monotonic() - begin
    check(f"big: summary of {got['sub_computations']} sub-computations took {took:.1f} s", got["sub_computations"] > 70000 and
          got["edges"]["data"] > 50000 and took < 60, got)


def recorded_figure_one():
    """The same, of a program that really ran: both orders of the lock are forced."""
    program = path_of("figure_one")
    subprocess.run(["cc", "-g", "-O1", os.path.join(SOURCE, "tests/targets/cpg_figure_one.c"), "-o", program, "-lpthread"], check=True,
                   timeout=60)
    for first in (1, 2):
        second = 3 - first
        path = path_of(f"recorded{first}.cpg")
        done = subprocess.run([WHEREFORE, "record", "-o", path, "--", program, str(first)], capture_output=True, timeout=60)
        check(f"recorded: the program ran, thread {first} first", done.returncode == 0 and done.stdout == (b"1 2\n" if first == 1
                                                                                                      else b"1 0\n"), done)
        graph = answer(path, "graph")
        lock = [o["id"] for o in graph["objects"] if o["kind"] == "mutex" and o["symbol"] == "lock"]
        edges = [(e["from"], e["to"]) for e in graph["edges"] if e["kind"] == "sync" and e["object"] in lock]
        check(f"recorded: the lock went from thread {first} to thread {second}", len(lock) == 1 and
              edges == [(f"{first}.1", f"{second}.1")], (lock, graph["edges"]))
        site = next(s for s in graph["sub_computations"] if s["id"] == "1.0")["sync"]["site"]
        check("recorded: the call's place", site["function"] == "first" and site["file"].endswith("cpg_figure_one.c") and
              site["line"] == 21 and site["module"] == program and site["offset"] > 0, site)
        check("recorded: the order of the critical sections", answer(path, "order", "1.1", "2.1")["relation"] ==
              ("before" if first == 1 else "after"))
        subs = {(s["thread"], s["index"]): s["clock"] for s in graph["sub_computations"]}
        wrong = [(a, b) for a in subs for b in subs if a != b and
                 (subs[b][a[0]] > a[1]) != all(x <= y for x, y in zip(subs[a], subs[b]))]
        check("recorded: one entry of a clock says what all do", not wrong, wrong)


run(recorded_figure_one, figure_one_in_both_orders, the_graph_is_as_the_contract_says, schedule_depth_has_no_pages, an_unfinished_file, order, lineage,
    races, summary_and_pages, programs_get_json, text_fits_a_terminal, drawings_of_large_graphs_ask_for_less, snapshots,
    large_files_are_read_in_time)
