#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 600
"""From "the page regressed by 300 ms" to the piece that did it, and down to a single trace, by questions to datasets
alone: Canopy §2.1, figures 1a to 1f. Three seeds; once with the change in another piece; once without any."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from scenario_lab import *

SIZE = 80


def walk(lab, case, name, exact):
    """Returns the piece that the data leads to. `exact`: the change is the one of the paper, whose figures are known."""
    # 1a. How much later is the page displayed?
    page = lab.means(case, "page_load", ["display_done", "server", "network", "browser", "res_load", "css_accuracy",
                                         "js_accuracy", "css_bytes"])
    before, after = page["display_done"]
    change = {column: b - a for column, (a, b) in page.items()}
    later = change["display_done"]
    shown = lambda: str(page)
    if exact:
        check(f"{name}: 1a: about 300 ms", 240 * MILLI < later < 360 * MILLI, shown)
        check(f"{name}: 1a: about 13 %", 0.10 < later / before < 0.16, shown)
    else:
        check(f"{name}: 1a: the page is displayed later", later > 150 * MILLI, shown)

    # 1b. Server and network are what they were; waiting for resources, and the browser, are not.
    parts = ["server", "network", "browser", "res_load"]
    for population in (0, 1):
        total = sum(page[part][population] for part in parts)
        check(f"{name}: 1b: the parts add up to the whole ({'before' if population == 0 else 'after'})",
              abs(total - page["display_done"][population]) < MILLI, shown)
    for part in ("server", "network"):
        check(f"{name}: 1b: {part} is unchanged", abs(change[part]) < 0.05 * later, shown)
    check(f"{name}: 1b: resources take longer", change["res_load"] > 0.9 * later, shown)
    check(f"{name}: 1b: the browser works a little longer", 0 < change["browser"] < 0.1 * later, shown)

    # 1c. Early flush predicts CSS worse than before, and JS as well as before.
    check(f"{name}: 1c: CSS prediction is 5 points less accurate", abs(change["css_accuracy"] + 0.05) < 0.005, shown)
    check(f"{name}: 1c: JS prediction is as accurate as before", abs(change["js_accuracy"]) < 0.005, shown)

    # 1d. 10 kB more CSS on the critical path.
    check(f"{name}: 1d: 10 kB more CSS on the critical path", abs(change["css_bytes"] - 10_000) < 1_000, shown)

    # 1e. Whose CSS is it?
    pieces = lab.means_by(case, "page_pieces", "piece", "css_bytes")
    found = most_changed(pieces)
    check(f"{name}: 1e: one piece has 10 kB more", abs(pieces[found][1] - pieces[found][0] - 10_000) < 1_000, pieces)
    check(f"{name}: 1e: the other nine have as much as before",
          len(pieces) == 10 and all(abs(b - a) < 500 for piece, (a, b) in pieces.items() if piece != found), pieces)

    # 1f. That piece is on the critical path for longer, by about what the page lost.
    times = lab.means_by(case, "page_pieces", "piece", "on_path")
    check(f"{name}: 1f: its time on the path grew by about as much as the page's",
          0.8 * later < times[found][1] - times[found][0] < 1.2 * later, times)
    equal(f"{name}: 1f: no other piece's grew as much", most_changed(times), found)

    # The comparison says the same by itself.
    equal(f"{name}: comparing the populations names the piece",
          lab.explained_by(case, "page_pieces", "on_path", "piece"), found)
    answer = lab.compare(case, "page_load", "display_done")
    check(f"{name}: comparing pages: the difference is significant", answer["metric"]["q"] < 0.05, answer)
    columns = [d["column"] for d in answer["columns"]]
    check(f"{name}: comparing pages: CSS and resources explain it",
          {"css_bytes", "res_load", "css_accuracy"} <= set(columns), columns)
    check(f"{name}: comparing pages: server, network and JS do not",
          not {"server", "network", "js_accuracy"} & set(columns), columns)
    return found


def a_single_trace(lab, case, piece):
    """The page that waited longest for the piece: its path shows the wait."""
    row = lab.rows("page_pieces", f'{case.after} and piece = "{piece}"', order="res_load desc", limit=1)[0]
    path = lab.ask(f"critical-path/{row['trace_id']}")
    wait = max((s for s in path["segments"] if s["category"] == "blocked"), key=lambda s: s["end_ns"] - s["start_ns"])
    check("down to a trace: its longest wait on the path is the row's",
          wait["end_ns"] - wait["start_ns"] == row["res_load"], (wait, row))
    block = lab.ask(f"trace/{row['trace_id']}", span=wait["span_id"])
    check("down to a trace: the wait lies in the piece", piece in json.dumps(block), str(block)[:800])


def page_load():
    lab = Lab()
    seeds = [lab.add("page-load", seed, SIZE) for seed in (1, 2, 3)]
    other = lab.add("page-load", 4, SIZE, "--piece", "Chat")
    absent = lab.add("page-load", 5, SIZE, "--fault", "off")
    lab.load("page_load", later=["page_pieces"])
    for dataset, rows in (("page_load", 1), ("page_pieces", 10)):
        equal(f"every page has its rows in {dataset}", lab.rows(dataset, "complete = true", agg="count")[0]["count"],
              5 * 2 * SIZE * rows)
    for number, case in enumerate(seeds, 1):
        equal(f"seed {number}: the walk ends at the piece that changed", walk(lab, case, f"seed {number}", True), case.truth)
    equal("the piece that the paper found", {case.truth for case in seeds}, {"UserInput"})
    equal("another piece changed: it is the one found", walk(lab, other, "Chat", False), "Chat")
    a_single_trace(lab, seeds[0], "UserInput")
    for dataset, metric in (("page_load", "display_done"), ("page_pieces", "on_path")):
        same, answer = no_difference(lab, absent, dataset, metric)
        check(f"no piece changed: {dataset} shows no significant difference", same, answer)


def errors():
    out = folder("nothing")
    unknown = cli("scenario", "page-lode", "--out", out)
    equal("an unknown scenario is refused", unknown.code, 2)
    check("and the list named", "scenario list" in unknown.error["hint"], unknown)
    check("and nothing written", not os.path.exists(out))
    equal("so is an unknown piece", cli("scenario", "page-load", "--out", out, "--piece", "Footer").code, 2)
    equal("so is no folder", cli("scenario", "page-load").code, 2)
    equal("so is a size of nothing", cli("scenario", "page-load", "--out", out, "--size", 0).code, 2)
    equal("a folder that cannot be made is the environment's fault",
          cli("scenario", "page-load", "--out", "/proc/nothing", "--size", 1).code, 3)
    names = [s["name"] for s in must(cli("scenario", "list")).json["scenarios"]]
    check("the list has page-load and the case studies", "page-load" in names and len(names) >= 7, names)
    check("and people can read it", b"page-load" in must(cli("scenario", "list", text=True)).out)


run(errors, page_load)
