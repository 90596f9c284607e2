"""Live snapshots of a recorded program, as record_snapshots_test.py and record_snapshots_slow.py look at them."""
import glob
import json
import os
import signal
import struct
import subprocess
import threading
import time

import harness
from harness import check, folder, wait_for

WHEREFORE = os.path.abspath(harness.WHEREFORE)
BUILD = os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release"))
PROGRAM = os.path.join(BUILD, "record/record_snapshots")
RANDOM = os.path.join(BUILD, "record/record_random_run")
SLOT = 4 << 20


def cpg(*arguments, code=0):
    ran = subprocess.run([WHEREFORE, "cpg", *map(str, arguments), "--format", "json"], capture_output=True, text=True,
                         timeout=300, check=False)
    if ran.returncode != code:
        raise RuntimeError(f"cpg {arguments}: {ran.returncode} {ran.stderr}")
    return json.loads(ran.stdout) if ran.stdout else ran.stderr


def start(file, slots, every, *arguments, program=PROGRAM):
    return subprocess.Popen([WHEREFORE, "record", "--snapshot-every", every, "--slots", str(slots), "-o", file, "--",
                             program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def head(file):
    """pid, overwritten, [(number, released, use, used)]"""
    with open(file, "rb") as opened:
        data = opened.read(4096)
    slots, overwritten = struct.unpack_from("<II", data, 52)
    return (struct.unpack_from("<I", data, 32)[0], overwritten,
            [struct.unpack_from("<IIIIQ", data, 72 + 32 * i)[:3] for i in range(slots)])


def scribe_of(file):
    """The process that writes the file: it has it open as 0."""
    for link in glob.glob("/proc/[0-9]*/fd/0"):
        try:
            if os.readlink(link) == os.path.realpath(file):
                return int(link.split("/")[2])
        except OSError:
            pass
    return None


def rss(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


class Watch(threading.Thread):
    """Size of the file and memory of its writer, while it runs."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file, self.sizes, self.memory, self.over = file, [], [], threading.Event()
        self.scribe = scribe_of(file)
        self.start()

    def run(self):
        while not self.over.wait(0.25):
            try:
                self.sizes.append(os.stat(self.file).st_size)
                self.memory.append(rss(self.scribe))
            except (OSError, StopIteration, TypeError):
                return

    def end(self):
        self.over.set()
        self.join()


def inconsistent(file, snapshot, *selection):
    """What of the graph of a snapshot is not within its cut."""
    graph = cpg(file, "graph", "--snapshot", snapshot["n"], *selection)
    cut, wrong = snapshot["cut"], []
    for sub in graph["sub_computations"]:
        if len(sub["clock"]) > len(cut) or sub["index"] >= cut[sub["thread"]] or \
                any(k > limit for k, limit in zip(sub["clock"], cut)):
            wrong.append(sub["id"])
    return wrong, len(graph["sub_computations"])


def long_run(seconds, created, slots):
    """A long run with many threads: bounded, flat, consistent, on demand, released and overwritten."""
    file = folder("long.cpg")
    process = start(file, slots, "1s", seconds, created)
    wait_for(lambda: os.path.exists(file) and os.stat(file).st_size > 4096 and scribe_of(file), 30)
    watch, pid = Watch(file), head(file)[0]
    checked, wrong, looked, demanded, released = 0, [], set(), [], []
    while process.poll() is None:
        listed = cpg(file, "snapshots")["snapshots"]
        for snapshot in listed[-1:]:
            if snapshot["n"] in looked:
                continue
            looked.add(snapshot["n"])
            threads = len(snapshot["cut"])
            some = [t for t in (0, 1, 2, threads - 30, threads - 5) if 0 <= t < threads]
            try:
                bad, subs = inconsistent(file, snapshot, *(word for t in sorted(set(some)) for word in ("--thread", t)))
            except RuntimeError as gone:  # overwritten while we looked: the numbers say so
                if snapshot["n"] in [entry[0] for entry in head(file)[2]]:
                    wrong.append(str(gone))
                continue
            wrong += bad
            checked += subs
        if len(listed) > 1 and not released:
            number = listed[-1]["n"]
            try:
                if cpg(file, "release", number) == {"released": number}:
                    released.append((number, number not in [s["n"] for s in cpg(file, "snapshots")["snapshots"]]))
            except RuntimeError:  # overwritten since it was listed: another one is tried
                if number in [entry[0] for entry in head(file)[2]]:
                    raise
        if len(demanded) < 3 and process.poll() is None:
            try:
                copy = folder("demanded.cpg")
                taken = cpg("snapshot", "--pid", pid, "-o", copy)
                summary = cpg(copy, "summary")
                only = cpg(copy, "snapshots")["snapshots"][-1]
                demanded.append((taken["n"], only["n"] == taken["n"], summary["sub_computations"] > 0,
                                 inconsistent(copy, only, "--thread", "0", "--thread", "1")[0]))
            except RuntimeError as ended:
                if process.poll() is None:
                    demanded.append(str(ended))
        time.sleep(0.3)
    out = process.communicate()[0]
    watch.end()
    check(f"{created} threads in {seconds} s: the program is not disturbed",
          process.returncode == 0 and out.splitlines()[-1].endswith(f"created {created}"), out[-300:])
    check(f"the file keeps to {slots} slots of 4 MB", max(watch.sizes) <= slots * SLOT, max(watch.sizes))
    warm = watch.memory[len(watch.memory) // 4:]
    third = max(1, len(warm) // 3)
    check("the recorder's memory is flat", len(warm) > 6 and max(warm[-third:]) - max(warm[:third]) < 3 << 20,
          [m >> 10 for m in watch.memory])
    check("every snapshot seen while it ran is consistent", not wrong and checked > 50 and len(looked) > 2,
          (wrong[:5], checked, looked))
    check("snapshots on demand are files of their own, and consistent",
          len(demanded) == 3 and all(len(d) == 4 and d[1] and d[2] and not d[3] for d in demanded), demanded)
    check("a released snapshot is gone, and its slot is used again", released and released[0][1] and
          released[0][0] not in [entry[0] for entry in head(file)[2]], (released, head(file)))
    asked = [int(line.split()[1]) for line in out.splitlines() if line.startswith("snapshot")]
    check("the program asks for snapshots itself", len(asked) > 2 and min(asked) > 0 and asked == sorted(set(asked)), asked)
    final, summary = cpg(file, "snapshots"), cpg(file, "summary")
    numbers = [s["n"] for s in final["snapshots"]]
    total = max(entry[0] for entry in head(file)[2])
    check("what was overwritten is counted by name", final["overwritten"] == total - slots - len(released) and
          summary["lost"] == {"overwritten_snapshots": final["overwritten"]},
          (final["overwritten"], total, slots, released, summary["lost"]))
    check("the last snapshots are there, and the recording is complete",
          summary["complete"] and numbers == list(range(total - len(numbers) + 1, total + 1)), (numbers, summary))


def true_clocks(runs):
    """Programs that keep clocks of their own: those of every snapshot are the same, but for what came before its slots."""
    wrong, compared, later = [], 0, 0
    for seed in range(1, runs + 1):
        file = folder("random.cpg")
        process = start(file, 6, "10ms", seed, 2 + seed % 7, 900, program=RANDOM)
        truth = {}
        for line in process.communicate(timeout=120)[0].splitlines():
            name, *clock = line.split()
            truth[name] = [int(n) for n in clock]
        for snapshot in cpg(file, "snapshots")["snapshots"]:
            graph = cpg(file, "graph", "--snapshot", snapshot["n"])
            cut, first, count = snapshot["cut"], {}, {}
            for sub in graph["sub_computations"]:  # sorted by thread and index
                first.setdefault(sub["thread"], sub["index"])
                count[sub["thread"]] = sub["index"] + 1
            later += any(first.values())
            wrong += [(seed, snapshot["n"], "cut", t) for t, n in count.items() if cut[t] != n]
            for sub in graph["sub_computations"]:
                compared += 1
                # What was before the kept part counts as before all of it.
                expected = [max(real, first.get(u, cut[u])) for u, real in enumerate(truth[sub["id"]][:len(cut)])]
                if sub["clock"] != expected or any(k > limit for k, limit in zip(sub["clock"], cut)):
                    wrong.append((seed, snapshot["n"], sub["id"], sub["clock"], expected))
    check(f"{runs} random programs: the clocks of every snapshot are the real ones", not wrong and compared > 30 * runs and
          later > 0, (wrong[:3], compared, later))


def full_speed(seconds):
    """Slots that fill before their time."""
    file = folder("busy.cpg")
    process = start(file, 4, "60s", seconds, 200, 0)
    process.communicate(timeout=300)
    final, summary = cpg(file, "snapshots"), cpg(file, "summary")
    numbers = [s["n"] for s in final["snapshots"]]
    check("a slot that is full ends early, and nothing of it is lost",
          os.stat(file).st_size <= 4 * SLOT and len(numbers) > 1 and summary["complete"] and
          set(summary["lost"]) <= {"overwritten_snapshots"}, (numbers, os.stat(file).st_size, summary))
    bad = [inconsistent(file, s, "--thread", "0", "--thread", "3") for s in final["snapshots"][:2]]
    check("and is consistent", not any(b for b, _ in bad), bad)


def killed():
    """kill -9 of the program, and of its recorder."""
    for whom in ("program", "recorder"):
        file = folder(f"killed-{whom}.cpg")
        process = start(file, 4, "200ms", 60, 1000)
        wait_for(lambda: os.path.exists(file) and os.stat(file).st_size > 4096 and  # pylint: disable=cell-var-from-loop
                 max(entry[0] for entry in head(file)[2]) > 6, 60)
        pid = head(file)[0]
        os.kill(pid if whom == "program" else scribe_of(file), signal.SIGKILL)
        if whom == "recorder":
            time.sleep(0.2)
            os.kill(pid, signal.SIGKILL)
        process.communicate(timeout=60)
        listed, summary = cpg(file, "snapshots")["snapshots"], cpg(file, "summary")
        bad = [name for s in listed[:-1] for name in inconsistent(file, s, "--thread", "0", "--thread", "1")[0]]
        check(f"kill -9 of the {whom} leaves a file that can be read",
              len(listed) >= 3 and not summary["complete"] and summary["sub_computations"] > 100 and not bad,
              (len(listed), summary, bad[:3]))


def refused():
    missing = subprocess.run([WHEREFORE, "cpg", "snapshot", "--pid", str(os.getpid()), "-o", folder("none.cpg")],
                             capture_output=True, text=True, check=False)
    check("a program that is not recorded has no snapshots", missing.returncode == 1 and "not recorded" in missing.stderr,
          missing)
    file = folder("plain.cpg")
    subprocess.run([WHEREFORE, "record", "-o", file, "--", PROGRAM, "0.1", "3"], check=True, capture_output=True)
    released = subprocess.run([WHEREFORE, "cpg", file, "release", "1"], capture_output=True, text=True, check=False)
    check("a file that grows has nothing to release", released.returncode == 2 and "no slots" in released.stderr, released)
    gone = folder("small.cpg")
    start(gone, 2, "1s", 0.2, 3).communicate(timeout=60)
    absent = subprocess.run([WHEREFORE, "cpg", gone, "release", "77"], capture_output=True, text=True, check=False)
    check("a snapshot that is not there is not in the recording", absent.returncode == 1, absent)


def growing_file():
    """On demand from a file without slots: a copy of what there was."""
    file, copy = folder("grows.cpg"), folder("cut.cpg")
    process = subprocess.Popen([WHEREFORE, "record", "-o", file, "--", PROGRAM, "2", "200"], stdout=subprocess.PIPE)
    wait_for(lambda: os.path.exists(file) and os.stat(file).st_size > 5000, 30)
    taken = cpg("snapshot", "--pid", struct.unpack_from("<I", open(file, "rb").read(64), 32)[0], "-o", copy)
    only = cpg(copy, "snapshots")["snapshots"][-1]
    graph = cpg(copy, "graph")
    process.communicate(timeout=60)
    bad = [s["id"] for s in graph["sub_computations"] if any(k > c for k, c in zip(s["clock"], only["cut"]))]
    later = {s["n"]: s["cut"] for s in cpg(file, "snapshots")["snapshots"]}[taken["n"]]
    check("a recording without slots gives snapshots too", graph["sub_computations"] and not bad and
          only["cut"] == later[:len(only["cut"])] and not any(later[len(only["cut"]):]), (bad[:3], only, later[:9]))
