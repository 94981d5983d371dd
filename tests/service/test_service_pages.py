"""The web pages over plain HTTP: who sees what, what a form may do, what an address holds."""

from __future__ import annotations

import csv
import html
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

import discreet as dc
from discreet.privacy.explanation import explain
from discreet.report.disclosure.meaning import lead_of, parts_of
from discreet.service.web.schema_form import fields_of, toml_of
from tests.service.browsing import Browser
from tests.service.running import COUNT, SCHEMA, Running, running

PAGES = {
    "ann": ["/", "/datasets/people", "/history", "/releases/open", "/releases/closed"],
    "carla": ["/", "/publish", "/publish/people.csv", "/people", "/ledger", "/review"],
    "rita": ["/", "/review", "/ledger", "/datasets/people", "/releases/closed"],
    None: ["/", "/sign-in", "/releases/open", "/explain", "/explain?release=open"],
}
PRIVATE = {
    "/datasets/people": ("ann", "carla", "rita"),
    "/history": ("ann",),
    "/publish": ("carla",),
    "/publish/people.csv": ("carla",),
    "/publish/people.csv/plan": ("carla",),
    "/published/open": ("carla",),
    "/people": ("carla",),
    "/ledger": ("carla", "rita"),
    "/review": ("carla", "rita"),
}
FORMS = (
    "/datasets/people/ask",
    "/datasets/people/save",
    "/datasets/people/forget",
    "/people",
    "/people/bob/token",
    "/people/bob/revoke",
    "/people/bob/budget",
    "/publish/people.csv/schema",
    "/publish/people.csv/columns",
    "/publish/people.csv/release",
    "/sign-out",
)


def address(sql: str, epsilon: str = "0.01") -> str:
    return "/datasets/people?" + urlencode({"sql": sql, "epsilon": epsilon})


@pytest.mark.parametrize("who", PAGES)
def test_every_page_is_small_has_a_title_and_nothing_inline(
    service: Running, who: str | None
) -> None:
    browser = Browser(service, who)
    for path in PAGES[who]:
        reply = browser.get(path)
        text = reply.body.decode()
        assert reply.status == 200, path
        assert len(reply.body) <= 200_000
        assert "<title>" in text and '<html lang="en">' in text
        assert " style=" not in text and "<style" not in text and "onclick" not in text
        assert text.count("<script") == 1 and '<script src="/static/page.js?' in text
        assert "http://" not in text.replace(service.url, "")
        assert "https://" not in text
        assert " method " not in text, "a function is shown in place of what it gives"


def test_a_page_is_for_its_roles_and_others_are_sent_away(service: Running) -> None:
    for path, roles in PRIVATE.items():
        for who in ("ann", "carla", "rita"):
            status = Browser(service, who).get(path).status
            allowed = (
                303 if path.endswith("/plan") else 200
            )  # to the schema, which is not written yet
            assert status == (allowed if who in roles else 403), (path, who)
        away = Browser(service).get(path)
        assert away.status == 303
        assert away.headers["location"] == f"/sign-in?next={quote(path, safe='')}"
    assert Browser(service).get("/releases/closed").status == 303
    assert Browser(service, "eve").get("/datasets/people").status == 403
    for data in ("/datasets/people.json?sql=x", "/releases/closed.csv?sql=x"):
        assert Browser(service).get(data).status == 401


def test_looking_never_charges_and_asking_leads_to_an_address_that_shows_the_answer(
    service: Running,
) -> None:
    browser = Browser(service, "ann")
    before = service.charges
    looked = browser.get(address(COUNT.format(60))).body.decode()
    assert "Ask for ε 0.01" in looked and 'id="answer"' not in looked
    assert browser.get(address(COUNT.format(60)).replace("people?", "people.json?")).status == 409
    assert service.charges == before
    asked = browser.send("/datasets/people/ask", sql=COUNT.format(60), epsilon="0.01")
    assert asked.status == 303 and service.charges == before + 1
    shown = browser.get(asked.headers["location"].partition("#")[0])
    assert 'id="answer"' in shown.body.decode()
    data = browser.get(address(COUNT.format(60)).replace("people?", "people.json?")).data
    table = browser.get(address(COUNT.format(60)).replace("people?", "people.csv?")).body.decode()
    (row,) = csv.DictReader(io.StringIO(table))
    answer = data["rows"][0]["answers"]["count"]
    assert float(row["count"]) == answer["estimate"]
    assert service.charges == before + 1


def test_a_release_page_answers_and_gives_the_same_as_json_and_csv(service: Running) -> None:
    browser = Browser(service)
    query = urlencode({"sql": "SELECT sex, count(*) FROM people GROUP BY sex"})
    page = browser.get(f"/releases/open?{query}").body.decode()
    data = browser.get(f"/releases/open.json?{query}").data
    assert 'id="answer"' in page and "<svg" in page and "Verified" in page
    assert (
        len(data["rows"]) == len(browser.get(f"/releases/open.csv?{query}").body.splitlines()) - 1
    )
    refused = browser.get("/releases/open?" + urlencode({"sql": "SELECT median(income) FROM x"}))
    assert refused.status == 400 and "Not answered." in refused.body.decode()


@pytest.mark.parametrize("path", FORMS)
def test_a_form_without_its_key_or_from_another_site_changes_nothing(
    service: Running, path: str
) -> None:
    who = "carla" if path.startswith(("/people", "/publish")) else "ann"
    browser = Browser(service, who)
    before = service.charges, len(service.house.accounts.events())
    fields: dict[str, Any] = {
        "sql": COUNT.format(70), "epsilon": "0.01", "name": "mallory", "role": "custodian",
        "amount": "9", "dataset": "people", "schema": "x", "confirm": "yes",
        "wish": "for=marginals(1)&epsilon=1", "question": "1",
    }  # fmt: skip
    key = browser.form_key()
    assert browser.post(path, **fields).status == 403
    assert browser.post(path, form_key="x" * 43, **fields).status == 403
    other = Browser(service, "rita").form_key()
    assert browser.post(path, form_key=other, **fields).status == 403
    for header in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
        assert browser.post(path, header, form_key=key, **fields).status == 403
    assert Browser(service).post(path, form_key=key, **fields).status == 401
    as_json = {"Content-Type": "application/json"}
    assert browser.post(path, as_json, form_key=key, **fields).status == 403
    assert (service.charges, len(service.house.accounts.events())) == before
    assert browser.get("/").status == 200 and "Sign out" in browser.get("/").body.decode()


def test_the_api_takes_a_session_only_with_its_form_key(service: Running) -> None:
    browser = Browser(service, "ann")
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    body = {"sql": COUNT.format(71), "budget": {"epsilon": 0.01}}
    before = service.charges
    path = "/api/v1/datasets/people/ask"
    assert service.call("POST", path, None, body, headers={"Cookie": cookie}).status == 403
    headers = {"Cookie": cookie, "X-Discreet-Form-Key": browser.form_key()}
    preview = service.call("POST", path.replace("/ask", "/preview"), None, body, headers=headers)
    assert preview.status == 200 and service.charges == before


def test_a_session_cannot_be_fixed_beforehand_and_ends_when_it_is_signed_out(
    service: Running,
) -> None:
    planted = Browser(service)
    planted.cookies["discreet_session"] = "planted-by-somebody-else"
    reply = planted.post("/sign-in", token=service.tokens["ann"])
    assert planted.cookies["discreet_session"] != "planted-by-somebody-else"
    said = reply.headers["set-cookie"].lower()
    assert "httponly" in said and "samesite=strict" in said and "path=/" in said
    first = planted.cookies["discreet_session"]
    planted.post("/sign-in", token=service.tokens["ann"])
    assert planted.cookies["discreet_session"] != first
    old = Browser(service)
    old.cookies["discreet_session"] = first
    assert old.get("/history").status == 303  # the session before ended with the new one
    kept = planted.cookies["discreet_session"]
    assert planted.send("/sign-out").status == 303
    old.cookies["discreet_session"] = kept
    assert old.get("/history").status == 303


def test_signing_in_goes_on_to_a_place_of_this_site_only(service: Running) -> None:
    for goal, place in (
        ("/history?a=b", "/history?a=b"),
        ("https://evil.example", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/x\r\nSet-Cookie: a=b", "/"),
    ):
        reply = Browser(service).post("/sign-in", token=service.tokens["ann"], next=goal)
        assert reply.headers["location"] == place
    assert Browser(service).post("/sign-in", token="discreet_wrong").status == 401


def test_scripts_in_names_values_questions_and_titles_stay_text(tmp_path: Path) -> None:
    evil = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'
    declared = SCHEMA.replace('values = ["F", "M"]', f"values = ['F', 'M', '{evil}']")
    declared += '[columns."<b onmouseover=alert(3)>"]\nkind = "boolean"\n'
    with running(tmp_path, release=False, declared=SCHEMA) as service:
        schema = service.house.settings.datasets[0].schema
        table = Path(service.house.settings.datasets[0].source)
        assert schema.is_file() and table.is_file()
        service.house.accounts.save_question(
            "ann", dataset="people", title=evil, sql=f"SELECT '{evil}'"
        )
        browser = Browser(service, "ann")
        texts = [
            browser.get("/datasets/people").body.decode(),
            browser.get(address(f"SELECT '{evil}' FROM people")).body.decode(),
            browser.get(f"/datasets/{quote(evil, safe='')}").body.decode(),
            browser.get(f"/{quote(evil, safe='')}").body.decode(),
        ]
        custodian = Browser(service, "carla")
        texts.append(custodian.send("/publish/people.csv/schema", schema=declared).body.decode())
        texts.append(custodian.get("/publish/people.csv").body.decode())
        texts.append(custodian.get("/publish/people.csv/plan").body.decode())
        texts.append(
            custodian.send(
                "/people/bob/budget", dataset="people", amount="4", reason=evil
            ).body.decode()
        )
        texts.append(custodian.get("/ledger").body.decode())
    for text in texts:
        assert "<script>alert" not in text and "<img src=x" not in text and "<b onmouse" not in text
    assert "&lt;script&gt;" in texts[0] and "&lt;script&gt;" in texts[-1]


def test_a_formula_in_a_label_does_not_run_in_a_spreadsheet() -> None:
    from discreet.service.web.questions import _cell

    assert _cell("=1+1") == "'=1+1" and _cell("@x") == "'@x" and _cell(-5.0) == -5.0


def test_a_custodian_goes_from_a_table_to_a_release_and_is_told_about_the_original(
    tmp_path: Path,
) -> None:
    with running(tmp_path, release=False) as service:
        browser = Browser(service, "carla")
        draft = browser.get("/publish/people.csv").body.decode()
        assert "FILL IN" in draft and "columns.income" in draft
        mended = browser.send("/publish/people.csv/schema", schema="dataset = 1")
        assert mended.status == 400 and "things to fix" in mended.body.decode()
        before = service.charges
        written = browser.send(
            "/publish/people.csv/schema", schema=SCHEMA.replace('people"', 'folk"', 1)
        )
        assert written.headers["location"] == "/publish/people.csv/plan"
        wish = urlencode({"for": "marginals(1)", "epsilon": "2"})
        plan = browser.get(f"/publish/people.csv/plan?{wish}").body.decode()
        assert "a group of 100" in plan and "100 ±" in plan
        pairs = urlencode({"for": "marginals(2)", "epsilon": "1/10"})
        average = browser.get(f"/publish/people.csv/plan.json?{pairs}").data["rows"][0]
        assert average["small"] == average["clear"] == "depends on the rows", (
            "it is of an average cell"
        )
        assert "built-in method" not in plan and "bound method" not in plan
        data = browser.get(f"/publish/people.csv/plan.json?{wish}").data["rows"]
        wider = browser.get("/publish/people.csv/plan.json?" + wish.replace("=2", "=1")).data[
            "rows"
        ]
        assert wider[0]["width"] > data[0]["width"] > 0
        assert service.charges == before
        refused = browser.send("/publish/people.csv/release", name="folk", wish=wish)
        assert refused.status == 400 and service.charges == before
        done = browser.send("/publish/people.csv/release", name="folk", wish=wish, confirm="yes")
        assert done.status == 303 and service.charges == before + 1
        told = browser.get(done.headers["location"]).body.decode()
        assert "Should the original be destroyed?" in told and "never be asked again" in told
        assert browser.get("/releases/folk").status == 200
        again = browser.send("/publish/people.csv/release", name="folk", wish=wish, confirm="yes")
        assert again.status == 400 and service.charges == before + 1
        assert "There is a release" in again.body.decode()
        assert str(tmp_path) not in again.body.decode()


def test_a_schema_is_filled_in_by_boxes_and_says_the_same_as_its_text(tmp_path: Path) -> None:
    with running(tmp_path, release=False) as service:
        browser = Browser(service, "carla")
        filled = {
            "columns": "3", "dataset": "folk", "people": "400", "cap": "10", "adjacency": "add-remove",
            "name 0": "age", "use 0": "yes", "kind 0": "integer", "low 0": "0", "high 0": "99", "width 0": "5",
            "name 1": "sex", "use 1": "yes", "kind 1": "category", "values 1": "F\r\nM\r\n",
            "name 2": "income", "use 2": "yes", "kind 2": "number", "low 2": "0", "high 2": "1000", "bits 2": "5",
        }  # fmt: skip
        wrong = {**filled, "high 0": "a lot", "dataset": ""}
        refused = browser.send("/publish/people.csv/columns", **wrong)
        assert refused.status == 400 and "2 things to fix" in refused.body.decode()
        assert 'value="a lot"' in refused.body.decode()
        done = browser.send("/publish/people.csv/columns", **filled)
        assert done.headers["location"] == "/publish/people.csv/plan"
        written = (tmp_path / "state" / "drafts" / "people.csv.toml").read_text()
        assert dc.Schema.loads(written) == dc.Schema.loads(SCHEMA.replace('"people"', '"folk"'))
        assert fields_of(written) == fields_of(toml_of(filled))
        without = toml_of({**filled, "use 1": ""})
        assert dc.Schema.loads(without).names == ("age", "income")
        assert fields_of(SCHEMA + "[columns.x]\nkind = 'number'\ncuts = [1]\n") is None


def test_a_table_is_sent_by_a_custodian_alone_and_never_replaced(tmp_path: Path) -> None:
    with running(tmp_path, release=False, upload_bytes=1000) as service:
        custodian = Browser(service, "carla")
        key = {"X-Discreet-Form-Key": custodian.form_key()}
        put = lambda browser, name, body, keys: browser._send(  # noqa: E731
            "PUT", f"/publish/tables/{name}", body, dict(keys)
        )
        assert put(custodian, "new.csv", b"a,b\nx,y\n", key).status == 201
        assert put(custodian, "new.csv", b"other", key).status == 400
        assert put(custodian, "new2.csv", b"a", {}).status == 403
        assert put(custodian, "..%2Fnew3.csv", b"a", key).status in (400, 404, 405)
        assert put(custodian, "new4.exe", b"a", key).status == 400
        assert put(custodian, "new5.csv", b"a" * 1001, key).status == 413
        analyst = Browser(service, "ann")
        assert (
            put(analyst, "new6.csv", b"a", {"X-Discreet-Form-Key": analyst.form_key()}).status
            == 403
        )
        tables = service.house.settings.tables
        assert tables is not None
        assert sorted(each.name for each in tables.iterdir()) == ["new.csv", "people.csv"]
        assert (tables / "new.csv").read_bytes() == b"a,b\nx,y\n"
        assert "not listed" not in custodian.get("/publish").body.decode()
        (tables / "my table.csv").write_bytes(b"a,b\nx,y\n")
        assert "1 file is not listed" in custodian.get("/publish").body.decode()


def test_a_custodian_lets_in_gives_and_ends_by_forms(service: Running) -> None:
    browser = Browser(service, "carla")
    page = browser.send("/people", name="fay", role="analyst", days="3").body.decode()
    assert "discreet_" in page and "cannot be shown again" in page
    assert "discreet_" not in browser.get("/people").body.decode().replace("discreet_session", "")
    given = browser.send("/people/fay/budget", dataset="people", amount="0.25", reason="a study")
    assert given.status == 303
    assert str(service.house.datasets["people"].allowance("fay")) == "epsilon 0.25"
    assert browser.send("/people/fay/revoke").status == 303
    person = service.house.accounts.person("fay")
    assert person is not None and person.is_revoked
    assert browser.send("/people/carla/revoke").status == 400


def test_errors_of_pages_are_pages_and_errors_of_data_are_data(service: Running) -> None:
    page = Browser(service, "ann").get("/no-such-page")
    assert page.status == 404 and page.headers["content-type"].startswith("text/html")
    data = Browser(service, "ann").get("/releases/none.json?sql=x")
    assert data.status == 404 and json.loads(data.body)["error"]["kind"] == "NotFound"


def test_the_page_explains_what_the_terminal_explains_to_everybody(service: Running) -> None:
    """Beliefs, groups, units, small groups and both densities; for a budget and for a release."""
    browser = Browser(service)
    query = urlencode({"epsilon": "0.5", "delta": "1e-6", "rows_each": "3", "household": "5"})
    reply = browser.get(f"/explain?{query}")
    text = html.unescape(reply.body.decode())
    found = explain(dc.Budget(epsilon="0.5", delta="1e-6"), rows_each=3, household=5)
    assert reply.status == 200 and lead_of(found) in text
    for title, table, sentence in parts_of(found):
        assert title in text and sentence in text
        for row in table.rows:
            assert all(f">{cell}</td>" in text for cell in row), (title, row)
    assert text.count("<svg") == 3  # the mark of the site, two densities, their log-ratio
    released = html.unescape(browser.get("/explain?release=open").body.decode())
    shelved = service.house.shelf.get("open")
    assert shelved is not None
    budget = shelved.reader.release.budget
    assert lead_of(explain(budget)) in released


@pytest.mark.parametrize(
    "query",
    [
        {"epsilon": "0"},
        {"epsilon": "1e-300"},
        {"epsilon": "101"},
        {"epsilon": "many"},
        {"delta": "2"},
        {"household": "0"},
        {"rows_each": "1.5"},
        {"household": "1" * 50},
    ],
    ids=str,
)
def test_a_budget_that_cannot_be_explained_is_refused_in_a_sentence(
    service: Running, query: dict[str, str]
) -> None:
    reply = Browser(service).get("/explain?" + urlencode(query))
    text = reply.body.decode()
    assert reply.status == 400 and 'class="mistake"' in text and "<table" not in text


def test_a_closed_release_is_explained_only_to_those_who_may_see_it(service: Running) -> None:
    assert Browser(service).get("/explain?release=closed").status == 303
    assert Browser(service, "ann").get("/explain?release=closed").status == 200
    assert Browser(service, "ann").get("/explain?release=nothing").status == 404


@pytest.mark.parametrize(("notion", "letter"), [("rho", "ρ"), ("mu", "μ")])
def test_a_cap_in_rho_or_mu_is_asked_by_that_name_on_the_page_in_python_and_in_curl(
    tmp_path: Path, notion: str, letter: str
) -> None:
    declared = SCHEMA.replace("epsilon =", f"{notion} =").replace('"people"', '"the order"')
    with running(tmp_path, release=False, declared=declared) as service:
        sql = 'SELECT count(*) FROM "the order"'
        place = "/datasets/the%20order?" + urlencode({"sql": sql, "epsilon": "1/10"})
        browser = Browser(service, "ann")
        browser.send("/datasets/the%20order/ask", sql=sql, epsilon="1/10")
        text = html.unescape(browser.get(place).body.decode())
        assert f"Price, {letter}" in text and f'data-notion="{notion}"' in text
        assert f'budget=dc.Budget({notion}="1/10")' in text
        assert f'"budget": {{"{notion}": "1/10"}}' in text and "/datasets/the%20order/ask" in text
        assert 'placeholder="SELECT count(*) FROM "the order""' in text
        body = {"sql": sql, "budget": {notion: "1/10"}}
        place = "/api/v1/datasets/the%20order/preview"
        assert service.call("POST", place, "ann", body).data["recorded"]
        before = service.charges
        dataset = dc.connect(service.url, token=service.tokens["ann"]).dataset("the order")
        dataset.ask(sql, budget=dc.Budget(**{notion: "1/10"}))
        assert service.charges == before, "the client's question is the page's"
        with pytest.raises(dc.BadBudget, match="not int"):
            dataset.ask(sql, budget=1)  # type: ignore[arg-type]
