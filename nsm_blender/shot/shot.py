# SPDX-License-Identifier: GPL-3.0-or-later
"""A shot as plain data: what a character is to do where. It goes from the scene to the engine and to disk."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ..errors import ShotError
from ..files import Sizes, Where, Within, parse_json, read_text, record, write_whole
from ..geometry.colliders import MOST_CUBOIDS, Collider
from ..geometry.ground import GroundMesh
from ..geometry.roles import ROLES
from ..motion.rotations import Array
from .goals import ACTIONS, WITHOUT_GOAL, ActionKey, Corners, Goal, Move, RouteOptions
from .limits import (
    FARTHEST_GOAL,
    FARTHEST_START,
    LONGEST_PATH,
    LONGEST_SHOT,
    MOST_FRAMES,
    MOST_POSES,
    Angle,
    BodyRadii,
    Distinct,
    PerFrame,
)

BAKEABLE_GAITS = ("stand", "walk", "jog", "crouch")
"""Gaits that the shipped weights were trained on."""

FASTEST = 6.0
"""m/s; a faster command is taken for a mistake."""

WAY_GAITS = ("walk", "jog", "crouch")
"""Gaits that an action key may ask for on the way."""

_UNTOLD = ("body_radii", "performer", "performer_blend", "ground", "arrive", "duration")
"""Fields that are left out of a shot's file and hash while they are empty, as older files are without them."""

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

    points: Corners
    speeds: Annotated[list[float], PerFrame]
    gaits: Annotated[list[str], PerFrame]
    facing_offsets: Annotated[list[Angle], PerFrame]
    speed_factors: list[float] = field(default_factory=list)
    closed: bool = False


@dataclass
class VelocityFollow:
    """Follow commanded velocities, as from a game pad.

    velocities: F desired velocities (x, y) in m/s, world. facings: F desired facing angles about +Z
    (radians, 0 faces -Y). gaits: F names out of BAKEABLE_GAITS. One entry per scene frame each.
    """

    velocities: Annotated[list[Annotated[list[float], Sizes(2)]], PerFrame]
    facings: Annotated[list[Angle], PerFrame]
    gaits: Annotated[list[str], PerFrame]


@dataclass
class Shot:
    """One character's shot.

    name: of the character. fps: the scene's frame rate. frames: number of frames to bake (the first
    is the start). start: x, y, z in meters and facing angle about +Z in radians (0 faces -Y), or
    None: at the first point of the path, facing along it; without a path at the world's origin.
    One of `path`, `velocity` and `keys` is given. bias_velocity and bias_direction are tau_v and tau_d of the
    trajectory blend (PFNN eq. 9): larger follows the command more closely.
    keys: what to do, in order of time. goals: the places that the keys name. colliders: the things around.
    body_radii: meters of the capsules `geometry.body.CAPSULES` of the body that keeps out of things; none takes the
    model's.
    performer: whose manner of walking it is, of those that the card of the weights lists; none is the one whose
    recordings the weights know best. performer_blend: share of that one in the performer's manner.
    ground: meshes to walk on, over a level floor at z = 0; none is a level floor at the height of the start.
    sway: share of people's sway that the body has while it stands and waits.
    """

    name: str
    fps: float
    frames: Annotated[int, Within(-1e9, 1e9)]
    path: PathFollow | None = None
    velocity: VelocityFollow | None = None
    start: Move | None = None
    bias_velocity: Annotated[float, Within(-1000, 1000)] = 2.0
    bias_direction: Annotated[float, Within(-1000, 1000)] = 5.0
    seed: Annotated[int, Within(0, 2**63 - 1)] = 0
    version: int = SHOT_VERSION
    keys: Annotated[list[ActionKey], Distinct] = field(default_factory=list)
    goals: Annotated[list[Goal], Distinct] = field(default_factory=list)
    colliders: Annotated[list[Collider], Distinct] = field(default_factory=list)
    route_options: RouteOptions = field(default_factory=RouteOptions)
    body_radii: BodyRadii = field(default_factory=list)
    performer: str = ""
    performer_blend: Annotated[float, Within(0.0, 1.0)] = 0.0
    ground: Annotated[list[GroundMesh], Distinct] = field(default_factory=list)
    sway: Annotated[float, Within(0.0, 1.0)] = 1.0

    def validate(self) -> None:
        """Raise ShotError, with the sentence the user should read, when the shot cannot be baked."""
        if self.version != SHOT_VERSION:
            raise ShotError(
                f"The shot was saved as version {self.version}; this extension reads versions up to {SHOT_VERSION}."
            )
        record(Shot, self, Where("The shot", ShotError))
        if self.frames < 2:
            raise ShotError("The shot has fewer than 2 frames; move the end of the frame range back.")
        if not 1 <= self.fps <= 240:
            raise ShotError(f"The frame rate {self.fps:g} is not between 1 and 240.")
        self._validate_length()
        if (self.path is not None) + (self.velocity is not None) + bool(self.keys) != 1:
            raise ShotError(
                "The shot needs either a path or velocity commands or action keys; choose a curve to walk along, "
                "or add an action key."
            )
        for values, name in self._per_frame():
            if len(values) != self.frames:
                raise ShotError(f"The shot has {self.frames} frames but {len(values)} {name}.")
        if min(self.bias_velocity, self.bias_direction) < 0:
            raise ShotError("A bias of the trajectory is below 0.")
        self._validate_surroundings()
        if self.path is not None:
            _check_gaits(self.path.gaits, BAKEABLE_GAITS)
            self._validate_path(self.path)
        if self.velocity is not None:
            _check_gaits(self.velocity.gaits, BAKEABLE_GAITS)
            _check_speed(float(np.linalg.norm(self.velocity.velocities, axis=1).max()))
        names = {goal.name for goal in self.goals}
        for number, key in enumerate(self.keys, start=1):
            self._validate_key(key, f"Action key {number}", names)
        self._validate_distances()

    def _validate_length(self) -> None:
        seconds = self.frames / self.fps
        if seconds > LONGEST_SHOT or self.frames > MOST_FRAMES:
            raise ShotError(
                f"The shot is {seconds:,.0f} s long, {self.frames:,} frames; {LONGEST_SHOT:,.0f} s and {MOST_FRAMES:,} "
                "frames are the most that is baked at once. Cut it into shorter ones."
            )

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

    def _validate_path(self, path: PathFollow) -> None:
        points = np.asarray(path.points, dtype=float)
        if len(points) < 2:
            raise ShotError("The path has fewer than two points; draw a longer curve.")
        length = _check_length(points, "path")
        if length < 0.1:
            raise ShotError(f"The path is {length * 100:.0f} cm long; draw one of 10 cm or more.")
        if self.start is not None and (away := _distance(self.start[:2], points[:, :2])) > FARTHEST_START:
            raise ShotError(
                f"The start is {away:.1f} m from the path; {FARTHEST_START:g} m are the most. Move the character or "
                "the path."
            )
        if path.speed_factors and len(path.speed_factors) != len(points):
            raise ShotError(f"The path has {len(points)} points but {len(path.speed_factors)} speed factors.")
        if min(path.speed_factors, default=0.0) < 0:
            raise ShotError("A speed factor along the path is negative; use the facing to walk backward.")
        if min(path.speeds) < 0:
            raise ShotError("A speed along the path is negative; use the facing to walk backward.")
        _check_speed(max(path.speeds))

    def _validate_distances(self) -> None:
        """Goals are near enough to the start, or to the first of them, for a route to be found."""
        places = [goal.place for goal in self.goals if any(key.goal == goal.name for key in self.keys)]
        if self.start is not None:
            places = [self.start[:3], *places]
        for place in places[1:]:
            away = float(np.linalg.norm(np.subtract(place, places[0])))
            if away > FARTHEST_GOAL:
                raise ShotError(
                    f"A goal is {away:,.0f} m away; routes are found up to {FARTHEST_GOAL:g} m. Move it nearer, or "
                    "draw a path."
                )

    def _validate_surroundings(self) -> None:
        """Goals, colliders and the body's size are valid."""
        for things, kind in ((self.goals, "goals"), (self.colliders, "colliders")):
            twice = sorted(name for name, count in Counter(thing.name for thing in things).items() if count > 1)
            if twice:
                raise ShotError(f"Two {kind} of the shot have the name '{twice[0]}'; rename one.")
        names = {collider.name for collider in self.colliders}
        for goal in self.goals:
            if goal.collider and goal.collider not in names:
                raise ShotError(
                    f"The goal '{goal.name}' is on '{goal.collider}', which is not a collider of the shot; "
                    "add it to the shot, or let the goal use another."
                )
        for mesh in self.ground:
            mesh.validate()
        for collider in self.colliders:
            _check_collider(collider)
        _check_amount(self.colliders)
        if min(self.route_options.radius, self.route_options.height) <= 0:
            raise ShotError("The radius or the height of the body is not above 0; set it higher.")

    def _validate_key(self, key: ActionKey, which: str, goals: set[str]) -> None:
        """What a key says can be understood; whether it can be done, `validation.check` says."""
        if key.action not in ACTIONS:
            raise ShotError(f"{which}: '{key.action}' is not an action; choose one of {', '.join(ACTIONS)}.")
        if not key.goal and key.action not in WITHOUT_GOAL:
            raise ShotError(f"{which} ({key.action}) has no goal; choose one.")
        if key.goal and key.goal not in goals:
            raise ShotError(f"{which} ({key.action}): there is no goal '{key.goal}' in the shot.")
        _check_gaits([key.gait], WAY_GAITS)
        if key.start is not None and key.start < 0:
            raise ShotError(f"{which} ({key.action}) starts before the first frame of the shot; let it start later.")
        if key.hold < 0:
            raise ShotError(f"{which} ({key.action}) has a negative hold; set it to 0 or more.")
        _check_times(key, f"{which} ({key.action})")
        if key.speed is not None:
            if key.speed <= 0:
                raise ShotError(f"{which} ({key.action}) asks for a speed that is not above 0; leave it out.")
            _check_speed(key.speed)
        if len(key.route) == 1:
            raise ShotError(f"{which} ({key.action}): its route is not two or more places x, y, z; add some.")
        if key.route:
            _check_length(np.asarray(key.route, dtype=float), "route")

    def to_json(self) -> str:
        """The shot as JSON text; `from_json` gives an equal shot, to the bit."""
        return json.dumps(self, default=_plain, indent=1, sort_keys=True)

    @staticmethod
    def from_json(text: str, source: str = "shot") -> Shot:
        """Read a shot from JSON text, of this version or an earlier one. Raises ShotError naming `source`."""
        data = parse_json(text, dict, "a shot", source, ShotError)
        where = Where(source, ShotError)
        version = data.get("version", SHOT_VERSION)
        if version not in (1, SHOT_VERSION) or isinstance(version, bool):
            where.at("version").refuse(f"is {version!r:.20}; this extension reads versions up to {SHOT_VERSION}")
        return record(Shot, data | {"version": SHOT_VERSION}, where)

    def save(self, path: Path | str) -> None:
        """Write the shot as JSON. Raises UserError."""
        write_whole(path, self.to_json())

    @staticmethod
    def load(path: Path | str) -> Shot:
        """Read a shot file of a shot that can be baked. Raises ShotError that names the file."""
        shot = Shot.from_json(read_text(path, "a shot", ShotError), str(path))
        try:
            shot.validate()
        except ShotError as error:
            raise ShotError(f"{path}: {error}") from error
        return shot

    def hash(self) -> str:
        """Short hash of everything that determines the bake."""
        text = json.dumps(self, default=_condensed, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(thing: Any) -> dict[str, Any]:
    """A part of a shot as JSON's plain data, without what is left as it was before a shot could tell it."""
    if isinstance(thing, Collider):
        return thing.to_data()
    return {name: value for name, value in vars(thing).items() if name not in _UNTOLD or value}


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


def _check_times(key: ActionKey, which: str) -> None:
    """Start, arrival and duration of a key do not contradict each other."""
    if not key.is_timed:
        return
    if key.action == "idle" or not key.goal:
        raise ShotError(f"{which} stays where it is and arrives nowhere; set how long it is held instead.")
    if key.duration is not None and key.duration < 1:
        raise ShotError(f"{which} takes less than a frame.")
    if key.arrive is None:
        return
    if key.arrive <= (key.start or 0):
        raise ShotError(f"{which} arrives at frame {key.arrive}, not after frame {key.start or 0}, where it sets off.")
    if key.duration is not None and key.duration != key.arrive - (key.start or key.arrive - key.duration):
        raise ShotError(
            f"{which} sets off at frame {key.start} and arrives at frame {key.arrive}, which does not take "
            f"{key.duration} frames; leave one of the three open."
        )


def _check_collider(collider: Collider) -> None:
    if collider.role not in ROLES:
        raise ShotError(f"The collider '{collider.name}' has an unknown role '{collider.role}'.")
    cuboids, poses = collider.cuboids, collider.poses
    _numbers(cuboids.center, f"cuboids of '{collider.name}'")
    if not len(cuboids.half) or len(cuboids.half) != len(cuboids.center):
        raise ShotError(f"The collider '{collider.name}' has no cuboids; refresh it.")
    if _numbers(cuboids.half, f"cuboids of '{collider.name}'").min() < 0:
        raise ShotError(f"The collider '{collider.name}' has a cuboid of negative size; refresh it.")
    if not len(poses) or np.abs(_numbers(poses, f"places of '{collider.name}'")[:, 3:]).sum(1).min() == 0:
        raise ShotError(f"The collider '{collider.name}' has no place; refresh it.")


def _check_amount(colliders: Sequence[Collider]) -> None:
    """All colliders together can be held in memory."""
    if sum(len(collider.cuboids.center) for collider in colliders) > MOST_CUBOIDS:
        raise ShotError(f"The colliders have more than {MOST_CUBOIDS:,} cuboids; wrap them more coarsely.")
    moving = [len(collider.poses) for collider in colliders if len(collider.poses) > 1]
    if len(moving) * max(moving, default=0) > MOST_POSES:
        raise ShotError(
            f"{len(moving)} colliders move over {max(moving):,} frames; cut the shot into shorter ones, or let fewer "
            "things move."
        )


def _check_length(points: Array, what: str) -> float:
    """The length in meters of a polyline (N, 3). Raises ShotError when it is beyond all that can be walked."""
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    if length > LONGEST_PATH:
        raise ShotError(f"The {what} is {length / 1000:,.1f} km long; {LONGEST_PATH / 1000:g} km are the most.")
    return length


def _distance(place: Sequence[float], points: Array) -> float:
    """Meters from a place (2,) to the polyline through points (N, 2)."""
    along, off = np.diff(points, axis=0), np.asarray(place) - points[:-1]
    share = np.clip((along * off).sum(1) / np.maximum((along**2).sum(1), 1e-12), 0, 1)
    return float(np.linalg.norm(off - share[:, None] * along, axis=1).min())


def _check_speed(fastest: float) -> None:
    if fastest > FASTEST:
        raise ShotError(f"The speed {fastest:.1f} m/s is faster than the model can run ({FASTEST:g} m/s at most).")


def per_frame(value: Array | float, frames: int) -> list[float]:
    """A constant or an array (frames,) as the list that a shot holds."""
    return [float(v) for v in np.broadcast_to(np.asarray(value, dtype=float), (frames,))]
