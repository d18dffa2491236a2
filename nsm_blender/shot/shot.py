# SPDX-License-Identifier: GPL-3.0-or-later
"""A shot as plain data: what a character is to do where. It goes from the scene to the engine and to disk."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ShotError
from ..files import parse_json, read_text
from ..geometry.colliders import Collider
from ..geometry.roles import ROLES
from ..motion.rotations import Array
from .goals import ACTIONS, ActionKey, Goal, RouteOptions

BAKEABLE_GAITS = ("stand", "walk", "jog", "crouch")
"""Gaits that the shipped weights were trained on."""

FASTEST = 6.0
"""m/s; a faster command is taken for a mistake."""

WAY_GAITS = ("walk", "jog", "crouch")
"""Gaits that an action key may ask for on the way."""

SHOT_VERSION = 2
"""2 added action keys, goals and colliders; files of version 1 are read as shots without any."""


@dataclass
class PathFollow:
    """Follow a curve at a speed that may change over time and along the curve.

    points: N places on the curve, world meters (x, y, z), in walking order, no two neighbors equal.
    speed_factors: N factors on the speed at each point (1 = as keyed); empty for all 1.
    speeds: F desired speeds in m/s, one per scene frame; 0 stands still, below 0 is an error.
    gaits: F names out of BAKEABLE_GAITS, one per scene frame.
    facing_offsets: F angles in radians between the direction of travel and the facing, about +Z, one
        per scene frame: 0 faces forward, pi walks backward, +pi/2 faces left of the way (so the body
        steps sideways to its own right).
    closed: the curve returns to its start and may be walked round again.
    """

    points: list[list[float]]
    speeds: list[float]
    gaits: list[str]
    facing_offsets: list[float]
    speed_factors: list[float] = field(default_factory=list)
    closed: bool = False


@dataclass
class VelocityFollow:
    """Follow commanded velocities, as from a game pad.

    velocities: F desired velocities (x, y) in m/s, world. facings: F desired facing angles about +Z
    (radians, 0 faces -Y). gaits: F names out of BAKEABLE_GAITS. One entry per scene frame each.
    """

    velocities: list[list[float]]
    facings: list[float]
    gaits: list[str]


@dataclass
class Shot:
    """One character's shot.

    name: of the character. fps: the scene's frame rate. frames: number of frames to bake (the first
    is the start). start: x, y, z in meters and facing angle about +Z in radians (0 faces -Y), or
    None: at the first point of the path, facing along it; without a path at the world's origin.
    One of `path`, `velocity` and `keys` is given. bias_velocity and bias_direction are tau_v and tau_d of the
    trajectory blend (PFNN eq. 9): larger follows the command more closely.
    keys: what to do, in order of time. goals: the places that the keys name. colliders: the things around.
    """

    name: str
    fps: float
    frames: int
    path: PathFollow | None = None
    velocity: VelocityFollow | None = None
    start: list[float] | None = None
    bias_velocity: float = 2.0
    bias_direction: float = 5.0
    seed: int = 0
    version: int = SHOT_VERSION
    keys: list[ActionKey] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    colliders: list[Collider] = field(default_factory=list)
    route_options: RouteOptions = field(default_factory=RouteOptions)

    def validate(self) -> None:
        """Raise ShotError, with the sentence the user should read, when the shot cannot be baked."""
        if self.version != SHOT_VERSION:
            raise ShotError(
                f"The shot was saved as version {self.version}; this extension reads versions up to {SHOT_VERSION}."
            )
        if not isinstance(self.frames, int) or not isinstance(self.fps, int | float):
            raise ShotError("The number of frames or the frame rate of the shot is not a number.")
        if self.frames < 2:
            raise ShotError("The shot has fewer than 2 frames; move the end of the frame range back.")
        if not 1 <= self.fps <= 240:
            raise ShotError(f"The frame rate {self.fps:g} is not between 1 and 240.")
        if (self.path is not None) + (self.velocity is not None) + bool(self.keys) != 1:
            raise ShotError(
                "The shot needs either a path or velocity commands or action keys; choose a curve to walk along, "
                "or add an action key."
            )
        for values, name in self._per_frame():
            if len(values) != self.frames:
                raise ShotError(f"The shot has {self.frames} frames but {len(values)} {name}.")
        if self.start is not None and _numbers(self.start, "start").shape != (4,):
            raise ShotError("The start is not a place x, y, z and a facing angle.")
        if _numbers([self.bias_velocity, self.bias_direction], "biases").min() < 0:
            raise ShotError("A bias of the trajectory is below 0.")
        self._validate_surroundings()
        if self.path is not None:
            _check_gaits(self.path.gaits, BAKEABLE_GAITS)
            self._validate_path(self.path)
        if self.velocity is not None:
            _check_gaits(self.velocity.gaits, BAKEABLE_GAITS)
            self._validate_velocity(self.velocity)
        for number, key in enumerate(self.keys, start=1):
            self._validate_key(key, f"Action key {number}")

    def _per_frame(self) -> list[tuple[list[Any], str]]:
        if self.path is not None:
            return [
                (self.path.speeds, "speeds"),
                (self.path.gaits, "gaits"),
                (self.path.facing_offsets, "facing offsets"),
            ]
        if self.velocity is None:
            return []
        return [
            (self.velocity.velocities, "velocities"),
            (self.velocity.gaits, "gaits"),
            (self.velocity.facings, "facings"),
        ]

    @staticmethod
    def _validate_path(path: PathFollow) -> None:
        points = _numbers(path.points, "points of the path")
        if points.ndim != 2 or points.shape[1] != 3 or len(points) < 2:
            raise ShotError("The path has fewer than two points; draw a longer curve.")
        length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        if length < 0.1:
            raise ShotError(f"The path is {length * 100:.0f} cm long; draw one of 10 cm or more.")
        if path.speed_factors and len(path.speed_factors) != len(points):
            raise ShotError(f"The path has {len(points)} points but {len(path.speed_factors)} speed factors.")
        if path.speed_factors and _numbers(path.speed_factors, "speed factors").min() < 0:
            raise ShotError("A speed factor along the path is negative; use the facing to walk backward.")
        speeds = _numbers(path.speeds, "speeds")
        if speeds.min() < 0:
            raise ShotError("A speed along the path is negative; use the facing to walk backward.")
        _check_speed(float(speeds.max()))
        _numbers(path.facing_offsets, "facing offsets")

    @staticmethod
    def _validate_velocity(velocity: VelocityFollow) -> None:
        velocities = _numbers(velocity.velocities, "velocities")
        if velocities.shape != (len(velocity.gaits), 2):
            raise ShotError("A velocity is not a pair x, y.")
        _check_speed(float(np.linalg.norm(velocities, axis=1).max()))
        _numbers(velocity.facings, "facings")

    def _validate_surroundings(self) -> None:
        """Goals, colliders and the body's size are valid."""
        for things, kind in ((self.goals, "goals"), (self.colliders, "colliders")):
            names = [thing.name for thing in things]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ShotError(f"Two {kind} of the shot have the name '{twice[0]}'; rename one.")
        for goal in self.goals:
            if _numbers(goal.place, f"coordinates of the goal '{goal.name}'").shape != (3,):
                raise ShotError(f"The goal '{goal.name}' is not a place x, y, z.")
            _check_angle(goal.facing, f"facing of the goal '{goal.name}'")
            if goal.moves and _numbers(goal.moves, f"moves of the goal '{goal.name}'").shape[1:] != (4,):
                raise ShotError(f"The moves of the goal '{goal.name}' are not x, y, z and facing at each frame.")
            if goal.collider and goal.collider not in (collider.name for collider in self.colliders):
                raise ShotError(
                    f"The goal '{goal.name}' is on '{goal.collider}', which is not a collider of the shot; "
                    "make it one, or free the goal."
                )
        for collider in self.colliders:
            _check_collider(collider)
        size = _numbers([self.route_options.radius, self.route_options.height], "radius and height of the body")
        if size.min() <= 0:
            raise ShotError("The radius or the height of the body is not above 0.")

    def _validate_key(self, key: ActionKey, which: str) -> None:
        """What a key says can be understood; whether it can be done, `validation.check` says."""
        if key.action not in ACTIONS:
            raise ShotError(f"{which}: '{key.action}' is not an action; choose one of {', '.join(ACTIONS)}.")
        if not key.goal and key.action != "idle":
            raise ShotError(f"{which} ({key.action}) has no goal; choose one.")
        if key.goal and key.goal not in (goal.name for goal in self.goals):
            raise ShotError(f"{which} ({key.action}): there is no goal '{key.goal}' in the shot.")
        _check_gaits([key.gait], WAY_GAITS)
        if key.start is not None and (not isinstance(key.start, int) or key.start < 0):
            raise ShotError(f"{which} ({key.action}) starts before the first frame of the shot.")
        if _numbers([key.hold], "seconds that an action key is held").min() < 0:
            raise ShotError(f"{which} ({key.action}) is held for less than no time.")
        if key.speed is not None:
            if _numbers([key.speed], "speeds of the action keys").min() <= 0:
                raise ShotError(f"{which} ({key.action}) asks for a speed that is not above 0.")
            _check_speed(key.speed)
        _check_angle(key.facing, "facing of an action key")
        if key.route and (_numbers(key.route, "points of a route").shape != (len(key.route), 3) or len(key.route) < 2):
            raise ShotError(f"{which} ({key.action}): its route is not two or more places x, y, z.")

    def to_json(self) -> str:
        """The shot as JSON text; `from_json` gives an equal shot, to the bit."""
        return json.dumps(self, default=_plain, indent=1, sort_keys=True)

    @staticmethod
    def from_json(text: str, source: str = "shot") -> Shot:
        """Read a shot from JSON text, of this version or an earlier one. Raises ShotError naming `source`."""
        data = parse_json(text, dict, "a shot", source, ShotError)
        try:
            path, velocity = data.pop("path", None), data.pop("velocity", None)
            if data.get("version") == 1:
                data["version"] = SHOT_VERSION
            return Shot(
                **data
                | {
                    "keys": [ActionKey(**key) for key in data.get("keys", [])],
                    "goals": [Goal(**goal) for goal in data.get("goals", [])],
                    "colliders": [Collider.from_data(collider) for collider in data.get("colliders", [])],
                    "route_options": RouteOptions(**data.get("route_options", {})),
                },
                path=PathFollow(**path) if path else None,
                velocity=VelocityFollow(**velocity) if velocity else None,
            )
        except KeyError as error:
            raise ShotError(f"{source}: not a shot (a collider without {error})") from error
        except (TypeError, AttributeError, ValueError) as error:
            raise ShotError(f"{source}: not a shot ({error})") from error

    def save(self, path: Path | str) -> None:
        """Write the shot as JSON."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @staticmethod
    def load(path: Path | str) -> Shot:
        """Read a shot file. Raises ShotError."""
        return Shot.from_json(read_text(path, "a shot", ShotError), str(path))

    def hash(self) -> str:
        """Short hash of everything that determines the bake."""
        text = json.dumps(self, default=_condensed, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(thing: Any) -> dict[str, Any]:
    """A part of a shot as JSON's plain data."""
    return thing.to_data() if isinstance(thing, Collider) else vars(thing)


def _condensed(thing: Any) -> dict[str, Any]:
    """The same for a hash, with the bytes' digest of long numbers: written out, they take longer than their walk."""
    data = _plain(thing)
    if not isinstance(thing, PathFollow | VelocityFollow):
        return data
    return {name: value if name in ("gaits", "closed") else _digest(value) for name, value in data.items()}


def _digest(values: list[Any]) -> list[Any]:
    """What tells numbers from others: their shape and a hash of their bytes."""
    numbers = np.asarray(values, dtype=np.float64)
    return [*numbers.shape, hashlib.sha256(numbers.tobytes()).hexdigest()]


def _numbers(values: Any, name: str) -> Array:
    """`values` as an array of finite numbers; ShotError when they are none."""
    try:
        out: Array = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise ShotError(f"The {name} are not numbers.") from error
    if not np.isfinite(out).all():
        raise ShotError(f"The {name} hold something that is not a finite number.")
    return out


def _check_gaits(gaits: list[str], known: tuple[str, ...]) -> None:
    unknown = sorted(set(gaits) - set(known))
    if unknown:
        raise ShotError(f"The gait '{unknown[0]}' is not one of {', '.join(known)}.")


def _check_angle(angle: float | None, name: str) -> None:
    if angle is not None and _numbers(angle, name).shape != ():
        raise ShotError(f"The {name} is not an angle.")


def _check_collider(collider: Collider) -> None:
    if collider.role not in ROLES:
        raise ShotError(f"The collider '{collider.name}' has an unknown role '{collider.role}'.")
    cuboids, poses = collider.cuboids, collider.poses
    _numbers(cuboids.centre, f"cuboids of '{collider.name}'")
    if not len(cuboids.half) or len(cuboids.half) != len(cuboids.centre):
        raise ShotError(f"The collider '{collider.name}' has no cuboids; refresh it.")
    if _numbers(cuboids.half, f"cuboids of '{collider.name}'").min() < 0:
        raise ShotError(f"The collider '{collider.name}' has a cuboid of less than no size; refresh it.")
    if not len(poses) or np.abs(_numbers(poses, f"places of '{collider.name}'")[:, 3:]).sum(1).min() == 0:
        raise ShotError(f"The collider '{collider.name}' is nowhere; refresh it.")


def _check_speed(fastest: float) -> None:
    if fastest > FASTEST:
        raise ShotError(f"The speed {fastest:.1f} m/s is faster than the model can run ({FASTEST:g} m/s at most).")


def per_frame(value: Array | float, frames: int) -> list[float]:
    """A constant or an array (frames,) as the list that a shot holds."""
    return [float(v) for v in np.broadcast_to(np.asarray(value, dtype=float), (frames,))]
