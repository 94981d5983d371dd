"""The page of docs on how cost grows: tables of what was measured, a picture, and what follows for larger tables."""

from __future__ import annotations

import math
from typing import Any

Found = list[dict[str, Any]]

SPLIT = 128.0
"""MB of a file that one task of Spark reads."""
SIZES = (10**9, 10**11)
ENGINES = {"release": "DuckDB", "spark release": "Spark local[2]", "postgres release": "PostgreSQL"}
COLOURS = {"release": "#1f5fa8", "by hand": "#b4560f"}


def model(found: Found) -> Found:
    """What larger tables would take, by the slopes between the two largest sizes that were measured of each engine.

    Each task of Spark sends at most one number for each cell, so what is shuffled grows with the number of tasks, and that
    with the bytes read.
    """
    lines = []
    for what, engine in ENGINES.items():
        measured = [each for each in found if each["what"] == what][-2:]
        if len(measured) < 2:
            continue
        small, large = measured
        step = large["rows"] - small["rows"]
        for rows in SIZES:
            line: dict[str, Any] = {"engine": engine, "rows": rows, "draws": large["draws"]}
            for key in ("cpu", "wall", "read"):
                slope = (large[key] - small[key]) / step
                line[key] = large[key] + slope * (rows - large["rows"])
            if "shuffled" in large:
                tasks = max(large["tasks"], line["read"] / SPLIT)
                line["shuffled"] = large["shuffled"] / large["tasks"] * tasks
            lines.append(line)
    return lines


def picture(found: Found) -> str:
    """Seconds of CPU against rows, both on a logarithmic scale."""
    series = {
        how: [(each["rows"], each["cpu"]) for each in found if each["what"] == how]
        for how in COLOURS
    }
    points = [point for line in series.values() for point in line]
    low_x, high_x = (math.log10(f(x for x, _ in points)) for f in (min, max))
    low_y, high_y = (math.log10(f(y for _, y in points)) for f in (min, max))
    width, height, left, bottom = 420, 240, 60, 40

    def place(x: float, y: float) -> str:
        across = (math.log10(x) - low_x) / max(high_x - low_x, 1e-9)
        up = (math.log10(y) - low_y) / max(high_y - low_y, 1e-9)
        return f"{left + across * (width - left - 20):.1f},{height - bottom - up * (height - bottom - 30):.1f}"

    marks = []
    for how, colour in COLOURS.items():
        path = " ".join(place(x, y) for x, y in series[how])
        marks.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y in series[how]:
            across, down = place(x, y).split(",")
            marks.append(f'<circle cx="{across}" cy="{down}" r="3" fill="{colour}"/>')
        right, down = place(*series[how][-1]).split(",")
        lift = -8 if how == "by hand" else 16
        marks.append(
            f'<text x="{right}" y="{float(down) + lift:.1f}" text-anchor="end" fill="{colour}">{how}</text>'
        )
    for x, _ in series["release"]:
        across, _ = place(x, 10**low_y).split(",")
        marks.append(f'<text x="{across}" y="{height - 18}" text-anchor="middle">{x:,}</text>')
    for y in (10**low_y, 10**high_y):
        _, down = place(10**low_x, y).split(",")
        marks.append(
            f'<text x="{left - 8}" y="{float(down) + 4:.1f}" text-anchor="end">{y:.3g} s</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11" role="img"><title>Seconds of CPU against rows</title>'
        f'<rect width="{width}" height="{height}" fill="white"/>{"".join(marks)}'
        f'<text x="{width / 2}" y="{height - 4}" text-anchor="middle">rows</text></svg>\n'
    )


def recorded(found: Found) -> str:
    """The page of docs."""
    lines = [
        "# How cost grows",
        "",
        "This page shows how time and memory grow with rows, columns and domains, for people who plan a release of a large table.",
        '`python benchmarks/scale.py --record docs/scale` wrote it, on two cores. "release" is a release of all two-way marginals of',
        'eight columns, counted in one scan, with the charge, the noise and the file. "by hand" is the same cell expressions, counted',
        "exactly by one GROUP BY for each marginal.",
        "",
        "## Rows in Parquet files, DuckDB",
        "",
        "| rows | | wall s | CPU s | peak MB | read MB |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each['rows']:,} | {each['what']} | {each['wall']:.2f} | {each['cpu']:.2f} | {each['peak']:,.0f} | {each['read']:,.0f} |"
        for each in found
        if each["what"] in COLOURS
    ]
    lines += ["", "![Seconds of CPU against rows](scale.svg)", ""]
    lines += _in_others(found)
    lines += ["## Columns", "", "A histogram of each column of a million rows, DuckDB.", ""]
    lines += ["| columns | CPU s | peak MB |", "|---|---|---|"]
    lines += [
        f"| {each['columns']} | {each['cpu']:.2f} | {each['peak']:,.0f} |"
        for each in found
        if each["what"] == "columns"
    ]
    lines += [
        "",
        "## Domains",
        "",
        "The intervals of one column of a million rows, by its number of cells, DuckDB.",
        "",
    ]
    lines += ["| cells | CPU s | peak MB |", "|---|---|---|"]
    lines += [
        f"| 2^{each['bits']} | {each['cpu']:.2f} | {each['peak']:,.0f} |"
        for each in found
        if each["what"] == "domain"
    ]
    lines += [
        "",
        "## Larger tables",
        "",
        "These numbers are extrapolated, not measured, from the slopes between the two largest sizes above. The scan grows with the",
        "rows. Noise is drawn once for each cell, whatever the number of rows. On one machine nothing is shuffled. Each task of Spark",
        f"sends at most one number for each cell, and there is one task for {SPLIT:.0f} MB read. More cores reduce the hours in",
        "proportion, as long as there are more tasks than cores.",
        "",
        "| rows | engine | read TB | shuffled GB | draws of noise | CPU hours | hours on two cores |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each['rows']:,} | {each['engine']} | {each['read'] / 1e6:.3g} | {each.get('shuffled', 0) / 1e3:.3g} | "
        f"{each['draws']:,} | {each['cpu'] / 3600:.3g} | {each['wall'] / 3600:.3g} |"
        for each in model(found)
    ]
    return "\n".join(lines) + "\n"


def _in_others(found: Found) -> list[str]:
    others = [
        each for each in found if str(each["what"]).partition(" ")[0] in ("spark", "postgres")
    ]
    if not others:
        return []
    lines = [
        "## Rows in Spark and PostgreSQL",
        "",
        "Spark local[2] reads the same files; PostgreSQL has the rows in a table. CPU seconds are those of all processes. The last",
        "two columns are the memory of Python, and the memory of Java or of the server.",
        "",
        "| rows | | wall s | CPU s | read MB | shuffled MB | Python MB | server MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each['rows']:,} | {each['what']} | {each['wall']:.2f} | {each['cpu']:.2f} | {each['read']:,.0f} | "
        f"{each.get('shuffled', 0):,.2f} | {each['peak']:,.0f} | {each['server']:,.0f} |"
        for each in others
    ]
    return [*lines, ""]
