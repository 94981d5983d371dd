"""What single questions get: groups, direct sums and means, public totals, refusals, batches."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.answering import ReleaseReader
from discreet.artifacts.answer import Covers
from discreet.errors import BadInput, BadQuestion, NotAnswerable
from discreet.families.numbers.queries.one_number import Means, Sums
from discreet.families.tables.queries.cell_count import CellCount
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.laws import DiscreteLaplaceLaw
from discreet.queries.measurable import ClampedSum
from discreet.schema import BooleanColumn, CategoryColumn, IntegerColumn, NumberColumn, Schema
from tests.releases_by_hand import measured, part_of, people, release_of_tables

ROWS = [
    {"age": age, "sex": sex, "kids": kids}
    for age, sex, kids in itertools.product([None, 5, 15, 25], ["F", "M", "X", None], [0, 2, 9])
]


def reader(*sets: tuple[str, ...], rows: object = ROWS, **more: object) -> ReleaseReader:
    schema = more.pop("schema", None) or people()
    return ReleaseReader(release_of_tables(schema, sets, rows, **more))  # type: ignore[arg-type]


def test_groups_are_all_cells_of_the_schema_with_null_and_other() -> None:
    answers = reader(("age", "sex")).ask("SELECT sex, age, count(*) FROM people GROUP BY sex, age")
    assert [tuple(row.group.values()) for row in answers] == list(
        itertools.product(["F", "M", "(other)", "null"], ["0 to 9", "10 to 19", "20 to 29", "null"])
    )
    assert {row.answer.estimate for row in answers} == {3}


def test_groups_that_the_condition_rules_out_are_not_listed() -> None:
    answers = reader(("age", "sex")).ask(
        "SELECT sex, count(*) FROM people WHERE sex <> 'F' AND age < 10 GROUP BY sex"
    )
    assert [row.group["sex"] for row in answers] == ["M", "(other)"]


def test_a_cut_cell_widens_the_interval_and_says_so() -> None:
    found = reader(("age",)).ask("SELECT count(*) FROM people WHERE age >= 12 AND age < 20").only
    assert (found.lower, found.estimate, found.upper) == (0, 10, 12)
    assert found.covers is Covers.NOISE_AND_CELLS


def test_two_cuts_in_one_cell_select_what_lies_between_them() -> None:
    rows = [{"age": 10 + k} for k in range(10)]
    found = reader(("age",), rows=rows).ask(
        "SELECT count(*) FROM people WHERE age BETWEEN 13 AND 15"
    )
    assert (found.only.lower, found.only.estimate, found.only.upper) == (0, 3, 10)


def test_a_tighter_marginal_and_a_wider_one_are_combined_by_inverse_variance() -> None:
    schema = people()
    law = DiscreteLaplaceLaw(Fraction(5))
    release = release_of_tables(schema, [("sex",), ("sex", "owns")], [], law=law)
    first, second = (part.measurements[0] for part in release.parts)
    first.values[:], second.values[:] = 100, 60  # type: ignore[union-attr]
    found = (
        ReleaseReader(release).ask("SELECT count(*) FROM people WHERE sex = 'F'", whole=False).only
    )
    # 1 draw against 3 of the same law, so weights 3/4 and 1/4; 3 cells of 60 are 180.
    assert found.estimate == pytest.approx(100 * 0.75 + 180 * 0.25)
    assert found.std == pytest.approx(law.std * (0.75**2 + 3 * 0.25**2) ** 0.5)


def test_a_marginal_whose_other_column_loses_rows_is_not_summed_over() -> None:
    schema = people(
        columns=(CategoryColumn("sex", ("F", "M")), CategoryColumn("town", ("A",), nulls="exclude"))
    )
    asked = reader(("sex", "town"), schema=schema, rows=[{"sex": "F", "town": None}])
    with pytest.raises(NotAnswerable, match=r"marginals\(sex\).* rows without a cell in town"):
        asked.ask("SELECT count(*) FROM people WHERE sex = 'F'")
    answers = asked.ask("SELECT count(*) FROM people WHERE sex = 'F' AND town = 'A'")
    assert answers.only.estimate == 0
    assert "town" in answers.notes[0]


def test_nulls_that_the_schema_excludes_cannot_be_asked_for() -> None:
    schema = people(columns=(IntegerColumn("age", 0, 9, nulls="exclude"),))
    with pytest.raises(NotAnswerable, match="leaves nulls"):
        reader(("age",), schema=schema, rows=[]).ask(
            "SELECT count(*) FROM people WHERE age IS NULL"
        )


def test_what_the_release_lacks_is_refused_with_the_class_it_needed() -> None:
    asked = reader(("age",), ("sex",))
    with pytest.raises(NotAnswerable, match=r"needed marginals\(age, sex\), and it was made for"):
        asked.ask("SELECT count(*) FROM people WHERE sex = 'F' AND age < 10")
    with pytest.raises(NotAnswerable, match=r"marginals\(pay\) or means\(pay\)"):
        asked.ask("SELECT avg(pay) FROM people")
    with pytest.raises(NotAnswerable, match=r"needed intervals\(pay\), and it was made for"):
        asked.ask("SELECT median(pay) FROM people")
    assert asked.ask("SELECT median(age) FROM people").only.estimate >= 0, "from its table of ages"


def test_a_count_of_all_rows_is_refused_with_a_class_that_has_a_column() -> None:
    schema = people(columns=(IntegerColumn("age", 0, 9, nulls="exclude"), BooleanColumn("member")))
    with pytest.raises(NotAnswerable, match=r"counts every row, such as marginals\(member\), and"):
        reader(("age",), schema=schema, rows=[]).ask("SELECT count(*) FROM people")


def test_a_value_that_the_schema_does_not_declare_is_noted_with_the_nearest_one() -> None:
    asked = reader(("sex",))
    for condition in ("sex = 'f'", "sex <> 'f'", "sex IN ('F', 'f')", "NOT (sex = 'f')"):
        notes = asked.ask(f"SELECT count(*) FROM people WHERE {condition}").notes
        assert notes[0] == "'f' is not a declared value of column 'sex'. Did you mean 'F'?"
    assert not asked.ask("SELECT count(*) FROM people WHERE sex = 'F'").notes
    far = asked.ask("SELECT count(*) FROM people WHERE sex = 'women'").notes[0]
    assert far.startswith("'women' is not a declared value of column 'sex'. Declared are 'F', ")


def test_a_sum_is_never_below_that_of_no_rows_nor_above_that_of_all_rows() -> None:
    law = DiscreteLaplaceLaw(Fraction(100))
    for adjacency, public in ((Adjacency.ADD_REMOVE, None), (Adjacency.CHANGE_ONE, 10)):
        schema = people(adjacency=adjacency)
        for value in (-400, 4000):
            part = part_of(Sums("age"), measured(schema, ClampedSum("age"), [value], law=law))
            made = release_of_tables(schema, [], [], parts=[part])
            found = ReleaseReader(replace(made, public_rows=public)).ask(
                "SELECT sum(age) FROM people"
            )
            most = np.inf if public is None else 290
            assert 0 <= found.only.lower <= found.only.estimate <= found.only.upper <= most
    empty = replace(release_of_tables(schema, [("age",)], [{"age": 25}] * 9), public_rows=0)
    for kind, truth in (("sum", (0, 0)), ("avg", (0, 29))):
        found = ReleaseReader(empty).ask(f"SELECT {kind}(age) FROM people")
        assert (found.only.lower, found.only.upper) == truth


def test_a_public_total_is_exact_and_bounds_every_count() -> None:
    schema = people(adjacency=Adjacency.CHANGE_ONE)
    law = DiscreteLaplaceLaw(Fraction(50))
    release = release_of_tables(schema, [("sex",)], [], law=law, public_rows=48)
    release.parts[0].measurements[0].values[:] = [70, 3, 2, 1]  # type: ignore[union-attr]
    asked = ReleaseReader(release)
    whole = asked.ask("SELECT count(*) FROM people").only
    assert (whole.lower, whole.estimate, whole.upper, whole.std) == (48, 48, 48, 0)
    assert asked.ask("SELECT count(*) FROM people WHERE sex = 'F'").only.upper == 48
    # three of four cells: 48 minus the fourth, one draw instead of three
    most = asked.ask("SELECT count(*) FROM people WHERE sex <> 'F' OR sex IS NULL").only
    assert most.estimate == 0 and most.std == pytest.approx(law.std)


def test_the_textbook_mean_has_noise_scale_002_and_bound_006() -> None:
    schema = Schema(
        dataset="t",
        adjacency=Adjacency.CHANGE_ONE,
        columns=(IntegerColumn("age", 0, 100, nulls="exclude"),),
    )
    query = ClampedSum("age", grid=1, center=Fraction(50))
    law = DiscreteLaplaceLaw(Fraction(query.sensitivity(schema).l1) / Fraction(1, 2))
    part = part_of(Means("age"), measured(schema, query, [-120_000], law))
    release = release_of_tables(schema, [], [], parts=[part], public_rows=10_000)
    found = ReleaseReader(release).ask("SELECT avg(age) FROM t WHERE age IS NOT NULL").only
    assert found.estimate == 38
    assert found.upper - found.estimate == pytest.approx(0.06, abs=0.0005)
    assert found.std == pytest.approx(0.02 * 2**0.5, rel=1e-3)
    assert found.covers is Covers.NOISE


def test_a_measured_mean_is_centre_plus_sum_over_count() -> None:
    schema = people()
    present = CellCount(("age",), (0, 1, 2))
    part = part_of(
        Means("age"),
        measured(schema, ClampedSum("age", grid=2, center=Fraction(29, 2)), [-900]),
        measured(schema, present, [100]),
    )
    asked = ReleaseReader(release_of_tables(schema, [], [], parts=[part]))
    assert asked.ask("SELECT avg(age) FROM people").only.estimate == 10
    assert asked.ask("SELECT count(age) FROM people").only.estimate == 100
    with pytest.raises(NotAnswerable):
        asked.ask("SELECT avg(age) FROM people WHERE age > 3")


def test_the_noise_of_the_count_widens_a_measured_mean() -> None:
    """(S+x)/(N+y) is off by (x - (S/N) y)/(N+y), and |S/N| is at most 14.5."""
    schema, law = people(), DiscreteLaplaceLaw(Fraction(8))
    part = part_of(
        Means("age"),
        measured(schema, ClampedSum("age", grid=2, center=Fraction(29, 2)), [-900]),
        measured(schema, CellCount(("age",), (0, 1, 2)), [1000], law),
    )
    found = ReleaseReader(release_of_tables(schema, [], [], parts=[part])).ask(
        "SELECT avg(age) FROM people"
    )
    width = 14.5 * law.half_width(0.95) / 1000
    assert found.only.upper - found.only.estimate == pytest.approx(width, rel=0.01)


def test_a_mean_over_no_rows_is_the_whole_range() -> None:
    found = reader(("age",), rows=[]).ask("SELECT avg(age) FROM people").only
    assert (found.lower, found.upper) == (0, 29) and 0 <= found.estimate <= 29
    assert found.is_vague


def test_a_measured_sum_is_answered_directly_and_its_grid_is_covered() -> None:
    schema = people(adjacency=Adjacency.CHANGE_ONE)
    part = part_of(Sums("pay"), measured(schema, ClampedSum("pay", grid=10), [4321]))
    secret = release_of_tables(schema, [], [], parts=[part])
    noted = ReleaseReader(secret).ask("SELECT sum(pay) FROM people")
    assert noted.only.covers is Covers.NOISE and "rounded to a multiple of 0.1" in noted.notes[0]
    found = ReleaseReader(replace(secret, public_rows=100)).ask("SELECT sum(pay) FROM people")
    assert found.only.estimate == pytest.approx(432.1)
    assert found.only.upper == pytest.approx(432.1 + 100 / 20)
    assert found.only.covers is Covers.NOISE_AND_CELLS


def test_a_measured_sum_and_a_count_from_a_table_give_the_mean() -> None:
    schema = people()
    part = part_of(Sums("age"), measured(schema, ClampedSum("age"), [540]))
    rows = [{"age": 13}] * 40 + [{"age": None}] * 5
    asked = ReleaseReader(release_of_tables(schema, [("age",)], rows, parts=[part]))
    found = asked.ask("SELECT avg(age) FROM people").only
    assert found.estimate == 13.5 and found.covers is Covers.NOISE


def test_sums_over_columns_with_too_many_cells_to_list_are_still_answered() -> None:
    schema = people(columns=(IntegerColumn("id", -(2**62), 2**62 - 1),))
    part = part_of(Sums("id"), measured(schema, ClampedSum("id"), [77]))
    asked = ReleaseReader(release_of_tables(schema, [], [], parts=[part]))
    assert asked.ask("SELECT sum(id) FROM people").only.estimate == 77
    with pytest.raises(NotAnswerable, match="cells"):
        asked.ask("SELECT count(*) FROM people WHERE id = 3")


def test_an_unknown_kind_of_part_is_ignored_and_not_guessed_at() -> None:
    schema = people()
    part = part_of(Sums("age"), measured(schema, ClampedSum("age"), [5]), kind="from the future")
    with pytest.raises(NotAnswerable):
        ReleaseReader(release_of_tables(schema, [], [], parts=[part])).ask(
            "SELECT sum(age) FROM people"
        )


@pytest.mark.parametrize("column", ["age", "kids", "pay"])
@pytest.mark.parametrize("public", [False, True])
def test_a_batch_answers_as_single_questions_do(column: str, public: bool) -> None:
    numbers = np.random.default_rng(3)
    rows = [
        {
            "age": numbers.integers(-3, 35),
            "kids": numbers.integers(-1, 6),
            "pay": numbers.random() * 9,
        }
        for _ in range(300)
    ]
    schema = people(adjacency=Adjacency.CHANGE_ONE if public else Adjacency.ADD_REMOVE)
    asked = reader(
        (column, "owns"),
        (column,),
        rows=rows,
        schema=schema,
        law=DiscreteLaplaceLaw(Fraction(2)),
        noise=lambda n: numbers.integers(-4, 5, n),
        public_rows=300 if public else None,
    )
    low = numbers.choice([-9.0, -1, 0, 0.5, 1, 1.5, 2, 3, 4, 7.25, 9, 10, 13, 20, 29, 31], 60)
    high = low + numbers.choice([-1.0, 0, 0.5, 1, 2, 5, 9, 30], 60)
    many = asked.count_many(column, low, high)
    for place, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        one = asked.ask(f"SELECT count(*) FROM people WHERE {column} BETWEEN {a} AND {b}").only
        assert (many.lower[place], many.upper[place]) == (one.lower, one.upper), (a, b)
        assert abs(many.estimate[place] - one.estimate) <= 1
        assert many.covers(place) is one.covers
    cells = asked.count_cells([column], np.arange(schema.column(column).cells))
    answers = asked.ask(f"SELECT {column}, count(*) FROM people GROUP BY {column}")
    assert cells.estimate.tolist() == [row.answer.estimate for row in answers]


def test_batches_refuse_what_makes_no_sense() -> None:
    asked = reader(("age", "sex"))
    with pytest.raises(BadQuestion, match="no order"):
        asked.count_many("sex", [0], [1])
    with pytest.raises(BadInput, match="NaN"):
        asked.count_many("age", [float("nan")], [1])
    with pytest.raises(BadInput, match="outside"):
        asked.count_cells(["age"], [99])
    with pytest.raises(BadInput, match="same length"):
        asked.count_many("age", [1, 2], [3])
    assert len(asked.count_many("age", [], [])) == 0


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, float("nan")])
def test_a_confidence_outside_0_to_1_is_refused(confidence: float) -> None:
    with pytest.raises(BadInput):
        reader(("age",)).ask("SELECT count(*) FROM people", confidence=confidence)


def test_booleans_have_sums_and_shares() -> None:
    schema = people(columns=(BooleanColumn("owns"), NumberColumn("pay", 0, 1, bits=1)))
    rows = [{"owns": True}] * 3 + [{"owns": False}] + [{"owns": None}]
    row = reader(("owns",), schema=schema, rows=rows).ask(
        "SELECT sum(owns) s, avg(owns) a FROM people"
    )[0]
    assert row["s"].estimate == 3 and row["a"].estimate == 0.75


def test_ten_thousand_terms_are_answered() -> None:
    terms = " OR ".join(f"age = {k % 30}" for k in range(10_000))
    assert reader(("age",)).ask(f"SELECT count(*) FROM people WHERE {terms}").only.estimate == 36
