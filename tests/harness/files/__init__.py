"""Files and records of arbitrary bytes, and what the documented rules make of them."""
