# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to things as an NSM goes them by itself, for learning from its own failures (DAgger; Ross et al. 2011).

Where the network begins to use a thing, or stalls before it, its way is cut off. Episodes that go on from there show it
what is right to do where it comes to by itself.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from ...baking.nsm import SceneBake
from ...errors import UserError
from ...geometry.colliders import Collider, Surroundings
from ...geometry.furniture import held_out, make
from ...geometry.roles import Door, Seat
from ...labels.actions import locomotion_actions
from ...models.nsm import ACTIONS, FPS
from ...motion.gait import gait_labels
from ...motion.root import direction
from ...motion.rotations import Array, from_yaw, make_continuous
from ...rollout.nsm_network import load
from ...shot.goals import ActionKey, Goal
from ...shot.shot import Shot
from ...workers import each
from .boxes import random_box, random_support
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
_SITS, _OPENS = 0.35, 0.25
"""Shares of the ways that lead to seats, and to doors; the others lead to boxes."""
_LABELS = {"sit": "sit", "pick_up": "carry", "open": "open"}
"""Labels of using a thing by the actions that do it."""
_USING = 0.3
"""Label of an action from which the thing is being used."""
_STALLED = 2.0
"""Seconds at the end of a shot in which a way that stalled is cut off."""
_SHORTEST = 1.0
"""Seconds of a way at least."""


def rolled_out_tracks(
    weights: Path | None, count: int, seed: int, processes: int = 2, cluster: str | None = None
) -> list[Track]:
    """`count` ways of the network of some weights (by default the shipped ones) to boxes, seats and doors in fresh
    surroundings, of no held-out furniture, until it uses them or stalls; a few fewer where the planner finds no way.
    processes, cluster: which roll out, see `workers.each`."""
    found = dict(each(partial(_way, weights, seed), range(count), processes, cluster))
    return [track for number in range(count) if (track := found[number]) is not None]


def _way(weights: Path | None, seed: int, number: int) -> Track | None:
    network, rng = load(weights), np.random.default_rng([seed, _STREAM, number])
    drawn = rng.random()
    shot = _to_seat(rng) if drawn < _SITS else _to_door(rng) if drawn < _SITS + _OPENS else _to_box(rng)
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
    label = ACTIONS.index(_LABELS[shot.keys[0].action])
    cut = _cut(bake.record().actions[:, label], rng)
    motion = bake.motion()
    if cut < _SHORTEST * FPS:
        return None
    places, contacts = motion.positions[:cut].astype(float), motion.contacts[:cut].astype(np.float32)
    return Track(
        places[:, 0],
        make_continuous(motion.rotations[:cut].astype(float)),
        contacts,
        locomotion_actions(gait_labels(places, contacts, FPS)),
        np.zeros(cut, dtype=bool),
    )


def _cut(uses: Array, rng: np.random.Generator) -> int:
    """The frame at which the thing begins to be used, by the label (T,) of that; one of the last where it never is."""
    using = np.flatnonzero(uses > _USING)
    return int(using[0]) if len(using) else len(uses) - int(rng.uniform(0.0, _STALLED) * FPS)


def _to_box(rng: np.random.Generator) -> Shot | None:
    box = random_box(rng, "box")
    support = random_support(rng, box)
    height = box.bottom + (0.0 if support is None else support.top)
    pose = np.concatenate(([0.0, 0.0, height], from_yaw(np.array(0.0))))[None]
    things = [Collider("box", box.cuboids, pose, "carryable", box.handles)]
    things += [] if support is None else [support.collider]
    return _shot("pick_up", things, [0.0, 0.0, height], np.array(box.handles.facing), rng)


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
