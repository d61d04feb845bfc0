"""The version, which results are recorded with."""

__version__ = "0.2.0"
