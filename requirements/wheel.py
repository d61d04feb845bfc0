"""Install the wheel of a folder in an environment of its own, with the pins, and run the demo there, without CUDA.

    python requirements/wheel.py dist
    python requirements/wheel.py dist python3.12 python3.13

Each interpreter that is named gets its own environment; without any, it is the one that runs this.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("embedding.parquet", "run.json", "report.html")


def runs_the_demo(wheel: Path, interpreter: str) -> bool:
    """Whether the demo runs from the wheel and writes its files, the report included, and no CUDA was installed."""
    with tempfile.TemporaryDirectory() as folder:
        print(f"{wheel.name}: installing it in a new environment of {interpreter} (1 to 2 minutes)", flush=True)
        subprocess.run([interpreter, "-m", "venv", f"{folder}/venv"], check=True)
        python = Path(folder, "venv", "bin", "python")
        pins = ["--constraint", str(HERE / "runtime.txt"), str(wheel)]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins], check=True)
        command = [python.parent / "ultrahyperbolic", "embed", "karate", "-o", "karate"]
        subprocess.run(command, cwd=folder, check=True)
        missing = [name for name in FILES if not Path(folder, "karate", name).exists()]
        listed = subprocess.run([python, "-m", "pip", "list"], check=True, capture_output=True, text=True).stdout
    cuda = [line.split()[0] for line in listed.splitlines() if line.startswith(("nvidia-", "cuda-", "triton"))]
    wrong = [f"the demo did not write {', '.join(missing)}"] * bool(missing)
    wrong += [f"the pins bring what only a GPU needs: {', '.join(cuda)}"] * bool(cuda)
    print(f"{wheel.name}: {'; '.join(wrong) or 'the demo runs, and nothing of CUDA is installed'}", flush=True)
    return not wrong


def main() -> int:
    """With how many interpreters the demo did not run."""
    folder = Path(sys.argv[1]).resolve()
    (wheel,) = folder.glob("*.whl")
    (_sdist,) = folder.glob("*.tar.gz")
    interpreters = sys.argv[2:] or [sys.executable]
    return sum(not runs_the_demo(wheel, interpreter) for interpreter in interpreters)


if __name__ == "__main__":
    sys.exit(main())
