"""k-anonymity and its kin: made as defined, checked by hand, and labelled as baselines."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from discreet.attacks.generalised import covers
from discreet.cli.application import application
from discreet.cli.failures import run
from discreet.custodian.disclosure import anonymity as anonymity_module
from discreet.custodian.disclosure.anonymity import TECHNIQUES, anonymity, furthest
from discreet.custodian.disclosure.mondrian import anonymised, lost_detail, suppressed
from discreet.custodian.disclosure.publications import minimised, swapped
from discreet.errors import BadInput


def people(rows: int = 200) -> dict[str, list[str]]:
    draws = np.random.default_rng(0)
    return {
        "age": [str(v) for v in draws.integers(18, 90, rows)],
        "sex": [str(v) for v in draws.choice(["f", "m"], rows)],
        "town": [str(v) for v in draws.choice(["a", "b", "c"], rows)],
        "illness": [str(v) for v in draws.choice(["x", "y", "z"], rows)],
    }


@pytest.mark.parametrize("k", [1, 2, 5, 25, 100])
def test_mondrian_makes_classes_of_at_least_k_that_cover_every_row(k):
    table = people()
    made = anonymised(table, ["age", "sex", "town"], k=k)
    assert anonymity(made, ["age", "sex", "town"]).k >= k
    assert made["illness"] == table["illness"]
    for name in ("age", "sex", "town"):
        for general, value in zip(made[name], table[name], strict=True):
            assert all(covers(general, each) for each in value.split("|"))


def test_detail_is_lost_as_k_grows():
    table = people()
    columns = ["age", "sex", "town"]
    lost = [lost_detail(table, anonymised(table, columns, k=k), columns) for k in (1, 5, 50, 200)]
    assert lost == sorted(lost) and lost[0] < 0.05 and lost[-1] > 0.9


def test_suppression_leaves_out_small_classes_only():
    table = {"a": ["1", "1", "2"], "b": ["x", "y", "z"]}
    assert suppressed(table, ["a"], k=2) == {"a": ["1", "1"], "b": ["x", "y"]}


def test_diversity_and_closeness_agree_with_counting_by_hand():
    table = {"q": ["1", "1", "2", "2"], "s": ["a", "a", "a", "b"]}
    found = anonymity(table, ["q"], "s")
    assert (found.k, found.l, found.homogeneous) == (2, 1, 0.5)
    assert found.t == pytest.approx(0.25)
    # Along an order, mass moves step by step: from {1, 2, 3} to {3} it is 1/3 + 2/3 over 2 steps.
    assert furthest([["3"]], ["1", "2", "3"]) == pytest.approx(0.5)


def test_swapping_keeps_every_count_of_the_swapped_columns():
    table = people()
    made = swapped(table, ["town"], share=0.5, seed=1)
    assert sorted(made["town"]) == sorted(table["town"]) and made["town"] != table["town"]
    assert made["age"] == table["age"]
    assert minimised(table, ["age"]) == {"age": table["age"]}


def test_only_differential_privacy_does_all_four_things():
    assert [each.name for each in TECHNIQUES if all(each.marks())] == ["differential privacy"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: anonymised(people(), ["age"], k=0), "k is 0"),
        (lambda: anonymised(people(), ["pay"], k=2), "no column 'pay'"),
        (lambda: anonymity(people(), []), "at least one quasi-identifier"),
        (lambda: swapped(people(), ["age"], share=2), "between 0 and 1"),
        (lambda: minimised(people(), ["pay"]), "no column 'pay'"),
    ],
)
def test_bad_input_gets_one_clear_sentence(call, said):
    with pytest.raises(BadInput, match=said):
        call()


def ran(words: str) -> int:
    return run(application, words.split())


def test_the_commands_say_that_they_are_not_private(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = people()
    lines = [",".join(row) for row in zip(*table.values(), strict=True)]
    Path("t.csv").write_text("\n".join([",".join(table), *lines]) + "\n")
    assert ran("anonymity make t.csv --on age,sex --k 5 -o made.csv") == 0
    assert "NOT PRIVATE" in capsys.readouterr().out
    assert ran("anonymity check made.csv --on age,sex --sensitive illness --json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["k"] >= 5 and found["banner"].startswith("NOT PRIVATE")
    assert ran("anonymity utility t.csv --on age,sex --ks 2,20 --sensitive illness") == 0
    assert "NOT PRIVATE" in capsys.readouterr().out
    for method in ("suppress", "swap", "minimise"):
        assert ran(f"anonymity make t.csv --on sex --k 2 --method {method} -o {method}.csv") == 0
    assert ran("anonymity utility t.csv --on age --ks two") == 2
    assert ran("anonymity scorecard") == 0


def test_many_classes_are_checked_in_one_pass_over_the_table(monkeypatch):
    passes = []

    class Counted(Counter):
        def __init__(self, values):
            passes.append(len(values))
            super().__init__(values)

    monkeypatch.setattr(anonymity_module, "Counter", Counted)
    table = {"id": [str(place) for place in range(200)], "sick": ["yes", "no"] * 100}
    assert anonymity(table, ["id"], "sick").t == pytest.approx(0.5)
    assert sum(passes) == 2 * 200
