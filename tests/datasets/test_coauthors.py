from __future__ import annotations

import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ultrahyperbolic.datasets import coauthors, nips
from ultrahyperbolic.graph import GraphError

SMALL = b"1 2 3\n2 4 1\n1 4 1\n"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache, no data folder, and SMALL in place of the real file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv(coauthors.DATA_FOLDER, raising=False)
    monkeypatch.setattr(coauthors, "_SHA256", hashlib.sha256(SMALL).hexdigest())
    monkeypatch.setattr(coauthors, "_SIZE", len(SMALL))
    monkeypatch.setattr(coauthors, "_URL", "http://127.0.0.1:9/nips_edges.txt")
    return tmp_path


@pytest.fixture
def serve(home, monkeypatch):
    """Serve some bytes where the file would be downloaded from, and list the requests."""
    servers = []

    def serve(content, status=200):
        requests = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setattr(
            coauthors, "_URL", f"http://127.0.0.1:{server.server_port}/nips_edges.txt"
        )
        return requests

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_by_path(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes(SMALL)
    graph = nips(path)
    assert graph.ids == ["1", "2", "3", "4"]
    assert graph.edges.tolist() == [[0, 1], [0, 3], [1, 3]]
    assert graph.weights.tolist() == [3, 1, 1]
    assert graph.policies == {"isolated_nodes": 1}
    assert graph.source == "nips"
    assert nips(path, weighted=False) == graph.unweighted()


@pytest.mark.parametrize(
    "content", ["", "1 2\n", "0 1 1\n", "a b c\n", "1 2 3 4\n", "1 2 0\n", "1 2 1.5\n"]
)
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "mine.txt"
    path.write_text(content)
    with pytest.raises(
        GraphError, match=r"mine\.txt: not a list of 'author author papers'"
    ) as refused:
        nips(path)
    assert "\n" not in str(refused.value)


def test_by_the_data_folder(home, monkeypatch):
    (home / "nips_edges.txt").write_bytes(SMALL)
    monkeypatch.setenv(coauthors.DATA_FOLDER, str(home))
    assert nips().n_edges == 3
    (home / "nips_edges.txt").write_bytes(SMALL.replace(b"3", b"4"))
    with pytest.raises(
        GraphError, match=r"nips_edges\.txt: not the file of the paper: its size or sha256 differs"
    ):
        nips()


def test_downloaded_once(serve, home):
    requests = serve(SMALL)
    assert nips().n_edges == 3
    assert nips().n_edges == 3
    assert requests == ["/nips_edges.txt"]
    cache = home / "cache" / "ultrahyperbolic"
    assert [path.name for path in cache.iterdir()] == ["nips_edges.txt"]
    assert (cache / "nips_edges.txt").read_bytes() == SMALL


@pytest.mark.parametrize(
    "content", [SMALL.replace(b"3", b"4"), SMALL[:-1], SMALL + b"1 3 1\n", b"", b"<html></html>"]
)
def test_a_wrong_download_is_refused_and_not_kept(serve, home, content):
    serve(content)
    with pytest.raises(GraphError, match="not the file of the paper"):
        nips()
    assert not list(home.rglob("nips_edges.txt"))


def test_a_number_that_would_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("1 2 3\n1 999999999999 1\n")
    with pytest.raises(GraphError, match=r"mine\.txt: author 999999999999 is beyond 1000000"):
        nips(path)


def test_offline_the_message_says_what_to_put_where(home, serve):
    with pytest.raises(GraphError) as refused:
        nips()
    message = str(refused.value)
    assert "\n" not in message
    for part in ("cannot download", "ULTRAHYPERBOLIC_DATA", str(home / "cache"), "give its path"):
        assert part in message
    serve(b"gone", status=404)
    with pytest.raises(GraphError, match=r"cannot download .*404"):
        nips()


def test_a_cache_that_cannot_be_written_is_refused(serve, home):
    serve(SMALL)
    (home / "cache").write_text("a file where the folder should be")
    with pytest.raises(GraphError, match="cannot write"):
        nips()


def test_the_real_file():
    folder = os.environ.get(coauthors.DATA_FOLDER)
    if not folder or not os.path.exists(os.path.join(folder, "nips_edges.txt")):
        pytest.skip("ULTRAHYPERBOLIC_DATA names no folder with nips_edges.txt")
    graph = nips()
    assert (graph.n_nodes, graph.n_edges) == (2715, 4733)
    assert graph.capacities.tolist() == list(range(1, 10))
    assert graph.policies == {}
    assert graph.strength.max() == 97
    assert graph.ids[0] == "1"
    assert graph.ids[-1] == "2715"
