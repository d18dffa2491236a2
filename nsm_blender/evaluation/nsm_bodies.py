# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep a moving body is in the things around it, how lively it moves, and how much the clean-up jerks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..geometry.body import depth
from ..geometry.colliders import Surroundings
from ..models.nsm import ACTIONS, FPS
from ..motion.motion import Motion
from ..motion.rotations import Array, conjugate, multiply, to_exponential_map
from ..naturalness.metrics import acceleration
from ..naturalness.recorded import joint_acceleration
from ..rollout.nsm import SceneRecord

_ACTIVE = 0.2
"""Action label above which a frame belongs to an action that touches its thing."""
_EVERY = 3
"""Frames between two measurements of the depth."""


def penetration(motion: Motion, surroundings: Surroundings, used: Sequence[str]) -> Array:
    """Deepest meters (F,) by which the body is in a thing, every third frame, outside intended contacts.

    used: names of the things that the motion uses, see bodies.depth. Things that the motion moves count where they are.
    """
    surroundings = _with_moved(surroundings, motion)
    columns = [ACTIONS.index(name) for name in ("sit", "carry", "open")]
    out = []
    for frame in measured_frames(motion).tolist():
        sits, *handles = motion.actions[frame, columns] > _ACTIVE
        places = motion.positions[frame].astype(float)
        out.append(depth(places, float(frame), surroundings, used, bool(sits), any(handles)))
    return np.array(out)


def measured_frames(motion: Motion) -> Array:
    """Frames (F,) of a motion at which its depth in things is measured."""
    return np.arange(0, len(motion), _EVERY)


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


def rollout_places(record: SceneRecord, motion: Motion) -> Array:
    """Joint places (F, J, 3) of the rollout at the frames of the motion that was made of it. In a shot with keys that
    are told when to arrive, which runs on another clock, these are not the same frames."""
    frames = np.rint(np.arange(len(motion)) * FPS / motion.fps).astype(int)
    return np.asarray(record.places[np.minimum(frames, len(record.places) - 1)])


def added_acceleration(record: SceneRecord, motion: Motion) -> float:
    """Largest acceleration in m/s^2, over joints and frames, of a finished motion beyond that of its rollout."""
    finished = acceleration(motion.positions.astype(float), motion.fps)
    return float((finished - acceleration(rollout_places(record, motion), motion.fps)).max(initial=0.0))


def added_figures(name: str, added: Sequence[float], fps: float) -> dict[str, float]:
    """The largest acceleration that the clean-up adds to each of some motions at a frame rate against the 99.9th
    percentile of recorded joints: the largest of all, and the number of motions in which it is larger than that."""
    people = joint_acceleration(fps).at(99.9)
    return {
        f"{name}.max_m_s2": max(added),
        f"{name}.recorded_m_s2": people,
        f"{name}.motions": float(len(added)),
        f"{name}.over": float(sum(one > people for one in added)),
    }
