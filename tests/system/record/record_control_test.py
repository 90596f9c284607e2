# needs: wherefore  timeout: 300  parallel: yes
"""wherefore record --control: known branches are counted exactly, whoever tells them, and the program runs as it would."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, WHEREFORE, check, equal, folder, run

PLACE = folder("control")
os.makedirs(PLACE, exist_ok=True)
SOURCE_FILE = os.path.join(SOURCE, "tests/targets/control_programs.c")
LIBRARY = os.path.abspath(os.path.join(os.environ.get("WHEREFORE_BUILD", "build/release"), "lib"))
COMPILER = shutil.which("gcc") or "cc"


def compile_program(name, *flags):
    path = os.path.join(PLACE, name)
    subprocess.run([COMPILER, "-g", "-O0", "-o", path, SOURCE_FILE, "-pthread", *flags], check=True)
    return path


PROGRAMS = {
    "qemu": compile_program("plain"),
    "coverage": compile_program("covered", "-fsanitize-coverage=trace-pc", "-L" + LIBRARY, "-lwherefore_record",
                                "-Wl,-rpath," + LIBRARY),
}


def line_of(mark):
    with open(SOURCE_FILE, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if f"/* AT {mark} */" in line:
                return number
    raise ValueError(mark)


def record(program, *arguments, flags=("--control",), name="r.cpg"):
    file = os.path.join(PLACE, name)
    ran = subprocess.run([WHEREFORE, "record", *flags, "-o", file, "--", program, *arguments], stdin=subprocess.DEVNULL,
                         capture_output=True, timeout=120)
    return file, ran


def cpg(file, *arguments):
    ran = subprocess.run([WHEREFORE, "cpg", file, *arguments, "--format", "json"], capture_output=True, timeout=120)
    return json.loads(ran.stdout) if ran.returncode == 0 else ran.returncode


def thunks(file, thread):
    """All of a thread, by sub-computation."""
    graph = cpg(file, "graph")
    return [cpg(file, "thunks", s["id"]) for s in graph["sub_computations"] if s["thread"] == thread]


def outcomes(answers, mark):
    """(taken, not taken) of the branches on the marked line."""
    line, taken, not_taken = line_of(mark), 0, 0
    for answer in answers:
        for thunk in answer["thunks"]:
            site = thunk["site"]
            if thunk["branch"] and site["line"] == line and (site["file"] or "").endswith("control_programs.c"):
                taken, not_taken = taken + thunk["taken"], not_taken + (not thunk["taken"])
    return taken, not_taken


def the_source_is_said_aloud():
    for source, program in PROGRAMS.items():
        _, ran = record(program, "figure1", "0")
        words = {"qemu": "recorded by qemu", "coverage": "recorded by the program"}[source]
        check(f"{source}: who tells the branches is said before the program starts",
              ran.stderr.startswith(b"wherefore: ") and words.encode() in ran.stderr, ran.stderr)
        native = subprocess.run([program, "figure1", "0"], capture_output=True)
        equal(f"{source}: output and status are the program's", (ran.stdout, ran.returncode),
              (native.stdout, native.returncode))


def figure_1_shows_the_branch_on_flag():
    for source, program in PROGRAMS.items():
        seen = []
        for flag in ("0", "1"):
            file, _ = record(program, "figure1", flag)
            found = thunks(file, 1)
            equal(f"{source}: its name is in the answer, flag {flag}", {a["source"] for a in found}, {source})
            equal(f"{source}: nothing is missing, flag {flag}", sum(a["gaps"] for a in found), 0)
            # The branch is taken between lock and unlock: in the second sub-computation of the thread.
            seen.append(outcomes(found[1:2], "flag"))
            equal(f"{source}: the branch is in no other sub-computation, flag {flag}",
                  outcomes(found[:1] + found[2:], "flag"), (0, 0))
        equal(f"{source}: the branch on flag goes the other way", seen, [(0, 1), (1, 0)])


def thunk_0_begins_the_sub_computation():
    for source, program in PROGRAMS.items():
        file, _ = record(program, "figure1", "1")
        answer = cpg(file, "thunks", "1.1")
        first, rest = answer["thunks"][0], answer["thunks"][1:]
        equal(f"{source}: thunk 0 has no branch", (first["index"], first["branch"], first["taken"]), (0, None, None))
        equal(f"{source}: it begins in the function that called", first["site"]["function"], "first")
        check(f"{source}: all others have one", all(t["branch"] and isinstance(t["taken"], bool) for t in rest))
        equal(f"{source}: they are numbered", [t["index"] for t in answer["thunks"]],
              list(range(len(answer["thunks"]))))
        check(f"{source}: addresses are hexadecimal",
              all(re.fullmatch("0x[0-9a-f]+", t["start"]) for t in answer["thunks"]))


def loops_of_many_threads_are_counted_exactly():
    for source, program in PROGRAMS.items():
        file, ran = record(program, "threads", "300")
        native = subprocess.run([program, "threads", "300"], capture_output=True)
        equal(f"{source}: eight threads print what they print natively", ran.stdout, native.stdout)
        counted, expected = [], []
        for i in range(8):
            n = 300 + 3 * i
            found = thunks(file, i + 1)
            counted.append((sum(outcomes(found, "loop")), sorted(outcomes(found, "third")), sum(a["gaps"] for a in found)))
            # At -O0 the loop's condition is tested once more than it runs; a third of the turns are divisible by 3.
            expected.append((n + 1, sorted((n // 3, n - n // 3)), 0))
        equal(f"{source}: every turn of every thread's loop is there", counted, expected)


def a_forked_child_has_branches_of_its_own():
    for source, program in PROGRAMS.items():
        file, ran = record(program, "fork", "60")
        equal(f"{source}: a fork prints what it prints natively", ran.stdout.splitlines()[-1], b"3")
        child = thunks(file + ".1", 0)
        equal(f"{source}: the child's loop is in the child's recording",
              (sum(outcomes(child, "loop")), sorted(outcomes(child, "third"))), (61, [20, 40]))
        equal(f"{source}: and not in the parent's", outcomes(thunks(file, 0), "loop"), (0, 0))


def a_killed_program_has_told_its_branches():
    for source, program in PROGRAMS.items():
        file, ran = record(program, "killed", "90")
        equal(f"{source}: killed by a signal", ran.returncode, 128 + 9)
        equal(f"{source}: the recording says that it is not whole", cpg(file, "summary")["complete"], False)
        equal(f"{source}: what was told before is there", sum(outcomes(thunks(file, 0), "loop")), 91)


def the_emulator_tells_pages():
    file, ran = record(PROGRAMS["qemu"], "pages", "2", flags=("--control", "--data"))
    page = int(ran.stdout, 16)
    graph = cpg(file, "graph", "--pages")
    sub = next(s for s in graph["sub_computations"] if s["id"] == "1.1")
    reads, writes = [{int(p, 16) for p in sub[key]} for key in ("read_pages", "write_pages")]
    check("the page it wrote is in its write set", page in writes)
    check("the page it read is in its read set only", page + 4096 in reads and page + 4096 not in writes)
    check("pages it left alone are in neither", not {page + 8192, page + 12288} & (reads | writes))
    check("what was written counts as read", writes <= reads)


def what_cannot_be_is_refused():
    file, _ = record(PROGRAMS["qemu"], "figure1", "0", flags=())
    equal("thunks of a recording without control depth: 2", cpg(file, "thunks", "1.1"), 2)
    file, _ = record(PROGRAMS["qemu"], "figure1", "0")
    equal("thunks of a sub-computation that is not there: 1", cpg(file, "thunks", "7.1"), 1)
    equal("thunks of what is not a sub-computation: 2", cpg(file, "thunks", "seven"), 2)
    _, ran = record(PROGRAMS["qemu"], "figure1", "0", flags=("--control", "--control-source", "coverage"))
    equal("coverage of a program that was not compiled for it: 125", (ran.returncode, ran.stdout), (125, b""))
    if not os.path.exists("/sys/bus/event_source/devices/intel_pt"):
        _, ran = record(PROGRAMS["qemu"], "figure1", "0", flags=("--control", "--control-source", "pt"))
        equal("Intel PT where there is none: 125", (ran.returncode, ran.stdout), (125, b""))


if __name__ == "__main__":
    run(the_source_is_said_aloud, figure_1_shows_the_branch_on_flag, thunk_0_begins_the_sub_computation,
        loops_of_many_threads_are_counted_exactly, a_forked_child_has_branches_of_its_own,
        a_killed_program_has_told_its_branches, the_emulator_tells_pages, what_cannot_be_is_refused)
