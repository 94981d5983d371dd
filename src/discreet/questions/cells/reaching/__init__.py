"""What an expression may be, by interval arithmetic on its parts."""
