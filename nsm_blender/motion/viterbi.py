# SPDX-License-Identifier: GPL-3.0-or-later
"""The Viterbi algorithm: the cheapest sequence of states over time, by dynamic programming."""

from __future__ import annotations

import numpy as np

from .rotations import Array


def viterbi(costs: Array, changes: Array) -> Array:
    """State numbers (K,) at K moments, out of C, with the least sum of costs.

    costs: (K, C) of a state at a moment. changes: (C, C) of the transition from a state to another between two moments.
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
