#!/usr/bin/env python3
# `wherefore query --pid / --exe`: a program that knows nothing of us is asked while it runs, exactly, and looks the same
# afterwards.
# needs: wherefore
# timeout: 180
import atexit
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, Commanded, check, equal, run, wait_for

HERE = tempfile.mkdtemp(prefix="wherefore-weave-")  # others than root must get at the program, too
TARGET = os.path.join(HERE, "weave-target")
POINTS = os.path.join(HERE, "tracepoints.json")


def definition(name, function, at, exports, **location):
    return {"version": 1, "name": name, "locations": [{"function": function, "at": at, **location}], "exports": exports}


DEFINITIONS = [
    definition("Meter.Add", "Meter::Add", "entry", {"delta": "arg delta", "who": "arg who"}, exe="weave-target"),
    definition("Slow", "Slow", "exit", {"ms": "arg milliseconds", "result": "retval", "elapsed": "elapsed"},
               exe="weave-target"),
    definition("Nested", "Nested", "exit", {"depth": "arg depth", "elapsed": "elapsed"}, exe="weave-target"),
    definition("Outer.leave", "Outer", "leave", {"number": "arg number", "elapsed": "elapsed"}, exe="weave-target"),
    definition("Inner.throw", "Inner", "throw", {"number": "arg number"}, exe="weave-target"),
    definition("read", "read", "entry", {"bytes": "arg2"}, library="libc.so.6"),
]


class Target(Commanded):
    def __init__(self, path=TARGET):
        super().__init__(path)


class Query:
    """A query that is woven when the constructor is done."""

    def __init__(self, text, *arguments):
        self.process = subprocess.Popen([WHEREFORE, "query", text, "--tracepoint-file", POINTS, "--format", "json",
                                         *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.told = ""
        for line in self.process.stderr:
            self.told += line
            if line.startswith("woven"):
                break

    def end(self):
        """Ctrl-C; its lines of JSON."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        self.told += err
        return [json.loads(line) for line in out.splitlines()]


def total(text, *arguments, doing):
    """The rows of a query over one target that does as it is told meanwhile."""
    with Target() as target:
        query = Query(text, "--pid", target.pid, "--total", *arguments)
        for command in doing:
            target.do(command)
        answers = query.end()
        return answers[0]["rows"] if len(answers) == 1 and query.process.returncode == 0 else query.told


def text_bytes(pid, path):
    """The program's code as the process has it, and as the file has it."""
    process = b""
    disk = b""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory, open(path, "rb") as file:
        for line in maps:
            match = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ \d+ +(.*)", line)
            if match is None or match[4].strip() != path:
                continue
            begin, end, offset = (int(match[i], 16) for i in (1, 2, 3))
            memory.seek(begin)
            process += memory.read(end - begin)
            file.seek(offset)
            disk += file.read(end - begin)
    return process, disk[:len(process)].ljust(len(process), b"\0")


def untouched(pid, path=TARGET):
    process, disk = text_bytes(pid, path)
    return len(process) > 0 and process == disk


def counts_exactly():
    for link in ("multi", "perf"):
        if link == "multi" and not has_multi():
            continue
        rows = total("From m In Meter.Add GroupBy m.who Select m.who, COUNT, SUM(m.delta), MAX(m.delta)",
                     "--link", link, doing=["add 4 25000"])
        half = 25000 // 2
        equal(f"calls of four threads are counted exactly ({link})", rows,
              [["alice", 4 * half, 4 * half * (half - 1), 24998], ["bob", 4 * half, 4 * half * half, 24999]])


def has_multi():
    with Target() as target:
        query = Query("From m In Meter.Add Select COUNT", "--pid", target.pid, "--link", "multi")
        query.end()
        return "has no multi-uprobe links" not in query.told


def streams_intervals():
    with Target() as target:
        query = Query("From m In Meter.Add Where m.who = 'bob' Select COUNT", "--pid", target.pid, "--interval",
                      "200ms")
        for _ in range(4):
            target.do("add 2 500")
            time.sleep(0.15)  # so that there are several intervals; what falls into which does not matter
        lines = query.end()
        equal("an interval's object", sorted(lines[0]), ["columns", "end_ns", "lost", "rows", "start_ns"])
        equal("rows of all intervals add up", sum(line["rows"][0][0] for line in lines if line["rows"]), 2000)
        check("intervals follow one another",
              all(a["end_ns"] == b["start_ns"] for a, b in zip(lines, lines[1:])) and len(lines) > 1, lines)
        check("they end at multiples of the interval", all(line["end_ns"] % 200_000_000 == 0 for line in lines[:-1]))
        equal("Ctrl-C is no error", query.process.returncode, 0)
        query = Query("From m In Meter.Add Select COUNT", "--pid", target.pid, "--for", "300ms", "--total")
        target.do("add 1 10")
        out, _ = query.process.communicate(timeout=60)
        equal("--for ends by itself", json.loads(out)["rows"], [[10]])
        equal("--total prints what --events does", sorted(json.loads(out)), ["columns", "cost", "input", "rows"])


def ends_of_functions():
    rows = total("From s In Slow Select s.ms, s.result, s.elapsed", doing=["slow 30", "slow 5"])
    check("the return value and the time a call took",
          len(rows) == 2 and rows[0][:2] == [5, 5] and rows[1][:2] == [30, 30] and rows[0][2] >= 5_000_000
          and rows[1][2] >= 30_000_000, rows)
    rows = total("From n In Nested Select n.depth, n.elapsed", doing=["nested 5"])
    check("nested calls each have their own time",
          [row[0] for row in rows] == [1, 2, 3, 4, 5] and all(a[1] < b[1] for a, b in zip(rows, rows[1:]))
          and all(row[1] >= row[0] * 2_000_000 for row in rows), rows)


def exceptions_pass():
    with Target() as target:
        query = Query("From o In Outer.leave Select COUNT(o.elapsed), SUM(o.number)", "--pid", target.pid, "--total")
        equal("an exception passes a woven function", target.do("throw 1000"), "done")
        equal("and is seen to leave it", query.end()[0]["rows"], [[1000, 499500]])
        equal("the program goes on", target.do("throw 10"), "done")
    rows = total("From i In Inner.throw Select COUNT, SUM(i.number)", doing=["throw 1000"])
    equal("a function without clean-up is seen to be left by exceptions", rows, [[500, 250000]])


def leaves_no_trace():
    with Target() as target:
        check("before weaving the code is the file's", untouched(target.pid))
        query = Query("From m In Meter.Add Select COUNT", "--pid", target.pid)
        target.do("add 1 10")
        check("while woven it is not", not untouched(target.pid))
        query.end()
        check("after unweaving it is again", untouched(target.pid))
        query = Query("From o In Outer.leave Select COUNT", "--pid", target.pid)
        target.do("throw 10")
        query.process.kill()
        query.process.wait()
        check("kill -9 of the weaver leaves nothing", wait_for(lambda: untouched(target.pid), 20))
        equal("and the program runs", target.do("throw 10"), "done")


def programs_by_name():
    with Target() as first:
        query = Query("From m In Meter.Add GroupBy m.procId Select m.procId, COUNT", "--exe", "weave-targ*", "--total")
        first.do("add 1 100")
        with Target() as later:
            later.do("add 2 100")
            rows = query.end()[0]["rows"]
            equal("processes of a name are woven, those that start later too", sorted(row[1] for row in rows),
                  [100, 200])
            equal("each by its number", sorted(row[0] for row in rows), sorted([first.pid, later.pid]))
    other = os.path.join(HERE, "weave-other")
    shutil.copy(TARGET, other)
    with Target() as target, Target(other) as bystander:
        query = Query("From r In read GroupBy r.procName Select r.procName, COUNT, SUM(r.bytes)", "--exe",
                      "weave-target", "--total")
        bystander.do("read 500")
        target.do("read 1000")
        rows = query.end()[0]["rows"]
        # Its commands come by read() too, in larger pieces.
        check("a library's function is limited to the programs that were named",
              len(rows) == 1 and rows[0][0] == "weave-target" and 1000 <= rows[0][1] <= 1010, rows)


def hosts():
    if os.system("unshare --uts true 2>/dev/null") != 0:
        print("skip the host of a process is its own # no privilege to make UTS namespaces")
        return
    process = subprocess.Popen(["unshare", "--uts", "sh", "-c", f"hostname node-seven; exec {TARGET}"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    query = Query("From m In Meter.Add GroupBy m.host, m.procName Select m.host, m.procName, COUNT", "--pid",
                  process.pid, "--total")
    process.stdin.write("add 1 5\n")
    process.stdin.flush()
    process.stdout.readline()
    equal("the host of a process is its own", query.end()[0]["rows"], [["node-seven", "weave-target", 5]])
    process.kill()
    process.wait()


def refusals():
    def refused(*arguments, **popen):
        return subprocess.run([WHEREFORE, "query", *map(str, arguments), "--tracepoint-file", POINTS],
                              capture_output=True, text=True, timeout=60, **popen)

    with Target() as target:
        unknown = refused("From x In Nowhere Select COUNT", "--pid", target.pid)
        check("an unknown tracepoint is an error", unknown.returncode == 2 and "'Nowhere'" in unknown.stderr
              and unknown.stdout == "", unknown.stderr)
        behind = refused("--pid", target.pid, "From x In Nowhere Select COUNT")
        check("a query may stand behind its flags", behind.stderr == unknown.stderr, behind.stderr)
    wrong = refused("--pid", "abc", "From m In Meter.Add Select COUNT")
    check("what is not a process number", wrong.returncode == 2 and "abc is not a process number" in wrong.stderr, wrong.stderr)
    gone = refused("From m In Meter.Add Select COUNT", "--pid", 4_000_000)
    check("a process that is not there", gone.returncode == 1 and "4000000" in gone.stderr, gone.stderr)
    nobody = refused("From m In Meter.Add Select COUNT", "--exe", "no-such-program")
    check("a program that nobody runs", nobody.returncode == 1 and "no-such-program" in nobody.stderr, nobody.stderr)
    child = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=65534)
    child.stdout.readline()
    denied = refused("From m In Meter.Add Select COUNT", "--pid", child.pid, user=65534)
    check("without privileges it says what is needed, and offers what needs none",
          denied.returncode == 3 and "CAP_BPF" in denied.stderr and "libwherefore" in denied.stderr,
          f"{denied.returncode} {denied.stderr}")
    child.kill()
    child.wait()


def without_root():
    if shutil.which("setpriv") is None:
        print("skip CAP_BPF and CAP_PERFMON are enough # no setpriv here")
        return
    child = subprocess.Popen([TARGET], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=65534, group=65534,
                             extra_groups=[])
    child.stdout.readline()
    binary = os.path.join(HERE, "wherefore")  # the build's folder may be root's own
    shutil.copy(WHEREFORE, binary)
    query = subprocess.Popen(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps",
                              "+bpf,+perfmon", "--ambient-caps", "+bpf,+perfmon", binary, "query",
                              "From m In Meter.Add GroupBy m.who Select m.who, COUNT", "--pid", str(child.pid),
                              "--tracepoint-file", POINTS, "--format", "json", "--total"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = query.stderr.readline()
    child.stdin.write("add 1 10\n")
    child.stdin.flush()
    child.stdout.readline()
    query.send_signal(signal.SIGINT)
    out, err = query.communicate(timeout=60)
    check("CAP_BPF and CAP_PERFMON are enough",
          query.returncode == 0 and json.loads(out)["rows"] == [["alice", 5], ["bob", 5]], f"{out} {told} {err}")
    child.kill()
    child.wait()


def main():
    os.chmod(HERE, 0o755)
    atexit.register(shutil.rmtree, HERE, ignore_errors=True)
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-g", "-pthread", "-o", TARGET,
                    os.path.join(SOURCE, "tests/targets/query_weave_target.cc")], check=True)
    with open(POINTS, "w") as file:
        json.dump(DEFINITIONS, file)
    with Target() as target:
        probe = Query("From m In Meter.Add Select COUNT", "--pid", target.pid)
        probe.process.kill()
        if "woven at" not in probe.told and ("BPF" in probe.told or "uprobe" in probe.told):
            print(f"skip processes are woven # {probe.told.splitlines()[0]}")
            return
    run(counts_exactly, streams_intervals, ends_of_functions, exceptions_pass, leaves_no_trace, programs_by_name,
        hosts, refusals, without_root)


main()
