"""docs/book.md: its pictures are those that the library's numbers give, and each of them is shown."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "tools" / "book_pictures.py"
BOOK = (ROOT / "docs" / "book.md").read_text(encoding="utf-8")
CHAPTERS = (
    "What epsilon means for a person",
    "Choosing a budget",
    "Units",
    "Two models",
    "Reading an interval",
    "Small groups",
    "What is not promised",
    "Privacy is not encryption",
)


def test_every_picture_is_drawn_anew_as_it_stands_and_is_shown_once() -> None:
    spec = importlib.util.spec_from_file_location("book_pictures", PLACE)
    assert spec is not None and spec.loader is not None
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    shown = re.findall(r"!\[([^\]]+)\]\(pictures/([a-z-]+)\.svg\)", BOOK)
    assert sorted(name for _, name in shown) == sorted(drawing.PICTURES)
    kept = {path.stem for path in (ROOT / "docs" / "pictures").glob("*")}
    assert kept == set(drawing.PICTURES)
    for name, draw in drawing.PICTURES.items():
        text = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text(encoding="utf-8")
        assert text == draw(), f"run python tools/book_pictures.py: {name} has changed"
        tree = ElementTree.fromstring(text)
        tags = {each.tag.rpartition("}")[2] for each in tree.iter()}
        assert {"title", "desc"} <= tags and not tags & {"script", "image", "use", "a"}
        assert len(text) < 12_000 and "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_book_has_its_chapters() -> None:
    headings = re.findall(r"^## \d+\. (.+)$", BOOK, flags=re.MULTILINE)
    for chapter in CHAPTERS:
        assert any(chapter in each for each in headings), chapter


def test_every_chapter_has_a_picture() -> None:
    chapters = re.split(r"^## \d+\. ", BOOK, flags=re.MULTILINE)[1:]
    assert len(chapters) == 10
    for chapter in chapters:
        assert "](pictures/" in chapter, chapter.partition("\n")[0]
