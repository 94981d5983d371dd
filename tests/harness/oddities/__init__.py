"""Odd values of every type that a table can hold, for the value fuzz."""
