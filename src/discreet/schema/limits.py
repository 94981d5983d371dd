"""Limits that questions and queries share."""

MOST_CELLS = 1 << 26
"""Cells that one query may have: half a gigabyte of counts. Larger domains are for trees."""
MOST_GROUPS = 1 << 20
"""Groups of one live question."""
MOST_GROUP_COLUMNS = 4
"""Columns of GROUP BY in a live question."""
