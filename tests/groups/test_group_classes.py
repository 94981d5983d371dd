"""Classes by group are read, printed and refused in plain words."""

from __future__ import annotations

import pytest

from discreet.errors import BadInput
from discreet.families.groups.queries.classes import GroupedIntervals, GroupedMeans
from discreet.families.numbers.queries.one_number import Means
from discreet.queries.classes import parse_class
from discreet.schema import Schema
from tests.groups.people import schema_of


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("means(income by region)", "means(income by region)"),
        ("Means( income BY region ,sex )", "means(income by region, sex)"),
        ("sums(income, age by region)", "sums(income, age by region)"),
        ("intervals(age by sex) * 3", "intervals(age by sex)"),
        ('quantiles("net income" by "home by")', 'quantiles("net income" by "home by")'),
        ("means(net income by region)", 'means("net income" by region)'),
        ("means(by by region)", 'means("by" by region)'),
        ('means(a, "by" by c)', 'means(a, "by" by c)'),
        ('means("""a"" by b" by c)', 'means("""a"" by b" by c)'),
        ("means(by)", "means(by)"),
        ("quantiles(income)", "quantiles(income)"),
    ],
)
def test_a_class_by_group_is_read_and_printed(written, printed):
    made = parse_class(written)
    assert made.text == printed
    again = parse_class(made.text)
    assert (again.text, type(again)) == (printed, type(made))


def test_a_weight_behind_it_is_the_classs():
    assert parse_class("intervals(age by sex) * 3").weight == 3
    assert isinstance(parse_class("intervals(age by sex) * 3"), GroupedIntervals)


def test_the_order_of_the_groups_makes_no_other_groups():
    schema = schema_of()
    made = [parse_class(f"means(income by {by})") for by in ("region, sex", "sex, region")]
    assert made[0].groups(schema) == made[1].groups(schema) == ("region", "sex")
    assert made[0].cells(schema) == 3 * 4  # the cells of nulls and of other values are groups, too


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("means(sex by region)", "column sex is of kind category"),
        ("intervals(sex by region)", "no order"),
        ("means(income by income)", "twice"),
        ("means(income by INCOME)", "twice"),
        ("means(income by nowhere)", "nowhere"),
        ("means(income by region; sex)", "one list before `by`"),
        ("means(income * 2 by region)", "income"),
        ("means(income by a, b, c, d, e, f, g)", "at most 6"),
        ("marginals(age by sex)", "age by sex"),
    ],
)
def test_what_is_no_class_by_group_is_refused_with_its_name(text, said):
    with pytest.raises(BadInput, match=said):
        parse_class(text).check(schema_of())


def test_groups_that_cannot_be_listed_are_refused_before_anything_is_read():
    columns = "".join(f'[columns.c{k}]\nkind = "integer"\nrange = [0, 9999]\n' for k in range(3))
    schema = Schema.loads(
        f'dataset = "d"\n{columns}[columns.x]\nkind = "integer"\nrange = [0, 9]\n'
    )
    with pytest.raises(BadInput, match="at most 67,108,864 are listed"):
        GroupedMeans("x", by=["c0", "c1", "c2"]).check(schema)


def test_a_class_without_groups_is_what_it_was():
    assert parse_class("means(income)") == Means("income")
