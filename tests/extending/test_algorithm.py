"""A release algorithm from outside `src`: one entry, and the planner, verify and audits use it."""

from __future__ import annotations

import pytest

from discreet.errors import BadInput
from discreet.queries.classes import parse_class
from discreet.queries.registry import registered
from discreet.releases.algorithms import algorithm_for
from tests.extending.even_split import FAMILY
from tests.extending.test_family import FRAME, SCHEMA
from tests.extending.whole_way import Way, walked
from tests.harness.material.tables import all_algorithms, possible

TEXT = "marginals(1)"
YOUNG = "SELECT count(*) FROM people WHERE age < 6"


def test_it_goes_the_whole_way_of_a_release(tmp_path):
    with registered(FAMILY):
        way = Way(FRAME, SCHEMA, (TEXT,), YOUNG, 300, algorithms={TEXT: "even-split"})
        reader = walked(way, tmp_path)
        (part,) = reader.release.parts
        assert part.algorithm == "even-split"
        assert len({each.law for each in part.noisy}) == 1 and len(part.noisy) == 2
        assert (TEXT, "even-split") in {(each.text, name) for each, name in possible(SCHEMA)}
        assert all_algorithms()["marginals"][0].name != "even-split", "the preferred one stays"


def test_without_its_entry_it_cannot_be_named():
    with pytest.raises(BadInput, match="has no algorithm 'even-split'"):
        algorithm_for(parse_class(TEXT), SCHEMA, named="even-split")
