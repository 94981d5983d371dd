"""Promises of halfspaces and predicates against what came: how often intervals hold, what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars

from benchmarks.support.bars import bar
from benchmarks.support.halfspace_tables import QUESTIONS, Table, released, schema_text
from discreet import Budget, Halfspaces, Predicates, Schema, plan
from discreet.artifacts.release import Part
from discreet.core.noise import DrawnNoise
from discreet.core.refining import refine
from discreet.families.halfspaces.answer.cells import Leaves
from discreet.families.halfspaces.release.tree import HalfspaceTree, leaf_estimates
from discreet.families.ranges.answer.ranges import RangeSource
from discreet.families.ranges.release.adaptive import StoppingRule, thresholds
from discreet.families.shared.estimate.public_random import generator
from discreet.privacy.cost import Accounting


def declared_predicates(table: Table) -> bool:
    """Each way's expected error against what came, and whether the planner chose the better one."""
    met = True
    draw = generator(4)
    texts: set[str] = set()
    while len(texts) < 60:
        ends = [np.sort(draw.integers(0, int(top) + 1, 2)) for top in table.high]
        texts.add(
            " AND ".join(
                f'"{name}" BETWEEN {low} AND {high}'
                for name, (low, high) in zip(table.columns, ends, strict=True)
            )
        )
    asked = Predicates(sorted(texts))
    for rows, epsilon in ((1_000, "1/10"), (table.many, "1/100"), (table.many, "1")):
        own = table.rows[draw.permutation(table.many)[:rows]]
        schema = Schema.loads(
            schema_text(
                dict(zip(table.columns, (table.high + 1).astype(int).tolist(), strict=True)), rows
            )
        )
        frame = polars.DataFrame(dict(zip(table.columns, own.T, strict=True)))
        truth = np.array(
            [
                polars.SQLContext(t=frame).execute(
                    f"SELECT count(*) AS n FROM t WHERE {text}", eager=True
                )["n"][0]
                for text in asked.conditions
            ]
        )
        seen: dict[str, float] = {}
        for name in ("mwem", "strategy", "independent"):
            planned = plan(
                schema,
                workload=asked,
                budget=Budget(epsilon=epsilon),
                algorithms={asked.text: name},
            ).classes[0]
            errors = []
            for _ in range(3):
                opened = released(frame, schema, asked, epsilon, algorithm=name)
                answers = opened.release.parts[0].estimates["answers"]
                errors.append(float(np.abs(answers - truth).mean()))
            seen[name] = float(np.mean(errors))
            expected = float(planned.error.expected or 0)
            print(
                f"  predicates, {rows:,} rows, epsilon {epsilon}, {name} ({planned.algorithm}): expected "
                f"{expected:,.0f}, seen {seen[name]:,.0f}"
            )
            off = max(expected / seen[name], seen[name] / expected)
            met &= bar(
                f"predicates, {rows:,} rows, epsilon {epsilon}: {name} off by a factor", off, 3.0
            )
        best = min(seen.values())
        met &= bar(
            f"predicates, {rows:,} rows, epsilon {epsilon}: chosen / best in hindsight",
            seen["strategy"] / best,
            2.0,
        )
    return met


def coverage(table: Table, name: str, draws: int) -> bool:
    """The kernel's own noise, drawn anew for the same rows: as many trees as releases."""
    met = True
    asked = Halfspaces(*table.columns)
    for epsilon in ("1", "1/10"):
        prepared = HalfspaceTree().prepare(
            asked,
            table.schema,
            share=Budget(epsilon=epsilon),
            accounting=Accounting.BASIC,
        )
        rule = StoppingRule(
            prepared.tree,
            table.schema,
            thresholds(prepared.tree, prepared.schedule.shares, path=prepared.path),
        )
        levels: dict[tuple[int, ...], Any] = {}

        def count(columns: Any, shifts: Any, nodes: Any, levels: Any = levels) -> Any:
            if shifts not in levels:
                own = np.zeros(((table.high.astype(int) >> np.array(shifts)) + 1), dtype=np.int64)
                np.add.at(own, tuple((table.rows >> np.array(shifts)).T), 1)
                levels[shifts] = own
            return levels[shifts][tuple(nodes.astype(np.int64).T)]

        held, width, error = [], [], []
        for _ in range(draws):
            tree = refine(
                prepared.tree,
                epsilon=prepared.epsilon,
                schedule=prepared.schedule,
                stop=rule,
                schema=table.schema,
                count=count,
                noise=DrawnNoise(),
                next_step=lambda verb: verb,
            )
            part = Part(
                kind=HalfspaceTree.kind,
                query_class=asked,
                algorithm="tree",
                measurements=(tree,),
                estimates={"leaves": leaf_estimates(tree, table.schema, table.many)},
                facts={},
            )
            leaves = Leaves(RangeSource(part, table.schema), table.many)
            found = leaves.many(table.normals, table.bounds, confidence=0.95).plausible(
                leaves.public_rows
            )
            held.append(float(((found.lower <= table.truth) & (table.truth <= found.upper)).mean()))
            width.append(float((found.upper - found.lower).mean()) / table.many)
            error.append(table.error(found.estimate))
        print(
            f"  {name}, alpha {epsilon}: mean width {np.mean(width):.5f} beside a mean error of "
            f"{np.mean(error):.5f}; the coverage's own standard error is {np.std(held) / np.sqrt(draws):.4f}"
        )
        met &= bar(
            f"{name}: coverage of 95% intervals, alpha {epsilon}, {draws} x {QUESTIONS:,}",
            float(np.mean(held)),
            0.95,
            at_least=True,
        )
    return met
