"""Bugs 33 to 40: what is said, written, timed or answered beside the numbers; and the local model."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

ENGINE = "tests/kernel/test_engine_guards.py"
FIXED = "tests/audits/test_fixed_pairs.py"
NOISE = "tests/kernel/test_noise_guards.py"
MECHANISMS = "tests/kernel/test_mechanisms.py"
FAILURES = "tests/cli/test_failures.py"
LEAKS = "tests/audits/test_leaks.py"
ODD_VALUES = (
    "tests/audits/test_value_fuzz.py::test_no_odd_value_can_be_seen_but_in_the_counts_of_its_row"
)
FILE_NEIGHBOURS = (
    "tests/audits/test_file_neighbours.py"
    "::test_random_files_and_their_neighbours_are_never_told_apart"
)
ONE_MORE = f"{FIXED}::test_a_table_with_one_row_more_is_told_apart_by_no_more_than_was_charged"
LINT = (
    "tests/tools/test_privacy_lint.py::test_the_tree_is_clean_and_every_exemption_is_still_needed"
)

SIDE_CHANNELS = (
    Mutant(
        name="a-cast-that-fails-on-some-row",
        trap=33,
        file="src/discreet/engines/sql/syntax.py",
        old="    return exp.TryCast(",
        new="    return exp.Cast(",
        tests=(f"{ENGINE}::test_no_text_makes_a_verb_fail",),
        quick=True,
    ),
    Mutant(
        name="a-text-that-stops-the-parquet-reader",
        trap=33,
        file="src/discreet/engines/duckdb/scan.py",
        old='"utf8_validation": s.text("replace")',
        new='"utf8_validation": s.text("strict")',
        tests=(f"{ENGINE}::test_a_text_that_is_not_utf_8_is_a_text_like_any_other",),
    ),
    Mutant(
        name="a-moment-that-microseconds-do-not-hold",
        trap=33,
        file="src/discreet/engines/duckdb/dialect.py",
        old='        if type_.family == "coarse":\n            return s.try_cast(raw, "TIMESTAMP")\n',
        new="",
        tests=(f"{ODD_VALUES}[duckdb]",),
    ),
    Mutant(
        name="the-engines-question-hangs-on-the-rows",
        trap=34,
        file="src/discreet/core/vault.py",
        old="        answers: list[Counts] = []\n",
        new=(
            "        if any(int(table.sum()) % 2 for table in marginals.values()):\n"
            "            self._engine.marginals(list(columns))\n"
            "        answers: list[Counts] = []\n"
        ),
        tests=(ONE_MORE,),
    ),
    Mutant(
        name="the-database-prints-how-long-it-took",
        trap=39,
        file="src/discreet/engines/duckdb/session.py",
        old='            connection.execute("SET enable_progress_bar_print = false")\n',
        new='            connection.execute("SET enable_progress_bar = true")\n',
        tests=(
            "tests/engines/test_isolation.py::test_no_connection_is_asked_anything_before_it_is_told_not_to_print",
        ),
    ),
    Mutant(
        name="the-command-line-says-how-large-the-file-was",
        trap=39,
        file="src/discreet/cli/commands/release.py",
        old="    for warning in guidance(made.budget, people=schema.people):\n        say(warning)\n",
        new=(
            "    if Path(table).exists():\n"
            '        say(f"{Path(table).stat().st_size} bytes were read.")\n'
            "    for warning in guidance(made.budget, people=schema.people):\n        say(warning)\n"
        ),
        tests=(FILE_NEIGHBOURS,),
    ),
    Mutant(
        name="the-databases-message-is-passed-on",
        trap=35,
        file="src/discreet/engines/duckdb/session.py",
        old="""            f"The engine stopped ({type(error).__name__}). Its own message is not shown, because "
            f"it may quote a row. {stands}"
""",
        new="""            f"The engine stopped: {error} {stands}"
""",
        tests=(f"{ENGINE}::test_an_error_of_the_database_never_shows_its_text",),
    ),
    Mutant(
        name="an-unexpected-error-shows-its-text",
        trap=35,
        file="src/discreet/cli/failures.py",
        old='            f"Internal error ({type(error).__name__}): a fault in discreet, not in what you asked. "\n',
        new='            f"Internal error ({error!r}): a fault in discreet, not in what you asked. "\n',
        tests=(f"{FAILURES}::test_an_unexpected_exception_shows_its_kind_and_never_its_text",),
    ),
    Mutant(
        name="tracebacks-shown-to-everybody",
        trap=35,
        file="src/discreet/cli/failures.py",
        old='    if os.environ.get(DEBUG_VARIABLE) == "1":\n',
        new='    if os.environ.get(DEBUG_VARIABLE) != "0":\n',
        tests=(f"{FAILURES}::test_an_unexpected_exception_shows_its_kind_and_never_its_text",),
    ),
    Mutant(
        name="exact-counts-in-a-log-line",
        trap=35,
        file="src/discreet/core/vault.py",
        old="        answers: list[Counts] = []\n",
        new=(
            "        import logging\n\n"
            '        logging.getLogger("discreet").info("read %s", list(marginals.values()))\n'
            "        answers: list[Counts] = []\n"
        ),
        tests=(LINT,),
    ),
    Mutant(
        name="a-first-row-taken-for-a-header-is-shown",
        trap=35,
        file="src/discreet/engines/sources.py",
        old="        shown = names_are_public or 2 * len(missing) <= len(wanted)\n",
        new="        shown = True\n",
        tests=(f"{ENGINE}::test_a_first_line_that_may_be_a_row_is_not_shown",),
    ),
    Mutant(
        name="keys-are-named-in-the-order-of-the-rows",
        trap=36,
        file="src/discreet/core/checked_engine.py",
        old="        _expect(all(key < following for key, following in pairwise(keys)))\n",
        new="        _expect(len(set(keys)) == len(keys))\n",
        tests=(
            "tests/kernel/test_checked_engine.py::test_counts_of_nodes_and_keys_fit_what_was_asked",
        ),
    ),
    Mutant(
        name="a-persons-rows-kept-by-their-place-in-the-file",
        trap=36,
        file="src/discreet/engines/sql/layers.py",
        old='exp.Order(expressions=[s.name("key"), *values, *units_kept])',
        new="exp.Order(expressions=[s.whole(1)])",
        tests=(f"{ENGINE}::test_at_most_max_rows_of_a_person_are_kept_and_not_by_their_place",),
    ),
    Mutant(
        name="spilled-rows-left-on-the-disk",
        trap=36,
        file="src/discreet/engines/duckdb/session.py",
        old="                self._connections, self._free = [], []\n                self._spill.remove()\n",
        new="                self._connections, self._free = [], []\n",
        tests=(f"{ENGINE}::test_spilled_rows_are_private_and_gone_when_the_engine_closes",),
    ),
    Mutant(
        name="a-row-in-a-drafted-schema",
        trap=36,
        file="src/discreet/engines/opening.py",
        old="        refuse_row_as_header([name for name, _ in described])\n",
        new="        pass\n",
        tests=(f"{LEAKS}::test_a_draft_never_shows_a_row",),
    ),
    Mutant(
        name="release-file-with-the-hour-it-was-written",
        trap=36,
        file="src/discreet/artifacts/files.py",
        old="            info = zipfile.ZipInfo(member, date_time=DATE)\n",
        new=(
            "            import time\n\n"
            "            info = zipfile.ZipInfo(member, date_time=time.localtime()[:6])\n"
        ),
        tests=(f"{LEAKS}::test_a_release_file_holds_nothing_of_when_and_where_it_was_written",),
    ),
    Mutant(
        name="engine-may-open-other-files",
        trap=37,
        file="src/discreet/engines/duckdb/session.py",
        old='        self.run("SET enable_external_access = false")\n',
        new="",
        tests=(f"{ENGINE}::test_an_open_engine_reaches_its_own_source_and_nothing_else",),
    ),
    Mutant(
        name="texts-of-the-schema-not-escaped",
        trap=37,
        file="src/discreet/engines/sql/syntax.py",
        old="    return exp.Literal.string(value)\n",
        new="    return exp.Var(this=f\"'{value}'\")\n",
        tests=(f"{ENGINE}::test_names_and_values_of_the_schema_are_never_read_as_sql",),
    ),
    Mutant(
        name="stacked-statements-accepted",
        trap=37,
        file="src/discreet/questions/dialects/statement.py",
        old="        if any(token.token_type is TokenType.SEMICOLON for token in tokens):\n",
        new="        if any(token.token_type is TokenType.SEMICOLON for token in ()):\n",
        more=(
            (
                "        (statement,) = dialect.parser(error_message_context=0).parse(tokens, text)\n",
                "        statement = dialect.parser(error_message_context=0).parse(tokens, text)[0]\n",
            ),
        ),
        tests=("tests/queries/test_refused_sql.py::test_sql_outside_the_allow_list_is_refused",),
    ),
    Mutant(
        name="clauses-that-are-not-understood-are-dropped",
        trap=37,
        file="src/discreet/questions/dialects/statement.py",
        old="            if value and clause not in _READ:\n",
        new='            if value and clause in ("with_", "joins"):\n',
        tests=("tests/queries/test_refused_sql.py::test_sql_outside_the_allow_list_is_refused",),
    ),
    Mutant(
        name="noise-bounded",
        trap=38,
        file="src/discreet/core/noise.py",
        old="return saturated(exact) + self.draw(law, exact.size)",
        new=(
            "bound = int(6 * law.std) // 2\n"
            "        return saturated(exact) + np.clip(self.draw(law, exact.size), -bound, bound)"
        ),
        tests=(f"{NOISE}::test_noise_is_not_cut_off_at_any_bound",),
    ),
    Mutant(
        name="noise-sticks-to-the-exact-answer",
        trap=38,
        file="src/discreet/core/noise.py",
        old="return saturated(exact) + self.draw(law, exact.size)",
        new=(
            "import hashlib\n\n"
            "        known = self.__dict__.setdefault('_known', {})\n"
            "        key = hashlib.sha256(exact.tobytes() + repr(law).encode()).digest()\n"
            "        if key not in known:\n"
            "            known[key] = self.draw(law, exact.size)\n"
            "        return saturated(exact) + known[key]"
        ),
        tests=(f"{NOISE}::test_one_source_never_repeats_a_draw",),
    ),
    Mutant(
        name="small-counts-refused-by-name",
        trap=39,
        file="src/discreet/core/vault.py",
        old="        answers: list[Counts] = []\n",
        new=(
            "        for names, table in marginals.items():\n"
            "            if int(table.max()) < 2:\n"
            '                raise BadInput(f"Too few rows in {names}.")\n'
            "        answers: list[Counts] = []\n"
        ),
        tests=(f"{FIXED}::test_tables_of_no_row_and_of_one_behave_alike", ONE_MORE),
    ),
    Mutant(
        name="file-shrinks-with-the-empty-cells",
        trap=39,
        file="src/discreet/families/shared/release/measured.py",
        old="            estimates=self.estimates(measured, public_rows),\n",
        new=(
            "            estimates={\n"
            '                f"counts {place}": each.values[: 1 + grant._engine.row_count()]\n'
            "                for place, each in enumerate(measured)\n"
            "            },\n"
        ),
        tests=(ONE_MORE,),
    ),
    Mutant(
        name="randomised-response-always-tells-the-truth",
        trap=40,
        file="src/discreet/local/clients/drawing.py",
        old="    lies = coins >= protocol.truth.numerator\n",
        new="    lies = coins > protocol.truth.numerator\n",
        tests=(
            f"{MECHANISMS}::test_two_coins_cost_the_logarithm_of_three_and_tell_the_truth_three_times_in_four",
        ),
    ),
    Mutant(
        name="randomised-response-pays-for-two-answers-only",
        trap=40,
        file="src/discreet/local/protocols/randomised_response.py",
        old="        odds = self.truth * (self.answers - 1) / (1 - self.truth)\n",
        new="        odds = self.truth / (1 - self.truth)\n",
        tests=(
            "tests/queries/test_local_model.py::test_the_odds_of_every_answer_are_those_that_were_paid_for",
        ),
    ),
    Mutant(
        name="randomised-responses-rounded-up-to-more-truth",
        trap=40,
        file="src/discreet/local/protocols/randomised_response.py",
        old="        truth = lowest / (lowest + answers - 1)\n",
        new="        truth = lowest / (lowest + answers - 2)\n",
        tests=(
            "tests/queries/test_local_model.py::test_the_most_truthful_one_stays_within_its_epsilon_and_wastes_nothing",
        ),
    ),
    Mutant(
        name="whole-texts-of-a-person-are-held-together",
        trap=33,
        file="src/discreet/engines/sql/units.py",
        old='        read = s.call("substr", read, s.whole(1), s.whole(longest + 1))',
        new='        read = s.call("substr", read, s.whole(1), s.whole(1_000_000 + longest))',
        tests=(
            "tests/engines/test_long_texts.py::test_the_long_texts_of_one_person_do_not_stop_a_run",
        ),
    ),
    Mutant(
        name="an-identifier-of-any-length-is-held-for-each-row",
        trap=33,
        file="src/discreet/engines/sql/layers.py",
        old="                .where(s.at_most(letters, s.whole(units.LONGEST_TEXT)))\n",
        new="                .where(s.at_most(s.whole(0), letters))\n",
        tests=(
            "tests/engines/test_long_texts.py::test_the_long_texts_of_one_person_do_not_stop_a_run",
        ),
    ),
    Mutant(
        name="whole-texts-of-a-person-are-joined",
        trap=33,
        file="src/discreet/engines/sql/views.py",
        old='r"VARCHAR|(string|varchar).*"',
        new='r"TEXT"',
        tests=(
            "tests/engines/test_long_texts.py::test_the_long_texts_of_one_person_do_not_stop_a_view",
        ),
    ),
    Mutant(
        name="whole-texts-of-a-person-are-joined-by-spark",
        trap=33,
        file="src/discreet/engines/sql/views.py",
        old='r"VARCHAR|(string|varchar).*"',
        new='r"VARCHAR"',
        tests=(
            "tests/engines/test_long_texts.py::test_the_long_texts_of_one_person_do_not_stop_a_view_in_spark",
        ),
    ),
    Mutant(
        name="a-view-cuts-a-long-text-to-a-declared-value",
        trap=33,
        file="src/discreet/engines/sql/views.py",
        old="max([LONGEST_TEXT, *values]) + 1)",
        new="max([LONGEST_TEXT, *values]))",
        tests=(
            "tests/engines/test_long_texts.py::test_of_a_long_text_a_view_reads_as_many_letters",
        ),
    ),
    Mutant(
        name="a-long-text-is-cut-to-a-declared-value",
        trap=33,
        file="src/discreet/engines/sql/units.py",
        old="s.whole(longest + 1))",
        new="s.whole(longest))",
        tests=(
            "tests/engines/test_long_texts.py::test_of_a_long_text_each_engine_reads_as_many_letters",
        ),
    ),
    Mutant(
        name="a-dictionary-is-taken-apart-only-if-its-values-fit",
        trap=33,
        file="src/discreet/engines/arrow_columns.py",
        old="            array.validate()  # and `take`",
        new="            array.validate(full=True)  # and `take`",
        tests=("tests/engines/test_sources.py::test_no_value_of_a_dictionary_stops_a_run",),
    ),
    Mutant(
        name="runs-that-arrow-cannot-take-apart-are-charged",
        trap=33,
        file="src/discreet/engines/arrow_columns.py",
        old="        if reading is not None:\n            reading.safe(",
        new="        if reading is None:\n            nothing().safe(",
        tests=(
            "tests/engines/test_sources.py::test_runs_that_arrow_cannot_take_apart_are_refused_before_the_charge",
        ),
    ),
)
