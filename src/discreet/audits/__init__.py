"""Empirical checks of the guarantees, on neighbouring tables that the audits generate themselves.

May import every room below it; it alone, and the tests, may open the kernel's test door.
"""
