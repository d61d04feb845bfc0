"""Make the environments of the peers, each from its own pins: ``.peers/NAME`` below the repository.

python benchmarks/peers/setup.py [NAME ...] [--again]
"""

import argparse
import os
import shutil
import subprocess
import venv
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".peers"
PINS = {path.stem: path for path in sorted((HERE / "requirements").glob("*.txt"))}
WEMBED_OPTIONS = "-DWEMBED_USE_SPRK=OFF -DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=ALWAYS"


def install(python: Path, *words: str, **variables: str) -> None:
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *words,
    ]
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(command, check=True, env={**os.environ, "PATH": path, **variables})


def make(name: str) -> None:
    """An environment; what was there before is removed first, and what could not be finished
    too.
    """
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
        python = folder / "bin" / "python"
        lines = PINS[name].read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        # WEmbed, where there is no wheel, is built from source without the Rust index, by the
        # pybind11 of its pins.
        last = [pin for pin in pins if pin.startswith("wembed==")]
        install(python, *(pin for pin in pins if pin not in last))
        if last:
            asked = [str(python), "-m", "pybind11", "--cmakedir"]
            found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
            options = f"{WEMBED_OPTIONS} -Dpybind11_DIR={found}"
            install(python, "--no-build-isolation", "--no-deps", *last, CMAKE_ARGS=options)
        shutil.copy(PINS[name], folder / "pins.txt")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(PINS)} (default: all)"
    )
    parser.add_argument("--again", action="store_true", help="also those that are there")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(PINS)
    if unknown:
        parser.error(
            f"no peer has pins called {', '.join(sorted(unknown))}: there are {', '.join(PINS)}"
        )
    for name in asked.names or PINS:
        made = FOLDER / name / "pins.txt"
        ready = made.exists() and made.read_bytes() == PINS[name].read_bytes()
        print(f"{name}: {'ready' if ready else f'making {FOLDER / name}'}", flush=True)
        if asked.again or not ready:
            make(name)


if __name__ == "__main__":
    main()
