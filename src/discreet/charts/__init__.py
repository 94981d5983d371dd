"""Charts as SVG, and figures as plain data. They know nothing of releases."""
