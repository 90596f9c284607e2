#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
"""feature check and feature run: the contract, at both doors, and every example of docs/reference/feature-language.md.

WHEREFORE_UPDATE_DOCS=1 writes what the examples give into the page; then read the diff.
"""
import json
import os
import re
import sys
from urllib.parse import quote, urlencode

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, Server, check, cli, equal, folder, import_files, run, write

PAGE = os.path.join(SOURCE, "docs/reference/feature-language.md")
FIGURE_8 = """\
Begin = ExecUnits | Filter(name="Client") | Points | First
DisplayDone = ExecUnits | Filter(name="Client") | Points | Filter(marker="display_done") | First
DisplayDone | Timestamp | Subtract(Begin | Timestamp) | RecordAs("display_done")
ResourceEdges = CriticalPath(Begin->DisplayDone) | Edges | Filter(type="resource")
ResourceEdges | Duration | Sum | RecordAs("res_load")
ResourceEdges | Filter(resource="css") | Counter(bytes) | Sum | RecordAs("css_bytes")
"""


def page():
    with open(PAGE) as file:
        return file.read()


def example_store():
    events = re.search(r"```events\n(.*?)```", page(), re.DOTALL)[1]
    store = folder()
    import_files(store, write("events.jsonl", events))
    return store


EXAMPLE = re.compile(r"```feature([^\n]*)\n(.*?)```\n```(json|text)\n(.*?)```", re.DOTALL)


def every_example_of_the_page_gives_what_it_says():
    text = page()
    with Server(example_store()) as server:
        def answer(example):
            mark, program, kind, _ = example.groups()
            if kind == "text":
                got = server.request("http", "POST", "/api/v1/feature/check?format=text", program.encode())
                return got.body.decode() if got.status == 200 else repr(got)
            row = re.search(r'row="(.*)"', mark)
            query = {"trace": "f8", **({"row": row[1]} if row else {})}
            got = server.request("http", "POST", "/api/v1/feature/run?" + urlencode(query), program.encode())
            if got.status != 200:
                return repr(got)
            return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in got.json["rows"])

        examples = list(EXAMPLE.finditer(text))
        check("the page has examples", len(examples) >= 12, len(examples))
        check("every program on the page is an example with its result",
              len(examples) == len(re.findall(r"^```feature", text, re.MULTILINE)))
        if os.environ.get("WHEREFORE_UPDATE_DOCS"):
            new = EXAMPLE.sub(lambda m: m[0][:m.start(4) - m.start(0)] + answer(m) + "```", text)
            with open(PAGE, "w") as file:
                file.write(new)
            return
        for number, example in enumerate(examples, 1):
            equal(f"example {number} of the page: {example[2].splitlines()[0]}", answer(example), example[4])


def the_contract_of_the_command_line():
    store = example_store()
    good, bad = write("good.feature", FIGURE_8), write("bad.feature", 'Blocks | Durration | Sum | RecordAs("x")\n')

    ran = cli("feature", "check", good, store=store)
    equal("check of a good program", (ran.code, ran.json), (0, {"diagnostics": []}))
    ran = cli("feature", "check", bad, store=store)
    equal("check of a bad one exits 1 with its report on stdout", (ran.code, ran.json, ran.err), (1, {"diagnostics": [
        {"line": 1, "column": 10, "length": 9, "message": "unknown name Durration here",
         "hint": "did you mean Duration?"}]}, b""))
    ran = cli("feature", "check", bad, store=store, text=True)
    check("as text it shows a caret", ran.code == 1 and b"         ^~~~~~~~~\n" in ran.out and ran.err == b"", ran)

    ran = cli("feature", "run", good, "--trace", "f8", store=store)
    equal("the six lines of figure 8, verbatim", (ran.code, ran.json), (0, {
        "columns": [{"name": "display_done", "type": "int"}, {"name": "res_load", "type": "int"},
                    {"name": "css_bytes", "type": "double"}],
        "rows": [{"display_done": 90000000, "res_load": 28000000, "css_bytes": 10240}]}))
    ran = cli("feature", "run", good, "--trace", "f8", store=store, text=True)
    check("as text", ran.code == 0 and b"res_load      28000000" in ran.out, ran)

    ran = cli("feature", "run", bad, "--trace", "f8", store=store)
    check("running a bad program exits 2 and says where", ran.code == 2 and ran.out == b"" and
          "line 1, column 10" in ran.error["message"] and "Duration" in ran.error["hint"], ran)
    ran = cli("feature", "run", good, "--trace", "f9", store=store)
    check("an unknown trace exits 1", ran.code == 1 and ran.out == b"" and ran.error["code"] == "not_found", ran)
    ran = cli("feature", "run", good, "--trace", "no-hex", store=store)
    check("a malformed id exits 2", ran.code == 2 and ran.error["code"] == "bad_input", ran)
    ran = cli("feature", "run", good, store=store)
    check("run without a trace exits 2", ran.code == 2 and "--trace" in ran.error["message"], ran)
    ran = cli("feature", "run", folder("nowhere"), "--trace", "f8", store=store)
    check("a file that is not there exits 2", ran.code == 2 and "nowhere" in ran.error["message"], ran)
    ran = cli("feature", "paint", good, store=store)
    check("another action exits 2", ran.code == 2 and ran.out == b"", ran)

    ran = cli("feature", "run", write("rows.feature", 'Row | Name | RecordAs("n")'), "--trace", "f8", "--row",
              "Blocks | GroupBy(piece)", store=store)
    equal("--row gives a row for each group", ran.json["rows"], [{"n": "Header"}, {"n": "Feed"}])


def texts_beside_the_program_can_be_used():
    store = example_store()
    path = write("main.feature", 'use "lib"\nBlocks | Longest | RecordAs("longest")\n')
    with open(os.path.join(os.path.dirname(path), "lib.feature"), "w") as file:
        file.write("def Longest(b) = b | Duration | Max\nA = Bogus\n")
    ran = cli("feature", "check", path, store=store)
    equal("a fault in a used text names it", [(d["text"], d["line"]) for d in ran.json["diagnostics"]], [("lib", 2)])
    with open(os.path.join(os.path.dirname(path), "lib.feature"), "w") as file:
        file.write("def Longest(b) = b | Duration | Max\n")
    ran = cli("feature", "run", path, "--trace", "f8", store=store)
    equal("a def of a used text", (ran.code, ran.json["rows"]), (0, [{"longest": 100000000}]))


def columns_of_a_dataset_can_be_used():
    store = example_store()
    dataset = write("renders.yaml", """\
dataset: renders
owner: web
row: Trace
columns: |
  Renders = Blocks | Filter(name = "render")
  Renders | Count | RecordAs("renders")
""")
    applied = cli("dataset", "apply", dataset, store=store)
    check("the dataset is saved", applied.code == 0, applied)
    path = write("more.feature", 'use "renders"\nRenders | Duration | Max | RecordAs("longest")\n')
    ran = cli("feature", "run", path, "--trace", "f8", store=store)
    equal("its names and columns are there", (ran.code, ran.out and ran.json["rows"]),
          (0, [{"renders": 2, "longest": 15000000}]))


def both_doors_give_the_same_bytes():
    program = 'Blocks | Label("grün") | List | RecordAs("none")\nPoints | Count | RecordAs("points")\n'
    path = write("p.feature", program)
    with Server(example_store()) as server:
        by_cli = cli("feature", "run", path, "--trace", "f8", store=server.store)
        posted = server.request("http", "POST", "/api/v1/feature/run?trace=f8", program.encode())
        got = server.get(f"/api/v1/feature/run?trace=f8&program={quote(program)}")
        equal("POST, GET and the command line agree", (posted.body, got.body), (by_cli.out, by_cli.out))
        faulty = cli("feature", "check", write("bad.feature", "Bogus"), store=server.store)
        check("a check by a server exits 1 too", faulty.code == 1 and len(faulty.json["diagnostics"]) == 1, faulty)
        answer = server.request("http", "POST", "/api/v1/feature/run?trace=f8", b"Bogus")
        check("a bad program is HTTP 400", answer.status == 400 and answer.json["error"]["code"] == "bad_input", answer)
        for name, query, body in (("no program", "check", b""), ("JSON without a program", "check", b"{}"),
                                  ("broken JSON", "check", b"{"), ("bytes that are no text", "check", b"\xff\xfe"),
                                  ("an unknown flag", "check?colour=red", b"Blocks"),
                                  ("an unknown action", "paint", b"Blocks")):
            answer = server.request("http", "POST", "/api/v1/feature/" + query, body)
            check(f"{name} is HTTP 400", answer.status == 400, answer)


run(every_example_of_the_page_gives_what_it_says, the_contract_of_the_command_line,
    texts_beside_the_program_can_be_used, columns_of_a_dataset_can_be_used, both_doors_give_the_same_bytes)
