"""Ranges of ordered columns: intervals, rectangles, unions."""
