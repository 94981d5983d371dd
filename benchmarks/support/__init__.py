"""What the benchmarks share: their data and how they print their bars."""
