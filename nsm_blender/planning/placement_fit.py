# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a box fits where it is to be put down: its size against the compartment's, in the pose in which it is put."""

from __future__ import annotations

import numpy as np

from ..geometry.colliders import Collider, Placed
from ..geometry.roles import Surface
from ..geometry.scene_state import corners, to_world
from ..motion.rotations import Array, normalize, rotate

SNUG = 0.01
"""Meters by which a box may be larger than the compartment: what voxels and bevels make of sizes."""
SUPPORTED = 0.8
"""Share of a box that must lie on a top beyond whose edges nothing is: it may reach over them by the rest."""
RIM = 0.06
"""Meters over a surface from which what rises is the compartment's wall, and lower a rim that a box is put over."""
_STEP = 0.005
"""Meters between the points at which the compartment is measured."""


def misfit(box: Collider, put: Array, thing: Collider, pose: Array, surface: Surface, things: Placed) -> str:
    """A sentence about a box that does not fit on a surface, "" for one that does.

    put: pose (7,) of the box there. pose: (7,) of the thing that the surface is of. things: what stands around it, and
    it itself, without the box.
    """
    out = normalize(rotate(pose[3:], np.array(surface.facing)) * [1.0, 1.0, 0.0])
    axes = np.array([out, [-out[1], out[0], 0.0], [0.0, 0.0, 1.0]])
    outline = corners(box, put) @ axes.T
    size, middle = np.ptp(outline, axis=0), (outline.max(axis=0) + outline.min(axis=0)) / 2
    place = axes @ to_world(np.array(surface.place), pose)
    free = _free(axes, np.array([place[0] + surface.depth / 2, middle[1], place[2]]), size, things)
    top = np.array([surface.depth, surface.width, np.inf])
    is_open = np.isinf(free)
    most = np.where(is_open, top / SUPPORTED, free + SNUG)
    if (size <= most).all():
        return ""
    worst = int(np.where(np.isinf(most), -np.inf, size - most).argmax())
    how = ("deep", "wide", "high")[worst]
    into, part, space = ("onto", "top", top) if is_open[worst] else ("into", "compartment", free)
    return (
        f"'{box.name}' is {100 * size[worst]:.0f} cm {how} and does not fit {into} '{thing.name}', whose {part} is "
        f"{100 * space[worst]:.0f} cm {how}. Choose another place."
    )


def _free(axes: Array, edge: Array, size: Array, things: Placed) -> Array:
    """Meters (3,) that are free for a box of a size (3,) behind a surface's edge: its depth, width and height.

    axes: (3, 3) unit vectors outwards, aside and up. edge: (3,) the point of the edge abreast of the box, along these.
    Infinite where nothing is met within the box's size.
    """
    near = things.near(edge @ axes, float(np.linalg.norm(size)))
    low = np.array([RIM, min(1.5 * RIM, max(size[2] - SNUG, RIM))])

    def met(way: Array, first: Array, far: float) -> float:
        """Meters from points (P, 3) along a direction (3,) to what is met first, no farther than `far`."""
        steps = np.arange(0.0, far + _STEP, _STEP)
        points = (first[:, None] + steps[:, None] * way).reshape(-1, 3)
        inside = (near.distance(points @ axes) <= 0).reshape(len(first), -1).any(axis=0)
        return float(steps[inside.argmax()]) if inside.any() else np.inf

    back, aside, up = np.array([-1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    depth = met(back, edge + low[:, None] * up, size[0])
    inner = edge + 0.5 * min(depth, size[0]) * back
    left, right = (met(side, inner + low[:, None] * up, size[1]) for side in (aside, -aside))
    width = left + right
    share = np.array([-0.4, 0.0, 0.4])
    over = np.array(
        [inner + a * min(depth, size[0]) * back + b * min(width, size[1]) * aside for a in share for b in share]
    )
    return np.array([depth, width, met(up, over + RIM * up, size[2]) + RIM])
