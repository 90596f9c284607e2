#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""`wherefore messages`: text, compressed text, mail and folders become one text in order of time, which reads back as
itself; renames, skew, drops and doubles; errors name file and line."""
import gzip
import struct
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import *
from packet_bytes import capture


def messages(*arguments, stdin=None):
    done = subprocess.run([WHEREFORE, "messages", *arguments], input=stdin, capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def printed(*arguments, stdin=None):
    code, out, err = messages(*arguments, stdin=stdin)
    if code != 0:
        raise AssertionError(f"exit {code}: {err}")
    return out


TRACE = """# by hand
10.000000 CALL client web 1 path=p1
10.002500 CALL_SENT web db 1 thread=t1

10.002000 CALL_RCVD web db 1
10.004000 RET_SENT db web 1
10.004500001 RET_RCVD db web 1
10.006 RET web client 1 path=p1 note=x
"""
SORTED = """10.000000 CALL client web 1 path=p1
10.002000 CALL_RCVD web db 1
10.002500 CALL_SENT web db 1 thread=t1
10.004000 RET_SENT db web 1
10.004500001 RET_RCVD db web 1
10.006000 RET web client 1 path=p1 note=x
"""


def reading():
    plain = write("trace.txt", TRACE)
    equal("messages.sorts", printed(plain), SORTED)
    equal("messages.reads_its_own_output", printed("-", stdin=SORTED.encode()), SORTED)
    equal("messages.gzip", printed(write("trace.gz", gzip.compress(TRACE.encode()))), SORTED)
    equal("messages.zstd_from_a_pipe", printed("-", stdin=zstd(TRACE.encode())), SORTED)
    lines = [json.loads(line) for line in printed(plain, "--format", "json").splitlines()]
    equal("messages.json", lines[4], {"time_ns": 10_004_500_001, "op": "RET_RCVD", "sender": "db",
                                      "receiver": "web", "id": "1", "keys": ""})
    equal("messages.nothing", printed(write("empty.txt", "# nothing\n\n")), "")


def folders_and_doubles():
    hosts = folder("hosts")
    os.makedirs(os.path.join(hosts, "web"))
    half = TRACE.splitlines(keepends=True)
    for name, content in (("a.txt", "".join(half[:4]).encode()), (".hidden", b"not messages\n"),
                          ("web/b.txt.gz", gzip.compress("".join(half[4:]).encode()))):
        with open(os.path.join(hosts, name), "wb") as file:
            file.write(content)
    equal("messages.folder", printed(hosts), SORTED)
    one, two = write("one.txt", SORTED), write("two.txt", SORTED)
    code, out, err = messages(one, two)
    equal("messages.doubles_once", (code, out), (0, SORTED))
    check("messages.doubles_are_said", "6 sightings are duplicates" in err, err)
    again = "1 CALL a b 1\n2 CALL a b 1\n3 RET b a 1\n4 CALL a b 1\n5 RET b a 1\n"
    equal("messages.retransmissions_stay", len(printed(write("again.txt", again)).splitlines()), 5)


def changes():
    plain = write("changes.txt", SORTED)
    names = write("names.txt", "# old new\ndb postgres\n")
    out = printed(plain, "--rename", names)
    check("messages.rename", " web postgres 1" in out and " db " not in out, out)
    out = printed(plain, "--skew", "db=+30ms", "--skew", "web=-1ms")
    equal("messages.skew", out.splitlines(), [
        "10.000000 CALL client web 1 path=p1", "10.001500 CALL_SENT web db 1 thread=t1",
        "10.003500001 RET_RCVD db web 1", "10.006000 RET web client 1 path=p1 note=x",
        "10.032000 CALL_RCVD web db 1", "10.034000 RET_SENT db web 1"])
    back = printed("-", "--skew", "db=-30ms", "--skew", "web=1ms", stdin=out.encode())
    equal("messages.skew_and_back", back, SORTED)
    _, _, err = messages(plain, "--skew", "client=1s")
    check("messages.skew_of_plain_lines_is_said", "skew of client: no line has its own clock" in err, err)
    far = printed(plain, "--skew", "db=-1h")
    equal("messages.skew_beyond_reorder", [line.split()[1] for line in far.splitlines()][:2],
          ["CALL_RCVD", "RET_SENT"])


def losses():
    burst = "".join(f"{i // 10}.{i % 10:03d} MSG a b {i}\n" for i in range(1000))
    path = write("burst.txt", burst)
    equal("messages.drop_nothing", printed(path, "--drop", "100000:64"), printed(path))
    code, out, err = messages(path, "--drop", "100:2")
    kept = len(out.splitlines())
    check("messages.drop_some", code == 0 and 100 < kept < 1000, f"{kept} {err}")
    check("messages.drop_is_said", f"{1000 - kept} sightings dropped" in err, err)


def order():
    late = "100 CALL a b 1\n90 CALL a b 2\n89.9 CALL a b 3\n101 CALL a b 4\n"
    code, out, err = messages(write("late.txt", late))
    equal("messages.ten_seconds_late", [line.split()[4] for line in out.splitlines()], ["2", "3", "1", "4"])
    check("messages.later_is_said", "1 lines are further out of order" in err, err)
    out = printed("-", "--reorder", "11s", stdin=late.encode())
    equal("messages.reorder", [line.split()[4] for line in out.splitlines()], ["3", "2", "1", "4"])
    strict = printed("-", "--reorder", "0s", stdin=late.encode())
    equal("messages.reorder_nothing", [line.split()[4] for line in strict.splitlines()], ["1", "2", "3", "4"])


MAIL = """From x Mon Jun  2 17:30:07 2003
Received: from b.example (b [1.2.3.4])
\tby C.example; Mon, 2 Jun 2003 10:30:07 -0700 (PDT)
Received: from a.example by b.example; Mon, 2 Jun 2003 17:30:05 +0000
Received: from localhost by a.example; Mon, 2 Jun 2003 17:30:04 +0000
Message-ID: <1@a.example>

body

From y Mon Jun  2 17:30:09 2003
Received: from q by r; some day
Received: from d by e; Mon, 2 Jun 2003 17:00:00 +0000

"""


def mail():
    code, out, err = messages(write("box.mbox", MAIL))
    equal("messages.mail", (code, out), (0, "1054573200.000000 MSG d e -\n"
                                            "1054575005.000000 MSG a.example b.example 1@a.example path=1@a.example\n"
                                            "1054575007.000000 MSG b.example c.example 1@a.example path=1@a.example\n"))
    check("messages.mail_left_out", "1 Received headers of localhost" in err and "date cannot be read" in err, err)


def errors():
    bad = write("bad.txt", "1 CALL a b 1\n# fine\n2 CALLED a b 1\n3 RET b a 1\n")
    code, out, err = messages(bad)
    equal("messages.malformed", (code, out), (2, ""))
    check("messages.malformed_place", f"{bad}:3: op `CALLED`" in err and "--lenient" in err, err)
    code, out, err = messages(bad, "--lenient")
    equal("messages.lenient", (code, len(out.splitlines())), (0, 2))
    check("messages.lenient_counts", "1 malformed lines skipped" in err and f"{bad}:3" in err, err)
    for name, line in (("time", "1.0000000001 CALL a b 1"), ("short", "1 CALL a b"), ("key", "1 CALL a b 1 x"),
                       ("overflow", "9223372037 CALL a b 1"), ("utf8", b"1 CALL \xff b 1")):
        line = line if isinstance(line, bytes) else line.encode()
        code, out, err = messages("-", stdin=b"# one\n" + line + b"\n")
        check(f"messages.refuses_{name}", code == 2 and out == "" and "standard input:2: " in err, err)
    for name, arguments, want in (
            ("missing", ["no-such-file"], 2), ("no_input", [], 2), ("bad_skew", [bad, "--skew", "a"], 2),
            ("bad_drop", [bad, "--drop", "fast"], 2), ("bad_reorder", [bad, "--reorder", "soon"], 2),
            ("binary", [write("binary", b"\x7fELF\0\0\0\0" * 9)], 2), ("json", [write("a.json", "{}")], 2)):
        code, out, err = messages(*arguments)
        check(f"messages.refuses_{name}", code == want and out == "" and err != "", (code, err))


def tcp(source, destination, sequence, flags, payload=b""):
    """An IPv4 packet; flags: 2 SYN, 16 ACK, 24 data."""
    header = struct.pack(">HHIIBBHHH", source[1], destination[1], sequence, 0, 5 << 4, flags, 65535, 0, 0) + payload
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(header), 0, 0, 64, 6, 0, socket.inet_aton(source[0]),
                       socket.inet_aton(destination[0])) + header


def http_exchange(at_ns, request=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"):
    client, server = ("10.0.0.1", 40000), ("10.0.0.2", 80)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
    return [(at_ns, tcp(client, server, 100, 2)), (at_ns + 1000, tcp(server, client, 500, 18)),
            (at_ns + 2000, tcp(client, server, 101, 24, request)),
            (at_ns + 9000, tcp(server, client, 501, 24, answer))]


def captures():
    packets = http_exchange(20 * SECOND)
    path = write("web.pcap", capture(packets))
    lines = [line.split() for line in printed(path).splitlines()]
    equal("messages.capture", [line[:4] for line in lines],
          [["20.000002", "CALL", "10.0.0.1", "10.0.0.2"], ["20.000009", "RET", "10.0.0.2", "10.0.0.1"]])
    check("messages.capture_ids_pair", len({line[4] for line in lines}) == 1, lines)
    equal("messages.capture_reads_back", printed("-", stdin=printed(path).encode()), printed(path))
    with open(path, "rb") as file:
        content = file.read()
    equal("messages.capture_from_a_pipe", printed("-", stdin=content), printed(path))
    equal("messages.capture_compressed", printed(write("web.pcap.zst", zstd(content))), printed(path))
    names = write("names", "10.0.0.2:80 web\n10.0.0.1 client\n")
    equal("messages.capture_names", [line.split()[2:4] for line in printed(path, "--nodes", names).splitlines()],
          [["client", "web"], ["web", "client"]])
    # One sniffer at each end, both by clocks that agree: each message once.
    other = write("other.pcap", capture([(at + 300, data) for at, data in packets]))
    code, out, err = messages(path, other)
    equal("messages.both_ends_captured", (code, out), (0, printed(path)))
    check("messages.both_ends_captured_said", "2 sightings are duplicates" in err, err)
    other = write("other.pcap", capture([(at + 50_000_000, data) for at, data in packets]))
    equal("messages.both_ends_captured_by_clocks_that_differ", printed(path, other), printed(path))
    mixed = printed(path, write("mixed.txt", "20.000005 MSG a b -\n"))
    equal("messages.captures_and_text", [line.split()[1] for line in mixed.splitlines()], ["CALL", "MSG", "RET"])
    code, out, err = messages(write("cut.pcap", content[:-20]))
    check("messages.cut_capture", code == 0 and " CALL " in out and "middle of a packet" in err, (code, out, err))
    check("messages.bad_names", messages(path, "--nodes", write("names", "nonsense\n"))[0] == 2)


def clocks():
    """A node whose clock is 40 ms ahead is set right from the calls alone; what is in order stays so."""
    lines, rng = [], random.Random(7)
    for i in range(400):
        at = 100 + i * 0.01
        there, done = at + 0.0005 + rng.random() * 0.001, at + 0.004 + rng.random() * 0.001
        back = done + 0.0005 + rng.random() * 0.001
        lines += [(at, f"CALL_SENT a b {i}"), (there + 0.04, f"CALL_RCVD a b {i}"),
                  (done + 0.04, f"RET_SENT b a {i}"), (back, f"RET_RCVD b a {i}")]
    text = "".join(f"{at:.6f} {rest}\n" for at, rest in sorted(lines))
    code, out, err = messages("-", "--deskew", stdin=text.encode())
    times = {" ".join(line.split()[1:]): float(line.split()[0]) for line in out.splitlines()}
    orderly = all(times[f"CALL_SENT a b {i}"] <= times[f"CALL_RCVD a b {i}"] <= times[f"RET_SENT b a {i}"] <=
                  times[f"RET_RCVD b a {i}"] for i in range(400))
    check("messages.deskew", code == 0 and len(times) == 1600 and orderly, err)
    check("messages.deskew_is_said", "the clock of b was 4" in err or "the clock of b was 3" in err, err)
    in_order = [float(line.split()[0]) for line in out.splitlines()]
    check("messages.deskew_sorts", in_order == sorted(in_order))


def streams():
    """What is in order and old enough comes out while more is coming: memory does not hold the whole."""
    lines = "".join(f"{i}.000000 MSG node-a node-b {i}\n" for i in range(200_000))
    out = printed("-", stdin=lines.encode())
    check("messages.long_stream", out == lines, f"{len(out)} of {len(lines)}")


run(reading, folders_and_doubles, changes, losses, order, mail, errors, captures, clocks, streams)
