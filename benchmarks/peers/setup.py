"""Make the environments of the peers, each from its own pins: ``.peers/NAME`` below the repository.

python benchmarks/peers/setup.py [NAME ...] [--again]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parents[1] / ".peers"
PINS = {path.stem: path for path in sorted((HERE / "requirements").glob("*.txt"))}
WEMBED_OPTIONS = ("-DWEMBED_USE_SPRK=OFF", "-DFETCHCONTENT_TRY_FIND_PACKAGE_MODE=ALWAYS")


def install(python: Path, *words: str, **variables: str) -> None:
    """Let pip of an environment install something."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(command, check=True, env={**os.environ, "PATH": path, **variables})


def build_wembed(python: Path, pins: list[str]) -> None:
    """Its wheel where there is one; else from source, without the Rust index, by its own pybind11."""
    (own,) = (pin for pin in pins if pin.startswith("wembed=="))
    with tempfile.TemporaryDirectory() as folder:
        others = Path(folder, "others.txt")
        others.write_text("\n".join(pin for pin in pins if pin != own))
        install(python, "--requirement", str(others))
    asked = subprocess.run([str(python), "-m", "pybind11", "--cmakedir"], check=True, capture_output=True, text=True)
    options = " ".join((*WEMBED_OPTIONS, f"-Dpybind11_DIR={asked.stdout.strip()}"))
    install(python, "--no-build-isolation", "--no-deps", own, CMAKE_ARGS=options)


def make(name: str) -> None:
    """An environment; what was there before is removed first, and what could not be finished too."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    try:
        venv.create(folder, with_pip=True)
        python = folder / "bin" / "python"
        lines = PINS[name].read_text(encoding="utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        if name == "wembed":
            build_wembed(python, pins)
        else:
            install(python, "--requirement", str(PINS[name]))
        shutil.copy(PINS[name], folder / "pins.txt")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def ready(name: str) -> bool:
    """Whether the environment is there, made from these pins."""
    made = FOLDER / name / "pins.txt"
    return made.exists() and made.read_bytes() == PINS[name].read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PINS)} (default: all)")
    parser.add_argument("--again", action="store_true", help="also those that are there")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(PINS)
    if unknown:
        parser.error(f"no peer has pins called {', '.join(sorted(unknown))}: there are {', '.join(PINS)}")
    for name in asked.names or PINS:
        if ready(name) and not asked.again:
            print(f"{name}: ready")
            continue
        print(f"{name}: making {FOLDER / name}", flush=True)
        make(name)


if __name__ == "__main__":
    main()
