"""Requests made from the service's own description, well and badly: no fault, one error shape, no charge unasked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.running import Reply, Running, running

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "people",
            "open",
            "closed",
            "ann",
            "",
            "..",
            "%00",
            "'; DROP TABLE person; --",
            "<script>",
            "1e999",
        ]
    ),
)
SQL = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "SELECT count(*) FROM people",
            "SELECT sex, avg(income) FROM people GROUP BY sex",
            "SELECT count(*) FROM people; SELECT 1",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT count(*) FROM people WHERE age > 1e400",
            "SELECT median(age) FROM people",
            "ATTACH 'x'",
            "SELECT count(*)/0 FROM people",
            "SELECT 1",
            "WITH a AS (SELECT 1) SELECT * FROM a",
        ]
    ),
)
ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def value_for(
    schema: dict[str, Any], described: dict[str, Any], name: str
) -> st.SearchStrategy[Any]:
    """What a part of the description allows, and sometimes what it does not."""
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    if name == "sql":
        good: st.SearchStrategy[Any] = SQL
    elif "anyOf" in schema:
        good = st.one_of(*(value_for(each, described, "") for each in schema["anyOf"]))
    elif schema.get("type") == "object" and "properties" in schema:
        fields = {
            key: value_for(each, described, key) for key, each in schema["properties"].items()
        }
        good = st.fixed_dictionaries({}, optional=fields)
    elif schema.get("type") == "array":
        good = st.lists(value_for(schema.get("items", {}), described, ""), max_size=3)
    elif schema.get("type") in ("number", "integer"):
        good = st.one_of(st.sampled_from([0.01, 0.5, 1, 0.95]), st.floats(), st.integers())
    elif schema.get("type") == "null":
        good = st.none()
    else:
        good = st.one_of(st.sampled_from(schema.get("enum") or ["0.01", "1/1000"]), TEXTS)
    return st.one_of(good, good, good, good, ODD)


@st.composite
def requests(
    draw: Any, described: dict[str, Any]
) -> tuple[str, str, str | None, Any, dict[str, str]]:
    template = draw(st.sampled_from(sorted(described["paths"])))
    method = draw(st.sampled_from([*described["paths"][template], "get", "post"]))
    operation = described["paths"][template].get(method, {})
    path, query = template, []
    for each in operation.get("parameters", []):
        value = draw(value_for(each.get("schema", {}), described, each["name"]))
        text = quote(str(value).encode("utf-8", "replace"), safe="")
        if each["in"] == "path":
            path = path.replace("{" + each["name"] + "}", text or "x")
        elif each["in"] == "query" and draw(st.booleans()):
            query.append(f"{each['name']}={text}")
    path = path.replace("{name}", "people").replace("{dataset}", "people")
    path = path.replace("{token_id}", "x") + ("?" + "&".join(query) if query else "")
    body = None
    if method in ("post", "put"):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        body = draw(value_for(content.get("schema", {}), described, ""))
    # Never the custodian: an account that revokes itself would end the test.
    who = draw(st.sampled_from([None, "ann", "eve", "rita", "ann"]))
    headers = {}
    if draw(st.booleans()):
        headers["Idempotency-Key"] = draw(st.text("abc !\x7f", min_size=1, max_size=5))
    return method.upper(), path, who, body, headers


def is_sound(reply: Reply) -> bool:
    """No fault, and an error in the one shape."""
    if reply.status >= 500:
        return False
    if reply.status < 400:
        return True
    error = json.loads(reply.body)["error"]
    return set(error) == {"kind", "message", "request"} and "Traceback" not in error["message"]


def fuzz(service: Running, examples: int, *, always_the_same: bool = False) -> None:
    described = service.call("GET", "/api/openapi.json").data

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=always_the_same,
        suppress_health_check=list(HealthCheck),
    )
    @given(asked=requests(described))
    def try_one(asked: Any) -> None:
        method, path, who, body, headers = asked
        sent = None if body is None else json.dumps(body).encode()
        before = service.charges
        reply = service.call(method, path, who, sent, headers=headers)
        assert is_sound(reply), (method, path, who, body, reply.status, reply.body[:500])
        asks = "/datasets/" in path and path.endswith("/ask") and reply.status == 200
        assert service.charges - before <= int(asks and who == "ann")

    try_one()


def test_requests_from_the_description_meet_no_fault(service: Running) -> None:
    fuzz(service, 150, always_the_same=True)


@pytest.mark.trust
def test_thousands_of_requests_from_the_description_meet_no_fault(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        fuzz(service, 3000)


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"null",
        b"[]",
        b'{"sql": 1}',
        b'{"sql": "SELECT count(*) FROM people", "budget": {"epsilon": 1e999}}',
        b'{"sql": "SELECT count(*) FROM people", "budget": {"epsilon": NaN}}',
        b'{"sql": "SELECT count(*) FROM people", "budget": {"epsilon": "1e399"}}',
        b'{"sql": "SELECT count(*) FROM people", "budget": {"epsilon": 1' + b"0" * 5000 + b"}}",
        b'{"sql": "\\ud800", "budget": {"epsilon": 1}}',
        b'{"sql": "SELECT \\u0000", "budget": {"epsilon": 1}}',
        b"\xff\xfe",
        b"[" * 20_000,
        b'{"\\ud800": 1}',
    ],
)
def test_bodies_that_break_readers_are_refused(service: Running, raw: bytes) -> None:
    before = service.charges
    for path in ("/api/v1/datasets/people/ask", "/api/v1/releases/open/ask"):
        reply = service.call("POST", path, "ann", raw)
        assert 400 <= reply.status < 500, reply.body[:300]
        assert set(reply.data) == {"error"}
    assert service.charges == before
