"""How questions about halfspaces are answered from noisy numbers."""
