"""A listener for the leak scan: all that a run says, by any way that Python has of saying it."""

from __future__ import annotations

import contextlib
import logging
import warnings

from discreet.errors import DiscreetError
from tests.harness.leaks import said_by


class Ears:
    """Everything said while it listens: standard output and error, logs, warnings, errors."""

    def __init__(self, capfd):
        self.capfd, self.said = capfd, []

    @contextlib.contextmanager
    def listening(self):
        keeper = logging.Handler(level=logging.NOTSET)
        keeper.emit = lambda record: self.said.append(
            f"{record.getMessage()} {record.args} {record.exc_info}"
        )
        root = logging.getLogger()
        level = root.level
        root.addHandler(keeper)
        root.setLevel(logging.NOTSET)
        self.capfd.readouterr()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                yield self
            self.said += [str(warning.message) for warning in caught]
        finally:
            root.removeHandler(keeper)
            root.setLevel(level)
            self.said += list(self.capfd.readouterr())

    def attempt(self, action):
        """Whatever it raises on purpose is heard; anything else is a fault and fails the test."""
        try:
            said = action()
        except DiscreetError as error:
            self.said.append(said_by(error))
            return None
        self.said.append(repr(said))
        return said
