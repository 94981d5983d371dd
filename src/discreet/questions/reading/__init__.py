"""SQL to one tree of expressions, for WHERE and for the keys of GROUP BY."""
