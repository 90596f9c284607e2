#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""A generated mailbox through the whole program: Received headers become messages, convolution finds the ways that mail
takes, and against the truth by Message-ID no frequent one is wrong or missing; hosts that hold mail for 10 or 15 s show."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *

FREQUENT = 100


def paths_of(answer):
    """Root to leaf, by names, with the messages of the last hop."""
    names, counts, inner = {}, {}, set()
    node = {v["id"]: v["node"] for v in answer["vertices"]}
    for edge in answer["edges"]:
        before = names.get(edge["from"], (node[edge["from"]],))
        names[edge["to"]] = before + (node[edge["to"]],)
        counts[edge["to"]] = edge["count"]
        inner.add(edge["from"])
    return {names[v]: counts[v] for v in names if v not in inner}


def mailbox():
    out = folder("mailbox")
    made = subprocess.run([WHEREFORE, "scenario", "mailbox", "--out", out], capture_output=True, timeout=300)
    check("the mailbox is written", made.returncode == 0, made.stderr)
    box = os.path.join(out, "mailbox.mbox")
    with open(os.path.join(out, "query.json")) as file:
        truth = {tuple(p["nodes"]): p["count"] for p in json.load(file)["truth"]["paths"]}
    with open(box, errors="replace") as file:
        headers = sum(line.startswith("Received:") for line in file)
    check("it has as many headers as the paper's", headers == 81044, headers)
    again = folder("again")
    subprocess.run([WHEREFORE, "scenario", "mailbox", "--out", again], check=True, capture_output=True, timeout=300)
    with open(box, "rb") as a, open(os.path.join(again, "mailbox.mbox"), "rb") as b:
        check("the same seed gives the same bytes", a.read() == b.read())

    for quantum in (5, 360):
        ran = subprocess.run([WHEREFORE, "paths", box, "--quantum", f"{quantum}s", "--format", "json"],
                             capture_output=True, timeout=300)
        check(f"at {quantum} s there is an answer", ran.returncode == 0, ran.stderr)
        answer = json.loads(ran.stdout)
        check("by convolution, because messages are one-way", answer["algorithm"] == "convolution" and "one-way" in answer["why"], answer["why"])
        check("with the quantum asked for", answer["quantum_ns"] == quantum * SECOND)
        found = paths_of(answer)
        false = {p: n for p, n in found.items() if n >= FREQUENT and p not in truth}
        check(f"at {quantum} s no frequent path is false", not false, false)
        missed = {p: n for p, n in truth.items() if n >= FREQUENT and p not in found}
        check(f"at {quantum} s no frequent path is missed", not missed, missed)
        main_delays = {e["delays_ns"][0]["delay"] for e in answer["edges"] if e["delays_ns"] and e["count"] >= FREQUENT}
        check("the main delay is 0", main_delays == {0}, main_delays)
        if quantum == 5:
            second = {d["delay"] // SECOND for e in answer["edges"] for d in e["delays_ns"][1:]}
            check("second spikes at 10 and 15 s", {10, 15} <= second, second)


if __name__ == "__main__":
    run(mailbox)
