"""How questions about contingency tables are answered from noisy numbers."""
