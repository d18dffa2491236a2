# SPDX-License-Identifier: GPL-3.0-or-later
"""Minutes of random goals in one room: whether a body that meets its own errors for long stays a body."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..baking.nsm import SceneBake
from ..geometry.colliders import Collider, Surroundings
from ..geometry.ground_height import CLIMBABLE
from ..geometry.rooms import Room, random_room
from ..models.nsm import ACTIONS, FPS
from ..models.nsm_predictor import Predictor
from ..motion.filters import runs, velocity
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..planning.occupancy_grid import ObstacleOutlines
from ..rollout.nsm_network import actions_of
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from ..tasks.outcome import UNFINISHED
from ..tasks.validation import check
from .nsm_rooms import ROOMS, USES, seeds

FRAMES = 10000
"""Frames of a sequence at 60 fps."""
KEYS = 40
"""Keys of a sequence, more than are done in that time."""
REFUSALS = 60
"""Draws that may be refused before a sequence ends shorter, since there may be nothing left that can be done."""
AFLOAT = 0.12
"""Meters of the lower foot above its height in stance from which a character floats."""
FROZEN = 0.005
"""Speed in m/s that no joint exceeds in a frozen pose."""
_FEET = MODEL_SKELETON.indices(CONTACT_JOINTS)
_RESTING = [ACTIONS.index(name) for name in ("idle", "sit")]


@dataclass(frozen=True)
class Wandering:
    """finite: all numbers are. floating, frozen: seconds of the longest stretch, outside sitting, and outside idle and
    sitting. keys, done: that came to an end before the motion did, and were done without trouble."""

    finite: bool
    floating: float
    frozen: float
    keys: int
    done: int


def wander(network: Predictor, development: bool = False) -> Wandering:
    """FRAMES frames of random keys in a room in which nothing else is measured."""
    seed = seeds(ROOMS + 1, development)[-1]
    shot = random_shot(random_room(seed), actions_of(network.card), np.random.default_rng([35, seed]))
    return judged(SceneBake(shot, network).motion(), shot.colliders)


def judged(motion: Motion, colliders: Sequence[Collider] = ()) -> Wandering:
    """What a motion at 60 fps looks like on the floor at z = 0 and on those of the colliders that carry a body."""
    places = motion.positions.astype(float)
    standing = MODEL_SKELETON.rest_positions()[_FEET, 2] - MODEL_SKELETON.rest_positions()[:, 2].min()
    feet = places[:, _FEET]
    low = (feet[..., 2] - _ground(feet[..., :2], colliders) - standing).min(axis=1)
    still = np.linalg.norm(velocity(places, FPS), axis=2).max(axis=1) < FROZEN
    resting = (motion.actions[:, _RESTING] > 0.5).any(axis=1)
    sits = motion.actions[:, ACTIONS.index("sit")] > 0.5
    keys = motion.meta.get("keys", [])
    ended = [key for key in keys if key["set_off"] is not None and key["trouble"] != UNFINISHED]
    return Wandering(
        bool(np.isfinite(places).all() and np.isfinite(motion.rotations).all()),
        _longest((low > AFLOAT) & ~sits),
        _longest(still & ~resting),
        len(ended),
        sum(not key["trouble"] for key in ended),
    )


def figures_of(found: Wandering) -> dict[str, float]:
    """By the names of `evaluate --json`."""
    return {
        "nsm.endurance.finite": float(found.finite),
        "nsm.endurance.floating_s": found.floating,
        "nsm.endurance.frozen_s": found.frozen,
        "nsm.endurance.keys": float(found.keys),
        "nsm.endurance.done": found.done / max(found.keys, 1),
    }


def _longest(on: Array) -> float:
    return max((end - start for start, end in runs(on)), default=0) / FPS


def _ground(places: Array, colliders: Sequence[Collider]) -> Array:
    """Height (T, N) of the floor, or of the top that is there, under places (T, N, 2). The tops stand still."""
    tops = ObstacleOutlines.of(Surroundings([one for one in colliders if one.role in CLIMBABLE]).at(0))
    on = tops.distances(places.reshape(-1, 2)) <= 0
    out: Array = np.where(on, tops.high, 0.0).max(axis=1, initial=0.0).reshape(places.shape[:2])
    return out


def random_shot(room: Room, able: tuple[str, ...], rng: np.random.Generator, keys: int = KEYS) -> Shot:
    """Random keys, one after the other, of those that can be done; what is picked up is put down next. Fewer than
    `keys` where nearly nothing can be done."""
    start = room.free[int(rng.integers(len(room.free)))]
    shot = Shot(
        "wandering",
        FPS,
        FRAMES,
        colliders=room.colliders,
        start=[*start.tolist(), 0.0, float(rng.uniform(-math.pi, math.pi))],
    )
    roles = {**USES, "put_down": "surface"}
    named = {a: [c.name for c in room.colliders if c.role == r and c.handles is not None] for a, r in roles.items()}
    actions = ["walk", "walk", "run", *(action for action in USES if action in able and named[action])]
    refused = 0
    while len(shot.keys) < keys and refused < REFUSALS:
        action = actions[int(rng.integers(len(actions)))] if shot.keys else "walk"
        longer = shot
        # Both or neither: there may be nowhere to put a thing down.
        for part in (action, "put_down") if action == "pick_up" else (action,):
            place = room.free[int(rng.integers(len(room.free)))]
            there = named.get(part, [])
            name = there[int(rng.integers(len(there)))] if there else ""
            goal = Goal(f"goal {len(longer.keys)}", [*place.tolist(), 0.0], None, name)
            key = ActionKey(part, goal.name, hold=float(rng.uniform(0.0, 2.0)))
            longer = replace(longer, keys=[*longer.keys, key], goals=[*longer.goals, goal])
        if any(problem.fatal for problem in check(longer, able)):
            refused += 1
        else:
            shot = longer
    return shot
