"""The DuckDB engine: files and tables in memory, counted by SQL expressions that no row can make fail."""
