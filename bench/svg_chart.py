"""Charts of y against x, side by side or one below the other, as an SVG: what a benchmark needs to show a figure.

The same look as svg_panels.cc, whose x is always time."""
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 620, 220, 70, 150, 44, 58
COLORS = ["#c33", "#36c", "#393", "#a5a", "#c80", "#399", "#666", "#963", "#000"]


def escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def tick(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def round_up(value):
    """The next of 1, 2, 5 × 10^n: where an axis ends."""
    if value <= 0:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next((step * power for step in (1, 2, 5, 10) if value <= step * power * 1.0000001), value)


class Chart:
    """series: {name: [(x, y), …]}. `log_x` for positive x; `marks`: x at which a vertical line stands."""

    def __init__(self, title, x_label, series, marks=(), log_x=False, log_y=False, most=None):
        self.title, self.x_label, self.series, self.marks = title, x_label, series, marks
        self.log_x, self.log_y, self.most = log_x, log_y, most

    def draw(self, top, out):
        points = [p for line in self.series.values() for p in line]
        xs = [x for x, _ in points] or [0, 1]
        low, high = (min(xs), max(xs)) if self.log_x else (min(0, min(xs)), max(xs))
        if high <= low:
            high = low + 1
        ys = [y for _, y in points if not self.log_y or y > 0] or [1]
        most = self.most or round_up(max(ys))
        least = 10 ** math.floor(math.log10(min(ys))) if self.log_y else 0

        def place(value, begin, end, log):
            if log:
                value, begin, end = (math.log10(max(v, 1e-12)) for v in (value, begin, end))
            return (value - begin) / (end - begin) if end > begin else 0

        def x(value):
            return LEFT + place(value, low, high, self.log_x) * WIDTH

        def y(value):
            return top + HEIGHT - min(1, max(0, place(value, least, most, self.log_y))) * HEIGHT

        out.append(f'<text x="{LEFT}" y="{top - 6}">{escape(self.title)}</text>')
        out.append(f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>')
        for share in (0, 0.25, 0.5, 0.75, 1):
            value = least * (most / least) ** share if self.log_y else share * most
            out.append(f'<text x="{LEFT - 5}" y="{y(value) + 4:.1f}" text-anchor="end">{tick(value)}</text>')
            value = low * (high / low) ** share if self.log_x else low + share * (high - low)
            out.append(f'<text x="{x(value):.1f}" y="{top + HEIGHT + 14}" text-anchor="middle">{tick(value)}</text>')
        for mark in self.marks:
            out.append(f'<line x1="{x(mark):.1f}" x2="{x(mark):.1f}" y1="{top}" y2="{top + HEIGHT}" stroke="#bbb" stroke-dasharray="3,3"/>')
        for i, (name, line) in enumerate(self.series.items()):
            color = COLORS[i % len(COLORS)]
            shown = [(x(a), y(b)) for a, b in sorted(line)]
            out.append('<polyline points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in shown) + f'" fill="none" stroke="{color}" stroke-width="1.5"/>')
            out.extend(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2" fill="{color}"/>' for a, b in shown)
            out.append(f'<text x="{LEFT + WIDTH + 8}" y="{top + 12 + 15 * i}" fill="{color}">{escape(name)}</text>')
        out.append(f'<text x="{LEFT + WIDTH / 2}" y="{top + HEIGHT + 30}" text-anchor="middle">{escape(self.x_label)}</text>')


def write(path, title, charts):
    width, height = LEFT + WIDTH + RIGHT, TOP + len(charts) * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="18" font-size="14">{escape(title)}</text>']
    for i, chart in enumerate(charts):
        chart.draw(TOP + i * (HEIGHT + GAP), out)
    with open(path, "w") as file:
        file.write("\n".join(out) + "\n</svg>\n")
