# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots of walking, starting, stopping, turning and standing, as an animator keys them, with random parameters."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...geometry.ground import GroundMesh
from ...geometry.shapes import block
from ...motion.root import direction
from ...motion.rotations import Array
from ...naturalness.case import Case
from ...shot.goals import ActionKey, Goal
from ...shot.shot import PathFollow, Shot, VelocityFollow

RATES = (24.0, 25.0, 30.0, 60.0)
"""Scene frame rates in frames a second."""

SPEEDS = {"walk": (0.8, 1.7), "jog": (2.2, 3.4), "crouch": (0.5, 0.9), "backward": (0.5, 1.1), "sideways": (0.5, 0.9)}
"""Slowest and fastest commanded speed in m/s of each manner of locomotion."""

BRAKING = 1.2
"""Deceleration in m/s^2 at the path's end, from which the length of a shot is computed."""

SPARE = 4.0
"""Time in seconds of a shot after the commanded speeds would have brought the character to the path's end."""

BEAM = (1.32, 1.5)
"""Lowest and highest underside in meters of a beam that is ducked under."""

BEHIND_BEAM = (0.5, 4.0)
"""Shortest and longest way in meters from a beam to the path's end."""

_SPACING = 0.05
"""Distance in meters between the points of a curve, about as the extension samples a Bezier curve."""


def _rng(kind: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([sum(kind.encode()), seed])


def _way(length: float, bends: Array, start: float) -> Array:
    """Points (N, 3) of a curve of `length` meters that sets off at the facing angle `start`.

    bends: (B,) radians by which the heading changes smoothly in each of B equal parts, one after the other.
    """
    count = max(round(length / _SPACING), 4) + 1
    s = np.linspace(0, len(bends), count)
    part = np.minimum(s.astype(int), len(bends) - 1)
    turned = np.concatenate(([0.0], np.cumsum(bends)))
    t = s - part
    heading = start + turned[part] + bends[part] * t * t * (3 - 2 * t)
    steps = direction(0.5 * (heading[1:] + heading[:-1])) * (length / (count - 1))
    out = np.zeros((count, 3))
    out[1:, :2] = np.cumsum(steps, axis=0)
    return out


def _curve(rng: np.random.Generator, length: float, sharpest: float = 0.6) -> Array:
    """A straight curve, or one that bends to both sides, by at most `sharpest` radians a meter on average."""
    start = float(rng.uniform(-math.pi, math.pi))
    bends = np.zeros(1) if rng.random() < 0.4 else rng.uniform(-1, 1, max(round(length / 2), 1)) * 2 * sharpest
    return _way(length, bends, start)


def _path_shot(
    kind: str,
    rng: np.random.Generator,
    points: Array,
    seconds: float,
    speed: Callable[[Array], Array],
    gait: str = "walk",
    offset: Callable[[Array], Array] | None = None,
) -> Shot:
    """A shot along `points` (N, 3). speed, offset: functions of the times (F,) in seconds of the scene's frames."""
    fps = float(rng.choice(RATES))
    times = np.arange(round(seconds * fps) + 1) / fps
    offsets = np.zeros(len(times)) if offset is None else offset(times)
    follow = PathFollow(points.tolist(), speed(times).tolist(), [gait] * len(times), offsets.tolist())
    return Shot(kind, fps, len(times), path=follow)


def _velocity_shot(
    kind: str, rng: np.random.Generator, seconds: float, velocity: Callable[[Array], Array], gait: str, facing: Array
) -> Shot:
    """A shot by velocities (F, 2), a function of the times (F,) in seconds.

    facing: (K, 2) times and angles of keys that hold until the next key.
    """
    fps = float(rng.choice(RATES))
    times = np.arange(round(seconds * fps) + 1) / fps
    key = np.searchsorted(facing[:, 0], times + 1e-9) - 1
    speeds = velocity(times)
    gaits = [gait if moving else "stand" for moving in np.linalg.norm(speeds, axis=1) > 0]
    return Shot(kind, fps, len(times), velocity=VelocityFollow(speeds.tolist(), facing[key, 1].tolist(), gaits))


def _errand_shot(kind: str, rng: np.random.Generator, seconds: float, keys: list[ActionKey], goals: list[Goal]) -> Shot:
    """A shot of action keys, from the origin with a random facing."""
    fps = float(rng.choice(RATES))
    start = [0.0, 0.0, 0.0, float(rng.uniform(-math.pi, math.pi))]
    return Shot(kind, fps, round(seconds * fps) + 1, keys=keys, goals=goals, start=start)


def _speed(rng: np.random.Generator, manner: str) -> float:
    return float(rng.uniform(*SPEEDS[manner]))


def _ramped(before: float, after: float, time: float, ramp: float) -> Callable[[Array], Array]:
    """A speed keyed to change at `time` within `ramp` seconds, at once when `ramp` is 0."""

    def speed(times: Array) -> Array:
        share = np.clip((times - time) / max(ramp, 1e-6), 0, 1)
        return before + (after - before) * share * share * (3 - 2 * share)

    return speed


def _ramp(rng: np.random.Generator) -> float:
    """Duration in seconds of a keyed change: constant keys half of the time, eased keys otherwise."""
    return 0.0 if rng.random() < 0.5 else float(rng.uniform(0.3, 1.5))


def _steady(kind: str, gait: str, offset: float = 0.0) -> Callable[[int], Case]:
    """Steady locomotion along a curve that does not end within the shot."""

    def case(seed: int) -> Case:
        rng = _rng(kind, seed)
        speed, seconds = _speed(rng, kind), float(rng.uniform(6, 10))
        points = _curve(rng, speed * seconds * 1.3 + 2, 0.6 if gait != "jog" else 0.3)
        turned = offset * (1 if kind != "sideways" or rng.random() < 0.5 else -1)
        shot = _path_shot(
            kind, rng, points, seconds, lambda t: np.full(len(t), speed), gait, lambda t: np.full(len(t), turned)
        )
        return Case(kind, seed, shot, network="pfnn")

    return case


def start(seed: int) -> Case:
    """Standing for 1 to 2.5 s, then walking or jogging: along a curve, by a velocity to any side, or by an action."""
    rng = _rng("start", seed)
    manner = "walk" if rng.random() < 0.6 else "jog"
    speed, wait = _speed(rng, manner), float(rng.uniform(1.0, 2.5))
    seconds, by = wait + 4.0, rng.integers(3)
    if by == 0:
        points = _curve(rng, speed * 6 + 2, 0.3)
        shot = _path_shot("start", rng, points, seconds, _ramped(0.0, speed, wait, _ramp(rng)), manner)
    elif by == 1:
        facing = float(rng.uniform(-math.pi, math.pi))
        way = facing + float(rng.choice((0.0, 0.0, 0.5, -0.5, 1.0, -1.0))) * math.pi
        change = _ramped(0.0, speed, wait, _ramp(rng))
        shot = _velocity_shot(
            "start",
            rng,
            seconds,
            lambda t: change(t)[:, None] * direction(np.array(way)),
            manner,
            np.array([[0.0, facing], [wait, way]]),
        )
    else:
        way = float(rng.uniform(-math.pi, math.pi))
        place = [*(direction(np.array(way)) * speed * 4).tolist(), 0.0]
        action = ActionKey("walk" if manner == "walk" else "run", "goal", gait=manner, speed=speed)
        keys = [ActionKey("idle", hold=wait), action]
        shot = _errand_shot("start", rng, wait + 6 + SPARE, keys, [Goal("goal", place)])
    return Case("start", seed, shot, network="pfnn")


def stop(seed: int) -> Case:
    """Walking or jogging for 3 s or more, then a stop that is keyed: on a curve, or of a velocity."""
    rng = _rng("stop", seed)
    manner = "walk" if rng.random() < 0.6 else "jog"
    speed, going = _speed(rng, manner), float(rng.uniform(3.0, 5.0))
    change = _ramped(speed, 0.0, going, _ramp(rng))
    if rng.random() < 0.5:
        shot = _path_shot("stop", rng, _curve(rng, speed * 9 + 2, 0.3), going + 5, change, manner)
    else:
        way = float(rng.uniform(-math.pi, math.pi))
        shot = _velocity_shot(
            "stop",
            rng,
            going + 5,
            lambda t: change(t)[:, None] * direction(np.array(way)),
            manner,
            np.array([[0.0, way]]),
        )
    return Case("stop", seed, shot, network="pfnn")


def turn(seed: int) -> Case:
    """A change of direction by 45 to 180 degrees while walking or jogging: a corner of a curve, or another velocity."""
    rng = _rng("turn", seed)
    manner = "walk" if rng.random() < 0.6 else "jog"
    speed, before = _speed(rng, manner), float(rng.uniform(2.5, 4.0))
    way = float(rng.uniform(-math.pi, math.pi))
    if rng.random() < 0.5:
        by = float(rng.choice((-1, 1)) * rng.uniform(math.radians(45), math.radians(150)))
        corner = direction(np.array(way)) * speed * before
        end = corner + direction(np.array(way + by)) * speed * 7
        points = np.zeros((3, 3))
        points[1, :2], points[2, :2] = corner, end
        shot = _path_shot("turn", rng, points, before + 5, lambda t: np.full(len(t), speed), manner)
    else:
        by = float(rng.choice((-1, 1)) * rng.uniform(math.radians(45), math.pi))
        keys = np.array([[0.0, way], [before, way + by]])
        shot = _velocity_shot(
            "turn",
            rng,
            before + 5,
            lambda t: speed * direction(np.where(t < before, way, way + by)),
            manner,
            keys,
        )
    return Case("turn", seed, shot, turning=abs(by), network="pfnn")


def turn_standing(seed: int) -> Case:
    """Standing while the facing is keyed over 2 to 10 s by 45 to 360 degrees, eased or linear; or an idle action."""
    rng = _rng("turn_standing", seed)
    by = float(rng.choice((-1, 1)) * rng.uniform(math.radians(45), 2 * math.pi))
    taking, wait = float(rng.uniform(2.0, 10.0)), float(rng.uniform(0.5, 1.5))
    how = rng.integers(4)
    if how == 3:
        by = math.remainder(by, 2 * math.pi)
        shot = _errand_shot("turn_standing", rng, wait + 6, [ActionKey("idle", hold=wait), ActionKey("idle")], [])
        assert shot.start is not None
        shot.keys[1].facing = shot.start[3] + by
        return Case("turn_standing", seed, shot, turning=abs(by), network="pfnn")

    def angle(times: Array) -> Array:
        share = np.clip((times - wait) / taking, 0, 1)
        return by * (share if how == 0 else share * share * (3 - 2 * share))

    seconds = wait + taking + 3
    if how == 2:
        fps = float(rng.choice(RATES))
        times = np.arange(round(seconds * fps) + 1) / fps
        start = float(rng.uniform(-math.pi, math.pi))
        follow = VelocityFollow([[0.0, 0.0]] * len(times), (start + angle(times)).tolist(), ["stand"] * len(times))
        shot = Shot("turn_standing", fps, len(times), velocity=follow)
    else:
        points = _way(3.0, np.zeros(1), float(rng.uniform(-math.pi, math.pi)))
        shot = _path_shot("turn_standing", rng, points, seconds, lambda t: np.zeros(len(t)), "walk", angle)
    return Case("turn_standing", seed, shot, turning=abs(by), network="pfnn")


def idle(seed: int) -> Case:
    """Standing for 6 to 15 s: at a path's start with speed 0, by velocities of 0, or by an idle action."""
    rng = _rng("idle", seed)
    seconds, how = float(rng.uniform(6, 15)), rng.integers(3)
    if how == 0:
        shot = _path_shot("idle", rng, _curve(rng, 4.0), seconds, lambda t: np.zeros(len(t)))
    elif how == 1:
        facing = float(rng.uniform(-math.pi, math.pi))
        shot = _velocity_shot("idle", rng, seconds, lambda t: np.zeros((len(t), 2)), "stand", np.array([[0.0, facing]]))
    else:
        shot = _errand_shot("idle", rng, seconds, [ActionKey("idle", hold=seconds)], [])
    return Case("idle", seed, shot, turning=0.0, network="pfnn")


ENDS = (
    ("walk", "walk", 0.0),
    ("jog", "jog", 0.0),
    ("crouch", "crouch", 0.0),
    ("backward", "walk", math.pi),
    ("sideways", "walk", 0.5 * math.pi),
    ("sideways", "walk", -0.5 * math.pi),
)
"""Manners of reaching a path's end: manner, gait, facing offset in radians."""

MANNER_OF_END = {"walk": 0.4, "jog": 0.2, "crouch": 0.15, "backward": 0.125, "sideways": 0.125}
"""Share of each manner among the cases of a path's end."""


def path_end(seed: int) -> Case:
    """Walk a curve to its end in every manner, of 2 to 8 m or, for a quarter, of 0.3 to 1 m; or by action keys."""
    rng = _rng("path_end", seed)
    manner = str(rng.choice(list(MANNER_OF_END), p=list(MANNER_OF_END.values())))
    ways = [(gait, offset) for name, gait, offset in ENDS if name == manner]
    gait, offset = ways[int(rng.integers(len(ways)))]
    speed = _speed(rng, manner)
    length = float(rng.uniform(0.3, 1.0) if rng.random() < 0.25 else rng.uniform(2.0, 8.0))
    points = _curve(rng, length, 0.6 if manner != "jog" else 0.3)
    seconds = length / speed + 0.5 * speed / BRAKING + 1.0 + SPARE
    if manner in ("walk", "jog", "crouch") and rng.random() < 0.25:
        action = ActionKey("run" if manner == "jog" else "walk", "goal", gait=gait, speed=speed)
        facing = None if rng.random() < 0.5 else float(rng.uniform(-math.pi, math.pi))
        goals = [Goal("goal", points[-1].tolist(), facing)]
        shot = _errand_shot("path_end", rng, seconds + 2, [action], goals)
    else:
        shot = _path_shot(
            "path_end",
            rng,
            points,
            seconds,
            lambda t: np.full(len(t), speed),
            gait,
            lambda t: np.full(len(t), offset),
        )
    return Case("path_end", seed, shot, network="pfnn")


def duck(seed: int) -> Case:
    """Walk straight under a low beam and stand somewhere behind it."""
    rng = _rng("duck", seed)
    way, before, behind = (
        direction(np.array(rng.uniform(-math.pi, math.pi))),
        rng.uniform(1.5, 3.0),
        rng.uniform(*BEHIND_BEAM),
    )
    underside, speed = float(rng.uniform(*BEAM)), _speed(rng, "walk")
    beam = block((-1.0, -0.1, underside), (1.0, 0.1, underside + 0.3)).mesh
    aside = np.array([-way[1], way[0]])
    vertices = beam.vertices.copy()
    vertices[:, :2] = before * way + beam.vertices[:, :1] * aside + beam.vertices[:, 1:2] * way
    points = np.zeros((2, 3))
    points[1, :2] = (before + behind) * way
    seconds = (before + behind) / speed + 0.5 * speed / BRAKING + 1.0 + SPARE
    shot = _path_shot("duck", rng, points, seconds, lambda t: np.full(len(t), speed))
    shot.ground.append(GroundMesh("Beam", vertices.tolist(), beam.triangles.tolist()))
    return Case("duck", seed, shot, turning=0.0, network="pfnn")


CASES: dict[str, Callable[[int], Case]] = {
    "walk": _steady("walk", "walk"),
    "jog": _steady("jog", "jog"),
    "crouch": _steady("crouch", "crouch"),
    "backward": _steady("backward", "walk", math.pi),
    "sideways": _steady("sideways", "walk", 0.5 * math.pi),
    "start": start,
    "stop": stop,
    "turn": turn,
    "turn_standing": turn_standing,
    "idle": idle,
    "path_end": path_end,
    "duck": duck,
}
"""The function of each kind that makes the case of a seed; the same seed makes the same case."""
