"""Pages about attacks and about what epsilon means, drawn with the report's own charts."""
