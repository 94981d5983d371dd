"""How releases of single numbers are bounded."""
