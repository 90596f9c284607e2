"""The notebooks of client/python, executed against a real server with the page-load scenario: each must run to its end
and say what the data holds."""
import glob
import json
import os
import subprocess
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, Server, check, cli, environment, equal, folder, must, run

PYTHON = "/usr/bin/python3"  # Debian's, for which nbclient and the kernel are installed
EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
book = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(book, timeout=120, kernel_name="python3").execute()
for cell in book.cells:
    for output in cell.get("outputs", []):
        print(output.get("text") or output.get("data", {}).get("text/plain", ""))
"""


def execute(path, server, question):
    env = environment(PYTHONPATH=os.path.join(SOURCE, "client", "python"), WHEREFORE_STORE=server.store, QUESTION=question)
    return subprocess.run([PYTHON, "-c", EXECUTE, path], env=env, capture_output=True, text=True, timeout=200)


def notebooks():
    where = folder("scenario")
    must(cli("scenario", "page-load", "--out", where, "--size", "60", "--start", "3h"))
    question = os.path.join(where, "query.json")
    with open(question) as file:
        culprit = json.load(file)["truth"]["culprit"]
    with Server() as server:
        for name in ("page_load", "page_pieces"):
            must(cli("dataset", "apply", os.path.join(SOURCE, "config", "datasets", "examples", name + ".yaml"),
                     store=server.store))
        must(cli("import", os.path.join(where, "events.jsonl"), store=server.store))
        said = {"page_load_regression": culprit + " brings", "function_over_traces": "blocks at once at most",
                "features_and_critical_path": "longest step: "}
        books = sorted(glob.glob(os.path.join(SOURCE, "client", "python", "notebooks", "*.ipynb")))
        equal("there are three notebooks", [os.path.splitext(os.path.basename(b))[0] for b in books], sorted(said))
        for book in books:
            name = os.path.splitext(os.path.basename(book))[0]
            done = execute(book, server, question)
            check(f"{name} runs to its end", done.returncode == 0, done.stderr[-1500:])
            check(f"{name} says what the data holds", said[name] in done.stdout, done.stdout[-1500:])


run(notebooks)
