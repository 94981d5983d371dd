"""Texts in a question, a confidence that is a text, and a file that cannot be written."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest

import discreet as dc
from discreet.answering.reader import Reader
from tests.no_noise import without_noise

TOWNS = ["K\u00f6ln", "Malm\u00f6", "Oslo"]


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Towns whose declared names are composed."""
    folder = tmp_path_factory.mktemp("towns")
    rows = [town for town, times in zip(TOWNS, (3, 4, 5), strict=True) for _ in range(times)]
    table = folder / "towns.csv"
    table.write_text("\n".join(["town", *rows]) + "\n", encoding="utf-8")
    listed = ", ".join(f'"{town}"' for town in TOWNS)
    schema = dc.Schema.loads(
        f'dataset = "towns"\npeople = 12\n[columns.town]\nkind = "category"\nvalues = [{listed}]\n'
    )
    with without_noise():
        return dc.release(
            table,
            schema,
            budget=dc.Budget(epsilon=1),
            workload=["marginals(town)"],
            ledger=folder / "ledger.db",
        )


@pytest.mark.parametrize(
    ("condition", "count"),
    [("town = 'K\u00f6ln'", 3), ("town IN ('Malm\u00f6', 'Oslo')", 9), ("town <> 'Malm\u00f6'", 8)],
)
def test_a_letter_and_its_accent_mean_the_declared_letter(
    towns: Reader, condition: str, count: int
) -> None:
    question = f"SELECT count(*) FROM towns WHERE {condition}"
    for form in ("NFC", "NFD"):
        answers = towns.ask(normalize(form, question))
        assert answers.columns[0].estimate[0] == count
        assert not any("not a declared value" in note for note in answers.notes)


def test_a_confidence_may_be_a_text(towns: Reader) -> None:
    asked = [towns.ask("SELECT count(*) FROM towns", confidence=each) for each in ("0.9", 0.9)]  # type: ignore[arg-type]
    assert asked[0].columns[0].lower[0] == asked[1].columns[0].lower[0]
    assert "0.9 interval" in str(asked[0])
    with pytest.raises(dc.DiscreetError, match="confidence"):
        towns.ask("SELECT count(*) FROM towns", confidence="most")  # type: ignore[arg-type]


def test_rows_that_cannot_be_written_are_refused_in_a_sentence(
    towns: Reader, tmp_path: Path
) -> None:
    with pytest.raises(dc.DiscreetError, match="was not written: No such file"):
        towns.synthesize(10).write(tmp_path / "missing" / "rows.csv")
