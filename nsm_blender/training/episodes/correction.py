# SPDX-License-Identifier: GPL-3.0-or-later
"""Composed carries and climbs corrected by the whole-body solver of the clean-up, as bakes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...cleanup.allowed_contacts import SOLE, TOWARD
from ...cleanup.balls import BONES, HANDS
from ...cleanup.hand_targets import carrying
from ...cleanup.terms import Wanted
from ...cleanup.whole_body import WholeBody, stood
from ...geometry.body import ARMS_GIVE, GIVE
from ...geometry.colliders import Collider
from ...geometry.collision import Gives, Obstacles
from ...motion.rotations import Array, make_continuous
from ...motion.skeleton import CONTACT_JOINTS
from ...rollout.held_objects import Hold
from .track import Track

_FEET = np.char.endswith(BONES, "Foot")
"""Which balls of the body are the feet's."""


def corrected(track: Track, colliders: Sequence[Collider], hold: Hold) -> Track:
    """The track of a body that gives way to colliders, as does the box that it holds, one of them.

    Planted feet stay, the palms stay on the faces of the box, and the box comes to its place where it is taken or left.
    """
    count = len(track)
    number = [collider.name for collider in colliders].index(hold.name)
    there = np.ones((count, len(colliders)), dtype=bool)
    there[hold.taken : count if hold.left is None else hold.left, number] = False
    obstacles = _obstacles(colliders, there)
    at, load = carrying(hold, track.positions(), track.rotations, colliders[number], obstacles)
    return _solved(track, Wanted(_stands(track), obstacles, _gives(number), at, loads=[load]))


def climbed(track: Track, thing: Collider) -> Track:
    """The track of a body that gives way to what it climbs on, as a bake does; hands may lie on it."""
    obstacles = _obstacles([thing], np.ones((len(track), 1), dtype=bool))
    return _solved(track, Wanted(_stands(track), obstacles, _gives(0, ARMS_GIVE)))


def _obstacles(colliders: Sequence[Collider], there: Array) -> Obstacles:
    """The colliders as obstacles, in the frames (T, C) in which they are there."""
    return Obstacles(colliders, [np.asarray(one.poses, dtype=float) for one in colliders], there, 0.0)


def _gives(handled: int, most: float = GIVE) -> Gives:
    """How far balls of the body may be in things: hands by meters in the thing number `handled`, and soles in what they
    are on."""

    def gives(balls: Array, _frames: Array, thing: int, normals: Array) -> Array:
        hands = HANDS[balls] if thing == handled else np.zeros(len(balls), dtype=bool)
        stands = _FEET[balls] & (normals[:, 2] > TOWARD)
        return np.where(hands, most, np.where(stands, SOLE, 0.0))

    return gives


def _stands(track: Track) -> dict[str, Array]:
    """(T,) by ankle whether its foot stands."""
    return {
        side + "Foot": (track.contacts[:, [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]] > 0.5).any(1)
        for side in ("Left", "Right")
    }


def _solved(track: Track, wanted: Wanted) -> Track:
    body = WholeBody(track.positions(), track.rotations, wanted)
    places, rotations = body.posed(stood(body.displacements(), wanted.stands))
    return replace(track, hips=places[:, 0], rotations=make_continuous(rotations))
