"""The ledger's tables in PostgreSQL: how they are laid, and how it is checked that they are as they were laid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_APPENDED = """
BEGIN
  IF NEW.seq IS DISTINCT FROM (SELECT coalesce(max(seq), 0) + 1 FROM {event}) THEN
    RAISE EXCEPTION 'ledger events are only appended';
  END IF;
  RETURN NEW;
END"""
_NEVER = """
BEGIN
  RAISE EXCEPTION 'ledger events are never changed or deleted';
END"""

CREATE = (
    "CREATE SCHEMA IF NOT EXISTS {schema}",
    """CREATE TABLE {event} (
  seq bigint NOT NULL PRIMARY KEY, body text NOT NULL, payload bytea, hash text NOT NULL)""",
    # No foreign key or oid type: a dump must carry the old number, so that it shows.
    "CREATE TABLE {place} (events bigint NOT NULL, timeline text NOT NULL, system text NOT NULL)",
    f"""CREATE FUNCTION {{schema}}.event_is_appended() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog AS $body${_APPENDED}$body$""",
    f"""CREATE FUNCTION {{schema}}.event_is_never_changed() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog AS $body${_NEVER}$body$""",
    """CREATE TRIGGER event_is_appended BEFORE INSERT ON {event}
  FOR EACH ROW EXECUTE FUNCTION {schema}.event_is_appended()""",
    """CREATE TRIGGER event_is_never_changed BEFORE UPDATE OR DELETE ON {event}
  FOR EACH ROW EXECUTE FUNCTION {schema}.event_is_never_changed()""",
    """CREATE TRIGGER event_is_never_emptied BEFORE TRUNCATE ON {event}
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.event_is_never_changed()""",
    # ALWAYS: also for sessions that play replicas, in which ordinary triggers sleep.
    "ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_appended",
    "ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_never_changed",
    "ALTER TABLE {event} ENABLE ALWAYS TRIGGER event_is_never_emptied",
)

_HERE = """'{event}'::regclass::oid::bigint,
  substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), (SELECT system_identifier::text FROM pg_control_system())"""
NOTE_PLACE = f"INSERT INTO {{place}} VALUES ({_HERE})"
IS_PLACE = f"SELECT (events, timeline, system) = ({_HERE}) FROM {{place}}"
"""Whether these are the table and the server's history to which the ledger was written."""

QUESTIONS = (
    """SELECT attname::text, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
  WHERE attrelid = '{event}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum""",
    """SELECT t.tgname::text, t.tgtype::int, t.tgenabled::text, p.prosrc FROM pg_trigger t
  JOIN pg_proc p ON p.oid = t.tgfoid
  WHERE t.tgrelid = '{event}'::regclass AND NOT t.tgisinternal ORDER BY 1""",
    """SELECT relkind::text, relpersistence::text, relrowsecurity, relhasrules, relhassubclass
  FROM pg_class WHERE oid = '{event}'::regclass""",
    """SELECT indkey::text FROM pg_index
  WHERE indrelid = '{event}'::regclass AND indisprimary AND indisvalid""",
)
"""About the columns, the triggers, the table itself (logged, with no rules) and its primary key."""


def for_schema(schema: str) -> Callable[[str], str]:
    """Fills the names of one ledger's schema into a statement."""
    names = {name: f'"{schema}"."{name}"' for name in ("event", "place")}

    def fill(statement: str) -> str:
        for name, full in names.items():
            statement = statement.replace("{" + name + "}", full)
        return statement.replace("{schema}", f'"{schema}"')

    return fill


def expected(fill: Callable[[str], str]) -> list[list[tuple[Any, ...]]]:
    """The answers to `QUESTIONS` where nothing was altered."""
    return [
        [
            ("seq", "bigint", True),
            ("body", "text", True),
            ("payload", "bytea", False),
            ("hash", "text", True),
        ],
        [  # before each row: insert is 7, update or delete 27; before a statement: truncate is 34
            ("event_is_appended", 7, "A", fill(_APPENDED)),
            ("event_is_never_changed", 27, "A", fill(_NEVER)),
            ("event_is_never_emptied", 34, "A", fill(_NEVER)),
        ],
        [("r", "p", False, False, False)],
        [("1",)],
    ]
