"""Values that no schema lists: found by private partition selection, published by name, and counted."""
