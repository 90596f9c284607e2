#!/usr/bin/env python3
# needs: wherefore
"""Real Linux queues: two hosts send through two switches (namespaces that route, links of tbf) to a third. Captures on
both sides of each queue, made here or by `watch --egress`, become events; the explanation of the victim's delay names the
flow in its way."""
import sys
import threading

sys.path.insert(1, sys.path[0] + "/../../lab")
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


def send_burst(network, burst):
    """The culprit's burst, and a packet of the victim behind it, which arrives."""
    victim, culprit, _, _, sink = network
    to_victim, to_culprit = sink.udp(6000), sink.udp(6001)
    from_victim, from_culprit = victim.udp(5000), culprit.udp(5001)
    to_victim.settimeout(20)
    from_victim.sendto(b"warm", ("10.1.3.2", 6000))  # routes are looked up once
    to_victim.recv(2048)
    for number in range(burst):
        from_culprit.sendto(number.to_bytes(4, "big") + b"c" * 1196, ("10.1.3.2", 6001))
    from_victim.sendto(b"v" * 200, ("10.1.3.2", 6000))
    to_victim.recv(2048)
    for sock in (to_victim, to_culprit, from_victim, from_culprit):
        sock.close()


def write_captures(seen):
    paths = {}
    for key, packets in seen.packets.items():
        paths[key] = folder(key + ".pcap")
        with open(paths[key], "wb") as file:
            file.write(capture(packets, LINK_ETHERNET))
    return paths


def transfer(network, burst):
    """What captures on both sides of both queues saw of a burst."""
    _, _, s1, s2, _ = network
    seen = Capture()
    seen.add("s1-in-victim", s1, "victim", False)
    seen.add("s1-in-culprit", s1, "culprit", False)
    seen.add("s1-out", s1, "s2", True)
    seen.add("s2-in", s2, "s1", False)
    seen.add("s2-out", s2, "sink", True)
    seen.start()
    send_burst(network, burst)
    seen.stop()
    return write_captures(seen)


def explain(paths):
    return explain_pairs("--before", paths["s1-in-victim"] + "," + paths["s1-in-culprit"], "--after", paths["s1-out"],
                         "--queue", "s1/s2/0", "--before", paths["s2-in"], "--after", paths["s2-out"], "--queue", "s2/sink/0")


def explain_pairs(*pairs):
    out = folder("events.jsonl")
    report = must(cli("packets", *pairs, "--out", out)).json
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


def watch(switch, interface, out, *flags):
    """`wherefore watch --egress` inside a switch; it watches when this returns, and None is returned where the kernel
    has no such thing."""
    child = switch.start(WHEREFORE, "watch", "--egress", interface, "--out", out, "--format", "json", *flags,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    wait_for(lambda: child.poll() is not None or (os.path.exists(out) and os.path.getsize(out) >= 24), 30)
    if child.poll() is None:
        return child
    print("# watch:", child.stderr.read().decode().strip())
    return None


def end(child):
    """Ctrl-C; what it reports, and how long it took to end."""
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    printed, err = child.communicate(timeout=60)
    if child.returncode != 0:
        raise RuntimeError(f"watch: exit {child.returncode}: {err.decode()}")
    return json.loads(printed), time.monotonic() - began


def egress_stamps():
    """Times before each queue from `watch --egress`, one way in for all that comes to it, once whole frames and once
    headers only; times behind it from a capture on the sending interface."""
    network = build()
    _, _, s1, s2, _ = network
    before = {"s1": folder("before-s1.pcap"), "s2": folder("before-s2.pcap")}
    watched = [watch(s1, "s2", before["s1"]), watch(s2, "sink", before["s2"], "--snap", "64")]
    if None in watched:
        print("skip packets of watch --egress # the kernel refused the program")
        return
    seen = Capture()
    seen.add("s1-out", s1, "s2", True)
    seen.add("s2-out", s2, "sink", True)
    seen.start()
    send_burst(network, BURST)
    seen.stop()
    reports = [end(child)[0] for child in watched]
    after = write_captures(seen)
    equal("every packet was stamped where it came to a queue", [(r["packets"], r["dropped_ring_full"]) for r in reports],
          [(BURST + 2, 0)] * 2)
    report, answer = explain_pairs("--before", before["s1"], "--after", after["s1-out"], "--queue", "s1/s2/0",
                                   "--before", before["s2"], "--after", after["s2-out"], "--queue", "s2/sink/0")
    equal("and is known again where it left it, in order",
          (report["matched"], report["unmatched_before"], report["unmatched_after"], report["not_fifo"], report["chain_breaks"]),
          (2 * (BURST + 2), 0, 0, 0, 0))
    waits = named(answer)
    print(f"# {answer['delay_ns'] / 1e6:.1f} ms, of which {waits}, {report['bytes_per_passage']} bytes a packet at a queue")
    check("the culprit's flow carries more than half of the delay", waits.get(CULPRIT, 0) > answer["delay_ns"] / 2, answer)


def egress_under_load():
    """Packets that never stop coming keep neither Ctrl-C nor --for from ending it."""
    a, b = Namespace("near"), Namespace("far")
    join(a, "10.2.1.1", b, "10.2.1.2")
    stop = threading.Event()

    def flood():
        sender = a.udp(7000)
        sender.connect(("10.2.1.2", 7001))
        b.udp(7001)
        while not stop.is_set():
            for _ in range(100):
                with contextlib.suppress(OSError):
                    sender.send(b"x" * 18)
        sender.close()

    flooding = threading.Thread(target=flood)
    out = folder("flood.pcap")
    child = watch(a, "far", out)
    if child is None:
        print("skip watch --egress under load # the kernel refused the program")
        return
    flooding.start()
    try:
        check("it writes while packets come", wait_for(lambda: os.path.getsize(out) > 100_000, 30))
        report, took = end(child)
        print(f"# Ctrl-C ended it after {took:.2f} s with {report['packets']} packets, {report['dropped_ring_full']} lost")
        check("Ctrl-C ends it under load", report["packets"] > 0 and took < 30, (report, took))
        began = time.monotonic()
        child = watch(a, "far", folder("flood-for.pcap"), "--for", "500ms")
        printed, _ = child.communicate(timeout=60)
        check("and so does --for", child.returncode == 0 and json.loads(printed)["packets"] > 0, printed)
        print(f"# --for 500ms ended after {time.monotonic() - began:.2f} s")
    finally:
        stop.set()
        flooding.join()


reason = real_network.why_not()
if reason:
    print(f"skip real queues of this kernel # {reason}")
    sys.exit(0)
run(culprit_is_named, egress_stamps, egress_under_load)
