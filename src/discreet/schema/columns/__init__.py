"""The kinds of columns, and how a value becomes the number of a cell."""
