"""Tables as SVGs: a matrix whose cells are darker the more is in them, a pivot table with a sparkline in each cell and its
margins, and bars. The same look as svg_chart.py."""
from svg_chart import COLORS, escape

HEAD = ('<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" '
        'font-size="11"><rect width="100%" height="100%" fill="white"/>')


def text(x, y, content, anchor="start", **style):
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in style.items())
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(content)}</text>'


def save(path, width, height, out):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([HEAD.format(width, height), *out]) + "\n</svg>\n")


class Matrix:
    """cells: {(row, column): number}. `show` turns a number into the text of its cell; `missing` stands where there is none,
    and `most` is the darkest: else the greatest of them."""

    def __init__(self, title, row_label, column_label, rows, columns, cells, show="{:,}".format, missing="0", most=None):
        self.title, self.row_label, self.column_label = title, row_label, column_label
        self.rows, self.columns, self.cells, self.show, self.missing, self.most = rows, columns, cells, show, missing, most


def write_matrices(path, title, matrices):
    """Side by side."""
    size, left, top, gap = 42, 60, 78, 34
    out = [text(left, 20, title, font_size=14)]
    x = left
    for matrix in matrices:
        most = matrix.most or max(matrix.cells.values(), default=0) or 1
        out.append(text(x, 42, matrix.title))
        out.append(text(x + len(matrix.columns) * size / 2, 58, matrix.column_label, "middle", fill="#666"))
        middle = top + len(matrix.rows) * size / 2
        out.append(f'<text transform="translate({x - 24},{middle}) rotate(-90)" text-anchor="middle" fill="#666">'
                   f'{escape(matrix.row_label)}</text>')
        for j, column in enumerate(matrix.columns):
            out.append(text(x + (j + 0.5) * size, top - 6, column, "middle"))
        for i, row in enumerate(matrix.rows):
            out.append(text(x - 8, top + (i + 0.5) * size + 4, row, "end"))
            for j, column in enumerate(matrix.columns):
                value = matrix.cells.get((row, column), 0)
                share = value / most
                red, green, blue = (round(255 - share * (255 - full)) for full in (0x2B, 0x5C, 0xB0))
                out.append(f'<rect x="{x + j * size}" y="{top + i * size}" width="{size - 1}" height="{size - 1}" '
                           f'fill="rgb({red},{green},{blue})" stroke="#ddd"/>')
                shown = matrix.show(value) if (row, column) in matrix.cells else matrix.missing
                out.append(text(x + (j + 0.5) * size, top + (i + 0.5) * size + 4, shown, "middle",
                                fill="white" if share > 0.55 else "#333", font_size=10))
        x += len(matrix.columns) * size + left + gap
    save(path, x - left, top + max(len(m.rows) for m in matrices) * size + 16, out)


def sparkline(x, y, width, height, values, most, color):
    if not values:
        return ""
    step = width / max(1, len(values) - 1)
    points = " ".join(f"{x + i * step:.1f},{y + height - value / most * height:.1f}" for i, value in enumerate(values))
    return (f'<polygon points="{x:.1f},{y + height:.1f} {points} {x + (len(values) - 1) * step:.1f},{y + height:.1f}" fill="{color}" '
            f'fill-opacity="0.18"/><polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.2"/>')


def write_pivot_table(path, title, rows, columns, cells, times, show):
    """cells: {(row, column): {time: number}}. The last row and column are the sums, over times as well as in number. Lines of the
    cells have one scale, those of the margins another."""
    width, height, left, top = 92, 44, 60, 62

    def line(chosen_rows, chosen_columns):
        return [sum(cells.get((r, c), {}).get(t, 0) for r in chosen_rows for c in chosen_columns) for t in times]

    grid = {}
    for row in (*rows, None):
        for column in (*columns, None):
            grid[row, column] = line([row] if row else rows, [column] if column else columns)
    scales = {0: 1, 1: 1, 2: 1}  # by how many sides are margins
    for (row, column), values in grid.items():
        kind = (row is None) + (column is None)
        scales[kind] = max(scales[kind], *values, 1)
    out = [text(left, 20, title, font_size=14)]
    for j, column in enumerate((*columns, None)):
        out.append(text(left + (j + 0.5) * width, top - 8, column or "all", "middle", font_weight="bold" if column is None else "normal"))
        for i, row in enumerate((*rows, None)):
            values = grid[row, column]
            kind = (row is None) + (column is None)
            x, y = left + j * width, top + i * height
            out.append(f'<rect x="{x}" y="{y}" width="{width - 2}" height="{height - 2}" fill="{("#fff", "#f4f4f4", "#e8e8e8")[kind]}" stroke="#ccc"/>')
            if sum(values) > 0:
                out.append(sparkline(x + 4, y + 15, width - 10, height - 20, values, scales[kind], COLORS[1] if kind == 0 else COLORS[0]))
                out.append(text(x + width - 7, y + 12, show(sum(values)), "end", font_size=10))
    for i, row in enumerate((*rows, None)):
        out.append(text(left - 8, top + (i + 0.5) * height + 4, row or "all", "end", font_weight="bold" if row is None else "normal"))
    save(path, max(560, left + (len(columns) + 1) * width + 12), top + (len(rows) + 1) * height + 12, out)


def write_bars(path, title, groups, show):
    """groups: [(heading, {name: number})]: horizontal bars, one scale for all."""
    left, width, step = 250, 430, 18
    most = max((value for _, bars in groups for value in bars.values()), default=0) or 1
    out, y = [text(20, 22, title, font_size=14)], 48
    for heading, bars in groups:
        out.append(text(20, y, heading, font_weight="bold"))
        y += 8
        for name, value in bars.items():
            length = max(0.5, value / most * width)
            out.append(text(left - 8, y + 12, name, "end"))
            out.append(f'<rect x="{left}" y="{y + 2}" width="{length:.1f}" height="{step - 5}" fill="{COLORS[1]}"/>')
            out.append(text(left + length + 6, y + 12, show(value)))
            y += step
        y += 24
    save(path, left + width + 90, y, out)
