"""A class that is written wrongly is told what is wrong with it."""

from __future__ import annotations

import pytest

from discreet.errors import BadInput
from discreet.queries.classes import parse_class


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("marginals(2", "as many brackets closed as opened"),
        ("marginals((age, sex)", "as many brackets closed as opened"),
        ("marginals(age))", "as many brackets closed as opened"),
        ('means("net (income)"', "as many brackets closed as opened"),
        ("marginals", r"write marginals\(\.\.\.\)"),
        ("intervals(age) * many", "weight .* is 'many'; write a number above 0"),
        ("intervals(age) * -1", "weight .* is '-1'"),
        ("marginals(2) *", "weight .* is ''"),
    ],
)
def test_a_known_name_with_brackets_that_do_not_match_is_not_taken_for_an_unknown_one(text, said):
    with pytest.raises(BadInput, match=said) as told:
        parse_class(text)
    assert "Did you mean" not in str(told.value)


def test_an_unknown_name_is_still_told_the_nearest():
    with pytest.raises(BadInput, match="Did you mean 'marginals'"):
        parse_class("marginal(2)")
