# SPDX-License-Identifier: GPL-3.0-or-later
"""Random tasks in unseen rooms: how many of them are finished, and by how much the body is in things meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..baking.nsm import SceneBake
from ..geometry.colliders import Surroundings
from ..geometry.furniture import held_out
from ..geometry.rooms import Room, random_room
from ..models.nsm_predictor import Predictor
from ..motion.rotations import Array
from ..naturalness.case import Case
from ..naturalness.metrics import foot_slide
from ..rollout.nsm_network import actions_of
from ..shot.goals import ActionKey, Goal
from ..shot.shot import Shot
from ..tasks.arrival_times import foresee
from ..tasks.validation import check
from .naturalness.mesh_contact import contact_of
from .nsm_bodies import added_acceleration, added_figures, measured_frames, penetration

ROOMS, TASKS = 20, 10
"""Rooms, and tasks in each."""
FPS = 30.0
"""Frames a second of the shots."""
SPARE = 10.0
"""Seconds that a shot is longer than foreseen, which leaves time for a second try."""
USES = {"sit": "seat", "pick_up": "carryable", "open": "door"}
"""Role of the thing that each task uses; walking and running use none."""
CLOSE_CM = 30.0
"""Centimeters from its goal within which a walk has come to it."""
DEVELOPMENT = 100001
"""First of the seeds of rooms that are neither trained on nor reported on."""
FIRST = 800
"""First seed of the rooms that are reported on; rooms below it served other figures, or were looked at."""

Figures = dict[str, float]
Log = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Task:
    """A task in a room. slide: cm/s of the feet in contact. depths: meters of the body in colliders, by frame.
    mesh_depths: meters of the body and of what it carries in the true meshes, at the same frames. added: see
    `added_acceleration`."""

    room: int
    action: str
    finished: bool
    trouble: str
    slide: float
    depths: Array
    mesh_depths: Array
    added: float


def seeds(count: int, development: bool = False) -> list[int]:
    """Seeds of rooms that nothing was trained on, and that no result was looked at on."""
    if development:
        return [DEVELOPMENT + 5 * n for n in range(count)]
    return [FIRST + n for n in range(5 * count) if held_out(FIRST + n)][:count]


def tasks(network: Predictor, seed: int) -> list[Task]:
    """TASKS random tasks in the room of a seed. What `check` refuses (no way there, no room before the thing) is drawn
    again."""
    room = random_room(seed)
    meshes = {item.name: item.piece.parts for item in room.furnishings}
    out = []
    for shot in task_shots(network, room, seed):
        bake = SceneBake(shot, network)
        motion = bake.motion()
        key = motion.meta["keys"][0]
        action, done = key["action"], is_done(key)
        used = [goal.collider for goal in shot.goals if goal.collider]
        depths = penetration(motion, Surroundings(shot.colliders), used)
        contact = contact_of(Case("room", seed, shot, meshes), motion, measured_frames(motion))
        added = added_acceleration(bake.record(), motion)
        trouble = "" if done else key["trouble"] or "off the goal"
        out.append(Task(seed, action, done, trouble, foot_slide(motion), depths, contact.deepest / 100, added))
    return out


def task_shots(network: Predictor, room: Room, seed: int) -> Iterator[Shot]:
    """The shots of the tasks in the room of a seed."""
    rng = np.random.default_rng([33, seed])
    return (random_task(room, rng, network) for _ in range(TASKS))


def is_done(key: Mapping[str, Any]) -> bool:
    """Whether a key of a motion was done, a walk up to CLOSE_CM from its goal."""
    near = key["action"] not in ("walk", "run") or (key["error_cm"] is not None and key["error_cm"] < CLOSE_CM)
    return not key["trouble"] and key["arrived"] is not None and near


def success_figures(done: Sequence[Task], log: Log) -> Figures:
    """The share of tasks that were finished, by action and in all, and what they looked like."""
    for one in done:
        if not one.finished:
            log(f"room {one.room}, {one.action}: {one.trouble}")
    by_action = {action: [one for one in done if one.action == action] for action in sorted({t.action for t in done})}
    out = {f"nsm.success.{action}": _share(found) for action, found in by_action.items()}
    depth = 100 * np.concatenate([one.depths for one in done])
    mesh_depth = 100 * np.concatenate([one.mesh_depths for one in done])
    out |= {
        "nsm.success.rate": _share(done),
        "nsm.success.tasks": float(len(done)),
        "nsm.penetration_cm.p99": float(np.percentile(depth, 99)),
        "nsm.penetration_cm.max": float(depth.max()),
        "nsm.mesh_penetration_cm.p99": float(np.percentile(mesh_depth, 99)),
        "nsm.mesh_penetration_cm.max": float(mesh_depth.max()),
    }
    out |= added_figures("nsm.added_acceleration.rooms", [one.added for one in done], FPS)
    slides = {action: float(np.mean([one.slide for one in found])) for action, found in by_action.items()}
    return out | {f"nsm.foot_slide_cm_per_s.rooms_{action}": slide for action, slide in slides.items()}


def _share(done: Sequence[Task]) -> float:
    return sum(one.finished for one in done) / max(len(done), 1)


def random_task(room: Room, rng: np.random.Generator, network: Predictor) -> Shot:
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
        shot.frames = math.ceil(foresee(shot, able)[0].done + SPARE * FPS)
        return shot
