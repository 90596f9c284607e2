"""How right a file of assignments is against the truth (docs/use/paths.md, "Accuracy"; Aguilera et al. §7.5.1).

A second implementation, beside the one in `wherefore paths --truth`: a benchmark does not let the program mark its own work.
"""
import collections
import re

ROW = re.compile(r'"call":(\d+),"parent":(\d+|null)')


def read_rows(path, unpaired=False):
    """{line: parent's line, or 0}. Requests that did not pair have rows, but are in no path that was found."""
    rows = {}
    with open(path) as file:
        for line in file:
            found = ROW.search(line)
            if found and (unpaired or '"unpaired":true' not in line):
                rows[int(found[1])] = 0 if found[2] == "null" else int(found[2])
    return rows


class Calls:
    """The requests of a message text of one clock: who called whom, when, and when the return came."""

    def __init__(self, path):
        self.caller, self.callee, self.sent, self.returned = {}, {}, {}, {}
        opened = {}
        with open(path) as file:
            for number, line in enumerate(file, 1):
                time, op, sender, receiver, identity = line.split(maxsplit=5)[:5]
                seconds, fraction = time.split(".")
                at = int(seconds) * 10**9 + int(fraction)
                if op.startswith("CALL"):
                    self.caller[number], self.callee[number], self.sent[number] = sender, receiver, at
                    opened[identity] = number
                elif op.startswith("RET"):
                    call = opened.get(identity)
                    if call is not None:
                        self.returned[call] = at


class Forest:
    """Trees of requests, each with its pattern: a text in which children are unordered."""

    def __init__(self, rows, calls):
        self.calls, self.rows = calls, rows
        self.children = collections.defaultdict(list)
        self.roots = []
        for call, parent in rows.items():
            if parent and parent in rows:
                self.children[parent].append(call)
            else:
                self.roots.append(call)
        self.shape = {}
        for call in sorted(rows, key=lambda c: -calls.sent[c]):  # children are sent after their parents
            self._shape(call)
        self.pattern = {root: f"{calls.caller[root]}>{self.shape[root]}" for root in self.roots}
        self.counts = collections.Counter(self.pattern.values())

    def _shape(self, call):
        if call in self.shape:
            return self.shape[call]
        below = self.children.get(call)
        text = self.calls.callee[call]
        if below:
            text += "(" + ",".join(sorted(self._shape(c) for c in below)) + ")"
        self.shape[call] = text
        return text

    def latencies(self, pattern_of=None):
        """pattern → [mean latency of each node, mean delay of each call], in a fixed order of the tree's nodes."""
        sums = {}
        for root in self.roots:
            values = []
            self._collect(root, None, values)
            total = sums.setdefault(self.pattern[root], [0] * len(values))
            for i, value in enumerate(values):
                total[i] += value
        return {pattern: [v / self.counts[pattern] for v in total] for pattern, total in sums.items()}

    def _collect(self, call, parent, values):
        sent = self.calls.sent
        values.append(self.calls.returned.get(call, sent[call]) - sent[call])
        values.append(sent[call] - sent[parent] if parent else 0)
        for child in sorted(self.children.get(call, ()), key=lambda c: (self.shape[c], sent[c])):
            self._collect(child, call, values)


def instances(true, found):
    """False positives and negatives among instances, as shares of what was found and of what is true."""
    positive = sum(max(0, n - true.get(p, 0)) for p, n in found.items())
    negative = sum(max(0, n - found.get(p, 0)) for p, n in true.items())
    return positive / max(1, sum(found.values())), negative / max(1, sum(true.values()))


def ranked(counts):
    return sorted(counts, key=lambda p: (-counts[p], p))


def top_missing(true, found, n, tolerance=0.0):
    """Share of the true n most frequent patterns that are not among the found n. Those whose found count is within the
    tolerance of the n-th found one are forgiven: near-ties."""
    best = ranked(found)[:n]
    last = found[best[-1]] if best else 0
    missing = [p for p in ranked(true)[:n] if p not in best and found.get(p, 0) < (1 - tolerance) * last]
    return len(missing) / n


def accuracy(true, found):
    """Shares of edges and of whole traces that are right; a missing row is wrong."""
    caused = [c for c, parent in true.rows.items() if parent]
    edges = sum(1 for c in caused if found.rows.get(c) == true.rows[c])
    whole = 0
    for root in true.roots:
        whole += _same(true, found, root) and not found.rows.get(root, -1)
    return edges / max(1, len(caused)), whole / max(1, len(true.roots))


def _same(true, found, call):
    mine, theirs = true.children.get(call, ()), found.children.get(call, ())
    return call in found.rows and len(mine) == len(theirs) and set(mine) == set(theirs) and all(_same(true, found, c) for c in mine)
