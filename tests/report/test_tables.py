"""The report's tables: errors, dependences and synthetic rows, all read from published numbers."""

from __future__ import annotations

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from discreet import Budget, ReleaseReader, Schema, release
from discreet.report import LARGEST, render_report
from discreet.report.tables import cramers_v, lines_of, table_sets, tables_table
from tests.report.test_page import HOSTILE


def made(
    folder: Path, algorithm: str, names: list[str], *, rows: int = 4000, epsilon: int = 8
) -> ReleaseReader:
    """The first two columns are the same but for one row in ten; the others are independent."""
    text = 'dataset = "d"\npeople = 4000\n'
    for name in names:
        spelt = name.replace("\\", "\\\\").replace('"', '\\"')
        text += f'[columns."{spelt}"]\nkind = "category"\nvalues = ["0", "1", "2"]\n'
    source = np.random.default_rng()
    codes = source.integers(0, 3, (rows, len(names)))
    codes[:, 1] = np.where(source.random(rows) < 0.9, codes[:, 0], codes[:, 1])
    with (folder / "d.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(codes.tolist())
    made = release(
        folder / "d.csv",
        Schema.loads(text),
        budget=Budget(epsilon=epsilon),
        workload="marginals(2)",
        algorithms={"marginals(2)": algorithm},
        ledger=folder / "ledger.db",
    )
    return made if isinstance(made, ReleaseReader) else ReleaseReader(made)


@pytest.mark.parametrize("algorithm", ["direct", "residuals", "adaptive"])
def test_every_kind_of_release_has_its_tables_its_charts_and_its_pairs(
    algorithm: str, tmp_path: Path
) -> None:
    """The pair that depends has V .9, 3,600 rows apart from independence, against noise of a few rows:
    that noise hides it has probability below 1e-9. So it has for the adaptive release, whose noisy look
    at a pair has a deviation of about 40 rows."""
    names = ["one", "two", "three", HOSTILE]
    reader = made(tmp_path, algorithm, names)
    lines = lines_of(reader)
    pairs = sorted(
        (line for line in lines if len(line.columns) == 2), key=lambda line: -(line.together or 0)
    )
    assert len(pairs) == 6 and len(lines) == 10
    assert set(pairs[0].columns) == {"one", "two"}
    assert pairs[0].clear and 0.7 < (pairs[0].together or 0) <= 1
    assert all(0 <= line.error <= 1 for line in lines)
    assert all(line.synthetic is not None and line.synthetic < 0.5 for line in lines)
    page = render_report(reader)
    assert 'id="tables"' in page and "Which columns go together" in page
    assert page.count("<svg") >= 6 and "<script" not in page and HOSTILE not in page
    assert len(page.encode()) <= LARGEST


def test_cramers_v_is_the_textbook_one_without_noise_and_0_for_noise_alone() -> None:
    """Noise alone: V above .04 needs a chi square of about 860 freedoms 11 deviations above its mean
    (false alarm below 1e-9); left in, the noise shows as .056."""
    same = np.diag([3000.0, 3000.0, 3000.0])
    assert cramers_v(same, 0.0) == (pytest.approx(1.0), True)
    even = np.full((3, 3), 1000.0)
    assert cramers_v(even, 0.0)[0] == 0
    source = np.random.default_rng()
    noisy = np.full((30, 30), 100.0) + source.normal(0, 30, (30, 30))
    assert cramers_v(noisy, 30.0)[0] < 0.04
    hidden = np.pad(same, (0, 2)) + source.choice([-8.0, 8.0], (5, 5))
    assert cramers_v(hidden, 8.0) == (pytest.approx(1.0, abs=0.05), True)
    assert cramers_v(np.zeros((3, 3)), 5.0) == (0.0, False)
    assert cramers_v(np.full((3, 1), 9.0), 1.0) == (0.0, False)


def test_a_wide_release_lists_a_bounded_number_of_tables_and_says_how_many_more(
    tmp_path: Path,
) -> None:
    names = [f"column {place} with a rather long name" for place in range(25)]
    reader = made(tmp_path, "direct", names, rows=50, epsilon=1)
    assert len(table_sets(reader)) == 300
    lines = lines_of(reader)
    shown = tables_table(lines)
    assert len(shown.rows) <= 40 and "more tables" in shown.note
    assert len(render_report(reader).encode()) <= LARGEST


def test_lines_follow_the_answers_of_the_release(tmp_path: Path) -> None:
    reader = made(tmp_path, "residuals", ["one", "two", "three"])
    for pair in combinations(("one", "two", "three"), 2):
        counts, std = reader.noisy_table(pair)
        asked = reader.ask(f"SELECT {', '.join(pair)}, count(*) FROM d GROUP BY {', '.join(pair)}")
        column = asked.columns[0]
        measured = counts.reshape(
            -1
        )  # what is shown adds up, and its interval holds the measured number
        assert (measured <= column.upper).all()
        assert (column.lower <= np.maximum(measured, 0.0)).all()
        assert column.std[0] == pytest.approx(std)
        assert reader.noisy_table(pair[::-1])[0].tolist() == counts.T.tolist()


def test_a_schema_with_a_category_that_declares_no_values_has_a_report(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("age,town\n7,Ulm\n8,Bonn\n")
    schema = Schema.loads(
        'dataset = "d"\n[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
        '[columns.town]\nkind = "category"\nundeclared = true\n'
    )
    made = release(
        tmp_path / "d.csv",
        schema,
        budget=Budget(epsilon=1),
        workload="histogram(age)",
        ledger=tmp_path / "ledger.db",
    )
    assert "none declared" in render_report(made)
