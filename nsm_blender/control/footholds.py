# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet on and over the steps that one climbs: a foot that stands sunk in a tread or hovers stands on it, one whose toes
are in a riser stands before it, and one that swings through an edge is lifted over it."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from ..geometry.colliders import Placed
from ..motion.filters import gaussian, highest_around
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .planting import Stances

TIP = 0.06
"""Metres from the toe's joint to the tip of the foot."""
NEAR_TOP = 0.1
"""Metres from a tread, or from half way up to it, within which a foot is meant to stand on it."""
BEFORE = 0.02
"""Metres between a riser and the toes of one who stands before it,"""
FARTHEST = 0.15
"""who moves back by no more than this."""
_AROUND, _EASE = 10, 10
"""Frames before and after an edge in which a foot is lifted, and after and before it stands."""


def footholds(
    places: Array, contacts: Array, near: Callable[[int], Placed], steps: Collection[str], floor: float
) -> dict[str, Array]:
    """Metres (T, 3) by which the foot of each side is to move; sides without any are left out.

    places: (T, J, 3). contacts: (T, 4) of CONTACT_JOINTS. near: the cuboids around a body at a frame, of which those
    of `steps` carry it. floor: height of the ground beside them.
    """
    around = [near(frame).of(list(steps)) for frame in range(len(places))] if steps else []
    if not any(len(placed) for placed in around):
        return {}
    found = {side: _moved(side, places, contacts, around, floor) for side in ("Left", "Right")}
    return {side: shift for side, shift in found.items() if shift.any()}


def _moved(side: str, places: Array, contacts: Array, around: list[Placed], floor: float) -> Array:
    ankle, toe = (places[:, MODEL_SKELETON.index(side + part)] for part in ("Foot", "Toe"))
    along = toe - ankle
    along[:, 2] = 0
    tip = toe + TIP * along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-6)
    soles = np.stack((ankle, toe, tip), axis=1)
    soles[..., 2] -= [ANKLE_HEIGHT, TOE_HEIGHT, TOE_HEIGHT]
    tops, outs = np.full(soles.shape[:2], floor), np.zeros((len(places), 2))
    for frame, placed in enumerate(around):
        if len(placed):
            tops[frame], outs[frame] = _under(placed, soles[frame], floor)
    rise = tops - soles[..., 2]
    columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
    stances = Stances((contacts[:, columns] > 0).any(axis=1)[None])
    close = np.array([len(placed) > 0 for placed in around])
    values = np.zeros((len(stances), 3))
    for number, (start, stop) in enumerate(zip(stances.starts, stances.stops, strict=True)):
        if close[start:stop].any():
            values[number] = _stance(rise[start:stop], tops[start:stop] - floor, outs[start:stop])
    out = np.zeros((len(places), 3))
    if len(stances):
        out = stances.spread(values)
        stances.glide(out)
    # What is still in the way of a swing, which keeps its start and its end.
    through = np.where(stances.mask, 0.0, np.maximum(rise.max(axis=1) - out[:, 2], 0.0))
    lift = gaussian(highest_around(through, _AROUND), _AROUND / 2)
    out[:, 2] += lift * _apart(stances.mask)
    return out


def _under(placed: Placed, soles: Array, floor: float) -> tuple[Array, Array]:
    """Heights (3,) of the tops under three points of a sole, and the shortest way (2,) of those out of the highest."""
    tops, out = np.full(len(soles), floor), np.zeros(2)
    for rotation, centre, half in zip(placed.rotation, placed.centre, placed.half, strict=True):
        local = (soles[:, :2] - centre[:2]) @ rotation[:2, :2]
        inside = half[:2] - np.abs(local)
        on = (inside > 0).all(1)
        tops[on] = np.maximum(tops[on], centre[2] + half[2])
        deep = on & (soles[:, 2] < centre[2] + half[2])
        if deep.any():
            axis = int(inside[deep].max(0).argmin())
            way = np.zeros(2)
            way[axis] = np.sign(local[deep, axis].mean()) * (inside[deep, axis].max() + BEFORE)
            way = rotation[:2, :2] @ way
            if np.linalg.norm(way) > np.linalg.norm(out):
                out = way
    return tops, out


def _stance(rise: Array, height: Array, outs: Array) -> Array:
    """By how much (3,) a stance moves: onto the tread under it, or back from the riser. rise: (F, 3) metres from the
    points of the sole up to what is under them, height (F, 3) of that over the floor, outs: (F, 2) ways out of it."""
    most, tread = float(rise.max(axis=1).mean()), float(height.max(axis=1).mean())
    if most > max(NEAR_TOP, tread / 2):
        back = outs[int(np.linalg.norm(outs, axis=1).argmax())]
        length = float(np.linalg.norm(back))
        return np.append(back * min(FARTHEST / max(length, 1e-9), 1.0), 0.0)
    toe = float(rise[:, 1].mean())
    return np.array([0.0, 0.0, max(most, toe) if most > -NEAR_TOP else 0.0])


def _apart(standing: Array) -> Array:
    """(T,) rising from 0 at a stance to 1 some frames from it."""
    frames, every = np.flatnonzero(standing), np.arange(len(standing))
    if not len(frames):
        return np.ones(len(standing))
    after = np.searchsorted(frames, every)
    behind, ahead = frames[np.maximum(after - 1, 0)], frames[np.minimum(after, len(frames) - 1)]
    away = np.minimum(np.abs(every - behind), np.abs(every - ahead))
    t = np.clip(away / _EASE, 0, 1)
    out: Array = t * t * (3 - 2 * t)
    return out
