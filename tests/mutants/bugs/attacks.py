"""Attacks that see less than they should, or outcomes that do not say whom they expose."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

STATISTICS = "tests/attacks/test_statistics.py"
RECONSTRUCTION = "tests/attacks/test_reconstruction.py"

ATTACKS: tuple[Mutant, ...] = (
    Mutant(
        name="laplace-noise-for-four-times-the-epsilon",
        trap=17,
        file="src/discreet/samplers/laws.py",
        old="discrete_laplace(law.scale, n, entropy=source)",
        new="discrete_laplace(law.scale / 4, n, entropy=source)",
        tests=(f"{STATISTICS}::test_membership_in_a_release_stays_within_what_epsilon_allows",),
    ),
    Mutant(
        name="an-outcome-on-real-rows-does-not-say-so",
        trap=35,
        file="src/discreet/audits/attacking/reconstructing.py",
        old='        banner=BANNER if secret is not None else "",\n',
        new='        banner="",\n',
        tests=(f"{RECONSTRUCTION}::test_an_outcome_on_a_custodians_own_column_is_not_private",),
    ),
    Mutant(
        name="links-of-real-tables-do-not-say-so",
        trap=35,
        file="src/discreet/audits/attacking/linking.py",
        old='        banner=BANNER if given else "",\n',
        new='        banner=BANNER if given and name is not None else "",\n',
        tests=(
            "tests/attacks/test_rows.py::test_links_on_a_custodians_tables_are_scored_only_with_names",
        ),
    ),
    Mutant(
        name="the-bound-on-membership-is-too-generous",
        trap=42,
        file="src/discreet/attacks/membership.py",
        old="    return (math.expm1(epsilon) + 2 * delta) / (math.exp(epsilon) + 1)\n",
        new="    return (math.expm1(epsilon) + 2 * delta) / math.exp(epsilon)\n",
        tests=(f"{STATISTICS}::test_the_most_advantage_is_that_of_the_theorem",),
    ),
)
