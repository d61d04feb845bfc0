"""Covering samples of products: small, and nothing is missed."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from covering import covering


@pytest.mark.parametrize("sizes", [(5, 3, 3, 2), (8, 3, 3), (16, 16), (7,)])
@pytest.mark.parametrize("strength", [1, 2])
def test_every_combination_is_in_the_sample(sizes, strength):
    cases = list(product(*map(range, sizes)))
    sample = [cases[k] for k in covering(cases, strength)]
    for columns in combinations(range(len(sizes)), min(strength, len(sizes))):
        seen = {tuple(case[k] for k in columns) for case in sample}
        assert seen == set(product(*(range(sizes[k]) for k in columns)))


def test_samples_are_near_the_least_there_can_be():
    cases = list(product(range(5), range(3), range(3), range(2)))
    assert 15 <= len(covering(cases)) <= 18
    assert len(covering(cases, strength=1)) == 5


def test_cases_that_are_no_product_keep_their_combinations():
    cases = [("a", 1, True), ("a", 2, True), ("b", 1, False), ("a", 1, True)]
    assert covering(cases) == [0, 1, 2]
