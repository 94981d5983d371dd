"""The report: self-contained, small, inert, accessible, and in agreement with what the release answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from discreet import Budget, ReleaseReader, Schema, release
from discreet.charts.scale import shown
from discreet.report import LARGEST, render_report
from discreet.schema import CategoryColumn

HOSTILE = "<script>alert('x')</script>\"&]]>{{ 7 * 7 }}{% raw %}"
VOID = {"meta"}
Make = Callable[..., ReleaseReader]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A release of a small public table under any column names."""

    def made(
        names: list[str],
        *workload: str,
        values: int = 4,
        budget: Budget | None = None,
        dataset: str = "people",
        adjacency: str = "add-remove",
    ) -> ReleaseReader:
        listed = ", ".join(f'"v{value}"' for value in range(values))
        lines = [f'dataset = {_toml(dataset)}\nadjacency = "{adjacency}"']
        lines += [
            f'[columns.{_toml(name)}]\nkind = "category"\nvalues = [{listed}]' for name in names
        ]
        schema = Schema.loads("\n".join(lines))
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        rows = [
            ",".join(f"v{(row * (place + 3)) % values}" for place in range(len(names)))
            for row in range(300)
        ]
        table = tmp_path / "table.csv"
        table.write_text("\n".join([",".join(quoted), *rows]) + "\n", encoding="utf-8")
        return release(
            table,
            schema,
            budget=budget or Budget(epsilon=1),
            workload=list(workload) or ["marginals(1)"],
            ledger=tmp_path / "ledger.db",
        )

    return made


def _toml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Page(HTMLParser):
    """Collects tags and attributes, and refuses tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_loads_nothing_and_runs_nothing(make: Make) -> None:
    text = render_report(make(["age", "sex"], "marginals(2)"))
    page = Page(text)
    assert not page.open
    assert not {"script", "link", "img", "iframe", "object", "form", "base"} & {
        t for t, _ in page.tags
    }
    for tag, attributes in page.tags:
        assert not {"src", "srcset", "style", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert tag != "a" or str(attributes["href"]).startswith("#")
    assert not re.search(r"https?://|url\(|@import", text)


def test_hostile_names_are_shown_as_text_and_do_nothing(make: Make) -> None:
    text = render_report(make([HOSTILE, "b"], "marginals(2)", dataset=HOSTILE))
    page = Page(text)
    assert not page.open
    assert "script" not in {tag for tag, _ in page.tags}
    assert HOSTILE in "".join(page.text)
    assert "49" not in "".join(re.findall(r"7 \* 7|\b49\b", "".join(page.text)))


@pytest.mark.parametrize(
    "name", ["größe, cm", "年龄", "a b\tc", "x" * 300, "emoji 😀", "'; DROP TABLE"]
)
def test_any_column_name_can_be_reported(name: str, make: Make) -> None:
    page = Page(render_report(make([name, "other one"], "marginals(2)")))
    assert not page.open


def test_a_release_of_many_columns_stays_within_the_limit_and_says_what_it_left_out(
    make: Make,
) -> None:
    names = [f"column number {place} with a rather long name" for place in range(40)]
    text = render_report(make(names, "marginals(1)", values=60))
    assert len(text.encode()) <= LARGEST
    assert "Not drawn here" in text
    assert not Page(text).open


@pytest.mark.parametrize("letter", ["x", "<", "😀"])
def test_a_schema_of_very_many_long_names_stays_within_the_limit(letter: str, make: Make) -> None:
    small = make(["age"]).release
    more = tuple(
        CategoryColumn(f"{place} " + letter * 5000, (letter * 5000, "b")) for place in range(400)
    )
    schema = replace(small.schema, columns=(*small.schema.columns, *more))
    text = render_report(ReleaseReader(replace(small, schema=schema)))
    assert len(text.encode()) <= LARGEST
    assert "more lines are in the release" in text
    assert not Page(text).open


def test_the_page_shows_what_the_release_answers(make: Make) -> None:
    reader = make(["age", "sex"], "marginals(2)")
    text = "".join(Page(render_report(reader, confidence=0.9)).text)
    for row in reader.ask("SELECT sex, count(*) FROM people GROUP BY sex", confidence=0.9):
        assert shown(row.answer.estimate) in text
        assert shown(row.answer.upper) in text
    assert "90%" in text


def test_cells_that_nobody_declared_are_explained(make: Make) -> None:
    text = "".join(Page(render_report(make(["sex"]))).text)
    assert "(other) counts rows whose value is not declared, null counts rows without" in text


def test_the_promise_stands_on_the_page_in_words(make: Make) -> None:
    reader = make(["age"])
    text = "".join(Page(render_report(reader)).text)
    for sentence in reader.statement().words:
        assert sentence in text
    assert "73.1%" in text  # e / (1 + e), what epsilon 1 can do to an even guess
    assert "What is not promised" in text


def test_rows_without_an_identifier_are_said_to_be_left_out_and_not_counted(tmp_path: Path) -> None:
    schema = Schema.loads(
        'dataset = "visits"\nadjacency = "add-remove"\n[unit]\nidentifier = "person"\nmax_rows = 2\n'
        '[columns.sex]\nkind = "category"\nvalues = ["f", "m"]\n'
    )
    table = tmp_path / "visits.csv"
    table.write_text("person,sex\n" + "a,f\n" * 50 + ",m\n" * 7_391, encoding="utf-8")
    reader = release(
        table,
        schema,
        budget=Budget(epsilon=1),
        workload=["marginals(1)"],
        ledger=tmp_path / "ledger.db",
    )
    text = "".join(Page(render_report(reader)).text)
    assert (
        "Rows without a 'person' belong to nobody: they were left out"
        in reader.statement().words[0]
    )
    assert "rows without a person are left out" in text
    assert "7,391" not in text and "7391" not in text


@pytest.mark.parametrize(
    "budget", [Budget(epsilon=1, delta=1e-9), Budget(rho="1/10"), Budget(epsilon="1/1000")]
)
@pytest.mark.parametrize("adjacency", ["add-remove", "change-one"])
def test_every_kind_of_budget_and_adjacency_has_a_privacy_loss_plot(
    budget: Budget, adjacency: str, make: Make
) -> None:
    text = render_report(make(["age", "sex"], "marginals(2)", budget=budget, adjacency=adjacency))
    assert "privacy loss" in text
    assert not Page(text).open


def test_the_page_can_be_read_aloud_printed_and_shown_in_the_dark(make: Make) -> None:
    text = render_report(make(["age", "sex"], "marginals(2)"))
    page = Page(text)
    assert ("html", {"lang": "en"}) in page.tags
    charts = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert charts
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in charts:
        assert attributes["role"] == "img"
        assert set(str(attributes["aria-labelledby"]).split()) <= set(map(str, ids))
    assert text.count("<figcaption>") == text.count("<figure>")
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text
    for tag, attributes in page.tags:
        if tag == "a":
            assert str(attributes["href"])[1:] in ids
