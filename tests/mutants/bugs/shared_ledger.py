"""Bugs of what several machines share in PostgreSQL: the ledger, and the service's accounts."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

LEDGER = "tests/ledger/test_ledger_postgres.py"
NODES = "tests/service/test_service_nodes.py"
STORES = "src/discreet/ledger/stores"
TRANSACTIONS = "src/discreet/postgres_transactions.py"

SHARED_LEDGER = (
    Mutant(
        name="machines-charge-at-the-same-time",
        trap=24,
        file=TRANSACTIONS,
        old='            self.run("SELECT pg_advisory_xact_lock(%s, %s)", self._lock)\n',
        new="",
        tests=(
            f"{LEDGER}::test_processes_race_for_the_last_charges_and_take_exactly_those",
            f"{NODES}::test_one_of_many_that_claim_a_key_at_once_is_the_first",
        ),
    ),
    Mutant(
        name="a-servers-commit-that-does-not-wait-for-the-disk",
        trap=25,
        file=TRANSACTIONS,
        old="  CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')\n",
        new="  CASE WHEN current_setting('synchronous_commit') IN ('never')\n",
        tests=(f"{LEDGER}::test_commits_wait_for_the_disk_whatever_the_users_settings_say",),
    ),
    Mutant(
        name="a-ledger-on-a-server-without-fsync",
        trap=25,
        file=TRANSACTIONS,
        old='            if row is None or row[0] != "on":\n',
        new="            if row is None:\n",
        tests=(f"{LEDGER}::test_a_server_without_fsync_is_refused",),
    ),
    Mutant(
        name="a-restored-dump-of-a-ledger-is-accepted",
        trap=32,
        file=f"{STORES}/postgres.py",
        old="        if self._run(IS_PLACE) != [(True,)]:\n",
        new="        if not self._run(IS_PLACE):\n",
        tests=(f"{LEDGER}::test_a_restored_dump_that_lacks_nothing_is_refused_too",),
    ),
    Mutant(
        name="altered-tables-of-a-ledger-are-accepted",
        trap=32,
        file=f"{STORES}/postgres.py",
        old="        if found != expected(self._says):\n",
        new="        if len(found) != len(expected(self._says)):\n",
        tests=(f"{LEDGER}::test_tables_that_were_altered_are_refused_at_opening",),
    ),
    Mutant(
        name="a-machines-own-mark-is-set-anew-at-each-opening",
        trap=32,
        file="src/discreet/ledger/journal.py",
        old="        elif mark is None and home.is_shared:\n",
        new="        elif home.is_shared:\n",
        tests=(f"{LEDGER}::test_a_restored_data_directory_is_refused_by_the_mark",),
    ),
    Mutant(
        name="a-password-in-a-ledgers-address-is-taken",
        trap=35,
        file=f"{STORES}/postgres_home.py",
        old="        if refused:\n",
        new="        if refused and False:\n",
        tests=(f"{LEDGER}::test_a_password_in_a_ledgers_address_is_refused_and_not_repeated",),
    ),
    Mutant(
        name="each-node-keeps-idempotency-keys-of-its-own",
        trap=45,
        file="src/discreet/service/accounts/opening.py",
        old="    if is_address(ledger):\n",
        new="    if is_address(file):\n",
        tests=(f"{NODES}::test_a_token_opens_every_node_until_it_is_revoked_on_one",),
    ),
)
