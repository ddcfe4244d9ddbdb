#!/usr/bin/env python3
"""Draws docs/growth/*.svg from the CSV beside them: plot.py FOLDER. Standard library only. Both axes are
logarithmic; straight lines upwards by one step a step are proportional growth."""
import csv
import math
import os
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 78, 150, 40, 56
COLOURS = {"direct": "#b5532a", "gateway": "#1f5fa8"}
MORE = ["#1f5fa8", "#b5532a", "#3d7d3d", "#7a4fa3"]

# file, title, x axis, y axis, what to draw of a row: series name and (x, y)
PLOTS = [
    ("callers", "throughput", "Calls a second, by callers", "callers", "calls/s", "callers", "calls_per_second"),
    ("callers", "latency", "Median latency, by callers", "callers", "us", "callers", "p50_us"),
    ("size", "size", "Records a second, by their size (8 callers)", "bytes of a record", "calls/s", "record_bytes",
     "calls_per_second"),
]


def rows_of(folder, name):
    path = os.path.join(folder, name + ".csv")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def decades(values):
    """Powers of ten around the values."""
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def short(value):
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


class Plot:
    """One drawing. `series`: name, colour, dashed, points."""

    def __init__(self, title, x_name, y_name, series):
        points = [point for one in series for point in one[3]]
        self.x_low, self.x_high = decades([x for x, _ in points])
        self.y_low, self.y_high = decades([y for _, y in points])
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="22" font-size="15">{title}</text>']
        self.axes(x_name, y_name)
        for place, one in enumerate(series):
            self.line(place, *one)
        self.parts.append("</svg>")

    def x_at(self, value):
        share = (math.log10(value) - self.x_low) / (self.x_high - self.x_low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y_at(self, value):
        share = (math.log10(value) - self.y_low) / (self.y_high - self.y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def axes(self, x_name, y_name):
        for power in range(self.x_low, self.x_high + 1):
            at = self.x_at(10 ** power)
            self.parts.append(f'<path d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
            self.parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(10 ** power)}</text>')
        for power in range(self.y_low, self.y_high + 1):
            at = self.y_at(10 ** power)
            self.parts.append(f'<path d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
            self.parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{short(10 ** power)}</text>')
        self.parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle">{x_name}</text>')
        self.parts.append(f'<text x="20" y="{(TOP + HEIGHT - BOTTOM) / 2}" text-anchor="middle" '
                          f'transform="rotate(-90 20 {(TOP + HEIGHT - BOTTOM) / 2})">{y_name}</text>')

    def line(self, place, name, colour, dashed, points):
        path = " ".join(f"{self.x_at(x):.1f},{self.y_at(y):.1f}" for x, y in sorted(points))
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for x, y in points:
            self.parts.append(f'<circle cx="{self.x_at(x):.1f}" cy="{self.y_at(y):.1f}" r="2.5" fill="{colour}"/>')
        level = TOP + 14 + place * 20
        self.parts.append(f'<path d="M{WIDTH - RIGHT + 12} {level - 4}h24" stroke="{colour}" stroke-width="2"{dash}/>')
        self.parts.append(f'<text x="{WIDTH - RIGHT + 42}" y="{level}">{name}</text>')

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.parts) + "\n")


def by_way(rows, x, y):
    """Put dashed, get solid; a colour for each way."""
    found = {}
    for row in rows:
        if float(row[y]) > 0:
            found.setdefault((row["work"], row["way"]), []).append((float(row[x]), float(row[y])))
    return [(f"{work}, {way}", COLOURS[way], work == "put", points) for (work, way), points in sorted(found.items())]


def columns(rows, x, names):
    return [(text, MORE[place], False, [(float(row[x]), float(row[name])) for row in rows])
            for place, (name, text) in enumerate(names)]


def main():
    folder = sys.argv[1]
    for source, name, title, x_name, y_name, x, y in PLOTS:
        rows = rows_of(folder, source)
        if rows:
            Plot(title, x_name, y_name, by_way(rows, x, y)).save(os.path.join(folder, name + ".svg"))
    rows = rows_of(folder, "buckets")
    if rows:
        Plot("The latest 20 rows, by buckets", "buckets", "us, rows, calls",
             columns(rows, "buckets", [("p50_us", "p50, us"), ("rows_scanned", "rows read"), ("calls", "calls")])
             ).save(os.path.join(folder, "buckets.svg"))
    rows = rows_of(folder, "rows")
    if rows:
        Plot("The latest 20 rows over 16 buckets, by rows", "rows of the table", "us, rows",
             columns(rows, "rows", [("latest_p50_us", "p50, us"), ("rows_scanned", "rows read"),
                                    ("direct_get_p50_us", "a direct get, us")])
             ).save(os.path.join(folder, "rows.svg"))


if __name__ == "__main__":
    main()
