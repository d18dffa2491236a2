# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of taking a box and walking off with it, and of bringing a box and putting it down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...geometry.colliders import Collider, Surroundings
from ...geometry.roles import Carryable
from ...models.nsm import ACTIONS, CONTACTS, FPS
from ...motion.filters import runs
from ...motion.rotations import Array, from_yaw, rotate
from ...motion.skeleton import MODEL_SKELETON
from ...rollout import held_objects
from .boxes import Box, Support, random_box, random_support
from .clutter import clutter
from .correction import corrected
from .episode import DEEPEST, FREE, GHOST, Episode, Fault, Goals, asked_for, penetration, unnatural
from .holding import Hold, box_poses, holding, inner_points, off_faces
from .lifting import Lift, Way
from .pool import Pool
from .track import Track, joined

_SUPPORTED = 0.85
"""Share of the boxes that do not lie on the floor: their supports are of any height between it and the chest."""
_STANDING_ABOVE = 0.72
"""Height of the palms in meters above which a box is taken standing."""
_TOES_OFF = (0.07, 0.12)
"""Meters from the balls of the feet to what is in front of them, from the least to the most."""
_WALKED, _PAUSE = 2.0, 0.3
"""Seconds that a template has at most before its movement, where the performer comes walking and where not: as long do
people pause before they take a thing, by the quartiles 0.1 to 0.7 s."""
_STOPPED = 0.2
"""Seconds of standing that a template of standing has at least before the grasp."""
_FARTHEST_GOAL = 3.5
"""Meters beyond which a place is reached along a route, by steering."""
_PLANTED = 0.3
"""Seconds for which both feet are down at once that tell standing from walking, whose feet are for 0.2 s at most."""
_GOING = 0.75
"""Share of the episodes that begin with an approach, and of those that end with a way on."""
_FAR = 1.2
"""Least length in meters of such an approach or way on."""
_AS_RECORDED = 0.15
"""Share of the episodes in which a box that was told is lifted where it was, where any was told."""
_OFF_FACES = 0.01
"""Meters that the palms may be off the faces of the box in a good episode."""
_INSET = 0.02
"""Meters inside the faces of a box at which its points are tested for being in something."""
_TOES = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
_KNEES = MODEL_SKELETON.indices(["LeftLeg", "RightLeg"])
_HAND_COLUMNS = [CONTACTS.index("LeftHand") - 2, CONTACTS.index("RightHand") - 2]


def carry_episode(pool: Pool, lifts: Sequence[Lift], rng: np.random.Generator, name: str) -> Episode | Fault:
    """Make an episode from a random template with a random box at a random height, or why it is not good enough."""
    told = [lift for lift in lifts if lift.box is not None]
    if told and rng.random() < _AS_RECORDED:
        lift = told[int(rng.integers(len(told)))]
        lift = lift.mirrored() if rng.random() < 0.5 else lift
        assert lift.box is not None
        return _with_box(pool, lift, lift.box, None, lift.lying, rng, name)
    box = random_box(rng, name)
    support = random_support(rng, box) if rng.random() < _SUPPORTED else None
    height = (support.top if support else 0.0) + box.bottom
    lift = _fitting(lifts, height, box, support, rng)
    return _with_box(pool, lift, box, support, height, rng, name)


def _with_box(
    pool: Pool, lift: Lift, box: Box, support: Support | None, height: float, rng: np.random.Generator, name: str
) -> Episode | Fault:
    """An episode from a template with a box whose palms are at `height` meters while it lies."""
    lying = Collider("lying", box.cuboids, np.concatenate(([0.0, 0.0, height], from_yaw(np.array(0.0))))[None])
    hold = Hold.random(height, box, rng)
    parts, grasp, span = _assembled(pool, lift, [lying, *([support.collider] if support else [])], hold.ahead, rng)
    hold = hold.of(lift, grasp)
    track = holding(joined(parts), lift, box, hold)
    held = slice(grasp, len(track)) if lift.way == "up" else slice(0, grasp + 1)
    track = _carrying(track, slice(span[0], None) if lift.way == "up" else slice(0, span[1]), lift, span)
    poses = box_poses(track, hold, held)
    carried = Collider(f"{name} box", box.cuboids, poses, "carryable", box.handles)
    around = [support.collider] if support else []
    track = corrected(track, [carried, *around], _held(carried, lift.way, grasp))
    poses = box_poses(track, hold, held)
    colliders = [replace(carried, poses=poses), *around]
    fault = _fault(track, box, poses, held, support)
    if fault is not None:
        return fault
    asked = asked_for(track.root(), span[0], rng)
    goals, colliders = _goals(track, lift, poses, colliders, asked, grasp, span, box)
    touching = np.zeros((len(track), 3), dtype=np.float32)
    # The network sees hands come to the box and the box to its place, but not which moment of their rest is the grasp.
    held = slice(grasp - hold.before, None) if lift.way == "up" else slice(0, grasp - hold.before + 1)
    touching[held, _HAND_COLUMNS[0]] = touching[held, _HAND_COLUMNS[1]] = 1
    colliders += clutter(track, colliders, rng, np.zeros(2))
    subjects = (lift.subject,) if lift.subject else ()
    return Episode(name, "carry", subjects, track, (span,), goals, touching, colliders)


def _held(box: Collider, way: Way, grasp: int) -> held_objects.Hold:
    """A box that is held from the grasp on, or until then."""
    assert isinstance(box.handles, Carryable)
    if way == "up":
        return held_objects.Hold(box.name, box.handles, box.poses[grasp], grasp, 0)
    return held_objects.Hold(box.name, box.handles, box.poses[0], 0, 0, grasp, box.poses[grasp])


def _fault(track: Track, box: Box, poses: Array, held: slice, support: Support | None) -> Fault | None:
    if (fault := unnatural(track)) is not None:
        return fault
    if (value := off_faces(track, poses, box, held)) > _OFF_FACES:
        return Fault("the hands are off the box", value)
    frames, positions = range(0, len(track), 3), track.positions()
    carried = Surroundings([Collider("box", box.cuboids, poses)])
    if (value := float(penetration(positions, carried, frames, with_arms=False).max())) > DEEPEST:
        return Fault("the box is in the body", value)
    if support is None:
        return None
    around = Surroundings([support.collider])
    if (value := float(penetration(positions, around, frames).max())) > DEEPEST:
        return Fault("the body enters the furniture", value)
    inner = inner_points(box.cuboids, _INSET)
    points = np.concatenate([rotate(np.tile(poses[f, 3:], (len(inner), 1)), inner) + poses[f, :3] for f in frames])
    inside = int((around.at(0).distance(points) == 0).sum())
    return Fault("the box enters the furniture", inside) if inside else None


def _fitting(lifts: Sequence[Lift], height: float, box: Box, support: Support | None, rng: np.random.Generator) -> Lift:
    """A template for this height, so far from the box that the feet stand before it."""
    suited = [lift for lift in lifts if lift.standing == (height > _STANDING_ABOVE)] or list(lifts)
    lift = suited[int(rng.integers(len(suited)))]
    lift = lift.mirrored() if rng.random() < 0.5 else lift
    at_box = lift.track.cut(lift.grasp - round(0.2 * FPS), lift.grasp + round(0.2 * FPS))
    positions = at_box.positions()
    front = float(positions[:, _TOES, 1].min())
    if (positions[:, _KNEES, 2] < height + box.bottom).any():
        front = min(front, float(positions[:, _KNEES, 1].min()))
    edge = max(box.near, support.edge if support else box.near) + float(rng.uniform(*_TOES_OFF))
    return lift.moved_back(edge - front) if lift.standing or front < edge else lift


def _assembled(
    pool: Pool, lift: Lift, things: list[Collider], ahead: float, rng: np.random.Generator
) -> tuple[list[Track], int, tuple[int, int]]:
    """Approach, template and departure; the frame of the grasp, and first and last of the movement.

    things: the lying box, and what it stands on. ahead: meters from the root to the middle of the box when carried.
    """
    start, end = lift.span
    obstacles = Surroundings(things).at(0)
    if lift.standing:
        # People reach as they come to a stop.
        entry = int(rng.integers(start, lift.grasp - round(_STOPPED * FPS)))
    else:
        # Many takes begin with standing, which is no way to the box.
        earliest = max(0, start - round((_WALKED if lift.comes_walking else _PAUSE) * FPS))
        entry = int(rng.integers(earliest, max(start - 6, earliest) + 1))
    stop = min(end + int(rng.integers(0, round(0.6 * FPS))), len(lift.track) - 2)
    core = lift.track.cut(entry, stop + 1)
    # A box in the hands is in no way of the legs, but reaches out.
    alone = obstacles.without([0])
    before, after = ((obstacles, 0.0), (alone, ahead)) if lift.way == "up" else ((alone, ahead), (obstacles, 0.0))
    far = [_FAR if rng.random() < _GOING else 0.0 for _ in range(2)]
    approach, _ = pool.before(core, float(rng.uniform(1.5, 4.5)), rng, *before, far[0])
    departure, _ = pool.after(core, float(rng.uniform(2.0, 4.5)), rng, *after, far[1])
    first = len(approach)
    return [approach, core, departure], first + lift.grasp - entry, (first + start - entry, first + end - entry)


def _carrying(track: Track, frames: slice, lift: Lift, span: tuple[int, int]) -> Track:
    """With "carry" besides the labels of the walk. Only the lift itself was recorded with a box."""
    actions, recorded = track.actions.copy(), track.recorded.copy()
    during = slice(*span)
    # Hips that bend over feet that stand do not walk, however fast they are.
    planted = track.contacts[during].reshape(-1, 2, 2).max(axis=2).min(axis=1) > 0.5
    for start, stop in runs(planted):
        if stop - start > _PLANTED * FPS:
            actions[span[0] + start : span[0] + stop] = np.eye(len(ACTIONS))[ACTIONS.index("idle")]
    actions[frames, ACTIONS.index("carry")] = 1
    real = recorded[during] & (not lift.standing)
    recorded[frames] = False
    recorded[during] = real
    return replace(track, actions=actions, recorded=recorded)


def _goals(
    track: Track,
    lift: Lift,
    poses: Array,
    colliders: list[Collider],
    asked: int,
    grasp: int,
    span: tuple[int, int],
    box: Box,
) -> tuple[Goals, list[Collider]]:
    """What is wanted: from frame `asked` on the box, and then the way; or the way with the box, and then the place for
    it."""
    goals = Goals.steered(len(track))
    place = poses[grasp, :3]
    # The character comes along -Y and so faces 0.
    if lift.way == "up":
        reached = span[1] - 10
        return goals.wanting(slice(asked, reached), place, 0.0, "carry", 0).using(slice(reached, None), 0), colliders
    ghost = Collider(f"{box.name} goal", box.cuboids, np.concatenate((place, from_yaw(np.array(0.0))))[None], GHOST)
    colliders = [*colliders, ghost]
    goals = goals.using(slice(0, None), 0)
    far = np.flatnonzero(np.linalg.norm(track.hips[:grasp, :2], axis=1) > _FARTHEST_GOAL)
    first = max(int(far[-1]) + 1 if len(far) else 0, asked)
    goals = goals.wanting(slice(first, grasp + 8), place, 0.0, "idle", len(colliders) - 1)
    return goals.using(slice(grasp + 8, None), FREE), colliders
