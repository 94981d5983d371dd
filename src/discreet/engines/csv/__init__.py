"""CSV files: cleaned line by line, so that every line is one record whatever it holds."""
