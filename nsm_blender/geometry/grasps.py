# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a thing is taken between two hands, found from its form."""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array, normalize
from .around import standing_room
from .colliders import Placed
from .form import SIDES, Form
from .reach import LIFT_HEIGHT, SPAN
from .roles import Carryable, Proposal

_EASY = 0.4
"""Metres between the palms, about the shoulders' width, that are held most easily."""
_PALM = 0.06
"""Metres: half the size of the patch that a palm lies on."""
_FULL = 300.0
"""kg of a cubic metre of what people carry: cartons, crates, sacks, with what is in them."""
_CLASSES = ((8.0, "light"), (20.0, "medium"), (np.inf, "heavy"))
"""kg up to which a thing is of a weight class."""
_TOO_HEAVY = 60.0


def propose_grasp(form: Form, around: Placed | None) -> Proposal:
    """Two palms on opposite sides, in the form's aligned frame; none when all sides are too far apart."""
    low, high = np.quantile(form.points, [0.002, 0.998], axis=0)
    middle = (low + high) / 2
    grasps = [(across, _palms(form.points, middle, across)) for across in (0, 1)]
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
    # Who stands on this side and looks at the thing has the left hand where the facing's right is.
    left = int(np.argmax(ends @ np.array([*SIDES[(side + 3) % 4], 0.0])))
    mass = form.voxels.volume() * _FULL
    weight = next(name for limit, name in _CLASSES if mass <= limit)
    handles = Carryable(ends[left].tolist(), ends[1 - left].tolist(), [*SIDES[side].tolist(), 0.0], weight)
    warnings = []
    if mass > _TOO_HEAVY:
        warnings.append(f"It is so large that it would weigh some {mass:.0f} kg: too heavy for one person to carry.")
    return Proposal(handles, warnings, 0.9 if len(fitting) == 2 else 0.8)


def check_grasp(grasp: Carryable, form: Form | None, floor: float) -> list[str]:
    """What is wrong with a grasp, in words. grasp: in the world. form: of the thing. floor: height one stands on."""
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


def _palms(points: Array, middle: Array, across: int) -> Array:
    """Lowest and highest coordinate (2,) of the surface on the line through the middle along an axis."""
    along = 1 - across
    for patch in (_PALM, 2 * _PALM, 4 * _PALM):
        near = (np.abs(points[:, along] - middle[along]) < patch) & (np.abs(points[:, 2] - middle[2]) < patch)
        if near.sum() < 20:
            continue
        coordinate = points[near, across]
        if coordinate.min() < middle[across] < coordinate.max():
            return np.quantile(coordinate, [0.01, 0.99])
    return np.quantile(points[:, across], [0.01, 0.99])


def _carrier_side(form: Form, across: int, middle: Array, around: Placed | None) -> int:
    """The freer one of the two sides that the palms leave; of two free ones the one that is nearer to the front."""
    ways = []
    for side in (1, 3) if across == 1 else (0, 2):
        along = 1 - across
        reach = float(np.ptp(form.points[:, along])) / 2 + 0.3
        place = np.array([*(middle[:2] + SIDES[side] * reach), form.floor])
        room = min(standing_room(around, form.to_world(place)), 0.5)
        ways.append((round(room, 1), float(SIDES[side] @ SIDES[form.front]), side))
    return max(ways)[2]
