#!/usr/bin/env python3
"""Draws what `bench_change --trace FILE.csv` wrote: plot.py FILE.csv FILE.svg. Standard library only.

The p50 and p99 of puts per 100 ms over the time of a change, with the versions marked. The scale of durations is
logarithmic."""
import csv
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hbase"))
from plot import HEIGHT, LEFT, STYLE, TOP, WIDTH, Scale, short  # noqa: E402

RIGHT, BOTTOM = WIDTH - 30, HEIGHT - 68
LINES = (("p50_us", "p50", "gateway"), ("p99_us", "p99", "direct"))


def versions(rows):
    """Each version and the second in which it began."""
    before = None
    for row in rows:
        if row["version"] != before:
            before = row["version"]
            yield before, float(row["second"])


def drawing(rows):
    end = float(rows[-1]["second"]) or 1
    steps = [row for row in rows if int(row["puts"]) > 0]
    scale = Scale([float(row[name]) / 1000 for row in steps for name, _, _ in LINES], BOTTOM, TOP)

    def at(second):
        return LEFT + second / end * (RIGHT - LEFT)

    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" font-size="12">'
           f'<title>Puts during a change of a key rule</title>{STYLE}<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>')
    yield f'<text x="{LEFT}" y="24" font-size="16">Puts of 16 callers during a change of a key rule, per 100 ms</text>'
    for mark in scale.marks():
        yield f'<path class="grid" d="M{LEFT} {scale.at(mark):.1f}H{RIGHT}"/>'
        yield f'<text class="small" x="{LEFT - 7}" y="{scale.at(mark) + 4:.1f}" text-anchor="end">{short(mark)} ms</text>'
    for place, (name, second) in enumerate(versions(rows)):
        yield f'<path class="limit" d="M{at(second):.1f} {TOP - 8}V{BOTTOM}"/>'
        yield f'<text class="small" font-size="10" x="{at(second) + 3:.1f}" y="{TOP - 10 + 11 * (place % 2)}">{name}</text>'
    for place, (column, name, colour) in enumerate(LINES):
        points = "L".join(f"{at(float(row['second'])):.1f} {scale.at(float(row[column]) / 1000):.1f}" for row in steps)
        yield f'<path class="line {colour}" d="M{points}"/>'
        yield f'<path class="line {colour}" d="M{LEFT + 70 * place} 45h26"/><text x="{LEFT + 32 + 70 * place}" y="49">{name}</text>'
    for second in range(0, int(end) + 1, max(1, int(end) // 10)):
        yield f'<text class="small" x="{at(second):.1f}" y="{BOTTOM + 17}" text-anchor="middle">{second}</text>'
    yield f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 36}" text-anchor="middle">seconds</text></svg>'


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(drawing(rows)) + "\n")


if __name__ == "__main__":
    main()
