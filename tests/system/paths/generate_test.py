#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""generate: the config, what is written as text, capture and OTLP, the truth beside it, and what is refused."""
import json
import os
import re
import struct
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, check, cli, equal, folder, must, run, write

sys.path.insert(0, os.path.join(SOURCE, "bench"))
import tracelets  # noqa: E402

CONFIGS = os.path.join(SOURCE, "config/generate")
LINE = re.compile(r"^(\d+)\.(\d{9}) (CALL|RET|MSG)(_SENT|_RCVD)? (\S+) (\S+) (\d+) path=(\d+)$")


def lines_of(path):
    with open(path) as file:
        return file.read().splitlines()


def generate(config, *flags):
    """(lines, truth rows, summary)"""
    out, truth = folder("out"), folder("truth")
    summary = must(cli("generate", config, "--out", out, "--truth", truth, *flags)).json
    return out, [json.loads(line) for line in lines_of(truth)], summary


def small(**more):
    return write("small.yaml", tracelets.config(tracelets.multi_tier(), 20, 5, **more))


def paths_agree(lines, truth):
    """Every row's parent has the row's path and goes to the row's caller; a root has a path of its own."""
    seen = {}
    for row in truth:
        call = LINE.match(lines[row["call"] - 1])
        if call[3] != "CALL":
            return f"{row} is not about a call"
        if row["parent"] is None:
            if call[8] in seen:
                return f"{row}: a second root of its path"
        else:
            parent = LINE.match(lines[row["parent"] - 1])
            if parent[8] != call[8] or parent[6] != call[5] or parent[3] != "CALL":
                return f"{row}: {lines[row['parent'] - 1]} did not cause {lines[row['call'] - 1]}"
        seen[call[8]] = row
    return None


def text():
    out, truth, summary = generate(small(), "--seed", "7")
    lines = lines_of(out)
    check("every line is a message", all(LINE.match(line) for line in lines), lambda: next(x for x in lines if not LINE.match(x)))
    equal("as many lines as messages", len(lines), summary["messages"])
    check("lines are in order of time", lines == sorted(lines, key=lambda x: x.split()[0]))
    requests = [i for i, line in enumerate(lines, 1) if " CALL " in line]
    equal("the truth has a row for each request, in order", [row["call"] for row in truth], requests)
    equal("rows have no more keys than these", {tuple(row) for row in truth}, {("call", "parent")})
    check("parents are of the same path", paths_agree(lines, truth) is None, lambda: paths_agree(lines, truth))
    equal("each call returns once", sorted(x.split()[4] for x in lines if " CALL " in x), sorted(x.split()[4] for x in lines if " RET " in x))
    again, _, _ = generate(small(), "--seed", "7")
    equal("the same seed gives the same bytes", lines_of(again), lines)
    other, _, _ = generate(small(), "--seed", "8")
    check("another seed gives others", lines_of(other) != lines)
    piped = must(cli("generate", small(), "--seed", "7", "--out", "-", text=True)).out.decode()
    equal("- is standard output, for messages only", piped.splitlines(), lines)
    late, _, _ = generate(small(), "--seed", "7", "--start", "1000000000000000000")
    check("--start moves it", lines_of(late)[0].startswith("1000000000."))


def skew_and_loss():
    plain, truth, _ = generate(small(), "--seed", "7")
    out, skewed, _ = generate(small(skew_ms={"WS2": 30, "AUTH": -4}), "--seed", "7")
    lines = lines_of(out)
    equal("with skew each message is sighted twice", len(lines), 2 * len(lines_of(plain)))
    check("in the order of the times shown", lines == sorted(lines, key=lambda x: x.split()[0]))
    sightings = {}
    for line in lines:
        m = LINE.match(line)
        sightings.setdefault((m[3], m[5], m[6], m[7]), {})[m[4]] = int(m[1] + m[2])
    ahead = {"WS2": 30_000_000, "AUTH": -4_000_000}
    wrong = [k for k, s in sightings.items() if s["_RCVD"] - s["_SENT"] != ahead.get(k[2], 0) - ahead.get(k[1], 0)]
    equal("each by its own clock", wrong, [])
    first = {}
    for number, line in enumerate(lines, 1):
        m = LINE.match(line)
        if m[3] == "CALL":
            first.setdefault(m[7], number)
    equal("a request is called by the first line that shows it", [row["call"] for row in skewed], sorted(first.values()))
    check("and so is its parent", paths_agree(lines, skewed) is None, lambda: paths_agree(lines, skewed))

    out, cut, summary = generate(small(drop=(60, 16)), "--seed", "7")
    lines = lines_of(out)
    whole = set(lines_of(plain))
    check("what is not lost is as it was", lines and all(line in whole for line in lines))
    equal("what is lost is counted", summary["lost_messages"], len(whole) - len(lines))
    check("a burst is lost, not all", 0.05 < summary["lost_messages"] / len(whole) < 0.9, summary)
    shown = {line.split()[4] for line in lines if " CALL " in line}
    equal("a request that is not shown has no row", len(cut), len(shown))
    before = lines_of(plain)
    cause = {before[row["call"] - 1].split()[4]: row["parent"] and before[row["parent"] - 1].split()[4] for row in truth}
    line = {x.split()[4]: number for number, x in enumerate(lines, 1) if " CALL " in x}
    expected = [{"call": line[i], "parent": line.get(cause[i])} for i in line]
    equal("a request whose cause was lost is a root", cut, expected)
    check("and there are such", any(cause[i] and cause[i] not in line for i in line))


def capture():
    out, truth, summary = generate(small(), "--seed", "7", "--as", "pcap")
    plain, same_truth, _ = generate(small(), "--seed", "7")
    equal("a capture has the truth of the text", truth, same_truth)
    with open(out, "rb") as file:
        data = file.read()
    magic, *_ = struct.unpack("<I", data[:4])
    equal("it is a pcap with nanoseconds", magic, 0xA1B23C4D)
    names = dict(line.split() for line in lines_of(out + ".nodes"))
    at, messages = 24, []
    while at < len(data):
        seconds, nanos, held, _ = struct.unpack("<IIII", data[at:at + 16])
        packet = data[at + 16:at + 16 + held]
        at += 16 + held
        payload = packet[20 + 4 * (packet[32] >> 4):]
        ends = [names[".".join(map(str, packet[i:i + 4]))] for i in (12, 16)]
        if payload:
            check_path = b"path" not in payload
            messages.append((f"{seconds}.{nanos:09}", "CALL" if payload.startswith(b"GET ") else "RET", *ends, check_path))
    wanted = [tuple(line.split()[:4]) + (True,) for line in lines_of(plain)]
    equal("its packets are the text's messages, at the same times, and name no path", messages, wanted)
    for name, config in (("", small()), (" and what was lost is missing there", small(drop=(60, 16)))):
        out, truth, _ = generate(config, "--seed", "7", "--as", "pcap")
        plain, same_truth, _ = generate(config, "--seed", "7")
        read = must(cli("messages", out, "--nodes", out + ".nodes", text=True)).out.decode().splitlines()
        ends = [[float(x.split()[0]), *x.split()[1:4]] for x in read]
        equal(f"`messages` prints the text's lines of it{name}", ends, [[float(x.split()[0]), *x.split()[1:4]] for x in lines_of(plain)])
        equal(f"so that the truth fits both{name}", truth, same_truth)


def spans():
    out, _, summary = generate(small(skew_ms={"AUTH": 9}), "--seed", "7", "--as", "otlp")
    store = folder()
    report = must(cli("import", out, "--store", store)).json
    equal("two spans a call", report["spans"], 2 * summary["calls"])
    equal("a trace a path", report["traces"], summary["paths"])


def refusals():
    def refused(name, text, wanted, *flags):
        ran = cli("generate", write("c.yaml", text), "--out", folder("out"), *flags)
        check(f"{name}: exit 2, with the place", ran.code == 2 and wanted in ran.err.decode(), lambda: f"{ran.code}: {ran.err}")

    good = tracelets.config(tracelets.children_0_2(), 5, 2)
    refused("an unknown key", good.replace("duration_s", "duration"), "line 1")
    refused("a label that no call has", good.replace("label: c.1, delay", "label: c.9, delay", 1), "c.1")
    refused("no YAML", "groups: [", "c.yaml")
    refused("clocks in a capture", "skew_ms: {B: 1}\n" + good, "one clock", "--as", "pcap")
    refused("loss of spans", "drop: {rate: 1, queue: 1}\n" + good, "not sniffed", "--as", "otlp")
    ran = cli("generate", folder("none.yaml"), "--out", folder("out"))
    check("a config that is not there is named", ran.code == 2 and b"none.yaml" in ran.err, ran.err)
    ran = cli("generate", write("c.yaml", good))
    check("--out is needed", ran.code == 2 and b"--out" in ran.err, ran.err)
    out = folder("out")
    cli("generate", write("c.yaml", "duration_s: 5\n"), "--out", out)
    check("a config that is refused leaves nothing behind", not os.path.exists(out) and not os.path.exists(out + ".part"))


def configs():
    made = folder("made")
    os.makedirs(made)
    os.system(f"{sys.executable} {SOURCE}/bench/tracelets.py {made}")
    for name in sorted(os.listdir(made)):
        equal(f"config/generate/{name} is what bench/tracelets.py writes", lines_of(f"{CONFIGS}/{name}"), lines_of(f"{made}/{name}"))
        must(cli("generate", f"{CONFIGS}/{name}", "--out", "/dev/null"))
    weights = [w for w, _ in tracelets.multi_tier()]
    check("the ways through multi-tier are 48, and their weights a whole", len(weights) == 48 and abs(sum(weights) - 1) < 1e-9)


run(text, skew_and_loss, capture, spans, refusals, configs)
