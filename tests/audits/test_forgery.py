"""Altered release files: each is refused, or nobody was promised anything at the altered place.

No chance decides: the noise of a release differs from run to run, which places are altered and that
they must be refused does not.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from discreet.answering.verification.verify import opened
from discreet.artifacts.files import MANIFEST, release_from_members, release_members
from discreet.releases.verifying import verify
from tests.harness.forgery import (
    EXCUSED,
    NOT_FITTED_AGAIN,
    ONLY_COMPUTED_AGAIN,
    as_by_another_version,
    forge,
    forged_releases,
    is_refused,
    registered,
    subjects,
)
from tests.harness.material.alterations import alterations

ROOT = Path(__file__).resolve().parents[2]


def test_an_altered_release_of_any_class_and_algorithm_is_refused() -> None:
    """A few alterations of every kind of place, of every registered class and algorithm."""
    found = list(forged_releases(quick=True))
    assert [each.accepted for each in found if each.failed] == []
    own = [
        each for each in found if not each.title.endswith(("another version", "not fitted again"))
    ]
    assert len(own) == len(registered()) + 2, "a class or algorithm has no release to forge"
    assert sum(each.tried for each in found) > 2_000
    two = own[0]
    assert "parts/*/weight" not in two.excused, "of several classes a weight decides the noise"


@pytest.mark.trust
def test_every_altered_place_of_every_release_is_refused() -> None:
    """Every alteration of every place, number by number, also in the name of another version."""
    for found in forged_releases():
        assert not found.failed, (found.title, found.accepted)


def test_alterations_reach_every_text_number_and_array_of_a_file() -> None:
    subject = next(subjects())
    places = {each.place for each in alterations(subject.members)}

    def leaves(value: object, above: str) -> list[str]:
        if isinstance(value, dict | list):
            inside = value.items() if isinstance(value, dict) else enumerate(value)
            return [
                place
                for key, each in inside
                for place in leaves(each, f"{above}/{key}" if above else str(key))
            ]
        return [above]

    assert set(leaves(json.loads(subject.members[MANIFEST]), "")) <= places
    arrays = [name for name in subject.members if name.endswith(".npy")]
    assert len([place for place in places if place.endswith("[]")]) == len(arrays)


def test_the_harness_sees_a_verifier_that_accepts_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.harness.forgery.is_refused", lambda members, thorough: False)
    subject = next(subjects())
    found = forge(subject)
    assert found.failed and len(found.accepted) > found.tried * 0.9


def test_a_release_by_another_version_says_what_was_not_computed_again() -> None:
    """Its estimates are altered, which only the version that computed them can tell."""
    subject = next(each for each in subjects() if each.title.endswith("by tree"))
    disguised = as_by_another_version(subject.members)
    assert verify(opened(disguised)).ok and not verify(opened(disguised)).unchecked
    altered = next(
        each for each in alterations(disguised) if each.place.startswith("parts/0/estimates/")
        and each.place.endswith("[]")
    )  # fmt: skip
    found = verify(opened(altered.members))
    assert found.ok and "Verified in part" in str(found)
    assert "with the version that wrote it" in found.unchecked[0]
    assert found.to_dict()["unchecked"] == list(found.unchecked)


def test_a_model_is_computed_again_only_on_request() -> None:
    subject = next(each for each in subjects() if each.title.endswith("by adaptive-even"))
    altered = next(
        each for each in alterations(subject.members) if each.place == "parts/0/estimates/theta[]"
    )
    quick = verify(opened(altered.members))
    assert quick.ok and "--thorough" in quick.unchecked[0]
    assert is_refused(altered.members)


def test_a_part_that_calls_itself_a_model_is_computed_again_unless_its_algorithm_makes_one() -> (
    None
):
    """The forgery that once passed: what is no model was said to be one, and so no claim was checked."""
    for subject in subjects():
        if subject.title.endswith(("by direct", "by tree", "by adaptive", "by adaptive-even")):
            made = release_from_members(subject.members, where="it")
            first, *others = made.parts
            claims = tuple(replace(claim, bound=claim.bound / 2) for claim in made.claims)
            forged = replace(made, parts=(replace(first, kind="model"), *others), claims=claims)
            found = verify(opened(release_members(forged)))
            assert found.ok == ("by adaptive" in subject.title), subject.title


def test_a_selection_at_another_sensitivity_is_refused_whatever_else_fits() -> None:
    """The forgery that once passed: noise for a fifth of the sensitivity, which costs five times as much."""
    subject = next(each for each in subjects() if each.title.endswith("by mwem"))
    for members in (subject.members, as_by_another_version(subject.members)):
        manifest = json.loads(members[MANIFEST])
        for part in manifest["parts"]:
            for each in part["measurements"]:
                if each["type"] == "selection":
                    each["sensitivity"] *= 5
        assert is_refused({**members, MANIFEST: json.dumps(manifest).encode()})


def test_places_that_nobody_checks_are_listed_in_the_documents() -> None:
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    for place, reason in {**EXCUSED, **ONLY_COMPUTED_AGAIN, **NOT_FITTED_AGAIN}.items():
        assert f"| `{place}` | {reason} |" in text


def test_numbers_agree_to_one_part_in_a_million() -> None:
    from discreet.artifacts.differences import differing_places

    assert list(differing_places({"a": [1.0, 2]}, {"a": [1.0 + 1e-9, 2]})) == []
    assert list(differing_places({"a": [1.0, 2]}, {"a": [1.0 + 1e-4, 2]})) == ["a/0"]
    assert list(differing_places({"a": [1, 2]}, {"a": [True, 2.0]})) == ["a/0", "a/1"]
    assert list(differing_places({"a": 1}, {"b": 1})) == ["a", "b"]
    assert list(differing_places([1, 2], [1])) == [""]
