"""Pictures of the service's pages, from the demo, in a real browser.

    python tools/screenshots.py docs/service     the pictures of the README
    python tools/screenshots.py --all FOLDER     every page, wide and narrow, light and dark

Needs chromium and the Python package playwright.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from discreet.service.application import build
from discreet.service.demo import demo_settings, open_demo, publish_demo
from discreet.service.desk import Desk
from discreet.service.serving import address_of, bound_socket, config_for
from discreet.service.watching import RequestLog

MOST_BYTES = 150_000
"""The most that all pictures of the README take together."""
GROUPS = "SELECT education, count(*) FROM people GROUP BY education"
QUESTIONS = (
    GROUPS,
    "SELECT count(*) FROM people WHERE age >= 65",
    "SELECT age, count(*) FROM people GROUP BY age",
    "SELECT region, education, count(*) FROM people GROUP BY region, education",
    "SELECT sex, avg(income) FROM people GROUP BY sex",
)


@contextmanager
def demo() -> Iterator[tuple[str, dict[str, str]]]:
    """A running demo, with a release: its address, and the tokens of its people."""
    import asyncio
    import io

    import uvicorn

    with tempfile.TemporaryDirectory() as folder:
        settings = demo_settings(Path(folder), port=0)
        sock = bound_socket(settings)
        opened = open_demo(settings)
        publish_demo(settings)
        desk = Desk.at(opened.house, RequestLog(io.StringIO()))
        server = uvicorn.Server(config_for(build(desk), settings))
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[sock])))
        thread.start()
        try:
            yield address_of(sock), opened.tokens
        finally:
            server.should_exit = True
            thread.join()


def browser() -> str:
    """Debian's chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise SystemExit("There is no chromium. Install it: apt-get install chromium")
    return found


def sign_in(page: Any, url: str, token: str) -> None:
    page.goto(f"{url}/sign-in#{token}")
    page.wait_for_selector("form.who")


def asked(page: Any, url: str, sql: str, epsilon: str = "0.1") -> str:
    """Ask a live question by clicking; the address of its answer."""
    page.goto(f"{url}/datasets/people?{urlencode({'sql': sql, 'epsilon': epsilon})}")
    if page.locator("#answer").count() == 0:
        page.click("#ask button")
        page.wait_for_selector("#answer")
    address: str = page.url
    return address


def schema_of_demo() -> str:
    from discreet.demo import schema_text

    return schema_text()


def every_page(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with demo() as (url, tokens), sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        views: dict[str, list[tuple[str, str]]] = {"": [("front", "/"), ("sign-in", "/sign-in")]}
        with chromium.new_context() as context:
            page = context.new_page()
            sign_in(page, url, tokens["ann"])
            answers = [
                (f"answer{at}", asked(page, url, sql).removeprefix(url))
                for at, sql in enumerate(QUESTIONS)
            ]
            views["ann"] = [
                ("home", "/"),
                ("dataset", "/datasets/people"),
                (
                    "preview",
                    f"/datasets/people?{urlencode({'sql': 'SELECT avg(age) FROM people', 'epsilon': '0.2'})}",
                ),
                ("refused", f"/datasets/people?{urlencode({'sql': 'SELECT name FROM people'})}"),
                *answers,
                ("history", "/history"),
                ("release", f"/releases/people?{urlencode({'sql': GROUPS})}"),
                ("error", "/publish"),
            ]
        with chromium.new_context() as context:
            page = context.new_page()
            sign_in(page, url, tokens["carla"])
            page.goto(f"{url}/publish/people.csv")
            page.screenshot(path=folder / "schema-draft-1280-light.png", full_page=True)
            page.click("#columns-form button")
            page.screenshot(path=folder / "schema-mistakes-1280-light.png", full_page=True)
            page.click("text=The same as text")
            page.fill(
                "textarea[name=schema]", schema_of_demo().replace('epsilon = "1"', 'epsilon = "4"')
            )
            page.click("text=Check the text, and go on")
            page.wait_for_selector("#errors")
            views["carla"] = [
                ("custodian-home", "/"),
                ("publish", "/publish"),
                ("schema", "/publish/people.csv"),
                ("plan", "/publish/people.csv/plan?for=marginals(1)&for=means(income)&epsilon=0.5"),
                ("published", "/published/people?table=people.csv"),
                ("people", "/people"),
                ("ledger", "/ledger"),
                ("custodian-dataset", "/datasets/people"),
            ]
        views["rita"] = [("review", "/review")]
        for who, pages in views.items():
            for width in (1280, 400):
                for scheme in ("light", "dark"):
                    with chromium.new_context(
                        viewport={"width": width, "height": 900}, color_scheme=scheme
                    ) as context:
                        page = context.new_page()
                        if who:
                            sign_in(page, url, tokens[who])
                        for name, path in pages:
                            page.goto(url + path)
                            wide = page.evaluate("document.documentElement.scrollWidth")
                            if wide > width:
                                print(f"{name} is {wide} wide at {width}")
                            page.screenshot(
                                path=folder / f"{name}-{width}-{scheme}.png", full_page=True
                            )
        chromium.close()


def readme(folder: Path) -> None:
    """Two small pictures: an answer, and a plan."""
    folder.mkdir(parents=True, exist_ok=True)
    with demo() as (url, tokens), sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        shape: Any = {"viewport": {"width": 1200, "height": 840}, "device_scale_factor": 0.65}
        with chromium.new_context(**shape) as context:
            page = context.new_page()
            sign_in(page, url, tokens["ann"])
            for sql in QUESTIONS[1:3]:
                asked(page, url, sql)
            page.goto(asked(page, url, GROUPS))
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=folder / "answer.png")
        with chromium.new_context(**shape) as context:
            page = context.new_page()
            sign_in(page, url, tokens["carla"])
            page.goto(f"{url}/publish/people.csv")
            page.click("text=The same as text")
            page.fill(
                "textarea[name=schema]", schema_of_demo().replace('epsilon = "1"', 'epsilon = "4"')
            )
            page.click("text=Check the text, and go on")
            page.wait_for_selector("#errors")
            page.goto(
                f"{url}/publish/people.csv/plan?for=marginals(1)&for=means(income)&epsilon=0.5"
            )
            page.screenshot(path=folder / "plan.png")
        chromium.close()
    total = sum(each.stat().st_size for each in folder.glob("*.png"))
    print(f"{total:,} bytes")
    if total > MOST_BYTES:
        raise SystemExit(f"The pictures have {total:,} bytes; at most {MOST_BYTES:,} are kept.")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--all", folder]:
            every_page(Path(folder))
        case [folder]:
            readme(Path(folder))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
