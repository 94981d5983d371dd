"""Which parts of a statement's syntax are understood. Whatever else the parser accepts is refused.

sqlglot reads the SQL of many databases, so a node may have parts that no reader looks at, such as TABLESAMPLE behind a
subquery. The answer would then be to another question than the one asked. So each kind of node that a
reader handles lists its parts here, and a part that is not listed is refused before anything is read.
Kinds of nodes that are not listed are refused by the readers themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.errors import BadQuestion
from discreet.questions.spelling import readable_name

TABLE_PARTS = ("this", "alias", "db", "catalog")
_ONE = frozenset({"this"})
_TWO = frozenset({"this", "expression"})
_LISTED = frozenset({"expressions"})


def _each(parts: frozenset[str], names: str) -> dict[str, frozenset[str]]:
    return dict.fromkeys(names.split(), parts)


def _parts(names: str) -> frozenset[str]:
    return frozenset(names.split())


UNDERSTOOD: dict[str, frozenset[str]] = {
    "Select": _parts(
        "with_ expressions distinct from_ joins where group having qualify order limit offset"
    ),
    "Subquery": _parts("this alias with_ order limit offset"),
    "Union": _parts("this expression distinct with_ order limit offset"),
    "With": _parts("expressions recursive"),
    "CTE": _parts("this alias materialized"),
    "TableAlias": _parts("this columns"),
    "Table": frozenset(TABLE_PARTS),
    "Join": _parts("this on side kind using method"),
    "Group": _parts("expressions grouping_sets cube rollup all"),
    "Limit": _parts("expression limit_options"),
    "Fetch": _parts("direction count limit_options"),
    "LimitOptions": _parts("percent rows with_ties"),
    "Offset": frozenset({"expression"}),
    "Order": _LISTED,
    "Ordered": _parts("this desc nulls_first"),
    "Window": _parts("this partition_by order spec alias over first"),
    "WindowSpec": _parts("kind start start_side end end_side exclude"),
    "Distinct": _parts("expressions on"),
    "Star": _parts("except_ replace rename"),
    "Column": _parts("this table db catalog"),
    "Identifier": _parts("this quoted"),
    "Alias": _parts("this alias"),
    "Literal": _parts("this is_string"),
    "Null": frozenset(),
    "Case": _parts("this ifs default"),
    "If": _parts("this true false"),
    **_each(_parts("this to safe"), "Cast TryCast"),
    "DataType": _parts("this expressions nested"),
    "In": _parts("this expressions query"),
    "Between": _parts("this low high"),
    **_each(_parts("this expression negate"), "Like ILike Is"),
    "Div": _parts("this expression typed safe"),
    "DPipe": _parts("this expression safe"),
    "Interval": _parts("this unit"),
    **_each(_parts("this unit zone input_type_preserved"), "DateTrunc TimestampTrunc"),
    "DateDiff": _parts("this expression unit"),
    **_each(_parts("this decimals"), "Round Trunc"),
    **_each(_parts("this expressions ignore_nulls"), "Greatest Least"),
    "Coalesce": _parts("this expressions is_nvl is_null"),
    **_each(_parts("expressions safe coalesce"), "Concat ConcatWs"),
    "Trim": _parts("this expression position"),
    "Substring": _parts("this start length"),
    "Replace": _parts("this expression replacement"),
    "StrPosition": _parts("this substr"),
    "SplitPart": _parts("this delimiter part_index"),
    "Pad": _parts("this expression fill_pattern is_left"),
    "ToChar": _parts("this format"),
    "WidthBucket": _parts("this min_value max_value num_buckets"),
    "Count": _parts("this big_int"),
    **_each(_parts("this quantile"), "Quantile ApproxQuantile"),
    **_each(_parts("this offset default"), "Lag Lead"),
    **_each(frozenset(), "Rank DenseRank RowNumber Pi"),
    "Anonymous": _parts("this expressions"),
    "Grouping": _parts("this expressions"),
    **_each(_LISTED, "Rollup Cube GroupingSets Tuple"),
    **_each(
        _ONE,
        "From Where Having Qualify Paren Boolean Exists Not Neg Sum Avg Min Max Median Mode CountIf ApproxDistinct "
        "Stddev StddevPop StddevSamp Variance VariancePop FirstValue LastValue Ntile Date Abs Floor Ceil Lower "
        "Upper Length Sign Sqrt Exp Ln Sin Cos Tan Asin Acos Atan Sinh Tanh Atanh Degrees Radians Cbrt Reverse "
        "LastDay Dayname Monthname Year Quarter Month Week WeekOfYear Day DayOfMonth DayOfWeek DayOfWeekIso "
        "DayOfYear Hour Minute Second",
    ),
    **_each(
        _TWO,
        "And Or EQ NEQ LT LTE GT GTE NullSafeEQ NullSafeNEQ Add Sub Mul Mod IntDiv Pow Log Nullif Left Right "
        "Contains StartsWith EndsWith Extract Filter WithinGroup PercentileCont PercentileDisc Corr CovarPop "
        "CovarSamp RegrSlope RegrIntercept RegrR2",
    ),
}
"""The parts that are read, of each kind of node that is read. A part that is read may still be refused where it stands."""

_INSTEAD_OF_PIVOT = (
    "Write a column for each value: sum(n) FILTER (WHERE sex = 'f') AS f, and for UNPIVOT one SELECT "
    "for each column, joined by UNION ALL."
)
_NAMES = {
    "pivots": "PIVOT or UNPIVOT", "sample": "TABLESAMPLE", "windows": "WINDOW", "laterals": "LATERAL", "into": "INTO",
    "hint": "A hint", "match": "MATCH_RECOGNIZE", "locks": "FOR UPDATE", "kind": "SELECT AS", "connect": "CONNECT BY",
    "sort": "SORT BY", "cluster": "CLUSTER BY", "distribute": "DISTRIBUTE BY", "siblings": "ORDER SIBLINGS BY",
    "with_fill": "WITH FILL", "symmetric": "BETWEEN SYMMETRIC", "join_mark": "(+)", "options": "OPTION", "for_": "FOR",
    "totals": "WITH TOTALS", "by_name": "UNION BY NAME", "prewhere": "PREWHERE", "settings": "SETTINGS",
}  # fmt: skip
"""Clauses whose names are no words of ours."""
_FIXES = {
    ("Subquery", "pivots"): _INSTEAD_OF_PIVOT,
    ("Select", "pivots"): _INSTEAD_OF_PIVOT,
    ("Union", "by_name"): "List the columns in the same order on both sides, and write UNION ALL.",
    ("Group", "totals"): "Write GROUP BY ROLLUP (...).",
    ("Between", "symmetric"): "Write the smaller end first.",
    ("Column", "join_mark"): "Write LEFT JOIN ... ON.",
    ("Select", "windows"): "Write what stands in WINDOW into the brackets of OVER (...).",
}
_LIMIT_BY = (
    "LIMIT ... BY is not answered: number the rows with row_number() OVER (PARTITION BY ...) in a subquery, and "
    "filter by these numbers."
)
_OF_NODES = {
    ("Limit", "expressions"): _LIMIT_BY,
    ("Offset", "expressions"): _LIMIT_BY,
    ("Order", "this"): "ORDER BY inside a function is not answered: its rows have no order.",
    ("Star", "ilike"): "* ILIKE is not answered: write the names of the columns.",
    ("Count", "expressions"): "count() takes one column: write count(*) with the conditions that the rows must meet.",
    ("Cast", "default"): "CAST ... DEFAULT is not answered: write coalesce(TRY_CAST(...), ...).",
    ("Cast", "format"): "CAST ... FORMAT is not answered: write to_char() or strftime() for texts of dates.",
    ("In", "field"): "IN takes a list in brackets.",
    ("In", "unnest"): "IN takes a list in brackets.",
    ("CTE", "scalar"): "WITH takes a name first, and then AS (SELECT ...).",
}  # fmt: skip
"""Sentences about a part of one kind of node."""


def keeps_arguments(name: str, builder: Callable[..., Any]) -> Callable[..., Any]:
    """What makes a node of a function's arguments, but refuses those that it would drop, as of log10(a, b)."""

    def checked(arguments: Sequence[Any], node: Any) -> Any:
        kept = {id(each) for each in node.walk()}
        unit = str(getattr(node.args.get("unit"), "name", "")).lower()
        if not arguments and any(hasattr(each, "args") for each in node.args.values()):
            raise BadQuestion(f"{name.lower()}() takes a value in its brackets.")
        for each in arguments:
            if id(each) not in kept and not (unit and each.name.lower() == unit):
                raise BadQuestion(
                    f"{name.lower()}() takes fewer arguments than the {len(arguments)} that it is given."
                )
        return node

    def built(args: Sequence[Any], **more: Any) -> Any:
        try:
            made = builder(args, **more)
        except (AttributeError, IndexError, TypeError, ValueError):
            raise BadQuestion(f"{name.lower()}() takes other arguments than these.") from None
        return checked(args, made)

    # The parser looks at the names of a builder's parameters to see whether it takes the dialect.
    if "dialect" in builder.__code__.co_varnames:
        return lambda args, dialect: built(args, dialect=dialect)
    return built


def check_understood(tree: Any, shape: str) -> None:
    """Refuse a statement in which something stands that no reader looks at."""
    is_all_known = True
    for node in tree.walk():
        kind = type(node).__name__
        known = UNDERSTOOD.get(kind)
        if kind in ("IgnoreNulls", "RespectNulls"):
            raise BadQuestion(
                "IGNORE NULLS and RESPECT NULLS are not answered. Leave nulls out in a subquery: SELECT ... FROM (...) AS g "
                "WHERE n IS NOT NULL."
            )
        if known is None:
            is_all_known = False
            continue
        for part, value in node.args.items():
            if part not in known and value not in (None, False, []):
                raise BadQuestion(_refusal(node, part, shape))
        _check_where_it_stands(node, kind)
    if not is_all_known:
        try:
            tree.sql()
        except RecursionError:
            raise
        except Exception:  # the parser takes calls of some functions that it cannot write
            raise BadQuestion(f"A function in the question is not understood. {shape}") from None


def _refusal(node: Any, part: str, shape: str) -> str:
    kind = type(node).__name__
    own = _OF_NODES.get((kind.removeprefix("Try"), part))
    if own is not None:
        return own
    named = _NAMES.get(part)
    if kind == "Table":
        name = readable_name(node.name)
        if named is not None:
            return f"{named} is not answered: a question is about all rows of {name}."
        return f"FROM takes the plain name {name} and nothing more: no joins, no files."
    if named is None and kind in ("Select", "Subquery", "Union", "Join"):
        named = part.strip("_").replace("_", " ").upper()
    if named is not None:
        return f"{named} is not answered. {_FIXES.get((kind, part), shape)}"
    return f"{_spoken(node)} is read in its plain form only: without {part.strip('_').replace('_', ' ')}."


def _spoken(node: Any) -> str:
    names = getattr(node, "sql_names", None)
    return f"{names()[0].lower()}()" if names else type(node).__name__.upper()


def _check_where_it_stands(node: Any, kind: str) -> None:
    """Parts that are understood in one place, or with one value, only."""
    if kind == "Star" and any(node.args.values()):
        above = node.parent
        if type(above).__name__ == "Column":
            above = above.parent
        if type(above).__name__ != "Select":
            raise BadQuestion(
                "* EXCLUDE, * REPLACE and * RENAME are read as an item of SELECT only, and not inside a function."
            )
    if kind == "Mode":
        named = type(node.this).__name__
        if named == "Distinct" or (
            node.this is None and type(node.parent).__name__ != "WithinGroup"
        ):
            raise BadQuestion("mode() takes a column, without DISTINCT.")
    if kind == "Group" and node.args.get("all") is False:
        raise BadQuestion("GROUP BY DISTINCT is not answered: list each grouping set once.")
    if kind == "Group" and node.args.get("all") and len(node.args) > 1 and _has_more(node):
        raise BadQuestion("GROUP BY ALL takes nothing after ALL.")
    if kind == "Window" and node.args.get("over") not in (None, "OVER"):
        raise BadQuestion(f"{node.args['over']} is not answered; write OVER (...).")
    if kind == "Join" and str(node.args.get("kind")).upper() == "OUTER" and not node.side:
        raise BadQuestion("OUTER JOIN needs a side: write LEFT, RIGHT or FULL JOIN.")


def _has_more(group: Any) -> bool:
    return any(value for part, value in group.args.items() if part != "all")
