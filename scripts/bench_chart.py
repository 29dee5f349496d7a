#!/usr/bin/env python3
"""Draws docs/benchmarks/ratios.svg from the documents beside it: ratios of each release, and their goals.

Only ratios are drawn. They come from alternating rounds of one run, so that they say something on a machine whose
neighbours are unknown; the line over a bar goes from the least to the most of those rounds.
Usage: scripts/bench_chart.py"""

import json
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "benchmarks"
# What is drawn, as it is called in a document, and its goal, which crates/lab/src/bench/goals.rs has, too.
FIGURES = [
    ("http.hold_ratio", "holds / bare echo, 256 connections", 0.70),
    ("http.hold_ratio_64", "holds / bare echo, 64 connections", 0.65),
    ("http.priced_hold_ratio", "holds with a price / bare echo, 256", 0.65),
    ("http.priced_hold_ratio_64", "holds with a price / bare echo, 64", 0.60),
    ("http.position_ratio", "positions / bare GET, 256", 0.85),
    ("engine.best_to_named", "the best four seats / four named ones", 0.80),
]
COLOURS = ["#3b6ea5", "#c07f2f", "#5a8f4e", "#8a5a9c", "#a34a4a"]
LEFT, WIDTH, BAR, GAP, TOP = 290, 420, 14, 16, 36


def release(path: pathlib.Path) -> list:
    """The numbers of a version, so that 0.10.0 comes after 0.9.0."""
    return [int(number) for number in re.findall(r"\d+", path.stem)]


def x(ratio: float) -> float:
    return LEFT + WIDTH * min(ratio, 1.0)


def main() -> None:
    paths = sorted(FOLDER.glob("*.json"), key=release)
    runs = [(path.stem, json.loads(path.read_text())) for path in paths]
    if not runs:
        raise SystemExit(f"there is no document in {FOLDER}: make one with `make bench`")
    rows, y = [], TOP
    for index, (name, _) in enumerate(runs):
        at = LEFT + index * 90
        rows.append(f'<rect x="{at}" y="10" width="12" height="12" fill="{COLOURS[index % len(COLOURS)]}"/>')
        rows.append(f'<text x="{at + 18}" y="20">{name}</text>')
    rows.append(f'<text x="{LEFT + WIDTH}" y="20" text-anchor="end">| goal</text>')
    for key, label, goal in FIGURES:
        begin = y
        for index, (_, run) in enumerate(runs):
            if key not in run["figures"]:
                continue
            ratio, colour = run["figures"][key], COLOURS[index % len(COLOURS)]
            least, most = run["spreads"].get(key, [ratio, ratio])
            middle = y + BAR / 2
            rows.append(
                f'<rect x="{LEFT}" y="{y}" width="{x(ratio) - LEFT:.1f}" height="{BAR}" fill="{colour}"/>'
                f'<line x1="{x(least):.1f}" y1="{middle}" x2="{x(most):.1f}" y2="{middle}" stroke="#222"/>'
                f'<text x="{x(max(ratio, most)) + 6:.1f}" y="{y + BAR - 3}">{ratio:.2f}</text>'
            )
            y += BAR + 2
        rows.append(f'<text x="{LEFT - 10}" y="{(begin + y) / 2 + 3}" text-anchor="end">{label}</text>')
        rows.append(
            f'<line x1="{x(goal):.1f}" y1="{begin - 3}" x2="{x(goal):.1f}" y2="{y + 1}" stroke="#b00" '
            'stroke-width="2"/>'
        )
        y += GAP
    size = f'width="{LEFT + WIDTH + 60}" height="{y}" viewBox="0 0 {LEFT + WIDTH + 60} {y}"'
    (FOLDER / "ratios.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


if __name__ == "__main__":
    main()
