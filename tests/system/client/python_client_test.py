"""client/python against a real server: traces, a Python function over many of them, errors in the server's words."""
import os
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from harness import SOURCE, Server, check, equal, otlp, process, run, span

sys.path.insert(0, os.path.join(SOURCE, "client", "python"))
import wherefore  # noqa: E402


def traces_and_functions():
    with Server() as server:
        for number in range(1, 8):
            server.send_otlp(otlp(process("till", span(number, 1, "pay", number * 1000, number * 1000 + 900),
                                          span(number, 2, "read", number * 1000 + 100, number * 1000 + 500, parent=1),
                                          span(number, 3, "parse", number * 1000 + 200, number * 1000 + 300, parent=2))))
        client = wherefore.connect(server.store)
        found = client.traces()
        equal("traces() lists all, newest first", [one["start_ns"] for one in found],
              sorted((one["start_ns"] for one in found), reverse=True))
        equal("… and there are seven", len(found), 7)
        equal("a limit above a page follows the cursor, one below it stops", len(client.traces(limit=3)), 3)
        trace = client.trace(found[0]["trace_id"])
        equal("trace() has as many blocks as the summary says", len(trace.blocks), found[0]["spans"])
        check("the root's descendants and itself are all blocks",
              {b.span_id for b in trace.root.descendants()} | {trace.root.span_id} == {b.span_id for b in trace.blocks},
              trace.data)
        check("children know their parent", all(c.parent is trace.root for c in trace.root.children), trace.data)
        table = client.map(lambda t: {"blocks": len(t.blocks), "ns": t.duration_ns}, found)
        equal("map() gives a row a trace", table.column("trace_id"), [one["trace_id"] for one in found])
        equal("… with typed columns", table.columns[1:], [{"name": "blocks", "type": "int"}, {"name": "ns", "type": "int"}])
        equal("a function may pass over a trace", len(client.map(lambda t: None, found)), 0)
        check("a table reads as text, HTML and CSV", found[0]["trace_id"] in repr(table) and
              "<table>" in table._repr_html_() and table.to_csv().startswith("trace_id,blocks,ns"), repr(table))


def errors():
    with Server() as server:
        client = wherefore.connect(server.store)
        for text, code in (("zz", "bad_input"), ("ab", "not_found")):
            try:
                client.trace(text)
                check(f"trace {text} is an error", False)
            except wherefore.ServerError as error:
                equal(f"trace {text}: the server's code", error.code, code)
                check("… and its words", text in error.message, error.message)
        try:
            wherefore.connect("http://127.0.0.1:9", timeout=5).traces()
            check("no server is an error", False)
        except wherefore.ServerError as error:
            check("no server is an error that says what to do", "wherefore serve" in error.hint, error)
        try:
            wherefore.connect("/nowhere/at/all")
            check("no directory is an error", False)
        except wherefore.ServerError as error:
            check("no directory is an error that names it", "/nowhere/at/all" in error.message, error)


run(traces_and_functions, errors)
