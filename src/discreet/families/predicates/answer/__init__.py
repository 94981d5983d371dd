"""How questions about predicates are answered from noisy numbers."""
