# SPDX-License-Identifier: GPL-3.0-or-later
"""Composed carries corrected by the whole-body solver of the clean-up, under the same constraints as bakes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...cleanup.allowed_contacts import SOLE, TOWARD
from ...cleanup.balls import BONES, HANDS
from ...cleanup.hand_targets import carrying
from ...cleanup.terms import Wanted
from ...cleanup.whole_body import WholeBody, stood
from ...geometry.body import GIVE
from ...geometry.colliders import Collider
from ...geometry.collision import Obstacles
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
    places, count = track.positions(), len(track)
    number = [collider.name for collider in colliders].index(hold.name)
    there = np.ones((count, len(colliders)), dtype=bool)
    there[hold.taken : count if hold.left is None else hold.left, number] = False
    obstacles = Obstacles(colliders, [np.asarray(one.poses, dtype=float) for one in colliders], there, 0.0)
    at, load = carrying(hold, places, track.rotations, colliders[number], obstacles)

    def gives(balls: Array, _frames: Array, thing: int, normals: Array) -> Array:
        hands = HANDS[balls] if thing == number else np.zeros(len(balls), dtype=bool)
        stands = _FEET[balls] & (normals[:, 2] > TOWARD)
        return np.where(hands, GIVE, np.where(stands, SOLE, 0.0))

    stands = {
        side + "Foot": (track.contacts[:, [CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")]] > 0.5).any(1)
        for side in ("Left", "Right")
    }
    body = WholeBody(places, track.rotations, Wanted(stands, obstacles, gives, at, loads=[load]))
    places, rotations = body.posed(stood(body.displacements(), stands))
    return replace(track, hips=places[:, 0], rotations=make_continuous(rotations))
