"""Privacy as exact arithmetic: budgets, adjacency, units, composition, noise laws."""
