"""Bug 41: release files that lie, and files that bite: verification, signatures, reading."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

VERIFYING = "tests/answers/test_verifying.py"
OUTPUT = "tests/releases/test_output_file.py"
FORGING = (
    "tests/audits/test_forgery.py::test_an_altered_release_of_any_class_and_algorithm_is_refused"
)
FILES = "tests/artifacts/test_release_files.py"

FILES_AND_SIGNATURES = (
    Mutant(
        name="verify-believes-recorded-costs",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    if recomputed != recorded:\n",
        new="    if recomputed == 0:\n",
        more=(("    return recomputed\n", "    return recorded\n"),),
        tests=(f"{VERIFYING}::test_a_changed_law_cost_or_sensitivity_does_not_verify",),
    ),
    Mutant(
        name="verify-believes-recorded-sensitivities",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    moved = each.query.sensitivity(schema)\n",
        new="    moved = each.sensitivity\n",
        tests=(
            f"{VERIFYING}::test_sensitivity_is_derived_from_the_schema_and_not_read_from_the_file",
        ),
    ),
    Mutant(
        name="verify-does-not-compare-with-the-budget",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    if not allowed.covers(total):\n",
        new="    if not total.covers(total):\n",
        tests=(f"{VERIFYING}::test_a_release_over_its_budget_does_not_verify",),
    ),
    Mutant(
        name="verify-takes-a-calibration-beyond-its-proof",
        trap=41,
        file="src/discreet/privacy/laws/discrete_gaussian.py",
        old="        if size != 1:\n",
        new="        if size < 1:\n",
        tests=(f"{VERIFYING}::test_calibrated_gaussians_are_checked_at_their_own_epsilon",),
    ),
    Mutant(
        name="verify-takes-a-law-at-the-epsilon-on-record",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="_within_delta(found, each.cost) if found.delta else _agreeing(found, each.cost)",
        new="_within_delta(found, each.cost) if found.delta else each.cost",
        tests=("tests/extending/test_noise_law.py::test_verify_recomputes_its_cost_from_its_law",),
    ),
    Mutant(
        name="verify-believes-a-selections-sensitivity",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    if each.sensitivity != sensitivity:\n",
        new="    if sensitivity < 0:\n",
        tests=(FORGING,),
    ),
    Mutant(
        name="verify-believes-a-selections-number-of-candidates",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    if each.candidates != candidates or each.chosen >= candidates:\n",
        new="    if each.chosen >= each.candidates:\n",
        tests=(FORGING,),
    ),
    Mutant(
        name="verify-does-not-compare-estimates",
        trap=41,
        file="src/discreet/artifacts/differences.py",
        old="        if not _agree(plain_array(one), plain_array(other)):\n",
        new="        if one.shape != other.shape:\n",
        tests=(FORGING,),
    ),
    Mutant(
        name="verify-does-not-compare-facts",
        trap=41,
        file="src/discreet/artifacts/differences.py",
        old="    yield from differing_places(_as_json(manifest), _as_json(wanted))\n",
        new='    yield from differing_places(manifest["claims"], wanted["claims"])\n',
        tests=(FORGING,),
    ),
    Mutant(
        name="a-family-from-outside-replaces-what-verify-asks",
        trap=41,
        file="src/discreet/queries/registry.py",
        old='            raise BadInput(f"The {what} of {name!r} are registered already.")\n',
        new="            continue\n",
        tests=(
            "tests/extending/test_family.py::"
            "test_a_class_is_read_and_a_kind_of_part_answered_in_one_way_only",
        ),
    ),
    Mutant(
        name="verify-does-not-compare-the-statement",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="        problems += _statement_problems(release, known.manifest)\n",
        new="        _statement_problems(release, known.manifest)\n",
        tests=(FORGING,),
    ),
    Mutant(
        name="verify-does-not-compare-claims",
        trap=41,
        file="src/discreet/releases/reproducing.py",
        old="        claims += no_more_than_all_rows(claimed, prepared.query_class, release.public_rows)\n",
        new="        claims += [each for each in release.claims if each.query_class == text]\n",
        tests=(FORGING,),
    ),
    Mutant(
        name="verify-takes-two-numbers-of-a-node-for-one",
        trap=41,
        file="src/discreet/answering/verification/verify_tree.py",
        old="    if np.any(kept & (level.first != level.values)):\n",
        new="    if level.first.shape != kept.shape:\n",
        tests=(f"{VERIFYING}::test_a_node_whose_noise_was_drawn_once_has_one_number",),
    ),
    Mutant(
        name="verify-stumbles-over-a-depth-of-two-and-a-half",
        trap=41,
        file="src/discreet/artifacts/manifest.py",
        old="    if isinstance(value, float | bool):\n",
        new="    if isinstance(value, complex):\n",
        tests=(FORGING,),
    ),
    Mutant(
        name="signature-not-checked",
        trap=41,
        file="src/discreet/answering/verification/signing.py",
        old="        key.verify(signature, DOMAIN + content_digest(members))\n",
        new="        key.public_bytes_raw()\n",
        tests=(f"{VERIFYING}::test_a_signature_says_who_and_that_nothing_changed",),
    ),
    Mutant(
        name="signature-covers-the-manifest-only",
        trap=41,
        file="src/discreet/answering/verification/signing.py",
        old="        if name != SIGNATURE\n",
        new='        if name.endswith("manifest.json")\n',
        tests=("tests/artifacts/test_forged_files.py::test_a_signature_covers_every_array",),
    ),
    Mutant(
        name="anybodys-signature-will-do",
        trap=41,
        file="src/discreet/answering/verification/verify.py",
        old="    if public_key is not None and signed_by != checked_public_key(public_key):\n",
        new="    if public_key is not None and signed_by is None:\n",
        tests=(f"{VERIFYING}::test_a_signature_says_who_and_that_nothing_changed",),
    ),
    Mutant(
        name="members-of-any-name-are-read",
        trap=41,
        file="src/discreet/artifacts/files.py",
        old="        if not _NAME.fullmatch(info.filename) or (\n",
        new="        if not _NAME.search(info.filename) or (\n",
        tests=(
            f"{FILES}::test_a_hostile_file_is_refused_in_a_sentence",
            "tests/artifacts/test_forged_files.py::test_a_member_whose_name_holds_a_good_one_is_refused",
        ),
    ),
    Mutant(
        name="packed-members-are-unpacked",
        trap=41,
        file="src/discreet/artifacts/files.py",
        old="        if not stored or info.flag_bits & 0x1:\n",
        new="        if info.flag_bits & 0x1:\n",
        tests=(f"{FILES}::test_a_hostile_file_is_refused_in_a_sentence",),
    ),
    Mutant(
        name="arrays-of-objects-are-read",
        trap=41,
        file="src/discreet/artifacts/files.py",
        old="    if not plain or count * dtype.itemsize != len(data) - start:\n",
        new="    if fortran:\n",
        tests=(f"{FILES}::test_a_hostile_file_is_refused_in_a_sentence",),
    ),
    Mutant(
        name="two-runs-write-to-one-name",
        trap=41,
        file="src/discreet/releases/output_file.py",
        old="        descriptor = _locked(beside)\n",
        new="        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT)\n",
        tests=(
            f"{OUTPUT}::test_a_name_that_another_run_holds_is_refused_before_anything_is_charged",
        ),
    ),
    Mutant(
        name="a-full-disk-loses-what-was-paid-for",
        trap=41,
        file="src/discreet/releases/output_file.py",
        old="            kept = self._rescued(members)\n",
        new="            kept = None\n",
        tests=(f"{OUTPUT}::test_a_disk_that_fills_up_after_the_charge_loses_no_number",),
    ),
    Mutant(
        name="no-home-loses-what-was-paid-for",
        trap=41,
        file="src/discreet/releases/output_file.py",
        old="            except (OSError, RuntimeError, BadInput):\n",
        new="            except (OSError, BadInput):\n",
        tests=(f"{OUTPUT}::test_a_missing_home_or_working_directory_does_not_stop_the_rescue",),
    ),
    Mutant(
        name="a-long-name-loses-what-was-paid-for",
        trap=41,
        file="src/discreet/artifacts/files.py",
        old='prefix=".discreet-"',
        new='prefix=f".{target.name}."',
        tests=(f"{OUTPUT}::test_a_long_name_is_written_or_refused_before_anything_is_charged",),
    ),
    Mutant(
        name="a-lock-follows-a-link",
        trap=41,
        file="src/discreet/releases/output_file.py",
        old=" | os.O_NOFOLLOW",
        new="",
        tests=(f"{OUTPUT}::test_the_name_of_a_lock_that_is_a_link_or_no_file_is_refused",),
    ),
    Mutant(
        name="verify-passes-over-whatever-calls-itself-a-model",
        trap=41,
        file="src/discreet/releases/verifying.py",
        old="    return part.kind == MODEL and makes_models\n",
        new="    return part.kind == MODEL\n",
        tests=(
            "tests/audits/test_forgery.py::test_a_part_that_calls_itself_a_model_is_computed_again_unless_its_algorithm_makes_one",
        ),
    ),
    Mutant(
        name="an-interruption-leaves-half-a-file",
        trap=41,
        file="src/discreet/artifacts/files.py",
        old="            Path(name).unlink()\n",
        new="            Path(name).replace(target)\n",
        tests=(f"{FILES}::test_an_interrupted_write_leaves_the_old_file_and_nothing_else",),
    ),
)
