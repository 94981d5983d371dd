"""File neighbours: one record of arbitrary bytes more, less or other, and what an onlooker could see.

A file is made in some format, encoding and dialect, and a neighbour of it by inserting, deleting or
changing one record. Both are counted by the engine, without noise. Then
  1. whether the engine stops, and what it says, is the same;
  2. each table of counts moves by 1 at most (in L1), or by 2 where a record was changed; the number
     of rows by exactly 1, or not at all;
  3. as many questions go to the database;
  4. the counts are those that a second reader finds, which was written from the documented rules alone.

    python -m discreet.audits.file_neighbours --pairs 20000 --seed 1

The seed is public: the files are nobody's. A failure names its seed, so it can be run again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
