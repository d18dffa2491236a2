# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet on any ground (PFNN 6): a rollout's pose with its feet on the surfaces that they come to."""

from __future__ import annotations

from ..cleanup.ground_footholds import footholds_on_ground, reached_contacts, surface_along
from ..cleanup.pfnn_foot_lock import posing
from ..geometry.ground import Ground
from ..motion.foot_lock import planting_feet
from ..motion.rotations import Array
from ..rollout.pfnn import Record
from ..rollout.pose import joint_places
from ..stepwise import Stepwise, by_frames
from .gaps import StepsOver
from .treads import StepsOnTreads


def planting_on_ground(
    record: Record, rotation_reference: Array, ground: Ground, over: StepsOver | None = None
) -> Stepwise[tuple[Array, Array, Array]]:
    """Pose a rollout with planted feet, in pieces: joint places (T, J, 3), world rotations (T, J, 4) and contacts
    (T, 4). over: gaps that the feet step over."""
    hips, rotations, contacts, _ = yield from posing(record, rotation_reference)
    heights = surface_along(ground, record.root)
    wanted = yield from by_frames(joint_places, hips, rotations)
    if over is not None:
        wanted = over.targets(wanted, contacts, record.root)
    treads = StepsOnTreads(record, ground)
    wanted = yield from footholds_on_ground(wanted, contacts, ground, record.root, treads.choose)
    for _ in range(2):
        places, planted = yield from planting_feet(
            hips[None], rotations[None], contacts[None], heights, targets=wanted[None]
        )
        reached = reached_contacts(places[0], contacts, heights)
        if (reached == contacts).all():
            break
        contacts = reached
    return places[0], planted[0], contacts
