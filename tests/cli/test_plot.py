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


def test_a_picture_goes_into_the_folder_by_default(call, club, tmp_path):
    shutil.copytree(club, tmp_path / "mine")
    assert json.loads(call("plot mine --json").stdout) == {"folder": "mine", "file": "mine/map.png"}
    assert (tmp_path / "mine" / "map.png").exists()


def test_what_cannot_be_drawn_is_refused(refuse, club):
    assert refuse("plot", club, "-o", "a.gif") == "a.gif: figures are written as .png, .pdf, .svg"
    assert "the page is the report" in refuse("plot", club, "-o", "a.html")
    assert "one of 'community', 'club', got 'age'" in refuse(
        "plot", club, "-o", "a.png", "--colour", "age"
    )
    assert refuse("plot", "nowhere").startswith("nowhere: no such folder")
    assert refuse("plot", club, "-o", "no/where.png").startswith("no")


def test_arrows_need_the_file_of_a_directed_graph(call, tmp_path):
    (tmp_path / "ties.csv").write_text("a,b\nb,c\nd,a\nd,b\n", encoding="utf-8")
    call("embed ties.csv --directed -o asked --quiet --no-report")
    assert "arrows" not in call("plot asked").stderr
    (tmp_path / "ties.csv").unlink()
    assert "there are no arrows, as" in call("plot asked").stderr
