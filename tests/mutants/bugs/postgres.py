"""Bugs of the PostgreSQL engine: what a row could make fail, what may be said, whose code is run."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FOLDER = "src/discreet/engines/postgres"
REFUSALS = "tests/engines/postgres/test_postgres_refusals.py"
ROWS = "tests/engines/postgres/test_postgres_rows.py"
BATTERY = "tests/engines/test_battery.py::test_both_engines_count_awkward_values_alike"

POSTGRES = (
    Mutant(
        name="a-password-in-an-address-is-taken",
        trap=35,
        file=f"{FOLDER}/address.py",
        old="    if refused:\n",
        new="    if refused and False:\n",
        tests=(f"{REFUSALS}::test_a_password_in_an_address_is_refused_and_not_repeated",),
    ),
    Mutant(
        name="another-users-functions-are-called",
        trap=37,
        file=f"{FOLDER}/session.py",
        old='    "search_path": "pg_catalog",\n',
        new="",
        tests=(f"{ROWS}::test_nobodys_function_or_operator_is_called_by_accident",),
    ),
    Mutant(
        name="a-transaction-that-may-write",
        trap=37,
        file=f"{FOLDER}/session.py",
        old="        self._connection.read_only = True\n",
        new="        self._connection.read_only = False\n",
        tests=(f"{ROWS}::test_a_transaction_can_change_nothing",),
    ),
    Mutant(
        name="verbs-see-rows-of-different-moments",
        trap=21,
        file=f"{FOLDER}/session.py",
        old="IsolationLevel.REPEATABLE_READ",
        new="IsolationLevel.READ_COMMITTED",
        tests=(f"{ROWS}::test_every_verb_sees_the_rows_of_one_moment",),
    ),
    Mutant(
        name="postgresqls-message-is-passed-on",
        trap=33,
        file=f"{FOLDER}/session.py",
        old='            f"The database stopped ({type(error).__name__}). ',
        new='            f"The database stopped ({type(error).__name__}: {error}). ',
        tests=(f"{ROWS}::test_the_databases_message_is_not_passed_on",),
    ),
    Mutant(
        name="a-product-that-underflows",
        trap=33,
        file=f"{FOLDER}/numbers.py",
        old="        if scale >= 1:\n            return product\n",
        new="        if scale > 0:\n            return product\n",
        tests=(f"{ROWS}::test_a_product_too_small_for_a_double_stops_no_verb",),
    ),
    Mutant(
        name="a-product-that-overflows",
        trap=33,
        file=f"{FOLDER}/arithmetic.py",
        old="            (large, s.choose([(fits, result)], s.null())),\n",
        new="            (large, result),\n",
        tests=(f"{BATTERY}[doubles-awkward people]",),
    ),
    Mutant(
        name="a-text-of-a-number-beyond-doubles",
        trap=33,
        file=f"{FOLDER}/numbers.py",
        old="    cases = [(beyond, s.null()), (below, s.double(0.0))]\n",
        new="    cases = [(s.is_null(beyond), s.null()), (below, s.double(0.0))]\n",
        tests=(f"{BATTERY}[text-plain people]",),
    ),
    Mutant(
        name="a-day-that-is-infinite",
        trap=33,
        file=f"{FOLDER}/dialect.py",
        old='            return s.choose([(s.call("isfinite", day), s.cast(clamped, "BIGINT"))], s.null())\n',
        new='            return s.cast(clamped, "BIGINT")\n',
        tests=(f"{BATTERY}[dates-plain rows]",),
    ),
    Mutant(
        name="a-view-that-computes-is-read",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old="        elif not isinstance(node, _PLAIN):\n            return other\n",
        new="",
        tests=(f"{REFUSALS}::test_a_view_that_may_fail_on_a_row_or_mix_people_is_refused",),
    ),
    Mutant(
        name="a-view-that-negates-is-read",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old="        elif isinstance(node, exp.Neg) and not isinstance(node.this, exp.Literal):\n",
        new="        elif isinstance(node, exp.Neg) and node.this is None:\n",
        tests=(f"{REFUSALS}::test_a_view_that_may_fail_on_a_row_or_mix_people_is_refused",),
    ),
    Mutant(
        name="a-view-that-compares-areas-is-read",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old=" or (column in compared and not _compares_safely(type_name)):\n",
        new=":\n",
        tests=(f"{REFUSALS}::test_a_view_that_compares_what_overflows_is_refused",),
    ),
    Mutant(
        name="a-cast-in-a-view-tells-people-apart-anew",
        trap=3,
        file=f"{FOLDER}/catalog.py",
        old="' collate' * (column in anew)",
        new="' collate' * (column is anew)",
        tests=(f"{REFUSALS}::test_nobody_is_told_apart_by_a_cast_in_a_view",),
    ),
    Mutant(
        name="a-view-calls-a-column-by-anothers-name",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old="    if tables[0].alias_column_names:\n",
        new="    if not tables[0].name:\n",
        tests=(f"{REFUSALS}::test_a_view_that_gives_columns_the_names_of_others_is_refused",),
    ),
    Mutant(
        name="a-function-of-somebodys-own-casts-a-column",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old="    if cast:\n",
        new="    if cast is None:\n",
        tests=(f"{REFUSALS}::test_no_function_of_somebodys_own_casts_a_column",),
    ),
    Mutant(
        name="a-view-of-a-column-that-is-computed-is-read",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old='            is_computed = column in named and generated == "v"',
        new='            is_computed = column is named and generated == "v"',
        tests=(f"{REFUSALS}::test_a_view_of_a_column_that_is_computed_when_it_is_read_is_refused",),
    ),
    Mutant(
        name="a-view-of-where-a-row-is-stored-is-read",
        trap=3,
        file=f"{FOLDER}/catalog.py",
        old="        if named - {column for column, *_ in columns}:",
        new="        if set() - {column for column, *_ in columns}:",
        tests=(f"{REFUSALS}::test_a_view_of_where_a_row_is_stored_is_refused",),
    ),
    Mutant(
        name="rules-of-row-security-are-run",
        trap=33,
        file=f"{FOLDER}/catalog.py",
        old="        if secured:\n",
        new="        if secured is None:\n",
        tests=(
            f"{REFUSALS}::test_row_security_foreign_files_and_columns_without_leave_are_refused",
        ),
    ),
    Mutant(
        name="a-collation-makes-two-texts-one",
        trap=18,
        file=f"{FOLDER}/texts.py",
        old="    return exp.Paren(this=exp.Collate(this=s.own(text), expression=rule))\n",
        new="    return s.own(text) if rule else s.null()\n",
        tests=(f"{ROWS}::test_texts_are_compared_byte_by_byte_whatever_the_collation",),
    ),
)
