# needs: wherefore  timeout: 600  parallel: yes
"""Real programs under the recorder give what they give natively: pigz, xz, zstd, pbzip2, sort, redis-server.

WHEREFORE_PROBE_DEPTH=data records at another depth (redis only at schedule depth).
"""
import hashlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time

sys.path.insert(1, sys.path[0] + "/../../lab")
import harness
from harness import check, equal, folder, run

WHEREFORE = os.path.abspath(harness.WHEREFORE)

DEPTH = os.environ.get("WHEREFORE_PROBE_DEPTH", "schedule")
FLAGS = {"schedule": [], "data": ["--data"], "control": ["--control"]}[DEPTH]


def summary(file):
    return json.loads(subprocess.run([WHEREFORE, "cpg", file, "summary", "--format", "json"], capture_output=True, check=True).stdout)


def text_file(lines):
    path = folder("text")
    chosen = random.Random(11)
    words = ["".join(chosen.choices("abcdefghijklmnop", k=chosen.randint(2, 9))) for _ in range(2000)]
    with open(path, "w", encoding="ascii") as file:
        for start in range(0, lines, 50_000):
            count = min(50_000, lines - start)
            file.write("\n".join(" ".join(chosen.choices(words, k=2)) for _ in range(count)) + "\n")
    return path


def same_output(name, command, data, threads):
    """Run on `data` as stdin, natively and recorded."""
    if shutil.which(command[0]) is None:
        check(f"{command[0]} is installed (tools/setup test)", False)
        return
    results = []
    file = folder("r.cpg")
    for prefix in ([], [WHEREFORE, "record", *FLAGS, "-o", file, "--"]):
        with open(data, "rb") as stdin:
            process = subprocess.run([*prefix, *command], stdin=stdin, capture_output=True, timeout=300, check=False)
        results.append((process.returncode, len(process.stdout), hashlib.sha256(process.stdout).hexdigest(), process.stderr))
    equal(f"{name} gives the same", results[1], results[0])
    found = summary(file)
    check(f"{name}: at least {threads} threads, complete, nothing lost",
          found["threads"] >= threads and found["complete"] and not found["lost"], found)


def compressors():
    data = text_file(120_000)
    same_output("pigz", ["pigz", "-p", "2", "-n", "-c"], data, 3)
    same_output("xz -T2", ["xz", "-T2", "-1", "--block-size=200000", "-c"], data, 3)
    same_output("zstd -T2", ["zstd", "-q", "-T2", "-3", "-B256K", "-c"], data, 3)
    same_output("pbzip2", ["pbzip2", "-p2", "-1", "-c"], data, 3)


def sort():
    same_output("sort --parallel=2 of 1,000,000 lines", ["sort", "--parallel=2", "-S", "200M"], text_file(1_000_000), 2)


def redis():
    if shutil.which("redis-server") is None:
        check("redis-server is installed (tools/setup test)", False)
        return
    where = folder("redis")
    os.mkdir(where)
    file, path = os.path.join(where, "r.cpg"), os.path.join(where, "s")
    server = subprocess.Popen([WHEREFORE, "record", "-o", file, "--", "redis-server", "--io-threads", "2", "--port", "0",
                               "--unixsocket", path, "--save", "", "--dir", where, "--io-threads-do-reads", "yes"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.01)
        load = subprocess.run(["redis-benchmark", "-s", path, "-q", "-n", "5000", "-c", "20", "-P", "4", "-t", "set,get,incr"],
                              capture_output=True, timeout=120, check=False)
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(60)
            client.connect(path)
            client.sendall(b"GET counter:__rand_int__\r\n")
            answer = client.makefile("rb").readline()
            client.sendall(b"SHUTDOWN NOSAVE\r\n")
        status = server.wait(60)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait()
    check("redis-server answers under load", load.returncode == 0 and answer.startswith(b"$") and status == 0,
          (load.stderr[-300:], answer, status, server.stderr.read()[-300:]))
    found = summary(file)
    check("redis-server: its threads are there, complete, nothing lost",
          found["threads"] >= 5 and found["complete"] and not found["lost"], found)


if __name__ == "__main__":
    run(compressors, sort, *([redis] if DEPTH == "schedule" else []))
