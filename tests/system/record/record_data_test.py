# needs: wherefore  timeout: 300
"""Data depth: the pages of every sub-computation are exactly those it touched; inputs and outputs with their bytes."""
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from cpg_records import Recording
from harness import WHEREFORE, check, equal, folder, run

BUILD = os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release"))
HERE = folder("recorded")
os.makedirs(HERE, exist_ok=True)
TRACKERS = os.environ.get("WHEREFORE_TRACKERS", "uffd sigsegv").split()
SEEDS = int(os.environ.get("WHEREFORE_SEEDS", "3"))


EMULATOR = "qemu"  # tells the pages itself, and sees the calls


def record(*command, tracker="auto", stdin=b""):
    file = os.path.join(HERE, "p.cpg")
    how = ("--control", "--control-source", "qemu") if tracker == EMULATOR else ("--tracker", tracker)
    done = subprocess.run([WHEREFORE, "record", "--data", *how, "-o", file, "--", *command], input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240, cwd=HERE)
    done.stderr = b"".join(l for l in done.stderr.splitlines(True) if not l.startswith(b"wherefore: branches are recorded"))
    return done, Recording(file, check_sums=False) if os.path.exists(file) else None


def pages_are_exact():
    """The program says which pages each sub-computation of each thread read and wrote; so does the recording."""
    for tracker in (*TRACKERS, EMULATOR):
        for seed in range(SEEDS):
            done, recording = record(os.path.join(BUILD, "recorded/touches"), str(seed), tracker=tracker)
            areas, told = [], {}
            for word in (line.split() for line in done.stdout.decode().splitlines()):
                if word[0] == "area":
                    areas.append((int(word[1], 16), int(word[2], 16)))
                elif word[0] == "sub":
                    told[int(word[1]), int(word[2])] = {}
                else:
                    pages = told[int(word[1]), int(word[2])]
                    page = int(word[3], 16)
                    pages[page] = pages.get(page, 0) | int(word[4] == "w")
            wrong = [] if told else [done]
            for thread, index, op, pages, _ in recording.sub_computations():
                found = {p: w for p, w in pages.items() if any(a <= p < a + n for a, n in areas)}
                expected = told.pop((thread, index), found)
                if found != expected:
                    wrong.append((thread, index, op, {p: (found.get(p), expected.get(p)) for p in found.keys() | expected.keys()
                                                      if found.get(p) != expected.get(p)}))
            check(f"pages are exact with {tracker}, seed {seed}", not wrong and not told, (wrong[:3], list(told)[:3]))


def transfers_have_their_bytes():
    paths = [os.path.join(HERE, name) for name in ("file", "mapped", "out")]
    for path in paths[:2]:
        with open(path, "wb") as file:
            file.write(bytes(range(256)) * 80)
    for tracker in (*TRACKERS, EMULATOR):
        done, recording = record(os.path.join(BUILD, "recorded/transfers"), *paths, tracker=tracker, stdin=b"0123456789ABC")
        equal(f"the program ends well with {tracker}", (done.returncode, done.stderr), (0, b""))
        subs = list(recording.sub_computations())
        moved = [t for _, _, _, _, transfers in subs for t in transfers]
        seen = [(t["name"], t["output"], t["begin"], t["end"]) for t in moved
                if t["transfer"] in ("File", "Stdin", "Stdout") and not t["name"].startswith(("/etc", "/usr", "/lib"))]
        length = len(done.stdout)
        equal(f"files and standard streams with {tracker}", seen,
              [("stdin", False, 0, 4), ("stdin", False, 4, 10), (paths[0], False, 0, 100), (paths[0], False, 1000, 1050),
               (paths[0], False, 2000, 2010), (paths[0], False, 2010, 2030), (paths[1], False, 0, 20480),
               (paths[2], True, 0, 30), (paths[2], True, 500, 507), (paths[2], True, 30, 31), ("stdout", True, 0, length)])
        arguments = [(t["name"], t["end"]) for t in moved if t["transfer"] == "Argument"]
        equal(f"arguments with {tracker}", arguments[1:], [(f"arg:{i + 1}", len(p)) for i, p in enumerate(paths)])
        pipe = [(t["output"], t["begin"], t["end"], t["stream"]) for t in moved if t["transfer"] == "Pipe"]
        check(f"the ends of a pipe with {tracker}", sorted(p[:3] for p in pipe) == [(False, 0, 5), (True, 0, 5)] and
              len({p[3] for p in pipe}) == 1, pipe)
        sockets = [(t["output"], t["begin"], t["end"], t["stream"]) for t in moved if t["transfer"] == "Socket"]
        check(f"the ends of a socket pair with {tracker}", sorted(s[:3] for s in sockets) == [(False, 0, 5), (True, 0, 5)] and
              len({s[3] for s in sockets}) == 1, sockets)
        words = dict(line.split() for line in done.stdout.decode().splitlines())
        base = int(words["mapped"], 16)
        touched = {p - base for s in subs for p in s[3] if base <= p < base + 5}
        equal(f"pages read of a mapped file with {tracker}", touched, {3})
        address = int(words["allocated"], 16)
        sizes = [r["size"] for r in recording.threads[0] if r["kind"] == "Allocation" and r["address"] == address]
        equal(f"the size of an allocation with {tracker}", sizes[-1:], [123457])


def real_programs_give_what_they_give_natively():
    path = os.path.join(HERE, "lines")
    with open(path, "w", encoding="ascii") as file:
        for i in range(60000):
            file.write(f"{i * 7919 % 1000003} line {i}\n")
    for command in (["pigz", "-p", "2", "-c"], ["xz", "-T2", "-0", "-c"], ["zstd", "-T2", "-q", "-c"], ["pbzip2", "-p2", "-c"],
                    ["sort", "--parallel=2"]):
        if shutil.which(command[0]) is None:
            continue
        native = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        done, recording = record(*command, path)
        check(f"{command[0]} gives what it gives natively", (done.stdout, done.stderr, done.returncode) ==
              (native.stdout, native.stderr, 0) and recording.complete, (done.returncode, done.stderr[:300]))


def signals_from_outside_reach_the_thread_that_takes_them():
    for tracker in TRACKERS:
        for way, word in (("wait", "waited for"), ("handle", "handled")):
            child = subprocess.Popen([WHEREFORE, "record", "--data", "--tracker", tracker, "-o", os.path.join(HERE, "p.cpg"), "--",
                                      os.path.join(BUILD, "recorded/outside"), way], stdout=subprocess.PIPE, cwd=HERE)
            try:
                said = [child.stdout.readline().decode().strip()]
                with open(f"/proc/{child.pid}/task/{child.pid}/children", encoding="ascii") as file:
                    os.kill(int(file.read().split()[0]), signal.SIGUSR1)
                said += child.communicate(timeout=60)[0].decode().split("\n")[:1]
            finally:
                child.kill()
            equal(f"by {way}, with {tracker}", (said, child.wait()), (["ready", word], 7))


def what_was_allocated_before_a_kill_is_there():
    """The record of allocations that was still open when nobody was left to close it."""
    for tracker in TRACKERS:
        done, recording = record(os.path.join(BUILD, "recorded/killed"), tracker=tracker)
        equal(f"the program is killed with {tracker}", done.returncode, 128 + signal.SIGKILL)
        sizes = [r["size"] for r in recording.threads[0] if r["kind"] == "Allocation"]
        check(f"its last allocation is there with {tracker}", 98765 in sizes, sizes[-5:])


def threads_of_libc_are_refused():
    probe = os.path.join(BUILD, "probe/timer_thread")
    done, _ = record(probe)
    check("SIGEV_THREAD is refused with one line", done.returncode == 125 and done.stderr.count(b"\n") == 1 and
          b"refused" in done.stderr, (done.returncode, done.stderr))


if __name__ == "__main__":
    run(pages_are_exact, transfers_have_their_bytes, real_programs_give_what_they_give_natively,
        signals_from_outside_reach_the_thread_that_takes_them, what_was_allocated_before_a_kill_is_there,
        threads_of_libc_are_refused)
