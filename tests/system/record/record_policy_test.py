# needs: wherefore  timeout: 120
"""Policies of information flow: what came from a sensitive input does not leave by a forbidden output, or is reported."""
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import WHEREFORE, check, equal, folder, run

BUILD = os.path.abspath(os.environ.get("WHEREFORE_BUILD", "build/release"))
FLOWS = os.path.join(BUILD, "recorded/flows")
HERE = folder("policies")
os.makedirs(HERE, exist_ok=True)
SECRET = b"the secret bytes\n"
PUBLIC = b"public\n"
TRACKERS = os.environ.get("WHEREFORE_TRACKERS", "uffd sigsegv").split()


def path_of(name):
    return os.path.join(HERE, name)


def write(name, content):
    with open(path_of(name), "wb") as file:
        file.write(content)
    return path_of(name)


def policy(action="deny", inputs="secret*", outputs="out*"):
    return write("policy.yaml", f"""labels:
  - name: secret
    inputs: ["{path_of(inputs)}"]
rules:
  - label: secret
    outputs: ["{outputs if outputs == 'stdout' else path_of(outputs)}"]
    action: {action}
""".encode())


def flow(way, rules, tracker="auto", source="secret.txt", target="out.txt", stdin=None, command=None):
    """Runs it; returns the process and what the output holds."""
    write("secret.txt", SECRET), write("public.txt", PUBLIC)
    for name in (target, "p.cpg"):
        if os.path.exists(path_of(name)):
            os.remove(path_of(name))
    done = subprocess.run([WHEREFORE, "record", "--policy", rules, "--tracker", tracker, "-o", path_of("p.cpg"), "--",
                           *(command or [FLOWS, way, path_of(source), path_of(target), path_of("public.txt")])],
                          stdin=stdin or subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, cwd=HERE)
    held = b""
    if os.path.exists(path_of(target)):
        with open(path_of(target), "rb") as file:
            held = file.read()
    return done, held


def cpg(*words):
    done = subprocess.run([WHEREFORE, "cpg", path_of("p.cpg"), *words, "--format", "json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    return json.loads(done.stdout) if done.returncode == 0 else done


def verdicts():
    return [(one["name"], one["range"], one["policy"]) for one in cpg("graph")["outputs"] if "policy" in one]


def denied_after_the_input_was_read():
    for tracker in TRACKERS:
        done, held = flow("copy", policy(), tracker)
        equal(f"deny with {tracker}: the call fails, what came before did not", (done.returncode, done.stdout),
              (0, b"before 6 -\nafter -1 EACCES\n"))
        equal(f"deny with {tracker}: nothing is written", held, b"first\n")
        check(f"deny with {tracker}: said after the end", b"policy: 1 output was denied" in done.stderr and
              done.stderr.count(b"\n") == 1, done.stderr)
        equal(f"deny with {tracker}: the graph has it", verdicts(), [(path_of("out.txt"), [6, 6 + len(SECRET)], "denied")])
    summary = cpg("summary")
    equal("the summary counts it", (summary["denied"], summary["reported"]), (1, 0))
    lineage = cpg("lineage", "--of", path_of("out.txt"))
    check("what was denied is not in the output's lineage",
          path_of("secret.txt") not in [one["name"] for one in lineage["sources"]], lineage)


def reported():
    done, held = flow("copy", policy("report"))
    equal("report: the program does not notice", (done.returncode, done.stdout), (0, b"before 6 -\nafter 17 -\n"))
    equal("report: it is written", held, b"first\n" + bytes(c ^ 1 for c in SECRET))
    check("report: said after the end", b"policy: 1 output was reported" in done.stderr, done.stderr)
    equal("report: the graph has it", verdicts(), [(path_of("out.txt"), [6, 6 + len(SECRET)], "reported")])


def allowed():
    for name, done in (("another input", flow("copy", policy(), source="public.txt")[0]),
                       ("another output", flow("copy", policy(outputs="forbidden*"))[0])):
        check(f"allowed: {name}", done.returncode == 0 and b"-1" not in done.stdout and done.stderr == b"", done)


def across_threads():
    for tracker in TRACKERS:
        done, held = flow("threads", policy(), tracker)
        equal(f"threads with {tracker}: what another thread made is denied", (done.stdout, held), (b"write -1 EACCES\n", b""))
        done, held = flow("bystander", policy(), tracker)
        equal(f"threads with {tracker}: one that has nothing of it may write", (done.stdout, held), (b"write 7 -\n", PUBLIC))


def other_ways():
    for tracker in TRACKERS:
        done, held = flow("mapped", policy(), tracker)
        equal(f"a mapped input with {tracker}", (done.stdout, held), (b"write -1 EACCES\n", b""))
        done, held = flow("piped", policy(), tracker)
        equal(f"by a child and a pipe with {tracker}", (done.stdout, held), (b"write -1 EACCES\n", b""))
    done, held = flow("sent", policy())
    equal("from descriptor to descriptor", (done.stdout, held), (b"sendfile -1 EACCES\n", b""))


def real_programs():
    rules = policy(outputs="stdout")
    done, _ = flow("", rules, command=["/bin/cat", "secret.txt"])
    check("cat of a secret says that it may not", done.returncode == 1 and done.stdout == b"" and b"denied" in done.stderr, done)
    done, _ = flow("", rules, command=["/bin/cat", "public.txt"])
    equal("cat of something else does", (done.returncode, done.stdout), (0, PUBLIC))
    done, _ = flow("", rules, command=["/bin/sh", "-c", "cat secret.txt; env -i /bin/cat secret.txt; cat public.txt"])
    check("children keep to it, whatever environment they get", done.stdout == PUBLIC and
          b"policy: 2 outputs were denied" in done.stderr, done)
    with open(write("secret.txt", SECRET), "rb") as given:
        done, _ = flow("", policy(inputs="secret.txt", outputs="stdout"), command=["/bin/cat"], stdin=given)
    equal("standard input that is the file", (done.returncode, done.stdout), (1, b""))


def wrong_policies():
    for name, text, words in (("an unknown label", "labels: [{name: a, inputs: [x]}]\nrules:\n  - {label: b, outputs: [x], action: deny}\n",
                               "line 3: label b"),
                              ("no YAML", "labels: [\n", "line"),
                              ("an unknown action", "labels: [{name: a, inputs: [x]}]\nrules: [{label: a, outputs: [x], action: no}]\n",
                               "line 2: action no")):
        rules = write("wrong.yaml", text.encode())
        done, held = flow("copy", rules)
        check(f"refused: {name}", done.returncode == 125 and done.stdout == b"" and held == b"" and
              done.stderr.count(b"\n") == 1 and rules.encode() in done.stderr and words.encode() in done.stderr, done)
    done, _ = flow("copy", path_of("nowhere.yaml"))
    check("refused: no such file", done.returncode == 125 and done.stderr.count(b"\n") == 1, done)


def crashes_have_a_lineage():
    for tracker in TRACKERS:
        done, _ = flow("crashed", policy(), tracker)
        equal(f"a crash with {tracker} is the program's", done.returncode, 128 + 11)
        lineage = cpg("lineage", "--crash")
        check(f"a crash with {tracker} has its signal, address and lineage",
              isinstance(lineage, dict) and lineage["crash"]["signal"] == 11 and lineage["crash"]["address"] == "0x10" and
              path_of("secret.txt") in [one["name"] for one in lineage["sources"]], lineage)
    done, _ = flow("aborted", policy())
    equal("abort is the program's", done.returncode, 128 + 6)
    summary = cpg("summary")
    check("abort is a crash", summary["crash"] is not None and summary["crash"]["signal"] == 6, summary)


if __name__ == "__main__":
    run(denied_after_the_input_was_read, reported, allowed, across_threads, other_ways, real_programs, wrong_policies,
        crashes_have_a_lineage)
