"""How undeclared values are named and counted. It reaches the core."""
