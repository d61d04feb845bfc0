"""The README as the front page of the site: a hook of mkdocs, named in ``mkdocs.yml``.

Links to pages lead to the site; links to other files of the repository become plain text.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

README = Path(__file__).parent.parent / "README.md"


def on_files(files: Files, config: Any) -> Files:
    """Add the front page."""
    text = README.read_text(encoding="utf-8").replace("](docs/", "](")
    outside = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")

    def kept(link: re.Match[str]) -> str:
        return link[0] if files.get_file_from_path(link[2]) else link[1]

    files.append(File.generated(config, "index.md", content=outside.sub(kept, text)))
    return files
