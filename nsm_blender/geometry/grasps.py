# SPDX-License-Identifier: GPL-3.0-or-later
"""Two-handed grasps of a thing, found from its form."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array, normalize
from .clearance import standing_room
from .colliders import Placed
from .form import SIDES, Form, extent_of
from .reach import LIFT_HEIGHT, SPAN
from .roles import Carryable, Proposal

_EASY = 0.4
"""Distance in meters between the palms that is held most easily, about the shoulders' width."""
_PALM, _PALM_WIDE = 0.06, 0.1
"""Half the height and half the breadth in meters of the patch of a side that is examined for a palm."""
_CELLS = 8
"""Cells along each edge of the patch for a palm."""
_FLAP = 0.05
"""Largest change in meters of a body's outline over its height; where it changes more there are flaps or a lid."""
_FULL = 300.0
"""Density in kg per cubic meter of carried things: cartons, crates and sacks with their content."""
_CLASSES = ((8.0, "light"), (20.0, "medium"), (np.inf, "heavy"))
"""Upper limit in kg and name of each weight class."""
_TOO_HEAVY = 60.0
"""Weight in kg above which a grasp gets a warning."""
_PORTABLE, _NARROW, _BULKY = 0.8, 0.52, 0.14
"""Largest edge of a portable thing in meters, largest edge across its narrower side in meters, and largest volume in
cubic meters."""
_MOST = 0.45
"""Least share of a thing's height, breadth and depth that its body has; with less it is a column or a drawer."""
_HAND, _SIDES = 0.08, 0.8
"""Edge in meters of a cell of a side, and least share of such cells that are closed on a box, a case or a basket:
furniture on legs is open below."""


def propose_grasp(form: Form, around: Placed | None) -> Proposal:
    """Propose palms on two opposite sides, in the form's aligned frame; none when all sides are too far apart."""
    low, high = body(form)
    middle = (low + high) / 2
    grasps = [(across, _palms(form.points, low, high, across)) for across in (0, 1)]
    widths = [float(palms[1] - palms[0]) for _, palms in grasps]
    fitting = [grasp for grasp, width in zip(grasps, widths, strict=True) if SPAN[0] <= width <= SPAN[1]]
    if not fitting:
        if min(widths) > SPAN[1]:
            text = f"It is {min(widths):.2f} m wide at its narrowest: too wide to grasp, hands span {SPAN[1]:.2f} m."
        else:
            text = f"It is only {max(widths):.2f} m thick: too thin to be taken between two palms."
        return Proposal(None, [text])
    across, palms = min(fitting, key=lambda grasp: abs(grasp[1][1] - grasp[1][0] - _EASY))
    side = _carrier_side(form, across, middle, around)
    ends = np.repeat(middle[None], 2, axis=0)
    ends[:, across] = palms
    # The carrier looks against the facing, so that the left hand is on the facing's right.
    left = int(np.argmax(ends @ np.array([*SIDES[(side + 3) % 4], 0.0])))
    mass = form.voxels.volume() * _FULL
    weight = next(name for limit, name in _CLASSES if mass <= limit)
    handles = Carryable(ends[left].tolist(), ends[1 - left].tolist(), [*SIDES[side].tolist(), 0.0], weight)
    warnings = []
    if mass > _TOO_HEAVY:
        warnings.append(f"It is so large that it would weigh some {mass:.0f} kg: too heavy for one person to carry.")
    return Proposal(handles, warnings, 0.9 if len(fitting) == 2 else 0.8)


def check_grasp(grasp: Carryable, form: Form | None, floor: float) -> list[str]:
    """List the problems of a grasp in the world, one sentence each. form: of the thing. floor: height in meters on
    which the character stands."""
    left, right, facing = (np.array(v, dtype=float) for v in (grasp.left, grasp.right, grasp.facing))
    across = right - left
    width = float(np.linalg.norm(across))
    out = []
    if width > SPAN[1]:
        out.append(f"The palms are {width:.2f} m apart: too wide to grasp, hands span {SPAN[1]:.2f} m.")
    elif width < SPAN[0]:
        out.append(f"The palms are only {100 * width:.0f} cm apart: nothing fits between them.")
    if width > 1e-6:
        if abs(across[2]) > 0.35 * width:
            out.append("One palm is much higher than the other: move them to the same height.")
        to_right = np.array([-facing[1], facing[0], 0.0])
        if normalize(across) @ to_right < 0.5:
            out.append("Left and right are swapped, or the facing does not lie square to the palms: turn it.")
    height = (left[2] + right[2]) / 2 - floor
    if height > LIFT_HEIGHT:
        out.append(
            f"The palms are {height:.2f} m above the floor: out of reach, people lift from 0 to {LIFT_HEIGHT} m."
        )
    if form is not None:
        for name, palm in (("left", left), ("right", right)):
            gap = float(np.linalg.norm(form.points - palm @ form.world, axis=1).min())
            if gap > 0.05:
                out.append(f"The {name} palm is {100 * gap:.0f} cm away from the object: move it onto the surface.")
    return out


def body(form: Form) -> tuple[Array, Array]:
    """Low and high corner (3,) of a thing's body in its aligned frame: without carrying handles, lids and flaps.

    The body spans the heights at which the thing is closed all around: an open box counts with its content.
    """
    filled, size, origin = form.voxels.filled, form.voxels.size, form.voxels.origin
    inside = filled.copy()
    for axis in (0, 1):
        before = np.maximum.accumulate(filled, axis=axis)
        after = np.flip(np.maximum.accumulate(np.flip(filled, axis), axis=axis), axis)
        inside = inside & before & after if axis else before & after
    layers = np.flatnonzero(inside.any(axis=(0, 1)))
    if len(layers) == 0:
        low, high = np.quantile(form.points, [0.002, 0.998], axis=0)
        return low, high
    ends = np.array([np.concatenate(extent_of(inside[:, :, layer])) for layer in layers])
    area = inside.sum(axis=(0, 1))[layers]
    usual = np.median(ends[area >= 0.5 * np.median(area)], axis=0)
    alike = layers[(np.abs(ends - usual).max(axis=1) * size < _FLAP) | (area >= 0.7 * np.median(area))]
    low = np.array([*(origin[:2] + size * usual[:2]), origin[2] + size * alike[0]])
    high = np.array([*(origin[:2] + size * usual[2:]), origin[2] + size * (alike[-1] + 1)])
    points = form.points
    within = (points > low - size).all(axis=1) & (points < high + size).all(axis=1)
    # A voxel only surrounds the surface: take the surface itself.
    return (low, high) if not within.any() else tuple(np.quantile(points[within], [0.002, 0.998], axis=0))


def is_portable(form: Form) -> bool:
    """Whether a thing has the form of a box, case or bag that is carried between two hands: of such a size, with
    sides."""
    size = np.ptp(form.points, axis=0)
    low, high = body(form)
    extent = high - low
    return bool(
        extent.max() <= _PORTABLE
        and extent[:2].min() <= _NARROW
        and float(np.prod(extent)) <= _BULKY
        and (extent >= _MOST * size).all()
        and _walled(form, low, high) > _SIDES
    )


def _walled(form: Form, low: Array, high: Array) -> float:
    """Share of a body's upright sides, in cells of about a hand's size, on which there is surface."""
    points, found = form.points, []
    for across in (0, 1):
        along = 1 - across
        count = np.maximum(np.round((high - low)[[along, 2]] / _HAND), 1).astype(int)
        at = (points[:, [along, 2]] - low[[along, 2]]) / np.maximum((high - low)[[along, 2]], 1e-9) * count
        cell = np.clip(np.floor(at).astype(int), 0, count - 1) @ [count[1], 1]
        third = (high - low)[across] / 3
        for near in (points[:, across] < low[across] + third, points[:, across] > high[across] - third):
            inside = near & (at >= 0).all(axis=1) & (at <= count).all(axis=1)
            found.append(len(np.unique(cell[inside])) / float(np.prod(count)))
    return min(found)


def _palms(points: Array, low: Array, high: Array, across: int) -> Array:
    """Lowest and highest coordinate (2,) along an axis of a body between two corners, where palms lie on its sides.

    The coordinate of most of a side counts, so that a carrying handle or a hinge that sticks out does not.
    """
    along, middle = 1 - across, (low + high) / 2
    patch = np.minimum([_PALM_WIDE, _PALM], 0.5 * (high - low)[[along, 2]])
    away = points[:, [along, 2]] - middle[[along, 2]]
    near = (np.abs(away) <= patch).all(axis=1)
    if near.sum() < 20:
        return np.array([low[across], high[across]])
    cell = np.floor((away[near] + patch) / (2 * patch + 1e-9) * _CELLS).astype(int) @ [_CELLS, 1]
    coordinate = points[near, across]
    out = []
    for sign in (-1.0, 1.0):
        ends = np.full(_CELLS**2, -np.inf)
        np.maximum.at(ends, cell, sign * coordinate)
        ends = ends[np.isfinite(ends) & (ends > sign * middle[across])]
        out.append(sign * float(np.median(ends)) if len(ends) else (low if sign < 0 else high)[across])
    return np.array(out)


def _carrier_side(form: Form, across: int, middle: Array, around: Placed | None) -> int:
    """Choose the freer of the two sides that the palms leave, and of two free sides the one nearer to the front."""
    ways = []
    for side in (1, 3) if across == 1 else (0, 2):
        along = 1 - across
        reach = float(np.ptp(form.points[:, along])) / 2 + 0.3
        place = np.array([*(middle[:2] + SIDES[side] * reach), form.floor])
        room = min(standing_room(around, form.to_world(place)), 0.5)
        ways.append((round(room, 1), float(SIDES[side] @ SIDES[form.front]), side))
    return max(ways)[2]
