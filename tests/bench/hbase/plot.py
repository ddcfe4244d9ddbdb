#!/usr/bin/env python3
"""Draws FOLDER/*.svg from the CSV files that growth.sh wrote: plot.py FOLDER [--check]. Standard library only.

Each drawing has two panels side by side. Both axes are logarithmic, so proportional growth is a straight line
with slope 1. Colours follow the reader's light or dark scheme. --check writes nothing and fails if a drawing differs
from its CSV."""
import csv
import math
import os
import sys

WIDTH, HEIGHT = 900, 400
LEFT, TOP, PANEL_WIDTH, PANEL_HEIGHT, PITCH = 70, 82, 350, 250, 450
STYLE = """<style>
text{fill:#24292f}.small{fill:#57606a}.paper{fill:#ffffff}
.grid{stroke:#e4e7eb}.axis{stroke:#8c959f}.limit{stroke:#8c959f;stroke-dasharray:2 3}
.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:6 4}
.direct{stroke:#b5532a}.direct.dot{fill:#b5532a}.gateway{stroke:#1f5fa8}.gateway.dot{fill:#1f5fa8}
.other{stroke:#3d7d3d}.other.dot{fill:#3d7d3d}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.small{fill:#9198a1}.paper{fill:#0d1117}
.grid{stroke:#2a313c}.axis{stroke:#656d76}.limit{stroke:#656d76}
.direct{stroke:#f0a070}.direct.dot{fill:#f0a070}.gateway{stroke:#6cb6ff}.gateway.dot{fill:#6cb6ff}
.other{stroke:#8ddb8c}.other.dot{fill:#8ddb8c}}
</style>"""


class Series:
    """A line: its name in the legend, its colour (a class of STYLE) and its points."""

    def __init__(self, name, colour, points, dashed=False):
        self.name, self.colour, self.dashed = name, colour, dashed
        self.points = sorted((x, y) for x, y in points if x > 0 and y > 0)


class Scale:
    """A logarithmic scale from one mark (1, 2 or 5 times a power of ten) to another."""

    def __init__(self, values, begin, end):
        self.begin, self.end = begin, end
        low, high = min(values), max(values)
        self.steps = [m * 10.0 ** p for p in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
                      for m in (1, 2, 5)]
        first = max(i for i, step in enumerate(self.steps) if step <= low * 1.0001)
        last = min(i for i, step in enumerate(self.steps) if step >= high * 0.9999)
        if last - first < 2:
            last = first + 2
        self.steps = self.steps[first:last + 1]

    def at(self, value):
        low, high = math.log10(self.steps[0]), math.log10(self.steps[-1])
        return self.begin + (math.log10(value) - low) / (high - low) * (self.end - self.begin)

    def marks(self):
        """All marks if they are few, otherwise powers of ten."""
        if len(self.steps) <= 7:
            return self.steps
        return [step for step in self.steps if abs(math.log10(step) - round(math.log10(step))) < 1e-9]


def short(value):
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:.4g}"


class Panel:
    def __init__(self, title, x_name, y_name, series, limit=None):
        self.title, self.x_name, self.y_name, self.series, self.limit = title, x_name, y_name, series, limit

    def draw(self, left):
        bottom = TOP + PANEL_HEIGHT
        points = [point for one in self.series for point in one.points]
        x_scale = Scale([x for x, _ in points], left, left + PANEL_WIDTH)
        y_scale = Scale([y for _, y in points], bottom, TOP)
        middle = left + PANEL_WIDTH / 2
        yield f'<text x="{middle}" y="{TOP - 10}" text-anchor="middle" font-weight="bold">{self.title}</text>'
        for mark in x_scale.marks():
            at = x_scale.at(mark)
            yield f'<path class="grid" d="M{at:.1f} {TOP}V{bottom}"/>'
            yield f'<text class="small" x="{at:.1f}" y="{bottom + 17}" text-anchor="middle">{short(mark)}</text>'
        for mark in y_scale.marks():
            at = y_scale.at(mark)
            yield f'<path class="grid" d="M{left} {at:.1f}H{left + PANEL_WIDTH}"/>'
            yield f'<text class="small" x="{left - 7}" y="{at + 4:.1f}" text-anchor="end">{short(mark)}</text>'
        yield f'<path class="axis" fill="none" d="M{left} {TOP}V{bottom}H{left + PANEL_WIDTH}"/>'
        yield f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{self.x_name}</text>'
        level = TOP + PANEL_HEIGHT / 2
        yield (f'<text x="{left - 46}" y="{level}" text-anchor="middle" '
               f'transform="rotate(-90 {left - 46} {level})">{self.y_name}</text>')
        if self.limit:
            at = x_scale.at(self.limit[0])
            yield f'<path class="limit" d="M{at:.1f} {TOP}V{bottom}"/>'
            yield f'<text class="small" font-size="10" x="{at - 4:.1f}" y="{TOP + 11}" text-anchor="end">{self.limit[1]}</text>'
        for one in self.series:
            yield from self.line(one, x_scale, y_scale)

    def line(self, one, x_scale, y_scale):
        spots = [(x_scale.at(x), y_scale.at(y)) for x, y in one.points]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        yield f'<path class="line {one.colour}{" dashed" if one.dashed else ""}" d="M{path}"/>'
        for (x, y), (x_at, y_at) in zip(one.points, spots):
            yield (f'<circle class="{one.colour} dot" cx="{x_at:.1f}" cy="{y_at:.1f}" r="2.5">'
                   f'<title>{one.name}: {x:g} {self.x_name}, {y:.4g} {self.y_name}</title></circle>')


def drawing(title, panels):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
             f'font-family="sans-serif" font-size="12"><title>{title}</title>', STYLE,
             f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
             f'<text x="{LEFT}" y="24" font-size="16">{title}</text>']
    known, x = set(), LEFT
    for one in (one for panel in panels for one in panel.series):
        if one.name in known:
            continue
        known.add(one.name)
        parts.append(f'<path class="line {one.colour}{" dashed" if one.dashed else ""}" d="M{x} 45h26"/>')
        parts.append(f'<text x="{x + 32}" y="49">{one.name}</text>')
        x += 62 + 7 * len(one.name)
    for place, panel in enumerate(panels):
        parts += panel.draw(LEFT + place * PITCH)
    return "\n".join(parts + ["</svg>"]) + "\n"


# --- the drawings --------------------------------------------------------------------------------

def rows_of(folder, kind):
    path = os.path.join(folder, kind + ".csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def points(rows, x, y, factor=1.0, **wanted):
    return [(float(row[x]), float(row[y]) * factor) for row in rows
            if all(row[name] == value for name, value in wanted.items())]


def ways(rows, work, x, y, factor=1.0):
    return [Series(way, way, points(rows, x, y, factor, work=work, way=way)) for way in ("direct", "gateway")]


def latencies(rows, work, x):
    for way in ("direct", "gateway"):
        for name in ("p50", "p99"):
            yield Series(f"{way}, {name}", way, points(rows, x, name + "_us", 1e-3, work=work, way=way), name == "p99")


def by_callers(rows):
    limit = (1000, "Thrift2's limit")
    yield "callers_rate", drawing("Calls a second, by callers", [
        Panel(work, "callers", "calls/s", ways(rows, work, "callers", "calls_per_second"), limit)
        for work in ("put", "get")])
    yield "callers_latency", drawing("How long a call takes, by callers", [
        Panel(work, "callers", "ms", list(latencies(rows, work, "callers")), limit) for work in ("put", "get")])

    def both(column):
        return [Series(work + ", gateway", colour, points(rows, "callers", column, work=work, way="gateway"))
                for work, colour in (("put", "gateway"), ("get", "other"))]
    yield "callers_cost", drawing("What one call costs, by callers", [
        Panel("calls to Thrift2", "callers", "calls to Thrift2 per call", both("thrift2_calls") + [
            Series("direct", "direct", points(rows, "callers", "thrift2_calls", work="put", way="direct"))]),
        Panel("CPU time of the gateway", "callers", "us per call", both("gateway_cpu_us"))])


def by_size(rows):
    yield "size_rate", drawing("Records a second, by their size, 8 callers", [
        Panel(work, "bytes of a record", "records/s", ways(rows, work, "record_bytes", "calls_per_second"))
        for work in ("put", "get")])
    for row in rows:
        row["megabytes"] = float(row["record_bytes"]) * float(row["calls_per_second"]) / 1e6
    yield "size_bytes", drawing("Megabytes a second, by the size of a record, 8 callers", [
        Panel(work, "bytes of a record", "MB/s", ways(rows, work, "record_bytes", "megabytes"))
        for work in ("put", "get")])


def by_buckets(rows):
    yield "buckets", drawing("The 20 newest rows of a salted table, by buckets, 1 caller", [
        Panel("median time", "buckets", "ms", ways(rows, "latest", "buckets", "p50_us", 1e-3)),
        Panel("rows read for it", "buckets", "rows", ways(rows, "latest", "buckets", "rows_read"))])


def by_rows(rows):
    yield "rows", drawing("Queries to a table that grows, 16 buckets, 1 caller", [
        Panel("the 20 newest rows, median time", "rows of the table", "ms", ways(rows, "latest", "rows", "p50_us", 1e-3)),
        Panel("one row by its key, median time", "rows of the table", "ms", ways(rows, "get", "rows", "p50_us", 1e-3))])


def main():
    folder, check = sys.argv[1], "--check" in sys.argv[2:]
    for kind, draw in (("callers", by_callers), ("size", by_size), ("buckets", by_buckets), ("rows", by_rows)):
        rows = rows_of(folder, kind)
        for name, text in draw(rows) if rows else ():
            path = os.path.join(folder, name + ".svg")
            if check:
                with open(path, encoding="utf-8") as file:
                    if file.read() != text:
                        sys.exit(f"{path} differs from {kind}.csv: run tests/bench/hbase/plot.py {folder}")
                continue
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
