# SPDX-License-Identifier: GPL-3.0-or-later
"""Random tasks in unseen rooms: how many of them are finished, and by how much the body is in things meanwhile."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from ..control.check import check
from ..control.goals import ActionKey, Goal
from ..control.scene_bake import SceneBake
from ..control.scene_network import actions_of
from ..control.shot import Shot
from ..geometry.colliders import Surroundings
from ..geometry.furniture import held_out
from ..geometry.rooms import Room, random_room
from ..models.nsm import NSM
from ..motion.rotations import Array
from .metrics import foot_slide
from .nsm_bodies import penetration

ROOMS, TASKS = 20, 10
FPS = 30.0
SPARE = 6.0
"""Seconds that a shot is longer than foreseen."""
USES = {"sit": "seat", "pick_up": "carryable", "open": "door"}
"""Tasks with a thing of a role; besides, one walks and runs."""
CLOSE_CM = 30.0
"""Centimetres from its goal within which a walk has come to it."""
DEVELOPMENT = 100001

Figures = dict[str, float]
Log = Callable[[str], None]


def success(network: NSM, log: Log, rooms: int | None = None, development: bool = False) -> Figures:
    """The share of tasks that are finished among those that `check` lets through, by action and in all.

    What check refuses (no way there, no room before the thing) is drawn again.
    """
    count = ROOMS if rooms is None else rooms
    seeds = (
        [DEVELOPMENT + 5 * n for n in range(count)]
        if development
        else [seed for seed in range(5 * count + 5) if held_out(seed)][:count]
    )
    tried, finished, slides = Counter[str](), Counter[str](), list[float]()
    depths = list[Array]()
    for seed in seeds:
        room = random_room(seed)
        rng = np.random.default_rng([33, seed])
        for number in range(TASKS):
            shot = _task(room, rng, network)
            motion = SceneBake(shot, network).motion()
            key = motion.meta["keys"][0]
            action = key["action"]
            near = action not in ("walk", "run") or (key["error_cm"] is not None and key["error_cm"] < CLOSE_CM)
            done = not key["trouble"] and key["arrived"] is not None and near
            tried[action] += 1
            finished[action] += done
            slides.append(foot_slide(motion))
            used = [goal.collider for goal in shot.goals if goal.collider]
            depths.append(penetration(motion, Surroundings(shot.colliders), used))
            if not done:
                log(f"room {seed}, task {number}, {action}: {key['trouble'] or 'off the goal'}")
    depth = 100 * np.concatenate(depths)
    out = {f"nsm.success.{action}": finished[action] / tried[action] for action in sorted(tried)}
    out |= {
        "nsm.success.rate": sum(finished.values()) / max(sum(tried.values()), 1),
        "nsm.success.tasks": float(sum(tried.values())),
        "nsm.foot_slide_cm_per_s.rooms": float(np.mean(slides)),
        "nsm.penetration_cm.p99": float(np.percentile(depth, 99)),
        "nsm.penetration_cm.max": float(depth.max()),
    }
    for name, value in out.items():
        log(f"{name} {value:.3f}")
    return out


def _task(room: Room, rng: np.random.Generator, network: NSM) -> Shot:
    """A task that can be done, from a free place, looking anywhere."""
    able = actions_of(network.card)
    things = {a: [c for c in room.colliders if c.role == role and c.handles is not None] for a, role in USES.items()}
    kinds = ["walk", "run", *(action for action, found in things.items() if found and action in able)]
    while True:
        action = kinds[int(rng.integers(len(kinds)))]
        start = room.free[rng.integers(len(room.free))]
        end = room.free[rng.integers(len(room.free))]
        found = things.get(action, [])
        name = found[int(rng.integers(len(found)))].name if found else ""
        shot = Shot(
            "task",
            FPS,
            2,
            keys=[ActionKey(action, "goal")],
            goals=[Goal("goal", [*end.tolist(), 0.0], None, name)],
            colliders=room.colliders,
            start=[*start.tolist(), 0.0, float(rng.uniform(-math.pi, math.pi))],
        )
        if any(problem.fatal for problem in check(shot, able)):
            continue
        metres = float(np.ptp(np.vstack((start, end)), axis=0).sum())
        shot.frames = math.ceil((SPARE + 4 + metres / 0.7) * FPS)
        return shot
