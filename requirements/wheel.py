"""Install the wheel of a folder with the pins, without torch, in a new environment, and run there
what pages show.

    python requirements/wheel.py dist
    python requirements/wheel.py dist python3.12 python3.13

Each interpreter that is named gets its own environment; without any, it is the one that runs this.
The commands are those of the README and of the first page, in an empty folder.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from snippets import examples, files  # noqa: E402

PAGES = ("README.md", "docs/start.md")
WRITTEN = ("embedding.parquet", "run.json", "report.html")
UNWANTED = ("torch", "triton", "nvidia-", "cuda-")


def runs_its_pages(wheel: Path, interpreter: str) -> bool:
    """Whether the commands of the pages run from the wheel, the report is written, and torch was
    not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        print(
            f"{wheel.name}: installing it in a new environment of {interpreter} (about a minute)",
            flush=True,
        )
        subprocess.run([interpreter, "-m", "venv", f"{folder}/venv"], check=True)
        programs = Path(folder, "venv", "bin")
        pip = [programs / "python", "-m", "pip", "--disable-pip-version-check"]
        pins = ["--constraint", str(HERE / "base.txt"), str(wheel)]
        subprocess.run([*pip, "install", "--quiet", *pins], check=True)
        listed = subprocess.run([*pip, "list"], check=True, capture_output=True, text=True).stdout
        wrong = [
            problem
            for page in PAGES
            for problem in failures(ROOT / page, Path(folder, page), programs)
        ]
    unwanted = [
        name for line in listed.splitlines() if (name := line.split()[0]).startswith(UNWANTED)
    ]
    wrong += [f"these were installed: {', '.join(unwanted)}"] * bool(unwanted)
    print(f"{wheel.name}: {'; '.join(wrong) or 'all commands run, without torch'}", flush=True)
    return not wrong


def failures(page: Path, folder: Path, programs: Path) -> Iterator[str]:
    """What goes wrong with the commands of a page, run in a new folder by the ``programs`` of an
    environment.
    """
    text = page.read_text(encoding="utf-8")
    folder.mkdir(parents=True)
    for name, content in files(text).items():
        (folder / name).write_text(content, encoding="utf-8")
    for words, _ in examples(text):
        program, *arguments = shlex.split(words)
        found = subprocess.run(
            [programs / program, *arguments],
            cwd=folder,
            env=os.environ | {"COLUMNS": "120"},
            capture_output=True,
            text=True,
        )
        if found.returncode:
            yield (
                f"{page.name}: {words}: "
                f"{(found.stderr.strip() or str(found.returncode)).splitlines()[-1]}"
            )
    missing = [name for name in WRITTEN if not (folder / "lesmis" / name).exists()]
    if missing:
        yield f"{page.name}: {', '.join(missing)} was not written"


def main() -> int:
    """With how many interpreters something did not run."""
    folder = Path(sys.argv[1]).resolve()
    (wheel,) = folder.glob("*.whl")
    (_sdist,) = folder.glob("*.tar.gz")
    interpreters = sys.argv[2:] or [sys.executable]
    return sum(not runs_its_pages(wheel, interpreter) for interpreter in interpreters)


if __name__ == "__main__":
    sys.exit(main())
