#!/usr/bin/env python3
# needs: wherefore
# parallel: yes
# timeout: 600
"""The case studies of Canopy §5.4, each a walk over datasets that ends at its culprit, and again with the fault absent:
then no significant difference is reported."""
import sys

sys.path.insert(1, sys.path[0] + "/../../lab")
from scenario_lab import *

# As many requests as it takes to see the effect; to see none, few do.
SIZES = {"low-priority-piece": 150, "country-regression": 180, "what-if": 60, "missing-index": 50, "first-non-empty": 100,
         "growing-init": 60, "startup-gaps": 200}
ABSENT_SIZE = 50


class Pair:
    """A scenario with its fault and, by other users, without."""

    def __init__(self, lab, name, seed):
        self.name = name
        self.present = lab.add(name, seed, SIZES[name])
        self.absent = lab.add(name, seed + 100, ABSENT_SIZE, "--fault", "off")


def found(pair, value):
    equal(f"{pair.name}: the walk ends at its culprit", value, pair.present.truth)


def absent(lab, pair, *questions, ignored=()):
    for dataset, metric in questions:
        same, answer = no_difference(lab, pair.absent, dataset, metric, ignored)
        check(f"{pair.name}: fault absent: no significant difference in {metric} of {dataset}", same, answer)


def later(lab, pair, dataset, metric):
    answer = lab.compare(pair.present, dataset, metric)
    check(f"{pair.name}: {metric} regressed significantly", answer["metric"]["q"] < 0.05 and answer["metric"]["effect"] > 0,
          answer["metric"])
    return answer


def low_priority_piece(lab, pair):
    """Causal ordering: a piece of the last phase on the server's part of the path to the first phase."""
    later(lab, pair, "page_load", "first_phase_done")
    # Pieces of later phases have no business there; before the fault none was, now one is.
    times = lab.means_by(pair.present, "first_phase", "piece", "server")
    surprise = most_changed(times)
    check(f"{pair.name}: it was not on the server's path before", times[surprise][0] < MILLI < times[surprise][1], times)
    equal(f"{pair.name}: the comparison names it too", lab.explained_by(pair.present, "first_phase", "server", "piece"),
          surprise)
    # How often, and what it costs: pages with it there against those without.
    affected = lab.rows("first_phase", f'{pair.present.after} and piece = "{surprise}" and server_waits = true', limit=1000)
    share = len(affected) / pair.present.question["size"]
    check(f"{pair.name}: it happens in some requests only", 0.25 < share < 0.55, share)
    browser = lab.means_by(pair.present, "first_phase", "piece", "browser")[surprise]
    check(f"{pair.name}: and not on the client's path", browser[1] < MILLI, browser)
    found(pair, surprise)
    absent(lab, pair, ("page_load", "first_phase_done"), ("first_phase", "server"))


def country_regression(lab, pair):
    """A subpopulation: the mean of all regresses; the difference is one country's, in network and resources."""
    means = lab.means_by(pair.present, "page_load", "country", "display_done")
    country = most_changed(means)
    equal(f"{pair.name}: the comparison names the country too",
          lab.explained_by(pair.present, "page_load", "display_done", "country"), country)
    check(f"{pair.name}: the others are as quick as before",
          all(abs(b - a) < 0.02 * a for c, (a, b) in means.items() if c != country), means)
    there = Case(pair.present.question)
    there.before, there.after = (f'{p} and country = "{country}"' for p in (there.before, there.after))
    parts = lab.means(there, "page_load", ["server", "network", "browser", "res_load"])
    change = {part: b - a for part, (a, b) in parts.items()}
    check(f"{pair.name}: there, network and resources grew and nothing else",
          min(change["network"], change["res_load"]) > 5 * max(abs(change["server"]), abs(change["browser"])), parts)
    found(pair, country)
    absent(lab, pair, ("page_load", "display_done"))


def what_if(lab, pair):
    """A hypothesis: what would quicker resources save? Then the change that brings them, measured."""
    def ask(case, factor):
        window = case.question["before"]
        answer = lab.ask("critical-path", since=window["since_ns"], until=window["until_ns"],
                         what_if=f"type/resource={factor}x")
        return (answer["duration_ns"] - answer["what_if"]["duration_ns"]) / answer["traces"]

    promised, half = ask(pair.present, 0), ask(pair.present, 0.5)
    check(f"{pair.name}: half the time saves some, no time saves more", 50 * MILLI < half < promised, (half, promised))
    page = lab.means(pair.present, "page_load", ["display_done", "server", "network", "browser", "res_load"])
    saved = {column: a - b for column, (a, b) in page.items()}
    check(f"{pair.name}: the second wave saves most of what was promised and no more",
          0.7 * promised < saved["display_done"] <= 1.01 * promised, (promised, page))
    component = max(("server", "network", "browser", "res_load"), key=lambda part: saved[part])
    answer = lab.compare(pair.present, "page_load", "display_done")
    check(f"{pair.name}: the improvement is significant", answer["metric"]["q"] < 0.05 and answer["metric"]["effect"] < 0,
          answer["metric"])
    found(pair, {"res_load": "resource"}.get(component, component))
    # Nothing to cure: early flush knew of everything.
    check(f"{pair.name}: fault absent: little is promised", ask(pair.absent, 0) < 0.5 * promised)
    absent(lab, pair, ("page_load", "display_done"))


def missing_index(lab, pair):
    """Database time on the path, and the query it belongs to."""
    answer = later(lab, pair, "page_load", "display_done")
    check(f"{pair.name}: database time on the path explains it",
          "database" in [d["column"] for d in answer["columns"]], answer["columns"])
    times = lab.means_by(pair.present, "page_queries", "query", "on_path")
    query = most_changed(times)
    check(f"{pair.name}: it takes a hundred times as long and half of the page",
          times[query][1] > 100 * MILLI and times[query][1] > 0.4 * lab.means(
              pair.present, "page_load", ["display_done"])["display_done"][1], times)
    rows = lab.means_by(pair.present, "page_queries", "query", "rows")[query]
    check(f"{pair.name}: because it examines far more rows", rows[1] > 100 * rows[0], rows)
    equal(f"{pair.name}: the comparison names it too", lab.explained_by(pair.present, "page_queries", "took", "query"), query)
    found(pair, query)
    absent(lab, pair, ("page_load", "display_done"), ("page_queries", "on_path"))


def first_non_empty(lab, pair):
    """A latency of one's own, in a dataset that reuses page_load's columns."""
    columns = set(lab.rows("search_results", "first_result exists", limit=1)[0])
    check(f"{pair.name}: the dataset has its own columns and those of page_load",
          {"first_result", "first_piece", "display_done", "res_load", "country"} <= columns, columns)
    later(lab, pair, "search_results", "first_result")
    display = lab.means(pair.present, "search_results", ["display_done"])["display_done"]
    check(f"{pair.name}: the page as a whole is no later", display[1] < 1.02 * display[0], display)
    empty = lab.means_by(pair.present, "search_pieces", "piece", "empty")
    piece = most_changed(empty)
    check(f"{pair.name}: one piece stays empty, the others do not",
          empty[piece][1] - empty[piece][0] > 0.3 and
          all(abs(b - a) < 0.01 for p, (a, b) in empty.items() if p != piece), empty)
    found(pair, piece)
    absent(lab, pair, ("search_results", "first_result"), ("search_pieces", "empty"))


def growing_init(lab, pair):
    """Call stacks over releases: which frame do the calls share that were added?"""
    later(lab, pair, "cold_start", "cold_start")
    releases = {row["release"]: row["mean(cold_start)"] for row in lab.rows(
        "cold_start", span_of(pair.present), group_by="release", agg="mean(cold_start)")}
    means = [releases[r] for r in sorted(releases)]
    check(f"{pair.name}: every release is a little slower than the one before",
          len(means) == 5 and all(a < b < 1.1 * a for a, b in zip(means, means[1:])), releases)
    before, after = ({row["stack"]: row["sum(took)"] for row in lab.rows(
        "init_calls", population, group_by="stack", agg="sum(took)")} for population in
        (pair.present.before, pair.present.after))
    added = [frames(stack) for stack in after if stack not in before]
    shared = [frame for frame in added[0] if all(frame in stack for stack in added)]
    everywhere = [frame for frame in shared if all(frame in frames(stack) for stack in before)]
    check(f"{pair.name}: calls were added and none went away", added and set(before) <= set(after), (before, after))
    found(pair, [frame for frame in shared if frame not in everywhere][-1])
    # The releases differ in name, and in nothing else.
    absent(lab, pair, ("cold_start", "cold_start"), ("init_calls", "took"), ignored={"release"})


def frames(stack):
    return stack if isinstance(stack, list) else stack.split("\n")


def span_of(case):
    return f"time_ns >= {case.question['before']['since_ns']} and time_ns < {case.question['after']['until_ns']}"


def startup_gaps(lab, pair):
    """Traces in which nothing runs for seconds: what do they have in common?"""
    later(lab, pair, "cold_start", "cold_start")
    parts = lab.means(pair.present, "cold_start", ["cold_start", "idle", "initialize"])
    change = {part: b - a for part, (a, b) in parts.items()}
    check(f"{pair.name}: all of the difference is time in which nothing ran",
          abs(change["cold_start"] - change["idle"]) < 0.01 * change["cold_start"], parts)
    triggers = lab.rows("cold_start", f"{pair.present.after} and longest_gap > 1s", group_by="trigger", agg="count")
    check(f"{pair.name}: starts with long gaps have one trigger", len(triggers) == 1, triggers)
    columns = lab.compare(pair.present, "cold_start", "cold_start")["columns"]
    mix = [d["value"] for d in columns if d["column"] == "trigger" and d["question"] == "mix"]
    check(f"{pair.name}: the comparison names the trigger's share", mix, columns)
    found(pair, triggers[0]["trigger"])
    absent(lab, pair, ("cold_start", "cold_start"))


def web():
    lab = Lab()
    pairs = {name: Pair(lab, name, seed) for seed, name in enumerate(
        ("low-priority-piece", "country-regression", "what-if", "missing-index"), 11)}
    lab.load("page_load", "first_phase", "page_queries")
    low_priority_piece(lab, pairs["low-priority-piece"])
    country_regression(lab, pairs["country-regression"])
    what_if(lab, pairs["what-if"])
    missing_index(lab, pairs["missing-index"])


def search():
    lab = Lab()
    pair = Pair(lab, "first-non-empty", 21)
    lab.load("page_load", "search_results", "search_pieces")
    first_non_empty(lab, pair)


def mobile():
    lab = Lab()
    init, gaps = Pair(lab, "growing-init", 31), Pair(lab, "startup-gaps", 32)
    lab.load("cold_start", "init_calls")
    growing_init(lab, init)
    startup_gaps(lab, gaps)


run(web, search, mobile)
