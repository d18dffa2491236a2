# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet and shins out of the things around: where a foot stands moves aside, as little as it must.

A stance moves as a whole, and a swing as one smooth arc, so that nothing slides or jumps that did not before.
"""

from __future__ import annotations

import numpy as np

from ..geometry.proximity import Around
from ..motion.easing import smoothstep
from ..motion.filters import runs
from ..motion.foot_lock import Stances
from ..motion.ik import LEFT_LEG, RIGHT_LEG, Limb, solve_limb
from ..motion.rotations import Array, rotate
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON

SHIN, FOOT = 0.05, 0.03
"""Metres: radii of a shin and of a foot."""
TOUCH = 0.005
"""Metres of depth that are left as they are."""
FARTHEST = 0.24
"""Metres by which a foot is moved at most."""
_COARSE, _FINE, _WAYS = 0.04, 0.01, 16
"""Metres between the moves that are tried, first roughly and then along the best way, of so many."""
_SHARES, _FOOT = np.array([0.1, 0.4, 0.7, 1.0]), np.array([0.5, 1.0])
"""Where on a shin, and from ankle to toe, there are points."""
LEG_RADII = np.tile([SHIN] * len(_SHARES) + [FOOT] * len(_FOOT), 2)
"""Metres (P,): radii of `leg_points`."""
REACH = FARTHEST + 0.15
"""Metres from where it is in which a leg may come: a knee goes farther than its foot."""
_PARTS = ("Leg", "Foot", "Toe")
_FEW, _FRAMES = 6, 12
"""Frames of a stance that are looked at, then."""
_WORTH = 5.0
"""Metres that a foot may move for a metre of depth less."""
_APART = 0.12
"""Metres between two ankles that do not get in each other's way."""
_EASE = 14
"""Frames over which a swing bends aside."""
_LEGS = {"Left": LEFT_LEG, "Right": RIGHT_LEG}


def leg_points(places: Array) -> Array:
    """Points (..., P, 3) of shins and feet of bodies with joints at places (..., J, 3), left ones first: LEG_RADII are
    theirs."""
    knee, ankle, toe = (places[..., [MODEL_SKELETON.index(side + part) for side in _LEGS], :] for part in _PARTS)
    return np.asarray(_points(knee, ankle, toe - ankle).reshape(*places.shape[:-2], -1, 3))


def _points(knee: Array, ankle: Array, foot: Array) -> Array:
    """Points (..., 6, 3) of a shin and of a foot that goes on by (..., 3) from the ankle to the toe."""
    shin = knee[..., None, :] + _SHARES[:, None] * (ankle - knee)[..., None, :]
    return np.concatenate((shin, ankle[..., None, :] + _FOOT[:, None] * foot[..., None, :]), axis=-2)


class Legs:
    """The legs of a posed body among things. places: (T, J, 3). rotations: (T, J, 4) world. contacts: (T, 4).
    things: around `leg_points`, at every frame."""

    def __init__(self, places: Array, rotations: Array, contacts: Array, things: Around) -> None:
        self._places, self._rotations = places, rotations
        self._contacts, self._things = contacts, things

    def shifts(self) -> dict[str, Array]:
        """Metres (T, 3) by which the foot of each side is to move; sides without any are left out."""
        found = {side: self._shift(side) for side in _LEGS}
        return {side: shift for side, shift in found.items() if shift.any()}

    def _shift(self, side: str) -> Array:
        count = len(self._places)
        out = np.zeros((count, 3))
        every = np.arange(count)
        deep = self._depth(side, every, out[None])[0] > TOUCH
        if not deep.any():
            return out
        columns = [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]
        stances = Stances((self._contacts[:, columns] > 0).any(axis=1)[None])
        values = np.zeros((len(stances), 3))
        for number, (start, stop) in enumerate(zip(stances.starts, stances.stops, strict=True)):
            if deep[start:stop].any():
                values[number] = self._aside(side, every[start:stop])
        if len(stances):
            out = stances.spread(values)
            stances.glide(out)
        self._bend_swings(side, stances.mask, out)
        return out

    def _bend_swings(self, side: str, standing: Array, shift: Array) -> None:
        """Let a foot pass beside what it swings through; shift (T, 3) changes in place."""
        for start, stop in runs(~standing):
            frames = np.arange(start, stop)
            deep = np.flatnonzero(self._depth(side, frames, shift[None, frames])[0] > TOUCH)
            if not len(deep):
                continue
            first, last = frames[deep[0]], frames[deep[-1]]
            aside = self._aside(side, np.arange(first, last + 1), shift)
            rise = _eased(frames, max(start - 1, min(first - _EASE, first)), max(first, start + _EASE // 2))
            fall = 1 - _eased(frames, min(last, stop - 1 - _EASE // 2), min(stop, last + _EASE))
            shift[frames] += np.minimum(rise, fall)[:, None] * aside

    def _aside(self, side: str, frames: Array, shift: Array | None = None) -> Array:
        """Metres (3,) by which a foot moves to be out of things in all of these frames, on top of `shift` (T, 3)."""
        shift = np.zeros((len(self._places), 3)) if shift is None else shift
        angle = np.arange(_WAYS) * (2 * np.pi / _WAYS)
        ways = np.stack((np.cos(angle), np.sin(angle), np.zeros(_WAYS)), axis=1)
        coarse = np.arange(1, FARTHEST / _COARSE + 0.5) * _COARSE
        rough = self._best(side, _some(frames, _FEW), (coarse[:, None, None] * ways).reshape(-1, 3), shift)
        size = np.linalg.norm(rough)
        finer = np.arange(0.0, size + _COARSE, _FINE)[:, None] * (rough / max(float(size), 1e-9))
        return self._best(side, _some(frames, _FRAMES), finer, shift)

    def _best(self, side: str, frames: Array, tried: Array, shift: Array) -> Array:
        """The cheapest (3,) of moves (C, 3), or none."""
        tried = np.concatenate((np.zeros((1, 3)), tried))
        depth, missed, apart = self._tried(side, frames, tried[:, None] + shift[frames])
        cost = np.linalg.norm(tried, axis=1) + _WORTH * (np.maximum(depth - TOUCH, 0).mean(1) + missed.max(1))
        cost += _WORTH * np.maximum(depth.max(1) - TOUCH, 0) + np.maximum(_APART - apart.min(1), 0)
        return np.asarray(tried[int(cost.argmin())])

    def _depth(self, side: str, frames: Array, shift: Array) -> Array:
        return self._tried(side, frames, shift)[0]

    def _tried(self, side: str, frames: Array, shift: Array) -> tuple[Array, Array, Array]:
        """Depth (C, F) in things of a leg whose ankle is moved by C shifts (C, F, 3) in F frames; by how much it does
        not reach there, and how far it is from the other ankle."""
        limb = _LEGS[side]
        ankle, toe = MODEL_SKELETON.indices([side + "Foot", side + "Toe"])
        other = MODEL_SKELETON.index(("Right" if side == "Left" else "Left") + "Foot")
        wanted = self._places[frames, ankle] + shift
        knee, end = self._bent(limb, frames, wanted)
        bone = np.broadcast_to(self._places[frames, toe] - self._places[frames, ankle], end.shape)
        mine = np.repeat([side == one for one in _LEGS], len(LEG_RADII) // 2)
        near = self._things.at(frames, mine).repeated(len(shift), len(frames))
        points = np.zeros((len(shift) * len(frames), len(LEG_RADII), 3))
        points[:, mine] = _points(knee, end, bone).reshape(len(points), -1, 3)
        depth = near.depths(points).max(axis=1).reshape(shift.shape[:2])
        missed = np.linalg.norm(end - wanted, axis=-1)
        apart = np.linalg.norm((end - self._places[frames, other])[..., :2], axis=-1)
        return depth, missed, apart

    def _bent(self, limb: Limb, frames: Array, ankle: Array) -> tuple[Array, Array]:
        """Knees and ankles (C, F, 3) of a leg that reaches for ankles (C, F, 3)."""
        upper, middle = MODEL_SKELETON.indices([limb.upper, limb.middle])
        shape = (*ankle.shape[:2], 4)
        hip = np.broadcast_to(self._places[frames, upper], ankle.shape)
        thigh, shin = (np.broadcast_to(self._rotations[frames, joint], shape) for joint in (upper, middle))
        thigh, _, end = solve_limb(limb, hip, ankle, thigh, shin)
        bone = np.broadcast_to(MODEL_SKELETON.offsets[middle], ankle.shape)
        return hip + rotate(thigh, bone), end


def _some(frames: Array, count: int) -> Array:
    """Some of many frames, spread evenly, with the first and the last."""
    out: Array = frames[np.unique(np.linspace(0, len(frames) - 1, count).round().astype(int))]
    return out


def _eased(frames: Array, start: float, full: float) -> Array:
    """(F,) 0 up to frame `start`, rising to 1 at `full`, smoothly."""
    return smoothstep((frames - start) / max(full - start, 1e-6))
