"""`discreet theory`: statements of the theory, worked out for numbers that you give."""
