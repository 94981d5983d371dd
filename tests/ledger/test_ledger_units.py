"""A cap knows whom it protects: charges of another unit are refused, or converted on purpose."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.engines import open_engine
from discreet.errors import BadBudget, BudgetExceeded, LedgerDamaged, Refused, WrongUnit
from discreet.ledger import ChangeKind, Ledger
from discreet.privacy.adjacency import Adjacency
from discreet.privacy.budget import Budget
from discreet.privacy.protection import Protected
from discreet.schema import Schema
from tests.paying import events

ROW = Protected()
CHANGED_ROW = Protected(Adjacency.CHANGE_ONE)
PERSON = Protected(Adjacency.ADD_REMOVE, "person", 5)
HOUSEHOLD = Protected(Adjacency.ADD_REMOVE, "household", 5)
OLD = Path(__file__).parent / "old_ledgers"


def pay(ledger, protects, cost, request, dataset="people", **more):
    return ledger.charge(
        dataset, cost, purpose="a test", request=request, protects=protects, **more
    )


def test_the_first_charge_says_whom_a_cap_protects_unless_the_cap_did(ledger):
    ledger.declare("people", Budget(epsilon=1))
    assert ledger.protects("people") is None
    pay(ledger, PERSON, Budget(epsilon="1/4"), "a")
    assert ledger.protects("people") == PERSON
    ledger.declare("firms", Budget(epsilon=1), protects=CHANGED_ROW)
    assert ledger.protects("firms") == CHANGED_ROW
    with pytest.raises(WrongUnit):
        pay(ledger, PERSON, Budget(epsilon="1/4"), "a", dataset="firms")
    assert ledger.protects("nowhere") is None


def read_as(unit: str, csv: str = "") -> Protected:
    """Whom a schema with such a unit and such options of files protects."""
    return Schema.loads(
        f'dataset = "people"\n[unit]\n{unit}\n[csv]\n{csv}\n[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
    ).protects


WHO = 'identifier = "who"'


@pytest.mark.parametrize(
    ("unit", "one", "other", "named"),
    [
        (WHO, "trim = true", "", "`trim`"),
        (WHO, "", 'quote = ""', "`quote`"),
        (WHO, 'delimiter = ";"', 'delimiter = "\\t"', "`delimiter`"),
        (WHO, 'encoding = "cp1252"', 'encoding = "latin-1"', "`encoding`"),
        (WHO, 'null_strings = ["", "NA"]', "", "`null_strings`"),
        (WHO, 'names = ["who", "age"]', 'names = ["age", "who"]', "`names`"),
        (WHO, "quoted_line_breaks = true", "trim = true", "`quoted_line_breaks`, `trim`"),
        ("", "quoted_line_breaks = true", "", "`quoted_line_breaks`"),
        ("", 'encoding = "utf-16"', "", "`encoding`"),
        ("", 'quoted_line_breaks = true\nquote = "\'"', "quoted_line_breaks = true", "`quoted_"),
        ("", "quoted_line_breaks = true\ntrim = true", "quoted_line_breaks = true", "`trim`"),
        (
            "",
            'quoted_line_breaks = true\nencoding = "latin-1"',
            "quoted_line_breaks = true",
            "`encoding`",
        ),
    ],
)
def test_charges_under_one_cap_tell_people_and_rows_apart_in_one_way(
    ledger, unit, one, other, named
):
    """` ann` and `ann` are one person where blanks are trimmed, and two elsewhere: then the losses do not add."""
    ledger.declare("people", Budget(epsilon=1))
    pay(ledger, read_as(unit, one), Budget(epsilon="1/4"), "a")
    before = events(ledger)
    for convert in (False, True):
        with pytest.raises(WrongUnit, match=named) as refused:
            pay(ledger, read_as(unit, other), Budget(epsilon="1/4"), "b", convert_unit=convert)
    assert "no row was read" in str(refused.value)
    assert events(ledger) == before
    pay(ledger, read_as(unit, one), Budget(epsilon="1/4"), "b")


@pytest.mark.parametrize(
    ("unit", "one", "other"),
    [
        ("", "trim = true", 'null_strings = ["", "NA"]'),
        ("", 'encoding = "cp1252"', 'delimiter = ";"'),
        (WHO, 'decimal = ","', 'date_format = "%d.%m.%Y"'),
        (WHO, 'names = ["who", "age", "x"]', 'names = ["who", "y", "age"]'),
    ],
)
def test_other_options_of_files_may_differ_under_one_cap(ledger, unit, one, other):
    ledger.declare("people", Budget(epsilon=1), protects=read_as(unit, one))
    paid = pay(ledger, read_as(unit, other), Budget(epsilon="1/4"), "a")
    assert ledger.spent("people") == paid.cost


@pytest.mark.parametrize(
    ("start", "one", "other"),
    [(b' "x\n', "trim = true", ""), (b'\xef\xbb\xbf"x\n', "", 'encoding = "latin-1"')],
)
def test_whoever_reads_one_record_as_many_rows_protects_others(tmp_path, start, one, other):
    """Spaces before a quote, or a mark of order before it: to one schema it opens a record of 202 lines, to the other none."""
    path, spans = tmp_path / "t.csv", "quoted_line_breaks = true\n"
    columns = '[columns.age]\nkind = "integer"\nrange = [0, 9]\n'
    moved = []
    for csv in (one, other):
        schema = Schema.loads(f'dataset = "people"\n[csv]\n{spans}{csv}\n{columns}')
        counted = []
        for record in (start + b"5\n" * 200 + b'"\n', b""):
            path.write_bytes(b"age\n" + record + b"7\n")
            with open_engine(path, schema) as engine:
                counted.append(engine.row_count())
        moved.append(counted[0] - counted[1])
    assert moved == [1, 202]
    assert not read_as("", spans + one).is_same(read_as("", spans + other))


def test_a_cap_that_was_recorded_without_options_is_about_the_usual_ones(ledger):
    """What ledgers wrote before: the texts of the usual options are the old ones."""
    assert read_as(WHO).text == "add-remove person 1 who" and read_as("").text == "add-remove row"
    ledger.declare("people", Budget(epsilon=1), protects=Protected(Adjacency.ADD_REMOVE, "who"))
    pay(ledger, read_as(WHO), Budget(epsilon="1/4"), "a")
    with pytest.raises(WrongUnit, match="trim"):
        pay(ledger, read_as(WHO, "trim = true"), Budget(epsilon="1/4"), "b")


def test_tables_that_are_about_nobody_are_the_same_under_one_cap(ledger):
    """A row of a table that is declared public is hidden by nothing."""
    kind = '[columns.age]\nkind = "integer"\nrange = [0, 9]\n'

    def view(public: str) -> Protected:
        sql = "SELECT v.who, s.age FROM visits v JOIN staff s ON v.who = s.who"
        tables = '{visits = "v.parquet", staff = "s.parquet"}'
        return Schema.loads(
            f'dataset = "people"\n[unit]\n{WHO}\n[view]\nsql = "{sql}"\ntables = {tables}\npublic = {public}\n{kind}'
        ).protects

    ledger.declare("people", Budget(epsilon=1), protects=view("[]"))
    pay(ledger, read_as(WHO), Budget(epsilon="1/4"), "a")
    with pytest.raises(WrongUnit, match="`public`"):
        pay(ledger, view('["staff"]'), Budget(epsilon="1/4"), "b")


@pytest.mark.parametrize(
    ("cap", "charge", "reason"),
    [
        (PERSON, ROW, "one 'person' may have any number of rows"),
        (PERSON, HOUSEHOLD, "rows of any number of 'household'"),
        (ROW, CHANGED_ROW, "exact number of rows"),
        (PERSON, Protected(Adjacency.CHANGE_ONE, "person"), "exact number of rows or people"),
        (CHANGED_ROW, Protected(Adjacency.CHANGE_ONE, "person"), "exact number of rows or people"),
    ],
)
def test_a_charge_that_no_number_of_steps_covers_is_refused_with_the_reason(
    ledger, cap, charge, reason
):
    ledger.declare("people", Budget(epsilon=1), protects=cap)
    before = events(ledger)
    with pytest.raises(WrongUnit, match="another name") as caught:
        pay(ledger, charge, Budget(epsilon="1/100"), "a", convert_unit=True)
    assert reason in str(caught.value)
    with pytest.raises(WrongUnit):
        ledger.declare("people", Budget(epsilon=1), protects=charge, convert_unit=True)
    assert events(ledger) == before


def test_a_proved_conversion_is_made_only_on_purpose_and_is_recorded(ledger):
    ledger.declare("people", Budget(epsilon=1, delta="1e-6"), protects=CHANGED_ROW)
    cost = Budget(epsilon="1/4", delta="1e-9")
    with pytest.raises(WrongUnit, match=r"counts as epsilon 0\.5, delta 2\.28e-09.*convert_unit"):
        pay(ledger, ROW, cost, "a")
    entry = pay(ledger, ROW, cost, "a", convert_unit=True)
    assert entry.cost.epsilon == Budget(epsilon="1/2").epsilon
    (view,) = ledger.entries()
    assert (view.asked, view.cost, view.protects) == (cost, entry.cost, ROW)
    assert ledger.spent("people") == entry.cost
    assert pay(ledger, ROW, cost, "a", convert_unit=True).taken_over
    with pytest.raises(BudgetExceeded):
        pay(ledger, PERSON, Budget(epsilon="1/7"), "b", convert_unit=True)
    pay(ledger, PERSON, Budget(epsilon="1/8"), "b", convert_unit=True)
    assert ledger.spent("people").epsilon == 1
    ledger.verify()


def test_an_analysts_cap_counts_what_the_datasets_cap_counts(ledger):
    ledger.declare("people", Budget(rho=1), protects=CHANGED_ROW)
    ledger.declare_analyst_cap("people", "ann", Budget(rho="1/2"))
    pay(ledger, ROW, Budget(rho="1/8"), "a", analyst="ann", convert_unit=True)
    assert ledger.spent("people", analyst="ann") == Budget(rho="1/2")
    with pytest.raises(BudgetExceeded, match="analyst 'ann'"):
        pay(ledger, CHANGED_ROW, Budget(rho="1/100"), "b", analyst="ann")


def test_a_charge_is_not_taken_over_by_one_that_protects_others(ledger):
    ledger.declare("people", Budget(epsilon=2), protects=CHANGED_ROW)
    pay(ledger, CHANGED_ROW, Budget(epsilon=1), "a")
    entry = pay(ledger, ROW, Budget(epsilon="1/2"), "a", convert_unit=True)
    assert not entry.taken_over
    assert ledger.spent("people") == Budget(epsilon=2)


def test_another_max_rows_protects_the_same_people(ledger):
    ledger.declare("people", Budget(epsilon=1), protects=PERSON)
    other = Protected(Adjacency.ADD_REMOVE, "person", 1)
    assert pay(ledger, other, Budget(epsilon=1), "a").cost == Budget(epsilon=1)
    assert ledger.protects("people") == PERSON


# Ledgers of format 1, made by the code before units were recorded


@pytest.fixture
def old(tmp_path):
    """Dataset 'people' with two charges and raised once, and 'untouched' with none."""
    for name in ("format_1.db", "format_1.db.mark"):
        shutil.copy(OLD / name, tmp_path / name)
    return tmp_path / "format_1.db"


def test_an_old_ledger_opens_and_shows_what_it_knew(old):
    with Ledger.open(old) as ledger:
        ledger.verify()
        assert ledger.spent("people") == Budget(epsilon="1/2")
        assert [view.protects for view in ledger.entries()] == [None, None]
        assert ledger.protects("people") is None
        raised = [change for change in ledger.changes() if change.kind is ChangeKind.RAISED]
        assert [(change.by, change.reason) for change in raised] == [(None, "the board agreed")]
        assert events(ledger) == ledger._journal._book.seq  # looking wrote nothing


def test_old_charges_of_unknown_unit_accept_nothing_until_somebody_says_whom_they_protect(old):
    with Ledger.open(old) as ledger:
        before = events(ledger)
        for protects in (ROW, PERSON, CHANGED_ROW):
            with pytest.raises(WrongUnit, match="declare-unit"):
                pay(ledger, protects, Budget(epsilon="1/8"), "q2", convert_unit=True)
            with pytest.raises(WrongUnit, match="declare-unit"):
                ledger.declare("people", Budget(epsilon=2, delta="1e-9"), protects=protects)
        assert events(ledger) == before
        ledger.declare_unit("people", PERSON, reason="as in people.toml", by="Ann Lee")
        with pytest.raises(WrongUnit):
            pay(ledger, ROW, Budget(epsilon="1/8"), "q3")
        pay(ledger, PERSON, Budget(epsilon="3/2"), "q3")
        with pytest.raises(BudgetExceeded):
            pay(ledger, PERSON, Budget(epsilon="1/100"), "q4")
        last = ledger.changes("people")[-1]
        assert (last.kind, last.by, last.reason, last.protects) == (
            ChangeKind.UNIT_DECLARED,
            "Ann Lee",
            "as in people.toml",
            PERSON,
        )
        ledger.declare_unit("people", PERSON, reason="again")
        with pytest.raises(Refused, match="as the ledger recorded"):
            ledger.declare_unit("people", ROW, reason="or not")
    with Ledger.open(old) as ledger:
        ledger.verify()
        assert ledger.protects("people") == PERSON


def test_an_old_cap_without_charges_takes_the_unit_of_its_first(old):
    with Ledger.open(old) as ledger:
        entry = pay(
            ledger,
            CHANGED_ROW,
            Budget(epsilon=1),
            "a",
            dataset="untouched",
            reading=True,
            once=True,
        )
        ledger.publish(entry, "the entry's number is right although the ledger was upgraded first")
        assert ledger.protects("untouched") == CHANGED_ROW
        with pytest.raises(WrongUnit):
            pay(ledger, HOUSEHOLD, Budget(epsilon="1/8"), "b", dataset="untouched")
    with Ledger.open(old) as ledger:
        ledger.verify()


def test_a_charge_without_a_unit_is_damage_in_a_ledger_that_records_units(ledger):
    """As a version would write that knows only format 1, if it wrote at all."""
    from discreet.ledger.chain import draft

    ledger.declare("people", Budget(epsilon=1))
    with pytest.raises(LedgerDamaged, match="whom it protects"):
        ledger._journal.append(
            lambda book: draft(
                "charge",
                dataset="people",
                analyst=None,
                cost="epsilon 1/2 delta 0",
                spent="epsilon 1/2 delta 0",
                analyst_spent=None,
                purpose="p",
                request="r",
                token="t",
            )
        )


# Who and why


def test_a_raised_cap_says_who_raised_it_and_why(ledger):
    ledger.declare("people", Budget(epsilon=1), protects=ROW)
    ledger.raise_cap("people", Budget(epsilon=2), reason="second edition")
    ledger.raise_cap("people", Budget(epsilon=3), reason="third edition", by="the board")
    raised = [change for change in ledger.changes("people") if change.kind is ChangeKind.RAISED]
    account = pwd.getpwuid(os.getuid()).pw_name
    assert [(change.cap, change.by, change.reason) for change in raised] == [
        (Budget(epsilon=2), account, "second edition"),
        (Budget(epsilon=3), "the board", "third edition"),
    ]
    assert ledger.changes("firms") == []


def test_who_raises_a_cap_is_the_systems_account_whatever_the_environment_says():
    program = "from discreet.ledger.names import account_name; print(account_name())"
    environment = {**os.environ, "LOGNAME": "somebody", "USER": "somebody", "USERNAME": "somebody"}
    said = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == pwd.getpwuid(os.getuid()).pw_name


def test_a_rho_with_a_delta_is_not_converted(ledger):
    ledger.declare("people", Budget(rho=1, delta="1e-6"), protects=CHANGED_ROW)
    with pytest.raises(BadBudget, match="No theorem"):
        pay(ledger, ROW, Budget(rho="1/100", delta="1e-9"), "a", convert_unit=True)
