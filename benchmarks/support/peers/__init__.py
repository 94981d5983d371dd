"""Programs that count the cells of one table with other packages, each run by an interpreter that has the package."""
