"""Look the pins up in the database of known vulnerabilities; where it cannot be reached, say so and
pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """1 where something is known against a pin, else 0."""
    files = [
        word
        for name in ("base.txt", "torch.txt", "dev.txt", "docs.txt")
        for word in ("--requirement", str(HERE / name))
    ]
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--disable-pip",
        "--no-deps",
        "--format",
        "json",
        *files,
    ]
    result = subprocess.run(command, capture_output=True, text=True)
    try:
        pins = json.loads(result.stdout)["dependencies"]
    except ValueError:  # it ended before it had an answer
        print(
            f"audit: nothing was looked up: {result.stderr.strip().splitlines()[-1]}",
            file=sys.stderr,
        )
        return 0
    known = [
        (pin["name"], pin["version"], entry["id"]) for pin in pins for entry in pin.get("vulns", [])
    ]
    skipped = sum("skip_reason" in pin for pin in pins)
    print(
        f"audit: {len(pins) - skipped} of {len(pins)} pins looked up, {skipped} not found in the "
        "database"
    )
    for name, version, entry in known:
        print(f"audit: {name} {version}: {entry}", file=sys.stderr)
    return 1 if known else 0


if __name__ == "__main__":
    sys.exit(main())
