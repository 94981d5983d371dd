"""What noise on everything would cost, predicted from public facts."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.families.tables.release.predicted_variation import predicted_variation


@pytest.mark.parametrize("cells", [1, 2, 9, 400, 250_000])
@pytest.mark.parametrize("error", [0.0, 0.3, 3.0, 120.0, 1e6])
def test_a_cell_is_predicted_to_be_off_by_no_more_than_it_holds(cells: int, error: float) -> None:
    """Against the sum over all cells of Zipf's law, cell by cell."""
    ranks = np.arange(1, cells + 1)
    held = 20_000 / ranks / np.sum(1 / ranks)
    off = np.where(held > error, error / 2, held)  # the rows of a lost cell turn up elsewhere
    by_hand = min(off.sum() / 20_000, 1)
    assert predicted_variation(cells, error, 20_000) == pytest.approx(by_hand, rel=0.12, abs=1e-3)


def test_more_noise_is_never_predicted_to_be_better():
    for cells in (2, 30, 5000):
        found = [predicted_variation(cells, error, 1000) for error in np.geomspace(1e-3, 1e4, 60)]
        assert found == sorted(found) and max(found) <= 1
