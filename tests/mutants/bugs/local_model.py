"""Clients that say more than they paid for, and a collector that promises more than it keeps."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LAWS = "tests/local/test_exact_laws.py"
COLLECTING = "tests/local/test_collecting.py"
COMMANDS = "tests/local/test_local_commands.py"
RATIO = f"{LAWS}::test_the_largest_likelihood_ratio_is_exactly_what_the_protocol_costs"
NEVER_MORE = f"{LAWS}::test_protocols_for_an_epsilon_never_cost_more_and_waste_little"
HOLDS = f"{COLLECTING}::test_shares_have_the_variance_of_the_theory_and_intervals_hold_as_often_as_they_say"

LOCAL_MODEL: tuple[Mutant, ...] = (
    Mutant(
        name="a-client-draws-anew-for-every-repetition",
        trap=40,
        file="src/discreet/local/clients/memory.py",
        old="            if key not in self._reports:\n",
        new="            if question is not None:\n",
        tests=(f"{COLLECTING}::test_a_client_repeats_its_report_and_counts_what_it_spent",),
    ),
    Mutant(
        name="two-runs-draw-two-reports-of-one-person",
        trap=40,
        file="src/discreet/cli/files.py",
        old="            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n",
        new="            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)\n",
        tests=(f"{COMMANDS}::test_two_runs_never_draw_two_reports_of_one_person",),
    ),
    Mutant(
        name="a-clients-hash-is-sent-in-clear",
        trap=40,
        file="src/discreet/local/clients/drawing.py",
        old="functions * protocol.base + respond(protocol.response, hashed, entropy)",
        new="functions * protocol.base + hashed",
        tests=(RATIO,),
    ),
    Mutant(
        name="the-true-bit-is-always-sent",
        trap=40,
        file="src/discreet/local/clients/drawing.py",
        old="        found[start + np.arange(part.size), part] = own\n",
        new="        found[start + np.arange(part.size), part] = 1\n",
        tests=(RATIO,),
    ),
    Mutant(
        name="a-number-is-never-reported-far-away",
        trap=40,
        file="src/discreet/local/clients/drawing.py",
        old="    far = np.where(place < points, place, place + protocol.width)\n",
        new="    far = np.where(place < points, points, points + protocol.width - 1)\n",
        tests=(RATIO,),
    ),
    Mutant(
        name="stray-bits-rounded-down",
        trap=40,
        file="src/discreet/local/protocols/unary.py",
        old="Fraction(math.ceil(GRAIN / (lower_exp(epsilon) + 1)), GRAIN)",
        new="Fraction(math.floor(GRAIN / (lower_exp(epsilon) + 1)), GRAIN)",
        tests=(NEVER_MORE,),
    ),
    Mutant(
        name="a-likely-report-is-likelier-than-paid-for",
        trap=40,
        file="src/discreet/local/protocols/piecewise.py",
        old="        likely = math.floor(lower_exp(epsilon) * GRAIN)\n",
        new="        likely = math.floor(lower_exp(epsilon) * GRAIN) + 1\n",
        tests=(NEVER_MORE,),
    ),
    Mutant(
        name="an-undeclared-answer-stops-a-client",
        trap=33,
        file="src/discreet/local/clients/perturbing.py",
        old="known.get(text, -1)",
        new="known[text]",
        tests=(f"{COLLECTING}::test_an_undeclared_answer_stops_no_client_and_counts_as_any_value",),
    ),
    Mutant(
        name="a-changed-answer-is-reported-anew",
        trap=40,
        file="src/discreet/local/clients/memory.py",
        old="        key = json.dumps(question.to_dict(), sort_keys=True)\n",
        new='        key = json.dumps(question.to_dict() | {"true": str(true)}, sort_keys=True)\n',
        tests=(f"{COLLECTING}::test_no_report_tells_that_an_answer_has_changed",),
    ),
    Mutant(
        name="an-interval-of-shares-forgets-who-has-another-value",
        trap=42,
        file="src/discreet/local/collector/frequencies.py",
        old="    none, all_ = other * (1 - other), true * (1 - true)\n",
        new="    none, all_ = 0.6 * other * (1 - other), 0.6 * true * (1 - true)\n",
        tests=(HOLDS,),
    ),
    Mutant(
        name="a-report-speaks-for-others-less-often-than-it-does",
        trap=42,
        file="src/discreet/local/protocols/hashing.py",
        old="        return Fraction(1, self.base)\n",
        new="        return (1 - self.response.truth) / (self.base - 1)\n",
        tests=(f"{LAWS}::test_a_report_speaks_for_values_as_often_as_the_collector_believes",),
    ),
    Mutant(
        name="a-number-too-large-for-a-double-stops-a-client",
        trap=33,
        file="src/discreet/local/clients/perturbing.py",
        old="    except OverflowError:\n        return math.inf if isinstance(answer, int | Fraction) and answer > 0 else -math.inf\n    except Exception:",
        new="    except (TypeError, ValueError):",
        tests=(f"{COLLECTING}::test_no_answer_stops_a_client_whatever_it_is",),
    ),
    Mutant(
        name="bounds-too-far-apart-for-a-double-stop-a-client",
        trap=33,
        file="src/discreet/local/clients/perturbing.py",
        old="    width = high / 2 - low / 2 or 1.0\n    scaled = np.clip((np.clip(numbers, low, high) / 2 - low / 2) / width * cells, 0, cells)\n",
        new="    scaled = (np.clip(numbers, low, high) - low) / (high - low) * cells\n",
        tests=(f"{COLLECTING}::test_no_answer_stops_a_client_whatever_it_is",),
    ),
    Mutant(
        name="an-answer-takes-others-with-it",
        trap=40,
        file="src/discreet/cli/commands/disclosure/local.py",
        old="        columns = columns_of_lines(table, wanted, csv)\n",
        new="        columns = read_columns(table, wanted=wanted)\n",
        tests=(f"{COMMANDS}::test_every_line_is_one_report_whatever_it_holds",),
    ),
    Mutant(
        name="a-day-after-the-calendar-stops-all-clients",
        trap=33,
        file="src/discreet/plain_tables.py",
        old="        except Exception:  # one answer must not stop the reading of all\n            return None\n",
        new="        except Exception:\n            raise\n",
        tests=(f"{COMMANDS}::test_no_answer_of_a_parquet_file_stops_the_others",),
    ),
    Mutant(
        name="a-first-line-of-answers-is-shown",
        trap=35,
        file="src/discreet/engines/csv/answers.py",
        old="does not name a column {name!r}, or does so twice. It",
        new="names {names}. It does not name a column {name!r}. It",
        tests=(f"{COMMANDS}::test_a_first_line_that_may_be_an_answer_is_not_shown",),
    ),
)
