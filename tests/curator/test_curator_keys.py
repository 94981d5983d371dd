"""GROUP BY over values that no schema lists: who counts for which key, what is named, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audits.observing import recording
from discreet.engines import open_engine
from discreet.privacy.adjacency import Adjacency, PrivacyUnit
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.tallies import FoundKeys, Persons, Rows, Tally, keys_touched
from discreet.questions.expressions import TRUE

SCHEMA = """
dataset = "people"
adjacency = "{adjacency}"
{unit}
[columns.town]
kind = "category"
undeclared = true
[columns.street]
kind = "category"
undeclared = true
[columns.sex]
kind = "category"
values = ["a", "b", "c"]
nulls = "exclude"
[columns.age]
kind = "integer"
range = [0, 99]
"""
BUDGET = dc.Budget(epsilon=4, delta="1e-9")
CAP = dc.Budget(epsilon=100, delta="1e-3")


def schema_of(
    adjacency: str = "add-remove", *, rows: int | None = None, groups: int | None = None
) -> dc.Schema:
    unit = "" if rows is None else f'[unit]\nidentifier = "person"\nmax_rows = {rows}'
    unit += "" if groups is None else f"\nmax_groups = {groups}"
    return dc.Schema.loads(SCHEMA.format(adjacency=adjacency, unit=unit))


def frame_of(towns: Sequence[str | None], **columns: list[Any]) -> pd.DataFrame:
    given = {
        "person": range(len(towns)), "street": "s", "sex": "a", "age": 30, "town": towns, **columns
    }  # fmt: skip
    return pd.DataFrame(given).astype({"town": object, "street": object, "sex": object})


KEYS = ("a", "b", "c")
FOUND = FoundKeys(("town",), (("a",), ("b",), ("c",)))


def of_one_person(texts: tuple[str | None, ...], schema: dc.Schema) -> dict[str, list[int]]:
    """What one person with such rows adds to the keys' numbers, and to the numbers of people."""
    frame = frame_of(list(texts), person=["p"] * len(texts), sex=list(texts))
    with open_engine(frame, schema, threads=1) as engine:
        keys, held = engine.held_keys(("town",), TRUE)
        assert keys == sorted(set(keys))
        counts = dict(zip(keys, held.tolist(), strict=True))
        people, found = engine.tally([Tally(Persons(), ("sex",)), Tally(Persons(), found=FOUND)])
    return {
        "keys": [counts.get((key,), 0) for key in KEYS],
        "declared": people.tolist()[:3],
        "found": found.tolist(),
    }


def test_no_person_moves_more_keys_or_numbers_of_people_than_is_paid_for() -> None:
    """All tables of one person with up to 4 rows, against each other: the stated bounds are reached."""
    schema = schema_of(rows=3, groups=2)
    every = [
        (*texts, None)[: 4 - size % 2]
        for size in range(5)
        for texts in combinations_with_replacement(KEYS, size)
    ]
    added = [of_one_person(texts, schema) for texts in every]
    for adjacency in Adjacency:
        told = replace(schema, adjacency=adjacency)
        said = {
            "keys": keys_touched(told),
            "declared": Tally(Persons(), ("sex",)).sensitivity(told).l1,
            "found": Tally(Persons(), found=FOUND).sensitivity(told).l1,
        }
        others = added if adjacency is Adjacency.CHANGE_ONE else added[:1]
        for what, most in said.items():
            moved = [
                np.abs(np.array(one[what]) - np.array(other[what]))
                for one, other in product(added, others)
            ]
            assert max(each.max() for each in moved) == 1
            furthest = max(int(each.sum()) for each in moved)
            # Only three keys are there to be moved: two left and two entered overlap in one.
            assert furthest == min(most, 3)
        assert said["keys"] == said["found"] == (2 if adjacency is Adjacency.ADD_REMOVE else 4)


def test_which_of_a_persons_keys_count_does_not_hang_on_the_order_of_rows() -> None:
    towns = ["a", "b", "c", "d", "e", "a"] * 5
    people = [f"p{place // 6}" for place in range(30)]
    frame = frame_of(towns, person=people)
    schema = schema_of(rows=6, groups=2)
    seen = []
    for rows in (frame, frame.iloc[::-1], frame.sample(frac=1, random_state=1)):
        with open_engine(rows.reset_index(drop=True), schema) as engine:
            keys, held = engine.held_keys(("town",), TRUE)
            seen.append((keys, held.tolist()))
    assert seen[0] == seen[1] == seen[2]
    assert sum(seen[0][1]) == 5 * 2
    assert len(seen[0][0]) > 2  # not the same two keys of everybody


def test_a_key_counts_people_and_not_rows() -> None:
    frame = frame_of(["a", "a", "b", "a"], person=["p", "p", "p", "q"])
    for schema, expected in (
        (schema_of(rows=5), {("a",): 2, ("b",): 1}),
        (schema_of(), {("a",): 3, ("b",): 1}),
    ):
        with open_engine(frame, schema) as engine:
            keys, held = engine.held_keys(("town",), TRUE)
        assert dict(zip(keys, held.tolist(), strict=True)) == expected


ODD = ["ü'x", "1:a", "a:1", "👩‍👩‍👧", "", " ", "x\ny", '"', "; DROP TABLE people", "null"]


def test_odd_keys_find_their_rows(tmp_path: Path) -> None:
    towns = [text for text in ODD for _ in ODD] * 40
    streets = ODD * len(ODD) * 40
    frame = frame_of([*towns, None, "\x00", "a\x00b"], street=[*streets, "s", "s", "s"])
    found = FoundKeys(("town", "street"), tuple(product(ODD, ODD)))
    with open_engine(frame, schema_of()) as engine:
        keys, held = engine.held_keys(("town", "street"), TRUE)
        assert dict(zip(keys, held.tolist(), strict=True)) == dict.fromkeys(found.texts, 40)
        (counts,) = engine.tally([Tally(Rows(), (), TRUE, found)])
    assert counts.tolist() == [40] * 100
    with dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator:
        answers = curator.ask("SELECT count(*) FROM people GROUP BY town, street", budget=BUDGET)
    assert {tuple(row.group.values()) for row in answers} == set(product(ODD, ODD))


def test_groups_of_many_are_found_and_those_of_one_person_are_not(tmp_path: Path) -> None:
    """At epsilon 2 and delta 1e-9 for the names, 100 people are sure to be named; each of 50 people
    alone is named with 1e-9, so a false alarm has probability 5e-8."""
    frame = frame_of(
        ["big"] * 100 + ["bigger"] * 300 + [None] * 50 + [f"only {n}" for n in range(50)]
    )
    with dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator:
        answers = curator.ask("SELECT town, count(*) FROM people GROUP BY town", budget=BUDGET)
        assert [row.group["town"] for row in answers] == ["big", "bigger"]
        assert answers.groups == ("town",)
        assert any("delta 1e-09" in note for note in answers.notes)
        again = curator.ask("select COUNT(*) from people group by TOWN", budget=BUDGET)
        assert [row.answer for row in again] == [row.answer for row in answers]
        assert curator.spent == BUDGET
        empty = curator.ask(
            "SELECT town, avg(age), median(age) FROM people WHERE age > 90 GROUP BY town",
            budget=BUDGET,
        )
        assert len(empty) == 0


def test_found_and_declared_groups_go_together_and_every_number_is_that_of_its_rows(
    tmp_path: Path,
) -> None:
    """600 people in each town: sure to be named. The exact numbers are those before noise."""
    towns = [("n", "m")[place % 2] for place in range(1200)]
    frame = frame_of(
        towns,
        sex=[("a", "b", None)[place % 3] for place in range(1200)],
        age=[place % 50 for place in range(1200)],
    )
    with (
        recording() as tape,
        dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator,
    ):
        answers = curator.ask(
            "SELECT count(*), sum(age) FROM people WHERE age < 40 GROUP BY sex, town", budget=BUDGET
        )
    assert answers.groups == ("town", "sex")
    naming, counts, sums = tape.steps
    assert naming.named == (("m",), ("n",))
    met = frame[frame["age"] < 40]
    kept = met[met["sex"].notna()].groupby(["town", "sex"])["age"]
    for row, count, total in zip(answers, counts.exact, sums.exact, strict=True):
        key = (row.group["town"], row.group["sex"])
        if key in kept.groups:
            size = kept.size()[key]  # the sum is centred: twice the ages, less 99 for each row
            assert (count, total) == (size, 2 * kept.sum()[key] - 99 * size)
        else:
            assert (count, total) == (0, 0)


def test_the_numbers_of_found_groups_have_noise_of_their_own_and_are_paid_apart(
    tmp_path: Path,
) -> None:
    """60 groups at a scale of 40: that all draws are 0 has probability below 1e-100."""
    frame = frame_of([f"t{n % 60:02}" for n in range(60 * 2000)])
    budget = dc.Budget(epsilon="1/20", delta="1e-3")
    with (
        recording() as tape,
        dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator,
    ):
        curator.ask("SELECT town, count(*) FROM people GROUP BY town", budget=budget)
    naming, counts = tape.steps
    assert len(naming.named) == 60
    assert np.any(counts.output != counts.exact)
    assert naming.keeping is not None
    (law,) = set(counts.laws)
    assert isinstance(law, DiscreteLaplaceLaw)
    assert naming.keeping.epsilon + 1 / law.scale == Fraction(1, 20)
    assert naming.keeping.delta == Fraction(1, 1000)


@pytest.mark.parametrize(
    ("sql", "options", "words"),
    [
        ("SELECT count(*) FROM people GROUP BY town", {"budget": dc.Budget(epsilon=1)}, "delta"),
        ("SELECT count(*) FROM people GROUP BY town", {"accuracy": "±5"}, "delta"),
        ("SELECT histogram(town) FROM people", {"budget": BUDGET}, "declares no values"),
        ("SELECT mode(town) FROM people", {"budget": BUDGET}, "declares no values"),
        (
            "SELECT count(*) FROM people GROUP BY age",
            {"budget": BUDGET, "undeclared": ["age"]},
            "only categories",
        ),
        (
            "SELECT count(*) FROM people GROUP BY age",
            {"budget": BUDGET, "undeclared": ["agee"]},
            "agee",
        ),
        (
            "SELECT count(*) FROM people GROUP BY town",
            {"budget": dc.Budget(epsilon="1e-7", delta="1e-9")},
            "too small",
        ),
    ],
)
def test_what_names_nothing_is_refused_unread_and_uncharged(
    tmp_path: Path, sql: str, options: dict[str, Any], words: str
) -> None:
    frame = frame_of(["a"])
    with dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator:
        with pytest.raises(dc.BadInput, match=words) as refusal:
            curator.ask(sql, **options)
        assert "othing was read or charged" in str(refusal.value)
        assert curator.spent.amount == 0


def test_a_cap_in_rho_names_nothing(tmp_path: Path) -> None:
    frame = frame_of(["a"])
    with (
        dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=dc.Budget(rho=1)) as curator,
        pytest.raises(dc.BadBudget, match="cap counts rho"),
    ):
        curator.ask("SELECT count(*) FROM people GROUP BY town", budget=BUDGET)


def test_a_declared_column_may_be_grouped_by_what_is_found(tmp_path: Path) -> None:
    """Sure to be named: 100 people in each, and 5e-8 for the others as above."""
    frame = frame_of(["t"] * 200, sex=["a"] * 100 + ["unlisted"] * 100)
    with dc.Curator(frame, schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator:
        answers = curator.ask(
            "SELECT sex, count(*) FROM people GROUP BY sex", budget=BUDGET, undeclared=["sex"]
        )
        spent = curator.spent
        again = curator.ask(
            "SELECT sex, count(*) FROM people GROUP BY sex", budget=BUDGET, undeclared="sex"
        )
        assert curator.spent == spent, "one name is a list of one"
    assert [row.group["sex"] for row in answers] == ["a", "unlisted"]
    assert again.to_dict() == answers.to_dict()


def test_means_of_found_groups_are_divided_by_their_own_rows_under_change_one(
    tmp_path: Path,
) -> None:
    """600 people in each of two towns at epsilon 90: the mean of either is off by 1 with probability
    below 1e-12, and divided by all rows it would be half of that."""
    frame = frame_of(["n", "m"] * 600, age=[80, 40] * 600)
    text = SCHEMA.format(adjacency="change-one", unit="").replace(
        "range = [0, 99]", 'range = [0, 99]\nnulls = "exclude"'
    )
    schema = dc.Schema.loads(text)
    with dc.Curator(frame, schema, ledger=tmp_path / "l.db", cap=CAP) as curator:
        answers = curator.ask(
            "SELECT avg(age) FROM people GROUP BY town",
            budget=dc.Budget(epsilon=90, delta="1e-9"),
        )
    for row, mean in zip(answers, (40, 80), strict=True):
        assert abs(row.answer.estimate - mean) < 1


def test_an_alert_watches_no_found_groups(tmp_path: Path) -> None:
    with dc.Curator(frame_of(["a"]), schema_of(), ledger=tmp_path / "l.db", cap=CAP) as curator:
        with pytest.raises(dc.BadQuestion, match="single count"):
            curator.check_count("SELECT count(*) FROM people GROUP BY town")
        with pytest.raises(dc.BadQuestion, match="single count"):
            curator.choose({"a": "SELECT count(*) FROM people GROUP BY town"}, budget=BUDGET)


@pytest.mark.parametrize(
    ("rows", "groups", "seen"), [(5, None, 5), (5, 2, 2), (2, 5, 2), (1, 1, 1)]
)
def test_a_person_is_in_as_many_groups_as_both_bounds_allow(
    rows: int, groups: int | None, seen: int
) -> None:
    assert PrivacyUnit("person", rows, groups).groups == seen
    schema = schema_of(rows=rows, groups=groups)
    assert dc.Schema.loads(schema.dumps()) == schema
    assert keys_touched(schema) == seen


def test_groups_are_bounded_only_for_people_with_identifiers() -> None:
    for bad in (0, -1, True, 1.5):
        with pytest.raises(dc.BadInput, match="max_groups"):
            PrivacyUnit("person", 3, bad)  # type: ignore[arg-type]
    with pytest.raises(dc.BadInput, match="identifier"):
        PrivacyUnit(None, 1, 2)
    with pytest.raises(dc.BadSchema, match="max_groups"):
        schema_of(rows=2, groups=0)


def test_a_column_without_values_says_so_and_lists_none() -> None:
    for wrong in ('values = ["x"]', "other = false"):
        text = SCHEMA.format(adjacency="add-remove", unit="").replace(
            "undeclared = true", f"undeclared = true\n{wrong}", 1
        )
        with pytest.raises(dc.BadSchema, match="undeclared"):
            dc.Schema.loads(text)
