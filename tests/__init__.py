"""The tests, and what they stand on."""

import os

# Before NumPy is loaded. Tests run side by side and their tables are small: threads of one fit would take the processors
# away from one another, for more than twice the work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
