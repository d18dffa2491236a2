# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to things as an NSM goes them by itself, for learning from its own failures (DAgger; Ross et al. 2011).

Where the network begins to use a thing, or has come to rest before it, its way is cut off. Episodes that go on from
there show it what is right to do where it comes to by itself; that it waited there they do not show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...baking.nsm import SceneBake
from ...errors import UserError
from ...geometry.colliders import PLACE, QUATERNION, Collider, Surroundings
from ...geometry.furniture import held_out, make
from ...geometry.roles import Door, Seat, Surface
from ...geometry.scene_state import to_world
from ...labels.actions import locomotion_actions
from ...models.nsm import ACTIONS, FPS
from ...motion.gait import gait_labels
from ...motion.motion import Motion
from ...motion.root import direction
from ...motion.rotations import Array, from_yaw, make_continuous, multiply, rotate
from ...motion.skeleton import MODEL_SKELETON
from ...rollout.nsm_network import load
from ...shot.goals import ActionKey, Goal
from ...shot.shot import Shot
from ...tasks.carry import LIFTING
from ...workers import each
from .boxes import Box, random_box, random_support
from .clutter import clutter_about
from .sit_episodes import SEATS
from .track import Track

_STREAM = 91
"""Beside the seed, what tells these draws from all others."""
_SECONDS = 9.0
"""Seconds of a shot: a character that has not begun to use the thing by then stalls."""
_AWAY = (1.3, 3.5)
"""Meters from the thing, from the least to the most, at which a shot begins."""
_BODY_HEIGHTS = (0.3, 0.9, 1.4)
"""Heights in meters at which a body that begins is clear of things."""
_CLEAR = 0.45
"""Meters of that clearance."""
_BEFORE = 0.6
"""Meters from the middle of a thing to where a body stands before it."""
_TRIES = 20
"""Places that are tried for a start."""
_TO_PUT = (1.5, 3.0)
"""Meters from a box, from the least to the most, to where it is put."""
_LOWERS = 0.1
"""Meters that the palms go up or down when they begin to put a box down."""
_PUTTING = 2.0
"""Seconds that putting a box down takes at most."""
_LABELS = {"sit": "sit", "pick_up": "carry", "open": "open"}
"""Labels of using a thing by the actions that do it."""
_USING = 0.3
"""Label of an action from which the thing is being used."""
_STANDS = 0.25
"""Speed of the hips in m/s below which a character stands; their sway is slower."""
_SPEED_OVER = 0.5
"""Seconds over which that speed is measured, about a step, within which the hips of a walk never stop."""
_AT_REST = (0.0, 0.3)
"""Seconds, from the least to the most, after it has come to rest at which a way is cut off: people begin at once."""
_SHORTEST = 1.0
"""Seconds of a way at least."""
_HANDS = MODEL_SKELETON.indices(["LeftHand", "RightHand"])


def rolled_out_tracks(
    weights: Path | None,
    count: int,
    seed: int,
    processes: int = 2,
    cluster: str | None = None,
    kinds: frozenset[str] = frozenset(("sit", "open", "carry")),
) -> list[Track]:
    """`count` ways of the network of some weights (by default the shipped ones) to boxes, seats and doors, and with
    boxes to where they are put, in fresh surroundings, of no held-out furniture, until it uses them or stalls; a few
    fewer where the planner finds no way. processes, cluster: which roll out, see `workers.each`. kinds: of the episodes
    that need them."""
    if not kinds & {of.kind for of in _WAYS}:
        return []
    found = dict(each(partial(_way, weights, seed, kinds), range(count), processes, cluster))
    return [track for number in range(count) if (track := found[number]) is not None]


def _way(weights: Path | None, seed: int, kinds: frozenset[str], number: int) -> Track | None:
    network, rng = load(weights), np.random.default_rng([seed, _STREAM, number])
    ways = [of for of in _WAYS if of.kind in kinds]
    shares = np.array([of.share for of in ways])
    shot = ways[int(rng.choice(len(ways), p=shares / shares.sum()))].make(rng)
    if shot is None:
        return None
    try:
        bake = SceneBake(shot, network)
    except UserError:
        # Clutter may leave no way, or no room before the thing.
        return None
    while not (bake.done or bake.keys_done):
        bake.step()
    bake.end_here()
    motion, last = bake.motion(), shot.keys[-1]
    if last.action == "put_down":
        taken, put = (key["arrived"] for key in motion.meta["keys"])
        if taken is None:
            return None
        first, cut = round(taken + LIFTING * FPS), _puts(motion, put)
    else:
        first, cut = 0, _uses(motion.actions[:, ACTIONS.index(_LABELS[last.action])])
    cut = first + at_rest(motion.positions[first:cut, 0, :2].astype(float), rng)
    if cut - first < _SHORTEST * FPS:
        return None
    way = slice(first, cut)
    places, contacts = motion.positions[way].astype(float), motion.contacts[way].astype(np.float32)
    track = Track(
        places[:, 0],
        make_continuous(motion.rotations[way].astype(float)),
        contacts,
        locomotion_actions(gait_labels(places, contacts, FPS)),
        np.zeros(cut - first, dtype=bool),
    )
    if last.action == "put_down":
        track.actions[:, ACTIONS.index("carry")] = 1
    return track


def _puts(motion: Motion, put: int | None) -> int:
    """The frame at which palms begin to put down the box that they have put at a frame; the end where they never do."""
    if put is None:
        return len(motion)
    height = motion.positions[: put + 1, _HANDS, 2].mean(axis=1)
    before = height[max(put - round(_PUTTING * FPS), 0) :]
    return put + 1 - len(before) + int((np.abs(before - before[0]) > _LOWERS).argmax())


def _uses(label: Array) -> int:
    """The frame at which the thing begins to be used, by the label (T,) of that; the end where it never is."""
    using = np.flatnonzero(label > _USING)
    return int(using[0]) if len(using) else len(label)


def at_rest(places: Array, rng: np.random.Generator) -> int:
    """The frame a moment after hips at places (T, 2) have come to rest; T where they have not."""
    over = round(_SPEED_OVER * FPS)
    moves = np.flatnonzero(np.linalg.norm(places[over:] - places[:-over], axis=1) > _STANDS * _SPEED_OVER)
    rests = int(moves[-1]) + over // 2 if len(moves) else 0
    return min(rests + int(rng.uniform(*_AT_REST) * FPS), len(places))


def _box(rng: np.random.Generator) -> tuple[Box, list[Collider]]:
    """A box over the origin, and what it stands on."""
    box = random_box(rng, "box")
    support = random_support(rng, box)
    height = box.bottom + (0.0 if support is None else support.top)
    pose = np.concatenate(([0.0, 0.0, height], from_yaw(np.array(0.0))))[None]
    things = [Collider("box", box.cuboids, pose, "carryable", box.handles)]
    return box, things + ([] if support is None else [support.collider])


def _to_box(rng: np.random.Generator) -> Shot | None:
    box, things = _box(rng)
    return _shot("pick_up", things, things[0].poses[0, :3].tolist(), np.array(box.handles.facing), rng)


def _to_put(rng: np.random.Generator) -> Shot | None:
    box, things = _box(rng)
    top = random_support(rng, box)
    if top is None:
        return None
    way = float(rng.uniform(-np.pi, np.pi))
    turn, was = from_yaw(np.array(rng.uniform(-np.pi, np.pi))), top.collider.poses[0]
    pose = np.concatenate((rotate(turn, was[PLACE]), multiply(turn, was[QUATERNION])))
    pose[:2] += rng.uniform(*_TO_PUT) * direction(np.array(way))
    other = replace(top.collider, name="top", poses=pose[None])
    shot = _shot("pick_up", [*things, other], things[0].poses[0, :3].tolist(), np.array(box.handles.facing), rng)
    if shot is None:
        return None
    assert isinstance(top.collider.handles, Surface)
    on_top = Goal("place", to_world(np.array(top.collider.handles.place), pose).tolist(), collider="top")
    keys, goals = [*shot.keys, ActionKey("put_down", "place")], [*shot.goals, on_top]
    return replace(shot, keys=keys, goals=goals, frames=2 * shot.frames)


def _to_seat(rng: np.random.Generator) -> Shot | None:
    seed = int(rng.integers(1, 100000))
    if held_out(seed):
        return None
    piece = make(SEATS[int(rng.integers(len(SEATS)))], seed)
    assert isinstance(piece.handles, Seat)
    seat = Collider("seat", piece.boxes, role="seat", handles=piece.handles)
    return _shot("sit", [seat], [0.0, 0.0, 0.5], np.array(piece.handles.facing), rng)


def _to_door(rng: np.random.Generator) -> Shot | None:
    seed = int(rng.integers(1, 100000))
    if held_out(seed):
        return None
    piece = make("door", seed)
    assert isinstance(piece.handles, Door) and piece.fixture is not None
    leaf = Collider("door", piece.boxes, role="door", handles=piece.handles)
    across = np.cross(np.array(piece.handles.axis), np.array(piece.handles.handle) - np.array(piece.handles.hinge))
    facing = across / np.linalg.norm(across) * rng.choice((-1.0, 1.0))
    return _shot("open", [leaf, Collider("frame", piece.fixture.boxes)], [0.0, 0.0, 1.0], facing, rng)


def _shot(
    action: str, things: list[Collider], goal: list[float], facing: Array, rng: np.random.Generator
) -> Shot | None:
    """From anywhere to the first of some things, which is over the origin and used from the side of a vector (3,),
    among others."""
    stand = _BEFORE * facing[:2]
    things = [*things, *clutter_about(stand, np.zeros(2), things, rng)]
    placed = Surroundings(things).at(0)
    for _ in range(_TRIES):
        start = rng.uniform(*_AWAY) * direction(np.array(rng.uniform(-np.pi, np.pi)))
        body = np.array([[*start, height] for height in _BODY_HEIGHTS])
        if placed.distance(body).min() > _CLEAR:
            keys, goals = [ActionKey(action, "goal")], [Goal("goal", goal, collider=things[0].name)]
            turned = float(rng.uniform(-np.pi, np.pi))
            return Shot("way", FPS, round(_SECONDS * FPS), keys=keys, goals=goals, colliders=things,
                        start=[*start.tolist(), 0.0, turned])  # fmt: skip
    return None


@dataclass(frozen=True)
class _Way:
    """A way to something. kind: of the episodes that it serves. share: of all ways. make: a shot of it, None where no
    place is free."""

    kind: str
    share: float
    make: Callable[[np.random.Generator], Shot | None]


_WAYS = (
    _Way("sit", 0.3, _to_seat),
    _Way("open", 0.2, _to_door),
    _Way("carry", 0.25, _to_put),
    _Way("carry", 0.25, _to_box),
)
