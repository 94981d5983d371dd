"""The chart of a plane: every block in its place, and a line where the inequality has its edge."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import polars

from discreet import release, render_report
from discreet.families.halfspaces.figures import plane_of, plane_picture
from discreet.families.halfspaces.queries.halfspaces import Halfspaces
from discreet.privacy.budget import Budget
from discreet.questions.inequality import Inequality
from discreet.schema import Schema

SCHEMA = Schema.loads(
    """
dataset = "square"
people = 900
[columns."a<b"]
kind = "integer"
range = [0, 9]
[columns.c]
kind = "number"
bounds = [0.0, 1.0]
bits = 3
"""
)


def test_a_chart_of_the_plane_shows_blocks_inside_cut_and_outside_and_the_line(tmp_path):
    draw = np.random.default_rng(0)
    frame = polars.DataFrame({"a<b": draw.integers(0, 10, 900), "c": draw.uniform(0, 1, 900)})
    made = release(
        frame,
        SCHEMA,
        budget=Budget(epsilon=2),
        workload='halfspaces("a<b", c)',
        ledger=tmp_path / "l.db",
    ).release
    asked = Inequality(("a<b", "c"), (Fraction(1, 10), Fraction(1)), ">=", Fraction(1))
    plane = plane_of(made, asked)
    places = {block.place for block in plane.blocks}
    assert places == {"inside", "cut", "outside"}
    for x, y in plane.line:
        assert abs(0.1 * x + y - 1) < 1e-9
    assert plane.lower <= plane.estimate <= plane.upper
    root = ElementTree.fromstring(str(plane_picture("plane", plane)))
    classes = {each.get("class") for each in root.iter()}
    assert {"block inside", "block cut", "curve c2"} <= classes
    assert "a&lt;b" in str(plane_picture("plane", plane))


def test_the_report_of_a_release_of_halfspaces_shows_its_plane_whichever_cells_it_has(tmp_path):
    draw = np.random.default_rng(2)
    frame = polars.DataFrame({"a<b": draw.integers(0, 12, 900), "y": draw.integers(0, 9, 900)})
    schema = Schema.loads(
        'dataset = "t"\npeople = 900\nadjacency = "change-one"\n'
        '[columns."a<b"]\nkind = "integer"\nrange = [0, 11]\n'
        '[columns.y]\nkind = "integer"\nrange = [0, 8]\n'
    )
    asked = Halfspaces("a<b", "y")
    for algorithm in ("tree", "cells"):
        opened = release(
            frame, schema, budget=Budget(epsilon=2), workload=[asked],
            algorithms={asked.text: algorithm}, ledger=tmp_path / f"{algorithm}.db",
        )  # fmt: skip
        page = render_report(opened)
        drawn = page[page.index('id="charts"') :].split("<svg")[1:]
        pictures = [
            ElementTree.fromstring("<svg" + each[: each.index("</svg>") + 6]) for each in drawn
        ]
        classes = {each.get("class") for root in pictures for each in root.iter()}
        assert {"block inside", "curve c2"} <= classes
        assert "a&lt;b and y" in page
        assert ".cut{" in page
