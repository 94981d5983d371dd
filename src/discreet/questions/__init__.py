"""Questions in SQL: read against an allow-list, as conditions over declared columns."""
