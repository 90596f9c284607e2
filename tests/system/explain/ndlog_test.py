#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""ndlog run and replay: the contract, errors and exit codes; a slow deletion explained; incidents R1 to R4 of Zeno §7.1,
each with its culprit and without."""
import json
import os
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import MILLI, SOURCE, check, cli, equal, folder, must, run, write

LIBRARY = os.path.join(SOURCE, "config/ndlog")
INCIDENTS = ("R1", "R2", "R3", "R4")


def told(ran):
    return must(ran).json


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values)


def insert(at, tuple_text):
    return {"at_ns": at, "insert": tuple_text}


def events_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def explain(events, start, end, *flags):
    return told(cli("explain", "--events", events, "--from", start, "--to", end, *flags))


def name_of(vertex):
    return vertex["tuple"].split("(")[0]


SQUARE = lines({"node": "a"}, {"node": "b"}, {"node": "c"}, {"link": ["a", "b"], "delay_ns": 1000, "bits_per_s": 10**9},
               {"link": ["b", "c"], "delay_ns": 2000}, {"rule": "r1", "cost_ns": 10})
LINKS = [insert(0, f"link(@{x},{y})") for x, y in ("ab", "ba", "bc", "cb")]


def the_contract():
    topology, inputs = write("net.jsonl", SQUARE), write("in.jsonl", lines(*LINKS))
    program = os.path.join(LIBRARY, "reachability.ndlog")
    trace = os.path.join(folder("out"), "trace.jsonl")
    os.makedirs(os.path.dirname(trace), exist_ok=True)
    answer = told(cli("ndlog", "run", program, "--topology", topology, "--inputs", inputs, "--trace", trace))
    pairs = ["a,b", "a,c", "b,a", "b,c", "c,a", "c,b"]
    equal("tables are on stdout, tuples sorted", answer,
          {"tables": {"link": [f"link(@{p})" for p in ("a,b", "b,a", "b,c", "c,b")],
                      "reachable": [f"reachable(@{p})" for p in pairs]}})
    plain = cli("ndlog", "run", program, "--topology", topology, "--inputs", inputs, text=True)
    equal("also when no JSON is asked for", json.loads(plain.out), answer)

    events = events_of(trace)
    by_id = {event["id"]: event for event in events}
    place = {event["id"]: i for i, event in enumerate(sorted(events, key=lambda e: (e["start_ns"], e["end_ns"])))}
    check("a cause precedes its effect, and ends before it starts",
          all(place[c] < place[e["id"]] and by_id[c]["end_ns"] <= e["start_ns"] for e in events for c in e.get("causes", ())))
    check("INS has no cause, the others have", all(("causes" in e) == (e["type"] != "INS") for e in events))
    received = [e for e in events if e["type"] == "RCV"]
    check("RCV has exactly one, its SND", received and all(
        len(e["causes"]) == 1 and by_id[e["causes"][0]]["type"] == "SND" and by_id[e["causes"][0]]["tuple"] == e["tuple"]
        and e["tuple"][0] == "+" for e in received))
    check("INS and RCV say when they were in the queue",
          all("ready_ns" in e and e["ready_ns"] <= e["start_ns"] for e in events if e["type"] in ("INS", "RCV")))
    delays = {("a", "b"): 1000, ("b", "a"): 1000, ("b", "c"): 2000, ("c", "b"): 2000}
    check("messages take the link's delay", all(
        e["ready_ns"] - by_id[e["causes"][0]]["end_ns"] == delays[e["peer"], e["node"]] for e in received))
    free = {}
    overlaps = []
    for e in events:
        if free.get(e["node"], 0) > e["start_ns"]:
            overlaps.append(e)
        free[e["node"]] = e["end_ns"]
    equal("a node does one thing at a time", overlaps, [])
    check("a rule costs what the topology says",
          all(e["end_ns"] - e["start_ns"] == 10 for e in events if e.get("rule") == "r1"))
    again = os.path.join(os.path.dirname(trace), "again.jsonl")
    told(cli("ndlog", "run", program, "--topology", topology, "--inputs", inputs, "--trace", again))
    equal("the same inputs give the same bytes", open(again).read(), open(trace).read())


def record_and_replay():
    topology, inputs = write("net.jsonl", SQUARE), write("in.jsonl", lines(*LINKS))
    program = write("p.ndlog", open(os.path.join(LIBRARY, "reachability.ndlog")).read())
    out = folder("replay")
    os.makedirs(out, exist_ok=True)
    trace, recording, again = (os.path.join(out, name) for name in ("trace", "recording", "again"))
    flags = ("--topology", topology, "--inputs", inputs, "--seed", 5)
    tables = told(cli("ndlog", "run", program, *flags, "--trace", trace))
    equal("recording changes nothing", told(cli("ndlog", "run", program, *flags, "--record", recording)), tables)
    os.remove(program)  # a recording has all that it needs
    equal("a replay gives the same tables", told(cli("ndlog", "replay", recording, "--trace", again)), tables)
    equal("and now the provenance", open(again).read(), open(trace).read())
    with open(recording) as file:
        kept = file.read().splitlines()
    event = json.loads(kept[5])
    event[3] += 1
    changed = write("changed", "\n".join(kept[:5] + [json.dumps(event)] + kept[6:]) + "\n")
    os.remove(again)
    ran = cli("ndlog", "replay", changed, "--trace", again)
    check("a replay that differs is reported", ran.code == 2 and "the replay differs at event 5" in ran.error["message"], ran)
    check("and leaves no trace behind", not os.path.exists(again) and not os.path.exists(again + ".part"))
    cut = write("cut", "\n".join(kept[:-1]) + "\n")
    check("so is one that was cut", "the replay differs" in cli("ndlog", "replay", cut).error["message"])
    equal("something else is no recording", cli("ndlog", "replay", topology).code, 2)


def errors():
    topology, inputs = write("net.jsonl", SQUARE), write("in.jsonl", lines(*LINKS))
    program = os.path.join(LIBRARY, "reachability.ndlog")

    def refused(name, expected, *arguments):
        ran = cli("ndlog", *arguments)
        check(name, ran.code == 2 and ran.out == b"" and expected in ran.error["message"] + ran.error["hint"], ran)

    bad = write("bad.ndlog", "materialize(link,infinity,infinity,keys(1,2)).\nr1 p(@X,Z) :- link(@X,Y).\n")
    refused("a program that is wrong", "bad.ndlog:2:9: Z has no value", "run", bad, "--topology", topology, "--inputs", inputs)
    shown = cli("ndlog", "run", bad, "--topology", topology, "--inputs", inputs, text=True)
    check("with a caret below the place", "2 | r1 p(@X,Z) :- link(@X,Y).\n  |         ^" in shown.err.decode(), shown)
    refused("a function that does not exist, with the one meant", "did you mean f_member?", "run",
            write("f.ndlog", "r1 p(@X) :- q(@X,P), f_membr(P,X) == 0."), "--topology", topology, "--inputs", inputs)
    refused("a topology that is wrong", "did you mean r1?", "run", program, "--inputs", inputs, "--topology",
            write("t", SQUARE + lines({"rule": "r11", "cost_ns": 1})))
    refused("an input that is wrong", "in.2:5: z is not a node", "run", program, "--topology", topology, "--inputs",
            write("in.2", lines(*LINKS, insert(0, "link(@z,a)"))))
    refused("a file that is not there", "nothing.ndlog", "run", "nothing.ndlog", "--topology", topology, "--inputs", inputs)
    refused("no topology", "--topology is missing", "run", program, "--inputs", inputs)
    refused("an unknown action", "ACTION", "walk", program)
    refused("a program that faults", "division by zero", "run", write("z.ndlog", "r1 p(@X,Y) :- q(@X,Z), Y := Z / 0."),
            "--topology", write("one", lines({"node": "a"})), "--inputs", write("in.3", lines(insert(0, "q(@a,1)"))))
    ran = cli("ndlog", "run", program, "--topology", topology, "--inputs", inputs, "--trace", "/proc/nothing/trace")
    equal("a trace that cannot be written", ran.code, 3)


def a_slow_deletion():
    """A route is withdrawn late: the node that should say so first works through reports that came before."""
    program = write("routes.ndlog", """
materialize(link, infinity, infinity, keys(1,2)).
materialize(route, infinity, infinity, keys(1,2)).
materialize(usable, infinity, infinity, keys(1,2)).
r1 route(@b,X) :- link(@a,X).
r2 usable(@c,X) :- route(@b,X).
w1 audited(@a,N) :- audit(@a,N).
""")
    topology = write("net.jsonl", SQUARE.replace('"r1", "cost_ns": 10', '"w1", "cost_ns": 5000000'))
    inputs = write("in.jsonl", lines(
        insert(0, "link(@a,x)"), *[insert(10 * MILLI, f"audit(@a,{n})") for n in range(20)],
        {"at_ns": 11 * MILLI, "delete": "link(@a,x)"}))
    trace = os.path.join(folder("deletion"), "trace.jsonl")
    os.makedirs(os.path.dirname(trace), exist_ok=True)
    tables = told(cli("ndlog", "run", program, "--topology", topology, "--inputs", inputs, "--trace", trace))["tables"]
    equal("the route is gone everywhere", (tables["link"], tables["route"], tables["usable"]), ([], [], []))
    events = events_of(trace)
    chain = [e for e in events if e["start_ns"] >= 11 * MILLI and e["type"] != "INS" and "audit" not in e["tuple"]]
    equal("the deletion travels", [(e["type"], e["node"], e["tuple"]) for e in chain],
          [("DEL", "a", "link(@a,x)"), ("UDRV", "a", "route(@b,x)"), ("SND", "a", "-route(@b,x)"), ("RCV", "b", "-route(@b,x)"),
           ("UDRV", "b", "usable(@c,x)"), ("SND", "b", "-usable(@c,x)"), ("RCV", "c", "-usable(@c,x)")])
    answer = explain(trace, chain[0]["id"], chain[-1]["id"])
    check("from the deletion's processing on, it is quick", answer["delay_ns"] < 1 * MILLI, answer["delay_ns"])
    asked = [e for e in events if e["tuple"] == "link(@a,x)" and e["type"] == "INS"][0]["id"]
    equal("the insertion did not cause the deletion", cli("explain", "--events", trace, "--from", asked, "--to", chain[-1]["id"]).code, 1)
    equal("the deletion waited in the queue, and says so", (chain[0]["ready_ns"], chain[0]["start_ns"]), (11 * MILLI, 110 * MILLI))


def slow_withdrawal_behind_other_work():
    """The slow event is a deletion whose message waits behind work that has nothing to do with it."""
    program = write("withdraw.ndlog", """
materialize(link, infinity, infinity, keys(1,2)).
materialize(route, infinity, infinity, keys(1,2)).
r1 route(@b,X) :- link(@a,X).
r2 gone(@b,X) :- route(@b,X).
w1 audited(@b,N) :- audit(@b,N).
""")
    topology = write("net.jsonl", SQUARE.replace('"r1", "cost_ns": 10', '"w1", "cost_ns": 5000000'))
    inputs = write("in.jsonl", lines(
        insert(0, "link(@a,x)"), *[insert(10 * MILLI, f"audit(@b,{n})") for n in range(20)],
        {"at_ns": 11 * MILLI, "delete": "link(@a,x)"}))
    trace = os.path.join(folder("withdrawal"), "trace.jsonl")
    os.makedirs(os.path.dirname(trace), exist_ok=True)
    told(cli("ndlog", "run", program, "--topology", topology, "--inputs", inputs, "--trace", trace))
    events = events_of(trace)
    first = next(e for e in events if e["type"] == "DEL")
    last = next(e for e in events if e["type"] == "RCV" and e["tuple"] == "-route(@b,x)")
    answer = explain(trace, first["id"], last["id"])
    check("the withdrawal took long", answer["delay_ns"] > 90 * MILLI, answer["delay_ns"])
    worst = max(answer["vertices"], key=lambda v: v["self_ns"])
    check("because of the audits on b, which no classical provenance would name",
          name_of(worst) == "audited" and worst["node"] == "b" and not worst["functional"]
          and worst["delay_ns"] > 0.9 * answer["delay_ns"], worst)
    types = [v["type"] for v in answer["vertices"] if v["functional"]]
    check("its own part is DEL, UDRV, SND, RCV", sorted(types) == ["DEL", "RCV", "SND", "UDRV"], types)


def ask(out):
    with open(os.path.join(out, "query.json")) as file:
        query = json.load(file)
    events = os.path.join(out, "events.jsonl")
    return query, explain(events, query["from"], query["to"]), explain(events, query["normal"]["from"], query["normal"]["to"])


def incident(name):
    present, absent = folder(name), folder(name + "-off")
    told(cli("scenario", name, "--out", present, "--seed", 3))
    told(cli("scenario", name, "--out", absent, "--seed", 3, "--fault", "off"))
    query, slow, normal = ask(present)
    culprit = query["culprit"]

    def named(answer):
        return [v for v in answer["vertices"] if v["node"] == culprit["node"] and name_of(v) == culprit["tuple"]]

    check(f"{name}: the request took many times as long as usual", slow["delay_ns"] > 5 * normal["delay_ns"],
          (slow["delay_ns"], normal["delay_ns"]))
    found = named(slow)
    check(f"{name}: the culprit carries more than half of the delay",
          len(found) == 1 and found[0]["delay_ns"] > 0.5 * slow["delay_ns"], found)
    check(f"{name}: classical provenance does not have it", not any(v["functional"] for v in found), found)
    check(f"{name}: no more than 100 vertices", len(slow["vertices"]) <= 100, len(slow["vertices"]))
    check(f"{name}: most vertices were merged or pruned", slow["sizes"]["raw"] > 5 * slow["sizes"]["aggregated"], slow["sizes"])

    query, quick, normal = ask(absent)
    check(f"{name}: without the culprit, latency is as usual", abs(quick["delay_ns"] - normal["delay_ns"]) < 0.2 * normal["delay_ns"],
          (quick["delay_ns"], normal["delay_ns"]))
    check(f"{name}: and it is not named", query["culprit"] is None and named(quick) == [], named(quick))


def incidents():
    for name in INCIDENTS:
        incident(name)


def incident_files():
    out, again = folder("R3"), folder("R3-again")
    answer = told(cli("scenario", "R3", "--out", out, "--size", 20))
    equal("the files of an incident", [os.path.basename(f) for f in answer["files"]],
          ["events.jsonl", "query.json", "recording.jsonl"])
    told(cli("scenario", "R3", "--out", again, "--size", 20))
    for name in ("events.jsonl", "query.json", "recording.jsonl"):
        equal(f"the same seed gives the same {name}", open(os.path.join(again, name)).read(), open(os.path.join(out, name)).read())
    trace = os.path.join(out, "replayed.jsonl")
    told(cli("ndlog", "replay", os.path.join(out, "recording.jsonl"), "--trace", trace))
    equal("its recording replays to its events", open(trace).read(), open(os.path.join(out, "events.jsonl")).read())
    ran = cli("scenario", "R3", "--out", again, "--size", 4)
    check("too few servers are refused", ran.code == 2 and "from 5" in ran.error["message"], ran)
    listed = {s["name"] for s in told(cli("scenario", "list"))["scenarios"]}
    check("scenario list has them", set(INCIDENTS) <= listed, listed)


if __name__ == "__main__":
    run(the_contract, record_and_replay, errors, a_slow_deletion, slow_withdrawal_behind_other_work, incidents, incident_files)
