#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""`wherefore messages`: text, compressed text, mail and folders become one text in order of time, which reads back as
itself; renames, skew, drops and doubles; errors name file and line."""
import gzip

from harness import *


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
    check("messages.doubles_are_said", "6 sightings were there twice" in err, err)
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
    check("messages.skew_of_plain_lines_is_said", "skew of client: nothing was sighted" in err, err)
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
    check("messages.later_is_said", "1 lines are later than --reorder allows" in err, err)
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


def streams():
    """What is in order and old enough comes out while more is coming: memory does not hold the whole."""
    lines = "".join(f"{i}.000000 MSG node-a node-b {i}\n" for i in range(200_000))
    out = printed("-", stdin=lines.encode())
    check("messages.long_stream", out == lines, f"{len(out)} of {len(lines)}")


run(reading, folders_and_doubles, changes, losses, order, mail, errors, streams)
