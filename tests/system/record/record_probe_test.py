# needs: wherefore  timeout: 900  parallel: yes
"""The feature probe: small programs of tests/targets/recorder/probe give under the recorder what they give natively.

20 times each, several at once. WHEREFORE_PROBE_DEPTH=data records at another depth; WHEREFORE_PROBE_ROUNDS sets how often.
"""
import concurrent.futures
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(1, sys.path[0] + "/../../lab")
import harness
from harness import SOURCE, check, run

WHEREFORE = os.path.abspath(harness.WHEREFORE)

BUILD = os.environ.get("WHEREFORE_BUILD", "build/release")
DEPTH = os.environ.get("WHEREFORE_PROBE_DEPTH", "schedule")
ROUNDS = int(os.environ.get("WHEREFORE_PROBE_ROUNDS", "20"))
FLAGS = {"schedule": [], "data": ["--data"], "control": ["--control"]}[DEPTH]


def run_once(command, folder):
    """stdout goes to a file, as the contract's redirected stdio; status as a shell says it."""
    with open(os.path.join(folder, "out"), "w+b") as out, open(os.path.join(folder, "err"), "w+b") as err:
        process = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder, timeout=120)
        out.seek(0)
        err.seek(0)
        status = process.returncode
        # At control depth the recorder says who tells the branches, before the program starts.
        words = b"".join(line for line in err.read().splitlines(True) if not line.startswith(b"wherefore: branches"))
        return (out.read(), words, status if status >= 0 else 128 - status)


def summary(file):
    return json.loads(subprocess.run([WHEREFORE, "cpg", file, "summary", "--format", "json"], capture_output=True, check=True).stdout)


def probe(path):
    """The first difference, or None."""
    folder = tempfile.mkdtemp(prefix="wherefore-probe-")
    try:
        native = run_once([path], folder)
        for n in range(ROUNDS):
            file = os.path.join(folder, "p.cpg")
            recorded = run_once([WHEREFORE, "record", *FLAGS, "-o", file, "--", path], folder)
            if recorded != native:
                return f"round {n}: natively {native}, recorded {recorded}"
            if n == 0:
                found = summary(file)
                if found["lost"] or found["threads"] < 1:
                    return f"the recording lost {found['lost']}"
        return None
    except (subprocess.SubprocessError, ValueError, OSError) as error:
        return repr(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def only_at_schedule_depth(name):
    for source in glob.glob(os.path.join(SOURCE, "tests/targets/recorder/probe", name + ".c*")):
        with open(source, encoding="utf-8") as file:
            return "needs: schedule" in file.readline()
    return False


def probes_give_what_they_give_natively():
    paths = sorted(p for p in glob.glob(os.path.join(os.path.abspath(BUILD), "probe/*")) if not p.endswith(".so"))
    if DEPTH != "schedule":
        paths = [p for p in paths if not only_at_schedule_depth(os.path.basename(p))]
    if DEPTH == "control":  # qemu has no robust mutexes
        paths = [p for p in paths if os.path.basename(p) != "mutex_robust"]
    check(f"there are at least 25 probes ({len(paths)})", len(paths) >= 25)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for path, difference in zip(paths, pool.map(probe, paths)):
            check(f"{os.path.basename(path)} {ROUNDS} times at {DEPTH} depth", difference is None, difference)


if __name__ == "__main__":
    run(probes_give_what_they_give_natively)
