"""Random schemas, rows and algorithms, released with much noise."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas
from hypothesis import settings
from hypothesis import strategies as st

from discreet.errors import BadInput
from discreet.families.tables.answer.evidence import COUNTED_APART, WITHOUT_A_CELL
from discreet.privacy.budget import Budget
from discreet.schema import Schema, keeps_every_row
from tests.releasing import release

WORKLOAD = "marginals(2)"


FEW = 12 if settings().max_examples == 100 else 300
"""Examples: each is a release. `make trust` looks at more of them."""


OF_BOOLEANS = ("direct", "all-cells", "fourier", "residuals", "residuals-even", "adaptive", "adaptive-even", "automatic")  # fmt: skip


OF_ANY = ("direct", "all-cells", "residuals", "residuals-even", "adaptive", "adaptive-even", "automatic")  # fmt: skip


@st.composite
def columns(draw, kinds):
    """The declaration of a column, and how many values it has."""
    kind = draw(st.sampled_from(kinds))
    nulls = f'nulls = "{draw(st.sampled_from(["cell", "exclude"]))}"\n'
    if kind == "boolean":
        return f'kind = "boolean"\n{nulls}', 2
    if kind == "two":
        other = draw(st.sampled_from(["true", "false"]))
        return f'kind = "category"\nvalues = ["v0", "v1"]\nother = {other}\n{nulls}', 2
    size = draw(st.integers(2, 5))
    if kind == "category":
        values = ", ".join(f'"v{place}"' for place in range(size))
        return f'kind = "category"\nvalues = [{values}]\n{nulls}', size
    return f'kind = "integer"\nrange = [0, {size - 1}]\n{nulls}', size


@st.composite
def drawn(draw, kinds, algorithms):
    """A schema, 80 rows and an algorithm."""
    declared = [draw(columns(kinds)) for _ in range(draw(st.integers(3, 4)))]
    names = [f"a{place}" for place in range(len(declared))]
    adjacency = draw(st.sampled_from(["add-remove", "change-one"]))
    schema = Schema.loads(
        f'dataset = "t"\nadjacency = "{adjacency}"\npeople = 80\n'
        + "".join(f"[columns.{n}]\n{text}" for n, (text, _) in zip(names, declared, strict=True))
    )
    public = np.random.default_rng(draw(st.integers(0, 1000)))
    rows = {
        name: [_value(text, public.integers(0, size), public.random()) for _ in range(80)]
        for name, (text, size) in zip(names, declared, strict=True)
    }
    return schema, pandas.DataFrame(rows).astype(object), draw(st.sampled_from(algorithms))


def released(schema, rows, algorithm, workload=WORKLOAD):
    """With much noise, so that many cells fall below 0; `None` where the algorithm refuses the columns."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return release(
                rows, schema, budget=Budget(epsilon="1/3"), workload=[workload],
                algorithms={workload: algorithm}, ledger=Path(folder) / "l.db",
            )  # fmt: skip
        except BadInput as refusal:  # Fourier of a cell for others
            assert "cell" in str(refusal)
            return None


def _value(text, code, luck):
    if luck < 0.1:
        return None
    if "boolean" in text:
        return bool(code)
    return int(code) if "integer" in text else f"v{code}"


def counts_fewer(found, schema, over):
    """Whether a table over this column counts fewer rows than one without it: some have no cell in it, and are counted apart."""
    apart = found.parts[0].facts.get(WITHOUT_A_CELL) == COUNTED_APART
    return apart and not keeps_every_row(schema.column(over))


def sums(reader, one, other, **how):
    """How many rows have each cell of a column, added up over another one."""
    told = reader.ask(f"SELECT {one}, {other}, count(*) FROM t GROUP BY {one}, {other}", **how)
    cells = reader.schema.column(one).cells
    return told.columns[0].estimate.reshape(cells, -1).sum(axis=1)
