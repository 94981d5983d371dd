"""Questions in a file: where one ends and the next begins.

A semicolon ends a question. Without one, each line is a question of its own, unless it goes on with the one before: it is
indented, begins with a word such as FROM, or stands inside parentheses that are open. Comments are left out.
"""

from __future__ import annotations

import re
from textwrap import dedent

_PIECES = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|'(?:[^']|'')*(?:'|\Z)|"(?:[^"]|"")*(?:"|\Z)|[^-/'";]+|.""",
    re.DOTALL,
)
_GOES_ON = re.compile(
    r"""\s|[,)(<>=+*/%|-]|(?:FROM|WHERE|GROUP|HAVING|QUALIFY|WINDOW|ORDER|LIMIT|OFFSET|FETCH|UNION|INTERSECT|EXCEPT|AND|OR
    |NOT|IN|IS|LIKE|BETWEEN|AS|OVER|FILTER|WITHIN|CASE|WHEN|THEN|ELSE|END|JOIN|LEFT|RIGHT|INNER|CROSS|ON|USING)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_IS_OPEN = re.compile(
    r"(?:[,(<>=+*/%|-]|\b(?:SELECT|DISTINCT|FROM|WHERE|BY|HAVING|AND|OR|NOT|IN|AS|ALL|UNION|CASE|WHEN|THEN|ELSE))\s*$",
    re.IGNORECASE,
)


def statements(text: str) -> list[str]:
    """The questions of a text, in their order."""
    found = []
    for part in _parts(text):
        lines: list[str] = []
        for line in part.split("\n"):
            if not line.strip():
                continue
            if lines and (_GOES_ON.match(line) or _is_unfinished(lines[-1])):
                lines[-1] += "\n" + line.rstrip()
            else:
                lines.append(line.rstrip())
        found += [line.strip() for line in lines]
    return found


def _parts(text: str) -> list[str]:
    """What lies between semicolons, without comments."""
    parts = [""]
    for piece in _PIECES.findall(dedent(text.replace("\r\n", "\n"))):
        if piece == ";":
            parts.append("")
        elif piece.startswith(("--", "/*")):
            parts[-1] += " " if piece.startswith("/*") else ""
        else:
            parts[-1] += piece
    return parts


def _is_unfinished(question: str) -> bool:
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "x", question)
    depth = bare.count("(") - bare.count(")")
    if depth > 0 or _IS_OPEN.search(bare):
        return True
    if not re.match(r"\s*WITH\b", bare, re.IGNORECASE):
        return False
    while (outer := re.sub(r"\([^()]*\)", " ", bare)) != bare:
        bare = outer
    return re.search(r"\bSELECT\b", bare, re.IGNORECASE) is None
