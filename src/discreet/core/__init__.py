"""The kernel: the only room that touches raw rows for publication, or secret randomness."""
