"""`python -m discreet`: the command line, where its script is not on the PATH."""

from __future__ import annotations

import sys

from discreet.cli import main

sys.exit(main())
