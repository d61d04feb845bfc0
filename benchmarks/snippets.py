"""Run the commands that pages show after ``$`` and write what they print now into the pages.

    python benchmarks/snippets.py

The pages are README.md and all below docs, or those you name. The commands of a page run one after
another in an empty folder with the files that the page shows: a text block is a file if a line with
its name comes before it.
"""

import os
import re
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path

from bench import Figures, parser, save

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.S)
EXAMPLE = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
FILE = re.compile(r"`([\w.-]+)`:\n\n```text\n(.*?)```", re.S)


def pages() -> list[Path]:
    """The pages whose commands are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def files(text: str) -> dict[str, str]:
    """The files that a page shows, by name."""
    return dict(FILE.findall(text))


def examples(text: str) -> list[tuple[str, str]]:
    """The commands of a page, and what it says they print."""
    return [found for block in BLOCK.findall(text) for found in EXAMPLE.findall(block)]


def refreshed(text: str, run: Callable[[str], str]) -> str:
    """The page with what its commands print now."""

    def block(match: re.Match[str]) -> str:
        return "".join(f"$ {words}\n{_tidy(run(words))}" for words, _ in EXAMPLE.findall(match[0]))

    return BLOCK.sub(block, text)


def _tidy(printed: str) -> str:
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    from typer.testing import CliRunner

    from ultrahyperbolic.cli import app

    made = parser(__doc__)
    made.add_argument("pages", type=Path, nargs="*", help="(default: all)")
    options = made.parse_args()
    figures: Figures = {}
    for page in options.pages or pages():
        path = page.resolve()
        text = path.read_text(encoding="utf-8")
        if not examples(text):
            continue
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            for name, content in files(text).items():
                Path(name).write_text(content, encoding="utf-8")
            new = refreshed(
                text, lambda words: CliRunner().invoke(app, shlex.split(words)[1:]).output
            )
            os.chdir(before)
        path.write_text(new, encoding="utf-8")
        figures |= {
            f"{path.stem}_commands": len(examples(text)),
            f"{path.stem}_changed": int(new != text),
        }
        print(
            f"{path.name}: {len(examples(text))} commands, "
            f"{'changed' if new != text else 'as it was'}"
        )
    save(figures, options.json)


if __name__ == "__main__":
    main()
