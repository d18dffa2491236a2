# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet on any ground (PFNN 6): a rollout's pose with its feet on the surfaces that they come to."""

from __future__ import annotations

import numpy as np

from ..cleanup.pfnn_foot_lock import posing
from ..geometry.ground import Ground
from ..motion.foot_lock import Heights, planting_feet
from ..motion.rotations import Array
from ..rollout.pfnn import Record
from ..rollout.pose import joint_places
from ..stepwise import Stepwise, by_frames
from .gaps import StepsOver

_TOGETHER = 256
"""Places whose nearest frame is sought at once, so that a minute's rollout takes 8 MB for it."""


def planting_on_ground(
    record: Record, rotation_reference: Array, ground: Ground, over: StepsOver | None = None
) -> Stepwise[tuple[Array, Array, Array]]:
    """Pose a rollout with planted feet, in pieces: joint places (T, J, 3), world rotations (T, J, 4) and contacts
    (T, 4). over: gaps that the feet step over."""
    hips, rotations, contacts, _ = yield from posing(record, rotation_reference)
    heights = surface_along(ground, record.root)
    targets = None
    if over is not None:
        posed = yield from by_frames(joint_places, hips, rotations)
        targets = over.targets(posed, contacts, record.root)[None]
    places, planted = yield from planting_feet(hips[None], rotations[None], contacts[None], heights, targets)
    return places[0], planted[0], contacts


def surface_along(ground: Ground, root: Array) -> Heights:
    """Heights of the ground at the storey on which a root (T, 4) walks.

    A place's storey is that of the nearest frame from above: a way that crosses itself on two storeys has its feet on
    one of them there.
    """
    if len(ground.levels) == 1:
        return ground.height

    def height(places: Array) -> Array:
        # Of a place for each frame, each is that frame's.
        if len(places) == len(root):
            return ground.height(places, root[:, 2])
        near = np.empty(len(places))
        for start in range(0, len(places), _TOGETHER):
            part = places[start : start + _TOGETHER, None] - root[:, :2]
            near[start : start + _TOGETHER] = root[np.einsum("ptd,ptd->pt", part, part).argmin(axis=1), 2]
        return ground.height(places, near)

    return height
