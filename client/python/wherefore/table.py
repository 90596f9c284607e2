"""Table: rows with named columns, the result of datasets and features."""
import csv
import html
import io

SHOWN = 50  # max rows in a notebook; the rest are counted


class Table:
    """`columns` is a list of {"name", "type"}, `rows` a list of dicts. Iterating gives the rows."""

    def __init__(self, columns, rows):
        self.columns = [dict(column) for column in columns]
        self.rows = list(rows)

    @classmethod
    def of_rows(cls, rows):
        """Columns in the order in which they first appear, with types from their values."""
        rows = list(rows)
        types = {}
        for row in rows:
            for name, value in row.items():
                if types.get(name) is None:
                    types[name] = None if value is None else _type_name(value)
        return cls([{"name": name, "type": kind or "text"} for name, kind in types.items()], rows)

    @property
    def names(self):
        return [column["name"] for column in self.columns]

    def column(self, name):
        if name not in self.names:
            raise KeyError(f"no column {name!r}; columns: {', '.join(self.names)}")
        return [row.get(name) for row in self.rows]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, key):
        return self.column(key) if isinstance(key, str) else self.rows[key]

    def to_pandas(self):
        import pandas  # optional dependency

        return pandas.DataFrame(self.rows, columns=self.names)

    def to_csv(self):
        out = io.StringIO()
        writer = csv.DictWriter(out, self.names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def __repr__(self):
        names = self.names
        cells = [[_text(row.get(name)) for name in names] for row in self.rows[:SHOWN]]
        widths = [max([len(name)] + [len(line[i]) for line in cells]) for i, name in enumerate(names)]
        lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths)).rstrip()]
        lines += ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in cells]
        if len(self.rows) > SHOWN:
            lines.append(f"… and {len(self.rows) - SHOWN} more rows")
        return "\n".join(lines)

    def _repr_html_(self):
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.names)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(_text(row.get(name)))}</td>" for name in self.names) + "</tr>"
                       for row in self.rows[:SHOWN])
        more = f"<p>… and {len(self.rows) - SHOWN} more rows</p>" if len(self.rows) > SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _type_name(value):
    if isinstance(value, bool):
        return "bool"
    return "int" if isinstance(value, int) else "double" if isinstance(value, float) else "text"


def _text(value):
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
