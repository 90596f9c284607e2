#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 120
"""`explain --events`: keys and their order, views, exit codes, what-if, retention, extract. The rules themselves are tested
beside the code (src/analysis/provenance)."""
import gzip
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

KEYS = ["delay_ns", "from", "root", "vertices", "edges", "sizes"]
VERTEX = ["id", "type", "node", "tuple", "start_ns", "end_ns", "delay_ns", "self_ns", "functional", "count"]


def event(id, type, node, start, end, *causes, tuple=None, **more):
    return {"id": id, "type": type, "node": node, "tuple": tuple or f"{id}(1)", "start_ns": start, "end_ns": end,
            **({"causes": list(causes)} if causes else {}), **more}


# A request of the shop behind two of maintenance, at a store with one worker.
QUEUE = [
    event("req", "INS", "shop", 0, 10, origin="shop"),
    event("ask", "SND", "shop", 10, 20, "req", tuple="+get(1)", origin="shop", peer="store"),
    event("got", "RCV", "store", 30, 35, "ask", tuple="+get(1)", origin="shop", peer="shop", holds=[]),
    event("m1", "INS", "store", 5, 45, tuple="sweep(1)", origin="maintenance", resource="worker"),
    event("m2", "INS", "store", 45, 85, tuple="sweep(2)", origin="maintenance", resource="worker"),
    event("ans", "DRV", "store", 85, 100, "got", origin="shop", resource="worker", rule="r1"),
]


def lines(*events):
    return "".join(json.dumps(e) + "\n" for e in events)


def explain(path, source, target, *flags):
    return cli("explain", "--events", path, "--from", source, "--to", target, *flags)


def answer():
    path = write("queue.jsonl", lines(*QUEUE))
    got = must(explain(path, "req", "ans")).json
    equal("the contract's keys, in order", list(got), KEYS)
    equal("the question", (got["delay_ns"], got["from"], got["root"]), (100, "req", "ans"))
    by_id = {v["id"]: v for v in got["vertices"]}
    equal("vertices are in the order of time", list(by_id), ["req", "m1", "ask", "got", "ans"])
    equal("keys of one event", list(by_id["ans"]), VERTEX + ["origin", "intervals_ns", "self_intervals_ns"])
    equal("keys of several", list(by_id["m1"]), VERTEX + ["origin", "members"])
    equal("those of maintenance are one", (by_id["m1"]["members"], by_id["m1"]["tuple"], by_id["m1"]["count"]),
          (["m1", "m2"], "sweep", 2))
    equal("… and have half of the delay", (by_id["m1"]["delay_ns"], by_id["m1"]["functional"], by_id["m1"]["origin"]),
          (50, False, "maintenance"))
    equal("transit belongs to RCV", by_id["got"]["self_intervals_ns"], [[20, 35]])
    equal("instants of the last", (by_id["ans"]["intervals_ns"], by_id["ans"]["self_intervals_ns"]), ([[0, 100]], [[85, 100]]))
    equal("edges", [(e["from"], e["to"], e["kind"], e["delay_ns"]) for e in got["edges"]],
          [("req", "ask", "causal", 10), ("m1", "ans", "sequencing", 50), ("ask", "got", "causal", 20), ("got", "ans", "causal", 35)])
    equal("sizes", got["sizes"], {"raw": 6, "nonzero": 6, "pruned": 6, "aggregated": 5})
    single = must(explain(path, "req", "ans", "--no-aggregate")).json
    equal("one by one", [(v["id"], v["delay_ns"]) for v in single["vertices"] if v["id"].startswith("m")], [("m1", 10), ("m2", 40)])
    raw = must(explain(path, "req", "ans", "--raw")).json
    check("raw edges have no delay", all(list(e) == ["from", "to", "kind"] for e in raw["edges"]))
    check("a message is a sequencing edge too", {"from": "ask", "to": "got", "kind": "sequencing"} in raw["edges"])
    equal("gzip is read as well", must(explain(write("queue.jsonl.gz", gzip.compress(lines(*QUEUE).encode())), "req", "ans")).out,
          must(explain(path, "req", "ans")).out)
    equal("from may be to", must(explain(path, "m1", "m1")).json["delay_ns"], 40)


def what_if():
    path = write("queue.jsonl", lines(*QUEUE))
    def then(*flags):
        return must(explain(path, "req", "ans", *[w for f in flags for w in ("--what-if", f)])).json["what_if"]
    equal("the sweeps at half their length", then("sweep=0.5x"), {"matched": 2, "delay_ns": 80})
    equal("as recorded", then("*=1x"), {"matched": 6, "delay_ns": 100})
    equal("messages by name, at one node", then("store/get=0x"), {"matched": 1, "delay_ns": 100})
    equal("two at once", then("sweep=0x", "store/ans=0x")["delay_ns"], 45)
    bad = explain(path, "req", "ans", "--what-if", "sweep")
    equal("a bad one is refused", (bad.code, bad.out), (2, b""))


def retention():
    path = write("old.jsonl", lines(event("config", "INS", "shop", -50, -40), event("req", "INS", "shop", 0, 10),
                                    event("ans", "DRV", "shop", 10, 30, "req", "config")))
    flags = ("--retain-from-ns", 0)
    got = must(explain(path, "req", "ans", *flags)).json
    equal("who lost a cause says so", [(v["id"], v.get("expired")) for v in got["vertices"]], [("req", None), ("ans", True)])
    whole = must(explain(path, "req", "ans")).json
    equal("figures stay", [v["delay_ns"] for v in whole["vertices"] if v["delay_ns"]], [v["delay_ns"] for v in got["vertices"]])
    cut = write("cut.jsonl", lines(event("req", "INS", "shop", 0, 10), event("ans", "DRV", "shop", 10, 30, "req", "gone")))
    equal("an unknown cause is refused without it", explain(cut, "req", "ans").code, 2)
    equal("… and expired with it", must(explain(cut, "req", "ans", *flags)).json["vertices"][1]["expired"], True)


def extract():
    path = write("more.jsonl", lines(*QUEUE, event("later", "INS", "store", 200, 300), event("else", "INS", "other", 0, 5)))
    out = os.path.join(folder("extract"), "out.jsonl")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    first = must(explain(path, "req", "ans", "--extract", out)).out
    with open(out) as file:
        ids = [json.loads(line)["id"] for line in file]
    equal("the raw graph's events, in order", ids, ["req", "m1", "ask", "got", "m2", "ans"])
    equal("explaining them gives the same answer", must(explain(out, "req", "ans")).out, first)
    equal("nothing is left beside it", os.listdir(os.path.dirname(out)), ["out.jsonl"])
    bad = explain(path, "req", "ans", "--extract", "/nonexistent/folder/out.jsonl")
    check("a folder that is not there", bad.code == 3 and bad.out == b"" and "/nonexistent/folder" in bad.error["message"], bad)
    bad = explain(path, "m1", "ans", "--extract", os.path.join(os.path.dirname(out), "none.jsonl"))
    equal("without an answer no file", (bad.code, os.listdir(os.path.dirname(out))), (1, ["out.jsonl"]))


def refusals():
    path = write("queue.jsonl", lines(*QUEUE))
    def refused(name, code, ran, *words):
        check(name, ran.code == code and ran.out == b"" and all(w in ran.error["message"] for w in words), ran)
    refused("no causal path", 1, explain(path, "m1", "ans"), "m1", "ans")
    refused("an unknown id", 2, explain(path, "nobody", "ans"), "nobody")
    refused("no --to", 2, cli("explain", "--events", path, "--from", "req"), "--to")
    for flags in (["abc"], ["--service", "s"], ["--operation", "o"], ["--since", "15m"], ["--until", "1m"], ["--slowest", "3"],
                  ["--clock", "raw"], ["--resources", "/x"], ["--retain", "1h"], ["--baseline"]):
        flag = flags[0] if flags[0].startswith("--") else "TRACE_ID"
        refused(f"{flag}, of stored requests", 2, explain(path, "req", "ans", *flags), "--events", flag)
    refused("two views", 2, explain(path, "req", "ans", "--raw", "--no-aggregate"))
    for name, bad, words in [
            ("a duplicate id", QUEUE + [QUEUE[0]], ["req", "line 7"]),
            ("an unknown type", QUEUE + [event("x", "NEW", "shop", 0, 1)], ["x", "NEW"]),
            ("an unknown cause", QUEUE + [event("x", "DRV", "n", 0, 1, "y")], ["x", "y"]),
            ("a cause that ends too late", QUEUE + [event("x", "DRV", "n", 5, 6, "req")], ["x", "req"]),
            ("an end before the start", QUEUE + [event("x", "INS", "n", 5, 4)], ["x"]),
            ("more occupants than servers", QUEUE + [event("x", "INS", "n", 50, 60, resource="worker")], ["x", "m2", "worker"]),
            ("a receipt of no message", QUEUE + [event("x", "RCV", "n", 50, 60, "req", tuple="+x")], ["x", "req"])]:
        refused(name, 2, explain(write("bad.jsonl", lines(*bad)), "req", "ans"), *words)
    event_x = '{"id":"x","type":"INS","node":"n","tuple":"t","start_ns":%s,"end_ns":%s}\n'
    for name, time, words in [("a float", "1.0", ["x", "start_ns"]), ("an exponent", "1e3", ["x", "start_ns"]),
                              ("a time beyond 64 bits", "123456789012345678901", ["x", "64 bits"]),
                              ("an unsigned one", "9223372036854775808", ["x", "start_ns"]),
                              ("the least of all", "-9223372036854775808", ["x", "start_ns"])]:
        refused(f"{name} as a time", 2, explain(write("bad.jsonl", lines(*QUEUE) + event_x % (time, time)), "req", "ans"), *words)
    refused("a float as servers", 2, explain(write("bad.jsonl", '{"resource":"r","servers":2.0}\n'), "req", "ans"), "servers")
    two = lines({"resource": "worker", "servers": 2}, *QUEUE, event("x", "INS", "n", 50, 60, resource="worker"))
    equal("… unless it has two", must(explain(write("two.jsonl", two), "req", "ans")).json["delay_ns"], 100)
    ran = cli("import", path, store=folder())
    check("import names the verb", ran.code == 2 and "explain --events" in ran.error["hint"], ran)


def missing_files():
    """One exit code and one form, whichever verb reads the file."""
    path, folder_path = "/does/not/exist", os.path.dirname(write("queue.jsonl", lines(*QUEUE)))
    here = write("here.jsonl", '{"node":"a"}\n')
    store = folder()
    commands = {"explain --events": ["explain", "--from", "a", "--to", "b", "--events"],
                "explain --resources": ["explain", "1", "--resources"], "packets": ["packets", "--out", "/tmp/x.jsonl"],
                "ndlog": ["ndlog", "run", "--topology", here, "--inputs", here],
                "ndlog --topology": ["ndlog", "run", here, "--inputs", here, "--topology"],
                "ndlog --inputs": ["ndlog", "run", here, "--topology", here, "--inputs"],
                "ndlog replay": ["ndlog", "replay"]}
    for name, command in commands.items():
        ran = cli(*command, path, store=store)
        equal(f"{name}: a file that is not there", (ran.code, ran.out, ran.error["message"]),
              (2, b"", path + ": No such file or directory"))
        if name == "packets":
            continue  # a folder stands for its captures
        ran = cli(*command, folder_path, store=store)
        equal(f"{name}: a folder", (ran.code, ran.error["message"]), (2, folder_path + ": Is a directory"))


def without_memory():
    """What a library throws becomes words and an exit code."""
    def limited(*command):
        limit = 600_000  # KiB of address space
        return subprocess.run(["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh", WHEREFORE, *command], capture_output=True,
                              timeout=60, env=environment())
    if limited("--version").returncode != 0:
        return check("a build that needs more address space than that is not asked", True)
    big = os.path.join(os.path.dirname(write("big.jsonl", "")), "big.jsonl")
    with open(big, "wb") as file:
        file.truncate(1 << 30)  # takes no room on the disk
    ran = limited("explain", "--events", big, "--from", "a", "--to", "b")
    os.remove(big)
    check("no memory is an error, no crash", ran.returncode == 3 and ran.stdout == b"" and b"out of memory" in ran.stderr, ran)


run(answer, what_if, retention, extract, refusals, missing_files, without_memory)
