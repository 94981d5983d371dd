"""The general mechanism: a private choice among all small databases. Blum, Ligett and Roth 2008, section 3."""
