"""Verification recomputes a release's cost from its noise laws, and believes nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.answering import new_signing_key, sign_release, verify_costs
from discreet.artifacts.files import read_members, write_members, write_release
from discreet.artifacts.measurement import Selection, TreeMeasurement
from discreet.artifacts.release import Release
from discreet.errors import BadInput, BadRelease
from discreet.families.predicates.queries.predicates import Predicates
from discreet.families.tables.queries.cell_count import CellCount
from discreet.families.tables.queries.marginals import Marginals
from discreet.privacy.adjacency import Adjacency, PrivacyUnit, Sensitivity
from discreet.privacy.budget import Budget
from discreet.privacy.conversion import discrete_gaussian_delta_one_coordinate
from discreet.privacy.cost import Accounting, Cost
from discreet.privacy.laws import DiscreteGaussianLaw, DiscreteLaplaceLaw, RoundedGaussianLaw
from discreet.queries.measurable import Marginal
from tests.releases_by_hand import measured, part_of, people, release_of_tables, small_tree

HALF = DiscreteLaplaceLaw(Fraction(2))


def plain(**more: Any) -> Release:
    budget = more.pop("budget", Budget(epsilon=1))
    return release_of_tables(
        more.pop("schema", people()), [("age",), ("sex",)], [], law=HALF, budget=budget, **more
    )


def with_measurement(release: Release, **changes: Any) -> Release:
    part = release.parts[0]
    changed = replace(part.measurements[0], **changes)  # type: ignore[type-var]
    return replace(release, parts=(replace(part, measurements=(changed,)), *release.parts[1:]))


def of(*measurements: Any, **more: Any) -> Release:
    return release_of_tables(
        people(), [], [], parts=[part_of(Marginals("kids"), *measurements)], **more
    )


def test_an_honest_release_verifies_and_its_cost_is_recomputed() -> None:
    found = verify_costs(plain())
    assert found.ok and found.total == Budget(epsilon=1) and found.measurements == 2
    assert "Verified" in str(found) and json.dumps(found.to_dict())
    found.raise_if_bad()


def test_a_release_over_its_budget_does_not_verify() -> None:
    found = verify_costs(plain(budget=Budget(epsilon="0.99")))
    assert not found.ok and "more than the budget" in found.problems[0]
    with pytest.raises(BadRelease, match="does not verify"):
        found.raise_if_bad()


@pytest.mark.parametrize(
    "changes",
    [
        {"law": DiscreteLaplaceLaw(Fraction(20))},
        {"law": DiscreteLaplaceLaw(Fraction(1))},
        {"cost": Cost.pure(Fraction(1, 4))},
        {"cost": Cost(epsilon=Fraction(1, 2), rho=Fraction(1, 100))},
        {"sensitivity": Sensitivity(2, 1)},
        {"values": np.zeros(3, dtype=np.int64)},
        {"law": RoundedGaussianLaw(Fraction(100))},
    ],
)
def test_a_changed_law_cost_or_sensitivity_does_not_verify(changes: dict[str, Any]) -> None:
    assert not verify_costs(with_measurement(plain(), **changes)).ok


def test_a_law_changed_together_with_its_cost_breaks_the_budget() -> None:
    stronger = with_measurement(
        plain(), law=DiscreteLaplaceLaw(Fraction(1)), cost=Cost.pure(Fraction(1))
    )
    assert "more than the budget" in verify_costs(stronger).problems[0]


def test_sensitivity_is_derived_from_the_schema_and_not_read_from_the_file() -> None:
    """The same numbers under change-one, or with three rows a person, cost more."""
    for schema in (
        people(adjacency=Adjacency.CHANGE_ONE),
        people(unit=PrivacyUnit("person", 3)),
    ):
        assert not verify_costs(replace(plain(), schema=schema)).ok


def test_gaussian_noise_costs_rho_under_concentrated_accounting() -> None:
    law = DiscreteGaussianLaw(Fraction(8))
    release = release_of_tables(
        people(),
        [("age",), ("sex",)],
        [],
        law=law,
        budget=Budget(rho="1/8"),
        accounting=Accounting.CONCENTRATED,
    )
    assert verify_costs(release).total == Budget(rho="1/8") and verify_costs(release).ok
    assert not verify_costs(replace(release, budget=Budget(rho="0.12"))).ok
    assert not verify_costs(
        replace(release, accounting=Accounting.BASIC, budget=Budget(epsilon=5))
    ).ok


def test_calibrated_gaussians_are_checked_at_their_own_epsilon() -> None:
    schema, square = people(), Fraction(30)
    rounded = measured(schema, Marginal(("sex",)), [0] * 4, RoundedGaussianLaw(square))
    budget = Budget(epsilon=1, delta=rounded.cost.delta)
    assert verify_costs(of(rounded, budget=budget)).ok
    cheaper = replace(
        rounded,
        cost=Cost.approximate(epsilon=Fraction(1), delta=rounded.cost.delta * Fraction(99, 100)),
    )
    assert not verify_costs(of(cheaper, budget=budget)).ok
    one = CellCount(("sex",), (0,))
    delta = discrete_gaussian_delta_one_coordinate(
        sigma_squared=square, shift=1, epsilon=Fraction(1, 2)
    )
    cost = Cost.approximate(epsilon=Fraction(1, 2), delta=delta)
    single = replace(measured(schema, one, [3], DiscreteGaussianLaw(square)), cost=cost)
    assert verify_costs(of(single, budget=Budget(epsilon=1, delta=delta))).ok
    several = replace(
        measured(schema, Marginal(("sex",)), [0] * 4, DiscreteGaussianLaw(square)), cost=cost
    )
    assert (
        "single number"
        in verify_costs(of(several, budget=Budget(epsilon=1, delta=delta))).problems[0]
    )


def test_a_selection_costs_its_epsilon_and_its_smaller_rho() -> None:
    selection = Selection(
        chosen=1, candidates=2, sensitivity=1, cost=Cost.bounded_range(Fraction(1, 2))
    )
    asked = Predicates(["sex IS NULL", "age >= 10"])

    def selecting(**changes: Any) -> Release:
        part = part_of(asked, replace(selection, **changes))
        return release_of_tables(people(), [], [], parts=[part], budget=Budget(epsilon="0.5"))

    assert verify_costs(selecting()).ok
    assert not verify_costs(selecting(cost=Cost(epsilon=Fraction(1, 2), rho=Fraction(0)))).ok
    for forged in ({"chosen": 2}, {"candidates": 3}, {"sensitivity": 5}, {"sensitivity": 0}):
        assert not verify_costs(selecting(**forged)).ok
    assert not verify_costs(of(selection, budget=Budget(epsilon="0.5"))).ok  # no class that selects


def changed_tree(place: int, **changes: Any) -> TreeMeasurement:
    tree = small_tree()
    levels = list(tree.levels)
    levels[place] = replace(levels[place], **changes)
    return replace(tree, levels=tuple(levels))


def test_a_tree_is_checked_path_by_path() -> None:
    assert verify_costs(of(small_tree(), budget=Budget(epsilon=1))).ok
    assert not verify_costs(of(small_tree(), budget=Budget(epsilon="0.9"))).ok
    three = np.arange(3, dtype=np.uint64).reshape(3, 1)
    numbers, stopped = np.zeros(3, dtype=np.int64), np.ones(3, dtype=np.bool_)
    wrong = [
        changed_tree(1, stopped_epsilon=Fraction(4, 5)),
        changed_tree(0, refined_epsilon=Fraction(1, 3)),
        changed_tree(0, stopped_epsilon=Fraction(9, 8)),
        changed_tree(0, first_epsilon=Fraction(1, 2)),
        changed_tree(0, stopped=np.array([True])),
        changed_tree(1, stopped=np.array([True, True, True, False])),
        changed_tree(1, level=0),
        changed_tree(1, nodes=three, first=numbers, values=numbers, stopped=stopped),
        replace(small_tree(), levels=small_tree().levels[:1]),
        replace(small_tree(), path_epsilon=Fraction(2)),
        replace(small_tree(), cost=Cost.pure(Fraction(1, 2))),
    ]
    for tree in wrong:
        assert not verify_costs(of(tree)).ok


def test_weights_that_do_not_fit_a_tree_are_a_problem() -> None:
    def weighted(weights: tuple[int, ...], tree: TreeMeasurement | None = None) -> Release:
        return of(replace(tree or small_tree(), weights=weights), budget=Budget(epsilon=1))

    assert verify_costs(weighted((1, 3, 3, 0))).ok
    for weights in ((1, 3, 3), (0, 0, 0, 0), (1, 3, 3, -1), (1,)):
        assert not verify_costs(weighted(weights)).ok
    everything = changed_tree(0, refined_epsilon=Fraction(1), first_epsilon=Fraction(1))
    assert not verify_costs(weighted((1, 3, 3, 0), everything)).ok
    rootless = replace(small_tree(), levels=small_tree().levels[1:])
    assert not verify_costs(weighted((1, 3, 3, 0), rootless)).ok


def test_a_tree_costs_twice_its_path_where_a_row_is_changed() -> None:
    schema = people(adjacency=Adjacency.CHANGE_ONE)
    tree = replace(small_tree(), cost=Cost.pure(Fraction(2)))
    release = release_of_tables(
        schema, [], [], parts=[part_of(Marginals("kids"), tree)], budget=Budget(epsilon=2)
    )
    assert verify_costs(release).ok and verify_costs(release).total == Budget(epsilon=2)


def test_a_stated_number_of_rows_is_a_problem_where_it_is_secret() -> None:
    assert "secret" in verify_costs(plain(public_rows=10)).problems[0]


def test_a_tampered_manifest_is_caught(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_release(plain(), path)
    assert verify_costs(path).ok
    for old, new in [
        (b'"scale": "2/1"', b'"scale": "3/1"'),
        (b'"epsilon": "1/2"', b'"epsilon": "1/9"'),
    ]:
        members = read_members(path)
        assert old in members["manifest.json"]
        members["manifest.json"] = members["manifest.json"].replace(old, new)
        write_members(members, tmp_path / "b")
        assert not verify_costs(tmp_path / "b").ok


def test_a_signature_says_who_and_that_nothing_changed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_release(plain(), path)
    assert verify_costs(path).signed_by is None
    private, public = new_signing_key()
    assert not verify_costs(path, public_key=public).ok
    assert sign_release(path, private) == public
    found = verify_costs(path, public_key=public)
    assert found.ok and found.signed_by == public
    assert not verify_costs(path, public_key=new_signing_key()[1]).ok
    members = read_members(path)
    array = bytearray(members["arrays/0.npy"])
    array[-1] ^= 1
    members["arrays/0.npy"] = bytes(array)
    write_members(members, path)
    with pytest.raises(BadRelease, match="changed after it was signed"):
        verify_costs(path)


def test_bad_keys_and_unreadable_signatures_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_release(plain(), path)
    with pytest.raises(BadInput, match="64 hexadecimal"):
        sign_release(path, "zz")
    with pytest.raises(BadInput, match="64 hexadecimal"):
        verify_costs(path, public_key="12")
    with pytest.raises(BadInput, match="path"):
        verify_costs(plain(), public_key=new_signing_key()[1])
    members = read_members(path) | {"signature.json": b"[]"}
    write_members(members, path)
    with pytest.raises(BadRelease, match="signature"):
        verify_costs(path)


def test_a_node_whose_noise_was_drawn_once_has_one_number() -> None:
    """Of equal epsilons the number shown first is the one that is kept: another would be a second draw."""
    last = small_tree().levels[-1]
    assert last.first_epsilon == last.stopped_epsilon and np.array_equal(last.first, last.values)
    place = len(small_tree().levels) - 1
    twice = changed_tree(place, first=last.first + 1)
    assert not verify_costs(of(twice, budget=Budget(epsilon=1))).ok
