"""A page to look at: one file of HTML with the drawings, the ranking and the measures of an embedding."""

from .page import render, write_report

__all__ = ["render", "write_report"]
