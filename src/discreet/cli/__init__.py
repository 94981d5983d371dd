"""The command line: a thin shell over the public API.

Importing it is cheap: a command's module, and with it numpy or a database, is loaded
only when that command runs.
"""

from discreet.cli.application import main

__all__ = ["main"]
