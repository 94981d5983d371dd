"""Empirical checks of the guarantees, on neighbouring tables that the audits generate themselves."""
