"""Install the wheel of a folder in an environment of its own, with the pins, and run the demo there.

    python requirements/wheel.py dist
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """0 where the demo ran from the wheel and wrote its files."""
    (wheel,) = Path(sys.argv[1]).resolve().glob("*.whl")
    (sdist,) = Path(sys.argv[1]).resolve().glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        print(f"Installing {wheel.name} in a new environment (1 to 2 minutes)", flush=True)
        venv.create(Path(folder, "venv"), with_pip=True)
        python = Path(folder, "venv", "bin", "python")
        pins = ["--constraint", str(HERE / "runtime.txt"), f"{wheel}[networkx]"]
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pins], check=True)
        command = [python.parent / "ultrahyperbolic", "embed", "karate", "-o", "karate"]
        subprocess.run(command, cwd=folder, check=True)
        missing = [name for name in ("embedding.parquet", "run.json") if not Path(folder, "karate", name).exists()]
        # The page has files of its own, which a wheel may forget.
        missing += [] if Path(folder, "karate", "report.html").exists() else ["report.html"]
    print(f"{wheel.name} runs the demo" if not missing else f"The demo did not write {', '.join(missing)}")
    print(f"{sdist.name} is beside it")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
