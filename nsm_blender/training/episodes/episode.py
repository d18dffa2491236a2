# SPDX-License-Identifier: GPL-3.0-or-later
"""An episode: a body in motion among things, with goals and labels, from which features are taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...geometry.body import CAPSULES
from ...geometry.colliders import Collider, Surroundings
from ...geometry.ground_height import CLIMBABLE, ground_under
from ...labels.scene_phase import phase_of
from ...models.nsm import ACTIONS, CONTACTS, FPS, GOAL_ACTIONS
from ...motion.rotations import Array, wrap_angle
from ...motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from .track import Track

FREE = -1
"""Number that stands for the collider of a goal that is no thing."""
GHOST = "ghost"
"""Role of a collider that is only thought of: a carried thing at the place where it is to go."""


@dataclass(frozen=True, eq=False)
class Goals:
    """What is wanted at each of T frames.

    place: (T, 3) world meters. facing: (T,) radians. action: (T,) index into GOAL_ACTIONS. thing: (T,) number of the
    collider that is used, or FREE. locomotion: (T,) whether the character is steered along its way (4.1: the goal of
    a sample is the way itself, a second later) instead of being given the place.
    """

    place: Array
    facing: Array
    action: Array
    thing: Array
    locomotion: Array

    @staticmethod
    def steered(count: int) -> Goals:
        """No goal but the way itself."""
        return Goals(
            np.zeros((count, 3)),
            np.zeros(count),
            np.zeros(count, dtype=int),
            np.full(count, FREE),
            np.ones(count, dtype=bool),
        )

    def using(self, frames: slice, thing: int) -> Goals:
        """With a thing in use during some frames, whatever is wanted then."""
        things = self.thing.copy()
        things[frames] = thing
        return Goals(self.place, self.facing, self.action, things, self.locomotion)

    def wanting(self, frames: slice, place: Array, facing: float, action: str, thing: int = FREE) -> Goals:
        """With a place to be reached during some frames."""
        out = Goals(*(value.copy() for value in vars(self).values()))
        out.place[frames], out.facing[frames] = place, facing
        out.action[frames], out.thing[frames] = GOAL_ACTIONS.index(action), thing
        out.locomotion[frames] = False
        return out


_STANDING = 0.2, math.radians(30.0)
"""Speed of a root in m/s and rad/s below which the character stands, measured over half a second."""
_WAITING = 0.6
"""Seconds from which on a character that stands waits, and is not about to begin: people pause as long at most before
they take a thing."""
_REACTION = (0.1, 0.4)
"""Seconds from when a thing is asked for until a character that waits sets off, from the least to the most."""


def asked_for(root: Array, used: int, rng: np.random.Generator) -> int:
    """The frame from which on a thing is asked for that begins to be used at frame `used`, of roots (T, 4).

    The character is not asked for it while it waits, before it sets off or beside the thing: else the network would
    learn to wait for nothing.
    """
    around = round(0.25 * FPS)
    padded = np.concatenate((np.repeat(root[:1], around, 0), root, np.repeat(root[-1:], around, 0)))
    change, seconds = padded[2 * around :] - padded[: -2 * around], 2 * around / FPS
    speed, turning = np.hypot(change[:, 0], change[:, 1]) / seconds, np.abs(wrap_angle(change[:, 3])) / seconds
    stands = (speed < _STANDING[0]) & (turning < _STANDING[1])
    # Frames up to each since the character last moved.
    frames = np.arange(used + 1)
    waited = frames - np.maximum.accumulate(np.where(stands[: used + 1], -1, frames))
    waits = np.flatnonzero(waited > _WAITING * FPS)
    return max(int(waits[-1]) - round(rng.uniform(*_REACTION) * FPS), 0) if len(waits) else 0


@dataclass(frozen=True, eq=False)
class Episode:
    """T frames at 60 fps.

    kind: what it is about ("sit", ...). subjects: performers whose recordings are in it. transitions: first and last
    frames of acyclic actions. things: hand and hips contacts (T, 3) of LeftHand, RightHand, Hips, 0 or 1. colliders:
    what stands around, with one pose or T.
    """

    name: str
    kind: str
    subjects: tuple[str, ...]
    track: Track
    transitions: tuple[tuple[int, int], ...]
    goals: Goals
    touching: Array
    colliders: list[Collider]

    def __len__(self) -> int:
        return len(self.track)

    @property
    def phase(self) -> Array:
        """Unwrapped phase (T,)."""
        return phase_of(self.track.contacts, self.transitions)

    @property
    def contacts(self) -> Array:
        """(T, 5) labels of models.nsm.CONTACTS."""
        feet = self.track.contacts.reshape(-1, 2, 2).max(2)
        out = np.concatenate((feet, self.touching), axis=1)
        assert out.shape[1] == len(CONTACTS)
        return out

    def root(self) -> Array:
        """Root (T, 4) whose z is the ground's under it (`geometry.ground_height`): 0 unless something is climbed."""
        root = self.track.root()
        solid = [c for c in self.colliders if c.role in CLIMBABLE]
        if solid:
            root[:, 2] = ground_under(Surroundings(solid).at(0), root[:, :2])
        return root

    def surroundings(self) -> Surroundings:
        """The colliders, ready to be placed, ghosts included: their numbers count."""
        return Surroundings(self.colliders)

    @property
    def ghosts(self) -> list[int]:
        """Numbers of the colliders that are only thought of."""
        return [number for number, collider in enumerate(self.colliders) if collider.role == GHOST]

    @property
    def carried(self) -> list[int]:
        """Numbers of the colliders that are carried."""
        boxes = (number for number, collider in enumerate(self.colliders) if collider.role == "carryable")
        return [number for number in boxes if len(self.colliders[number].poses) > 1]


@dataclass(frozen=True)
class Fault:
    """Why an episode was rejected."""

    reason: str
    value: float


SLIDE_LIMIT = 4.0
"""Largest mean speed in cm/s, over an episode, of a foot in contact."""
ACCELERATION_LIMIT, RUNNING_ACCELERATION_LIMIT = 100.0, 120.0
"""Largest acceleration in m/s^2 of a joint without and with running, as `sharpest` measures it: the most in eight
seconds of the recorded takes."""
DEEPEST = 0.02
"""Meters that a body may be inside a thing, intended contacts excepted."""
_SHARES = (0.1, 0.4, 0.7, 1.0)
"""Places along a bone, as shares of its length, at which its depth is measured."""


def penetration(
    positions: Array, surroundings: Surroundings, frames: Sequence[int], *, with_arms: bool = True
) -> Array:
    """Deepest meters (F,) by which the body enters a thing at some frames; positions: (T, J, 3).

    Measured from points on the bones, so that a point inside a thing counts with its bone's radius.
    """
    bones = [bone for bone in CAPSULES if with_arms or not bone[0].endswith("Arm")]
    ends = [(MODEL_SKELETON.index(a), MODEL_SKELETON.index(b), radius) for a, b, radius in bones]
    radii = np.repeat([radius for _, _, radius in ends], len(_SHARES))
    out = np.zeros(len(frames))
    for i, frame in enumerate(frames):
        p = positions[frame]
        points = np.concatenate([[p[a] + share * (p[b] - p[a]) for share in _SHARES] for a, b, _ in ends])
        near = surroundings.at(frame).near(p[0], 1.6)
        if len(near):
            out[i] = np.maximum(radii - near.distance(points), 0).max()
    return out


def slide(track: Track) -> float:
    """Mean cm/s at which a foot in contact moves over the ground."""
    places = track.positions()[:, MODEL_SKELETON.indices(CONTACT_JOINTS)]
    speed = np.linalg.norm(np.diff(places[..., :2], axis=0), axis=-1) * FPS
    both = (track.contacts[1:] > 0.5) & (track.contacts[:-1] > 0.5)
    return float(speed[both].mean() * 100) if both.any() else 0.0


def sharpest(track: Track) -> float:
    """Largest acceleration of a joint in m/s^2, over a window of 3 frames."""
    places = track.positions()
    second = np.linalg.norm(places[6:] - 2 * places[3:-3] + places[:-6], axis=-1) * (FPS / 3) ** 2
    return float(second.max())


def unnatural(track: Track) -> Fault | None:
    """What is wrong with a motion by itself, whatever stands around."""
    if (value := slide(track)) > SLIDE_LIMIT:
        return Fault("feet slide", value)
    runs = bool((track.actions[:, ACTIONS.index("run")] > 0.5).any())
    if (value := sharpest(track)) > (RUNNING_ACCELERATION_LIMIT if runs else ACCELERATION_LIMIT):
        return Fault("jerk", value)
    return None
