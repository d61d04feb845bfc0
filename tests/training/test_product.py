"""Training in a product of geometries: from words to a folder that loads again."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import ultrahyperbolic as uh
from ultrahyperbolic.geometry import Geometry
from ultrahyperbolic.spaces import ProductGeometry, described
from ultrahyperbolic.training.config import TrainingConfig
from ultrahyperbolic.training.method import recipe
from ultrahyperbolic.training.start import SpectralStart

TEXT = "2,1@-4+0,2+flat2*0.5"
CLUB = uh.datasets.karate()


def product():
    factors = uh.PseudoHyperboloid(2, 1, -4.0), uh.PseudoHyperboloid(0, 2), uh.Euclidean(2)
    return uh.Product(*factors, weights=(1.0, 1.0, 0.5))


@pytest.fixture(scope="module")
def trained():
    return uh.embed(CLUB, product=TEXT, iterations=60, quiet=True)


def test_words_manifold_and_json_name_the_same_geometry():
    geometry = ProductGeometry.of_text(" 2,1@-4 + 0,2+flat2*0.5")
    assert geometry.text == TEXT
    assert geometry == described(product()) == described(geometry.manifold)
    assert geometry == Geometry.from_json(json.loads(json.dumps(geometry.to_json())))
    assert geometry.manifold._label() == product()._label()
    assert (geometry.dim, geometry.ambient_dim, geometry.has_cone) == (7, 9, True)
    assert (geometry.name, geometry.file_name) == ("Q^{2,1} × Q^{0,2} × R^2", "Q2_1xQ0_2xR2")
    assert str(geometry) == "Q^(2,1) x Q^(0,2) x R^2 (2,1@-4+0,2+flat2*0.5)"
    assert str(ProductGeometry.of_text("2,0+flat1")) == "Q^(2,0) x R^1"
    assert not ProductGeometry.of_text("2,0+0,3").has_cone
    assert described(uh.Product(uh.PseudoSphere(2, 1))) is None


@pytest.mark.parametrize(
    "text", ["", "3,1+", "3,1+x", "0,0+flat1", "flat0", "3,1@4", "flat2*-1", "3;1", "2,0@-1e400"]
)
def test_what_names_no_product_is_refused(text):
    with pytest.raises(ValueError, match=r"product must be factors|weight"):
        ProductGeometry.of_text(text)


@pytest.mark.parametrize(
    "data",
    [
        {"factors": 3, "weights": [1.0]},
        {"factors": [{"kind": "flat", "dim": 2}], "weights": []},
        {"factors": [{"kind": "product", "factors": [], "weights": []}], "weights": [1.0]},
        {"factors": [{"kind": "flat", "dim": 2}], "weights": ["x"]},
        {"factors": [], "weights": []},
    ],
)
def test_damaged_json_is_refused(data):
    with pytest.raises((ValueError, TypeError)):
        Geometry.from_json({"kind": "product", **data})


def test_it_trains_and_its_record_leads_back(trained):
    M = trained.manifold
    assert isinstance(M, uh.Product)
    assert M._label() == product()._label()
    assert trained.record.timing.backend == "reference"
    result = trained.record.result
    assert result.final_loss < 0.7 * result.start_loss
    assert trained.record.measures["map"] > 0.4
    config = TrainingConfig.from_json(trained.record.config)
    assert config.product == TEXT
    assert config.manifold()._label() == M._label()
    assert f"uh.embed(graph, product={TEXT!r}, seed=0, iterations=60)" in trained.record.call
    one, other = (
        uh.embed(CLUB, product=way, iterations=5, quiet=True).points for way in (product(), TEXT)
    )
    assert np.array_equal(one, other)
    assert (
        "product" not in uh.embed(CLUB, iterations=2, quiet=True).run["config"]
    )  # as earlier versions had it


def test_the_folder_answers_as_the_embedding_does(trained, tmp_path):
    folder = trained.save(tmp_path / "club")
    loaded = uh.load(folder)
    assert loaded.manifold._label() == trained.manifold._label()
    assert np.array_equal(loaded.points, trained.points)
    assert loaded.hierarchy().equals(trained.hierarchy())
    expected = trained.manifold.dissimilarity(
        torch.tensor(trained.points[3]), torch.tensor(trained.points)
    ).numpy()
    expected -= trained.popularity[3] + trained.popularity
    expected[3] = 0.0
    for each in (loaded, trained):
        np.testing.assert_allclose(each.distances_from(3), expected, rtol=1e-12, atol=1e-12)
    assert (
        loaded.neighbors(loaded.ids[0], 3)["node"].tolist()
        == trained.neighbors(trained.ids[0], 3)["node"].tolist()
    )
    assert loaded.evaluate(CLUB)["map"] == pytest.approx(trained.record.measures["map"])
    page = loaded.report(tmp_path, graph=CLUB).read_text(encoding="utf-8")
    assert "<i>Q</i><sup>2,1</sup> × <i>Q</i><sup>0,2</sup> × <i>R</i><sup>2</sup>" in page
    files, _ = trained.export(tmp_path / "club.graphml", "graphml")
    assert files[0].exists()
    assert "Product(PseudoHyperboloid(p=2, q=1, beta=-4)" in repr(loaded)


def test_points_off_the_product_are_refused(trained, tmp_path):
    moved = np.array(trained.points)
    moved[2, 5] += 0.1
    with pytest.raises(ValueError, match=r"points\[2\] is off the manifold.*factor 1"):
        uh.Embedding(trained.ids, moved, trained.manifold)


def test_what_products_cannot_do_is_said_in_a_line(trained, tmp_path):
    one = "Product(PseudoHyperboloid(p=2, q=1, beta=-4)"
    with pytest.raises(ValueError, match="a training can only continue in one geometry"):
        uh.embed(CLUB, continue_from=trained, quiet=True)
    with pytest.raises(
        TypeError,
        match="nodes can be placed on pseudo-hyperboloids and in flat space, not on Product",
    ):
        trained.transform([("new", CLUB.ids[0])])
    with pytest.raises(ValueError, match="leave the geometry out, or embed anew"):
        uh.embed(CLUB, product=TEXT, continue_from=uh.embed(CLUB, iterations=2, quiet=True))
    for more in (
        {"p": 3, "q": 1},
        {"dim": 3},
        {"flat": True},
        {"beta": -4.0},
        {"signature": "3,1"},
    ):
        with pytest.raises(ValueError, match="product names the geometry"):
            uh.embed(CLUB, product=TEXT, **more)
    for backend in ("numba", "triton"):
        with pytest.raises(
            ValueError, match=f"backend '{backend}' cannot train products of geometries"
        ):
            uh.embed(CLUB, product=TEXT, backend=backend)
    with pytest.raises(ValueError, match="preset 'paper' is for one geometry"):
        uh.embed(CLUB, product=TEXT, preset="paper")
    with pytest.raises(ValueError, match="embed does not learn beta"):
        uh.embed(CLUB, product=uh.Product(uh.PseudoHyperboloid(2, 1, learnable=True)))
    with pytest.raises(ValueError, match=r"it has PseudoSphere\(p=2, q=1, beta=1\)"):
        uh.embed(CLUB, product=uh.Product(uh.PseudoSphere(2, 1)))
    with pytest.raises(TypeError, match="product must be a Product or text such as"):
        uh.embed(CLUB, product=3)
    for more in ({"beta": -4.0}, {"p": 1, "q": 1}, {"flat": 2}):
        with pytest.raises(
            ValueError, match=r"product names the geometry, with beta as in 3,1@-4\+flat2"
        ):
            TrainingConfig(product=TEXT, **more)
    stranger = uh.Embedding(["a"], uh.PseudoSphere(2, 1).origin(1).numpy(), uh.PseudoSphere(2, 1))
    with pytest.raises(
        TypeError, match="only pseudo-hyperboloids, flat space and products of them can be saved"
    ):
        stranger.save(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()
    assert one in str(trained.manifold)


def test_starts_and_moves_are_those_of_the_factors():
    geometry = ProductGeometry.of_text("2,0+flat2")
    start = SpectralStart(CLUB)
    points = start(geometry, 5)
    geometry.manifold.assert_point(torch.from_numpy(points))
    assert np.array_equal(points[:, :3], start(Geometry.curved(2, 0), 5))
    assert np.array_equal(points[:, 3:], start(Geometry.of_flat(2), 6))
    one = ProductGeometry.of_text("2,1")  # a product of one is that geometry
    assert np.array_equal(start(one, 5), start(Geometry.curved(2, 1), 5))
    configs = [recipe(TrainingConfig(product="2,1"), CLUB), recipe(TrainingConfig(p=2, q=1), CLUB)]
    assert configs[0].temperature == configs[1].temperature
    assert configs[0].max_step == configs[1].max_step
    both = [
        uh.embed(CLUB, iterations=60, quiet=True, backend="reference", **where)
        for where in ({"product": "2,0"}, {"p": 2, "q": 0})
    ]
    np.testing.assert_allclose(both[0].distances(), both[1].distances(), rtol=0.05, atol=0.05)
