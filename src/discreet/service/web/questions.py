"""A question in an address: read from it, answered from the record or from a release, written as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import quote, urlencode

from discreet.artifacts.answers import Answers
from discreet.privacy.budget import Budget, Notion
from discreet.questions.spelling import readable_name
from discreet.schema import OrderedColumn, Schema
from discreet.service.datasets import Question
from discreet.service.limits.bodies import check_sql
from discreet.service.settings import Limits
from discreet.service.web.drawings import Drawn, pictures_of

SHOWN_ROWS = 500
DEFAULT_EPSILON = "0.1"


@dataclass(frozen=True, slots=True)
class Typed:
    """A question as it stands in an address or a form."""

    sql: str = ""
    epsilon: str = ""
    """Or the rho or the mu, for a dataset whose cap counts that."""
    accuracy: str = ""
    confidence: str = "0.95"

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> Typed:
        """From an address' query or a form's fields."""
        return cls(
            fields.get("sql", "").strip(),
            fields.get("epsilon", "").strip()[:80],
            fields.get("accuracy", "").strip()[:100],
            fields.get("confidence", "0.95").strip()[:20] or "0.95",
        )

    def question(self, limits: Limits, notion: Notion = Notion.EPSILON) -> Question:
        """The question as the curator takes it; the accuracy counts if one is given."""
        check_sql(self.sql, limits)
        amount = self.epsilon or DEFAULT_EPSILON
        budget = Budget(**{notion.words: amount})
        return Question(
            sql=self.sql,
            budget=None if self.accuracy else budget,
            accuracy=self.accuracy or None,
            confidence=_number(self.confidence),
        )

    def price(self, notion: Notion = Notion.EPSILON) -> dict[str, str]:
        """The accuracy, or the budget under the name of what the cap counts."""
        if self.accuracy:
            return {"accuracy": self.accuracy}
        return {notion.words: self.epsilon or DEFAULT_EPSILON}

    def query(self, *, live: bool) -> str:
        """The address' query: the whole question, and nothing else."""
        kept = {"sql": self.sql, **(self.price() if live else {})}
        if self.confidence != "0.95":
            kept["confidence"] = self.confidence
        return urlencode(kept)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan  # which the curator refuses, in its own words


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer for a page."""

    header: list[tuple[str, bool]]
    """Each column's name, and whether it holds numbers."""
    rows: list[list[str]]
    more: int
    notes: tuple[str, ...]
    pictures: list[Drawn]
    confidence: float
    single: tuple[str, str, str] | None
    """The estimate, the interval and the name, where there is one number."""


def shown(answers: Answers) -> Shown:
    """An answer, for a page."""
    header: list[tuple[str, bool]] = [(name, False) for name in answers.groups]
    for column in answers.columns:
        header += [(column.name, True), (f"{100 * answers.confidence:.4g}% interval", True)]
    rows = []
    for place in range(min(len(answers), SHOWN_ROWS)):
        row = answers[place]
        cells = list(row.group.values())
        for answer in row.answers.values():
            cells += [answer.shown_estimate, answer.shown_interval]
        rows.append(cells)
    single = None
    if len(answers) == 1 and len(answers.columns) == 1 and not answers.groups:
        only = answers.only
        single = (only.shown_estimate, only.shown_interval, answers.columns[0].name)
    return Shown(
        header,
        rows,
        max(0, len(answers) - SHOWN_ROWS),
        answers.notes,
        pictures_of(answers),
        answers.confidence,
        single,
    )


def as_csv(answers: Answers) -> str:
    """An answer as CSV. A text that a spreadsheet would run as a formula is quoted."""
    columns = answers.to_columns()
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        writer.writerow([_cell(each) for each in row])
    return written.getvalue()


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value


MOST_CELLS = 60


def starters(schema: Schema) -> list[tuple[str, str]]:
    """A title and a question of each kind, over the schema's own columns."""
    return list(_starters(schema))


def _starters(schema: Schema) -> Iterator[tuple[str, str]]:
    table = readable_name(schema.dataset)
    numbers = [each for each in schema.columns if each.kind in ("integer", "number")]
    ordered = [each for each in schema.columns if isinstance(each, OrderedColumn)]
    groups = [
        each
        for each in schema.columns
        if each.kind in ("category", "boolean") and 0 < each.value_cells <= MOST_CELLS
    ]
    yield "Count", f"SELECT count(*) FROM {table}"
    if groups:
        name = readable_name(groups[0].name)
        yield "Count by group", f"SELECT {name}, count(*) FROM {table} GROUP BY {name}"
    if numbers:
        name = readable_name(numbers[-1].name)
        yield "Average", f"SELECT avg({name}) FROM {table}"
        if groups:
            key = readable_name(groups[0].name)
            yield "Average by group", f"SELECT {key}, avg({name}) FROM {table} GROUP BY {key}"
    if ordered:
        name = readable_name(ordered[0].name)
        yield "Histogram", f"SELECT {name}, count(*) FROM {table} GROUP BY {name}"
    if len(groups) > 1:
        pair = ", ".join(readable_name(each.name) for each in groups[:2])
        yield "Two-way table", f"SELECT {pair}, count(*) FROM {table} GROUP BY {pair}"
    if numbers:
        name = readable_name(numbers[0].name)
        yield "Median", f"SELECT median({name}) FROM {table}"
        yield "Quantile", f"SELECT quantile({name}, 0.9) FROM {table}"


def as_python(url: str, kind: str, name: str, sql: str, price: dict[str, str]) -> str:
    """The question for `discreet.connect`."""
    lines = [
        "import discreet as dc",
        "",
        f'service = dc.connect({json.dumps(url)}, token="discreet_...")',
    ]
    if kind == "release":
        lines.append(
            f"service.release({json.dumps(name)}).ask({json.dumps(sql, ensure_ascii=False)})"
        )
    else:
        ((notion, amount),) = price.items()
        text = json.dumps(amount, ensure_ascii=False)
        given = f"accuracy={text}" if notion == "accuracy" else f"budget=dc.Budget({notion}={text})"
        asked = json.dumps(sql, ensure_ascii=False)
        lines.append(f"service.dataset({json.dumps(name)}).ask({asked}, {given})")
    return "\n".join(lines)


def as_curl(url: str, kind: str, name: str, sql: str, price: dict[str, str]) -> str:
    """The question for a shell."""
    body: dict[str, object] = {"sql": sql}
    if kind == "dataset":
        if price.get("accuracy"):
            body["accuracy"] = price["accuracy"]
        else:
            body["budget"] = price
    sent = shlex.quote(json.dumps(body, ensure_ascii=False))
    return (
        f"curl {url}/api/v1/{kind}s/{quote(name)}/ask \\\n"
        '  -H "Authorization: Bearer $DISCREET_TOKEN" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d {sent}"
    )
