"""The reference part of docs/api.md, written from signatures and docstrings.

The page is written by hand. Where it has a pair of lines such as

    <!-- reference: discreet Schema Budget -->
    <!-- end of reference -->

this tool writes what the code says about these names of that module between the two lines. So the page
cannot disagree with the code, and a test fails when it is out of date.

    python tools/api_docs.py            write the page
    python tools/api_docs.py --check    exit code 1 if the page is out of date
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
SECTION = re.compile(
    r"^<!-- reference: (?P<module>[\w.]+) (?P<names>[\w ]+) -->\n.*?^<!-- end of reference -->$",
    re.DOTALL | re.MULTILINE,
)
WIDTH = 118
TERM = re.compile(r"^([A-Z][a-z]+):\s+")
"""A line such as `Theorem:  ...` in a docstring; the lines after it are indented."""


def written(page: str) -> str:
    """The page with every reference section written anew."""
    return SECTION.sub(_section, page)


def referenced(page: str) -> list[tuple[str, str]]:
    """Every (module, name) that the page has a reference for."""
    return [
        (found["module"], name)
        for found in SECTION.finditer(page)
        for name in found["names"].split()
    ]


def _shared(name: str) -> str:
    """The text of a method that mechanisms have in common; it stands once, in their protocol."""
    from discreet.core.mechanisms import AdditiveMechanism

    found = vars(AdditiveMechanism).get(name)
    return _docstring(found) if found is not None else ""


def undocumented(module: str, name: str) -> Iterator[str]:
    """What has no docstring: the name itself, or its methods and properties."""
    value = getattr(import_module(module), name)
    if not _docstring(value):
        yield f"{module}.{name}"
    if inspect.isclass(value):
        for member, found in _methods(value):
            if not (_docstring(found) or _shared(member)):
                yield f"{module}.{name}.{member}"


def _section(found: re.Match[str]) -> str:
    module, names = found["module"], found["names"].split()
    lines = [f"<!-- reference: {found['module']} {found['names']} -->", ""]
    for name in names:
        lines += _entry(module, name, getattr(import_module(module), name))
    return "\n".join([*lines, *([""] if lines[-1] else []), "<!-- end of reference -->"])


def _entry(module: str, name: str, value: Any) -> list[str]:
    shown = f"dc.{name}" if module == "discreet" else name
    if inspect.isclass(value) and issubclass(value, Exception):
        return _item(f"`{shown}`", _docstring(value))
    lines = [f"#### `{shown}`", ""]
    if not (inspect.isclass(value) and issubclass(value, enum.Enum)):
        lines += ["```py", *_call(shown, value), "```", ""]
    lines += [*_blocks(_docstring(value)), ""]
    if inspect.isclass(value):
        members = [line for item in _members(value) for line in item]
        if members and TERM.match(_docstring(value).rpartition("\n\n")[2]):
            lines += ["Fields and methods:", ""]  # or the two lists would become one
        lines += [*members, ""] if members else []
    return lines


def _members(kind: type) -> Iterator[list[str]]:
    if issubclass(kind, enum.Enum):
        for each in kind:
            yield [f"- `{kind.__name__}.{each.name}` is `{each.value!r}`"]
        return
    notes = _field_notes(kind)
    for field, annotation in _fields(kind):
        yield _item(f"`{field}: {annotation}`", notes.get(field, ""))
    for name, found in _methods(kind):
        if isinstance(found, property):
            returned = inspect.signature(found.fget).return_annotation if found.fget else "Any"
            yield _item(f"`{name}: {_annotation(returned)}`", _docstring(found))
        else:
            maker = isinstance(found, classmethod | staticmethod)
            called = f"{kind.__name__}.{name}" if maker else name
            (signature,) = _call(called, _function(found), wide=True)
            yield _item(f"`{signature}`", _docstring(found) or _shared(name))


def _fields(kind: type) -> Iterator[tuple[str, str]]:
    """Declared fields, those of private bases first; not class variables."""
    for each in reversed(kind.__mro__[:-1]):
        for name, annotation in vars(each).get("__annotations__", {}).items():
            if not name.startswith("_") and "ClassVar" not in str(annotation):
                yield name, _annotation(annotation)


PARTS = ("Charges", "Reader")
"""Bases that are no public names: their methods are told with the class that is one."""


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, those of private bases first."""
    for each in reversed(kind.__mro__[:-1]):
        if each is not kind and not each.__name__.startswith("_") and each.__name__ not in PARTS:
            continue
        for name, found in vars(each).items():
            if not name.startswith("_") and (
                isinstance(found, property | classmethod | staticmethod)
                or inspect.isfunction(found)
            ):
                yield name, found


def _function(found: Any) -> Any:
    return found.__func__ if isinstance(found, classmethod | staticmethod) else found


def _field_notes(kind: type) -> dict[str, str]:
    """The texts that stand below fields, which Python itself does not keep."""
    notes: dict[str, str] = {}
    for each in reversed(kind.__mro__[:-1]):
        if not each.__module__.startswith("discreet"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                notes[field.target.id] = inspect.cleandoc(below.value.value)
    return notes


def _call(name: str, value: Any, *, wide: bool = False) -> list[str]:
    """The signature, on one line if it fits, else one parameter a line."""
    signature = inspect.signature(value)
    parameters: list[str] = []
    starred = False
    for each in signature.parameters.values():
        if each.name in ("self", "cls"):
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            parameters.append("*")
        starred = starred or each.kind is each.VAR_POSITIONAL
        parameters.append(_parameter(each))
    returned = signature.return_annotation
    end = ")"
    if not inspect.isclass(value) and returned is not signature.empty:
        end = f") -> {_annotation(returned)}"
    line = f"{name}({', '.join(parameters)}{end}"
    if wide or len(line) <= WIDTH:
        return [line]
    return [f"{name}(", *(f"    {each}," for each in parameters), end]


def _parameter(each: inspect.Parameter) -> str:
    kinds: dict[object, str] = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}
    stars = kinds.get(each.kind, "")
    text = f"{stars}{each.name}"
    if each.annotation is not each.empty:
        text += f": {_annotation(each.annotation)}"
    if each.default is not each.empty:
        text += f" = {_default(each.default)}"
    return text


def _annotation(found: Any) -> str:
    if isinstance(found, str):
        return found.strip("'\"")
    return getattr(found, "__name__", str(found))


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, Fraction):
        return str(value)
    text = repr(value)
    return "..." if text.startswith("<") else text


def _docstring(value: Any) -> str:
    """Its own docstring: one that a dataclass made up, or a base class has, does not count."""
    own = getattr(_function(value), "__doc__", None) or ""
    if inspect.isclass(value) and own.startswith(f"{value.__name__}("):
        return ""
    return inspect.cleandoc(own)


def _item(head: str, text: str) -> list[str]:
    """One line of a list, with its text behind it."""
    flat = " ".join(text.split())
    whole = f"- {head}: {flat}" if flat else f"- {head}"
    return textwrap.wrap(
        whole, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _blocks(text: str) -> list[str]:
    """A docstring as Markdown: paragraphs, and a list for lines such as `Theorem: ...`."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        terms = [
            textwrap.dedent(part)
            for part in re.split(r"^(?=[A-Z][a-z]+:\s)", paragraph, flags=re.MULTILINE)
            if part.strip()
        ]
        for part in terms:
            term = TERM.match(part)
            lines += _item(f"{term[1]}", part[term.end() :]) if term else _wrapped(part)
        lines.append("")
    return lines[:-1]


def _wrapped(paragraph: str) -> list[str]:
    return textwrap.wrap(
        " ".join(paragraph.split()), WIDTH, break_long_words=False, break_on_hyphens=False
    )


def main(arguments: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    if "--check" in arguments:
        if written(page) == page:
            return 0
        print("docs/api.md is out of date: run python tools/api_docs.py")
        return 1
    PAGE.write_text(written(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
