"""What may be asked of a table: integer-valued queries with their sensitivity, and SQL."""
