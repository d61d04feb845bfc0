"""The HTML report: one file with the map, the ranking and the measures of an embedding."""

from .page import render, write_report

__all__ = ["render", "write_report"]
