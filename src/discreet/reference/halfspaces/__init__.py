"""Halfspaces by a net of canonical ones: Blum, Ligett and Roth 2008, section 6."""
