"""``python -m ultrahyperbolic.paper TARGET``: what ``ultrahyperbolic reproduce`` does, with torch
and numpy alone.

Tables 2 and 3 are trained where the GPU is, which may have nothing else installed; their pictures
are drawn from the JSON elsewhere, with ``--draw``.
"""

import argparse
import json
from pathlib import Path

from . import TARGETS, TRAINING, write_figures


def main(arguments: list[str] | None = None) -> None:
    """Reproduce one target."""
    parser = argparse.ArgumentParser(
        prog="python -m ultrahyperbolic.paper", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seeds", type=int, help="how many seeds (default: the target's own)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", help="where to write (default: out/TARGET)"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="write the figures here too, as one flat object"
    )
    trained = parser.add_argument_group("for table2 and table3")
    trained.add_argument("--loss", choices=("exact", "sampled"), help="(default: exact)")
    trained.add_argument("--iterations", type=int, help="(default: the paper's)")
    trained.add_argument("--device", help="cpu or cuda (default: cuda if there is one)")
    trained.add_argument("--threads", type=int, help="of the CPU (default: all)")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument(
        "--draw", type=Path, metavar="FILE", help="only draw table2 or table3 from the JSON written"
    )
    asked = parser.parse_args(arguments)
    folder = asked.output or Path("out") / asked.target
    folder.mkdir(parents=True, exist_ok=True)
    if asked.draw is not None:
        from .table2 import TABLE2, TABLE3, draw

        tables = {"table2": TABLE2, "table3": TABLE3}
        if asked.target not in tables:
            parser.error(
                f"--draw is of table2 and table3, and {asked.target} draws by itself: leave it out"
            )
        figures = json.loads(asked.draw.read_text(encoding="utf-8"))
        draw(folder / f"{asked.target}.png", tables[asked.target], figures)
        return
    options = {name: value for name in TRAINING if (value := getattr(asked, name)) is not None}
    if strange := sorted(options.keys() - TARGETS[asked.target].options):
        parser.error(f"--{strange[0]} is not of {asked.target}: leave it out")
    figures = TARGETS[asked.target].run(asked.seeds, folder, asked.quiet, **options)
    if asked.json is not None:
        write_figures(asked.json, figures)


if __name__ == "__main__":
    main()
