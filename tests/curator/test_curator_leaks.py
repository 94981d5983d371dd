"""Nothing of a row leaves but through noise: no error, log line, ledger byte or trace holds one."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.core.noise import DrawnNoise
from tests.curator.conftest import schema_of, table_of

CANARY = "CANARY-7f3a"
QUESTIONS = [
    "SELECT count(*), sum(age), avg(income), stddev(income) FROM people WHERE lower(sex) <> 'x'",
    "SELECT sex, count(*) FROM people WHERE 1 % age = 0 OR age * age > 5 GROUP BY sex",
    "SELECT median(age), quantile(income, 0.99), quantile(born, 0.4) FROM people",
    "SELECT mode(sex) FROM people",
    "SELECT histogram(born) FROM people WHERE year(born) > 1000",
]


def messy() -> pd.DataFrame:
    frame = table_of(60).astype(object)
    frame.loc[::2, "sex"] = CANARY
    frame.loc[::3, ["age", "income", "born", "member"]] = f"{CANARY};'--\n"
    return frame


def test_no_value_of_a_row_is_seen_outside_the_kernel(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    seen = []
    with dc.Curator(
        messy(), schema_of(), ledger=tmp_path / "ledger.db", cap=dc.Budget(epsilon=50)
    ) as curator:
        for sql in QUESTIONS:
            seen.append(str(curator.ask(sql, budget=dc.Budget(epsilon=1)).to_dict()))
        for sql in ("SELECT sum(sex) FROM people", "SELECT count(*) FROM people WHERE sexx = 1"):
            try:
                curator.ask(sql, budget=dc.Budget(epsilon=1))
            except dc.BadQuestion:
                seen.append(traceback.format_exc())
    stored = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    assert CANARY not in "".join(seen) + caplog.text
    assert CANARY.encode() not in stored


def test_no_exact_number_is_published_or_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise that is always a million and something, no published number is near an exact one."""

    def far(self: DrawnNoise, law: object, count: int) -> object:
        return np.arange(count) + 1_000_003

    monkeypatch.setattr(DrawnNoise, "draw", far)
    with dc.Curator(
        table_of(), schema_of(), ledger=tmp_path / "ledger.db", cap=dc.Budget(epsilon=50)
    ) as curator:
        row = curator.ask("SELECT count(*), sum(age) FROM people", budget=dc.Budget(epsilon=1))[0]
        assert row["count"].estimate == 400 + 1_000_003
        payload = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
    total = int(table_of()["age"].sum())
    assert str(total).encode() not in payload
    assert b"[400]" not in payload
    assert b"[1000403]" in payload
