"""PostgreSQL: rows are counted where they lie, in one read-only transaction."""
