"""Limits that several kinds of queries share."""

MOST_CELLS = 1 << 26
"""Cells that one query may have: half a gigabyte of counts. Larger domains are for trees."""
