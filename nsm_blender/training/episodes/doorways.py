# SPDX-License-Identifier: GPL-3.0-or-later
"""A door in its wall, approached along -Y, and how its leaf swings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...geometry.colliders import Collider, Cuboids
from ...geometry.furniture import held_out, make
from ...geometry.roles import Door
from ...models.nsm import FPS
from ...motion.easing import eased
from ...motion.rotations import Array, from_yaw, rotate

_WALL_LENGTHS = (0.5, 2.0)
"""Meters of wall to either side of the frame, from the least to the most."""
_WALL_HEIGHT = 2.5
"""Meters that the wall is high."""
_WALL_THICKNESS = (0.06, 0.14)
"""Meters that the wall is thick, from the least to the most."""
_GRIP = 0.05
"""Meters from the leaf's middle plane to a lever, on both sides."""
_OPEN = (1.3, 1.75)
"""Radians that a door stands open in the end, from the least to the most."""
_FARTHER = 0.1
"""Radians that a leaf swings on by itself at least."""
_GIVING = 0.3
"""Seconds in which a leaf that is pushed comes to move as fast as the body: the arm bends meanwhile."""
_BEFORE_MOVING = 0.15
"""Seconds that the hand is on the handle before the leaf is pulled."""
_SLOWEST = 0.012
"""Radians in a frame below which a leaf is let go."""
_LET_GO = (0.75, 1.0)
"""Radians of the opening at which the hand lets go, from the least to the most."""


@dataclass(frozen=True, eq=False)
class Doorway:
    """leaf: with one pose, closed. frame, wall: what stands still. door: the leaf's handles in its own frame, which is
    turned by `turn` about the vertical. pushed: whether it opens away from an approach from +Y."""

    leaf: Collider
    frame: Collider
    wall: Collider
    door: Door
    turn: float
    pushed: bool

    @property
    def hinge(self) -> Array:
        """Place (2,) of the hinge."""
        return np.array(_turned(self.door.hinge, self.turn)[:2])

    @property
    def handle(self) -> Array:
        """Place (3,) of the closed leaf's handle, on its middle plane."""
        return _turned(self.door.handle, self.turn)

    @property
    def swing(self) -> float:
        """1 when it opens counter-clockwise from above, else -1."""
        return float(np.sign(self.door.angle))

    @property
    def colliders(self) -> list[Collider]:
        """Leaf, frame and wall."""
        return [self.leaf, self.frame, self.wall]

    def poses(self, angle: Array) -> Array:
        """Poses (T, 7) of the leaf that is open by `angle` (T,) radians."""
        spin = from_yaw(self.swing * angle)
        hinge = np.append(self.hinge, 0.0)
        place = hinge - rotate(spin, np.broadcast_to(hinge, (len(angle), 3)))
        return np.concatenate((place, from_yaw(self.swing * angle + self.turn)), axis=1)

    def grip(self, angle: Array) -> Array:
        """Places (T, 3) of the palm on the handle of the near side."""
        spin = from_yaw(self.swing * angle)
        hinge = np.append(self.hinge, 0.0)
        near = self.handle + np.array([0.0, _GRIP + 0.02, 0.0]) - hinge
        out: Array = hinge + rotate(spin, np.broadcast_to(near, (len(angle), 3)))
        return out

    def at(self, angle: float) -> list[Collider]:
        """The colliders with the leaf open by `angle`."""
        leaf = Collider(self.leaf.name, self.leaf.cuboids, self.poses(np.array([angle])), "door", self.door)
        return [leaf, self.frame, self.wall]


@dataclass(frozen=True, eq=False)
class Swing:
    """angle: (T,) radians that the leaf is open. touch, release: frames at which the hand is on and leaves the handle;
    begin: frame at which the leaf begins to move."""

    angle: Array
    touch: int
    begin: int
    release: int


def random_doorway(rng: np.random.Generator, name: str) -> Doorway:
    """A door that is pushed or pulled open, hinged left or right, not of the held-out seeds."""
    seed = int(rng.integers(1, 100000))
    while held_out(seed):
        seed = int(rng.integers(1, 100000))
    piece = make("door", seed)
    assert isinstance(piece.handles, Door) and piece.fixture is not None
    door, turn = piece.handles, float(np.pi * rng.integers(2))
    pose = np.concatenate((np.zeros(3), from_yaw(np.array(turn))))[None]
    frame = Collider(f"{name} frame", piece.fixture.boxes, pose)
    thick = float(rng.uniform(*_WALL_THICKNESS))
    wall = Collider(f"{name} wall", wall_round(piece.fixture.boxes, thick, rng.uniform(*_WALL_LENGTHS, size=2)), pose)
    leaf = Collider(f"{name} door", piece.boxes, pose, "door", door)
    doorway = Doorway(leaf, frame, wall, door, turn, True)
    ends_at = doorway.grip(np.array([np.pi / 4]))[0, 1]
    return Doorway(leaf, frame, wall, door, turn, bool(ends_at < doorway.handle[1]))


def wall_round(frame: Cuboids, thick: float, lengths: Array) -> Cuboids:
    """A wall in the plane y = 0 round a frame. lengths: (2,) meters to the left and right of it as it is drawn."""
    low, high = (frame.center - frame.half).min(0), (frame.center + frame.half).max(0)
    left, right = lengths
    boxes = [
        ((low[0] - left, -thick / 2, 0.0), (low[0], thick / 2, _WALL_HEIGHT)),
        ((high[0], -thick / 2, 0.0), (high[0] + right, thick / 2, _WALL_HEIGHT)),
        ((low[0], -thick / 2, high[2]), (high[0], thick / 2, _WALL_HEIGHT)),
    ]
    lows, highs = np.array([box[0] for box in boxes]), np.array([box[1] for box in boxes])
    return Cuboids((lows + highs) / 2, (highs - lows) / 2)


def pushed(doorway: Doorway, body: Array, touch: int, rng: np.random.Generator) -> Swing:
    """The swing of a leaf that a body, whose root passes the places `body` (T, 2), pushes before it."""
    count = len(body)
    share = eased(count, touch, touch + _GIVING * FPS, count, count + 1)
    ahead = np.maximum.accumulate(np.maximum(-np.cumsum(share * np.diff(body[:, 1], prepend=body[0, 1])), 0))
    radius = float(np.linalg.norm(doorway.handle[:2] - doorway.hinge))
    angle = np.arcsin(np.clip(ahead / radius, 0, 0.98))
    return _let_go(angle, touch, touch, rng)


def pulled(count: int, touch: int, seconds: float, rng: np.random.Generator) -> Swing:
    """The swing of a leaf that a standing body pulls in `seconds` up to where it lets go."""
    begin = touch + round(_BEFORE_MOVING * FPS)
    t = np.clip((np.arange(count) - begin) / (seconds * FPS), 0, 1.5)
    return _let_go(t * t * (1.6 - 0.4 * t), touch, begin, rng)


def _let_go(angle: Array, touch: int, begin: int, rng: np.random.Generator) -> Swing:
    """From some angle on the leaf swings on by itself and slows down."""
    last, rest = float(rng.uniform(*_LET_GO)), float(rng.uniform(*_OPEN))
    reached = np.flatnonzero(angle >= last)
    release = int(reached[0]) if len(reached) else len(angle) - 1
    return Swing(swung_on(angle, release, rest), touch, begin, release)


def swung_on(angle: Array, release: int, rest: float) -> Array:
    """Angles (T,) of a leaf that from frame `release` on swings by itself and comes to rest at `rest`, or a little
    farther open than it was let go of."""
    speed = max(float(angle[release] - angle[release - 1]), _SLOWEST)
    out = angle.copy()
    left = max(rest - float(angle[release]), _FARTHER)
    out[release:] = angle[release] + left - left * np.exp(-speed / left * np.arange(len(angle) - release))
    return out


def _turned(place: list[float], turn: float) -> Array:
    out: Array = rotate(from_yaw(np.array(turn)), np.array(place))
    return out
