# SPDX-License-Identifier: GPL-3.0-or-later
"""A door's hinge, handle and opening angle, found from its form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array, from_axis_angle, rotate
from .clearance import distance
from .colliders import Placed
from .form import Form
from .reach import GRIP_HEIGHTS
from .roles import Door, Proposal

OPENING = np.pi / 2
"""Angle in radians that a door opens unless something is in its way."""

_PLAIN = (0.1, 0.42)
"""Lowest and highest share of a door's height between which a leaf has no handle, so that its thickness can be
measured."""
_SLICE, _THICKER = 0.015, 0.03
"""Meters: length of a slice in which a door's thickness is measured, and by which a frame is thicker than its leaf."""


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A door leaf along an axis of the aligned frame.

    wide, thin: the axes' indices. low, high: (3,) meters, without handles. beside: points (P, 3) on what sticks out of
    it. framed: whether the mesh includes the door's frame.
    """

    wide: int
    thin: int
    low: Array
    high: Array
    beside: Array
    framed: bool

    @property
    def middle(self) -> Array:
        """Middle (3,) in meters."""
        return (self.low + self.high) / 2

    @property
    def size(self) -> Array:
        """Extents (3,) in meters."""
        return self.high - self.low

    def at(self, wide: float, up: float) -> Array:
        """A place (3,) on the leaf's middle plane."""
        out = self.middle.copy()
        out[self.wide], out[2] = wide, up
        return out


def propose_door(form: Form, around: Placed | None) -> Proposal:
    """Propose a door in the form's aligned frame; none when the thing is no thin upright leaf."""
    leaf = _leaf(form)
    if leaf is None:
        text = "This is no door leaf (thin and upright): make leaf and frame separate objects, or choose another role."
        return Proposal(None, [text])
    side, grip, sure = _hinge_side(form, leaf, around)
    edges = (leaf.low[leaf.wide], leaf.high[leaf.wide])
    hinge = leaf.at(edges[0 if side < 0 else 1], leaf.low[2])
    if grip is None:
        height = leaf.low[2] + min(1.03, 0.5 * leaf.size[2])
        grip = leaf.at(edges[1 if side < 0 else 0] + side * 0.12, height)
    door = Door(
        hinge.tolist(), [0.0, 0.0, 1.0], grip.tolist(), float(leaf.size[leaf.wide]), float(leaf.size[2]), OPENING
    )
    door.angle = _opening(door, form, around)
    warnings = []
    if leaf.framed:
        warnings.append(
            "Leaf and frame are one mesh, and the frame would turn with the leaf: separate them (in Edit Mode, P) and "
            "wrap each."
        )
    if not sure:
        warnings.append(
            "Nothing shows on which side the hinges are: this side is a guess, turn it over if it is wrong."
        )
    return Proposal(door, warnings, 0.9 if sure else 0.4)


def check_door(door: Door, floor: float, around: Placed | None) -> list[str]:
    """List the problems of a door in the world, one sentence each. floor: height in meters on which the character
    stands."""
    hinge, axis, handle = (np.array(v, dtype=float) for v in (door.hinge, door.axis, door.handle))
    out = []
    if axis[2] < 0.97:
        out.append("The hinge axis is not upright: such a door cannot be opened by walking through it.")
    if not 0.5 <= door.width <= 1.5:
        out.append(f"The leaf is {door.width:.2f} m wide: doors that one person opens are 0.5 to 1.5 m wide.")
    if door.height < 1.7:
        out.append(f"The leaf is only {door.height:.2f} m high: a person does not fit through upright.")
    if not GRIP_HEIGHTS[0] <= handle[2] - floor <= GRIP_HEIGHTS[1]:
        out.append(
            f"The handle is {handle[2] - floor:.2f} m high: hands reach it at {GRIP_HEIGHTS[0]} to {GRIP_HEIGHTS[1]} m."
        )
    reach = np.linalg.norm((handle - hinge)[:2])
    if reach < 0.4 * door.width:
        out.append("The handle is nearer to the hinges than to the free edge: the hinge side may be wrong.")
    elif reach > 1.1 * door.width:
        out.append("The handle is not on the leaf: move it.")
    if abs(door.angle) < np.deg2rad(50):
        out.append(f"The door opens by {np.rad2deg(abs(door.angle)):.0f} degrees only: a person needs 50 or more.")
    elif _swing_room(door, around) < abs(door.angle) - 1e-6:
        free = np.rad2deg(_swing_room(door, around))
        out.append(
            f"The leaf swings into a wall or another thing after {free:.0f} degrees: open it the other way or less."
        )
    return out


def _leaf(form: Form) -> _Leaf | None:
    points = form.points
    spread = np.ptp(np.quantile(points, [0.04, 0.96], axis=0), axis=0)
    thin = int(np.argmin(spread[:2]))
    wide = 1 - thin
    if spread[thin] > 0.3 * spread[wide] or spread[2] < 0.8 * spread[wide] or spread[2] < 0.6:
        return None
    inside = _in_frame(points, wide, thin)
    points = points[inside]
    faces = np.quantile(points[:, thin], [0.04, 0.96])
    within = (points[:, thin] > faces[0] - 0.012) & (points[:, thin] < faces[1] + 0.012)
    low, high = np.quantile(points[within], [0.001, 0.999], axis=0)
    low[thin], high[thin] = faces
    return _Leaf(wide, thin, low, high, points[~within], not inside.all())


def _in_frame(points: Array, wide: int, thin: int) -> Array:
    """Which points (P,) belong to a leaf and not to a frame around it: a frame is thicker and stands at both ends."""
    low, high = points.min(axis=0), points.max(axis=0)
    heights = low[2] + np.array(_PLAIN) * (high[2] - low[2])
    plain = (points[:, 2] > heights[0]) & (points[:, 2] < heights[1])
    posts = _thick_ends(points[plain], wide, thin, low[wide], high[wide])
    everything: Array = np.ones(len(points), dtype=bool)
    if (
        posts is None
        or posts[1] - posts[0] < 0.5 * (high[wide] - low[wide])
        or low[wide] in posts
        or high[wide] in posts
    ):
        return everything
    out = (points[:, wide] > posts[0]) & (points[:, wide] < posts[1])
    ends = _thick_ends(points[out], 2, thin, low[2], high[2])
    return out if ends is None else out & (points[:, 2] < ends[1])


def _thick_ends(points: Array, along: int, thin: int, low: float, high: float) -> tuple[float, float] | None:
    """Coordinates along an axis between which a thing is as thin as in its middle; the ends of the thing where it is
    thin all along. None where there are too few points."""
    count = max(round((high - low) / _SLICE), 8)
    at = np.clip(((points[:, along] - low) / (high - low) * count).astype(int), 0, count - 1)
    ends = np.full((2, count), -np.inf)
    for row, sign in enumerate((1.0, -1.0)):
        np.maximum.at(ends[row], at, sign * points[:, thin])
    thick = ends.sum(axis=0)
    if not np.isfinite(thick).any():
        return None
    usual = float(np.median(thick[np.isfinite(thick)]))
    frame = np.flatnonzero(np.isfinite(thick) & (thick > usual + _THICKER))
    first, last = frame[frame < count / 4], frame[frame >= count - count / 4]
    return (
        low + (high - low) * (first[-1] + 1 if len(first) else 0) / count,
        low + (high - low) * (last[0] if len(last) else count) / count,
    )


def _hinge_side(form: Form, leaf: _Leaf, around: Placed | None) -> tuple[int, Array | None, bool]:
    """The end of the leaf's wide axis with the hinges, -1 or 1; the handle (3,), if there is one; and whether the form
    shows the hinges."""
    beside, half = leaf.beside, leaf.size[leaf.wide] / 2
    along = beside[:, leaf.wide] - leaf.middle[leaf.wide]
    up = beside[:, 2] - form.floor
    gripped = (up > GRIP_HEIGHTS[0]) & (up < GRIP_HEIGHTS[1]) & (np.abs(along) < half)
    if gripped.sum() >= 4:
        at = float(np.median(along[gripped]))
        if abs(at) > 0.3 * half and np.abs(along[gripped] - at).mean() < 0.3 * half:
            ends = np.quantile(along[gripped], [0.02, 0.98])
            height = float(np.median(beside[gripped, 2]))
            return (-1 if at > 0 else 1), leaf.at(leaf.middle[leaf.wide] + float(ends.mean()), height), True
    for side in (-1, 1):
        # The hinges' knuckles stick out at one edge, low and high.
        edge = side * along > 0.85 * half
        if edge.any() and not (side * along < -0.85 * half).any() and np.ptp(up[edge]) > 0.5 * leaf.size[2]:
            return side, None, True
    touch = [_touches(form, leaf, side, around) for side in (-1, 1)]
    if touch[0] != touch[1]:
        return (-1 if touch[0] else 1), None, True
    return -1, None, False


def _touches(form: Form, leaf: _Leaf, side: int, around: Placed | None) -> bool:
    """Whether something stands against an upright edge of the leaf."""
    edge = leaf.middle[leaf.wide] + side * (leaf.size[leaf.wide] / 2 + 0.01)
    heights = leaf.low[2] + leaf.size[2] * np.array([0.2, 0.5, 0.8])
    places = form.to_world(np.array([leaf.at(edge, z) for z in heights]))
    return bool((distance(around, places) < 0.05).all())


def _opening(door: Door, form: Form, around: Placed | None) -> float:
    """Opening angle in radians, to the side on which the leaf swings farther."""
    room = []
    for sign in (1, -1):
        swung = Door(
            form.to_world(np.array(door.hinge)).tolist(), door.axis, form.to_world(np.array(door.handle)).tolist(),
            door.width, door.height, sign * OPENING,
        )  # fmt: skip
        room.append(_swing_room(swung, around))
    return float(OPENING if room[0] >= room[1] else -OPENING)


def _swing_room(door: Door, around: Placed | None) -> float:
    """Angle in radians, at most `door.angle`, that a leaf in the world swings before it meets a collider."""
    hinge, axis = np.array(door.hinge), np.array(door.axis)
    along = np.array(door.handle) - hinge
    along -= axis * (along @ axis)
    along /= max(float(np.linalg.norm(along)), 1e-9)
    radius = door.width * np.linspace(0.3, 0.97, 6)
    heights = door.height * np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    steps = np.linspace(0.0, 1.0, 19)[1:] * door.angle
    for angle in steps:
        swung = rotate(from_axis_angle(axis, np.array(angle)), along)
        places = hinge + radius[:, None, None] * swung + heights[None, :, None] * axis
        # The frame is near the shut leaf, so the first degrees say nothing.
        if abs(angle) > np.deg2rad(12) and distance(around, places.reshape(-1, 3)).min() < 0.02:
            return abs(float(angle)) - abs(door.angle) / 18
    return abs(door.angle)
