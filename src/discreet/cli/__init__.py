"""The command line: a thin shell over the public API.

Importing it is cheap: a command's module, and with it numpy or a database, is loaded
only when that command runs.
"""

import os

# Before numpy is loaded: the matrices here are small, and threads that wait for one another would take
# several times the processor time. Whoever sets the variable decides.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from discreet.cli.application import main

__all__ = ["main"]
