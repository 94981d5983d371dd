"""The pages in a real browser: the analyst's way, the custodian's, a release; on a phone; checked by axe."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.service.running import COUNT, Running

PATIENCE_MS = 180_000
"""For one step. On a machine that does other work too, Playwright's own 30 seconds are sometimes not enough."""
AXE = files("axe_playwright_python").joinpath("axe.min.js")
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    assert place is not None, "Install chromium: apt-get install chromium. `make test` does."
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield browser
        browser.close()


def shown(*, wide: bool = True, narrow: bool = True) -> Any:
    """In which windows a test is run; in those that are left out here, by `make trust`."""
    windows = [
        pytest.param(window, id=name, marks=() if now else pytest.mark.trust)
        for window, name, now in (
            ((1280, "light"), "wide and light", wide),
            ((400, "dark"), "narrow and dark", narrow),
        )
    ]
    return pytest.mark.parametrize("page", windows, indirect=True)


@pytest.fixture
def page(chromium: Any, request: Any) -> Iterator[Any]:
    width, scheme = request.param
    with chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme
    ) as context:
        context.set_default_timeout(PATIENCE_MS)
        opened = context.new_page()
        opened.faults = []
        opened.on("pageerror", lambda error: opened.faults.append(str(error)))
        opened.on(
            "console",
            lambda said: (
                opened.faults.append(said.text)
                if said.type == "error" and "Failed to load resource" not in said.text
                else None
            ),
        )
        opened.on(
            "request",
            lambda asked: (
                opened.faults.append(f"asked {asked.url}")
                if not asked.url.startswith(("http://127.0.0.1:", "data:"))
                else None
            ),
        )
        yield opened
        assert opened.faults == []


def sign_in(page: Any, service: Running, who: str) -> None:
    page.goto(f"{service.url}/sign-in#{service.tokens[who]}")
    page.wait_for_selector("form.who")
    assert "discreet_" not in page.url


def check(page: Any) -> None:
    """Nothing is cut off at the side, and axe finds no violation.

    The page must be there whole: a part of one has neither a heading nor a main part.
    """
    page.wait_for_load_state()
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1], f"{page.url} is {wide[0]} pixels wide, and the window {wide[1]}"
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(f"axe.run(document, {RULES})")
    said = [
        (each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]
    ]
    assert said == [], (page.url, said)


@shown(wide=False)
def test_an_analyst_signs_in_previews_asks_sees_bars_and_spends_it_all(
    page: Any, service: Running
) -> None:
    who = "ann" if page.viewport_size["width"] > 1000 else "bob"
    sign_in(page, service, who)
    check(page)
    page.click("text=People >> visible=true")
    page.wait_for_selector("#question")
    check(page)
    before = service.charges
    box = page.locator("textarea[name=sql]")
    box.press_sequentially("SELECT se")
    page.wait_for_selector(".offers li")
    box.press("ArrowDown")
    box.press("Tab")
    assert box.input_value() in ("SELECT sex", "SELECT SELECT")
    box.fill("SELECT sex, count(*) FROM people GROUP BY sex")
    page.fill("input[name=epsilon] >> visible=true", "0.5")
    page.wait_for_selector("#ask button:has-text('Ask for ε 0.5'):enabled")
    assert "± 6" in page.inner_text("#preview") and service.charges == before
    page.click("#ask button")
    page.wait_for_selector("#answer svg")
    assert service.charges == before + 1
    assert page.locator("#answer svg .whisker").count() == 1
    check(page)
    page.reload()
    assert page.locator("#answer svg").count() == 1 and service.charges == before + 1
    page.fill("input[name=title]", "By sex")
    page.click("text=Save question")
    page.wait_for_selector("#saved-head")
    page.goto(f"{service.url}/datasets/people?sql={COUNT.format(3)}&epsilon=2.5")
    page.click("#ask button:has-text('Ask for ε 2.5')")
    page.wait_for_selector("#answer .single")
    page.goto(f"{service.url}/datasets/people?sql={COUNT.format(4)}&epsilon=0.1")
    assert "More than you have left." in page.inner_text("#preview")
    assert page.locator("#ask button").is_disabled()
    assert "Less than one count" in page.inner_text("aside")
    check(page)
    page.goto(f"{service.url}/history")
    check(page)
    page.click("text=see it again >> nth=0")
    page.wait_for_selector("#answer")
    assert service.charges == before + 2


@shown(narrow=False)
def test_a_question_that_was_changed_is_not_charged_as_it_was_before(
    page: Any, service: Running
) -> None:
    """The button holds an older question until the new one was previewed, so it cannot be pressed."""
    sign_in(page, service, "ann")
    page.goto(f"{service.url}/datasets/people?sql={COUNT.format(7)}&epsilon=0.01")
    page.wait_for_selector("#ask button:enabled")
    page.route("**/preview", lambda route: route.abort())
    page.fill("textarea[name=sql]", COUNT.format(8))
    assert page.locator("#ask button").is_disabled()
    page.wait_for_selector("#preview:has-text('cannot be reached')")
    assert page.locator("#ask button").is_disabled()
    page.faults.clear()  # the preview that was stopped
    page.unroute("**/preview")
    page.fill("textarea[name=sql]", COUNT.format(9))
    page.wait_for_selector("#ask button:enabled")
    assert page.locator("#ask input[name=sql]").input_value() == COUNT.format(9)
    page.fill("textarea[name=sql]", "")
    assert page.locator("#ask button").is_disabled()


@shown()
def test_a_visitor_reads_what_an_epsilon_means(page: Any, service: Running) -> None:
    page.goto(f"{service.url}/releases/open")
    page.click("text=What it means to one person")
    page.wait_for_selector("#densities-head")
    check(page)
    page.click("text=Another budget")
    page.fill("input[name=epsilon]", "2")
    page.click("button:has-text('Explain')")
    page.wait_for_selector("text=at epsilon 2")
    assert page.locator("figure svg").count() == 2
    check(page)
    page.fill("input[name=epsilon]", "none")
    page.click("button:has-text('Explain')")
    page.wait_for_selector(".mistake")
    check(page)


@shown()
def test_a_release_is_looked_at_and_asked(page: Any, service: Running) -> None:
    page.goto(f"{service.url}/releases/open")
    check(page)
    assert page.locator("figure svg").count() >= 2
    page.fill("textarea[name=sql]", "SELECT age, count(*) FROM people GROUP BY age")
    page.press("textarea[name=sql]", "Control+Enter")
    page.wait_for_selector("#answer svg")
    check(page)
    page.fill("textarea[name=sql]", "SELECT stddev(age) FROM nowhere")
    page.click("button:has-text('Ask')")
    page.wait_for_selector(".mistake")
    check(page)


@shown(narrow=False)
def test_a_custodian_publishes_a_csv_file_that_the_browser_sends(
    page: Any, service: Running, tmp_path: Path
) -> None:
    narrow = page.viewport_size["width"] < 1000
    name = "folk" if narrow else "crowd"
    file = tmp_path / f"{name}.csv"
    tables = service.house.settings.tables
    assert tables is not None
    file.write_bytes((tables / "people.csv").read_bytes())
    sign_in(page, service, "carla")
    page.click("text=Publish >> nth=0")
    page.wait_for_selector("#upload")
    check(page)
    page.set_input_files("input[type=file]", file)
    page.click("#upload button")
    page.wait_for_selector("#columns-form")
    check(page)
    page.click("#columns-form button")
    page.wait_for_selector(".mistake")
    page.fill("input[name=dataset]", name)
    page.fill("input[name=cap]", "10")
    for at, kind in enumerate(("integer", "category", "number")):
        page.select_option(f"select[name='kind {at}']", kind)
    check(page)
    assert page.locator("textarea[name='values 0']").is_hidden()
    for box, value in (
        ("low 0", "0"),
        ("high 0", "99"),
        ("width 0", "5"),
        ("low 2", "0"),
        ("high 2", "1000"),
    ):
        page.fill(f"input[name='{box}']", value)
    page.fill("textarea[name='values 1']", "F\nM")
    page.click("#columns-form button")
    page.wait_for_selector("#errors")
    check(page)
    before = page.inner_text("#errors tbody")
    charges = service.charges
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    page.route("**/plan.json*", hold)
    page.locator("#epsilon-slider").fill("-1")
    while not held:
        page.wait_for_timeout(20)
    assert page.locator("#publish button").is_disabled()  # it would charge what is no longer shown
    held[0].continue_()
    page.unroute("**/plan.json*")
    page.wait_for_function(
        "text => document.querySelector('#errors tbody').innerText !== text", arg=before
    )
    page.check("input[value='means(income)']")
    page.wait_for_selector("#errors td:has-text('means(income)')")
    assert service.charges == charges
    page.check("input[name=confirm]")
    page.click("#publish button")
    page.wait_for_selector("#destroy-head")
    assert service.charges == charges + 1
    assert str(service.house.ledger.entries()[-1].cost) == "epsilon 0.1"
    check(page)
    page.click("text=Open the release")
    page.wait_for_selector("#charts-head")
    for path in ("/people", "/ledger", "/review", "/publish"):
        page.goto(service.url + path)
        check(page)


@shown()
def test_each_page_is_there_within_a_second_of_processor_time(page: Any, service: Running) -> None:
    sign_in(page, service, "rita")
    for path in ("/", "/datasets/people", "/releases/open", "/ledger", "/review"):
        page.goto(service.url + path)  # the first time warms up what is kept
        began = time.process_time()
        page.goto(service.url + path)
        assert time.process_time() - began < 1
