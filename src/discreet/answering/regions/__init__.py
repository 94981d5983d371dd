"""Which rows are counted: regions of cells, ranges of them, and the cells that a condition selects."""
