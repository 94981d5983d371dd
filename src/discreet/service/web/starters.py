"""Questions to start from, and the same question as Python or curl."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from urllib.parse import quote

from discreet.questions.spelling import readable_name
from discreet.schema import OrderedColumn, Schema

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
