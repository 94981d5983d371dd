"""Work on numbers that are published already: it costs no privacy, and carries every interval along."""
