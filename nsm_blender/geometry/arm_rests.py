# SPDX-License-Identifier: GPL-3.0-or-later
"""Arm rests beside a seat: long in the seat's direction, level, no broader than an arm needs, at elbow height."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .form import SIDES, Form, Level
from .reach import ARM_REST

RISE = (0.08, 0.38)
"""Lowest and highest top of an arm rest over the seat, in meters; what rises higher is a back or a wing."""
BROADEST = 0.32
"""Largest breadth of an arm rest in meters; what is broader is a pillow or a table."""
_BESIDE = 0.30
"""Largest distance in meters from the seat's edge to the outer face of its arm rest."""
_SHARE, _SHORTEST = 0.4, 0.16
"""Least length of an arm rest, as a share of the seat's depth and in meters; the larger of the two counts."""
_BOW = 2
"""Cells to either side by which an arm rest may bow, as that of a tub chair does."""
_LEVEL = 0.035
"""Largest change in meters of an arm rest's height over its length."""


def arm_rest(form: Form, level: Level, side: int) -> tuple[list[float], float] | None:
    """Find the middle (3,) of the top of the arm rest on a side of a seat, and the coordinate of its inner face.

    side: one of SIDES, across the facing. The coordinate is the one across the seat. None where there is no rest, or
    where it is out of reach of a sitter in the middle. Everything is in the form's aligned frame, in meters.
    """
    across = 0 if side % 2 else 1
    sign = float(SIDES[side][across])
    tops = _tops(form, level, across, sign)
    if tops is None:
        return None
    heights, first = tops
    size = form.voxels.size
    rows = max(_SHARE * len(heights), _SHORTEST / size)
    # A column of cells along the seat belongs to a rest where a long enough part of it rises so far.
    beside = np.pad((heights > RISE[0]) & (heights < RISE[1]), ((0, 0), (_BOW, _BOW)))
    bowed = np.any([np.roll(beside, by, axis=1) for by in range(-_BOW, _BOW + 1)], axis=0)[:, _BOW:-_BOW]
    counts = np.where(beside[:, _BOW:-_BOW].any(axis=0), bowed.sum(axis=0), 0)
    for start, stop in reversed(_runs(counts >= rows)):
        rise = heights[:, start:stop].max(axis=1)
        part = _longest_level(np.where((rise > RISE[0]) & (rise < RISE[1]), rise, np.nan))
        if part is None or part.stop - part.start < rows or (stop - start) * size > BROADEST:
            continue
        crest = np.median(heights[part, start:stop], axis=0)
        high = np.flatnonzero(crest > crest.max() - 0.02)
        out = first + size * (start + (high[0] + high[-1] + 1) / 2)
        place = np.empty(3)
        place[across] = level.middle[across] + sign * out
        place[1 - across] = level.low[1 - across] + size * (part.start + part.stop) / 2
        place = _on_crest(form, level, place, across, size * (part.stop - part.start))
        if abs(place[across] - level.middle[across]) > ARM_REST:
            return None
        return place.tolist(), float(level.middle[across] + sign * (first + size * start))
    return None


def _tops(form: Form, level: Level, across: int, sign: float) -> tuple[Array, float] | None:
    """Heights (R, C) in meters over a seat of what stands beside its middle and up to _BESIDE beyond its edge, rows
    along the seat and columns outwards; and the distance of the first column from the middle."""
    size, origin, filled = form.voxels.size, form.voxels.origin, form.voxels.filled
    base = round((level.height + 0.5 * size - origin[2]) / size)
    band = filled[:, :, base : base + round(1.0 / size)]
    if band.shape[2] == 0:
        return None
    # The column's highest filled cell counts: a rest may stand on posts.
    rise = np.where(band.any(axis=2), band.shape[2] - np.argmax(band[:, :, ::-1], axis=2), 0) * size
    along = slice(*(np.array([level.low, level.high])[:, 1 - across] - origin[1 - across]).astype(float) / size)
    rows = slice(max(round(along.start), 0), round(along.stop))
    middle = (level.middle[across] - origin[across]) / size
    reach = round((level.extent[across] / 2 + _BESIDE) / size)
    turned = rise if across == 0 else rise.T
    cells = np.floor(middle).astype(int) + int(sign) * np.arange(reach)
    cells = cells[(cells >= 0) & (cells < turned.shape[0])]
    if len(cells) == 0:
        return None
    first = size * (cells[0] + (0.0 if sign > 0 else 1.0) - middle) * sign
    return turned[cells, rows].T, float(first)


def _on_crest(form: Form, level: Level, place: Array, across: int, length: float) -> Array:
    """Move a place (3,) near the crest of a rest to the middle of the rest's top surface."""
    points, along = form.points, 1 - across
    rise = points[:, 2] - level.height
    # The ends are left out: a wing may begin there.
    near = (np.abs(points[:, across] - place[across]) < 0.08) & (
        np.abs(points[:, along] - place[along]) < 0.45 * length
    )
    near &= (rise > RISE[0]) & (rise < RISE[1] + 0.02)
    out = place.copy()
    out[2] = level.height + (np.quantile(rise[near], 0.97) if near.any() else RISE[0])
    top = near & (points[:, 2] > out[2] - 0.01)
    if top.any():
        out[across] = points[top, across].min() / 2 + points[top, across].max() / 2
    return out


def _runs(mask: Array) -> list[tuple[int, int]]:
    """First and last (exclusive) index of each run of True."""
    edge = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return list(zip(edge[::2].tolist(), edge[1::2].tolist(), strict=True))


def _longest_level(rise: Array) -> slice | None:
    """The longest run of rows whose tops differ by at most _LEVEL from their median; NaN ends a run."""
    best = None
    for start, stop in _runs(~np.isnan(rise)):
        level = np.abs(rise[start:stop] - np.median(rise[start:stop])) <= _LEVEL
        for a, b in _runs(level):
            if best is None or b - a > best.stop - best.start:
                best = slice(start + a, start + b)
    return best
