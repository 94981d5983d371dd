"""How questions about ranges are answered from noisy numbers."""
