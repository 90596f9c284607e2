# needs: wherefore  timeout: 600  parallel: yes
"""`wherefore record`: exit statuses, refusals, stdio, what a killed program leaves, children, the order of what is written."""
import collections
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
from cpg_records import NO_THREAD, Recording
import harness
from harness import check, equal, folder, run

WHEREFORE = os.path.abspath(harness.WHEREFORE)

BUILD = os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release"))
LAB = os.path.join(BUILD, "record/record_lab")
PROBES = os.path.join(BUILD, "probe")
GONE = 1  # the bit CutFlags has for a wait that timed out


def record(*command, flags=(), file=None, **more):
    """(process, the recording's path)"""
    file = file or folder("r.cpg")
    more.setdefault("stdin", subprocess.DEVNULL)
    process = subprocess.run([WHEREFORE, "record", *flags, "-o", file, "--", *command], capture_output=True, timeout=120, **more)
    return process, file


def the_status_is_the_programs():
    for status in (0, 1, 77, 255):
        equal(f"status {status}", record(LAB, "status", str(status))[0].returncode, status)
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        equal(f"killed by {number}", record(LAB, "signal", str(int(number)))[0].returncode, 128 + number)
    equal("not found", record("/nowhere/at/all")[0].returncode, 127)
    equal("not found on PATH", record("no-such-program-anywhere")[0].returncode, 127)
    text = folder("text")
    with open(text, "w", encoding="utf-8") as file:
        file.write("echo hello\n")
    equal("not executable", record(text)[0].returncode, 126)
    equal("a folder", record("/tmp")[0].returncode, 126)
    os.chmod(text, 0o755)
    process = record(text)[0]
    equal("a script without #!", (process.returncode, process.stdout), (0, b"hello\n"))
    equal("no program", subprocess.run([WHEREFORE, "record"], capture_output=True, check=False).returncode, 2)


def refused(name, *command):
    process, file = record(*command)
    lines = process.stderr.decode().splitlines()
    check(f"{name} is refused in one line", process.returncode == 125 and len(lines) == 1 and process.stdout == b"",
          (process.returncode, process.stdout, lines))
    check(f"{name} leaves no recording", not os.path.exists(file))


def programs_that_would_run_unseen_are_refused():
    refused("a static program", os.path.join(BUILD, "record/record_static"), "status", "0")
    refused("a program that imports clone", os.path.join(BUILD, "record/record_clone_import"))
    set_id = folder("set-id")
    shutil.copy(LAB, set_id)
    os.chmod(set_id, stat.S_ISUID | 0o755)
    refused("a set-user-id program", set_id, "status", "0")
    small = folder("small")
    with open(small, "wb") as file:  # the head of a 32-bit program
        file.write(b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0, 52, 0, 0, 52, 32, 0, 40, 0, 0) + bytes(64))
    os.chmod(small, 0o755)
    refused("a 32-bit program", small)
    script = folder("script")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!{os.path.join(BUILD, 'record/record_static')} status\n")
    os.chmod(script, 0o755)
    refused("a script of a static interpreter", script)
    locked = folder("r.cpg")
    with open(locked, "w", encoding="utf-8") as file:
        file.write("not a recording")
    process, _ = record(LAB, "status", "0", file=locked)
    equal("a file that is no recording is not overwritten", (process.returncode, open(locked, encoding="utf-8").read()),
          (125, "not a recording"))
    equal("a folder that is not there", record(LAB, "status", "0", file="/nowhere/r.cpg")[0].returncode, 125)
    process, _ = record(LAB, "clone")
    check("a thread by a clone of its own ends it before the thread begins",
          process.returncode == 125 and process.stdout == b"before\n" and process.stderr.count(b"\n") == 1,
          (process.returncode, process.stdout, process.stderr))


def stdio_is_the_programs():
    where = folder("here")
    os.mkdir(where)
    data = os.urandom(300_000)
    process, _ = record("sh", "-c", "cat; pwd >&2; exit 3", input=data, cwd=where, stdin=None)
    equal("stdin, stdout, stderr, cwd", (process.stdout == data, process.stderr.decode().strip(), process.returncode),
          (True, os.path.realpath(where), 3))
    native = subprocess.run([LAB, "descriptors"], capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    equal("no descriptor and no child is added", record(LAB, "descriptors")[0].stdout, native)
    began = time.monotonic()
    subprocess.run(f"{WHEREFORE} record -o {folder('r.cpg')} -- sh -c 'exec {LAB} status 0' | cat", shell=True, check=True)
    check("a pipe is not held open", time.monotonic() - began < 60)
    process = subprocess.run([WHEREFORE, "record", "--", LAB, "status", "4"], capture_output=True, cwd=where, check=False)
    files = [f for f in os.listdir(where) if f.endswith(".cpg")]
    check("the default name", process.returncode == 4 and len(files) == 1 and files[0].startswith("record_lab."), files)
    if files:
        equal("the default name has the program's process id", files[0].split(".")[1], str(Recording(os.path.join(where, files[0])).pid))


def how_threads_ended_is_said():
    names = {1: "CondWait"}
    for how, status, main, other in (("exit", 6, "Exit", "ProcessExit"), ("return", 7, "Exit", "ProcessExit"),
                                     ("_exit", 8, "Exit", "ProcessExit"), ("abort", 134, "Killed", "Killed"),
                                     ("kill", 137, "Killed", "Killed"), ("crash", 139, "Killed", "Killed")):
        process, file = record(LAB, "end", how)
        recording = Recording(file)
        ends = {t: next(r for r in reversed(recording.threads[t]) if r["kind"] == "ThreadEnd") for t in recording.threads}
        equal(f"{how}: status, ends, complete",
              (process.returncode, ends[0]["op"], ends[1]["op"], ends[1]["inside"], ends[2]["op"], recording.complete),
              (status, main, names[1], 1, other, main == "Exit"))
        equal(f"{how}: the wait had let go of the mutex", [role for _, role, _ in ends[1]["actions"]], ["ReleaseAll"])


def a_killed_program_leaves_its_recording():
    file = folder("r.cpg")
    process = subprocess.Popen([WHEREFORE, "record", "-o", file, "--", LAB, "beat"], stdout=subprocess.PIPE)
    beats = [process.stdout.readline() for _ in range(40)]
    # While it runs, the file is read: nothing is torn, and it grows.
    seen, reads = [], 0
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (len(seen) < 2 or seen[-1] == seen[0]):
        recording = Recording(file)
        reads += 1
        if recording.cuts(0):
            seen.append(len(recording.cuts(0)))
    check("it is read while it is written", len(seen) > 1 and seen[-1] > seen[0] and not Recording(file).complete, seen[-5:])
    program = Recording(file).pid
    os.kill(program, signal.SIGKILL)
    killed = time.monotonic_ns()
    rest = process.stdout.read()
    equal("killed by 9", process.wait(60), 137)
    recording = Recording(file)
    printed = [int(line.split()[1]) for line in beats + rest.splitlines() if len(line.split()) == 2]
    with open(file, "rb") as head:
        started = struct.unpack_from("<Q", head.read(40), 24)[0]
    locks = [c["start_ns"] + started for c in recording.cuts(0) if c["op"] == "MutexLock"]
    missing = [p for p in printed if p < killed - 100_000_000 and not any(l <= p for l in locks)]
    check("all but the last 100 ms is there", len(locks) >= len([p for p in printed if p < killed - 100_000_000]) and not missing,
          (len(locks), len(printed)))
    equal("it is not complete", recording.complete, False)
    equal("main was killed", recording.ops(0)[-1], "Killed")


def a_scribe_that_is_killed_stops_nothing():
    file = folder("r.cpg")
    process = subprocess.Popen([WHEREFORE, "record", "-o", file, "--", LAB, "locks", "300000"])
    scribe = None
    deadline = time.monotonic() + 60
    while scribe is None and process.poll() is None and time.monotonic() < deadline:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                    if name.read().startswith("wherefore-scrib") and os.readlink(f"/proc/{pid}/fd/0") == file:
                        scribe = int(pid)
            except OSError:
                continue
    if scribe is not None:
        os.kill(scribe, signal.SIGKILL)
    equal("the program ends as it would", process.wait(120), 0)
    check("what was written is read", Recording(file).version == 1)


def children_have_files_of_their_own():
    process, file = record(os.path.join(PROBES, "fork"))
    equal("fork: status", process.returncode, 0)
    recording = Recording(file)
    forks = [(r["number"], r["pid"]) for t in recording.threads for r in recording.threads[t] if r["kind"] == "Fork"]
    equal("numbers in order of fork", [n for n, _ in forks], [1, 2, 4])
    for number, pid in forks:
        child = Recording(f"{file}.{number}")
        check(f"child {number}", child.pid == pid and len(child.threads) == 4 and not child.lost(), (child.pid, pid, len(child.threads)))
    equal("the aborted child is not complete", [Recording(f"{file}.{n}").complete for n in (1, 2, 3, 4)], [True, False, True, True])
    process, file = record(os.path.join(PROBES, "exec"))
    named = sorted(int(f.rsplit(".", 1)[1]) for f in os.listdir(os.path.dirname(file)) if f.startswith("r.cpg."))
    check("programs of children go on recording", named == list(range(1, len(named) + 1)) and len(named) >= 14, named)
    for number in range(1, 9):
        child = Recording(f"{file}.{number}")
        equal(f"exec form {number - 1}", [child.ops(t) for t in sorted(child.threads)], [["Create", "Join", "Exit"], ["ThreadExit"]])
    equal("an exec that failed", Recording(file + ".9").ops(0), ["Exit"])
    process, file = record("sh", "-c", f"exec {LAB} names")
    recording = Recording(file)
    equal("the program that exec put in its place", (recording.ops(0), recording.complete), (["Create", "Join", "Exit"], True))
    names = [(r["thread"], r["name"]) for t in recording.threads for r in recording.threads[t] if r["kind"] == "ThreadName"]
    equal("names", names, [(NO_THREAD, "record_lab"), (0, "the first")])


def a_program_may_link_the_library():
    file = folder("r.cpg")
    linked = os.path.join(BUILD, "record/record_linked")
    environment = dict(os.environ, WHEREFORE_RECORD=file)
    equal("linked: status", subprocess.run([linked, "locks", "10"], env=environment, check=False).returncode, 0)
    deadline = time.monotonic() + 60
    while not (os.path.exists(file) and Recording(file).complete) and time.monotonic() < deadline:
        time.sleep(0.01)
    equal("linked: recorded", len(Recording(file).threads), 5)
    equal("linked, not asked for", subprocess.run([linked, "locks", "10"], check=False).returncode, 0)


def short_threads_take_no_memory():
    native = int(subprocess.run([LAB, "churn", "5000"], capture_output=True, check=True).stdout)
    process, file = record(LAB, "churn", "5000")
    recorded = int(process.stdout)
    check("5,000 threads: memory stays flat", recorded < native + 40_000, f"{native} KB natively, {recorded} KB recorded")
    recording = Recording(file, check_sums=False)
    equal("5,000 threads: all there", (len(recording.threads), recording.lost()), (5001, {}))
    equal("5,000 threads: each whole", collections.Counter(tuple(recording.ops(t)) for t in range(1, 5001)),
          {("MutexLock", "MutexUnlock", "MutexLock", "MutexUnlock", "ThreadExit"): 5000})


def actions_of(recording):
    """object id -> [(sequence, role, thread, index of the sub-computation it ended, cut)], in order of sequence"""
    found = collections.defaultdict(list)
    for thread in recording.threads:
        index = 0
        for r in recording.threads[thread]:
            for number, role, sequence in r.get("actions", ()):
                found[number].append((sequence, role, thread, index, r))
            index += r["kind"] in ("Cut", "ThreadEnd")
    return {number: sorted(all_of_it, key=lambda a: a[0]) for number, all_of_it in found.items()}


def kinds_of(recording):
    return {r["id"]: r["object_kind"] for t in recording.threads for r in recording.threads[t] if r["kind"] == "Object"}


def sequences_are_the_order_in_which_it_happened():
    for probe in ("condition", "c11", "spin", "cpp_condition"):
        recording = Recording(record(os.path.join(PROBES, probe))[1], check_sums=False)
        kinds, wrong = kinds_of(recording), []
        for number, actions in actions_of(recording).items():
            if kinds[number] not in ("Mutex", "Spin"):
                continue
            holder, depth = None, 0
            for sequence, role, thread, _, _ in actions:
                if role == "AcquireAll":
                    if holder not in (None, thread):
                        wrong.append((number, sequence))
                    holder, depth = thread, depth + 1
                else:
                    if holder != thread:
                        wrong.append((number, sequence))
                    depth -= 1
                    holder = thread if depth > 0 else None
            if [a[0] for a in actions] != list(range(actions[0][0], actions[0][0] + len(actions))):
                wrong.append((number, "gap"))
        check(f"{probe}: a lock has one holder at a time", not wrong, wrong[:10])
        check(f"{probe}: times of one thread ascend", all(
            a["start_ns"] <= b["end_ns"] <= b["start_ns"] for t in recording.threads
            for a, b in zip(recording.cuts(t), recording.cuts(t)[1:])))

    recording = Recording(record(os.path.join(PROBES, "barrier"))[1], check_sums=False)
    rounds = collections.defaultdict(list)
    for number, actions in actions_of(recording).items():
        for sequence, role, thread, _, cut in actions:
            if role == "ReleaseRound":
                rounds[number, sequence].append((thread, cut["end_ns"], cut["start_ns"]))
    sizes = collections.Counter(len(members) for members in rounds.values())
    equal("barrier: rounds of 4, 1 and 2", sizes, {4: 200, 1: 5, 2: 100})
    check("barrier: nobody leaves a round before all have come",
          all(max(e for _, e, _ in members) <= min(s for _, _, s in members) for members in rounds.values()))
    check("barrier: members of a round are different threads", all(len({t for t, _, _ in m}) == len(m) for m in rounds.values()))

    recording = Recording(record(os.path.join(PROBES, "rwlock"))[1], check_sums=False)
    kinds, wrong = kinds_of(recording), []
    for number, actions in actions_of(recording).items():
        readers, writer = 0, None
        for sequence, role, thread, _, _ in actions if kinds[number] == "Rwlock" else ():
            bad = {"AcquireAll": writer is not None or readers, "AcquireFromWriters": writer is not None,
                   "ReleaseAll": writer != thread, "ReleaseToWriters": readers == 0}[role]
            if bad:
                wrong.append((sequence, role))
            writer = thread if role == "AcquireAll" else None if role == "ReleaseAll" else writer
            readers += {"AcquireFromWriters": 1, "ReleaseToWriters": -1}.get(role, 0)
    check("rwlock: readers together, writers alone", not wrong, wrong[:10])

    recording = Recording(record(os.path.join(PROBES, "semaphore"))[1], check_sums=False)
    kinds, wrong, passes = kinds_of(recording), [], 0
    for number, actions in actions_of(recording).items():
        # `space` began at 1, `named` at 2, the others at 0: never more waits than posts and two.
        balance = 0
        for sequence, role, _, _, _ in actions if kinds[number] == "Semaphore" else ():
            balance += 1 if role == "ReleaseAll" else -1
            passes += role == "AcquireAll"
            if balance < -2:
                wrong.append((number, sequence))
    check("semaphore: a wait comes after the post that let it through", not wrong and passes > 3999, (wrong[:10], passes))
    timed = [c for c in recording.cuts(0) if c["flags"] & GONE]
    equal("semaphore: a time-out cuts and acquires nothing", [(c["op"], c["actions"]) for c in timed],
          [("SemTimedwait", []), ("SemClockwait", [])])
    check("semaphore: a failed try cuts nothing", "SemTrywait" not in recording.ops(0))


if __name__ == "__main__":
    run(the_status_is_the_programs, programs_that_would_run_unseen_are_refused, stdio_is_the_programs, how_threads_ended_is_said,
        a_killed_program_leaves_its_recording, a_scribe_that_is_killed_stops_nothing, children_have_files_of_their_own,
        a_program_may_link_the_library, short_threads_take_no_memory, sequences_are_the_order_in_which_it_happened)
