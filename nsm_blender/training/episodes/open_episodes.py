# SPDX-License-Identifier: GPL-3.0-or-later
"""Episodes of opening a door and going through. Where none was recorded, a walk is cut where a door may be, a hand is
put on the handle, and the leaf swings before the body or past it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...geometry.body import depth
from ...geometry.colliders import Collider, Surroundings
from ...models.nsm import CONTACTS, FPS
from ...motion.easing import eased
from ...motion.root import to_local
from ...motion.rotations import Array
from .clutter import clutter
from .doorways import Doorway, Swing, pulled, pushed, random_doorway
from .episode import DEEPEST, Episode, Fault, Goals, asked_for, unnatural
from .holding import PALM
from .opening import Opening
from .pool import Pool
from .reach import Target, palm, reaching
from .standing import Stand, stands
from .track import Track, align, joined

_STOOD = 2.4
"""Seconds of standing that pulling a door open takes."""
_WALKED_THROUGH = 0.5
"""Share of the pushed doors before which the character does not stop."""
_SPEEDS = (0.45, 1.15)
"""Speed in m/s of the approach to a door that is pushed, from the least to the most."""
_STRAIGHT = 0.25
"""Largest turn in radians of the way in the second before the handle."""
_REACH = (0.52, 0.62)
"""Meters from the root to the handle's plane at which the hand is on the handle, from the least to the most."""
_PULL_ASIDE = (0.18, 0.30)
"""Meters beyond the handle at which the character stands to pull, out of the leaf's way, from the least to the most."""
_PULL_AWAY = (0.5, 0.6)
"""Meters from the door at which the character stands to pull, from the least to the most."""
_PULL_SECONDS = (0.9, 1.2)
"""Seconds that pulling the leaf open takes, from the least to the most."""
_FACING_IN = (0.1, 0.5)
"""Radians by which a pulling character is turned toward the opening, from the least to the most."""
_HAND_BLEND = 0.9
"""Seconds in which the hand comes to the handle and leaves it: at the 5 m/s2 with which people's hands do."""
_LETTING_GO = 0.2
"""Seconds in which a hand that lets go of a moving handle comes to rest, about."""
_BEFORE = 2.5
"""Most seconds before the handle that are recorded; the rest of the way is another one."""
_EVERY = 3
"""Frames between the poses that are checked."""
_THROUGH = 1.7
"""Meters that the way goes on through the door."""
_MATCHED_AROUND = 0.25
"""Seconds after the frame that matches at which the recorded way is cut off."""
_OFF_HANDLE = 0.02
"""Meters that the palm may be off the handle in a good episode."""


class Walks:
    """Where in a pool the character may come to a door: stretches of standing, and straight slow walking."""

    def __init__(self, pool: Pool) -> None:
        self.stands: list[Stand] = stands(pool.tracks, _STOOD)
        self.straight = [(number, frame) for number, root in enumerate(pool.roots) for frame in _straight_frames(root)]


def open_episode(pool: Pool, walks: Walks, rng: np.random.Generator, name: str) -> Episode | Fault:
    """Make an episode with a random door, or why it is not good enough."""
    doorway = random_doorway(rng, name)
    walking = doorway.pushed and rng.random() < _WALKED_THROUGH
    core, still = _walking(pool, walks, rng) if walking else _standing(walks, doorway.pushed, rng)
    core = _before(core, doorway, rng)
    closed, open_ = Surroundings(doorway.at(0.0)).at(0), Surroundings(doorway.at(1.5)).at(0)
    approach, _ = pool.before(core, float(rng.uniform(1.5, 4.0)), rng, closed)
    # A pushing character follows the leaf, which is out of the way when the body comes.
    departure, _ = pool.after(core, float(rng.uniform(2.8, 4.0)), rng, open_, far=_THROUGH, along=np.array([0.0, -1.0]))
    track = joined([approach, core, departure])
    touch = len(approach) + still
    swing = (
        pushed(doorway, track.hips[:, :2], touch, rng)
        if doorway.pushed
        else pulled(len(track), touch, float(rng.uniform(*_PULL_SECONDS)), rng)
    )
    if swing.release >= len(track) - round(0.5 * FPS):
        return Fault("the door stays shut", float(swing.angle[-1]))
    return _opened(track, doorway, swing, _hand(doorway), rng, name)


def opened_as_recorded(pool: Pool, openings: Sequence[Opening], rng: np.random.Generator, name: str) -> Episode | Fault:
    """Make an episode of a recorded door with other ways to and from it, or why it is not good enough."""
    opening = openings[int(rng.integers(len(openings)))]
    opening = opening.mirrored() if rng.random() < 0.5 else opening
    doorway, swing = opening.doorway, opening.swing
    earliest = max(swing.touch - round(_BEFORE * FPS), 0)
    entry = int(rng.integers(earliest, max(swing.touch - round(_HAND_BLEND * FPS), earliest) + 1))
    core = opening.track.cut(entry, len(opening.track))
    closed, open_ = Surroundings(doorway.at(0.0)).at(0), Surroundings(doorway.at(float(swing.angle[-1]))).at(0)
    approach, _ = pool.before(core, float(rng.uniform(1.5, 4.0)), rng, closed)
    departure, _ = pool.after(core, float(rng.uniform(2.0, 3.5)), rng, open_)
    later = len(approach) - entry
    angle = np.concatenate((np.zeros(len(approach)), swing.angle[entry:], np.full(len(departure), swing.angle[-1])))
    swing = Swing(angle, swing.touch + later, swing.begin + later, swing.release + later)
    return _opened(joined([approach, core, departure]), doorway, swing, opening.side, rng, name, opening.subject)


def _opened(
    track: Track, doorway: Doorway, swing: Swing, side: str, rng: np.random.Generator, name: str, subject: str = ""
) -> Episode | Fault:
    """An episode of a track that goes through a door. subject: the performer recorded with the door, "" if it is made
    up."""
    track = _with_hand(track, doorway, swing, side)
    touch = swing.touch
    span = (max(touch - round(_HAND_BLEND * FPS), 0), swing.release)
    recorded = track.recorded.copy()
    recorded[span[0] : span[1]] &= bool(subject)
    track = replace(track.relabeled(span[0], span[1], "open"), recorded=recorded)
    leaf = replace(doorway.leaf, poses=doorway.poses(swing.angle))
    colliders = [leaf, doorway.frame, doorway.wall]
    fault = _fault(track, doorway, swing, side, colliders)
    if fault is not None:
        return fault
    asked = asked_for(track.root(), span[0], rng)
    goals = Goals.steered(len(track)).wanting(slice(asked, swing.release), doorway.handle, 0.0, "open", 0)
    touching = np.zeros((len(track), 3), dtype=np.float32)
    touching[touch : swing.release + 1, CONTACTS.index(side + "Hand") - 2] = 1
    colliders += clutter(track, [*colliders, *doorway.at(0.8)[:1], *doorway.at(0.0)[:1]], rng)
    subjects = (subject,) if subject else ()
    return Episode(name, "open", subjects, track, (span,), goals, touching, colliders)


def _fault(track: Track, doorway: Doorway, swing: Swing, side: str, colliders: list[Collider]) -> Fault | None:
    if (fault := unnatural(track)) is not None:
        return fault
    if track.hips[-1, 1] > -0.4:
        return Fault("the character does not go through", float(track.hips[-1, 1]))
    held = slice(swing.touch, swing.release + 1)
    off = np.linalg.norm(palm(track, side)[held] - doorway.grip(swing.angle)[held], axis=1)
    if (value := float(off.max())) > _OFF_HANDLE:
        return Fault("the hand is off the handle", value)
    positions, around, leaf = track.positions(), Surroundings(colliders), [colliders[0].name]
    blend = round(_HAND_BLEND * FPS)
    handling = range(swing.touch - blend, swing.release + blend)
    deepest = max(depth(positions[f], f, around, leaf, False, f in handling) for f in range(0, len(track), _EVERY))
    return Fault("the body enters the door", deepest) if deepest > DEEPEST else None


def _straight_frames(root: Array) -> list[int]:
    """Every tenth frame of slow straight walking, facing ahead."""
    found = []
    before, after = round(1.0 * FPS), round(0.8 * FPS)
    for frame in range(before, len(root) - after, 10):
        way = root[frame, :2] - root[frame - before, :2]
        further = to_local(root[frame + after, :2] - root[frame, :2], root[frame, 3])
        ahead = to_local(way, root[frame, 3])
        if (
            _SPEEDS[0] < np.linalg.norm(way) < _SPEEDS[1]
            and abs(np.arctan2(ahead[0], -ahead[1])) < _STRAIGHT
            and abs(np.arctan2(further[0], -further[1])) < _STRAIGHT
        ):
            found.append(frame)
    return found


def _walking(pool: Pool, walks: Walks, rng: np.random.Generator) -> tuple[Track, int]:
    """A stretch of walking, and the frame of it at which the hand comes to the handle."""
    number, frame = walks.straight[int(rng.integers(len(walks.straight)))]
    first = frame - round(0.3 * FPS)
    return pool.tracks[number].cut(first, frame + round(_MATCHED_AROUND * FPS)), frame - first


def _standing(walks: Walks, push: bool, rng: np.random.Generator) -> tuple[Track, int]:
    """A stretch of standing, as long as it takes, and the frame of it at which the hand is on the handle."""
    stand = walks.stands[int(rng.integers(len(walks.stands)))]
    touch = round(float(rng.uniform(0.4, 0.7)) * FPS)
    length = touch + round((0.25 if push else 1.35) * FPS)
    start = int(rng.integers(stand.span[0], stand.span[1] - length + 1))
    return stand.track.cut(start, start + length), touch


def _before(core: Track, doorway: Doorway, rng: np.random.Generator) -> Track:
    """The stretch put where the hand reaches the handle at its end."""
    side = float(np.sign(doorway.handle[0] - doorway.hinge[0]))
    if doorway.pushed:
        x = float(rng.uniform(-0.02, 0.14)) * side
        return align(core, len(core) - 1, np.array([x, float(rng.uniform(*_REACH)) - 0.12]), 0.0)
    x = doorway.handle[0] + side * float(rng.uniform(*_PULL_ASIDE))
    # The opening is on the hinge's side of a character that stands beyond the handle.
    turn = -side * float(rng.uniform(*_FACING_IN))
    return align(core, len(core) - 1, np.array([x, float(rng.uniform(*_PULL_AWAY))]), turn)


def _hand(doorway: Doorway) -> str:
    """The hand that opens: the one on the handle's side of the leaf for pushing, on the hinge's side for pulling."""
    handle_left = bool(doorway.handle[0] > doorway.hinge[0])
    return "Left" if handle_left == doorway.pushed else "Right"


def _with_hand(track: Track, doorway: Doorway, swing: Swing, side: str) -> Track:
    """The track with a palm on the handle from the touch to the release."""
    blend = _HAND_BLEND * FPS
    weight = eased(len(track), swing.touch - blend, swing.touch, swing.release, swing.release + blend)
    grip, none = doorway.grip(swing.angle), np.zeros((len(track), 3))
    # On its way to the handle and back the hand goes along with the body, but comes and leaves as fast as the handle.
    away = (1 - weight)[:, None]
    seconds = (np.arange(len(track) - swing.release) / FPS)[:, None]
    speed = (grip[swing.release] - grip[swing.release - 1]) * FPS
    grip[swing.release :] = grip[swing.release] + speed * _LETTING_GO * (1 - np.exp(-seconds / _LETTING_GO))
    grip[: swing.touch] += (away * (track.hips - track.hips[swing.touch]))[: swing.touch]
    grip[swing.release :] += (away * (track.hips - track.hips[swing.release]))[swing.release :]
    return reaching(track, none, {side: Target(grip, weight, PALM)})
