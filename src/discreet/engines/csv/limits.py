"""The sizes by which CSV files are read: one is a rule, the others are matters of speed and room.

They stand in one place so that an audit can make them small, and meet every border in small files.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CsvLimits:
    """Sizes in bytes."""

    longest_line: int = 1_000_000
    """Bytes of a line in UTF-8, without its end. A longer line is a row whose fields are all empty."""
    few: int = 2048
    """A window of no more is read line by line, if it is not well formed."""
    block: int = 4 << 20
    """What is read of a file at once."""
    part: int = 8 << 20
    """A part file is closed once it has so many."""
    batch_parts: int = 32
    """So many processors at most read at the same time; a batch takes 0.26 GB of disk."""

    @property
    def enough(self) -> int:
        """With so many bytes, or all that there are, it can be said where the next few records end."""
        return self.longest_line + self.few + 1


current = CsvLimits()
