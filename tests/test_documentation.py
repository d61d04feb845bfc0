"""What the pages name is there: links, anchors, scripts with their options, files, the version."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(text: str) -> set[str]:
    """Those that headings have, in the way of GitHub and of the site."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {
        "#" + re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)(#[^)]+)?\)", page.read_text()):
        if "://" in target:
            continue
        goal = page.parent / target if target else page
        assert goal.exists(), f"{page.name} links to {target}"
        if anchor and goal.suffix == ".md" and goal.parent.name != "api":
            assert anchor in anchors(goal.read_text()), f"{page.name} links to {target}{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_files_that_are_named_exist(page):
    for path in re.findall(
        r"`((?:tests|benchmarks|examples|requirements)/[\w./]+)`", page.read_text()
    ):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


def scripts_named(page: Path) -> list[tuple[Path, set[str]]]:
    """The scripts of the repository that a page runs, each with the options it gives them."""
    text = " ".join(page.read_text().split())
    calls = re.findall(
        r"python ((?:benchmarks|tests|examples)/[\w/]+\.py)(.*?)(?=`|python |$)", text
    )
    return [(ROOT / path, set(re.findall(r"(?<!\S)--[a-z-]+", options))) for path, options in calls]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_scripts_that_are_named_exist_and_know_their_options(page):
    shared = (ROOT / "benchmarks" / "bench.py").read_text()
    for script, options in scripts_named(page):
        assert script.exists(), f"{page.name} names {script.relative_to(ROOT)}"
        declared = set(re.findall(r"\"(--[a-z-]+)\"", script.read_text() + shared))
        assert options <= declared, (
            f"{page.name}: {script.name} has no {', '.join(sorted(options - declared))}"
        )


def test_pictures_are_shown_by_a_page():
    shown = {name for page in PAGES for name in re.findall(r"([\w-]+\.png)", page.read_text())}
    assert {path.name for path in (ROOT / "docs").glob("*.png")} <= shown


def test_the_pages_are_read_in_an_hour():
    makefile = (ROOT / "Makefile").read_text()
    limit = int(re.search(r"^WORDS := (\d+)$", makefile, re.M)[1])
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= limit


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"([\w/-]+\.md)$", text, re.M)) - {"index.md"}  # the README
    assert listed == {
        str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")
    }


def test_the_drawing_of_the_rooms_is_the_contract():
    drawing = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    rows = [re.split(r" +", line[:36].strip()) for line in drawing.strip().splitlines()]
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ][0]
    layers = [sorted(room.strip() for room in layer.split(":")) for layer in contract["layers"]]
    assert [sorted(room.removesuffix(".py") for room in row) for row in rows] == layers


def cells(table: str) -> list[list[str]]:
    lines = table.strip().splitlines()
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]


def marked(page: str, name: str) -> list[list[str]]:
    """The rows between the marks of a table."""
    return cells(re.search(rf"<!-- {name} -->\n(.*?)<!-- end", page, re.S)[1])


def test_the_readme_quotes_the_comparison():
    readme = marked((ROOT / "README.md").read_text(encoding="utf-8"), "comparison")
    comparison = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    tables = {"neighbours": "map", "tie order": "tie_order", "CPU seconds": "cpu"}
    header, _, *rows = readme
    for column, title in enumerate(header[1:], start=1):
        measure, _, graph = title.partition(": ")
        names, _, *lines = marked(comparison, tables[measure])
        (line,) = (line for line in lines if line[0] == graph)
        for row in rows:
            assert row[column] == line[names.index(row[0])], f"{row[0]}, {title}"


def test_importing_loads_torch_and_numpy_only():
    heavy = "pandas scipy numba pyarrow matplotlib typer rich networkx sklearn safetensors geoopt"
    # torch itself may load some of these; what counts is what we add.
    code = (
        "import sys, torch, numpy; before = set(sys.modules)\n"
        "import ultrahyperbolic, ultrahyperbolic.testing\n"
        "[getattr(ultrahyperbolic, name) for name in ultrahyperbolic.__all__ if name != "
        "'UltrahyperbolicEmbedding']\n"
        f"print([name for name in {heavy.split()!r} if name in set(sys.modules) - before])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_every_public_name_is_there():
    import ultrahyperbolic

    assert all(hasattr(ultrahyperbolic, name) for name in ultrahyperbolic.__all__)
    assert set(ultrahyperbolic.__all__) <= set(dir(ultrahyperbolic))
    assert ultrahyperbolic.geometry.PseudoHyperboloid is ultrahyperbolic.PseudoHyperboloid
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ultrahyperbolic.nothing


def test_the_version_is_one():
    from importlib.metadata import version

    import yaml

    import ultrahyperbolic

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert ultrahyperbolic.__version__ == version("ultrahyperbolic")
    assert ultrahyperbolic.__version__ == str(citation["version"]) == newest
    assert {"message", "title", "authors", "license", "references"} <= set(citation)
