"""Bugs of the service: who may pass, what a key or a form is bound to, what leaves when."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

SERVICE = "src/discreet/service"
ACCESS = "tests/service/test_service_access.py"
API = "tests/service/test_service_api.py"
CHARGES = "tests/service/test_service_charges.py"
LIMITS = "tests/service/test_service_limits.py"
PAGES = "tests/service/test_service_pages.py"
ADMINISTRATION = "tests/service/test_service_administration.py"

MATRIX = f"{ACCESS}::test_nobody_passes_a_route_that_is_not_theirs"
FORMS = f"{PAGES}::test_a_form_without_its_key_or_from_another_site_changes_nothing"

SERVICE_BUGS = (
    Mutant(
        name="an-expired-token-still-opens",
        trap=45,
        file=f"{SERVICE}/accounts/kept.py",
        old="if not tokens.is_same(digest, token) or now >= expires_at:",
        new="if not tokens.is_same(digest, token):",
        tests=(f"{MATRIX}[expired]",),
    ),
    Mutant(
        name="a-revoked-token-still-opens",
        trap=45,
        file=f"{SERVICE}/accounts/kept.py",
        old="        if revoked_at is not None or person_revoked is not None:\n",
        new="        if person_revoked is not None:\n",
        tests=(f"{MATRIX}[revoked]",),
    ),
    Mutant(
        name="only-the-name-of-a-token-is-compared",
        trap=45,
        file=f"{SERVICE}/accounts/kept.py",
        old="if not tokens.is_same(digest, token) or now >= expires_at:",
        new="if now >= expires_at:",
        tests=(f"{MATRIX}[wrong]",),
    ),
    Mutant(
        name="tokens-kept-in-clear",
        trap=45,
        file=f"{SERVICE}/accounts/tokens.py",
        old='    return hashlib.sha256(b"discreet token 1\\n" + secret.encode("utf-8", "replace")).hexdigest()\n',
        new="    return secret\n",
        tests=(f"{ACCESS}::test_neither_tokens_nor_sessions_stand_in_the_accounts_file",),
    ),
    Mutant(
        name="roles-are-not-looked-at",
        trap=45,
        file=f"{SERVICE}/api/callers.py",
        old="        if person.role not in roles:\n",
        new="        if not roles:\n",
        tests=(f"{MATRIX}[wrong role]",),
    ),
    Mutant(
        name="a-session-outlives-its-token",
        trap=45,
        file=f"{SERVICE}/accounts/kept.py",
        old='            write("DELETE FROM session WHERE token = ?", (token_id,))\n',
        new="",
        more=(("AND t.expires_at > ? AND t.revoked_at IS NULL ", "AND t.expires_at > ? "),),
        tests=(f"{ACCESS}::test_a_session_ends_with_its_token_its_time_and_its_person",),
    ),
    Mutant(
        name="forms-of-other-sites-are-taken",
        trap=45,
        file=f"{SERVICE}/web/sessions.py",
        old="""    if not hmac.compare_digest(fields.pop("form_key", "").encode(), session.form_key.encode()):""",
        new="""    if not fields.pop("form_key", "x"):""",
        tests=(f"{FORMS}[/datasets/people/ask]",),
    ),
    Mutant(
        name="a-cookie-alone-opens-the-api",
        trap=45,
        file=f"{SERVICE}/api/callers.py",
        old="        if request.method not in SAFE:\n",
        new='        if request.method == "TRACE":\n',
        tests=(f"{PAGES}::test_the_api_takes_a_session_only_with_its_form_key",),
    ),
    Mutant(
        name="texts-of-requests-become-markup",
        trap=45,
        file=f"{SERVICE}/web/rendering.py",
        old="        autoescape=True,\n",
        new="        autoescape=False,\n",
        tests=(f"{PAGES}::test_scripts_in_names_values_questions_and_titles_stay_text",),
    ),
    Mutant(
        name="a-private-release-needs-no-account",
        trap=45,
        file=f"{SERVICE}/desk.py",
        old="        if found is None or not (found.is_public or person is not None):\n",
        new="        if found is None:\n",
        tests=(f"{API}::test_a_public_release_needs_no_account_and_a_private_one_does",),
    ),
    Mutant(
        name="looking-at-a-question-charges-for-it",
        trap=45,
        file=f"{SERVICE}/web/dataset_pages.py",
        old="    if not dataset.preview(person.name, question).is_recorded:\n",
        new="    if not question.sql:\n",
        tests=(
            f"{PAGES}::test_looking_never_charges_and_asking_leads_to_an_address_that_shows_the_answer",
        ),
    ),
    Mutant(
        name="an-idempotency-key-fits-any-request",
        trap=45,
        file=f"{SERVICE}/accounts/kept.py",
        old="        if found[0][0] != request:\n",
        new="        if not found[0][0]:\n",
        tests=(f"{CHARGES}::test_a_key_repeats_its_request_and_refuses_another",),
    ),
    Mutant(
        name="a-retry-after-the-table-changed-is-charged-again",
        trap=45,
        file=f"{SERVICE}/accounts/kept.py",
        old="        return KeyState.SAME if found[0][1] == version else KeyState.OTHER_DATA\n",
        new="        return KeyState.SAME\n",
        tests=(f"{CHARGES}::test_a_key_is_bound_to_the_state_of_the_data",),
    ),
    Mutant(
        name="an-analysts-questions-are-charged-to-nobody",
        trap=45,
        file="src/discreet/curator/curator.py",
        old="            self._vault, self._ledger, version=self._record.version, analyst=view._analyst\n",
        new="            self._vault, self._ledger, version=self._record.version, analyst=None\n",
        tests=(f"{CHARGES}::test_many_at_once_spend_an_allowance_to_the_last_and_never_more",),
    ),
    Mutant(
        name="refusals-leave-before-the-quantum",
        trap=45,
        file=f"{SERVICE}/desk.py",
        old="""        try:
            return await self.run(person, work)
        finally:
            await wait_for_quantum(arrived, self.limits.quantum_ms)
""",
        new="""        found = await self.run(person, work)
        await wait_for_quantum(arrived, self.limits.quantum_ms)
        return found
""",
        tests=(f"{LIMITS}::test_answers_and_refusals_of_live_questions_wait_for_the_quantum",),
    ),
    Mutant(
        name="questions-stand-in-the-log",
        trap=45,
        file=f"{SERVICE}/application.py",
        old="        route=path,\n",
        new="        route=str(request.url),\n",
        tests=(
            f"{API}::test_the_log_names_routes_and_people_and_never_a_question_or_a_number_of_an_answer",
        ),
    ),
    Mutant(
        name="a-backup-brings-the-old-mark-along",
        trap=45,
        file=f"{SERVICE}/keeping.py",
        old="        shutil.copy(copy, place)\n",
        new="""        shutil.copy(copy, place)
        place.with_name(place.name + ".mark").unlink(missing_ok=True)
        from discreet.ledger.upkeep.repair import accept_mark
        if place == settings.ledger:
            accept_mark(place, reason="restored")
""",
        tests=(
            f"{ADMINISTRATION}::test_a_backup_is_put_back_and_an_old_one_is_refused_until_somebody_answers_for_it",
        ),
    ),
    Mutant(
        name="a-power-cut-makes-a-revoked-token-valid-again",
        trap=45,
        file=f"{SERVICE}/accounts/sqlite.py",
        old="{'FULL' if lasting else 'NORMAL'}",
        new="NORMAL",
        tests=(f"{ACCESS}::test_what_ends_a_token_waits_for_the_disk",),
    ),
    Mutant(
        name="anybody-may-send-a-large-table",
        trap=45,
        file="src/discreet/service/application.py",
        old='is_upload(scope["path"]) and may_upload(Request(scope), desk)',
        new='is_upload(scope["path"])',
        tests=(f"{LIMITS}::test_a_table_is_read_from_those_alone_who_may_send_one",),
    ),
    Mutant(
        name="a-second-head-may-take-for-ever",
        trap=45,
        file="src/discreet/service/serving.py",
        old="                self._time_head()  # part of the next one\n",
        new="                pass\n",
        tests=(f"{LIMITS}::test_a_client_that_is_slow_later_is_let_go_too",),
    ),
    Mutant(
        name="an-answer-that-nobody-takes-holds-its-place",
        trap=45,
        file="src/discreet/service/serving.py",
        old="            super().pause_writing()\n            self._time_reading()\n",
        new="            super().pause_writing()\n",
        tests=(f"{LIMITS}::test_a_client_that_is_slow_later_is_let_go_too",),
    ),
    Mutant(
        name="a-budget-that-is-no-longer-shown-is-published",
        trap=45,
        file=f"{SERVICE}/web/static/page.js",
        old="    allow(false); // until the form holds what the page shows: else an older budget could be charged\n",
        new="",
        tests=(
            "tests/service/test_service_browser.py::"
            "test_a_custodian_publishes_a_csv_file_that_the_browser_sends",
        ),
    ),
)
