"""Any question alone, in a batch, and in another order gives the same answer, interval and notes."""

from __future__ import annotations

import ast
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answering import ReleaseReader
from discreet.answering.estimates import Estimates
from discreet.answering.regions.region import Region
from discreet.answering.source import Source
from discreet.artifacts.answers import Answers
from discreet.artifacts.release import Part, Release
from discreet.errors import BadInput, BadQuestion, NotAnswerable
from discreet.families.shared.answer.evidence import Evidence
from discreet.families.tables.answer.table_source import MODEL_NOTE
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.budget import Budget
from discreet.queries.measurable import Marginal
from discreet.queries.registry import Family, register, registered
from discreet.questions.cells.boxes import boxes_of
from discreet.schema import Schema
from tests.no_noise import without_noise
from tests.parts_by_hand import (
    LAPLACE,
    NARROW,
    ROWS,
    SCHEMA,
    WIDE,
    buckets,
    grid,
    opened,
    predicates,
    pruned_tree,
    residuals,
    splits,
    sums,
    table,
    whole_tree,
)
from tests.releases_by_hand import measured, part_of, release_of_tables, table_of
from tests.releasing import release

ROOM = Path(__file__).resolve().parents[2] / "src" / "discreet" / "answering"
PARTS = {
    "table": lambda: table(WIDE),
    "pair": lambda: table(NARROW, ("age", "sex")),
    "residuals": lambda: residuals(WIDE, ("age", "kids")),
    "levels": lambda: whole_tree(LAPLACE),
    "tree": pruned_tree,
    "boxes": lambda: whole_tree(NARROW, ("age", "kids"), ((4, 2), (2, 1), (0, 0))),
    "buckets": buckets,
    "predicates": lambda: predicates(WIDE),
    "splits": lambda: splits(WIDE),
    "grid": lambda: grid(NARROW),
    "sums": lambda: sums(WIDE),
}
TOGETHER = (
    ("table", "levels", "sums"),
    ("pair", "tree", "predicates", "splits"),
    ("residuals", "boxes", "grid", "predicates"),
    ("levels", "tree", "table", "grid", "sums"),
    tuple(PARTS),
)
RELEASES = [
    (parts, rows)
    for parts in (*((name,) for name in PARTS), *TOGETHER)
    for rows in (None, len(ROWS))
]
AGGREGATES = (
    "count(*)", "count(age)", "count(kids)", "avg(kids)", "sum(kids)", "avg(age)", "median(age)",
)  # fmt: skip
CONDITIONS = (
    "", "age >= 8", "age < 8 OR age IS NULL", "age BETWEEN 3 AND 9", "age IS NULL", "sex = 'F'",
    "sex = 'F' AND age >= 8", "kids >= 2", "age >= 4 AND kids = 1", "age + 2*kids >= 9", "sex = 'Q'",
)  # fmt: skip
GROUPS = ("", "sex", "age", "kids", "age, kids", "kids, age")


@cache
def reader(parts: tuple[str, ...], rows: int | None) -> ReleaseReader:
    return opened(*(PARTS[name]() for name in parts), public_rows=rows)


def sql(aggregates: tuple[str, ...], condition: str, group: str) -> str:
    chosen = ", ".join([*([group] if group else []), *aggregates])
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {chosen} FROM people{where}" + (f" GROUP BY {group}" if group else "")


def told(answers: Answers) -> list[object]:
    """All that an answer says."""
    columns = [
        [column.name, column.covers, column.unit]
        + [_exactly(getattr(column, name)) for name in ("estimate", "lower", "upper", "std")]
        for column in answers.columns
    ]
    return [answers.groups, answers.codes.tolist(), columns, answers.confidence, answers.notes]


def _exactly(numbers: np.ndarray) -> str:
    return repr(numbers.tolist())  # NaN, the average of no rows, is like itself


def asked(opened_release: ReleaseReader, question: str) -> Answers | None:
    try:
        return opened_release.ask(question)
    except (NotAnswerable, BadQuestion):
        return None


releases = st.sampled_from(RELEASES)
questions = st.builds(
    sql,
    st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True).map(tuple),
    st.sampled_from(CONDITIONS),
    st.sampled_from(GROUPS),
)


@settings(max_examples=80, deadline=None)
@given(releases, st.lists(questions, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_a_question_alone_in_a_batch_and_in_another_order_gives_the_same_answer(
    chosen, several, random
):
    opened_release = reader(*chosen)
    alone = {question: asked(opened_release, question) for question in several}
    fitting = [question for question in several if alone[question] is not None]
    expected = [told(alone[question]) for question in fitting]
    assert [told(each) for each in opened_release.ask_many(fitting)] == expected
    order = list(range(len(fitting)))
    random.shuffle(order)
    again = opened_release.ask_many([fitting[place] for place in order])
    assert [told(each) for each in again] == [expected[place] for place in order]


@settings(max_examples=80, deadline=None)
@given(
    releases,
    st.lists(st.sampled_from(AGGREGATES), min_size=2, max_size=3, unique=True),
    st.sampled_from(CONDITIONS),
    st.sampled_from(GROUPS),
)
def test_an_aggregate_is_answered_the_same_whatever_stands_beside_it(
    chosen, aggregates, condition, group
):
    opened_release = reader(*chosen)
    alone = [asked(opened_release, sql((each,), condition, group)) for each in aggregates]
    for order in permutations(range(len(aggregates))):
        names = tuple(aggregates[place] for place in order)
        together = asked(opened_release, sql(names, condition, group))
        own = [alone[place] for place in order]
        assert (together is None) == any(each is None for each in own)
        if together is None:
            continue
        assert set(together.notes) == {note for each in own for note in each.notes}
        for column, each in zip(together.columns, own, strict=True):
            only = each.columns[0]
            assert (column.covers, column.unit) == (only.covers, only.unit)
            rows = {tuple(code): place for place, code in enumerate(each.codes.tolist())}
            places = [rows[tuple(code)] for code in together.codes.tolist()]
            for name in ("estimate", "lower", "upper", "std"):
                assert _exactly(getattr(column, name)) == _exactly(getattr(only, name)[places])


def check_batch(parts, rows, *, first, step):
    opened_release = reader(parts, rows)
    fixed = [sql((each,), where, "") for each in AGGREGATES for where in CONDITIONS]
    fixed += [sql(("count(*)",), where, "age") for where in CONDITIONS]
    counts = len(CONDITIONS)  # of all rows: every kind of part answers one of them
    fixed = fixed[:counts] + fixed[counts + first :: step]
    alone = {question: asked(opened_release, question) for question in fixed}
    fitting = [question for question in fixed if alone[question] is not None]
    assert fitting
    batch = opened_release.ask_many(fitting[::-1])[::-1]
    assert [told(each) for each in batch] == [told(alone[question]) for question in fitting]


@pytest.mark.parametrize("place", range(len(RELEASES)))
def test_every_kind_of_part_answers_in_a_batch_as_alone(place):
    """The same for a fixed list, so that each kind of part is met in every run: all counts, and a third of the rest."""
    check_batch(*RELEASES[place], first=place % 3, step=3)


@pytest.mark.trust
@pytest.mark.parametrize(("parts", "rows"), RELEASES)
def test_every_kind_of_part_answers_every_question_in_a_batch_as_alone(parts, rows):
    check_batch(parts, rows, first=0, step=1)


@pytest.mark.parametrize("parts", [("table",), ("residuals",), ("levels",), ("buckets",)])
def test_many_ranges_at_once_get_the_answers_that_each_gets_alone(parts):
    for rows in (None, len(ROWS)):
        opened_release = reader(parts, rows)
        low, high = [0, 3, 8, 5, -4], [15, 7, 8, 30, 3]
        many = opened_release.count_many("age", low, high)
        for place, ends in enumerate(zip(low, high, strict=True)):
            question = f"SELECT count(*) FROM people WHERE age BETWEEN {ends[0]} AND {ends[1]}"
            one = opened_release.ask(question).only
            found = (many.estimate[place], many.lower[place], many.upper[place])
            assert found == pytest.approx((one.estimate, one.lower, one.upper))
            assert many.covers(place) is one.covers


def test_a_models_note_is_told_in_whichever_order_a_question_lists_its_aggregates(tmp_path):
    """Once a variable left over from a loop: only the last aggregate's model was noted."""
    schema = Schema.loads(
        'dataset = "d"\npeople = 400\n[columns.age]\nkind = "integer"\nrange = [0, 19]\n'
        '[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
        '[columns.town]\nkind = "category"\nvalues = ["a", "b", "c"]\n'
    )
    path = tmp_path / "d.csv"
    path.write_text(
        "age,sex,town\n"
        + "".join(
            f"{age},{sex},{town}\n" for age in range(20) for sex in "fm" for town in 4 * "abc"
        )
    )
    with without_noise():
        made = ReleaseReader(
            release(
                path,
                schema,
                budget=Budget(epsilon="1/10"),
                workload="marginals(2)",
                algorithms={"marginals(2)": "adaptive"},
                ledger=tmp_path / "ledger.db",
            )
        )
    modelled = [
        name
        for name in ("sex", "town")
        if made._library.made(TableLibrary).table(_ordered(schema, name)).is_model
    ]
    assert modelled, "the columns are independent, so no pair stands out"
    where = {"sex": "sex = 'f'", "town": "town = 'a'"}[modelled[0]]
    one = made.ask(f"SELECT avg(age), count(*) FROM d WHERE {where}")
    other = made.ask(f"SELECT count(*), avg(age) FROM d WHERE {where}")
    assert MODEL_NOTE in one.notes
    assert set(one.notes) == set(other.notes)


def _ordered(schema: Schema, name: str) -> tuple[str, ...]:
    return tuple(each for each in schema.names if each in ("age", name))


class Toy(Source):
    """Counts of kids from a table of their own, as a package outside this one might read them."""

    def __init__(self, part: Part, schema: Schema) -> None:
        (self._measured,), self._schema = part.noisy, schema

    def read_one(self, region: Region, confidence: float) -> Estimates | None:
        if not region.is_one_count or region.has_inequality or region.names != {"kids"}:
            return None
        boxes = boxes_of(region.condition, self._schema, ("kids",)).inner
        value = float(
            sum(
                self._measured.values[int(first) : int(last) + 1].sum()
                for first, last in zip(boxes.first[:, 0], boxes.last[:, 0], strict=True)
            )
        )
        return Estimates.single(value, value - 40, value + 40, 20.0, notes=("A toy counted.",))


def toy_of(part: Part, place: int, release: Release) -> Evidence:
    return Evidence(sources=[Toy(part, release.schema)])


TOY = Family(name="toy", sources={"toy": f"{__name__}:toy_of"})


@pytest.fixture
def toy():
    with registered(TOY):
        yield


def test_a_kind_of_part_from_outside_is_asked_like_any_other(toy):
    exact = table_of(SCHEMA, ["kids"], ROWS)
    own = measured(SCHEMA, Marginal(("kids",)), exact)
    part = part_of(Marginals(columns=["kids"]), own, kind="toy")
    made = release_of_tables(SCHEMA, [], [], parts=[part, table(WIDE)])
    opened_release = ReleaseReader(made)
    question = "SELECT count(*) FROM people WHERE kids >= 1 AND kids <= 2"
    one = opened_release.ask(question)
    assert one.only.estimate == exact[1:3].sum()
    assert (one.only.lower, one.only.upper) == (one.only.estimate - 40, one.only.estimate + 40)
    assert one.notes == ("A toy counted.",)
    both = opened_release.ask_many(["SELECT count(*) FROM people WHERE age >= 8", question])
    assert told(both[1]) == told(one)
    many = opened_release.count_many("kids", [1, 0, 3], [2, 3, 1])
    assert many.estimate.tolist() == [exact[1:3].sum(), exact[:4].sum(), 0]
    assert many.lower.tolist()[0] == one.only.lower
    codes = opened_release.count_many("kids", [1], [2], codes=True)
    assert codes.estimate.tolist() == [exact[1:3].sum()]
    with pytest.raises(NotAnswerable, match=r"marginals\(kids\)"):
        opened_release.ask("SELECT avg(kids) FROM people")
    with pytest.raises(BadInput, match="sources of 'toy' are registered already"):
        register(Family(name="another", sources=TOY.sources))


def test_without_its_registration_a_part_is_left_alone():
    own = measured(SCHEMA, Marginal(("kids",)), table_of(SCHEMA, ["kids"], ROWS))
    part = part_of(Marginals(columns=["kids"]), own, kind="toy")
    with pytest.raises(NotAnswerable):
        opened(part).ask("SELECT count(*) FROM people WHERE kids >= 1")


@pytest.mark.parametrize(
    "module",
    [
        "asking",
        "combining",
        "source",
        "regions/region",
        "estimates",
        "readings",
        "regions/ends",
        "usefulness",
        "verification/verify",
        "verification/verify_tree",
    ],
)
def test_the_way_to_an_answer_knows_no_family_by_name(module):
    neutral = {
        "asking", "combining", "source", "regions.region", "estimates", "readings", "library",
        "regions.ends", "verification.signing", "verification.verify_tree",
    }  # fmt: skip
    tree = ast.parse((ROOM / f"{module}.py").read_text())
    imported = {
        node.module.removeprefix("discreet.answering.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(("discreet.answering.", "discreet.families."))
    }
    special = {name for name in imported if not name.startswith("discreet.families.shared.")}
    assert special <= neutral


def test_a_public_number_of_rows_is_counted_down_from_in_one_place():
    """Nobody else compares a number of cells with that of the others to take the smaller."""
    places = [*ROOM.rglob("*.py"), *ROOM.parent.glob("families/*/answer/*.py")]
    named = [path.stem for path in places if "fewer =" in path.read_text()]
    assert named == ["public_total"]


def test_most_cells_are_counted_as_a_public_total_less_the_others():
    """Without noise the count is the truth, and with noise one cell's noise is in it, not that of all others."""
    quiet = ReleaseReader(release_of_tables(SCHEMA, [["age"]], ROWS, public_rows=len(ROWS)))
    question = "SELECT count(*) FROM people WHERE age <> 3 OR age IS NULL"
    assert quiet.ask(question).only.estimate == sum(row["age"] != 3 for row in ROWS)
    assert quiet.count_many("age", [0], [14]).estimate.tolist() == [
        sum(row["age"] is not None and row["age"] <= 14 for row in ROWS)
    ]
    noisy = reader(("table",), len(ROWS)).ask(question).only
    assert noisy.std == pytest.approx(WIDE.std)


def test_the_answer_of_no_group_is_an_empty_table():
    found = reader(("levels",), None).ask(
        "SELECT age, count(*) FROM people WHERE age > 99 GROUP BY age"
    )
    assert len(found) == 0 and np.shape(found.codes) == (0, 1)
