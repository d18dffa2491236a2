# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep a moving body is in the things around it, and how lively it moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..geometry.body import depth
from ..geometry.colliders import Surroundings
from ..models.nsm import ACTIONS, FPS
from ..motion.motion import Motion
from ..motion.rotations import Array, conjugate, multiply, to_exponential_map

_ACTIVE = 0.2
"""Action label above which a frame belongs to an action that touches its thing."""
_EVERY = 3
"""Frames at 60 fps between two measurements of the depth."""


def penetration(motion: Motion, surroundings: Surroundings, used: Sequence[str]) -> Array:
    """Deepest meters (F,) by which the body is in a thing, every third frame, outside intended contacts.

    used: names of the things that the motion uses, see bodies.depth. Things that the motion moves count where they are.
    """
    surroundings = _with_moved(surroundings, motion)
    columns = [ACTIONS.index(name) for name in ("sit", "carry", "open")]
    out = []
    for frame in range(0, len(motion), _EVERY):
        sits, *handles = motion.actions[frame, columns] > _ACTIVE
        places = motion.positions[frame].astype(float)
        out.append(depth(places, float(frame), surroundings, used, bool(sits), any(handles)))
    return np.array(out)


def _with_moved(surroundings: Surroundings, motion: Motion) -> Surroundings:
    """The surroundings with the poses that a motion gives to things, at its own frames."""
    moved: dict[str, list[list[float]]] = motion.meta.get("things", {})
    if not moved:
        return surroundings
    return Surroundings(
        [
            replace(collider, poses=np.array(moved[collider.name])) if collider.name in moved else collider
            for collider in surroundings.colliders
        ]
    )


def motion_detail(motion: Motion) -> float:
    """Mean change in degrees of a joint's angle from frame to frame at 60 fps."""
    above = [max(parent, 0) for parent in motion.parents]
    local = multiply(conjugate(motion.rotations[:, above]), motion.rotations)[:, 1:]
    change = to_exponential_map(multiply(local[1:], conjugate(local[:-1])))
    return float(np.degrees(np.linalg.norm(change, axis=-1).mean()) * motion.fps / FPS)
