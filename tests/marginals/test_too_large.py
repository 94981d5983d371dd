"""Tables that are too large for memory: refused before the charge, or released in another way."""

from __future__ import annotations

import pytest

import discreet as dc


def wide_schema(*sizes: int, people: str = "people = 50000") -> dc.Schema:
    columns = "".join(
        f'[columns.c{place}]\nkind = "integer"\nrange = [0, {size - 1}]\n'
        for place, size in enumerate(sizes)
    )
    return dc.Schema.loads(f'dataset = "t"\n{people}\n{columns}')


@pytest.mark.parametrize(
    ("sizes", "algorithm", "said"),
    [
        ((160_000, 9, 8), "adaptive", "160,020 cells together.*column c0 has 160,001"),
        ((5000,) * 10, "automatic", "45 tables have 1,125,450,045 cells together"),
        ((5000,) * 10, "direct", "45 tables have 1,125,450,045 cells together"),
        ((2000,) * 30, "residuals", "435 tables have 1,741,740,435 cells together"),
    ],
)
def test_tables_that_no_memory_holds_are_refused_before_the_charge(
    sizes: tuple[int, ...], algorithm: str, said: str
) -> None:
    budget = dc.Budget(epsilon=1, delta="1e-9")
    named = {"marginals(2)": algorithm}
    with pytest.raises(
        dc.BadInput, match=f"marginals\\(2\\): .*{said}.*Nothing was read or charged"
    ):
        dc.plan(wide_schema(*sizes), budget=budget, workload=["marginals(2)"], algorithms=named)


def test_what_is_too_large_for_noise_on_everything_may_have_a_model() -> None:
    """2,000 cells each: all 435 tables together would need 14 GB, and a model of 30 columns needs 60,030 shares a component."""
    budget = dc.Budget(epsilon=1, delta="1e-9")
    for people in ("people = 50000", ""):
        schema = wide_schema(*(2000,) * 30, people=people)
        planned = dc.plan(schema, budget=budget, workload=["marginals(2)"])
        assert planned.classes[0].algorithm == "adaptive"


def test_a_column_that_is_too_wide_for_a_model_gets_noise_on_its_tables() -> None:
    schema, budget = wide_schema(160_000, 9, 8), dc.Budget(epsilon="1/10", delta="1e-9")
    planned = dc.plan(schema, budget=budget, workload=["marginals(2)"])
    assert planned.classes[0].algorithm in ("direct", "residuals")
