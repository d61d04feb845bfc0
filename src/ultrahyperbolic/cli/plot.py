"""``plot``: the map as a picture."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from . import options as opt
from .errors import Refused, refusing
from .output import print_json
from .sources import open_embedding

_OUTPUT = "The picture: its ending says whether PNG, SVG, PDF or HTML. Default: map.png in FOLDER."
_COLOUR = "What colours show: community, or a column of the nodes."


def plot(
    context: typer.Context,
    folder: opt.Folder,
    output: Annotated[Path | None, opt.option("-o", "--output", metavar="FILE", help=_OUTPUT)] = None,
    colour: Annotated[str, typer.Option("--colour", "--color", metavar="COLUMN", help=_COLOUR)] = "community",
    names: Annotated[int, typer.Option("--names", metavar="N", min=0, help="Name at most this many nodes.")] = 60,
    title: Annotated[str, opt.option("--title", metavar="TEXT", help="A line above the map. Default: none.")] = "",
    theme: Annotated[Literal["light", "dark"], typer.Option("--theme", help="Background of the picture.")] = "light",
    as_json: opt.Json = False,
) -> None:
    """Draw the map of an embedding: a picture to print or to share.

    The picture is the map of the report: strongly tied nodes lie close
    together, and the most central nodes have names. PNG, SVG and PDF need
    matplotlib (pip install 'ultrahyperbolic[figures]'). HTML shows names
    when you hover.

    Examples:
      ultrahyperbolic plot club
      ultrahyperbolic plot club -o club.svg --title "The karate club"
      ultrahyperbolic plot club -o club.html
      ultrahyperbolic plot club --colour club --names 10 --theme dark
    """
    target = output or folder / "map.png"
    is_page = target.suffix.lower() == ".html"
    for name in ("colour", "names", "title", "theme") if is_page else ():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise Refused(f"--{name} is for PNG, SVG and PDF: leave it out for HTML")
    embedding = open_embedding(folder)

    from .. import plot as figures

    with refusing(ValueError, OSError, ImportError):
        if is_page:
            figures.save(figures.map(embedding), target)
        else:
            picture = figures.plot_map(embedding, colour=colour, names=names, title=title, theme=theme)
            figures.save(picture, target, dpi=150)
    if as_json:
        print_json({"folder": str(folder), "file": str(target)})
    else:
        print(f"file: {target}")
