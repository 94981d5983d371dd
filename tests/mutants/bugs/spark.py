"""Bugs of the Spark engine: what a row could make fail, what may be said, what a setting could change."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FOLDER = "src/discreet/engines/spark"
TESTS = "tests/engines/test_spark.py"
PLACES = "tests/engines/test_spark_places.py"
ORIGINS = "tests/engines/test_spark_origins.py"
SETTINGS = f"{TESTS}::test_no_setting_of_the_session_changes_a_number_and_none_is_changed"

SPARK = (
    Mutant(
        name="sparks-message-is-passed-on",
        trap=33,
        file=f"{FOLDER}/session.py",
        old='f"Spark stopped ({condition or type(error).__name__}). ',
        new='f"Spark stopped ({condition}: {error}). ',
        tests=(f"{TESTS}::test_sparks_message_is_not_passed_on",),
    ),
    Mutant(
        name="a-pattern-is-tried-in-all-ways",
        trap=34,
        file=f"{FOLDER}/dialect.py",
        old='(f"(?>.*?{piece})" for piece',
        new='(f".*{piece}" for piece',
        tests=(f"{TESTS}::test_like_takes_each_piece_where_it_first_stands_and_never_looks_again",),
    ),
    Mutant(
        name="sparks-sums-stay-in-64-bits",
        trap=9,
        file=f"{FOLDER}/writing.py",
        old="        return f\"SUM(CAST({self.sql(expression, 'this')} AS DECIMAL(38, 0)))\"\n",
        new="        return f\"SUM({self.sql(expression, 'this')})\"\n",
        tests=(SETTINGS,),
    ),
    Mutant(
        name="a-text-that-sparks-settings-change",
        trap=37,
        file=f"{FOLDER}/writing.py",
        old="    if _PLAIN.fullmatch(text):\n",
        new='    if "\'" not in text:\n',
        tests=(SETTINGS,),
    ),
    Mutant(
        name="a-data-frame-that-computes-is-read",
        trap=33,
        file=f"{FOLDER}/frames.py",
        old="        elif kind not in _EXPRESSIONS:\n",
        new="        elif kind is None:\n",
        tests=(f"{TESTS}::test_a_frame_that_may_fail_on_a_row_or_mix_people_is_refused",),
    ),
    Mutant(
        name="rows-of-nan-are-passed-over-by-spark",
        trap=3,
        file=f"{FOLDER}/frames.py",
        old='_PASSED_OVER = {"float", "double", ',
        new="_PASSED_OVER = {",
        tests=(
            f"{TESTS}::test_no_row_decides_whether_spark_reads_those_that_a_file_stores_beside_it",
        ),
    ),
    Mutant(
        name="days-that-are-no-timestamps-are-cast-by-spark",
        trap=33,
        file=f"{FOLDER}/frames.py",
        old="    return source == wanted or (are_plain and not between_moments)\n",
        new="    return source == wanted or are_plain\n",
        tests=(
            f"{TESTS}::test_a_cast_that_stops_at_a_far_day_or_an_odd_text_is_refused_in_any_mode",
        ),
    ),
    Mutant(
        name="moments-in-milliseconds-are-read-by-spark",
        trap=33,
        file=f"{FOLDER}/footers.py",
        old='        if is_elsewhere or any("MILLIS" in kind for kind in kinds):\n',
        new='        if is_elsewhere or any("SECONDS" in kind for kind in kinds):\n',
        tests=(f"{TESTS}::test_moments_in_milliseconds_are_refused_before_spark_stops_at_one",),
    ),
    Mutant(
        name="moments-in-milliseconds-under-another-name-are-read-by-spark",
        trap=33,
        file=f"{FOLDER}/footers.py",
        old="            stored |= set().union(*kinds.values()) if own is None else own\n",
        new="            stored |= set() if own is None else own\n",
        tests=(
            f"{TESTS}::test_moments_in_milliseconds_are_found_under_another_name_and_in_files_of_any_name",
        ),
    ),
    Mutant(
        name="nanoseconds-that-spark-cuts-off-are-one-person",
        trap=3,
        file=f"{FOLDER}/footers.py",
        old='        if any("MICROS" not in kind for kind in kinds):\n',
        new='        if any("NANOS" in kind for kind in kinds):\n',
        tests=(
            "tests/engines/test_same_person.py::test_identifiers_that_their_database_takes_for_equal_are_not_told_apart_by_spelling",
        ),
    ),
    Mutant(
        name="an-old-date-stops-spark",
        trap=33,
        file=f"{FOLDER}/frames.py",
        old='.upper() == "EXCEPTION":\n',
        new='.upper() == "NEVER":\n',
        tests=(f"{TESTS}::test_a_session_in_which_an_old_date_stops_the_reader_is_refused",),
    ),
    Mutant(
        name="text-is-parsed-by-spark-after-the-charge",
        trap=33,
        file=f"{FOLDER}/places.py",
        old="        return None if known.fullmatch(name) else f",
        new="        return None if known else f",
        tests=(f"{PLACES}::test_files_of_text_are_refused",),
    ),
    Mutant(
        name="any-program-behind-an-rdd-is-run",
        trap=33,
        file=f"{FOLDER}/places.py",
        old="        return None if leaf.rdd().isCheckpointed() else ",
        new="        return None if leaf.rdd() else ",
        tests=(f"{PLACES}::test_an_rdd_runs_any_program_and_is_refused_until_it_has_run",),
    ),
    Mutant(
        name="all-people-in-a-folder-of-a-frame-are-one-person",
        trap=3,
        file=f"{FOLDER}/places.py",
        old="        hidden |= folders.keys() & ",
        new="        hidden |= set() & ",
        tests=(
            f"{PLACES}::test_a_folders_name_takes_the_place_of_no_column_however_the_files_are_named",
        ),
    ),
    Mutant(
        name="one-folder-of-a-frame-spells-all-anew",
        trap=36,
        file=f"{FOLDER}/places.py",
        old='if type_ != "string"}',
        new='if type_ == ""}',
        tests=(f"{PLACES}::test_what_folders_are_named_is_text_however_the_files_are_named",),
    ),
    Mutant(
        name="a-file-with-two-names-counts-twice-in-spark",
        trap=3,
        file=f"{FOLDER}/places.py",
        old="    if len(set(map(_identity, files))) < len(files):\n",
        new="    if not isinstance(files, list):\n",
        tests=(f"{PLACES}::test_a_file_of_two_names_is_not_counted_twice_by_spark",),
    ),
    Mutant(
        name="replaced-rows-count-again-in-spark",
        trap=3,
        file=f"{FOLDER}/places.py",
        old="    if any(_has_log(session, folder) for folder in _folders(plain)):\n",
        new="    if any(_has_log(session, folder) for folder in ()):\n",
        tests=(
            f"{PLACES}::test_files_of_a_table_that_also_hold_replaced_rows_are_refused_by_spark",
        ),
    ),
    Mutant(
        name="a-column-of-another-name-is-not-looked-behind",
        trap=3,
        file=f"{FOLDER}/origins.py",
        old="                self._made[_number(one)] = _numbers(one)\n",
        new="                self._made[_number(one)] = set()\n",
        tests=(f"{ORIGINS}::test_no_name_and_no_cast_hides_what_stands_behind_a_column",),
    ),
    Mutant(
        name="the-second-part-of-a-union-is-not-looked-behind",
        trap=3,
        file=f"{FOLDER}/origins.py",
        old="set()).add(_number(one))\n",
        new="set()).add(_number(own))\n",
        tests=(f"{ORIGINS}::test_no_name_and_no_cast_hides_what_stands_behind_a_column",),
    ),
    Mutant(
        name="columns-that-choose-rows-are-not-looked-behind",
        trap=33,
        file=f"{FOLDER}/origins.py",
        old="                self._choosing |= _numbers(one)\n",
        new="                self._choosing |= set()\n",
        tests=(f"{ORIGINS}::test_no_name_and_no_cast_hides_what_stands_behind_a_column",),
    ),
    Mutant(
        name="short-numbers-are-passed-over-by-sparks-questions",
        trap=3,
        file=f"{FOLDER}/dialect.py",
        old='            return s.call("shiftleft", s.cast(raw, "INTEGER"), s.whole(0))\n',
        new="            return raw.copy()\n",
        tests=(
            f"{ORIGINS}::test_no_row_decides_whether_a_question_sees_those_that_a_file_stores_beside_it",
        ),
    ),
    Mutant(
        name="orc-files-of-any-type-are-read",
        trap=3,
        file=f"{FOLDER}/footers.py",
        old='    for format_ in ("parquet", "orc"):\n',
        new='    for format_ in ("parquet",):\n',
        tests=(f"{ORIGINS}::test_orc_files_of_other_types_than_spark_reads_them_by_are_refused",),
    ),
    Mutant(
        name="moments-in-orc-files-are-read-by-spark",
        trap=33,
        file=f"{FOLDER}/footers.py",
        old="        is_elsewhere = _UNKNOWN in kinds and not session.is_remote\n",
        new="        is_elsewhere = not kinds and not session.is_remote\n",
        tests=(f"{ORIGINS}::test_moments_in_orc_files_are_refused",),
    ),
    Mutant(
        name="spark-leaves-out-what-stands-behind-a-bad-value",
        trap=3,
        file=f"{FOLDER}/places.py",
        old='    return any(str(one).lower() == "true" for one in said)\n',
        new='    return any(str(one).lower() == "always" for one in said)\n',
        tests=(
            f"{ORIGINS}::test_files_whose_rest_is_left_out_where_a_value_cannot_be_read_are_refused",
        ),
    ),
    Mutant(
        name="a-cast-in-spark-tells-people-apart-anew",
        trap=3,
        file=f"{FOLDER}/origins.py",
        old="{_number(one)} if _is_anew(one.child()) else set()\n",
        new="set()\n",
        tests=(f"{ORIGINS}::test_nobody_is_told_apart_by_a_cast",),
    ),
)
