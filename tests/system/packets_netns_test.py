#!/usr/bin/env python3
# needs: wherefore
"""Real Linux queues: two hosts send through two switches (namespaces that route, links of tbf) to a third. Captures on
both sides of each queue, made here, become events; the explanation of the victim's delay names the flow in its way."""
import real_network
from harness import *
from packet_bytes import LINK_ETHERNET, capture
from real_network import Capture, Namespace, join

BURST = 60
VICTIM, CULPRIT = "udp:10.1.1.2:5000-10.1.3.2:6000", "udp:10.1.2.2:5001-10.1.3.2:6001"


def build():
    victim, culprit, s1, s2, sink = (Namespace(n) for n in ("victim", "culprit", "s1", "s2", "sink"))
    join(victim, "10.1.1.2", s1, "10.1.1.1")
    join(culprit, "10.1.2.2", s1, "10.1.2.1")
    join(s1, "10.1.9.1", s2, "10.1.9.2")
    join(s2, "10.1.3.1", sink, "10.1.3.2")
    victim.route("default", "10.1.1.1")
    culprit.route("default", "10.1.2.1")
    s1.route("10.1.3.0/24", "10.1.9.2")
    s2.route("10.1.0.0/16", "10.1.9.1")
    sink.route("default", "10.1.3.1")
    s1.shape("s2", "2mbit")
    s2.shape("sink", "10mbit")
    return victim, culprit, s1, s2, sink


def transfer(network, burst):
    """The culprit's burst, and a packet of the victim behind it; what captures on both switches saw."""
    victim, culprit, s1, s2, sink = network
    seen = Capture()
    seen.add("s1-in-victim", s1, "victim", False)
    seen.add("s1-in-culprit", s1, "culprit", False)
    seen.add("s1-out", s1, "s2", True)
    seen.add("s2-in", s2, "s1", False)
    seen.add("s2-out", s2, "sink", True)
    seen.start()
    to_victim, to_culprit = sink.udp(6000), sink.udp(6001)
    from_victim, from_culprit = victim.udp(5000), culprit.udp(5001)
    to_victim.settimeout(20)
    from_victim.sendto(b"warm", ("10.1.3.2", 6000))  # routes are looked up once
    to_victim.recv(2048)
    for number in range(burst):
        from_culprit.sendto(number.to_bytes(4, "big") + b"c" * 1196, ("10.1.3.2", 6001))
    from_victim.sendto(b"v" * 200, ("10.1.3.2", 6000))
    to_victim.recv(2048)
    seen.stop()
    for sock in (to_victim, to_culprit, from_victim, from_culprit):
        sock.close()
    paths = {}
    for key, packets in seen.packets.items():
        paths[key] = folder(key + ".pcap")
        with open(paths[key], "wb") as file:
            file.write(capture(packets, LINK_ETHERNET))
    return paths


def explain(paths):
    out = folder("events.jsonl")
    report = must(cli("packets", "--before", paths["s1-in-victim"] + "," + paths["s1-in-culprit"], "--after", paths["s1-out"],
                      "--queue", "s1/s2/0", "--before", paths["s2-in"], "--after", paths["s2-out"], "--queue", "s2/sink/0",
                      "--out", out)).json
    with open(out) as file:
        events = [json.loads(line) for line in file]
    own = [e for e in events if e["origin"] == VICTIM]
    first = [e for e in own if e["type"] == "INS"][-1]  # the last of the victim's packets
    last = [e for e in own if e["node"] == "s2"][-1]
    answer = must(cli("explain", "--events", out, "--from", first["id"], "--to", last["id"])).json
    return report, answer


def named(answer):
    """{flow: time that its packets at switch 1 took} of what is not the victim's own."""
    out = {}
    for vertex in answer["vertices"]:
        if vertex["node"] == "s1" and not vertex["functional"]:
            flow = vertex["tuple"].partition("(")[0]
            out[flow] = out.get(flow, 0) + vertex["self_ns"]
    return out


def culprit_is_named():
    network = build()
    report, answer = explain(transfer(network, BURST))
    equal("every packet is seen on both sides of both queues, in order",
          (report["matched"], report["unmatched_after"], report["not_fifo"], report["chain_breaks"]),
          (2 * (BURST + 2), 0, 0, 0))
    waits = named(answer)
    print(f"# {answer['delay_ns'] / 1e6:.1f} ms, of which {waits}, {answer['sizes']}")
    check("the culprit's flow carries more than half of the delay", waits.get(CULPRIT, 0) > answer["delay_ns"] / 2, answer)
    check("it is off the packet's own way", all(not v["functional"] for v in answer["vertices"]
                                                if v["tuple"].startswith(CULPRIT)), answer)
    check("in a graph of at most 100 vertices", len(answer["vertices"]) <= 100)
    _, alone = explain(transfer(network, 0))
    equal("without the burst nobody is named", named(alone), {})
    check("and the packet is far quicker", alone["delay_ns"] < answer["delay_ns"] / 4, (alone["delay_ns"], answer["delay_ns"]))


reason = real_network.why_not()
if reason:
    print(f"skip real queues of this kernel # {reason}")
    sys.exit(0)
run(culprit_is_named)
