"""The page in a real browser: headless Chromium, from disk. Screenshots are kept in
out/screenshots.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from report.conftest import HOSTILE, SELECTION, ring
from ultrahyperbolic import Euclidean, Graph, datasets, embed
from ultrahyperbolic.embedding import Embedding
from ultrahyperbolic.report import write_report

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
SCREENSHOTS = Path(__file__).parents[2] / "out" / "screenshots"
PATIENCE = 90_000
VIEWS = ["map-plot", "distances-plot", "loss-plot"]

# No browser comes with Python; .ci/run installs Debian's, so that CI does not skip these.
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: apt-get install chromium"
)


class Tab:
    """A page of the browser, with all that it complained about, asked for, or opened."""

    def __init__(self, page: Any, file: Path) -> None:
        self.page, self.complaints, self.requests = page, [], []
        page.on(
            "console",
            lambda message: message.type == "error" and self.complaints.append(message.text),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        page.on("popup", lambda popup: self.complaints.append(popup.url))
        page.on("request", lambda request: self.requests.append(request.url))
        page.set_default_timeout(PATIENCE)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.evaluate("document.querySelector('#loss details')?.setAttribute('open', '')")
        page.wait_for_timeout(50)  # for what is drawn when it is opened

    def find(self, text: str) -> int:
        """Type into the search, and wait for the views: the position of the node that is marked."""
        self.page.evaluate("delete document.documentElement.dataset.chosen")
        self.page.fill("#find", text)
        self.page.dispatch_event("#find", "input")  # also where the text was there already
        return self.settled()

    def settled(self) -> int:
        self.page.wait_for_selector("html[data-chosen]")
        return int(self.page.evaluate("document.documentElement.dataset.chosen"))

    def rows(self) -> list[list[str]]:
        return self.page.evaluate(
            "[...document.querySelectorAll('#rows tr')].map(r => [...r.cells].map(c => "
            "c.innerText))"
        )

    def data(self) -> Any:
        return self.page.evaluate("JSON.parse(document.getElementById('data').textContent)")

    def look(self, view: str, what: str) -> Any:
        """Something about a picture, which its script keeps."""
        return self.page.evaluate(f"(picture => {what})(document.getElementById('{view}').picture)")

    def names(self) -> list[dict[str, Any]]:
        """The names on the map: which node, the text, and its box within that of the map."""
        return self.page.evaluate(
            """() => {
              const plot = document.getElementById("map-plot"), { width, height } = plot.getBoundingClientRect();
              return plot.picture.placed.map((name) => {
                const x = plot.picture.at[name.k][0] + name.dx, y = plot.picture.at[name.k][1] + name.dy;
                const [left, right] = [x - name.width / 2, x + name.width / 2];
                const [top, bottom] = [y - name.height / 2, y + name.height / 2];
                return {
                  node: name.k, text: name.text, left, right: width - right, top, bottom: height - bottom,
                  box: [left, top, right, bottom],
                };
              });
            }"""
        )

    def keep(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.evaluate(
            "document.documentElement.style.scrollBehavior = 'auto'; window.scrollTo(0, 0)"
        )
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def sticking_out(self) -> list[str]:
        """What is wider than the window, or scrolls sideways in itself."""
        return self.page.evaluate(
            """() => {
              const wide = document.documentElement.clientWidth;
              const found = document.documentElement.scrollWidth > wide ? ["page"] : [];
              for (const element of document.querySelectorAll("body *:not(script)")) {
                if (element.parentElement.closest(".plot") || !element.getClientRects().length) continue;
                if (element.closest(".skip")) continue;
                const box = element.getBoundingClientRect();
                const { overflowX, display } = getComputedStyle(element);
                const scrolls = element.scrollWidth > element.clientWidth + 1 && overflowX !== "hidden"
                  && display !== "inline" && element.tagName !== "INPUT";
                if (box.right > wide + 0.5 || box.left < -0.5 || scrolls) found.push(element.outerHTML.slice(0, 80));
              }
              return found;
            }"""
        )


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Any]]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield lambda *options: playwright.chromium.launch(
            executable_path=CHROMIUM, chromium_sandbox=False, args=list(options)
        )


@pytest.fixture(scope="module")
def browser(launch: Callable[..., Any]) -> Any:
    return launch()


@pytest.fixture(scope="module")
def show(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Tab]:
    def open_page(
        embedding: Embedding, width: int = 1280, height: int = 900, **options: Any
    ) -> Tab:
        file = write_report(embedding, tmp_path_factory.mktemp("page"))
        return Tab(browser.new_page(viewport={"width": width, "height": height}, **options), file)

    return open_page


@pytest.fixture(scope="module")
def tab(show: Callable[..., Tab], club: Embedding) -> Tab:
    return show(club)


@pytest.fixture(scope="module")
def worst(show: Callable[..., Tab], hostile: Embedding) -> Tab:
    return show(hostile)


def test_it_opens_from_disk_without_a_complaint_or_a_request(tab):
    assert tab.complaints == []
    assert [url for url in tab.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in tab.requests if url.startswith("file:")]) == 1
    for view in VIEWS:
        assert (
            tab.look(
                view,
                "new Set(picture.canvas.getContext('2d').getImageData(0, 0, 900, 300).data).size",
            )
            > 8
        )
    assert tab.page.locator(".absent").count() == 0


def are_inside_and_apart(names: list[dict[str, Any]]) -> bool:
    assert all(
        min(name[side] for side in ("left", "right", "top", "bottom")) >= -0.5 for name in names
    ), names
    for k, first in enumerate(names):
        for second in names[:k]:
            a, b = first["box"], second["box"]
            over = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            assert min(over) <= 0.5, (first, second)
    return True


@pytest.fixture(scope="module")
def lesmis() -> Embedding:
    found = embed(datasets.lesmis(), p=3, q=1, iterations=150, quiet=True)
    run = found.run | {"select": SELECTION, "command": "ultrahyperbolic embed " + "long" * 60}
    return Embedding(
        found.ids, found.points, found.manifold, run, found.graph, popularity=found.popularity
    )


def test_the_words_and_the_first_of_the_ranking_are_on_the_first_screen(show, lesmis):
    page = show(lesmis, 1400)
    bottom = "(what => document.querySelector(what).getBoundingClientRect().bottom)"
    assert page.page.inner_text("#rows td:nth-child(2)") == lesmis.hierarchy()["node"][0]
    for what in (".lead", "#rows tr:nth-child(5)"):
        assert page.page.evaluate(f"{bottom}('{what}')") < 900
    assert page.complaints == []
    page.page.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), list(product((1400, 390), ("light", "dark"))))
def test_the_top_ten_have_their_names_inside_and_apart(show, lesmis, width, theme):
    height = 900 if width > 1000 else 844
    page = show(lesmis, width, height, color_scheme=theme, has_touch=width < 1000)
    names = page.names()
    assert are_inside_and_apart(names)
    assert set(range(10)) <= {name["node"] for name in names}
    top = lesmis.hierarchy()["node"].tolist()
    assert all(name["text"] == top[name["node"]] for name in names)
    assert page.sticking_out() == []
    assert page.complaints == []
    page.keep(f"lesmis-{theme}-{width}")
    page.page.close()


@pytest.mark.slow
def test_the_selected_node_and_its_neighbours_are_named(show, lesmis):
    page = show(lesmis, 1400)
    k = page.find("Myriel")
    names = page.names()
    assert are_inside_and_apart(names)
    edges = page.data()["edges"]
    ends = np.array(edges["ends"]).reshape(-1, 2)
    own = ends[(ends == k).any(axis=1)]
    strongest = {int(pair[pair != k][0]) for pair in own[::-1][:5]}  # the weakest come first
    assert {k} | strongest <= {name["node"] for name in names}
    # Zoomed in, it is in the middle, and there is room for more names around it.
    page.page.click("[data-zoom=in]")
    page.page.click("[data-zoom=in]")
    assert are_inside_and_apart(page.names())
    box = page.look("map-plot", "picture.box")
    place = page.look("map-plot", f"[picture.x[{k}], picture.y[{k}]]")
    assert [np.mean(box["x"]), np.mean(box["y"])] == pytest.approx(place)
    # What is selected next is moved into what is seen.
    j = page.find("Gavroche")
    box = page.look("map-plot", "picture.box")
    x, y = page.look("map-plot", f"[picture.x[{j}], picture.y[{j}]]")
    assert box["x"][0] < x < box["x"][1]
    assert box["y"][0] < y < box["y"][1]
    page.page.click("[data-zoom=reset]")
    whole = page.look("map-plot", "picture.box")["x"]
    assert whole[1] - whole[0] > box["x"][1] - box["x"][0]
    page.page.close()


@pytest.mark.slow
def test_pictures_are_saved_as_png_and_svg(tab):
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<svg")):
        with tab.page.expect_download() as waiting:
            tab.page.click(f"[data-save={kind}][data-plot=map-plot]")
        content = Path(waiting.value.path()).read_bytes()
        assert waiting.value.suggested_filename == f"map.{kind}"
        assert content.startswith(start)
    assert b"34" in content  # the names are in it
    assert tab.complaints == []


@pytest.mark.slow
def test_colours_follow_the_column_that_is_chosen(tab, club):
    swatches = "[...document.querySelectorAll('#rows .dot')].map(dot => dot.style.background)"
    before = tab.page.evaluate(swatches)
    tab.page.select_option("#colour", label="club")
    after = tab.page.evaluate(swatches)
    assert len(set(after)) == 2
    assert after != before
    sides = club.hierarchy()["club"].tolist()
    assert len({(colour, side) for colour, side in zip(after, sides, strict=False)}) == 2
    assert "Officer" in tab.page.inner_text("#map-legend")
    assert tab.rows()[0][5] == sides[0]
    tab.page.select_option("#colour", label="rank")
    assert len(set(tab.page.evaluate(swatches))) == 25
    tab.page.select_option("#colour", label="community")
    assert tab.page.evaluate(swatches) == before


def test_finding_a_node_marks_it_in_every_view(tab, club):
    k = tab.find("34")
    data = tab.data()
    assert data["nodes"]["name"][k] == "34"
    rug = tab.look("distances-plot", "picture.rug()")
    row = club.index("34")
    ties = [(club.ids[a], club.ids[b]) for a, b in club.graph.edges if row in (a, b)]
    assert sorted(rug) == pytest.approx(sorted(club.distance(*tie) for tie in ties), rel=1e-3)
    assert tab.page.inner_text("#rows tr.chosen td:nth-child(2)") == "34"
    assert f"rank {club.rank[row]} of 34" in tab.page.inner_text("#found")
    assert len(tab.look("map-plot", "picture.marked")) == len(ties)
    assert k in {name["node"] for name in tab.names()}
    assert tab.find("") == -1
    assert (
        tab.look("map-plot", "picture.marked") == tab.look("distances-plot", "picture.rug()") == []
    )
    assert tab.page.locator("#rows tr.chosen").count() == 0
    assert not tab.page.is_visible("#card")


def test_the_card_tells_the_ties_the_near_strangers_and_the_ranks_of_the_selected_node(tab, club):
    tab.find("34")
    card, row = tab.page.inner_text("#card"), club.index("34")
    lists = tab.page.evaluate(
        "[...document.querySelectorAll('#card ul')].map(list => [...list.children].map(item => "
        "item.textContent))"
    )
    tied = club.ties_of(row)
    weights = sorted(tied.weights, reverse=True)[:6]
    assert [float(line.split()[-1]) for line in lists[0]] == weights
    assert {club.ids[k] for k in tied.nodes} >= {line.split()[0] for line in lists[0]}
    near = club.neighbors("34", k=33)
    strangers = near[~near["connected"]].head(5)
    assert [line.split()[0] for line in lists[1]] == strangers["node"].tolist()
    table = club.hierarchy().set_index("node").loc["34"]
    ranks = {
        line.split("\t")[0]: line.split("\t")[-1] for line in card.splitlines() if "\t" in line
    }
    names = {
        "centrality": "rank",
        "δ": "delta_rank",
        "strength": "strength_rank",
        "eigenvector": "eigenvector_rank",
    }
    names["PageRank"] = "pagerank_rank"
    assert {name: int(ranks[name]) for name in names} == {
        name: table[column] for name, column in names.items()
    }
    tab.page.click("#card ul button")  # a name on the card selects that node
    assert tab.page.inner_text("#card h2") == lists[0][0].split()[0]
    tab.find("")


def test_search_prefers_the_whole_name_and_enter_goes_on(tab):
    tab.find("3")
    assert tab.page.inner_text("#found strong") == "3"
    assert "(8 matches" in tab.page.inner_text("#found")
    found = set()
    for _ in range(8):
        tab.page.press("#find", "Enter")
        found.add(tab.page.inner_text("#found strong"))
    assert found == {"3", *(str(k) for k in range(30, 35)), "13", "23"}
    tab.page.press("#find", "Escape")
    assert tab.page.input_value("#find") == ""
    assert tab.page.locator("#rows tr.chosen").count() == 0


def test_search_leaves_the_ranking_whole_and_scrolls_to_the_row(tab, club):
    ranked = club.hierarchy()["node"].tolist()
    for place in (20, 30, 2):
        tab.find(ranked[place])
        start = place // 25 * 25
        assert [row[1] for row in tab.rows()] == ranked[start : start + 25]
        assert tab.page.inner_text("#rows tr.chosen td:nth-child(2)") == ranked[place]
        row, box = (tab.page.locator(what).bounding_box() for what in ("tr.chosen", "#scroll"))
        assert box["y"] <= row["y"]
        assert row["y"] + row["height"] <= box["y"] + box["height"] + 1
    tab.find("")
    assert [row[1] for row in tab.rows()] == ranked[:25]


def test_the_table_sorts(tab, club):
    strength = dict(zip(club.ids, club.graph.strength, strict=True))

    def column(head: str, place: int) -> list[str]:
        tab.page.click(f"#heads button:text-is('{head}')")
        return [row[place] for row in tab.rows()]

    by_strength = [float(value) for value in column("strength", 3)]
    assert by_strength == sorted(strength.values(), reverse=True)[:25]
    assert tab.page.get_attribute("th:has-text('strength')", "aria-sort") == "descending"
    assert [float(value) for value in column("strength", 3)] == sorted(strength.values())[:25]
    assert tab.page.get_attribute("th:has-text('strength')", "aria-sort") == "ascending"
    assert column("node", 1) == [str(k) for k in range(1, 26)]  # as numbers, not as text
    assert column("node", 1) == [str(k) for k in range(34, 9, -1)]
    central = [float(value) for value in column("centrality", 2)]
    assert central == pytest.approx(club.hierarchy()["centrality"][:25].tolist(), rel=0.01)
    assert column("rank", 0) == [str(rank) for rank in range(1, 26)]


def test_pointing_at_a_node_shows_it_and_its_nearest(tab, club):
    tab.find("")
    # The dot that stands most alone: no other one covers its middle, wherever the training has put
    # them.
    at = np.array(tab.look("map-plot", "picture.at"))
    apart = np.linalg.norm(at[:, None] - at, axis=2) + np.diag(np.full(34, np.inf))
    k = int(apart.min(1).argmax())
    tab.page.locator("#map-plot").scroll_into_view_if_needed()
    tab.page.mouse.move(5, 300)
    box = tab.page.locator("#map-plot").bounding_box()
    tab.page.mouse.move(box["x"] + at[k, 0], box["y"] + at[k, 1], steps=4)
    shown = club.hierarchy().iloc[k]
    # On its way the mouse may have met other nodes.
    tab.page.wait_for_function(
        "(node) => !document.querySelector('#tip').hidden"
        " && document.querySelector('#tip').innerText.split('\\n')[0] === node",
        arg=shown["node"],
    )
    words = tab.page.inner_text("#tip")
    assert f"rank {shown['rank']} of 34" in words
    assert f"strength {club.graph.strength[club.index(shown['node'])]:g}" in words
    for near in club.neighbors(shown["node"], k=5)["node"]:
        assert f"{near} (" in words
    tab.page.mouse.down()
    tab.page.mouse.up()
    tab.page.wait_for_selector(f"html[data-chosen='{k}']")


def test_the_keyboard_is_enough(tab, club):
    page = tab.page
    assert page.evaluate("document.querySelector('a, button, input').className") == "skip"
    page.focus(".skip")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "find"
    page.keyboard.press("Control+A")
    page.keyboard.type("33")
    assert page.inner_text("#found strong") == "33"
    page.focus("#map-plot")
    page.evaluate("delete document.documentElement.dataset.chosen")
    page.keyboard.press("ArrowRight")
    assert (
        tab.settled() == club.hierarchy()["node"].tolist().index("33") + 1
    )  # the next, counted from 0
    page.focus("#heads th:nth-child(2) button")
    page.keyboard.press("Enter")
    assert page.get_attribute("#heads th:nth-child(2)", "aria-sort") == "ascending"
    page.focus("#rows tr:nth-child(4) button")
    page.keyboard.press("Enter")
    assert page.inner_text("#rows tr.chosen td:nth-child(2)") == "4"
    named = "button, input, [tabindex='0']"
    assert (
        page.evaluate(
            f"[...document.querySelectorAll({named!r})].filter(e => e.checkVisibility() && "
            "!e.innerText.trim() && !e.getAttribute('aria-label') && !(e.labels && "
            "e.labels.length)).length"
        )
        == 0
    )


@pytest.mark.slow
def test_light_and_dark(tab):
    page = tab.page
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    tab.keep("light")
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate(paper) == "rgb(18, 22, 27)"
    corner = "[...picture.canvas.getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)"
    for view in VIEWS:
        assert tab.look(view, corner) == [18, 22, 27]
    tab.find("1")
    tab.keep("dark")
    page.click("#theme")
    page.wait_for_selector("html[data-theme=light]")
    for view in VIEWS:
        assert tab.look(view, corner) == [255, 255, 255]
    page.emulate_media(color_scheme="light")
    tab.find("")
    assert tab.complaints == []


@pytest.mark.slow
def test_it_prints_in_light(show, club):
    page = show(club, 1280, 900, color_scheme="dark")
    seen = """() => { window.printed = []; const note = () => printed.push(document.documentElement.dataset.theme);
      window.addEventListener("beforeprint", note); window.addEventListener("afterprint", note); }"""
    page.page.evaluate(seen)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.page.pdf(path=SCREENSHOTS / "print.pdf", format="A4")
    assert page.page.evaluate("printed") == ["light", "dark"]
    page.page.emulate_media(media="print")
    assert not page.page.is_visible(".bar")
    assert page.complaints == []
    page.page.close()


@pytest.mark.slow
def test_a_directed_network_is_drawn_and_listed_by_height(show):
    arcs = [(k, j, 1.0) for k in range(8) for j in range(k + 1, min(k + 3, 8))] + [(7, 0, 0.5)]
    found = embed(
        Graph.from_edges(arcs, directed=True), directed=True, p=2, q=1, iterations=100, quiet=True
    )
    tab = show(found)
    assert sorted(set(tab.data()["edges"]["ways"])) == [
        1,
        2,
    ]
    assert tab.page.input_value("#by") == "height"
    tab.page.select_option("#drawing", "height")
    at = np.array(tab.look("map-plot", "picture.at"))
    heights = np.array(tab.data()["nodes"]["height"])
    assert (np.argsort(at[:, 1]) == np.argsort(-heights)).all(), "higher nodes stand higher"
    assert sum(strand["up"] for strand in tab.look("map-plot", "picture.strands()")) == 1, (
        "the tie that leads back up"
    )
    assert [row[1] for row in tab.rows()] == [
        str(node) for node in np.array(found.ids)[np.argsort(-found.heights)]
    ]
    tab.page.select_option("#by", label="centrality")
    assert [row[1] for row in tab.rows()] == [
        str(node) for node in found.hierarchy(by="centrality")["node"]
    ]
    assert tab.complaints == []
    tab.keep("height")
    tab.page.close()


# --- hostile labels ------------------------------------------------------------


def test_hostile_labels_do_nothing(worst):
    page = worst.page
    title = page.title()
    page.evaluate(
        """(texts) => {
          const place = document.getElementById("map-plot"), { left, top } = place.getBoundingClientRect();
          texts.forEach((_, k) => {
            const [x, y] = place.picture.at[k], at = { clientX: left + x, clientY: top + y, pointerId: 1 };
            for (const what of ["pointermove", "pointerdown", "pointerup"])
              place.dispatchEvent(new PointerEvent(what, at));
          });
          for (const text of texts) {
            document.getElementById("find").value = text.slice(0, 200);
            document.getElementById("find").dispatchEvent(new Event("input"));
          }
        }""",
        HOSTILE,
    )
    for text in HOSTILE[:8]:  # those that are markup: their names are drawn as well
        worst.find(text)
    worst.find("")
    for head in ("node", "id", "rank"):
        page.click(f"#heads button:text-is('{head}')")
    page.wait_for_timeout(300)
    assert page.title() == title != "broken"
    assert worst.complaints == []
    assert len(worst.requests) == 1
    strange = "main img, main script, main iframe, main a[href], #rows svg"
    strange += "".join(f", #{place} *:is(a, img, svg)" for place in ("tip", "found", "card"))
    assert page.locator(strange).count() == 0


def test_hostile_labels_show_as_those_characters(worst):
    worst.find("")
    shown = {row[1] for row in worst.rows()} | {row[5] for row in worst.rows()}
    for text in HOSTILE[:8]:
        assert any(cell.rstrip("…") and text.startswith(cell.rstrip("…")) for cell in shown), text
    assert HOSTILE[0][:40] + "…" in shown
    long = next(cell for cell in shown if cell.startswith("xxx"))
    assert long == "x" * 40 + "…"
    assert worst.page.get_attribute("bdi:text-is('" + long + "') >> nth=0", "title") == "x" * 10_000
    assert any("two␊lines␉and␍more" in cell for cell in shown)
    assert {"👩‍👩‍👧 🇩🇪", "“”", "“ ”"} <= shown


def test_hostile_labels_on_the_pictures_are_text(worst):
    worst.find("")
    names = worst.names()
    assert are_inside_and_apart(names)
    markup = ("<img", "<script", "</script", "<b>", "<a href", '"><svg')
    assert any(name["text"].startswith(markup) for name in names)
    with worst.page.expect_download() as waiting:
        worst.page.click("[data-save=svg][data-plot=map-plot]")
    saved = ElementTree.parse(waiting.value.path()).getroot()
    drawn = {each.tag.rpartition("}")[2] for each in saved.iter()}
    assert drawn <= {"svg", "rect", "path", "circle", "text"}
    assert worst.complaints == []


def test_hostile_labels_do_not_widen_the_page(worst):
    worst.page.set_viewport_size({"width": 375, "height": 800})
    worst.find("x" * 50)
    assert worst.page.inner_text("#found strong") == "x" * 40 + "…"
    assert worst.sticking_out() == []


# --- other embeddings ------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("with_graph", [True, False])
def test_a_line_and_a_graph_that_is_not_at_hand(show, with_graph):
    embedding = ring([f"n{k}" for k in range(12)], Euclidean(1))
    if not with_graph:
        embedding = Embedding(embedding.ids, embedding.points, embedding.manifold)
    other = show(embedding)
    assert other.find("n7") >= 0
    assert other.page.inner_text("#rows tr.chosen td:nth-child(2)") == "n7"
    assert other.look("distances-plot", "picture.rug()")
    assert len(other.names()) > 1
    assert other.complaints == []
    other.page.close()
