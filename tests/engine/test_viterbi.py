# SPDX-License-Identifier: GPL-3.0-or-later
"""The cheapest way through moves over time."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from nsm_blender.motion.rotations import Array
from nsm_blender.motion.viterbi import viterbi


def test_it_is_the_cheapest_of_all_ways() -> None:
    rng = np.random.default_rng(3)
    for moments in (1, 2, 5):
        costs, changes = rng.uniform(0, 1, (moments, 3)), rng.uniform(0, 1, (3, 3))

        def cost(way: tuple[int, ...], costs: Array = costs, changes: Array = changes) -> float:
            there = sum(costs[moment, move] for moment, move in enumerate(way))
            return float(there + sum(changes[pair] for pair in pairwise(way)))

        best = min(product(range(3), repeat=moments), key=cost)
        assert tuple(viterbi(costs, changes).tolist()) == best
