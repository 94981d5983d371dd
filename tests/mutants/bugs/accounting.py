"""Bugs 24 to 32: what was spent is not what was paid, and trees whose paths cost more."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LEDGER = "tests/ledger/test_ledger.py"
CHARGES = "tests/ledger/test_ledger_charges.py"
DURABILITY = "tests/ledger/test_ledger_durability.py"
DAMAGE = "tests/ledger/test_ledger_damage.py"
PROCESSES = "tests/ledger/test_ledger_processes.py"
TOGETHER = "tests/ledger/test_ledger_together.py"
VAULT = "tests/kernel/test_vault.py"
BUDGETS = "tests/privacy/test_budget.py"
COMPOSITION = "tests/privacy/test_composition.py"
RUNS = "tests/releases/test_release_runs.py"
VERIFYING = "tests/answers/test_verifying.py"
REFINE = "tests/audits/test_refine_replay.py"

ACCOUNTING = (
    Mutant(
        name="cap-checked-before-the-write-lock",
        trap=24,
        file="src/discreet/ledger/journal.py",
        old="""                with store.writing():
                    steps.step("after-begin")
                    # Inside the write lock no event can be added, so the mark cannot lead.
                    self._catch_up(store, self._marks.read())
""",
        new="""                self._refresh(store)
                decided = batch[0].decide(self._book)
                batch[0].decide = lambda book: decided
                with store.writing():
                    steps.step("after-begin")
                    # Inside the write lock no event can be added, so the mark cannot lead.
                    self._catch_up(store, self._marks.read())
""",
        tests=(f"{PROCESSES}::test_eight_processes_with_25_charges_each_share_exactly_100",),
    ),
    Mutant(
        name="write-lock-taken-late",
        trap=24,
        file="src/discreet/ledger/stores/sqlite.py",
        old='        self.sql.execute("BEGIN IMMEDIATE")\n',
        new='        self.sql.execute("BEGIN")\n',
        tests=(f"{PROCESSES}::test_eight_processes_with_25_charges_each_share_exactly_100",),
    ),
    Mutant(
        name="rows-read-before-the-debit",
        trap=25,
        file="src/discreet/core/vault.py",
        old="""        self._spend(costs)
        exact = self._read([request.query for request in requests])
""",
        new="""        exact = self._read([request.query for request in requests])
        self._spend(costs)
""",
        tests=(f"{VAULT}::test_a_verb_refused_by_its_charge_reads_nothing",),
        quick=True,
    ),
    Mutant(
        name="rows-read-before-the-ledger-says-so",
        trap=25,
        file="src/discreet/core/vault.py",
        old='''        """Exact answers: never returned by a verb, only handed to the noise."""
        self._begin_reading()
''',
        new='''        """Exact answers: never returned by a verb, only handed to the noise."""
''',
        tests=(f"{VAULT}::test_a_run_taken_over_by_a_later_one_may_not_read",),
    ),
    Mutant(
        name="charge-granted-before-it-is-on-disk",
        trap=25,
        file="src/discreet/ledger/stores/sqlite.py",
        old="        os.fdatasync(self._log)\n",
        new="",
        tests=(f"{DURABILITY}::test_log_and_then_mark_are_synced_once_for_every_event",),
    ),
    Mutant(
        name="a-mark-is-advanced-over-events-that-nobody-waited-for",
        trap=25,
        file="src/discreet/ledger/journal.py",
        old="                    store.wait_for_disk()  # whoever wrote the last event may not have waited yet\n",
        new="",
        tests=(
            f"{DURABILITY}::test_a_mark_is_advanced_at_opening_only_when_the_events_below_it_are_on_disk",
        ),
    ),
    Mutant(
        name="events-moved-out-of-the-log-unsynced",
        trap=25,
        file="src/discreet/ledger/stores/sqlite.py",
        old='            self.sql.execute("PRAGMA synchronous = NORMAL")\n',
        new='            self.sql.execute("PRAGMA synchronous = OFF")\n',
        tests=(f"{DURABILITY}::test_commits_wait_for_the_disk",),
    ),
    Mutant(
        name="an-answer-given-again-before-it-is-on-disk",
        trap=25,
        file="src/discreet/ledger/ledger.py",
        old="            wait_for(seq)  # another process may have written it a moment ago\n",
        new="",
        tests=(
            f"{DURABILITY}::test_an_answer_that_another_process_wrote_a_moment_ago_is_waited_for",
        ),
    ),
    Mutant(
        name="charge-granted-before-its-mark",
        trap=25,
        file="src/discreet/ledger/journal.py",
        old='        self._advance_mark(*mine.reached)\n        steps.step("after-mark")\n',
        new='        steps.step("after-mark")\n',
        tests=(f"{DURABILITY}::test_log_and_then_mark_are_synced_once_for_every_event",),
    ),
    Mutant(
        name="charges-that-come-together-are-decided-on-one-state",
        trap=24,
        file="src/discreet/ledger/journal.py",
        old="""                    for one in batch:
                        self._decided(one, store)
""",
        new="""                    first = [one.decide(self._book) for one in batch]
                    for one, found in zip(batch, first, strict=True):
                        one.decide = lambda book, found=found: found
                        self._decided(one, store)
""",
        tests=(f"{TOGETHER}::test_charges_that_come_together_take_exactly_what_the_cap_holds",),
    ),
    Mutant(
        name="what-was-rolled-back-stays-in-the-book",
        trap=24,
        file="src/discreet/ledger/journal.py",
        old="                self._forget()  # the book holds what may be rolled back\n",
        new="                pass\n",
        tests=(f"{TOGETHER}::test_what_is_rolled_back_is_forgotten_by_all_of_them",),
    ),
    Mutant(
        name="released-before-it-is-recorded",
        trap=25,
        file="src/discreet/releases/run.py",
        old="            grant.publish(publish(made))\n",
        new="            publish(made)\n",
        tests=(
            f"{RUNS}::test_a_release_is_charged_once_and_published_with_the_digest_of_its_bytes",
        ),
    ),
    Mutant(
        name="only-the-first-verb-is-counted",
        trap=26,
        file="src/discreet/core/vault.py",
        old="        if not self.allowed.covers(after):\n",
        new="        if not self._reading and not self.allowed.covers(after):\n",
        tests=(
            f"{VAULT}::test_several_measurements_add_to_exactly_the_charge_and_not_a_part_more",
        ),
    ),
    Mutant(
        name="losses-added-in-quadrature",
        trap=26,
        file="src/discreet/ledger/account.py",
        old="        if not self.cap.covers(total):\n",
        new=(
            "        from fractions import Fraction\n\n"
            "        old, new, top = (Fraction(*one.amount) for one in (self.spent, cost, self.cap))\n"
            "        if not self.cap.covers(total) and old**2 + new**2 > top**2:\n"
        ),
        tests=(f"{VAULT}::test_a_charge_beyond_the_cap_reads_nothing_and_costs_nothing",),
    ),
    Mutant(
        name="overlapping-marginals-paid-once",
        trap=27,
        file="src/discreet/core/vault.py",
        old="            total = total + cost.under(self._accounting)\n",
        new=(
            "            one = cost.under(self._accounting)\n"
            "            total = one if one.covers(total) else total\n"
        ),
        tests=("tests/queries/test_spending.py::test_measurements_of_one_call_cost_their_sum",),
    ),
    Mutant(
        name="overlapping-parts-accepted",
        trap=27,
        file="src/discreet/privacy/composition.py",
        old="            if start < stop:\n",
        new="            if start < stop and one == other:\n",
        tests=(f"{COMPOSITION}::test_overlapping_parts_are_refused_by_name",),
    ),
    Mutant(
        name="verify-takes-the-largest-cost-for-the-sum",
        trap=27,
        file="src/discreet/answering/verification/verify.py",
        old=(
            "                total = total + _counted(\n"
            "                    _recomputed(each, part, release.schema), release.accounting\n"
            "                )\n"
        ),
        new=(
            "                one = _counted(_recomputed(each, part, release.schema), release.accounting)\n"
            "                total = one if one.covers(total) else total\n"
        ),
        tests=(f"{VERIFYING}::test_a_release_over_its_budget_does_not_verify",),
    ),
    Mutant(
        name="delta-not-compared-with-its-cap",
        trap=29,
        file="src/discreet/ledger/account.py",
        old="            and cost.delta[0] * self.delta[1] <= self.delta[0] * cost.delta[1]\n",
        new="            and cost.delta[0] >= 0\n",
        tests=(f"{LEDGER}::test_deltas_add_and_are_capped_like_the_rest",),
    ),
    Mutant(
        name="only-the-first-gaussian-of-a-run-is-counted",
        trap=29,
        file="src/discreet/privacy/budget.py",
        old="return self._raw(self.notion, self.amount + other.amount, self.delta + other.delta)",
        new="first = self.amount if self.notion is Notion.MU else 0\n"
        "        return self._raw(self.notion, first or self.amount + other.amount, self.delta + other.delta)",
        tests=(
            "tests/privacy/test_gaussian_notion.py::test_squares_add_and_a_group_multiplies_mu",
        ),
    ),
    Mutant(
        name="deltas-do-not-add",
        trap=29,
        file="src/discreet/privacy/budget.py",
        old="return self._raw(self.notion, self.amount + other.amount, self.delta + other.delta)",
        new="return self._raw(self.notion, self.amount + other.amount, max(self.delta, other.delta))",
        tests=("tests/queries/test_spending.py::test_deltas_add_like_epsilons",),
    ),
    Mutant(
        name="a-delta-of-one-in-the-people-passes-in-silence",
        trap=29,
        file="src/discreet/privacy/guidance.py",
        old="    if people is not None and delta * people >= 1:\n",
        new="    if people is not None and delta >= 1:\n",
        tests=(
            "tests/privacy/test_guidance.py::"
            "test_a_delta_of_one_in_the_number_of_people_is_pointed_out_first",
        ),
    ),
    Mutant(
        name="a-failed-reading-is-refunded",
        trap=30,
        file="src/discreet/ledger/book.py",
        old="""        self._in_state(seq, record, EntryState.CHARGED)
        record.token = body["token"]
        record.claims += 1
""",
        new="""        record.state = EntryState.CHARGED
        record.token = body["token"]
        record.claims += 1
""",
        more=(("        del self.waiting[record.key]\n", ""),),
        tests=(
            f"{VAULT}::test_a_failure_after_the_charge_refunds_nothing_and_a_second_run_pays_again",
        ),
    ),
    Mutant(
        name="an-unspent-grant-can-be-used-later",
        trap=30,
        file="src/discreet/core/vault.py",
        old="        self.allowed = self.spent  # what was not spent is forfeited: nothing more can be read\n",
        new="        self.spent = Budget.nothing(self.allowed.notion)\n",
        tests=(f"{VAULT}::test_a_grant_left_behind_allows_nothing_more",),
    ),
    Mutant(
        name="fresh-draws-for-one-price",
        trap=31,
        file="src/discreet/core/vault.py",
        old="        self.spent = after\n",
        new="        self.spent = after if not self._reading else self.spent\n",
        tests=(
            f"{VAULT}::test_several_measurements_add_to_exactly_the_charge_and_not_a_part_more",
        ),
    ),
    Mutant(
        name="recorded-answer-of-another-dataset",
        trap=31,
        file="src/discreet/ledger/ledger.py",
        old="            record = book.answers.get((dataset, analyst, request))\n",
        new=(
            "            kept = {key[1:]: value for key, value in book.answers.items()}\n"
            "            record = kept.get((analyst, request))\n"
        ),
        tests=(
            f"{CHARGES}::test_an_answer_is_kept_per_dataset_and_per_analyst_and_the_newest_counts",
        ),
    ),
    Mutant(
        name="a-charge-taken-over-by-another-request",
        trap=31,
        file="src/discreet/releases/run.py",
        old="            [part.query_class.text, str(part.query_class.weight), part.algorithm]\n",
        new="            [part.query_class.name]\n",
        tests=(f"{RUNS}::test_a_charge_is_not_taken_over_by_another_request",),
    ),
    Mutant(
        name="restored-ledger-accepted-at-opening",
        trap=32,
        file="src/discreet/ledger/journal.py",
        old="        if mark.seq > self._book.seq:\n",
        new="        if mark.seq < 0:\n",
        tests=(f"{DAMAGE}::test_a_restored_old_copy_is_detected_at_opening",),
    ),
    Mutant(
        name="restored-ledger-accepted-while-running",
        trap=32,
        file="src/discreet/ledger/journal.py",
        old="            if known is None or (known[0], known[3]) != (self._book.seq, self._book.hash):\n",
        new="            if known is not None and known[0] != self._book.seq:\n",
        more=(
            ("        if mark.seq > self._book.seq:\n", "        if mark.seq < 0:\n"),
            ("        if mark == self._seen:\n", "        if mark is not None:\n"),
        ),
        tests=(
            f"{DAMAGE}::test_a_restored_old_copy_is_detected_by_a_running_process_at_its_next_charge",
        ),
    ),
    Mutant(
        name="chain-not-checked",
        trap=32,
        file="src/discreet/ledger/chain.py",
        old="        or link(previous, seq, body) != stated\n",
        new="        or len(stated) != 64\n",
        tests=(f"{DAMAGE}::test_a_changed_event_with_a_hash_to_match_breaks_the_chain_after_it",),
    ),
    Mutant(
        name="lost-ledger-begun-anew",
        trap=32,
        file="src/discreet/ledger/journal.py",
        old="    begun = mark is not None and mark.seq > 0\n",
        new="    begun = False\n",
        tests=(f"{DAMAGE}::test_a_ledger_that_is_gone_is_not_begun_anew",),
    ),
    Mutant(
        name="a-path-never-runs-out-of-budget",
        trap=27,
        file="src/discreet/core/refining.py",
        old="        left -= own\n",
        new="",
        tests=(f"{VAULT}::test_every_path_of_a_refined_tree_costs_exactly_its_epsilon",),
    ),
    Mutant(
        name="a-path-pays-nothing-for-a-weighted-root",
        trap=27,
        file="src/discreet/core/refining.py",
        old="            paid = self.shares[0] * Fraction(weight, max(self.weights))\n",
        new="            paid = Fraction(0)\n",
        tests=(f"{REFINE}::test_every_path_below_a_weighted_root_costs_exactly_its_epsilon",),
    ),
    Mutant(
        name="the-noise-of-a-weighted-root-forgets-its-weights",
        trap=2,
        file="src/discreet/core/refining.py",
        old="            yield Fraction(1, max(self.weights, default=1)), slice(None)\n",
        new="            yield Fraction(1), slice(None)\n",
        tests=(f"{REFINE}::test_every_path_below_a_weighted_root_costs_exactly_its_epsilon",),
    ),
    Mutant(
        name="verify-believes-the-weights-of-a-tree",
        trap=27,
        file="src/discreet/answering/verification/verify_tree.py",
        old="    if measured.weights:\n        _check_weights(measured, wrong)\n",
        new="",
        tests=(f"{VERIFYING}::test_weights_that_do_not_fit_a_tree_are_a_problem",),
    ),
    Mutant(
        name="fine-and-coarse-drawn-apart-and-paid-as-one",
        trap=27,
        file="src/discreet/core/noise.py",
        old="        noise = samplers.noise_chain(scales, exact.size, entropy=self._entropy)\n",
        new=(
            "        noise = np.stack(\n"
            "            [samplers.discrete_laplace(each, exact.size, entropy=self._entropy) for each in scales]\n"
            "        )\n"
        ),
        tests=(f"{VAULT}::test_coarse_and_fine_numbers_of_a_stopped_node_have_their_joint_law",),
    ),
    Mutant(
        name="extra-noise-of-a-chain-without-its-coin",
        trap=27,
        file="src/discreet/samplers/chain.py",
        old="    chosen = np.flatnonzero(toss_threshold(_chance_of_extra(fine, coarse), 0, row.size, entropy))\n",
        new="    chosen = np.arange(row.size)\n",
        tests=(
            "tests/samplers/test_samplers_choices.py::test_each_row_of_a_chain_follows_the_law_of_its_scale",
        ),
    ),
    Mutant(
        name="tree-goes-on-below-stopped-nodes",
        trap=27,
        file="src/discreet/core/refining.py",
        old="        alive = alive[~stopped]\n",
        new="",
        tests=(f"{VAULT}::test_nothing_is_read_below_a_stopped_node_or_beyond_the_domain",),
    ),
    Mutant(
        name="stopping-rule-sees-the-finer-number",
        trap=27,
        file="src/discreet/core/refining.py",
        old="        first = noisy[-1].copy()  # a copy: a slice would carry the finer numbers in its `base`\n",
        new="        first = noisy[-1]\n",
        tests=(f"{VAULT}::test_the_stopping_rule_sees_only_published_numbers",),
    ),
    Mutant(
        name="a-copy-of-a-charge-spends-it-again",
        trap=30,
        file="src/discreet/core/vault.py",
        old="    __reduce__ = never_copied  # a copy would spend the rest once more\n",
        new="",
        tests=(f"{VAULT}::test_neither_a_charge_nor_an_alert_can_be_copied",),
    ),
    Mutant(
        name="a-copy-of-an-alert-fires-again",
        trap=6,
        file="src/discreet/core/alert.py",
        old="    __reduce__ = never_copied  # a copy would say `above` once more\n",
        new="",
        tests=(f"{VAULT}::test_neither_a_charge_nor_an_alert_can_be_copied",),
    ),
    Mutant(
        name="verify-believes-the-paths-of-a-tree",
        trap=27,
        file="src/discreet/answering/verification/verify_tree.py",
        old="    if before + stopped > measured.path_epsilon or before + refined > measured.path_epsilon:\n",
        new="    if stopped > measured.path_epsilon or refined > measured.path_epsilon:\n",
        tests=(f"{VERIFYING}::test_a_tree_is_checked_path_by_path",),
    ),
)
