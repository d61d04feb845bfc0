"""What the reproductions share: printing, progress, and a drawing backend that needs no screen."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..engines.base import BatchState
from ..files import replace_file
from ..loop import Progress
from ..progress import bar


class Console:
    """Results to standard output, remarks to standard error, nothing when quiet."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet

    def print(self, text: str) -> None:
        """A result."""
        if not self.quiet:
            print(text)

    def differences(self, differences: Sequence[tuple[str, str, str]]) -> None:
        """Where the paper's text and the authors' scripts differ."""
        self.print("The paper's recipe, as the authors' scripts have it (and the text):")
        for subject, text, scripts in differences:
            self.print(f"  {subject}: {scripts} (text: {text})")
        self.print("")

    def finish(self, lines: Sequence[str], folder: Path, names: Sequence[str], page: str = "") -> None:
        """The lines, which a ``page`` of the folder keeps, and where the files are."""
        self.print("\n".join(lines))
        if page:
            replace_file(folder / page, "\n".join(lines) + "\n")
        self.print(f"\nwritten to {folder}: {', '.join([page] * bool(page) + [*names])}")


@contextmanager
def progress(title: str, total: int, quiet: bool) -> Iterator[Callable[[Progress[BatchState]], None]]:
    """A progress bar over the iterations of a batch, on a terminal."""
    with bar(title, total, show=not quiet) as update:
        yield lambda done: update(done.iteration, "")


def write_figure(name: str, folder: Path, draw: Callable[..., Any]) -> list[str]:
    """Write a figure as PNG, PDF (matplotlib) and HTML (plotly); ``draw`` takes ``library``. Returns the names."""
    from .. import plot

    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for library, suffixes in (("matplotlib", ("png", "pdf")), ("plotly", ("html",))):
        figure = draw(library=library)
        for suffix in suffixes:
            names.append(plot.save(figure, folder / f"{name}.{suffix}").name)
    return names


def pyplot() -> Any:
    """matplotlib's pyplot on a backend without a window."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("drawing needs matplotlib: pip install 'ultrahyperbolic[figures]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
