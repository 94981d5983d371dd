"""Spark: rows are counted on the executors, and only counts reach the driver."""
