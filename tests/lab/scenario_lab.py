"""Scenarios in one store, and the questions that an engineer asks of their datasets. A walk never looks at the truth:
it returns what it found, and the test compares."""
import os
import time
import urllib.parse

from harness import *

DATASETS = os.path.join(SOURCE, "config", "datasets", "examples")
HOUR = 3600 * SECOND
SLOW = 240  # seconds, on a machine with much else to do


class Case:
    """One scenario's two populations, as conditions on rows."""

    def __init__(self, question):
        self.question = question
        self.truth = question["truth"]["culprit"]
        self.before, self.after = (
            f"time_ns >= {question[p]['since_ns']} and time_ns < {question[p]['until_ns']}" for p in ("before", "after"))


class Lab:
    """Scenarios are put one behind the other in time, so that one store, import and backfill do for all of them."""

    def __init__(self):
        self.store = folder()
        # Today, so that no retention takes rows away; on the hour, so that windows of time do not move with the test.
        self.start = (time.time_ns() // HOUR - 24 * 20) * HOUR
        self.files = []

    def add(self, name, seed, size, *flags):
        out = folder(f"{name}-{seed}")
        must(cli("scenario", name, "--out", out, "--seed", seed, "--size", size, "--start", self.start, *flags))
        self.start += 12 * HOUR
        self.files.append(os.path.join(out, "events.jsonl"))
        with open(os.path.join(out, "query.json")) as file:
            return Case(json.load(file))

    def load(self, *datasets, later=()):
        """`datasets` are filled while the events come in, those of `later` from the store."""
        def apply(name):
            must(cli("dataset", "apply", os.path.join(DATASETS, name + ".yaml"), store=self.store, timeout=SLOW))

        for name in datasets:
            apply(name)
        report = import_files(self.store, *self.files, timeout=SLOW)
        if report["rejected"] or report["repairs"]:
            raise AssertionError(repr(report))
        for name in later:
            apply(name)
            must(cli("dataset", "backfill", name, store=self.store, timeout=SLOW))
        self.server = Server(self.store)  # answers at once what a process would have to open the store for

    def ask(self, verb, **parameters):
        answer = self.server.get(f"/api/v1/{verb}?{urllib.parse.urlencode(parameters)}")
        if answer.status != 200:
            raise AssertionError(repr(answer))
        return answer.json

    def rows(self, dataset, where, **parameters):
        return self.ask(f"dataset/query/{dataset}", where=where, **parameters)["rows"]

    def means(self, case, dataset, columns):
        """{column: (before, after)}"""
        aggregates = [f"mean({c})" for c in columns]
        before, after = (self.rows(dataset, p, agg=", ".join(aggregates))[0] for p in (case.before, case.after))
        return {c: (before[a], after[a]) for c, a in zip(columns, aggregates)}

    def means_by(self, case, dataset, key, column):
        """{value of key: (before, after)}"""
        aggregate = f"mean({column})"
        before, after = ({row[key]: row[aggregate] for row in self.rows(dataset, p, group_by=key, agg=aggregate)}
                         for p in (case.before, case.after))
        return {value: (before.get(value, 0), after.get(value, 0)) for value in {**before, **after}}

    def compare(self, case, dataset, metric):
        return self.ask(f"dataset/compare/{dataset}", a=case.before, b=case.after, metric=metric)

    def explained_by(self, case, dataset, metric, column):
        """The value of `column` within which the metric differs most between the populations; None: within none."""
        found = [d for d in self.compare(case, dataset, metric)["columns"]
                 if d["column"] == column and d["value"] is not None and d["question"] == "within"]
        return found[0]["value"] if found else None


def most_changed(pairs):
    """The key whose value grew most."""
    return max(pairs, key=lambda key: pairs[key][1] - pairs[key][0])


def no_difference(lab, case, dataset, metric, ignored=()):
    """Neither the metric nor any column differs significantly."""
    answer = lab.compare(case, dataset, metric)
    columns = [d for d in answer["columns"] if d["column"] not in ignored]
    return answer["n_a"] > 0 and not columns and answer["metric"]["p"] > 0.05, answer
