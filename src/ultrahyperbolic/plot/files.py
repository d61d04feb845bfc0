"""Figures as files and in notebooks."""

import io
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 10,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,
}


class NotebookFigure(Figure):
    """A figure that is shown only as the value of a notebook cell, and opens no window."""

    def _repr_png_(self) -> bytes:
        return written(self, "png", dpi=100)


def written(drawn: Figure, format: str, dpi: float) -> bytes:
    """The figure as "png", "pdf" or "svg"; vector graphics hold surfaces as images of a good
    resolution.

    A PNG is drawn at twice the size and reduced: neighbouring faces then leave no seams.
    """
    from PIL import Image

    out, large = io.BytesIO(), io.BytesIO()
    with mpl.rc_context(STYLE):
        if format != "png":
            metadata = {"CreationDate": None} if format == "pdf" else None
            drawn.savefig(out, format=format, dpi=300, metadata=metadata)
            return out.getvalue()
        drawn.savefig(large, format="png", dpi=2 * dpi, facecolor=drawn.get_facecolor())
    with Image.open(large) as image:
        half = (image.width // 2, image.height // 2)
        reduced = image.convert("RGB").resize(half, Image.Resampling.LANCZOS)
    reduced.save(out, format="png", optimize=True)
    return out.getvalue()
