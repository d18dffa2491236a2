# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet that stand stay where they are: contact labels, offsets that glide, two-bone IK, for many characters at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..models.manifold import FPS
from ..motion.filters import gaussian
from ..motion.ik import LEFT_LEG, RIGHT_LEG, solve_limb
from ..motion.rotations import Array, between, from_exponential_map, multiply, rotate, to_exponential_map
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

Heights = Callable[[Array], Array]
"""Heights (...) in metres of the ground at places (..., 2)."""

_LONGEST_GLIDE = 24
"""Frames over which an offset fades to nothing when the next contact is far away."""
_FOOT_GLIDE = 8
"""The same for the foot's rotation: a heel that was held must catch up with its rise."""
_STRETCH = 0.985
"""Share of its length to which a standing leg may stretch; beyond, its knee would snap straight and back."""
_LARGEST_DROP = 0.12
_DROP_SPREAD = 0.08
"""Seconds to both sides over which the hips sink for a foot that is out of reach."""
_SIDES = {"Left": LEFT_LEG, "Right": RIGHT_LEG}


class Stances:
    """Runs of True in a mask (N, T), which never cross from one row to the next.

    Values over frames are (N * T, d), row after row.
    """

    def __init__(self, mask: Array) -> None:
        padded = np.zeros((len(mask), mask.shape[1] + 1), dtype=np.int8)
        padded[:, :-1] = mask
        edges = np.diff(padded.reshape(-1), prepend=0, append=0)
        width = mask.shape[1]
        starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        row = starts // (width + 1)
        self.starts, self.stops = starts - row, stops - row
        self._row = row
        self.mask = mask.reshape(-1)
        count = self.mask.size
        begins = np.zeros(count, dtype=np.int64)
        begins[self.starts] = 1
        self.last = np.cumsum(begins) - 1
        """The stance of each frame, or the one before it; -1 before the first."""
        self._frame_row = np.arange(count) // width
        self._width = width

    def __len__(self) -> int:
        return len(self.starts)

    def mean(self, values: Array) -> Array:
        """Mean (S, d) of each stance."""
        sums = np.concatenate((np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)))
        out: Array = (sums[self.stops] - sums[self.starts]) / (self.stops - self.starts)[:, None]
        return out

    def spread(self, values: Array) -> Array:
        """Values (S, d) of the stances at each frame (N * T, d); zero between."""
        out = values[self.last]
        out[~self.mask] = 0
        return out

    def glide(self, values: Array, longest: int = _LONGEST_GLIDE) -> None:
        """Fill `values` between stances, in place: smoothly from the end of one to the start of the next.

        Where they lie more than two times `longest` frames apart, and before the first and after the last, by
        way of nothing.
        """
        frames = np.flatnonzero(~self.mask)
        if not len(frames) or not len(self):
            return
        before, after = self.last[frames], self.last[frames] + 1
        row = self._frame_row[frames]
        has_before = (before >= 0) & (self._row[np.maximum(before, 0)] == row)
        inside = np.minimum(after, len(self) - 1)
        has_after = (after < len(self)) & (self._row[inside] == row)
        begin = np.where(has_before, self.stops[np.maximum(before, 0)], row * self._width)
        end = np.where(has_after, self.starts[inside], (row + 1) * self._width)
        start_value = np.where(has_before[:, None], values[np.maximum(begin - 1, 0)], 0)
        end_value = np.where(has_after[:, None], values[np.minimum(end, len(values) - 1)], 0)
        since, until, whole = frames - begin + 1, end - frames, end - begin
        short = whole <= 2 * longest
        share = _ease(since / (whole + 1))
        fade_out = np.where(short, 1 - share, _ease(np.clip(1 - since / longest, 0, 1)))
        fade_in = np.where(short, share, _ease(np.clip(1 - until / longest, 0, 1)))
        values[frames] = fade_out[:, None] * start_value + fade_in[:, None] * end_value


def plant_feet(hips: Array, rotations: Array, contacts: Array, ground: Heights | None = None) -> tuple[Array, Array]:
    """Pose characters so that feet in contact stand still on the ground.

    hips: (N, T, 3) world places of joint 0. rotations: (N, T, J, 4) world. contacts: (N, T, 4), above 0 in
    contact, of CONTACT_JOINTS. ground: heights of the terrain, 0 without. Returns joint places (N, T, J, 3) and world
    rotations (N, T, J, 4).
    """
    shape = contacts.shape[:2]
    flat_hips = hips.reshape(-1, 3).copy()
    out = rotations.reshape(-1, *rotations.shape[2:]).copy()
    ankles: dict[str, Array] = {}
    standing: dict[str, Array] = {}
    for side, limb in _SIDES.items():
        upper, middle, foot, toe = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end, side + "Toe"])
        heel_on, toe_on = (contacts[..., CONTACT_JOINTS.index(side + part)] > 0 for part in ("Foot", "Toe"))
        heel = _chain(flat_hips, out, (upper, middle, foot))
        place = heel + _bone(out[:, foot], toe)
        out[:, foot] = _steady(out[:, foot], place - heel, Stances(heel_on & toe_on))
        out[:, toe] = out[:, foot]
        # The toe's place leads: it is the last to leave and carries the foot's roll.
        ankle: Array = place - _bone(out[:, foot], toe)
        stances = Stances(heel_on | toe_on)
        height = _heights(ground, place, stances)
        moved = ankle + _offset(heel, place, toe_on.reshape(-1), stances, height)
        moved[:, 2] = np.maximum(moved[:, 2], _lowest_ankle(moved, out[:, foot], toe, ground, height))
        ankles[side], standing[side] = moved, stances.mask
    flat_hips[:, 2] -= _hips_drop(flat_hips, out, ankles, standing, shape)
    for side, limb in _SIDES.items():
        upper, middle = MODEL_SKELETON.indices([limb.upper, limb.middle])
        origin = flat_hips + _bone(out[:, 0], upper)
        out[:, upper], out[:, middle], _ = solve_limb(limb, origin, ankles[side], out[:, upper], out[:, middle])
    places = MODEL_SKELETON.positions(flat_hips, out)
    return places.reshape(*shape, -1, 3), out.reshape(rotations.shape)


def _bone(rotation: Array, joint: int) -> Array:
    """Bone (M, 3) to `joint` under its parent's world `rotation` (M, 4)."""
    return rotate(rotation, np.broadcast_to(MODEL_SKELETON.offsets[joint].astype(rotation.dtype), (len(rotation), 3)))


def _chain(hips: Array, rotations: Array, joints: tuple[int, ...]) -> Array:
    """Place (M, 3) of the last of `joints`, each the child of the one before, the first of the hips."""
    out = hips
    for joint in joints:
        out = out + _bone(rotations[:, MODEL_SKELETON.parents[joint]], joint)
    return out


def _heights(ground: Heights | None, toe: Array, stances: Stances) -> Array:
    """Height (M,) of the ground that each foot stands on; between stances it glides from one to the next."""
    if ground is None or not len(stances):
        return np.zeros(len(toe))
    out = stances.spread(ground(stances.mean(toe)[:, :2])[:, None])
    stances.glide(out, longest=len(out))
    return out[:, 0]


def _steady(rotation: Array, bone: Array, stances: Stances) -> Array:
    """Foot rotations (M, 4) that do not change the foot's direction `bone` (M, 3) while heel and toe are down."""
    turn = np.zeros_like(bone)
    if not len(stances):
        return rotation
    on = stances.mask
    turn[on] = to_exponential_map(between(bone[on], stances.mean(bone)[stances.last[on]]))
    stances.glide(turn, _FOOT_GLIDE)
    return multiply(from_exponential_map(turn), rotation)


def _offset(heel: Array, toe: Array, toe_on: Array, stances: Stances, height: Array) -> Array:
    """Offset (M, 3) that keeps the supporting point of one foot still and on the ground at `height` (M,)."""
    offset = np.zeros_like(toe)
    if not len(stances):
        return offset
    # Follow the drift of whichever point carries the foot; it is continuous when the point changes.
    step = np.where(toe_on[:, None], np.diff(toe, axis=0, prepend=toe[:1]), np.diff(heel, axis=0, prepend=heel[:1]))
    step[stances.starts] = 0
    drift = np.cumsum(step, axis=0)
    drift -= drift[stances.starts][stances.last]
    offset[:] = stances.mean(drift)[stances.last] - drift
    offset[:, 2] = _lift(height + TOE_HEIGHT - toe[:, 2], toe_on, stances)
    offset[~stances.mask] = 0
    stances.glide(offset)
    return offset


def _lift(lift: Array, toe_on: Array, stances: Stances) -> Array:
    """`lift` (M,) where the toe is down; elsewhere in a stance that of the nearest such frame before or after."""
    frames = np.arange(len(lift))
    before = np.maximum.accumulate(np.where(toe_on, frames, -1))
    after = np.minimum.accumulate(np.where(toe_on, frames, len(lift))[::-1])[::-1]
    start, stop = stances.starts[stances.last], stances.stops[stances.last]
    has_before, has_after = before >= start, after < stop
    nearer = np.where(has_before & (~has_after | (frames - before <= after - frames)), before, after)
    known = has_before | has_after
    return np.where(known, lift[np.clip(nearer, 0, len(lift) - 1)], 0)


def _lowest_ankle(ankle: Array, foot: Array, toe: int, ground: Heights | None, height: Array) -> Array:
    """Height (M,) below which heel or toe would be under the floor."""
    bone = _bone(foot, toe)
    under_toe = under_heel = height
    if ground is not None:
        under_toe = np.minimum(ground((ankle + bone)[:, :2]), height + 0.3)
        under_heel = np.minimum(ground(ankle[:, :2]), height + 0.3)
    return np.maximum(under_toe + TOE_HEIGHT - 0.005 - bone[:, 2], under_heel + ANKLE_HEIGHT - 0.015)


def _hips_drop(
    hips: Array, rotations: Array, ankles: dict[str, Array], standing: dict[str, Array], shape: tuple[int, ...]
) -> Array:
    """How far (M,) the hips must sink, smoothly, so that planted feet stay within reach of the legs."""
    need = np.zeros(len(hips))
    for side, limb in _SIDES.items():
        joints = MODEL_SKELETON.indices([limb.middle, limb.end])
        length = float(np.linalg.norm(MODEL_SKELETON.offsets[joints], axis=1).sum()) * _STRETCH
        v = ankles[side] - hips - _bone(rotations[:, 0], MODEL_SKELETON.index(limb.upper))
        aside = np.minimum(np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2), length * 0.95)
        lack = -v[:, 2] - np.sqrt(length * length - aside * aside)
        need = np.maximum(need, np.where(standing[side], lack, 0))
    need = np.clip(need, 0, _LARGEST_DROP).reshape(shape).T
    radius = int(_DROP_SPREAD * FPS)
    padded = np.pad(need, ((radius, radius), (0, 0)), mode="edge")
    widest = np.lib.stride_tricks.sliding_window_view(padded, 2 * radius + 1, axis=0).max(-1)
    return gaussian(widest, radius / 2).T.reshape(-1)


def _ease(t: Array) -> Array:
    """Smooth step from 0 to 1 without speed at both ends."""
    out: Array = t * t * (3 - 2 * t)
    return out
