# SPDX-License-Identifier: GPL-3.0-or-later
"""The cheapest way through moves over time, by dynamic programming: what it costs to be there, and to change."""

from __future__ import annotations

import numpy as np

from .rotations import Array


def cheapest_way(costs: Array, changes: Array) -> Array:
    """Numbers (K,) of the moves to make at K moments, of C, so that the sum is least.

    costs: (K, C) of a move at a moment. changes: (C, C) of going from one to another between two moments.
    """
    before = np.zeros(costs.shape, dtype=int)
    best = costs[0].copy()
    for moment, cost in enumerate(costs[1:], 1):
        coming = best[:, None] + changes
        before[moment] = coming.argmin(axis=0)
        best = coming.min(axis=0) + cost
    out = np.zeros(len(costs), dtype=int)
    out[-1] = best.argmin()
    for moment in range(len(costs) - 1, 0, -1):
        out[moment - 1] = before[moment, out[moment]]
    return out
