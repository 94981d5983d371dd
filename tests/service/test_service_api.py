"""The service for programs: what each route says."""

from __future__ import annotations

import json

import pytest

import discreet as dc
from tests.service.running import COUNT, Running

ASK = "/api/v1/datasets/people/ask"
PREVIEW = "/api/v1/datasets/people/preview"


def test_a_dataset_is_listed_and_described_with_its_promise_and_what_is_left(
    service: Running,
) -> None:
    listed = service.call("GET", "/api/v1/datasets", "ann").data
    assert listed == {"datasets": [{"name": "people", "title": "People"}]}
    found = service.call("GET", "/api/v1/datasets/people", "ann").data
    assert [each["name"] for each in found["columns"]] == ["age", "sex", "income"]
    assert "each row" in found["promise"] and "epsilon 10" in found["promise"]
    assert found["allowance"] == {"epsilon": "3", "delta": "0"}
    mine, whole = found["in_words"]
    assert mine.startswith("About ") and mine.endswith("more counts at ±50, for you.")
    assert whole.endswith("for all analysts together.")


def test_a_preview_tells_the_cost_of_an_accuracy_and_the_margin_of_a_cost(service: Running) -> None:
    before = service.charges
    cost = service.call("POST", PREVIEW, "ann", {"sql": COUNT.format(30), "accuracy": "±50"}).data
    assert cost["cost"] == {"epsilon": "297/5000", "delta": "0"}
    assert cost["affordable"] and not cost["recorded"] and cost["rows"] == 1
    asked = {"sql": COUNT.format(30), "budget": {"epsilon": "0.1"}}
    assert service.call("POST", PREVIEW, "ann", asked).data["margins"] == [
        {"name": "count", "margin": 30.0}
    ]
    dear = {"sql": COUNT.format(30), "budget": {"epsilon": 5}}
    assert not service.call("POST", PREVIEW, "ann", dear).data["affordable"]
    assert service.charges == before


def test_an_answer_is_charged_once_and_given_again_from_the_record(service: Running) -> None:
    before = service.charges
    first = service.ask("ann", COUNT.format(41), "0.1")
    again = service.ask("ann", COUNT.format(41), "0.1")
    assert first.status == again.status == 200
    assert first.data["rows"] == again.data["rows"]
    assert service.charges == before + 1
    assert first.data["cost"] == {"epsilon": "1/10", "delta": "0"}
    asked = {"sql": COUNT.format(41), "budget": {"epsilon": 0.1}}
    assert service.call("POST", PREVIEW, "ann", asked).data["recorded"]


def test_another_analyst_pays_for_the_same_question(service: Running) -> None:
    before = service.charges
    service.ask("ann", COUNT.format(42))
    service.ask("bob", COUNT.format(42))
    assert service.charges == before + 2


def test_a_question_that_is_refused_costs_nothing_and_says_why_in_one_shape(
    service: Running,
) -> None:
    before = service.charges
    wrong = service.ask("ann", "SELECT name FROM people")
    dear = service.ask("ann", COUNT.format(43), "3.5")
    neither = service.call("POST", ASK, "ann", {"sql": COUNT.format(43)})
    odd = service.call("POST", ASK, "ann", {"sql": COUNT.format(43), "budget": {"epsilon": "x"}})
    extra = service.call("POST", ASK, "ann", {"sql": COUNT.format(43), "speed": 1})
    assert [each.status for each in (wrong, dear, neither, odd, extra)] == [400, 409, 400, 400, 422]
    assert dear.kind == "BudgetExceeded" and "analyst 'ann'" in dear.data["error"]["message"]
    for each in (wrong, dear, neither, odd, extra):
        assert set(each.data) == {"error"}
        assert set(each.data["error"]) == {"kind", "message", "request"}
        assert each.data["error"]["request"] == each.headers["x-request-id"]
    assert service.charges == before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"sql"', "The body is not valid JSON."),
        (
            b'{"sql": "SELECT count(*) FROM people", "budget": {"epsilon": true}}',
            "budget.epsilon: a number such",
        ),
        (
            b'{"sql": "SELECT count(*) FROM people", "budget": {"epsilon": -1}}',
            "must be greater than 0",
        ),
        (b'{"sql": "SELECT", "budget": {"epsilon": 1}}', "nothing to show"),
    ],
)
def test_a_body_that_is_not_understood_is_told_so_in_plain_words_and_never_charged(
    service: Running, body: bytes, said: str
) -> None:
    before = service.charges
    reply = service.call("POST", "/api/v1/datasets/people/ask", "ann", body)
    assert reply.status in (400, 422) and said in reply.data["error"]["message"]
    assert "constrained" not in reply.data["error"]["message"] and service.charges == before


def test_an_address_that_is_not_there_is_not_found(service: Running) -> None:
    reply = service.call("GET", "/api/v1/nowhere", "ann")
    assert (reply.status, reply.kind) == (404, "NotFound")


def test_history_is_an_analysts_own_and_everybodys_for_those_who_watch(service: Running) -> None:
    service.ask("ann", COUNT.format(44))
    service.ask("bob", COUNT.format(45))
    own = service.call("GET", "/api/v1/history", "bob").data["entries"]
    assert {each["analyst"] for each in own} == {"bob"}
    assert own[0]["purpose"] == "ask: " + COUNT.format(45)
    for who in ("carla", "rita"):
        seen = service.call("GET", "/api/v1/history?limit=1000", who).data["entries"]
        assert {"ann", "bob", None} <= {each["analyst"] for each in seen}


def test_a_release_is_asked_verified_sampled_and_downloaded_at_no_cost(
    service: Running,
) -> None:
    before = service.charges
    place = "/api/v1/releases/open"
    described = service.call("GET", place, "ann").data
    assert described["dataset"] == "people" and described["classes"]
    asked = service.call("POST", f"{place}/ask", "ann", {"sql": COUNT.format(30)}).data
    (row,) = asked["rows"]
    (answer,) = row["answers"].values()
    assert answer["lower"] <= answer["estimate"] <= answer["upper"]
    assert service.call("GET", f"{place}/verify", "ann").data["ok"]
    sample = service.call("GET", f"{place}/sample?rows=7", "ann")
    assert sample.body == service.call("GET", f"{place}/sample?rows=7", "ann").body
    assert len(sample.body.decode().splitlines()) == 8
    file = service.house.settings.folder / "downloaded.release"
    file.write_bytes(service.call("GET", f"{place}/file", "ann").body)
    mine = dc.open_release(file).ask(COUNT.format(30))
    assert mine.only.estimate == answer["estimate"]
    assert service.charges == before


def test_a_public_release_needs_no_account_and_a_private_one_does(service: Running) -> None:
    names = [each["name"] for each in service.call("GET", "/api/v1/releases").data["releases"]]
    assert names == ["open"]
    assert service.call("GET", "/api/v1/releases/open").status == 200
    assert service.call("GET", "/api/v1/releases/closed").status == 401
    assert service.call("GET", "/api/v1/releases/closed", "eve").status == 200
    refused = service.call("POST", "/api/v1/releases/closed/ask", None, {"sql": COUNT.format(1)})
    assert refused.status == 401


def test_a_custodian_lets_somebody_in_gives_a_budget_and_ends_the_account(
    service: Running,
) -> None:
    made = service.call("POST", "/api/v1/accounts", "carla", {"name": "dan", "token_days": 2})
    token = made.data["token"]
    assert made.status == 201
    assert service.call("GET", "/api/v1/datasets", token=token).data == {"datasets": []}
    place = "/api/v1/accounts/dan/budgets/people"
    given = service.call("PUT", place, "carla", {"budget": {"epsilon": "0.5"}})
    assert given.data["budgets"]["people"]["cap"] == {"epsilon": "1/2", "delta": "0"}
    lower = service.call("PUT", place, "carla", {"budget": {"epsilon": "0.4"}})
    assert lower.status == 400 and "only raised" in lower.data["error"]["message"]
    assert service.call("GET", "/api/v1/datasets", token=token).data["datasets"]
    assert service.call("DELETE", "/api/v1/accounts/dan", "carla").status == 200
    assert service.call("GET", "/api/v1/datasets", token=token).status == 401
    assert service.call("POST", "/api/v1/accounts", "carla", {"name": "dan"}).status == 400


def test_health_readiness_and_counters(service: Running) -> None:
    assert service.call("GET", "/healthz").body == b"ok\n"
    assert service.call("GET", "/readyz").body == b"ready\n"
    service.ask("ann", COUNT.format(46))
    text = service.call("GET", "/metrics", "rita").body.decode()
    assert 'discreet_budget_cap{dataset="people",notion="epsilon"} 10' in text
    assert 'route="/api/v1/datasets/{name}/ask",status="200"' in text
    assert "SELECT" not in text


def test_the_log_names_routes_and_people_and_never_a_question_or_a_number_of_an_answer(
    service: Running,
) -> None:
    secret = "SELECT count(*) FROM people WHERE income > 613"
    answer = service.ask("ann", secret).data["rows"][0]["answers"]["count"]["estimate"]
    service.call("GET", "/api/v1/history?dataset=whispered", "ann")
    service.call("GET", "/no/such/whispered/page", "ann")
    lines = service.log.getvalue().splitlines()
    assert all(json.loads(line)["event"] in ("started", "request") for line in lines)
    assert "SELECT" not in service.log.getvalue() and "whispered" not in service.log.getvalue()
    last = [json.loads(line) for line in lines][-3]
    assert last["route"] == "/api/v1/datasets/{name}/ask" and last["person"] == "ann"
    assert answer not in last.values()


def test_every_response_says_that_it_may_not_be_framed_sniffed_or_kept(service: Running) -> None:
    for path in ("/healthz", "/api/v1/me", "/none", "/api/v1/releases"):
        headers = service.call("GET", path).headers
        assert headers["x-frame-options"] == "DENY" and headers["cache-control"] == "no-store"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "server" not in headers
