#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""`wherefore paths`: messages become path patterns with delays of each step, assignments of calls to their causes, and,
where the truth is known, how right they are. A second implementation of the measures (bench/path_metrics.py) must agree."""
import random
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

sys.path.insert(0, os.path.join(SOURCE, "bench"))
import path_metrics  # noqa: E402


def paths(*arguments, stdin=None):
    done = subprocess.run([WHEREFORE, "paths", *map(str, arguments)], input=stdin, capture_output=True, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def answer(*arguments, stdin=None):
    code, out, err = paths(*arguments, "--format", "json", stdin=stdin)
    if code != 0:
        raise AssertionError(f"exit {code}: {err}")
    return json.loads(out)


def rows_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def text_of(sightings):
    """[(time in ns, op, sender, receiver, id[, keys])…] as message text, in order of time."""
    return "".join(f"{t // SECOND}.{t % SECOND:09} {op} {' '.join(map(str, rest))}\n" for t, op, *rest in sorted(sightings))


def call(sightings, at, until, caller, callee, identity, *keys):
    sightings.append((at, "CALL", caller, callee, identity, *keys))
    sightings.append((until, "RET", callee, caller, identity, *keys))


FIGURE_2 = """# Aguilera et al., figure 2
1 CALL A B x
3 CALL B C y
5 RET C B y
7 CALL B D z
9 RET D B z
11 RET B A x
"""


def tree(node):
    below = [tree(child) for child in node["children"]]
    return node["node"] + (f"({' '.join(below)})" if below else "")


def figure_2():
    file = write("figure2.txt", FIGURE_2)
    assignments = folder("assignments.jsonl")
    got = answer(file, "--algorithm", "nesting", "--assignments", assignments)
    equal("figure 2: counts", (got["algorithm"], got["messages"], got["calls"], got["parallelism"]), ("nesting", 6, 3, 1.0))
    equal("figure 2: nothing left over", got["unassigned"], {"calls": 0, "returns": 0, "msgs": 0})
    pattern = got["patterns"][0]
    leaf = {"latency_ns": 2 * SECOND, "steps_ns": [2 * SECOND], "children": []}
    equal("figure 2: the tree with its steps", (pattern["client"], pattern["root"]), ("A", {
        "node": "B", "latency_ns": 10 * SECOND, "call_delay_ns": 0, "steps_ns": [2 * SECOND] * 3,
        "children": [{"node": "C", "call_delay_ns": 2 * SECOND, **leaf}, {"node": "D", "call_delay_ns": 6 * SECOND, **leaf}]}))
    equal("figure 2: sums", (pattern["count"], pattern["total_latency_ns"], pattern["latency_ns"]),
          (1, 10 * SECOND, {"mean": 10 * SECOND, "p50": 10 * SECOND, "p99": 10 * SECOND}))
    equal("figure 2: nothing omitted", got["omitted"], {"patterns": 0, "count": 0})
    equal("assignments are by line, comments counted", [(r["call"], r["parent"], r["p"]) for r in rows_of(assignments)],
          [(2, None, 1), (3, 2, 1), (5, 2, 1)])
    linked = answer(file, "--algorithm", "linking")
    equal("linking finds the same", [tree(p["root"]) for p in linked["patterns"]], ["B(C D)"])


def paper_metrics():
    """Truth A→B→C→D twice; of the second the return of B→C is lost."""
    text = "".join(f"{t} {op}\n" for t, op in [
        (1, "CALL A B 1"), (2, "CALL B C 1"), (3, "CALL C D 1"), (4, "RET D C 1"), (5, "RET C B 1"), (6, "RET B A 1"),
        (11, "CALL A B 2"), (12, "CALL B C 2"), (13, "CALL C D 2"), (14, "RET D C 2"), (16, "RET B A 2")])
    truth = "".join(json.dumps({"call": c, "parent": p}) + "\n" for c, p in
                    [(1, None), (2, 1), (3, 2), (7, None), (8, 7), (9, 8)])
    assignments = folder("assignments.jsonl")
    got = answer(write("trace.txt", text), "--algorithm", "nesting", "--truth", write("truth.jsonl", truth),
                 "--assignments", assignments)
    a = got["accuracy"]
    equal("patterns: 0 FN, 2 FP", (a["patterns"]["false_negative"], a["patterns"]["false_positive"]), (0, 2))
    equal("instances: 1 FN, 2 FP", (a["instances"]["false_negative"], a["instances"]["false_positive"]), (1, 2))
    equal("messages: 3 of 6 wrong", (a["messages"]["wrong"], a["messages"]["of"]), (3, 6))
    equal("one of two traces came out whole", (a["traces"]["right"], a["traces"]["of"]), (1, 2))
    equal("the lost return is counted", got["unassigned"], {"calls": 1, "returns": 0, "msgs": 0})
    equal("its call is marked", [r["call"] for r in rows_of(assignments) if r.get("unpaired")], [8])
    code, out, _ = paths(write("trace.txt", text), "--algorithm", "nesting", "--truth", write("truth.jsonl", truth))
    check("the text says how right it is", code == 0 and "traces correct as a whole" in out and "50.0%" in out, out)


def generated(folder_name="generated"):
    """A second of the paper's multi-tier system: (messages, truth)."""
    messages, truth = folder("messages.txt"), folder("truth.jsonl")
    with open(os.path.join(SOURCE, "config/generate/multi-tier.yaml")) as file:
        config = file.read().replace("duration_s: 500", "duration_s: 30")
    done = subprocess.run([WHEREFORE, "generate", write("config.yaml", config), "--seed", "3", "--out", messages,
                           "--truth", truth], capture_output=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode())
    return messages, truth


def measures_agree():
    messages, truth = generated()
    calls = path_metrics.Calls(messages)
    true = path_metrics.Forest(path_metrics.read_rows(truth), calls)
    for algorithm in ("nesting", "linking"):
        assignments = folder("assignments.jsonl")
        got = answer(messages, "--algorithm", algorithm, "--truth", truth, "--assignments", assignments, "--top", 0)
        found = path_metrics.Forest(path_metrics.read_rows(assignments), calls)
        edges, traces = path_metrics.accuracy(true, found)
        fp, fn = path_metrics.instances(true.counts, found.counts)
        a = got["accuracy"]
        close = lambda x, y: abs(x - y) < 1e-9  # noqa: E731
        check(f"{algorithm}: edges and traces agree", close(a["edges"]["share"], edges) and close(a["traces"]["share"], traces),
              (a["edges"], edges, a["traces"], traces))
        check(f"{algorithm}: instances agree", close(a["instances"]["false_positive_rate"], fp) and
              close(a["instances"]["false_negative_rate"], fn), (a["instances"], fp, fn))
        for top in a["top"]:
            border = sorted(true.counts.values(), reverse=True)[top["n"] - 1:top["n"] + 1]
            if len(set(border)) == 1 and len(border) == 2:
                continue  # a tie: which of the two is the true N-th, nobody can say
            wanted = [path_metrics.top_missing(true.counts, found.counts, top["n"], t) for t in (0, 0.02, 0.06)]
            got_top = [top["false_negative_rate"], top["within_2_percent"], top["within_6_percent"]]
            if not all(close(x, y) for x, y in zip(wanted, got_top)):
                equal(f"{algorithm}: top {top['n']} agrees", got_top, wanted)
        equal(f"{algorithm}: as many patterns as the assignments have", len(got["patterns"]), len(found.counts))
        equal(f"{algorithm}: as many paths", sum(p["count"] for p in got["patterns"]), len(found.roots))
        latencies = sorted(calls.returned[r] - calls.sent[r] for r in found.roots)
        equal(f"{algorithm}: total latency", sum(p["total_latency_ns"] for p in got["patterns"]), sum(latencies))
        check(f"{algorithm}: most calls are right", edges > 0.8, edges)


def rare_and_slow():
    """One request in a thousand takes another way, and long."""
    sightings = []
    for i in range(2000):
        at = SECOND + i * 50 * MILLI
        slow = i % 1000 == 500
        call(sightings, at, at + (200 if slow else 20) * MILLI, "client", "web", 10 * i)
        call(sightings, at + 5 * MILLI, at + 10 * MILLI, "web", "cache", 10 * i + 1)
        if slow:
            call(sightings, at + 12 * MILLI, at + 190 * MILLI, "web", "disk", 10 * i + 2)
    got = answer(write("rare.txt", text_of(sightings)), "--algorithm", "nesting", "--sort", "count")
    equal("a pattern of one in a thousand is reported", [(tree(p["root"]), p["count"]) for p in got["patterns"]],
          [("web(cache)", 1998), ("web(cache disk)", 2)])
    equal("and stands among the rare and slow", [(tree(p["root"]), p["count"], p["among"], p["usual_ns"]) for p in got["rare_slow"]],
          [("web(cache disk)", 2, 2000, 20 * MILLI)])
    equal("the node that adds most", got["rare_slow"][0] and got["patterns"][1]["adds_most"]["node"], "disk")
    edges = {(e["from"], e["to"]): e["probability"] for e in got["graph"]["edges"]}
    equal("all paths in one graph", edges, {("client", "web"): 1.0, ("web", "cache"): 1.0, ("web", "disk"): 0.001})
    got = answer(write("rare.txt", text_of(sightings)), "--algorithm", "nesting", "--top", 1, "--sort", "count")
    equal("what --top leaves out is counted", (len(got["patterns"]), got["omitted"]), (1, {"patterns": 1, "count": 2}))


def phases():
    sightings = []
    for i in range(3000):
        at = SECOND + i * 10 * MILLI
        other = 1000 <= i < 1200 and i % 2 == 0
        call(sightings, at, at + 5 * MILLI, "client", "backup" if other else "web", i)
    got = answer(write("phases.txt", text_of(sightings)), "--algorithm", "nesting")
    equal("a pattern of one time only is shown as such", [(p["node"], p["count"]) for p in got["phases"]], [("backup", 100)])


def after_reply():
    sightings = []
    for i in range(100):
        at = SECOND + i * 200 * MILLI
        call(sightings, at, at + 10 * MILLI, "client", "cache", i)
        call(sightings, at + 30 * MILLI, at + 40 * MILLI, "cache", "disk", i)
    file = write("writeback.txt", text_of(sightings))
    got = answer(file, "--algorithm", "nesting")
    equal("a call after the reply belongs to it", [tree(p["root"]) for p in got["patterns"]], ["cache(disk)"])
    equal("and is said to be one", got["patterns"][0]["root"]["children"][0].get("after_reply"), True)
    equal("its time is none of the parent's", got["patterns"][0]["root"]["steps_ns"], [10 * MILLI, 0])
    got = answer(file, "--algorithm", "nesting", "--after-reply", "0s")
    equal("unless it is not wanted", sorted(tree(p["root"]) for p in got["patterns"]), ["cache", "disk"])


def passed_on():
    """A balancer passes requests on, and the server answers the client itself; several are under way at once."""
    random.seed(6)
    common, own = [], []
    for i in range(200):
        asked = SECOND + i * 5 * MILLI
        passed = asked + 2 * MILLI + random.randrange(MILLI)
        answered = passed + 20 * MILLI + random.randrange(5 * MILLI)
        common += [(asked, "CALL", "client", "balancer", i), (passed, "CALL", "balancer", "server", i),
                   (answered, "RET", "server", "client", i)]
        for at, op, *rest in common[-3:]:
            own += [(at, op + "_SENT", *rest), (at + 100_000, op + "_RCVD", *rest)]
    for name, sightings in (("one clock", common), ("both ends", own)):
        file = write("passed-on.txt", text_of(sightings))
        for algorithm in ("nesting", "linking"):
            got = answer(file, "--algorithm", algorithm)
            equal(f"asymmetric replies, {name}, {algorithm}: the server is on the path",
                  [(tree(p["root"]), p["client"], p["count"]) for p in got["patterns"]], [("balancer(server)", "client", 200)])
            equal(f"asymmetric replies, {name}, {algorithm}: nothing is left over",
                  (got["messages"], got["calls"], got["unassigned"]), (600, 400, {"calls": 0, "returns": 0, "msgs": 0}))
            root = got["patterns"][0]["root"]
            took = root["children"][0]["latency_ns"] if root["children"] else 0
            check(f"asymmetric replies, {name}, {algorithm}: with its time", 20 * MILLI < took < 25 * MILLI and
                  2 * MILLI <= root["steps_ns"][0] < 3.5 * MILLI and root["steps_ns"][-1] == 0, root)


def several_inputs():
    """What one file has, two have; places then name the file."""
    random.seed(5)
    first, second, whole = [], [], []
    for i in range(200):
        at = SECOND + i * 15 * MILLI
        jitter = random.randrange(3) * MILLI
        for sightings in (first, whole):
            call(sightings, at, at + 40 * MILLI, "client", "web", i)
        for sightings in (second, whole):
            call(sightings, at + 5 * MILLI + jitter, at + 30 * MILLI, "web", "db", i)
    one, two = write("one.txt", text_of(first)), write("two.txt", text_of(second))
    both, swapped = folder("both.jsonl"), folder("swapped.jsonl")
    got = answer(one, two, "--algorithm", "nesting", "--assignments", both)
    equal("two inputs give what one gives", got["patterns"],
          answer(write("whole.txt", text_of(whole)), "--algorithm", "nesting")["patterns"])
    equal("in any order", answer(two, one, "--algorithm", "nesting", "--assignments", swapped)["patterns"], got["patterns"])
    rows = rows_of(both)
    places = [tuple(map(int, r["call"].split(":"))) for r in rows]
    check("places are K:N, in order", len(rows) == 400 and places == sorted(places) and rows[-1]["call"].startswith("2:"), rows[:3])
    swap = {"1": "2", "2": "1"}
    renamed = {swap[r["call"][0]] + r["call"][1:]: r["parent"] and swap[r["parent"][0]] + r["parent"][1:] for r in rows_of(swapped)}
    equal("parents are the same in any order", renamed, {r["call"]: r["parent"] for r in rows})
    equal("and in any run", paths(one, two, "--algorithm", "nesting")[1], paths(one, two, "--algorithm", "nesting")[1])


def candidates():
    sightings = []
    for i in range(50):
        at = SECOND + i * 10 * MILLI
        call(sightings, at, at + 25 * MILLI, "client", "web", i)
        call(sightings, at + 12 * MILLI, at + 20 * MILLI, "web", "db", i)
    for algorithm in ("nesting", "linking"):
        assignments = folder("assignments.jsonl")
        answer(write("parallel.txt", text_of(sightings)), "--algorithm", algorithm, "--candidates", 5, "--assignments", assignments)
        rows = rows_of(assignments)
        check(f"{algorithm}: others are kept with their probability", any(r["others"] for r in rows) and all(
            abs(r["p"] + sum(o["p"] for o in r["others"]) - 1) < 1e-3 and 0 <= r["p"] <= 1 + 1e-9 for r in rows), rows[:5])
        check(f"{algorithm}: by falling probability", all(
            [o["p"] for o in r["others"]] == sorted((o["p"] for o in r["others"]), reverse=True) for r in rows))


def choice():
    sightings = []
    for i in range(100):
        at = SECOND + i * 100 * MILLI
        call(sightings, at, at + 40 * MILLI, "client", "web", i)
        call(sightings, at + 10 * MILLI, at + 30 * MILLI, "web", "db", i)
    got = answer(write("calls.txt", text_of(sightings)))
    equal("calls that pair: linking", got["algorithm"], "linking")
    check("and it says why", "100.0% of the calls have a return" in got["why"], got["why"])
    few = sightings + [(SECOND + i * 777 * MILLI, "MSG", "web", "log", i) for i in range(20)]
    got = answer(write("few.txt", text_of(few)))
    equal("a few one-way messages are counted and left out", (got["algorithm"], got["unassigned"]["msgs"]), ("linking", 20))
    many = sightings + [(SECOND + i * 77 * MILLI, "MSG", "web", "log", i) for i in range(60)]
    got = answer(write("many.txt", text_of(many)))
    check("more than 5% of them: convolution", got["algorithm"] == "convolution" and "over 5%" in got["why"], got)
    lost = [s for n, s in enumerate(sorted(sightings)) if s[1] == "CALL" or n % 3 == 0]
    got = answer(write("lost.txt", text_of(lost)))
    check("under half of the calls pair: convolution", got["algorithm"] == "convolution" and "under half" in got["why"], got)
    code, out, err = paths(write("many.txt", text_of(many)), "--assignments", folder("a.jsonl"))
    check("convolution has no assignments: refused", code == 2 and out == "" and "linking" in err, err)


def truth_by_path():
    sightings = []
    random.seed(9)
    for i in range(100):
        at = SECOND + i * 10 * MILLI
        begin = at + random.randrange(1, 22 * MILLI)
        call(sightings, at, at + 25 * MILLI, "client", "web", i, f"path=p{i}")
        call(sightings, begin, begin + 2 * MILLI, "web", "db", i, f"path=p{i}")
    truth = write("truth.jsonl", "")
    lines = text_of(sightings).splitlines()
    opened = {}
    with open(truth, "w") as file:
        for number, line in enumerate(lines, 1):
            words = line.split()
            if words[1] == "CALL":
                opened[words[3], words[4]] = number
                parent = opened["web", words[4]] if words[3] == "db" else None
                file.write(json.dumps({"call": number, "parent": parent}) + "\n")
    file = write("paths.txt", text_of(sightings))
    by_file = answer(file, "--algorithm", "nesting", "--truth", truth)["accuracy"]
    by_path = answer(file, "--algorithm", "nesting", "--truth", "path")["accuracy"]
    equal("truth by path= is that of the file", by_path, by_file)
    check("and not all is right", by_file["edges"]["right"] < by_file["edges"]["of"], by_file["edges"])


def window():
    """A window far smaller than the trace: the same patterns."""
    messages, truth = generated()
    whole = answer(messages, "--algorithm", "nesting", "--truth", truth)
    small = answer(messages, "--algorithm", "nesting", "--truth", truth, "--window", 500)
    check("a small window is about as right", abs(small["accuracy"]["edges"]["share"] - whole["accuracy"]["edges"]["share"]) < 0.05,
          (small["accuracy"]["edges"], whole["accuracy"]["edges"]))
    equal("and loses no call", small["accuracy"]["messages"]["of"], whole["accuracy"]["messages"]["of"])
    equal("the most frequent pattern is the same", small["patterns"][0]["id"], whole["patterns"][0]["id"])


def pictures():
    file = write("figure2.txt", FIGURE_2)
    code, out, err = paths(file, "--algorithm", "nesting", "--format", "dot")
    check("dot draws nodes, delays and counts", code == 0 and out.startswith("digraph") and "10.0 s" in out and "6.00 s" in out, out + err)
    code, out, err = paths(file, "--algorithm", "nesting", "--format", "svg")
    check("svg is one", code == 0 and "<svg" in out and "</svg>" in out and ">D</text>" in out, out[-500:] + err)


def refusals():
    code, out, err = paths(write("bad.txt", "1 CALL A B x\n2 SHOUT A B x\n"), "--algorithm", "nesting")
    check("a malformed line is refused with its place", code == 2 and out == "" and "bad.txt:2" in err, err)
    code, out, _ = paths(write("bad.txt", "1 CALL A B x\n2 SHOUT A B x\n3 RET B A x\n"), "--algorithm", "nesting", "--lenient")
    check("or skipped and told", code == 0 and "1 path" in out, out)
    code, out, err = paths(write("t.txt", FIGURE_2), "--algorithm", "guessing")
    check("an unknown algorithm is refused", code == 2 and out == "", err)
    code, out, err = paths(write("t.txt", FIGURE_2), "--truth", write("truth.jsonl", '{"call":2,"parent":null}\n{"call":"x"}\n'))
    check("a bad row of truth is refused with its place", code == 2 and out == "" and "truth.jsonl:2" in err, err)
    code, out, err = paths(write("t.txt", FIGURE_2), "--skew-window", "soon")
    check("a bad duration is refused", code == 2 and out == "" and "--skew-window" in err, err)
    code, out, err = paths(folder("missing.txt"))
    check("a missing file is refused", code != 0 and out == "" and "missing.txt" in err, err)
    got = answer(write("empty.txt", "# nothing\n"))
    equal("no messages, no paths", (got["messages"], got["patterns"]), (0, []))


def width():
    long = "service-with-a-name-that-is-as-long-as-names-in-clusters-are-7f9c6d5b4-x2v9q.namespace.svc.cluster.local"
    sightings = []
    for i in range(30):
        at = SECOND + i * 100 * MILLI
        for depth in range(30):
            call(sightings, at + depth * MILLI, at + 90 * MILLI - depth * MILLI, f"{long}-{depth}", f"{long}-{depth + 1}", i)
    code, out, err = paths(write("deep.txt", text_of(sightings)), "--algorithm", "nesting")
    widest = max(len(line) for line in out.splitlines())
    check("text keeps to 100 columns", code == 0 and widest <= 100, f"{widest} {err}")
    check("the node that adds most is marked", out.count("◀ adds most") == 1, out)


if __name__ == "__main__":
    run(figure_2, paper_metrics, measures_agree, rare_and_slow, phases, after_reply, passed_on, several_inputs, candidates, choice,
        truth_by_path, window, pictures, refusals, width)
