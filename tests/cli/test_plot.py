"""Pictures of an embedding."""

from __future__ import annotations

import json
import shutil

import pytest


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a.png", b"\x89PNG"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("a.svg", b"<?xml"), ("a.pdf", b"%PDF"))
        ),
    ],
)
def test_the_name_says_which_kind_of_picture(call, club, tmp_path, name, start):
    result = call("plot", club, "-o", name, "--title", "The club", "--names", 3, "--colour", "club")
    assert (result.exit_code, result.stdout) == (0, f"file: {name}\n")
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_page_shows_names_when_one_hovers(call, club, tmp_path):
    result = call("plot", club, "-o", "club.html", "--json")
    assert json.loads(result.stdout) == {"folder": str(club), "file": "club.html"}
    assert "<html>" in (tmp_path / "club.html").read_text(encoding="utf-8")


def test_a_picture_goes_into_the_folder_by_default(call, club, tmp_path):
    shutil.copytree(club, tmp_path / "mine")
    assert call("plot mine").stdout == "file: mine/map.png\n"
    assert (tmp_path / "mine" / "map.png").exists()


def test_what_cannot_be_drawn_is_refused(refuse, club):
    assert (
        refuse("plot", club, "-o", "a.gif")
        == "a.gif: figures are written as .png, .pdf, .svg, .html"
    )
    assert (
        refuse("plot", club, "-o", "a.html", "--names", 3)
        == "--names is for PNG, SVG and PDF: leave it out for HTML"
    )
    assert "one of 'community', 'club', got 'age'" in refuse(
        "plot", club, "-o", "a.png", "--colour", "age"
    )
    assert refuse("plot", "nowhere").startswith("nowhere: no such folder")
    assert refuse("plot", club, "-o", "no/where.png").startswith("no")
