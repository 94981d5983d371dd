"""Altered releases of names: `verify` refuses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

import discreet as dc
from discreet.answering.verification.verify import opened
from discreet.artifacts.files import read_members, release_members
from discreet.artifacts.release import Naming, Release
from discreet.families.keys.queries import KeyCounts
from discreet.privacy.cost import Cost
from discreet.releases.verifying import verify
from tests.harness.forgery import (
    Subject,
    a_few_of_each,
    as_by_another_version,
    forge,
    forge_another_version,
    is_refused,
)
from tests.keys.towns import BUDGET, TOWNS, frame_of, schema_of
from tests.releasing import release_to_file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("forged")
    path = folder / "a.release"
    schema = schema_of("change-one", rows=2)
    found = release_to_file(
        frame_of(TOWNS),
        schema,
        path,
        budget=BUDGET,
        workload=["keys(town)"],
        ledger=folder / "l.db",
    )
    return found, dict(read_members(path))


def altered(release: Release, **changes: Any) -> dict[str, bytes]:
    """The release with another naming, and a statement that fits it."""
    (part,) = release.parts
    naming, counted = part.measurements
    assert isinstance(naming, Naming)
    parts = (replace(part, measurements=(replace(naming, **changes), counted)),)
    return dict(release_members(replace(release, parts=parts)))


FORGERIES: dict[str, Callable[[Naming], dict[str, Any]]] = {
    "fewer keys are touched": lambda one: {"touched": one.touched // 2},
    "the names cost half of delta": lambda one: {
        "cost": Cost.approximate(epsilon=_epsilon(one), delta=one.cost.delta / 2)
    },
    "the names cost half of epsilon": lambda one: {
        "cost": Cost.approximate(epsilon=_epsilon(one) / 2, delta=one.cost.delta)
    },
    "the names cost no delta": lambda one: {
        "cost": Cost.approximate(epsilon=_epsilon(one), delta=Fraction(0))
    },
    "a name is added": lambda one: {"keys": (*one.keys, ("zzz",))},
    "a name is left out": lambda one: {"keys": one.keys[1:]},
    "the names are in the order of the rows": lambda one: {"keys": one.keys[::-1]},
    "the names are of another column": lambda one: {"columns": ("sex",)},
}


def _epsilon(naming: Naming) -> Fraction:
    assert naming.cost.epsilon is not None
    return naming.cost.epsilon


@pytest.mark.parametrize("what", list(FORGERIES))
def test_an_altered_naming_is_refused_although_its_statement_fits(
    made: tuple[Release, dict[str, bytes]], what: str
) -> None:
    release, members = made
    assert verify(opened(members), thorough=True).ok
    naming = release.parts[0].namings[0]
    assert is_refused(altered(release, **FORGERIES[what](naming)))


@pytest.mark.parametrize(
    "what",
    ["fewer keys are touched", "the names cost no delta", "the names are in the order of the rows"],
)
def test_what_names_can_cost_is_checked_of_any_version(
    made: tuple[Release, dict[str, bytes]], what: str
) -> None:
    """Also where nothing can be computed again. An order of names could be that of the rows."""
    release, _ = made
    naming = release.parts[0].namings[0]
    assert not is_refused(as_by_another_version(altered(release)))
    assert is_refused(as_by_another_version(altered(release, **FORGERIES[what](naming))))


def test_found_values_are_counted_in_their_order() -> None:
    with pytest.raises(dc.BadInput, match="in their order"):
        KeyCounts("town", ("b", "a"))


def test_a_few_alterations_of_every_place_are_refused(
    made: tuple[Release, dict[str, bytes]],
) -> None:
    _, members = made
    subject = Subject("keys(town) by named-keys", members)
    found = forge(subject, a_few_of_each(members, 0, seen=set()))
    assert not found.failed, found.accepted
    assert found.tried > 60


@pytest.mark.trust
def test_every_alteration_of_a_release_of_names_is_refused(
    made: tuple[Release, dict[str, bytes]],
) -> None:
    _, members = made
    subject = Subject("keys(town) by named-keys", members)
    for found in (forge(subject), forge_another_version(subject)):
        assert not found.failed, found.accepted


def test_the_file_holds_no_value_that_was_not_named(
    made: tuple[Release, dict[str, bytes]],
) -> None:
    release, members = made
    text = b"".join(members.values()).decode("utf-8", "replace")
    named = {key for (key,) in release.parts[0].namings[0].keys}
    for town in {each for each in TOWNS if each is not None} - named:
        assert json.dumps(town) not in text
