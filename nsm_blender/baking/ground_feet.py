# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted feet on any ground (PFNN 6): a rollout's pose with its feet on the surfaces that they come to."""

from __future__ import annotations

from collections.abc import Collection

from ..cleanup.ground_footholds import footholds_on_ground, reached_contacts, surface_along
from ..cleanup.overhead_clearance import sinking
from ..cleanup.pfnn_foot_lock import posing, swaying
from ..geometry.ground import Ground
from ..models.sway import Sample
from ..motion.foot_lock import planting_feet
from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON
from ..rollout.pfnn import Record
from ..rollout.pose import joint_places
from ..stepwise import Stepwise, by_frames
from .gaps import StepsOver
from .treads import StepsOnTreads

FEET_PARTS = TREADS, FOOTHOLDS, ARCS, REACH, OVER_GAPS = (
    "tread_choice",
    "ground_footholds",
    "edge_arcs",
    "reached_ground",
    "steps_over_gaps",
)
"""Names of the parts that can be left out: treads that are chosen together, soles on even ground, swings in arcs over
edges, stances only where the leg reaches the ground, feet beside gaps."""


def planting_on_ground(
    record: Record,
    rotation_reference: Array,
    ground: Ground,
    over: StepsOver | None = None,
    without: Collection[str] = (),
    sway: Sample | None = None,
) -> Stepwise[tuple[Array, Array, Array]]:
    """Pose a rollout with planted feet, in pieces: joint places (T, J, 3), world rotations (T, J, 4) and contacts
    (T, 4). over: gaps that the feet step over. without: FEET_PARTS that are left out. sway: of as many frames."""
    hips, rotations, contacts, _ = yield from posing(record, rotation_reference)
    heights = surface_along(ground, record.root)
    wanted = yield from by_frames(joint_places, hips, rotations)
    hips, rotations = yield from swaying(record, hips, rotations, contacts, sway)
    if ground.has_ceilings:
        head, near = wanted[:, MODEL_SKELETON.index("Head")], record.root[:, 2]
        undersides = ground.height(head[:, :2], near) + ground.clearance(head[:, :2], near)
        hips = hips - sinking(head[:, 2], undersides)[:, None] * [0.0, 0.0, 1.0]
        yield
    if over is not None and OVER_GAPS not in without:
        wanted = over.targets(wanted, contacts, record.root)
    if FOOTHOLDS not in without:
        choose = None if TREADS in without else StepsOnTreads(record, ground).choose
        wanted = yield from footholds_on_ground(wanted, contacts, ground, record.root, choose)
    for _ in range(2):
        places, planted = yield from planting_feet(
            hips[None], rotations[None], contacts[None], heights, targets=wanted[None], arcs=ARCS not in without
        )
        reached = reached_contacts(places[0], contacts, heights)
        if REACH in without or (reached == contacts).all():
            break
        contacts = reached
    return places[0], planted[0], contacts
