"""Trees answer expressions of their column: conditions become ranges, and groups sums of them."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from random import Random

import polars
import pytest

from discreet.answering import ReleaseReader
from discreet.privacy.budget import Budget
from discreet.releases import release
from discreet.schema import Schema
from tests.no_noise import without_noise

SCHEMA = Schema.loads(
    'dataset = "t"\npeople = 2000\n[columns.d]\nkind = "date"\nrange = ["2012-01-01", "2012-12-31"]\n'
    'nulls = "exclude"\n[columns.k]\nkind = "integer"\nrange = [0, 1152921504606846975]\nnulls = "exclude"\n'
)
FIRST = date(2012, 1, 1)


@pytest.fixture(scope="module")
def rows() -> list[tuple[date, int]]:
    random = Random(1)
    return [
        (FIRST + timedelta(days=random.randrange(366)), random.randrange(5_000))
        for _ in range(2_000)
    ]


@pytest.fixture(scope="module")
def reader(rows: list[tuple[date, int]], tmp_path_factory: pytest.TempPathFactory) -> ReleaseReader:
    ledger: Path = tmp_path_factory.mktemp("ranges") / "l.db"
    frame = polars.DataFrame({"d": [day for day, _ in rows], "k": [number for _, number in rows]})
    with without_noise():
        made = release(
            frame,
            SCHEMA,
            budget=Budget(epsilon=50),
            workload=["intervals(d)", "intervals(k)"],
            ledger=ledger,
        )
    return made if isinstance(made, ReleaseReader) else ReleaseReader(made)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("date_trunc('month', d)", lambda day: day.replace(day=1)),
        ("month(d)", lambda day: day.month),
        ("extract(quarter FROM d)", lambda day: (day.month + 2) // 3),
        ("CASE WHEN d < '2012-03-01' THEN 'early' ELSE 'late' END",
         lambda day: "early" if day.month < 3 else "late"),
        ("extract(dow FROM d)", lambda day: day.isoweekday() % 7),
    ],
)  # fmt: skip
def test_groups_of_days_are_sums_of_ranges(rows, reader, text, key) -> None:
    found = reader.ask(f"SELECT {text} AS g, count(*) FROM t GROUP BY g")
    truth = Counter(key(day) for day, _ in rows)
    assert {found.value(0, int(code)) for code in found.codes[:, 0]} == set(truth)
    for place, code in enumerate(found.codes[:, 0].tolist()):
        answer = found[place].answer
        assert answer.lower <= truth[found.value(0, code)] <= answer.upper


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("floor(k / 500) * 500 = 1000", lambda k: 1000 <= k < 1500),
        ("2 * k + 1 > 7 AND k < 4096", lambda k: 3 < k < 4096),
        ("abs(k - 2048) < 1024", lambda k: 1024 < k < 3072),
        ("k IS DISTINCT FROM 7 AND coalesce(k, 0) <= 1000", lambda k: k != 7 and k <= 1000),
        ("CASE WHEN k >= 2500 THEN 'many' ELSE 'few' END = 'few'", lambda k: k < 2500),
    ],
)
def test_conditions_on_a_huge_column_are_ranges(rows, reader, text, holds) -> None:
    found = reader.ask(f"SELECT count(*) FROM t WHERE {text}").only
    truth = sum(holds(number) for _, number in rows)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower < 400
