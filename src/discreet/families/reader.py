"""`ReleaseReader`: a release, opened for questions, with what single families offer beside SQL. It has no way to reach a row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.answering.estimates import ManyCounts
from discreet.answering.reader import Reader
from discreet.answering.usefulness import margin_of
from discreet.artifacts.answer import Answer
from discreet.artifacts.files import read_release
from discreet.artifacts.release import Release
from discreet.families.halfspaces.answer.halfspaces import HalfspaceSource, ManyHalfspaces
from discreet.families.ranges.answer.joining import ranges_of
from discreet.families.ranges.answer.pictures import Bars, distribution
from discreet.families.tables.answer.parities import parity_of
from discreet.families.tables.answer.shared_noise import noise_covariance
from discreet.families.tables.answer.table_models import cell_deviation
from discreet.families.tables.answer.together.library import TableLibrary
from discreet.privacy.exact import Exactable, confidence_level


class ReleaseReader(Reader):
    """A release, opened for questions. Asking costs no privacy, so there is no limit.

    Thread safe: the release never changes, and what is kept for later questions is kept under a lock.
    """

    def __init__(self, release: Release) -> None:
        super().__init__(release)
        self._halfspaces = HalfspaceSource(self._library)

    def count_halfspaces(
        self,
        columns: Sequence[str],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        confidence: float = 0.95,
    ) -> ManyHalfspaces:
        """Rows with normal . columns >= bound, one row of `normals` and one bound for each question."""
        confidence_level(confidence)
        return self._halfspaces.many(tuple(columns), normals, bounds, confidence=confidence)

    def count_within_margin(
        self,
        columns: Sequence[str],
        normals: npt.ArrayLike,
        bounds: npt.ArrayLike,
        *,
        gamma: Exactable,
        confidence: float = 0.95,
    ) -> ManyCounts:
        """Rows within `gamma` of each plane normal . columns = bound: those that a close halfspace may count otherwise.

        Columns are scaled by their public bounds so that all points lie in the unit ball.
        """
        confidence_level(confidence)
        margin = float(margin_of(gamma))
        return self._halfspaces.margin(
            tuple(columns), normals, bounds, gamma=margin, confidence=confidence
        )

    def count_near_halfspaces(
        self, columns: Sequence[str], normals: npt.ArrayLike, bounds: npt.ArrayLike
    ) -> npt.NDArray[np.float64]:
        """Rows in some gamma-close halfspace, for a release by the literal net. There are no intervals."""
        return self._halfspaces.near(tuple(columns), normals, bounds)

    def parity(self, *names: str, confidence: float = 0.95) -> Answer:
        """The rows for which an even number of `names` is true, minus those for which an odd number is.

        The names are splits that the release was made for, or columns of two cells.
        """
        confidence_level(confidence)
        return parity_of(self._library.made(TableLibrary), names, confidence=confidence)

    def noisy_table(self, columns: Sequence[str]) -> tuple[npt.NDArray[np.float64], float]:
        """The estimated table over `columns` as it was measured, and the standard deviation of a cell.

        Unbiased, so cells may be negative or fractional; one axis for each column, in the order given.
        """
        names = tuple(self.schema.column(name).name for name in columns)
        ordered = tuple(name for name in self.schema.names if name in names)
        table = self._library.made(TableLibrary).table(ordered)
        counts = table.counts.reshape([self.schema.column(name).cells for name in ordered])
        return np.transpose(counts, [ordered.index(name) for name in names]), cell_deviation(table)

    def noise_covariance(self, first: str, second: str, *, by: str) -> float:
        """The covariance of the noise of two counts in one cell of `by`; 0 if they are independent.

        Both conditions are answered from tables that are put together from the same measurements.
        """
        return noise_covariance(self._library, first, second, by=self.schema.column(by).name)

    def distribution(self, *columns: str, most: int = 64, confidence: float = 0.95) -> Bars:
        """Bars for a chart of columns that were released as ranges: at most `most` along each."""
        return distribution(
            ranges_of(self._library),
            tuple(self.schema.column(name).name for name in columns),
            most=most,
            confidence=confidence,
            public_rows=self.release.public_rows,
        )


def open_release(path: str | Path) -> ReleaseReader:
    """A release file, opened for questions."""
    return ReleaseReader(read_release(path))
