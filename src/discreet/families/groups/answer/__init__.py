"""How releases by group are answered, bounded and drawn from."""
