from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from ultrahyperbolic.embedding import Embedding

TIES = "who,whom,calls\nann,bob,2\nbob,cid,1\ncid,dan,4\ndan,ann,3\nbob,dan,1\n"


def page_data(folder: str | Path) -> dict:
    text = (Path(folder) / "report.html").read_text(encoding="utf-8")
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    )


def test_embed_writes_it_with_the_command(call):
    command = "embed karate -o club --iterations 5 --seed 7 --json"
    said = json.loads(call(command).stdout)
    assert said["files"][-1] == "club/report.html"
    assert page_data("club")["nodes"]["name"] == Embedding.load("club").hierarchy()["node"].tolist()
    assert json.loads(Path("club/run.json").read_text())["command"] == f"ultrahyperbolic {command}"
    assert f"<code>ultrahyperbolic {command}</code>" in Path("club/report.html").read_text(
        encoding="utf-8"
    )


def test_the_command_is_one_that_a_shell_reads_back(call):
    Path("my ties.csv").write_text(TIES)
    call("embed", "my ties.csv", "-o", "it's", "--iterations", 3, "--quiet")
    command = json.loads(Path("it's/run.json").read_text())["command"]
    shutil.move("it's", "first")
    assert call(command.removeprefix("ultrahyperbolic ")).exit_code == 0
    assert (
        Path("first/embedding.parquet").read_bytes() == Path("it's/embedding.parquet").read_bytes()
    )


def test_it_can_be_left_out(call):
    result = call("embed karate -o club --iterations 5 --no-report")
    assert not Path("club/report.html").exists()
    assert result.stdout.splitlines()[-1] == "files: club/embedding.parquet, club/run.json"


def test_a_page_never_outlives_its_points(call):
    call("embed karate -o club --iterations 5 --quiet")
    call("embed lesmis -o club --iterations 5 --quiet --overwrite --no-report")
    assert not Path("club/report.html").exists()
    call("report club")
    assert page_data("club")["total"] == 77
    Embedding.load("club").save("club", overwrite=True)
    assert not Path("club/report.html").exists()


def test_the_title_is_remembered_until_another_is_given(call):
    def heading() -> str:
        page = Path("club/report.html").read_text(encoding="utf-8")
        return re.search("<title>(.*?)</title>", page)[1]

    call("embed karate -o club --iterations 2000 --time-limit 1e-9 --quiet --title 'A & B'")
    call("embed --resume club --time-limit 60 --quiet")
    assert heading() == "A &amp; B"
    call("report club --title Second")
    call("report club")
    assert heading() == "Second"
    call("report", "club", "--title", "")
    assert "Second" not in heading()
    assert "title" not in json.loads(Path("club/run.json").read_text())


def test_report_writes_the_same_page_again(call):
    Path("ties.csv").write_text(TIES)
    Path("nodes.txt").write_text("eve\ndan\ncid\nbob\nann\n")
    call("embed ties.csv -o club --iterations 5 --quiet --weight calls --nodes nodes.txt")
    before = page_data("club")
    Path("club/report.html").unlink()
    result = call("report club")
    assert (result.stdout, result.stderr) == (
        "report, to open in a browser: club/report.html\n",
        "",
    )
    assert page_data("club") == before
    assert before["edges"] is not None
    assert json.loads(call("report club --json").stdout)["report"] == "club/report.html"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda: Path("ties.csv").unlink(), "ties.csv is not here"),
        (lambda: Path("ties.csv").write_text(TIES + "ann,cid,1\n"), "ties.csv has changed since"),
        (lambda: Path("ties.csv").write_text("ann,bob,-1\n"), "ties.csv, line 1"),
        (lambda: Path("club/run.json").unlink(), "run.json does not say where it came from"),
    ],
    ids=["gone", "changed", "damaged", "no record"],
)
def test_where_the_graph_is_not_at_hand_the_ties_of_the_folder_are_drawn(call, change, why):
    Path("ties.csv").write_text(TIES)
    call("embed ties.csv -o club --iterations 5 --quiet")
    shutil.copy("ties.csv", "copy.csv")
    change()
    result = call("report club")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"note: {why}")
    assert result.stderr.endswith(
        "the report has the ties that were embedded; to read others, pass --graph\n"
    )
    assert page_data("club")["edges"] is not None
    assert (
        call("report club --graph copy.csv").stderr
        == "note: columns: 'who' – 'whom', weight 'calls'\n"
    )
    assert page_data("club")["edges"] is not None


@pytest.mark.parametrize(
    "moved", ["nothing", "the folder", "both", "the folder, and another file is here"]
)
def test_the_graph_is_found_from_anywhere(call, tmp_path, monkeypatch, moved):
    Path("project/data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    Path("data/ties.csv").write_text(TIES)
    Path("data/nodes.txt").write_text("eve\ndan\ncid\nbob\nann\n")
    call(
        "embed data/ties.csv -o out/club --iterations 5 --quiet --nodes data/nodes.txt --no-report"
    )
    monkeypatch.chdir(tmp_path)
    folder = Path("project/out/club")
    if moved == "both":
        folder = shutil.move("project", "renamed") + "/out/club"
    elif moved != "nothing":
        folder = shutil.move(folder, "moved")
    if moved.endswith("here"):
        Path("data").mkdir()
        Path("data/ties.csv").write_text(TIES + "ann,cid,1\n")
    result = call("report", folder)
    assert (result.exit_code, result.stderr) == (0, "")
    assert page_data(folder)["edges"] is not None


def test_an_embedding_of_python_s_finds_its_graph(call, tmp_path, monkeypatch):
    import ultrahyperbolic as uh

    Path("ties.csv").write_text(TIES)
    uh.embed("ties.csv", p=2, q=1, iterations=5, quiet=True).save("out/club")
    Path("elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert call("report ../out/club").stderr == ""
    assert page_data("../out/club")["edges"] is not None


def test_what_cannot_be_shown_is_refused(call, refuse, club):
    assert refuse("report nowhere") == "nowhere: no such folder; give a folder that embed wrote"
    Path("out/nowhere").mkdir(parents=True)  # where embed writes by default
    assert refuse("report nowhere.csv") == "nowhere.csv: no such folder; did you mean out/nowhere?"
    Path("other.txt").write_text("1 2 1\n3 99 2\n")
    assert refuse("report", club, "--graph", "other.txt").endswith("such as '99'")


def test_ctrl_c_while_it_is_written_keeps_the_rest(call, monkeypatch):
    import ultrahyperbolic.report as room

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(room, "write_report", interrupted)
    result = call("embed karate -o club --iterations 5")
    assert result.exit_code == 130
    assert (
        result.stderr == "interrupted in writing the report: the best points so far are in club; "
        "to continue: ultrahyperbolic embed --resume club\n"
    )
    assert "recall_at_1" in json.loads(Path("club/run.json").read_text())["measures"]
