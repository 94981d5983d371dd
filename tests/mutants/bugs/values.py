"""Bugs of reading values: one that stops a run, is read too early, is quoted, or lends a group its name."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

FUZZ = "tests/audits/test_value_fuzz.py"
ODD = f"{FUZZ}::test_no_odd_value_can_be_seen_but_in_the_counts_of_its_row"
SOURCES = f"{FUZZ}::test_no_source_is_touched_before_the_first_verb_or_heard_when_it_fails"
ENGINE = "tests/kernel/test_engine_guards.py"
SAME = "tests/engines/test_same_person.py"
INFERRED = "tests/engines/test_pandas_types.py::test_no_row_changes_how_others_are_read"
ARROW = "src/discreet/engines/arrow_columns.py"
FRAMES = "src/discreet/engines/frames.py"
DIALECT = "src/discreet/engines/duckdb/dialect.py"

VALUES = (
    Mutant(
        name="a-lazy-table-is-computed-before-the-charge",
        trap=25,
        file="src/discreet/engines/duckdb/scan.py",
        old="    session.register(_REGISTERED, rows)",
        new="    rows.read()\n    session.register(_REGISTERED, rows)",
        tests=(SOURCES,),
    ),
    Mutant(
        name="the-spelling-of-one-row-names-a-group",
        trap=18,
        file=DIALECT,
        old="    return exp.Paren(this=exp.Collate(this=s.own(text), expression=rule))\n",
        new="    return s.own(text)\n",
        tests=(f"{ODD}[duckdb]",),
    ),
    Mutant(
        name="arrow-text-that-is-no-unicode-is-handed-on",
        trap=33,
        file=ARROW,
        old="    stored = array.cast(pyarrow.large_binary())  # without a look at the bytes\n",
        new="    return array\n    stored = array.cast(pyarrow.large_binary())\n",
        tests=(f"{ODD}[arrow]",),
    ),
    Mutant(
        name="arrow-timestamps-converted-by-the-engine",
        trap=33,
        file=ARROW,
        old='        return Reading(f"INSTANT_{unit}", integers, lambda array: _whole(array).view(integers))\n',
        new='        return Reading("TIMESTAMP WITH TIME ZONE" if type_.tz else "TIMESTAMP", type_, _whole)\n',
        tests=(f"{ODD}[arrow]",),
    ),
    Mutant(
        name="seconds-multiplied-before-they-are-clamped",
        trap=33,
        file=DIALECT,
        old="        inside = s.clamp(value, s.whole(-farthest), s.whole(farthest))\n",
        new="        inside = value\n",
        tests=(f"{ODD}[arrow]",),
    ),
    Mutant(
        name="durations-converted-by-the-engine",
        trap=33,
        file=ARROW,
        old="    if name in _NUMBERS:\n",
        new=(
            '    if _is(type_, "duration"):\n'
            '        return Reading("BIGINT", type_, _whole)\n'
            "    if name in _NUMBERS:\n"
        ),
        tests=(f"{ODD}[arrow]",),
    ),
    Mutant(
        name="decimals-of-more-digits-than-their-type-handed-on",
        trap=33,
        file=ARROW,
        old="        array = _fitting(array)\n",
        new="        pass\n",
        tests=(f"{ODD}[arrow]",),
    ),
    Mutant(
        name="decimals-of-parquet-with-too-many-digits-are-spelled",
        trap=33,
        file=DIALECT,
        old="            return _within_digits(raw, type_)\n        if not type_.is_text:\n",
        new="            return raw.copy()\n        if not type_.is_text:\n",
        tests=(f"{ODD}[parquet]",),
    ),
    Mutant(
        name="half-a-surrogate-pair-is-handed-on",
        trap=33,
        file="src/discreet/engines/pandas_columns.py",
        old='    return _HALF_A_PAIR.sub("\\ufffd", text)\n',
        new="    return text\n",
        tests=(f"{ODD}[pandas]",),
    ),
    Mutant(
        name="an-identifier-before-the-calendar-is-spelled",
        trap=33,
        file=DIALECT,
        old='    first = s.call("greatest", moment, s.whole(_FIRST_MOMENT))\n',
        new="    first = moment\n",
        tests=(f"{ENGINE}::test_no_moment_as_an_identifier_makes_a_verb_fail",),
    ),
    Mutant(
        name="minus-zero-is-another-person",
        trap=3,
        file="src/discreet/engines/sql/syntax.py",
        old='    return choose([(equal(spelled, text("-0.0")), text("0.0"))], spelled)\n',
        new="    return spelled\n",
        tests=(f"{SAME}::test_equal_identifiers_are_one_person_however_they_are_spelled",),
    ),
    Mutant(
        name="every-spelling-of-a-decimal-is-another-person",
        trap=3,
        file="src/discreet/engines/postgres/dialect.py",
        old='s.cast(s.call("trim_scale", finite_decimal(raw)), "VARCHAR")',
        new='s.cast(finite_decimal(raw), "VARCHAR")',
        tests=(f"{SAME}::test_equal_identifiers_are_one_person_however_they_are_spelled",),
    ),
    Mutant(
        name="every-spelling-of-a-text-is-another-person",
        trap=3,
        file="src/discreet/engines/sql/layers.py",
        old="MIXED_UP.fullmatch(fields[-1][1])",
        new="False",
        tests=(
            f"{SAME}::test_identifiers_that_their_database_takes_for_equal_are_not_told_apart_by_spelling",
        ),
    ),
    Mutant(
        name="two-numbers-that-a-database-spells-alike-are-one-person",
        trap=3,
        file="src/discreet/engines/duckdb/dialect.py",
        old="    return s.choose([(s.equal(s.try_cast(text, own), raw), text)], bits)\n",
        new="    return text\n",
        tests=(f"{SAME}::test_different_numbers_are_different_people",),
    ),
    Mutant(
        name="every-type-of-a-number-is-another-person",
        trap=3,
        file="src/discreet/engines/pandas_columns.py",
        old="    if near is None or number == int(number):\n",
        new="    if near is None or type(number) is int:\n",
        tests=(f"{SAME}::test_equal_identifiers_are_one_person_however_they_are_spelled",),
    ),
    Mutant(
        name="decimals-that-a-reader-rounds-are-told-apart",
        trap=3,
        file="src/discreet/engines/duckdb/scan.py",
        old='            described[place] = (name, f"ROUNDED {type_}")\n',
        new="            pass\n",
        tests=(
            f"{SAME}::test_identifiers_that_their_database_takes_for_equal_are_not_told_apart_by_spelling",
        ),
    ),
    Mutant(
        name="tables-are-joined-by-decimals-that-a-reader-rounds",
        trap=3,
        file="src/discreet/engines/sql/views.py",
        old=" or MIXED_UP.fullmatch(name)",
        new="",
        tests=(f"{SAME}::test_tables_are_not_joined_by_what_mixes_people_up",),
    ),
    Mutant(
        name="identifiers-that-do-not-fit-their-type-are-one-person",
        trap=3,
        file=DIALECT,
        old="            raw = s.choose([(s.equal(_within_digits(raw, type_), raw), raw)], s.null())\n",
        new="            raw = _within_digits(raw, type_)\n",
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="identifiers-before-the-calendar-are-one-person",
        trap=3,
        file=DIALECT,
        old="    return s.choose([(s.equal(first, moment), spelled)], ",
        new="    return s.choose([(exp.Not(this=s.is_null(moment)), spelled)], ",
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="moments-within-one-microsecond-are-one-person",
        trap=3,
        file="src/discreet/engines/pandas_columns.py",
        old='    return f"{known.microseconds} us" if whole else None\n',
        new='    return f"{known.microseconds} us"\n',
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="long-doubles-that-lie-near-are-one-person",
        trap=3,
        file="src/discreet/engines/pandas_columns.py",
        old='("f" if column is None else',
        new="(() if column is None else",
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="one-missing-value-spells-all-numbers-anew",
        trap=36,
        file="src/discreet/engines/pandas_columns.py",
        old='"iuf" if isinstance(column, CategoryColumn)',
        new="() if isinstance(column, CategoryColumn)",
        tests=(f"{INFERRED}[a category of whole numbers]",),
    ),
    Mutant(
        name="one-identifier-that-is-no-whole-number-spells-all-anew",
        trap=36,
        file="src/discreet/engines/pandas_columns.py",
        old='("f" if column is None else',
        new="(() if column is None else",
        tests=(f"{INFERRED}[identifiers]",),
    ),
    Mutant(
        name="moments-of-one-day-are-one-person",
        trap=3,
        file=ARROW,
        old='    if name == "date64[ms]" and not exact:\n',
        new='    if name == "date64[ms]":\n',
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="a-number-of-too-many-digits-stops-a-run",
        trap=33,
        file="src/discreet/engines/pandas_columns.py",
        old='    return f"{whole:x}/{part:x}"',
        new='    return f"{whole}/{part}"',
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="decimals-that-lie-near-are-one-person",
        trap=3,
        file="src/discreet/engines/pandas_columns.py",
        old="        return _identity(known)\n",
        new="        return repr(double_of(known))\n",
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="people-whose-identifiers-are-no-text-are-one-person",
        trap=3,
        file=DIALECT,
        old="        if type_.is_text:  # bytes that are no text became U+FFFD: two people's may look alike\n",
        new="        if False:\n",
        tests=(f"{SAME}::test_nobody_takes_the_place_of_whoever_goes",),
    ),
    Mutant(
        name="which-zero-is-kept-is-left-to-the-sort",
        trap=3,
        file="src/discreet/engines/sql/units.py",
        old="            return s.choose([(s.equal(number, s.double(0.0)), s.double(0.0))], number)\n",
        new="            return number\n",
        tests=(f"{SAME}::test_which_of_two_zeros_is_kept_hangs_on_nobody_else",),
    ),
    Mutant(
        name="a-dataset-of-text-files-is-parsed-while-it-is-read",
        trap=33,
        file=FRAMES,
        old='_TEXT_FORMATS = ("csv", "json")\n',
        new="_TEXT_FORMATS = ()\n",
        tests=(SOURCES,),
    ),
    Mutant(
        name="a-message-of-another-package-is-passed-on",
        trap=35,
        file=FRAMES,
        old="    except BaseException:\n        made = error()\n",
        new="    except BaseException as foreign:\n        made = EngineFailed(str(foreign))\n",
        tests=(SOURCES,),
    ),
    Mutant(
        name="an-error-of-another-package-stands-behind-ours",
        trap=35,
        file=FRAMES,
        old="    except BaseException:\n        made = error()\n",
        new="    except BaseException:\n        raise error() from None\n",
        tests=(SOURCES,),
    ),
    Mutant(
        name="a-panic-is-not-caught",
        trap=35,
        file=FRAMES,
        old="    except BaseException:\n        made = error()\n",
        new="    except Exception:\n        made = error()\n",
        tests=(SOURCES,),
    ),
)
