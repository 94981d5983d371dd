"""The report: one self-contained HTML page about a release, for people who did not make it.

Reads only what is published.
"""

from discreet.report.page import LARGEST, render_report

__all__ = ["LARGEST", "render_report"]
