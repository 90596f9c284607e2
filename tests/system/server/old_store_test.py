#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""A store whose files DuckDB 1.4 wrote gives the same answers, row by row, as the program of that time gave.

tests/fixtures/store-duckdb-1.4 holds the store (events in a part and in the log, inferred traces of messages, datasets)
and the answers of wherefore 0.1.0 with DuckDB 1.4.4. Copies are read here; one is also written to, because a file that
can be read and not appended to would be of no use.
"""
import gzip
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile

WHEREFORE = os.environ["WHEREFORE"]
FIXTURE = os.path.join(os.environ["WHEREFORE_SOURCE"], "tests", "fixtures", "store-duckdb-1.4")
failed = 0


def check(name, good, detail=""):
    global failed
    failed += not good
    if not good:
        print(detail)
    print(f"{'ok' if good else 'not ok'} {name}")


def questions():
    for line in open(os.path.join(FIXTURE, "questions")):
        if line.strip() and not line.startswith("#"):
            name, *arguments = shlex.split(line)
            yield name, arguments


def ask(store, arguments):
    return subprocess.run([WHEREFORE, *arguments, "--store", store], capture_output=True)


def first_difference(old, new):
    old, new = old.splitlines(), new.splitlines()
    for n, (a, b) in enumerate(zip(old, new)):
        if a != b:
            return f"line {n + 1}\n  then {a[:300]}\n  now  {b[:300]}"
    return f"{len(old)} lines then, {len(new)} now"


with tempfile.TemporaryDirectory() as place:
    with tarfile.open(os.path.join(FIXTURE, "store.tar.gz")) as archive:
        archive.extractall(place)
    store = os.path.join(place, "store")
    with open(os.path.join(store, "parts", "000001.duckdb"), "rb") as file:
        check("the fixture was written by DuckDB 1.4", b"v1.4.4" in file.read(4096))
    for again in ("", " after it was written to"):
        for name, arguments in questions():
            with gzip.open(os.path.join(FIXTURE, "answers", name + ".gz")) as file:
                old = file.read()
            answer = ask(store, arguments)
            check(f"{name}: the answer of then{again}", answer.returncode == 0 and answer.stdout == old,
                  answer.stderr.decode() or first_difference(old, answer.stdout))
        if again:
            break
        # What was imported once is known, so this appends nothing and yet goes through every look-up …
        traces = os.path.join(place, "events.json")
        check("it exports to a file", ask(store, ["export", "--out", traces, "--to", "otlp-json"]).returncode == 0)
        second = ask(store, ["import", traces])
        check("importing its own export changes nothing", second.returncode == 0, second.stdout + second.stderr)
        # … and this rewrites the rows of a dataset.
        check("a dataset is filled again", ask(store, ["dataset", "backfill", "calls", "--since", "1763300000000000000"]).returncode == 0)
sys.exit(failed > 0)
