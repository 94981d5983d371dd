"""discreet: differentially private release of databases."""

__version__ = "0.1.0"
