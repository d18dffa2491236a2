# SPDX-License-Identifier: GPL-3.0-or-later
"""Pillows and blankets on a seat, which hide a part of it from above."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array
from .form import Form, Level, closed, grown

_THICK = (0.04, 0.34)
"""Least and largest height in meters of a pillow's top over the seat on which it lies or leans."""
_SAME = 0.02
"""Largest difference in height in meters between the seat below a pillow and the rest of it."""
_SHARE = 0.4
"""Least share of a seat that pillows leave free; where less is free, the free part is a rim around the seat."""
_LINE = 2
"""Cells to each side by which a hidden surface must be broader than the edge of an upright one."""


def with_hidden(form: Form, level: Level) -> Level:
    """A level together with the parts of it that a thing lying on it covers.

    The surface continues below a pillow, which is a loose part that lies on it; below an arm or a back it does not.
    """
    rise = form.voxels.origin[2] + form.voxels.size * (form.highest + 1) - level.height
    cell = form.cells
    on = np.abs(form.points[:, 2] - level.height) < _SAME
    hidden = np.zeros_like(level.mask)
    hidden[cell[on, 0], cell[on, 1]] = True
    hidden &= (rise > _THICK[0]) & (rise < _THICK[1]) & ~level.mask
    mask = level.mask | _touching(_opened(closed(hidden)), level.mask)
    return form.part(level, mask) if level.mask.sum() >= _SHARE * mask.sum() else level


def _opened(mask: Array) -> Array:
    """The mask without parts that are narrower than 2 _LINE + 1 cells."""
    out = np.pad(mask, _LINE)
    for _ in range(_LINE):
        out = ~grown(~out)
    for _ in range(_LINE):
        out = grown(out)
    return out[_LINE:-_LINE, _LINE:-_LINE] & mask


def _touching(mask: Array, to: Array) -> Array:
    """The cells of a mask that are connected to another mask."""
    out = mask & grown(to)
    while True:
        more = mask & grown(out)
        if (more == out).all():
            return out
        out = more
