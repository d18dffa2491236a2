# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that sits: its hips lie still on their seat, and its back leans on a backrest within reach."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..geometry.body import OWNERS, bone_points, radii_of
from ..geometry.colliders import Collider, Placed, Surroundings
from ..models.nsm import FPS
from ..motion.easing import eased
from ..motion.filters import gaussian
from ..motion.root import direction
from ..motion.rotations import (
    Array,
    from_exponential_map,
    from_yaw,
    multiply,
    rotate,
    to_exponential_map,
)
from .corrections import allowed, seat_offset
from .kinematics import HIPS, PELVIS, SIZE, Body
from .seating import HIP_JOINTS, Seating
from .terms import By

STILL, CORRECTION, LEAN = SEAT_TARGETS = ("seated_hips", "seat_correction", "lean_back")
"""Names of what is wanted of a body on its seat, each of which can be left out: hips that do not sway, hips at the
seat's place and facing, a back at the backrest."""
SWAY = 0.5 * FPS
"""Standard deviation in frames of the Gaussian mean that the hips of a sitting body follow: upholstery holds them, and
does not keep them from shifting within seconds."""
SPREAD = 1.0 * FPS
"""Frames over which hips come to the seat's place before they lie on it, and are free again after the body got up."""
TRUNK = 0.2
"""Meters from the spine to the shoulders, which a correction that turns the body moves no farther than its hips."""
FARTHEST_BACK, SLIDES = np.radians(30), 0.16
"""Radians by which a trunk leans back at most, and meters that the hips slide back on a deep seat meanwhile: what is
farther behind them is no backrest of this place."""
UPRIGHT = 0.5
"""Share of the way back to a backrest after which the hips slide, too."""
LEANS_IN, LEANS_OUT = 1.2 * FPS, 0.5 * FPS
"""Frames in which a body that sits leans back, and sits up again when it is told to get up."""
PRESSES = 0.01
"""Meters by which a back presses into what it leans on."""
KEEPS, UPRIGHT_KEEPS = 0.2, 0.02
"""Shares of a firm constraint with which hips keep to their place on a seat, and a back to its backrest, of a body that
may lean back and of another: shins and arms come out of the seat first, and an upright back out of a backrest."""
_TILT, _YAW = slice(PELVIS.start, PELVIS.stop - 1), slice(PELVIS.stop - 1, PELVIS.stop)
"""Columns of displacements that tilt the pelvis, and that turn it about +Z."""
_TRIED = np.linspace(0.0, 1.0, 41)
_BACK, _SHINS = np.isin(OWNERS, ["Hips", "Neck"]), np.isin(OWNERS, ["LeftLeg", "RightLeg"])


def on_seat(
    seating: Seating,
    places: Array,
    rotations: Array,
    facing: Array,
    collider: Collider,
    rate: float,
    radii: Sequence[float] = (),
    without: Collection[str] = (),
) -> list[By]:
    """Displacements that bring the hips to their seat and keep them there, and the back to a backrest. The feet stay.

    places, rotations: (T, J, 3) joints and (T, J, 4) world rotations of a body that faces angles (T,). collider: the
    seat; rate: its poses per frame. radii: meters of the capsules of another body than the model's. without: names of
    SEAT_TARGETS that are left out.
    """
    count = len(places)
    first, end = seating.settled, count if seating.left is None else seating.left
    share = eased(count, first - SPREAD, first, end, end + SPREAD)
    shift: Array = np.zeros((count, 3))
    yaw: Array = np.zeros(count)
    if STILL not in without:
        shift[first:end] = _stilled(places[first:end, 0], seating.left is None)
    if CORRECTION not in without:
        far = seat_offset(seating, places[first, 0] + shift[first], rotations[first], float(facing[first]))
        off, turned = allowed(far[0], np.array(far[1]), TRUNK, facing[first])
        shift, yaw = shift + share[:, None] * off, share * turned
    turn = from_yaw(yaw)
    if LEAN not in without and seating.lean:
        stays = (count, count + 1) if seating.left is None else (end - 1, end - 1 + LEANS_OUT)
        leans = eased(count, first, first + LEANS_IN, *stays)
        moved, facing = places + shift[:, None], facing + yaw
        at = min(first + round(LEANS_IN), end - 1)
        leans *= _to_backrest(moved[at], rotations[at], facing[at], collider, at * rate, radii_of(radii))
        leaned, tilt = _leaning(moved, facing, leans)
        shift, turn = leaned - places[:, 0], multiply(from_exponential_map(tilt), turn)
    weight = (KEEPS if seating.lean else UPRIGHT_KEEPS) * share
    turns = to_exponential_map(turn)
    out = [By(HIPS, shift, weight), By(_YAW, turns[:, 2:], weight)]
    # A body that leans on nothing may bend, and so come out of what is behind it.
    return [*out, By(_TILT, turns[:, :2], weight)] if turns[:, :2].any() else out


def _stilled(hips: Array, stays: bool) -> Array:
    """Displacements (N, 3) that take from hips (N, 3) of a sitting body what sways within a second. stays: whether it
    sits to the end."""
    weight = eased(len(hips), 0, SWAY, len(hips) - (0 if stays else SWAY), len(hips))
    return np.asarray(weight[:, None] * (gaussian(hips, SWAY) - hips))


def _to_backrest(places: Array, rotations: Array, facing: Array, collider: Collider, at: float, radii: Array) -> float:
    """The share of _TRIED at which the trunk of a body with joints at places (J, 3) and world rotations (J, 4) touches
    a seat at frame `at` of its poses, or earlier the shins do; 0 where the trunk touches nothing on its way. radii:
    (P,) of the body's capsules at `bone_points`."""
    count = len(_TRIED)
    bodies = np.repeat(places[None], count, axis=0)
    tried = np.zeros((count, SIZE))
    hips, tried[:, PELVIS] = _leaning(bodies, np.repeat(facing, count), _TRIED)
    tried[:, HIPS] = hips - places[0]
    points = bone_points(Body(bodies, np.repeat(rotations[None], count, axis=0)).posed(tried)[0])
    seat: Placed = Surroundings([collider]).at(at)
    deep = radii - seat.distance(points.reshape(-1, 3)).reshape(count, -1)
    touches = deep > np.maximum(deep[0], 0) + PRESSES
    if not touches[:, _BACK].any():
        return 0.0
    return float(_TRIED[max(int(touches[:, _BACK | _SHINS].any(axis=1).argmax()) - 1, 0)])


def _leaning(places: Array, facing: Array, way: Array) -> tuple[Array, Array]:
    """Hips (F, 3) and rotation vectors (F, 3) of a body that leans back about its hip joints, and slides, by shares
    (F,) of the farthest."""
    ahead = np.append(direction(facing), np.zeros((len(facing), 1)), axis=1)
    tilt = -FARTHEST_BACK * way[:, None] * np.cross([0.0, 0.0, 1.0], ahead)
    middle = places[:, HIP_JOINTS].mean(axis=1)
    hips = middle + rotate(from_exponential_map(tilt), places[:, 0] - middle)
    return hips - SLIDES * np.maximum(way - UPRIGHT, 0)[:, None] / (1 - UPRIGHT) * ahead, tilt
