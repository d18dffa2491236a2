# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of walking round furniture, and of going under beams and through low openings, walked by our PFNN."""

from __future__ import annotations

import numpy as np

from ...baking.bake import Bake
from ...errors import UserError
from ...geometry.colliders import Collider, Cuboids, Surroundings
from ...geometry.furniture import held_out
from ...geometry.rooms import Room, random_room
from ...models.nsm import FPS
from ...motion.root import angle_of
from ...motion.rotations import Array, from_yaw
from ...motion.skeleton import MODEL_SKELETON
from ...shot.goals import ActionKey, Goal
from ...shot.shot import PathFollow, Shot, per_frame
from ...tasks.outcome import Outcome
from .clutter import clutter
from .episode import DEEPEST, Episode, Fault, Goals, penetration, unnatural
from .track import Track, from_motion

_LOW = 0.35
"""Share of the episodes that lead through a low opening."""
_ROOM_SECONDS, _LOW_SECONDS = 13.0, 8.0
"""Seconds that an episode in a room and one through a low opening last."""
_FARTHEST = 4.0
"""Meters beyond which a goal is reached along a route, by steering."""
_SENT = 0.6
"""Share of the ways at whose end the place is the goal; on the others the character is steered all along."""
_FELT = 2.5
"""Meters from the way within which things are kept, since farther ones are not sensed."""
_CROWN = 0.24
"""Meters from the head joint to the crown."""
_ABOVE_CROWN = (0.04, 0.2)
"""Meters of free height above the crown of the crouching character in an opening, from the least to the most."""
_BESIDE = (0.34, 0.8)
"""Meters from the way to the posts of an opening, from the least to the most."""
_THICK = (0.08, 0.25)
"""Meters that the beam over an opening is thick, from the least to the most."""
_WALL = (0.05, 1.2)
"""Meters of wall beside an opening; little of it makes the opening a beam between two posts."""
_HEAD = MODEL_SKELETON.index("Head")


def avoid_episode(rng: np.random.Generator, name: str) -> Episode | Fault:
    """Make an episode in a random room or through a random opening, or why it is not good enough."""
    return _under(rng, name) if rng.random() < _LOW else _in_a_room(rng, name)


def _in_a_room(rng: np.random.Generator, name: str) -> Episode | Fault:
    """Ways between free spots of a room, found and walked as for an animator."""
    seed = int(rng.integers(1, 10**6))
    room = random_room(seed + 1 if held_out(seed) else seed)
    shot = _errands(room, rng, name)
    try:
        bake = Bake(shot)
    except UserError:
        # Two spots may be too far from each other for the time, or behind a door.
        return Fault("no way in the room", 0.0)
    motion = bake.motion()
    track = from_motion(motion)
    goals = Goals.steered(len(track))
    for key in motion.meta["keys"]:
        if rng.random() < _SENT:
            goals = _sent(goals, track, Outcome(**key))
    colliders = [thing for thing in room.colliders if _near(thing, track)]
    return _judged(Episode(name, "avoid", (), track, (), goals, _nothing(track), colliders))


def _errands(room: Room, rng: np.random.Generator, name: str) -> Shot:
    start, *ends = room.free[rng.permutation(len(room.free))[:4]]
    goals = [
        Goal(f"{number}", [*end.tolist(), 0.0], float(rng.uniform(-np.pi, np.pi)) if rng.random() < 0.7 else None)
        for number, end in enumerate(ends)
    ]
    keys = [
        ActionKey("run" if rng.random() < 0.15 else "walk", goal.name, hold=float(rng.uniform(0.2, 1.0)), gait="walk")
        for goal in goals
    ]
    return Shot(
        name=name,
        fps=FPS,
        frames=round(_ROOM_SECONDS * FPS),
        start=[*start.tolist(), 0.0, float(rng.uniform(-np.pi, np.pi))],
        keys=keys,
        goals=goals,
        colliders=room.colliders,
    )


def _sent(goals: Goals, track: Track, outcome: Outcome) -> Goals:
    """With the place as the goal on the last meters before it, and while the character stands there."""
    if outcome.arrived is None or outcome.set_off is None:
        return goals
    root = track.root()
    rest = outcome.arrived
    done = len(track) if outcome.done is None else outcome.done
    away = np.linalg.norm(root[outcome.set_off : rest, :2] - root[rest, :2], axis=1)
    far = np.flatnonzero(away > _FARTHEST)
    first = outcome.set_off + (int(far[-1]) + 1 if len(far) else 0)
    last = min(done, len(track)) - 1
    return goals.wanting(slice(first, last), np.array([*root[last, :2], 0.0]), float(root[last, 3]), "idle")


def _under(rng: np.random.Generator, name: str) -> Episode | Fault:
    """A crouching way, and an opening that asks for crouching."""
    track, at = _crouched_way(rng, name)
    colliders = [_opening(track, at, rng, name)]
    colliders += clutter(track, colliders, rng)
    return _judged(Episode(name, "avoid", (), track, (), Goals.steered(len(track)), _nothing(track), colliders))


def _crouched_way(rng: np.random.Generator, name: str) -> tuple[Track, int]:
    """A way with a crouched stretch, and the frame in the middle of that."""
    frames = round(_LOW_SECONDS * FPS)
    speed = float(rng.uniform(0.8, 1.3))
    middle = round(float(rng.uniform(0.4, 0.6)) * frames)
    half = round(float(rng.uniform(0.8, 1.3)) * FPS)
    gaits = ["crouch" if abs(frame - middle) < half else "walk" for frame in range(frames)]
    bends = np.cumsum(rng.normal(0, 0.12, 30))
    steps = 0.5 * np.stack((np.cos(bends), np.sin(bends), np.zeros(30)), axis=1)
    path = PathFollow(np.cumsum(steps, axis=0).tolist(), [speed] * frames, gaits, per_frame(0.0, frames))
    return from_motion(Bake(Shot(name=name, fps=FPS, frames=frames, path=path)).motion()), middle


def _opening(track: Track, at: int, rng: np.random.Generator, name: str) -> Collider:
    """A wall with an opening, or a beam on two posts, across the way at a frame, as low as the crown allows."""
    root, places = track.root(), track.positions()
    way = root[at + 10, :2] - root[at - 10, :2]
    angle = float(angle_of(way))
    passing = np.linalg.norm(root[:, :2] - root[at, :2], axis=1) < 0.35
    under = float(places[passing, _HEAD, 2].max()) + _CROWN + float(rng.uniform(*_ABOVE_CROWN))
    thick, top = float(rng.uniform(*_THICK)), under + float(rng.uniform(0.15, 1.0))
    left, right = rng.uniform(*_BESIDE, size=2)
    out = rng.uniform(*_WALL, size=2)
    boxes = np.array(
        [
            [[-left - out[0], -thick / 2, 0.0], [-left, thick / 2, top]],
            [[right, -thick / 2, 0.0], [right + out[1], thick / 2, top]],
            [[-left, -thick / 2, under], [right, thick / 2, top]],
        ]
    )
    pose = np.concatenate((root[at, :2], [0.0], from_yaw(np.array(angle))))[None]
    return Collider(f"{name} opening", Cuboids(boxes.mean(1), (boxes[:, 1] - boxes[:, 0]) / 2), pose)


def _judged(episode: Episode) -> Episode | Fault:
    if (fault := unnatural(episode.track)) is not None:
        return fault
    if not episode.colliders:
        return Fault("nothing is near", 0.0)
    frames, positions = range(0, len(episode), 4), episode.track.positions()
    value = float(penetration(positions, episode.surroundings(), frames).max())
    return Fault("the body enters something", value) if value > DEEPEST else episode


def _near(thing: Collider, track: Track) -> bool:
    """Whether any part of a thing is near the way."""
    way = np.concatenate((track.hips[::20, :2], np.full((len(track.hips[::20]), 1), 0.9)), axis=1)
    return bool(Surroundings([thing]).at(0).distance(way).min() < _FELT)


def _nothing(track: Track) -> Array:
    return np.zeros((len(track), 3), dtype=np.float32)
