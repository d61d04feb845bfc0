from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

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
    assert (Embedding.load("first").points == Embedding.load("it's").points).all()


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
    for path in ("ties.csv", "nodes.txt", "club/run.json", "club/report.html"):
        Path(path).unlink()
    result = call("report club")
    assert (result.stdout, result.stderr) == (
        "report, to open in a browser: club/report.html\n",
        "",
    )
    assert page_data("club") == before
    assert before["edges"] is not None
    assert json.loads(call("report club --json").stdout)["report"] == "club/report.html"


def test_what_cannot_be_shown_is_refused(call, refuse, club):
    assert refuse("report nowhere") == "nowhere: no such folder; give a folder that embed wrote"
    Path("out/nowhere").mkdir(parents=True)  # where embed writes by default
    assert refuse("report nowhere.csv") == "nowhere.csv: no such folder; did you mean out/nowhere?"


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
