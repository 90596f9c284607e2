#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""`wherefore packets`: INT reports and pairs of captures become events that `explain --events` understands, and the
flow that was in the way is named. `serve --int` keeps what it receives for the same verb."""
import pty
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *
from packet_bytes import *

START = 1_794_643_200 * SECOND
VICTIM = (("10.0.0.1", 5000), ("10.0.9.1", 6000))
CULPRIT = (("10.0.0.2", 5001), ("10.0.9.2", 6001))
VICTIM_FLOW, CULPRIT_FLOW = "udp:10.0.0.1:5000-10.0.9.1:6000", "udp:10.0.0.2:5001-10.0.9.2:6001"


def bytes_file(name, data):
    path = folder(name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def events_of(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


class Queue:
    """A FIFO queue that takes 1 ms a packet: who comes when, and leaves when."""

    def __init__(self):
        self.free = 0

    def passes(self, at):
        self.free = max(self.free, at) + MILLI
        return self.free


def congestion(culprits=20):
    """[(packet, [(switch, in, out)…])]: culprits come at once to switch 1; the victim comes behind them, and goes on to
    switch 2."""
    one, two = Queue(), Queue()
    ways = []
    for number in range(culprits):
        packet = ipv4_udp(*CULPRIT, b"x" * 100, ip_id=number)
        ways.append((packet, [(1, START + number * 1000, one.passes(START + number * 1000))]))
    victim = ipv4_udp(*VICTIM, b"request", ip_id=7)
    arrived = START + 100_000
    left = one.passes(arrived)
    ways.append((victim, [(1, arrived, left), (2, left + 5000, two.passes(left + 5000))]))
    return ways


def int_capture(ways, together=1):
    """Reports in the order in which packets left; `together` of one switch in a datagram."""
    by_switch = {}
    for packet, hops in ways:
        for switch, ingress, egress in hops:
            by_switch.setdefault(switch, []).append((egress, int_report(packet, 3, 0, ingress, egress)))
    packets = []
    for switch, reports in by_switch.items():
        reports.sort(key=lambda report: report[0])
        for i in range(0, len(reports), together):
            group = int_group(switch, i // together, *[report for _, report in reports[i:i + together]])
            packets.append((reports[i][0], ipv4_udp((f"10.9.0.{switch}", 9), ("10.9.9.9", 32766), group)))
    return capture(sorted(packets))


def explain_victim(events):
    """From the victim's entry to its last hop."""
    own = [e for e in events_of(events) if e["origin"] == VICTIM_FLOW]
    ran = must(cli("explain", "--events", events, "--from", own[0]["id"], "--to", own[-1]["id"]))
    return own, ran.json


def name_of(vertex):
    return vertex["tuple"].partition("(")[0]


def blamed(answer, flow):
    """What packets of that flow took of the delay."""
    return sum(v["self_ns"] for v in answer["vertices"] if name_of(v) == flow and not v["functional"])


def int_reports():
    out = folder("int.jsonl")
    report = must(cli("packets", bytes_file("int.pcap", int_capture(congestion())), "--out", out)).json
    equal("every hop of every packet is read", (report["hops"], report["passages"], report["flows"], report["queues"]),
          (22, 22, 2, 2))
    equal("an event a hop and one entry a packet", report["events"], 22 + 21)
    equal("nothing is missing", [report[k] for k in ("sequence_missing", "malformed_reports", "not_fifo", "chain_breaks",
                                                     "invalid_values", "other_packets")], [0] * 6)
    own, answer = explain_victim(out)
    equal("the packet's way", [(e["type"], e["node"], e.get("resource")) for e in own],
          [("INS", "10.0.0.1", None), ("DRV", "1", "1/3/0"), ("DRV", "2", "2/3/0")])
    hop = own[1]
    equal("ready at ingress, started when the one before had left, ended at egress",
          (hop["ready_ns"], hop["start_ns"], hop["end_ns"]), (START + 100_000, START + 20 * MILLI, START + 21 * MILLI))
    waited = blamed(answer, CULPRIT_FLOW)
    equal("the wait is the culprit's", waited, 20 * MILLI - 100_000)
    check("which is most of the delay", waited > answer["delay_ns"] / 2, answer)
    culprit = [v for v in answer["vertices"] if name_of(v) == CULPRIT_FLOW and v["node"] == "1" and v["self_ns"]]
    equal("as one vertex of twenty packets", [(v["count"], v["origin"]) for v in culprit], [(20, CULPRIT_FLOW)])


def coalesced_reports():
    one, many = folder("one.jsonl"), folder("many.jsonl")
    ways = congestion()
    must(cli("packets", bytes_file("one.pcap", int_capture(ways)), "--out", one))
    report = must(cli("packets", bytes_file("many.pcap", int_capture(ways, together=8)), "--out", many)).json
    with open(one) as a, open(many) as b:
        equal("reports that share a datagram make the same events", a.read(), b.read())
    equal("in fewer datagrams", report["report_packets"], 4)
    check("a packet at a queue takes less than the paper's 106 bytes", 0 < report["bytes_per_passage"] < 106, report)


def capture_pairs():
    """The same packets at switch 1, seen by captures on two ways in and one way out."""
    ways = congestion()
    victims = capture([(hops[0][1], p) for p, hops in ways if hops[-1][0] == 2])
    culprits = capture([(hops[0][1], p) for p, hops in ways if hops[-1][0] == 1], snapshot=200)

    def routed(packet):
        return packet[:8] + b"\x3f" + packet[9:]  # one hop less to live

    left = sorted((hops[0][2], routed(p)) for p, hops in ways)
    second = [(hops[1], p) for p, hops in ways if hops[-1][0] == 2]
    paths = [bytes_file(n, d) for n, d in (
        ("in1.pcap", victims), ("in2.pcap", culprits), ("out.pcap", capture(left)),
        ("in3.pcap", capture([(h[1], p) for h, p in second])), ("out3.pcap", capture([(h[2], p) for h, p in second])))]
    out = folder("pairs.jsonl")
    report = must(cli("packets", "--before", ",".join(paths[:2]), "--after", paths[2], "--queue", "1/3/0",
                      "--before", paths[3], "--after", paths[4], "--queue", "2/3/0", "--out", out)).json
    equal("every packet is known again", (report["matched"], report["unmatched_before"], report["unmatched_after"]),
          (22, 0, 0))
    own, answer = explain_victim(out)
    equal("the wait is the culprit's here too", blamed(answer, CULPRIT_FLOW), 20 * MILLI - 100_000)
    equal("hops chain across captures", own[2]["causes"], [own[1]["id"]])


def counted():
    ways = congestion(3)
    reports = [(e, int_group(1, n, int_report(p, 3, 0, i, e)))
               for n, (p, [(_, i, e), *_]) in zip((0, 1, 5, 6), ways)]
    late = int_group(1, 3, int_report(ways[0][0], 3, 0, 2**64 - 1, START))  # all ones: invalid
    packets = [(e, ipv4_udp(("10.9.0.1", 9), ("10.9.9.9", 1), g)) for e, g in reports]
    packets += [(START + SECOND, ipv4_udp(("10.9.0.1", 9), ("10.9.9.9", 1), late)),
                (START + SECOND, ipv4_udp(("10.9.0.1", 9), ("10.9.9.9", 1), int_group(1, 7, b"\x10\xff\0\0"))),
                (START + SECOND, ipv4_udp(("10.9.0.1", 9), ("10.9.9.9", 1), b"something else"))]
    data = capture(packets) + b"\0" * 7
    report = must(cli("packets", bytes_file("counted.pcap", data), "--out", folder("counted.jsonl"))).json
    equal("gaps, late ones, invalid values, malformed and other packets are counted",
          {k: report[k] for k in ("sequence_gaps", "sequence_missing", "sequence_late", "invalid_values", "without_times",
                                  "malformed_reports", "other_packets", "truncated_files")},
          {"sequence_gaps": 1, "sequence_missing": 3, "sequence_late": 1, "invalid_values": 1, "without_times": 1,
           "malformed_reports": 1, "other_packets": 1, "truncated_files": 1})
    text = must(cli("packets", bytes_file("counted.pcap", data), "--out", folder("counted.jsonl"), text=True)).out.decode()
    check("people are told too", "sequence_missing" in text and all(len(l) <= 100 for l in text.splitlines()), text)


def refused():
    pcap = bytes_file("good.pcap", int_capture(congestion(2)))
    out = folder("never.jsonl")
    for name, arguments, code, word in (
            ("no --out", [pcap], 2, "--out"),
            ("nothing to read", ["--out", out], 2, "no capture"),
            ("a queue without captures", ["--queue", "a/b/c", "--out", out], 2, "--before"),
            ("a queue's name that is none", ["--before", pcap, "--after", pcap, "--queue", "a/b", "--out", out], 2, "a/b"),
            ("a file that is not there", ["/no/such.pcap", "--out", out], 2, "/no/such.pcap"),
            ("a file that is no capture", [bytes_file("notes.txt", b"hello\n"), "--out", out], 2, "notes.txt"),
            ("a capture without reports", [bytes_file("plain.pcap", capture([(START, ipv4_udp(*VICTIM, b"hi"))])),
                                           "--out", out], 1, "no packet"),
            ("a folder that is not there", [pcap, "--out", "/no/such/folder/x"], 3, "/no/such/folder")):
        ran = cli("packets", *arguments)
        check(f"refused by name: {name}", ran.code == code and ran.out == b"" and word in ran.error["message"] and
              ran.error["hint"], ran)
    check("nothing was written", not os.path.exists(out) and not os.path.exists(out + ".part"))


def folders():
    """While a server runs, files of its folder come and go."""
    out = folder("folder.jsonl")
    base = folder("captures")
    os.mkdir(base)
    whole = int_capture(congestion())

    def put(name, data):
        with open(os.path.join(base, name), "wb") as file:
            file.write(data)

    half = 24 + (len(whole) - 24) // 22 * 11
    put("1.pcap", whole[:half])
    put("2.pcap", b"not a capture")
    os.symlink(os.path.join(base, "gone"), os.path.join(base, "3.pcap"))
    put("4.pcap", whole[:24] + whole[half:])
    ran = must(cli("packets", base, "--out", out))
    equal("one that is no capture and one that vanished are counted, the rest is read",
          (ran.json["unreadable_files"], ran.json["passages"]), (2, 22))
    check("both are named", b"2.pcap" in ran.err and b"3.pcap" in ran.err and b"4.pcap" not in ran.err, ran.err)
    os.remove(os.path.join(base, "1.pcap"))
    os.remove(os.path.join(base, "4.pcap"))
    ran = cli("packets", base, "--out", folder("never.jsonl"))
    check("when none can be read, that is the answer", ran.code != 0 and ran.out == b"" and ".pcap" in ran.error["message"],
          ran)


def long_work():
    """A capture that comes slowly, by a pipe: a bar on a terminal, none in JSON, and Ctrl-C ends it."""
    pipe, out = folder("slow.pcap"), folder("slow.jsonl")
    os.mkfifo(pipe)
    whole = int_capture(congestion())
    half = whole[:24 + (len(whole) - 24) // 22 * 11]

    def start(*flags):
        master, slave = pty.openpty()
        child = subprocess.Popen([WHEREFORE, "packets", pipe, "--out", out, *flags], stdout=subprocess.PIPE, stderr=slave,
                                 env=environment())
        os.close(slave)
        return child, master

    def shown(master):
        text = b""
        with contextlib.suppress(OSError):  # the other end is closed: all was read
            while piece := os.read(master, 4096):
                text += piece
        os.close(master)
        return text.decode()

    for flags in ((), ("--format", "json")):
        child, master = start(*flags)
        with open(pipe, "wb", buffering=0) as file:
            file.write(half)
            time.sleep(0.3)  # a bar is drawn at most every 100 ms
            file.write(whole[len(half):])
        child.communicate(timeout=60)
        text = shown(master)
        equal(f"a bar on a terminal, none in JSON: {flags}", ("reading" in text, child.returncode), (not flags, 0))
    os.remove(out)
    child, master = start()
    with open(pipe, "wb", buffering=0) as file:
        file.write(half)
        check("it waits for more", not wait_for(lambda: child.poll() is not None, 0.5))
        child.send_signal(signal.SIGINT)
        printed, _ = child.communicate(timeout=60)
    equal("Ctrl-C ends it, with nothing written", (child.returncode, printed, os.path.exists(out)), (3, b"", False))
    check("and it says so", "stopped" in shown(master))


def served():
    """Reports by UDP, kept over a kill, and explained from the store's folder."""
    store = folder("store")
    ways = congestion()
    groups = []
    for number, (packet, hops) in enumerate(ways):
        for switch, ingress, egress in hops:
            groups.append(int_group(switch, number if switch == 1 else 0, int_report(packet, 3, 0, ingress, egress)))
    with Server(store, "--int", "127.0.0.1:0") as server:
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for group in groups[:15]:
            sender.sendto(group, server.address("int"))
        sender.sendto(b"hello", server.address("int"))

        def counter(name):
            status = server.get("/api/v1/status").json
            return status["counters"].get(name)

        check("reports are counted in status", wait_for(lambda: counter("int_reports") == 15 and
                                                        counter("int_datagrams") == 16, 20))
        equal("what is none, too", counter("int_not_reports"), 1)
        check("and in /metrics", "wherefore_int_reports 15" in server.get("/metrics").body.decode())
        check("the address is printed", "int " in server.printed(), server.printed())
        server.kill()
    with Server(store, "--int", "127.0.0.1:0") as server:
        for group in groups[15:]:
            sender.sendto(group, server.address("int"))
        wait_for(lambda: server.get("/api/v1/status").json["counters"].get("int_reports") == len(groups) - 15, 20)
        server.stop()
    out = folder("served.jsonl")
    report = must(cli("packets", os.path.join(store, "int"), "--out", out)).json
    equal("all of them are read from the store's folder", (report["reports"], report["malformed_reports"]), (22, 0))
    _, answer = explain_victim(out)
    equal("and explained", blamed(answer, CULPRIT_FLOW), 20 * MILLI - 100_000)
    with Server(folder("quiet")) as server:
        check("off unless told", "int" not in server.facts())
    ran = cli("serve", "--check", "--int", "nonsense")
    check("an address that is none is refused", ran.code == 2 and "--int" in ran.error["message"], ran)


run(int_reports, coalesced_reports, capture_pairs, counted, refused, folders, long_work, served)
