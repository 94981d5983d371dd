"""What to write instead of TOML that does not parse: the slips that a schema's author makes."""

from __future__ import annotations

import re
from tomllib import TOMLDecodeError

_PLACE = re.compile(r"\(at line (\d+), column \d+\)$")
_HEADER = re.compile(r"\s*(\[{1,2})(.*?)\]{0,2}\s*(?:#.*)?")
_PAIR = re.compile(r"\s*([^=\"']+?)\s*=\s*(.*)")
_PART = re.compile(r"\"[^\"]*\"|'[^']*'|[^.]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
LONGEST = 400


def toml_hint(text: str, error: TOMLDecodeError) -> str:
    """A sentence about the line that an error names, or nothing."""
    found = _PLACE.search(str(error))
    lines = text.splitlines()
    if found is None or int(found[1]) > len(lines):
        return ""
    line = lines[int(found[1]) - 1][:LONGEST]
    header = _HEADER.fullmatch(line)
    if header is not None:
        quoted, end = _quoted(header[2]), "]" * len(header[1])
        return _quote(f"{header[1]}{quoted}{end}") if quoted != header[2].strip() else ""
    pair = _PAIR.fullmatch(line)
    if pair is None:
        return ""
    if (quoted := _quoted(pair[1])) != pair[1]:
        return _quote(f"{quoted} = {pair[2][:60]}")
    if pair[2][:1] in "“”„«‘’" or pair[2][:1].isalpha():
        return f' Put a text in straight quotes, as in {pair[1]} = "...".'
    return ""


def _quote(better: str) -> str:
    return f" A name that is more than ASCII letters, digits, _ and - is quoted, as in {better}."


def _quoted(key: str) -> str:
    """A dotted key with quotes around the parts that need them."""
    parts = [part.strip() for part in _PART.findall(key)]
    return ".".join(
        part if part[:1] in ("'", '"') or _BARE.fullmatch(part) else f'"{part.strip("«»“”„")}"'
        for part in parts
    )
