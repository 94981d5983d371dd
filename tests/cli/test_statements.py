"""Questions in a file: one on each line, or ended by semicolons."""

from __future__ import annotations

import pytest

from discreet.cli.commands.reading.ask import statements

CASES = {
    "SELECT 1\nSELECT 2\n\n": ["SELECT 1", "SELECT 2"],
    "SELECT a,\n  count(*)\nFROM t\nGROUP BY a;\nSELECT 2;": ["SELECT a,\n  count(*)\nFROM t\nGROUP BY a", "SELECT 2"],
    "-- about t\nSELECT 1 -- one; only\n/* SELECT\n3; */\nSELECT 2": ["SELECT 1", "SELECT 2"],
    "SELECT ';--' AS \"a;b\"\nSELECT 2": ["SELECT ';--' AS \"a;b\"", "SELECT 2"],
    "WITH a AS (SELECT 1 AS x)\nSELECT x FROM a\nSELEC\nSELECT 2": ["WITH a AS (SELECT 1 AS x)\nSELECT x FROM a", "SELEC", "SELECT 2"],
    "SELECT count(*) FROM t WHERE a IN (\n1,\n2)\nSELECT 2": ["SELECT count(*) FROM t WHERE a IN (\n1,\n2)", "SELECT 2"],
    "SELECT 1\r\nUNION ALL\r\nSELECT 2\r\n": ["SELECT 1\nUNION ALL\nSELECT 2"],
    "  SELECT 1\n  SELECT 2": ["SELECT 1", "SELECT 2"],
    "": [],
    " ; \n;": [],
    "SELECT 'it''s": ["SELECT 'it''s"],
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_a_question_ends_where_a_person_would_say_so(text: str) -> None:
    assert statements(text) == CASES[text]
