"""Trace: one modeled trace, its elements joined to each other."""


class Element:
    """A part of a trace. `data` is the server's JSON; its keys can be read as attributes."""

    def __init__(self, trace, data):
        self.trace, self.data = trace, data

    def __getattr__(self, name):
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name}; fields: {', '.join(self.data)}") from None

    def get(self, name, default=None):
        return self.data.get(name, default)

    def annotation(self, kind, name, default=None):
        """The value of label|message|counter|set|stack NAME, or the default."""
        for found in self.data.get("annotations", ()):
            if found.get("kind") == kind and found.get("name") == name:
                return found.get("value")
        return default

    def label(self, name, default=None):
        found = self.annotation("label", name)
        return found if found is not None else self.data.get("attributes", {}).get(name, default)

    def counter(self, name, default=None):
        return self.annotation("counter", name, default)


class Unit(Element):
    @property
    def blocks(self):
        return self.trace._blocks_of_unit.get(self.id, [])


class Block(Element):
    @property
    def duration_ns(self):
        return self.data["end_ns"] - self.data["start_ns"]

    @property
    def parent(self):
        return self.trace.block(self.data["parent_id"]) if self.data["parent_id"] else None

    @property
    def children(self):
        return self.trace._children.get(self.span_id, [])

    @property
    def points(self):
        return self.trace._points_of_block.get(self.span_id, [])

    def descendants(self):
        """All blocks below it, parents before children."""
        waiting = list(reversed(self.children))
        while waiting:
            block = waiting.pop()
            yield block
            waiting.extend(reversed(block.children))

    def __repr__(self):
        return f"<Block {self.service}: {self.name} {self.duration_ns} ns>"


class Point(Element):
    @property
    def block(self):
        return self.trace.block(self.data["span_id"])


class Edge(Element):
    @property
    def sender(self):
        return self.trace._points_by_id.get(self.data["from"])

    @property
    def receiver(self):
        return self.trace._points_by_id.get(self.data["to"])


class Trace:
    """The output of `wherefore trace ID --format json` as objects: units, blocks, points, edges."""

    def __init__(self, data):
        self.data = data
        self.trace_id = data["trace_id"]
        self.start_ns, self.end_ns, self.complete = data["start_ns"], data["end_ns"], data["complete"]
        self.units = [Unit(self, one) for one in data["units"]]
        self.blocks = [Block(self, one) for one in data["blocks"]]
        self.points = [Point(self, one) for one in data["points"]]
        self.edges = [Edge(self, one) for one in data["edges"]]
        self._blocks_by_id = {block.span_id: block for block in self.blocks}
        self._points_by_id = {point.id: point for point in self.points}
        self._children = _group(self.blocks, "parent_id")
        self._blocks_of_unit = _group(self.blocks, "unit")
        self._points_of_block = _group(self.points, "span_id")

    @property
    def duration_ns(self):
        return self.end_ns - self.start_ns

    @property
    def root(self):
        """The main root block; None in a trace without blocks."""
        return self.block(self.data["main_root"]) if self.data.get("main_root") else None

    def block(self, span_id):
        return self._blocks_by_id.get(span_id)

    def __repr__(self):
        return f"<Trace {self.trace_id}: {len(self.blocks)} blocks, {self.duration_ns} ns>"


def _group(elements, key):
    groups = {}
    for element in elements:
        groups.setdefault(element.data[key], []).append(element)
    return groups
