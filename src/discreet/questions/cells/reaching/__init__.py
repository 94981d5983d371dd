"""The possible values of an expression, by interval arithmetic on its parts."""
