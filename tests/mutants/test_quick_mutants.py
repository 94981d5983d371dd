"""The catalogue of planted bugs is sound, and a few of them are caught here and now. `make mutants` tries them all."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.mutants.catalogue import LAST, MUTANTS, NOT_YET
from tests.mutants.mutant import ROOT, Mutant
from tests.mutants.run import verdict

QUICK = [mutant for mutant in MUTANTS if mutant.quick]


@cache
def source(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse(source(file))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_still_applies_and_still_compiles(mutant: Mutant) -> None:
    planted = mutant.applied(source(mutant.file))
    assert planted != source(mutant.file)
    if mutant.file.endswith(".py"):
        compile(planted, mutant.file, "exec")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_tests_that_must_catch_it_exist(mutant: Mutant) -> None:
    assert mutant.tests
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in functions(file), test


def test_names_are_unique_and_bugs_are_in_the_product() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 45
    assert all(mutant.file.startswith(("src/discreet/", "examples/")) for mutant in MUTANTS)


def test_every_number_of_the_list_has_a_planted_bug_or_a_reason_why_not() -> None:
    planted = {mutant.trap for mutant in MUTANTS}
    assert planted.isdisjoint(NOT_YET)
    assert planted | set(NOT_YET) == set(range(1, LAST + 1))


@pytest.mark.parametrize("mutant", QUICK, ids=lambda mutant: mutant.name)
def test_a_quick_one_is_caught(mutant: Mutant) -> None:
    assert verdict(mutant).caught_by


def test_there_are_a_few_quick_ones() -> None:
    assert 5 <= len(QUICK) <= 9
