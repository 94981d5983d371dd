"""Nothing that a statement says is dropped: each part is read, or the statement is refused.

What the parser accepts and no reader looks at would change the question in silence. So every statement that is answered
here, with the noise off, must be answered as DuckDB does.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

import discreet
from discreet.artifacts.answers import Answers
from discreet.errors import BadQuestion, DiscreetError
from discreet.questions.dialects.clauses import UNDERSTOOD, check_understood
from tests.postprocessing.test_corpus import plain, rows_of
from tests.postprocessing.test_surprising_statements import as_numbers

Ask = Callable[[str], Answers]
Truth = Callable[[str], list[tuple[Any, ...]]]

READERS = [
    *(Path(discreet.__file__).parent / "postprocessing/reading").glob("*.py"),
    *(Path(discreet.__file__).parent / "questions/reading").glob("*.py"),
    *(Path(discreet.__file__).parent / "questions/dialects").glob("*.py"),
]
REFUSED_AS_A_WHOLE = {
    "All", "Any", "Array", "AtTimeZone", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Bracket", "Escape",
    "Except", "Glob", "Intersect", "JSONExtract", "JSONExtractScalar", "Lambda", "Parameter", "Placeholder", "Rand",
    "RegexpLike", "SimilarTo", "Values", "Xor",
}  # fmt: skip
"""Nodes that readers name only to refuse them."""
KINDS_OF_NODES = {"AggFunc", "Func", "Condition", "Query", "Var"}
"""Classes of several nodes, and words that are a part of others."""


def test_every_node_that_a_reader_names_lists_the_parts_that_are_read() -> None:
    """A reader that is added for another kind of node says which of its parts it reads."""
    texts = [place.read_text(encoding="utf-8") for place in READERS]
    named = {name for text in texts for name in re.findall(r"\bexp\.([A-Z]\w+)", text)}
    tables = {name for text in texts for name in re.findall(r'"([A-Z]\w*[a-z]\w*)": "', text)}
    named |= {name for name in tables if hasattr(exp, name)}
    assert len(named) > 120
    assert named - set(UNDERSTOOD) <= REFUSED_AS_A_WHOLE | KINDS_OF_NODES


@pytest.mark.parametrize("kind", sorted(UNDERSTOOD))
def test_a_part_that_is_not_listed_is_refused(kind: str) -> None:
    """Whatever sqlglot gives a node, now or in a later version."""
    class_ = getattr(exp, kind)
    for part in {*class_.arg_types, "of a later version"} - UNDERSTOOD[kind]:
        node = class_()
        node.set(part, exp.true())
        with pytest.raises(BadQuestion, match=r"(answered|plain|takes|only).*[.:]"):
            check_understood(exp.Paren(this=node), "Ask SELECT count(*).")


GROUPS = "(SELECT town, sex, count(*) AS n, avg(age) AS m FROM people WHERE town IN ('ash', 'elm') AND sex IN ('f', 'm') GROUP BY town, sex)"
ROWS = (
    "(SELECT town, sex, age, score FROM people WHERE town IN ('ash', 'elm') AND sex IN ('f', 'm'))"
)
CTES = ("", "(town, sex, n, m)", "(sex, town, m, n)", "(a, b, c, d)", "(a, b, c)", "(n, n, n, n)")
STARS = (
    "*", "x.*", "* EXCLUDE (n)", "* EXCLUDE (n, m)", "* EXCLUDE n", "x.* EXCLUDE (town)", "* REPLACE (n * 2 AS n)",
    "* REPLACE (n AS m, m AS n)", "* RENAME (n AS k)", "* RENAME (n AS m, m AS n)", "* EXCLUDE (m) REPLACE (n + 1 AS n)",
    "* EXCLUDE (nothing)", "* LIKE 'n%'", "* ILIKE 'N%'", "COLUMNS('n')", "COLUMNS(* EXCLUDE (town, sex))", "n AS town, m AS sex, 1 AS n",
)  # fmt: skip
BEHIND_TABLES = (
    "", " TABLESAMPLE (10 PERCENT)", " USING SAMPLE 2", " PIVOT (sum(n) FOR sex IN ('f', 'm'))", " UNPIVOT (v FOR k IN (n))",
    " WITH ORDINALITY", " FOR UPDATE", " FOR SYSTEM_TIME AS OF '2020-01-01'", " WITH (NOLOCK)",
)  # fmt: skip
ENDINGS = (
    "", " ORDER BY n DESC", " ORDER BY n DESC NULLS FIRST", " ORDER BY n DESC LIMIT 2", " ORDER BY n LIMIT 1 OFFSET 1", " ORDER BY n DESC LIMIT 1 BY sex",
    " ORDER BY n LIMIT 50 PERCENT", " ORDER BY n LIMIT 50%", " ORDER BY n FETCH FIRST 2 ROWS ONLY", " ORDER BY n FETCH FIRST 2 ROWS WITH TIES", " ORDER BY n WITH FILL",
    " SORT BY n", " DISTRIBUTE BY n", " CLUSTER BY n", " ORDER BY n LIMIT 1, 2", " QUALIFY row_number() OVER (ORDER BY n DESC) <= 2", " WHERE n > 300",
    " WHERE n BETWEEN SYMMETRIC 900 AND 300", " WHERE n NOT BETWEEN 300 AND 600", " WHERE town LIKE 'a%'", " WHERE town NOT LIKE 'a%'",
    " WHERE town NOT ILIKE 'A%'", " WHERE town LIKE 'a!%' ESCAPE '!'", " WHERE n NOT IN (1, 2)", " WHERE town IN ('ash') IS NOT TRUE",
    " WHERE n IS NOT NULL", " WHERE NOT n IS NULL", " WHERE (n > 400) IS NOT FALSE", " SETTINGS max_threads = 1", " ORDER BY n OFFSET 2", " START WITH n CONNECT BY m",
    " WINDOW w AS (ORDER BY n)", " PREWHERE n > 300",
)  # fmt: skip
GROUPINGS = (
    "town, sex", "ROLLUP (town, sex)", "CUBE (town, sex)", "GROUPING SETS ((town), (sex), ())", "GROUPING SETS ((town), (town), ())",
    "town, ROLLUP (town, sex)", "ROLLUP (town), ROLLUP (town, sex)", "town, sex WITH ROLLUP", "town, sex WITH CUBE", "town, sex WITH TOTALS", "town WITH ROLLUP WITH TOTALS",
    "town, sex GROUPING SETS ((town), (sex))", "DISTINCT ROLLUP (town), ROLLUP (town, sex)", "ALL", "ALL town", "(town, sex)", "(town), ()",
    "GROUPING SETS (ROLLUP (town), CUBE (town, sex))", "GROUPING SETS ((town, sex), GROUPING SETS ((town), (sex)))", "1, 2", "CUBE (town, sex), sex",
)  # fmt: skip
SAID_OTHERWISE = {
    "GROUP BY town, sex WITH ROLLUP": "GROUP BY ROLLUP (town, sex)",
    "GROUP BY town, sex WITH CUBE": "GROUP BY CUBE (town, sex)",
    " LIMIT 1, 2": " LIMIT 2 OFFSET 1",
    "* EXCLUDE n": "* EXCLUDE (n)",
}
"""Spellings that DuckDB does not take, and what they say."""
NOT_DUCKDBS = (
    "does not exist!", "Wrong number of arguments to IFNULL", "Cannot mix values of type", "Cannot combine types of",
    "Combining QUALIFY with GROUP BY ALL", "'approx_count_distinct()'",
)  # fmt: skip
"""What DuckDB says of functions that it has by another name, and of what it does not mix or combine."""
OF_GROUPS = (
    "DISTINCT ",
    "ALL ",
    "DISTINCT ON (town) ",
    "AS STRUCT ",
    "SQL_NO_CACHE ",
    "/*+ BROADCAST(x) */ ",
)
OVER_GROUPS = (
    "",
    ", rank() OVER (ORDER BY count(*)) AS r",
    ", sum(count(*)) OVER () AS r",
    ", grouping(town) AS r",
)
WINDOWS = (
    "rank() OVER (ORDER BY n)", "rank(n) OVER (ORDER BY n)", "sum(n) OVER w", "sum(n) OVER (ORDER BY n ROWS 1 PRECEDING)",
    "sum(n) OVER (ORDER BY n ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW)", "sum(n) OVER (ORDER BY n GROUPS 1 PRECEDING)",
    "sum(n) OVER (ORDER BY n RANGE 100 PRECEDING)", "sum(DISTINCT n) OVER ()", "sum(n) FILTER (WHERE n > 400) OVER ()",
    "first_value(n) IGNORE NULLS OVER (ORDER BY n)", "first_value(n IGNORE NULLS) OVER (ORDER BY n)", "lag(n, 1, 5) OVER (ORDER BY n)",
    "lag(n) RESPECT NULLS OVER (ORDER BY n)", "nth_value(n, 2) OVER (ORDER BY n)", "nth_value(n, 2) FROM LAST OVER (ORDER BY n)", "ntile(2) OVER (PARTITION BY sex ORDER BY n)",
    "max(n) KEEP (DENSE_RANK LAST ORDER BY m)", "max(n, 2) OVER ()", "count(n, m) OVER ()", "count(*) OVER (ORDER BY n DESC NULLS FIRST)",
    "first_value(n ORDER BY m) OVER ()", "last_value(n) OVER (PARTITION BY sex ORDER BY n)", "row_number(n) OVER (ORDER BY n)",
)  # fmt: skip
SETS = (
    "UNION ALL", "UNION", "UNION DISTINCT", "UNION ALL BY NAME", "UNION BY NAME", "UNION ALL CORRESPONDING", "UNION ALL CORRESPONDING BY (n, m)", "INTERSECT",
    "EXCEPT", "INNER UNION ALL BY NAME ON (n)", "LEFT UNION ALL BY NAME", "FULL OUTER UNION ALL BY NAME",
)  # fmt: skip
JOINS = (
    "JOIN {} USING (town, sex)", "LEFT JOIN {} USING (town, sex)", "JOIN {} ON x.n = y.n", "NATURAL JOIN {}", "SEMI JOIN {} USING (town, sex)", "LEFT SEMI JOIN {} USING (town, sex)",
    "ANTI JOIN {} USING (town, sex)", "ASOF JOIN {} ON x.n >= y.n", "POSITIONAL JOIN {}", "CROSS JOIN {}", "LEFT ANY JOIN {} USING (town, sex)", "OUTER JOIN {} USING (town, sex)",
    "FULL JOIN {} ON x.n = y.n AND x.town = y.town", "GLOBAL ANY LEFT JOIN {} USING (town, sex)", "INNER HASH JOIN {} ON x.n = y.n", "CROSS APPLY {}", "STRAIGHT_JOIN {}",
    ", {}", ", LATERAL {}", "JOIN LATERAL {} ON TRUE", "JOIN {} ON x.n = y.n (+)", "JOIN {} TABLESAMPLE (10 PERCENT) ON x.n = y.n",
)  # fmt: skip


def clauses() -> Iterator[str]:
    """Statements with every optional clause, in every place that the parser takes it."""
    for names, star in itertools.product(CTES, STARS):
        yield f"WITH x{names} AS {GROUPS} SELECT {star} FROM x"
        yield f"SELECT {star} FROM {GROUPS} x{names}"
    for names, ending in itertools.product(CTES[:3], ENDINGS):
        yield f"WITH x{names} AS {GROUPS} SELECT * FROM x{ending}"
    for behind, ending in itertools.product(BEHIND_TABLES, ENDINGS[:4]):
        yield f"WITH x AS {GROUPS} SELECT * FROM x{behind}{ending}"
        yield f"SELECT * FROM {GROUPS} x{behind}{ending}"
        yield f"SELECT sum(n) AS s FROM (SELECT * FROM {GROUPS} AS x{behind}) AS y"
        yield f"SELECT count(*) AS n, avg(age) AS m FROM people{behind} WHERE town = 'ash'{ending}"
        yield f"SELECT count(*) AS n, avg(age) AS m FROM (SELECT * FROM people{behind}) AS x{ending}"
    for names, star in itertools.product(("", "(sex, town, score, age)", "(a, b)"), (*STARS[:2], "* EXCLUDE (age)", "* REPLACE (score AS age)",
        "* RENAME (age AS score, score AS age)", "*, age + 1 AS age", "x.* REPLACE (age * 2 AS age)", "* REPLACE (age + score AS score, score AS age)")):  # fmt: skip
        yield f"WITH x{names} AS {ROWS} SELECT sum(age) AS a, sum(score) AS s FROM (SELECT {star} FROM x) AS y"
        yield f"SELECT town, avg(age) AS a FROM (SELECT {star} FROM {ROWS} AS x{names}) AS y WHERE town IN ('ash', 'f') GROUP BY town"
    for by, more, each in itertools.product(GROUPINGS, OVER_GROUPS, ("", *OF_GROUPS)):
        yield f"SELECT {each}town, sex, count(*) AS n{more} FROM {ROWS} AS y GROUP BY {by}"
    for by, each in itertools.product(GROUPINGS, ("", *OF_GROUPS)):
        yield f"SELECT DISTINCT count(*) > 0 AS n FROM {ROWS} AS y GROUP BY {by}"
        yield f"SELECT {each}town, sum(n) AS s FROM {GROUPS} AS x GROUP BY {by}"
        yield f"SELECT town, sex, count(*) AS n FROM {ROWS} AS y GROUP BY {by} QUALIFY row_number() OVER (ORDER BY n) = 1"
        yield f"SELECT town, sex, count(*) AS n FROM {ROWS} AS y GROUP BY {by} ORDER BY rank() OVER (ORDER BY count(*)), town LIMIT 2"
    for window in WINDOWS:
        yield f"SELECT town, sex, {window} AS v FROM {GROUPS} AS x"
        yield f"SELECT town, sex, {window} AS v FROM {GROUPS} AS x WINDOW w AS (ORDER BY n DESC)"
    for between, (left, right) in itertools.product(
        SETS, itertools.permutations(("n, m", "m, n", "n, 1 AS m"), 2)
    ):
        yield f"SELECT {left} FROM {GROUPS} AS x {between} SELECT {right} FROM {GROUPS} AS y"
        yield f"SELECT * FROM (SELECT {left} FROM {GROUPS} AS x {between} SELECT {right} FROM {GROUPS} AS y) z(a, b)"
    for join in JOINS:
        yield f"SELECT x.n, x.m FROM {GROUPS} AS x {join.format(GROUPS + ' AS y')}"
        yield f"WITH x AS {GROUPS}, y AS {GROUPS} SELECT count(*) AS c FROM (x {join.format('y')})"


OPERANDS = ("n", "m", "m, 1", "m, 1, 2", "m, 1, TRUE", "m, n", "town", "town, 'a'", "town, 'a', 'x'", "town, 1", "town, 2, 1", "town, 'a', 1, 1", "*", "", "DISTINCT n",
    "n ORDER BY m", "0.5, n", "n, 0.5", "n, m, 1, 2")  # fmt: skip
FORMS = (
    "CAST(m AS INTEGER)", "CAST(m AS DECIMAL(4))", "CAST(m AS DECIMAL(6, 1))", "CAST(m AS INTEGER FORMAT '9')", "CAST(m AS INTEGER DEFAULT 0 ON CONVERSION ERROR)", "TRY_CAST(m AS INTEGER)",
    "CAST(town AS VARCHAR(1))", "CAST(town AS VARCHAR)", "trim(LEADING 'a' FROM town)", "trim(TRAILING 'h' FROM town)", "trim(BOTH 'a' FROM town)", "trim(town COLLATE nocase)",
    "floor(m TO DAY)", "substring(town FROM 2 FOR 1)", "position('s' IN town)", "overlay(town PLACING 'x' FROM 1 FOR 1)", "extract(month FROM m)", "m IS NOT NULL", "town NOT LIKE 'a%'",
    "CASE town WHEN 'ash' THEN 1 END", "CASE WHEN n > 400 THEN 1 ELSE 2 END", "n NOT IN (1)", "n IN (SELECT 1)", "town = ANY ('a')", "n BETWEEN 1 AND 900", "n BETWEEN SYMMETRIC 900 AND 1",
    "town COLLATE nocase", "n AT TIME ZONE 'UTC'", "n::INTEGER", "-n", "n / 2", "n // 7", "n % 7", "town || sex", "(n, m)", "n IS NOT DISTINCT FROM m", "m IS NOT TRUE",
)  # fmt: skip


def calls() -> Iterator[str]:
    """Every function that the readers take, with too few arguments, too many, and odd ones."""
    kinds = [getattr(exp, name) for name in UNDERSTOOD]
    names = {
        name.lower() for kind in kinds if issubclass(kind, exp.Func) for name in kind.sql_names()
    }
    names |= {
        "ltrim",
        "rtrim",
        "square",
        "isnull",
        "ceiling",
        "truncate",
        "log10",
        "log2",
        "substr",
        "instr",
        "quantile_cont",
        "mean",
        "std",
    }
    for name, operands in itertools.product(sorted(names), OPERANDS):
        yield f"SELECT town, sex, {name}({operands}) AS v FROM {GROUPS} AS x"
        yield f"SELECT {name}({operands}) AS v FROM {GROUPS} AS x"
    for form in FORMS:
        yield f"SELECT town, sex, {form} AS v FROM {GROUPS} AS x"


def differences(ask: Ask, truth: Truth, statements: Iterator[str]) -> tuple[int, list[object]]:
    """How many statements are answered, and those that are answered and that DuckDB answers otherwise, or not at all."""
    answered, found = 0, list[object]()
    for sql in dict.fromkeys(statements):
        try:
            answers = ask(sql)
        except DiscreetError as error:
            assert "\n" not in str(error), (sql, error)
            continue
        answered += 1
        said = sql
        for ours, theirs in SAID_OTHERWISE.items():
            said = said.replace(ours, theirs)
        try:
            wanted = [as_numbers(tuple(map(plain, row))) for row in truth(said)]
        except Exception as error:
            if not any(each in str(error) for each in NOT_DUCKDBS):
                found.append((sql, "DuckDB:", str(error).splitlines()[0]))
            continue
        mine = sorted(sorted(map(repr_of, as_numbers(row))) for row in rows_of(answers))
        theirs_ = sorted(sorted(map(repr_of, row)) for row in wanted)
        if mine != theirs_:
            found.append((sql, mine[:4], theirs_[:4]))
    return answered, found


def repr_of(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, (int, float)) else repr(value)


def test_every_clause_is_refused_or_answered_as_duckdb_does(
    exact_release: Ask, truth: Truth
) -> None:
    answered, found = differences(exact_release, truth, clauses())
    assert not found and answered >= 200


def test_every_function_is_refused_or_answered_as_duckdb_does(
    exact_release: Ask, truth: Truth
) -> None:
    answered, found = differences(exact_release, truth, calls())
    assert not found and answered >= 100


def test_a_curator_charges_nothing_for_what_it_refuses(exact_curator: Ask, truth: Truth) -> None:
    answered, found = differences(exact_curator, truth, itertools.islice(clauses(), 0, None, 7))
    assert not found and answered >= 20
