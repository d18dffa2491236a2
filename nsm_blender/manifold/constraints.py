# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints on a motion as plain data, and their costs and targets (section 7.1 of Holden et al. 2016)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from ..errors import EditError
from ..files import Count, Sizes, Where, Within, parse_json, record
from ..models.manifold import FPS, FRAME
from ..motion.filters import runs
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from . import terms
from .frames import with_bone_lengths
from .kinematics import Kinematics
from .terms import GAZE_JOINTS, ROOT, Term

_RELEASE = 4
"""Frames at the end of a contact over which a heel's weight falls; a heel held to the end would leap up after it."""
_AROUND = 0.3
"""Weight of the frames before and after a pose key, relative to the key's: they guide the transition."""
_HEELS = [column for column, name in enumerate(CONTACT_JOINTS) if name.endswith("Foot")]
_LOOK_EASE = 0.4
"""Time in seconds in which the head turns to its target."""

_MOST_FRAMES = 1_000_000
"""Frames of a constraint at most; edited motions are a few thousand long."""
_MOST_CONSTRAINTS = 10_000
"""Constraints of a file at most."""
_FARTHEST = 1e4
"""Meters from the world's origin to a constraint's place at most."""
_HEAVIEST = 1e6
"""Largest weight of a constraint: float32 sums of such costs have no room for the others."""
FrameNumber = Annotated[int, Within(-_MOST_FRAMES, _MOST_FRAMES)]
Places = Annotated[
    Sequence[Annotated[Sequence[float], Sizes(3), Within(-_FARTHEST, _FARTHEST, "m")]], Count(0, _MOST_FRAMES)
]
"""Rows x, y, z in meters, or x, y and facing angle."""
Flags = Annotated[
    Sequence[Annotated[Sequence[float], Sizes(len(CONTACT_JOINTS)), Within(0, 1)]], Count(0, _MOST_FRAMES)
]
"""Rows of one value from 0 to 1 for each contact joint."""
Seconds = Annotated[float, Within(0, 100, "s")]


@dataclass(frozen=True, eq=False)
class Base:
    """The motion to be edited, at 60 fps.

    frames: (T, FRAME.size). start: the first frame's root x, y, z, facing angle. contacts: (T, 4), 0 or 1. fps: the
    rate at which constraints count frames. length: frames of the motion at that rate; 0 for as many as here.
    """

    frames: Array
    start: tuple[float, float, float, float]
    contacts: Array
    fps: float = FPS
    length: int = 0

    def __len__(self) -> int:
        return len(self.frames)

    @cached_property
    def kinematics(self) -> Kinematics:
        """World places and root of the frames."""
        return Kinematics(self.frames, self.start)

    @property
    def count(self) -> int:
        """Number of frames at the constraints' rate."""
        return self.length or len(self)


@dataclass
class Constraint:
    """A constraint over a range of frames.

    start, stop: frames start..stop-1 of the motion at its own rate, the first is 0; stop None: to its end. weight:
    factor on the cost, relative to the other constraints; 0 switches it off.
    """

    start: FrameNumber = 0
    stop: FrameNumber | None = None
    weight: Annotated[float, Within(-_HEAVIEST, _HEAVIEST)] = 1.0

    kind: ClassVar[str]

    def term(self, base: Base) -> Term:
        """The constraint's cost for a motion. Raises EditError when the constraint does not fit the motion."""
        raise NotImplementedError

    def check(self, base: Base) -> None:
        """Raise EditError, with the sentence the user should read, when the constraint cannot be applied."""
        stop = base.count if self.stop is None else self.stop
        if not 0 <= self.start < stop:
            raise EditError(f"The constraint '{self.kind}' has no frames: it runs from {self.start} to {stop}.")
        if self.start >= base.count:
            raise EditError(
                f"The constraint '{self.kind}' begins at frame {self.start}; the motion has {base.count} frames."
            )
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise EditError(f"The weight of the constraint '{self.kind}' is {self.weight}; it must be 0 or more.")

    def frames(self, base: Base) -> slice:
        """The constraint's range at 60 fps."""
        self.check(base)
        rate = FPS / base.fps
        first = min(int(np.ceil(self.start * rate - 1e-6)), len(base) - 1)
        if self.stop is None:
            return slice(first, len(base))
        return slice(first, min(max(int(np.floor((self.stop - 1) * rate + 1e-6)) + 1, first + 1), len(base)))

    def weights(self, base: Base) -> Array:
        """Weights (T,): the constraint's weight inside the range, 0 outside."""
        out = np.zeros(len(base))
        out[self.frames(base)] = self.weight
        return out

    def resampled(self, values: Sequence[Sequence[float]] | Array, base: Base, size: int, name: str) -> Array:
        """Resample rows of `size` numbers, one row for all frames or one for each frame of the range, to 60 fps: (n,
        size)."""
        rows = _numbers(values, size, f"{name} of the constraint '{self.kind}'")
        inside = self.frames(base)
        count = inside.stop - inside.start
        if len(rows) == 1:
            return np.repeat(rows, count, axis=0)
        wanted = (base.count if self.stop is None else self.stop) - self.start
        if len(rows) != wanted:
            raise EditError(
                f"The {name} of the constraint '{self.kind}' have {len(rows)} entries for {wanted} frames; "
                "give one for all frames or one for each."
            )
        at = np.arange(inside.start, inside.stop) * base.fps / FPS - self.start
        return np.stack([np.interp(at, np.arange(len(rows)), column) for column in rows.T], axis=1)


@dataclass
class PinJoint(Constraint):
    """A joint pinned to places in the world.

    joint: name in the model skeleton. places: one place (x, y, z) in meters, or one for each frame of the range. ease:
    seconds before and after the range over which the pin fades in and out.
    """

    joint: str = "RightHand"
    places: Places = ((0.0, 0.0, 1.0),)
    ease: Seconds = 0.75

    kind: ClassVar[str] = "pin"

    def target(self, base: Base) -> tuple[Array, Array]:
        """Places (T, 3) of the joint, and weight (T,), 0..1, of the pin."""
        joint = _joint(self.joint)
        now = base.kinematics.world([joint])[:, 0]
        inside = self.frames(base)
        share = eased(len(base), inside, self.ease)
        return _approach(now, self.resampled(self.places, base, 3, "places"), inside, share), share

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        target, share = self.target(base)
        return terms.Pin(_joint(self.joint), target, self.weight * share)


@dataclass
class FootSkate(Constraint):
    """Planted heels and toes stand still.

    contacts: for each frame of the motion from `start` on the 4 labels (0 or 1) of CONTACT_JOINTS; None takes the
    motion's own.
    """

    contacts: Flags | None = None

    kind: ClassVar[str] = "foot_skate"

    def labels(self, base: Base) -> Array:
        """Contacts (T, 4), 0 or 1, of the whole motion, with this constraint's labels in its range."""
        out = (base.contacts > 0.5).astype(np.float32)
        if self.contacts is not None:
            inside = self.frames(base)
            out[inside] = self.resampled(self.contacts, base, len(CONTACT_JOINTS), "contacts") > 0.5
        return out

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        on = self.labels(base) * self.weights(base)[:, None]
        for heel in _HEELS:
            on[:, heel] *= _held(on[:, heel] > 0)
        return terms.FootSlide(np.minimum(on[:-1], on[1:]))


@dataclass
class KeepTrajectory(Constraint):
    """The root keeps its trajectory. root: x, y and facing angle for each frame of the range; None takes the motion's
    own."""

    root: Places | None = None

    kind: ClassVar[str] = "trajectory"

    def target(self, base: Base) -> Array:
        """Target root velocity and turn (T, 3) in m/s and rad/s."""
        out = base.frames[:, ROOT].astype(np.float64)
        if self.root is not None:
            inside = self.frames(base)
            track = self.resampled(self.root, base, 3, "root places")
            if len(track) > 1:
                step = np.diff(track, axis=0) * FPS
                c, s = np.cos(track[:-1, 2]), np.sin(track[:-1, 2])
                local = np.stack((c * step[:, 0] + s * step[:, 1], c * step[:, 1] - s * step[:, 0], step[:, 2]), 1)
                out[inside.start : inside.stop - 1] = local
        return out

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        return terms.Trajectory(self.target(base).astype(np.float32), self.weights(base))


@dataclass
class BoneLengths(Constraint):
    """Every bone keeps its length; every edit has this constraint."""

    kind: ClassVar[str] = "bones"

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        return terms.Bones(self.weights(base))


@dataclass
class FloorHeight(Constraint):
    """Planted feet stand on a flat floor, and the others are not below it. height: world meters."""

    height: Annotated[float, Within(-_FARTHEST, _FARTHEST, "m")] = 0.0

    kind: ClassVar[str] = "floor"

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        return terms.Floor(base.contacts, self.height - base.start[2], self.weights(base))


@dataclass
class LookAt(Constraint):
    """The head looks at a place (x, y, z) in the world, or at one for each frame of the range."""

    target: Places = ((0.0, -2.0, 1.6),)

    kind: ClassVar[str] = "look_at"

    def places(self, base: Base) -> tuple[Array, Array]:
        """Targets (T, 3) of the gaze, and its weight (T,), 0..1."""
        inside = self.frames(base)
        track = self.resampled(self.target, base, 3, "target places")
        out = np.empty((len(base), 3))
        out[: inside.start], out[inside], out[inside.stop :] = track[0], track, track[-1]
        return out, eased(len(base), inside, _LOOK_EASE)

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        target, share = self.places(base)
        return terms.Look(target, neck_tilt(base), self.weight * share)


@dataclass
class PoseKey(Constraint):
    """A pose that is matched around the root.

    places: (J, 3) joint places in meters relative to the root on the ground, turned into its facing. ease: seconds
    before and after the range over which the pose fades in and out.
    """

    places: Places = ()
    ease: Seconds = 0.5

    kind: ClassVar[str] = "pose"

    def pose(self) -> Array:
        """Joint places (J, 3). Raises EditError."""
        pose = _numbers(self.places, 3, "places of the constraint 'pose'")
        if len(pose) != len(MODEL_SKELETON):
            raise EditError(f"The pose key has {len(pose)} joints instead of {len(MODEL_SKELETON)}.")
        return pose

    def term(self, base: Base) -> Term:
        """See `Constraint`."""
        pose, inside = self.pose(), self.frames(base)
        share = eased(len(base), inside, self.ease)
        wanted = np.repeat(pose.reshape(1, -1), inside.stop - inside.start, axis=0)
        target = _approach(base.frames[:, FRAME.joint_position].astype(np.float64), wanted, inside, share)
        target = with_bone_lengths(target.reshape(len(target), -1, 3), "LeftUpLeg")
        weight = _AROUND * share
        weight[inside] = 1
        return terms.Pose(target.astype(np.float32), self.weight * weight)


KINDS: dict[str, type[Constraint]] = {
    kind.kind: kind for kind in (PinJoint, FootSkate, KeepTrajectory, BoneLengths, FloorHeight, LookAt, PoseKey)
}
"""All kinds of constraints, by their name in files."""


def to_json(constraints: Sequence[Constraint]) -> str:
    """Write constraints as JSON text, from which `from_json` reads equal ones."""
    return json.dumps([{"kind": c.kind, **asdict(c)} for c in constraints], indent=1)


def from_json(text: str, source: str = "constraints") -> list[Constraint]:
    """Read constraints from JSON text. Raises EditError naming `source`."""
    entries = parse_json(text, list, "a list of constraints", source, EditError)
    if len(entries) > _MOST_CONSTRAINTS:
        raise EditError(f"{source}: more than {_MOST_CONSTRAINTS:,} constraints.")
    where = Where(source, EditError, "constraints")
    return [_from_entry(entry, where.at(number)) for number, entry in enumerate(entries)]


def _from_entry(entry: object, where: Where) -> Constraint:
    if not isinstance(entry, dict):
        where.wrong(entry, "an object")
    name = entry.get("kind")
    kind = KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        where.at("kind").wrong(name, f"one of {', '.join(KINDS)}")
    return record(kind, {key: value for key, value in entry.items() if key != "kind"}, where)


def eased(count: int, inside: slice, seconds: float) -> Array:
    """Weight (count,) that is 1 inside a range and falls smoothly to 0 within `seconds` before and after it."""
    frames = np.arange(count)
    outside = np.maximum(np.maximum(inside.start - frames, frames - (inside.stop - 1)), 0)
    t = np.clip(1 - outside / max(seconds * FPS, 1), 0, 1)
    # Without speed and acceleration at both ends.
    out: Array = t**3 * (10 - 15 * t + 6 * t * t)
    return out


def _held(on: Array) -> Array:
    """Weight (T,) that is 1 where a contact `on` (T,) continues for _RELEASE frames or to the motion's end, and falls
    to its last frame."""
    out = np.ones(len(on))
    for _, stop in runs(on):
        if stop < len(on):
            last = np.arange(max(stop - _RELEASE, 0), stop)
            out[last] = ((stop - last) / (_RELEASE + 1)) ** 2
    return out


def neck_tilt(base: Base) -> float:
    """Angle in radians by which the neck leans forward on average, with which the head's direction is made level."""
    level = terms.gaze(base.kinematics.world(GAZE_JOINTS), 0.0)
    return float(-np.arcsin(np.clip(level[:, 2].mean(), -1, 1)))


def _approach(now: Array, wanted: Array, inside: slice, share: Array) -> Array:
    """Blend `now` (T, d) to `wanted` (n, d) inside a range; outside, shift it by `share` (T,) of the shift at the
    range's end."""
    out = now.copy()
    out[inside] = wanted
    first, last = wanted[0] - now[inside.start], wanted[-1] - now[inside.stop - 1]
    out[: inside.start] += share[: inside.start, None] * first
    out[inside.stop :] += share[inside.stop :, None] * last
    return out


def _joint(name: str) -> int:
    if name not in MODEL_SKELETON.names:
        raise EditError(f"There is no joint '{name}' in the model skeleton; take one of its names, such as RightHand.")
    return MODEL_SKELETON.index(name)


def _numbers(values: Any, size: int, name: str) -> Array:
    """Rows of `size` finite numbers, (n, size) with n > 0. Raises EditError when the values are no such rows."""
    try:
        out = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise EditError(f"The {name} are not numbers.") from error
    if out.ndim != 2 or out.shape[1] != size or not len(out) or not np.isfinite(out).all():
        raise EditError(f"The {name} are not rows of {size} finite numbers.")
    return out
