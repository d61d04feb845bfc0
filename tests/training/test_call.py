from __future__ import annotations

import numpy as np
import pytest

from ultrahyperbolic import TrainingConfig, datasets, embed
from ultrahyperbolic.training import embed_many


@pytest.mark.filterwarnings("ignore::ultrahyperbolic.engines.registry.SlowEngine")
@pytest.mark.parametrize(
    "options",
    [
        {"p": 2, "q": 2, "seed": 5},
        {"dim": 3, "flat": True},
        {"p": 2, "q": 2, "popularity": True},
        {"p": 0, "q": 3, "beta": -0.5, "temperature": 0.02, "dissimilarity": "broken"},
        {"p": 3, "q": 1, "preset": "paper"},
        {"dim": 2, "flat": True, "preset": "paper"},
    ],
)
def test_the_call_of_the_record_does_it_again(options):
    first = embed(datasets.karate(), **options, iterations=20, quiet=True)
    scope: dict = {}
    exec(first.run["call"].replace("uh.embed(", "embedding = uh.embed("), scope)
    np.testing.assert_array_equal(scope["embedding"].points, first.points)


def test_a_setting_that_only_a_configuration_has_is_kept():
    config = TrainingConfig(p=2, q=1, iterations=20, perturb_first=False)
    (first,) = embed_many(datasets.karate(), [config])
    scope: dict = {}
    exec(first.run["call"], scope)
    np.testing.assert_array_equal(scope["embedding"].points, first.points)
