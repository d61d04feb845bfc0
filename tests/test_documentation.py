"""What the documents say is what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: p.name
)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)(#[^)]+)?\)", page.read_text()):
        if "://" in target:
            continue
        goal = page.parent / target if target else page
        assert goal.exists(), f"{page.name} links to {target}"
        if anchor and goal.suffix == ".md" and goal.parent.name != "api":
            assert anchor in anchors(goal.read_text()), f"{page.name} links to {target}{anchor}"


def anchors(text):
    """Those that headings have, in the way of GitHub and of the site."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {
        "#" + re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")
        for heading in headings
    }


def test_the_tour_is_run_as_the_pages_say():
    recipe = re.search(r"^demo:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)[1]
    for page in [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]:
        text = page.read_text()
        assert "make demo" not in text or page.name in recipe, (
            f"{page.name} says that make demo runs it"
        )
        for name in re.findall(r"python (examples/\w+\.py)", text):
            assert (ROOT / name).exists()


def test_the_drawing_of_the_rooms_is_the_contract():
    drawing = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    rows = [re.split(r" +", line[:36].strip()) for line in drawing.strip().splitlines()]
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ][0]
    layers = [sorted(room.strip() for room in layer.split(":")) for layer in contract["layers"]]
    assert [sorted(room.removesuffix(".py") for room in row) for row in rows] == layers


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def scripts_named(page):
    """The scripts of the repository that a page runs, each with the options it gives them."""
    text = " ".join(page.read_text().split())
    found = re.findall(
        r"python ((?:benchmarks|tests|examples)/[\w/]+\.py)(.*?)(?=`|python |$)", text
    )
    return [(ROOT / path, set(re.findall(r"(?<!\S)--[a-z-]+", rest))) for path, rest in found]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_scripts_that_are_named_exist_and_know_their_options(page):
    for script, options in scripts_named(page):
        assert script.exists(), f"{page.name} names {script.relative_to(ROOT)}"
        shared = (ROOT / "benchmarks" / "bench.py").read_text()
        known = set(re.findall(r"\"(--[a-z-]+)\"", script.read_text() + shared))
        assert options <= known, (
            f"{page.name}: {script.name} has no {', '.join(sorted(options - known))}"
        )


def test_every_benchmark_is_named_by_a_page():
    programs = {
        path for path in (ROOT / "benchmarks").glob("*.py") if "__main__" in path.read_text()
    }
    named = {script for page in PAGES for script, _ in scripts_named(page)}
    assert sorted(path.name for path in programs - named) == []


def test_importing_loads_torch_and_numpy_only():
    heavy = (
        "pandas scipy numba pyarrow matplotlib plotly typer rich networkx sklearn safetensors "
        "geoopt"
    )
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


def test_the_version_is_the_distribution_s():
    from importlib.metadata import version

    import ultrahyperbolic

    assert ultrahyperbolic.__version__ == version("ultrahyperbolic")


def test_the_citation_is_complete():
    import yaml

    import ultrahyperbolic

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license", "references"} <= set(citation)
    assert str(citation["version"]) == ultrahyperbolic.__version__
    assert citation["license"] == "MIT"
    (paper,) = citation["references"]
    assert paper["title"] == "Ultrahyperbolic Representation Learning"
    assert [author["family-names"] for author in paper["authors"]] == ["Law", "Stam"]


def test_every_page_is_in_the_navigation():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"([\w/-]+\.md)$", text, re.M)
    assert sorted(listed) == sorted(
        str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")
    )


def test_the_readme_quotes_the_comparison():
    comparison = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    table = re.search(
        r"<!-- comparison -->\n(.*?)<!-- end",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.S,
    )[1]
    header, _, *rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in table.strip().splitlines()
    ]
    peers = {
        "WEmbed": "WEmbed",
        "Poincaré": "gensim",
        "node2vec": "node2vec",
        "UMAP": "UMAP",
        "ours": "ours",
    }
    part = {"neighbours": "map", "tie order": "tie_order", "CPU seconds": "cpu"}
    measure = ""
    for column, title in enumerate(header[1:], start=1):
        measure, _, graph = title.rpartition(": ") if ": " in title else (measure, "", title)
        figures = quoted(comparison, part[measure], graph)
        for row in rows:
            peer = next(name for start, name in peers.items() if row[0].startswith(start))
            assert row[column] == figures[peer], f"{row[0]}, {measure}, {graph}"


def cells(table):
    return [
        [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        for line in table.strip().splitlines()
    ]


def quoted(page, table, graph):
    """The figures of one graph in a table of the comparison, by peer."""
    text = re.search(rf"<!-- {table} -->\n(.*?)<!-- end", page, re.S)[1]
    names, _, *rows = [
        [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        for line in text.strip().splitlines()
    ]
    (row,) = (row for row in rows if row[0] == graph)
    return dict(zip(names, row, strict=True))
