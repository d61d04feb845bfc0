"""Writing the ties of an embedding must not wait for pandas."""

from __future__ import annotations

import subprocess
import sys


def test_ties_become_text_without_pandas():
    code = (
        "import sys\n"
        "from ultrahyperbolic.graph import Graph\n"
        "from ultrahyperbolic.embedding.store import ties_of\n"
        "assert ties_of(Graph.from_edges([('a', 'b', 2)])).rows == ['1', '0']\n"
        "assert 'pandas' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
