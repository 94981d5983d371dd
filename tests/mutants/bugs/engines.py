"""Bug 44: the core believes what an engine returns."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

CHECKED = "tests/kernel/test_checked_engine.py"
FILE = "src/discreet/core/checked_engine.py"

ENGINES = (
    Mutant(
        name="the-shape-of-what-an-engine-returns-is-believed",
        trap=44,
        file=FILE,
        old=" and found.shape == shape)",
        new=")",
        tests=(f"{CHECKED}::test_a_table_that_cannot_be_one_stops_the_run",),
    ),
    Mutant(
        name="negative-counts-of-an-engine-are-believed",
        trap=44,
        file=FILE,
        old="    _expect(prod(shape) == 0 or int(checked.min()) >= 0)\n",
        new="",
        tests=(f"{CHECKED}::test_the_vault_checks_every_answer",),
    ),
    Mutant(
        name="the-vault-asks-an-engine-unchecked",
        trap=44,
        file="src/discreet/core/vault.py",
        old="        self._engine = CheckedEngine(watched, schema)\n",
        new="        self._engine = watched\n",
        tests=(f"{CHECKED}::test_the_vault_checks_every_answer",),
    ),
)
