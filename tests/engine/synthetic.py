# SPDX-License-Identifier: GPL-3.0-or-later
"""Performances made by formula on the model skeleton, of which everything is known.

The root moves as commanded, flat feet stand still between known strikes and lift-offs, and the knees are
hinges. Arms hang, the trunk is upright.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsm_blender.motion.clip import Clip
from nsm_blender.motion.root import direction
from nsm_blender.motion.rotations import Array, from_axis_angle, from_matrix, from_yaw, multiply, normalize, rotate
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.rollout.pfnn import Record
from nsm_blender.training.pfnn_data import extract, mean_rotations, prepare, set_rotations

FPS = 60.0
THIGH, SHIN = np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.indices(["LeftLeg", "LeftFoot"])], axis=1)
LONGEST_LEG = 0.986 * (THIGH + SHIN)
"""Meters from hip to ankle at the ends of a stance: nearly straight."""
SWING_HEIGHT = 0.12


@dataclass(frozen=True, eq=False)
class Performance:
    """A clip and the truth about it.

    root: (T, 4) x, y, 0, facing angle. down: (T, 2) whether the left and the right foot stands.
    strikes: (frame, is_left) of each landing after the first frame, in order.
    """

    clip: Clip
    root: Array
    down: Array
    strikes: list[tuple[int, bool]]


def perform(
    speed: Array | float,
    seconds: float = 4.0,
    *,
    turn: Array | float = 0.0,
    toward: float = 0.0,
    cycle: float = 0.9,
    duty: float = 0.6,
    stepping: tuple[float, float] | None = (0.0, np.inf),
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    hips: float | None = None,
) -> Performance:
    """Walk, run or stand.

    speed: m/s, one number or one per frame at 60 fps. turn: rad/s, the same. toward: angle from facing to
    travel (0 forward, pi backward). cycle: seconds between two strikes of one foot. duty: share of the cycle
    that a foot stands; below 0.5 both feet fly. stepping: seconds between which feet strike, None for standing.
    start: x, y, facing angle. hips: height, default as high as the stride allows.
    """
    count = round(seconds * FPS)
    speed = np.broadcast_to(np.asarray(speed, dtype=float), (count,))
    turn = np.broadcast_to(np.asarray(turn, dtype=float), (count,))
    root = np.zeros((count, 4))
    root[:, 3] = start[2] + np.concatenate(([0.0], np.cumsum(turn[:-1]) / FPS))
    velocity = direction(root[:, 3] + toward) * speed[:, None]
    root[:, :2] = np.array(start[:2]) + np.concatenate((np.zeros((1, 2)), np.cumsum(velocity[:-1], axis=0) / FPS))

    strikes = _strikes(count, cycle, stepping)
    feet = {left: _foot(root, [f for f, is_left in strikes if is_left == left], left, cycle * duty) for left in (1, 0)}
    if hips is None:
        hips = min(_highest_hips(root, feet[left][0], left) for left in (1, 0))
    clip = _pose(root, hips, [feet[1][:2], feet[0][:2]])
    down = np.stack((feet[1][2], feet[0][2]), axis=1)
    return Performance(clip, root, down, [(f, bool(left)) for f, left in strikes if 0 < f < count])


@dataclass(frozen=True, eq=False)
class Rollout:
    """What a perfect network would leave of a performance.

    frames: those of the clip that `record` holds. reference: (J, 4) mean joint rotations.
    """

    record: Record
    reference: Array
    frames: slice


def rollout(performance: Performance) -> Rollout:
    """The performance as the network's outputs, frame for frame."""
    prepared = prepare(performance.clip)
    features = extract(prepared)
    reference = mean_rotations(features.rotations)
    set_rotations(features, reference)
    margin = (len(performance.root) - len(features.x)) // 2
    frames = slice(margin, margin + len(features.x))
    gait = np.eye(5)[prepared.labels.gait[frames]]
    root = performance.root[frames].copy()
    return Rollout(Record(root, features.y, features.phase.astype(np.float32), gait), reference, frames)


def stand(seconds: float = 4.0, **options: float) -> Performance:
    """Stand still with straight legs; options as of `perform`."""
    return perform(0.0, seconds, stepping=None, hips=options.pop("hips", HIPS_HEIGHT - 0.02), **options)


def run(speed: float = 2.5, seconds: float = 4.0, **options: float) -> Performance:
    """Run with a flight of 0.1 s after each step; options as of `perform`."""
    return perform(speed, seconds, cycle=0.7, duty=0.35, **options)


def ramp(seconds: float, *knots: tuple[float, float]) -> Array:
    """A speed over time, one number a frame, linear between (second, m/s) knots."""
    times, speeds = zip(*knots, strict=True)
    return np.interp(np.arange(round(seconds * FPS)) / FPS, times, speeds)


def _strikes(count: int, cycle: float, stepping: tuple[float, float] | None) -> list[tuple[int, bool]]:
    """(frame, is_left) of all strikes, right first, half a cycle apart; also before and after the clip."""
    if stepping is None:
        return []
    step = cycle * FPS / 2
    first = -4 if stepping[0] <= 0 else 1
    last = int((min(stepping[1], count / FPS + 2 * cycle) - stepping[0]) * FPS / step)
    return [(round(stepping[0] * FPS + k * step), k % 2 == 0) for k in range(first, last + 1)]


def _foot(root: Array, strikes: list[int], left: int, stance: float) -> tuple[Array, Array, Array]:
    """Ankle places (T, 3), foot yaws (T,) and whether it stands (T,), for strikes of one foot."""
    count = len(root)
    side = MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftUpLeg" if left else "RightUpLeg"), :2]
    # Stances as (from, to, print): a foot stands below its hip joint at the middle of its stance.
    stances = []
    before = -(10**6)
    length = stance * FPS
    cycle = strikes[1] - strikes[0] if len(strikes) > 1 else length
    if not strikes:
        stances.append((before, 10**6, _print(root, 0, side)))
    elif strikes[0] > 0:
        stances.append((before, round(strikes[0] - cycle + length), _print(root, 0, side)))
    for i, frame in enumerate(strikes):
        final = i == len(strikes) - 1
        middle = count - 1 if final else frame + length / 2
        stances.append((frame, 10**6 if final else round(frame + length), _print(root, middle, side)))
    place, yaw, down = np.zeros((count, 3)), np.zeros(count), np.zeros(count, dtype=bool)
    place[:, 2] = ANKLE_HEIGHT
    for i, (a, b, (xy, angle)) in enumerate(stances):
        inside = slice(max(a, 0), max(min(b, count), 0))
        place[inside, :2], yaw[inside], down[inside] = xy, angle, True
        if i + 1 < len(stances):
            c, _, (next_xy, next_angle) = stances[i + 1]
            frames = np.arange(max(b, 0), max(min(c, count), 0))
            u = (frames - b + 1) / (c - b + 1)
            ease = (u * u * (3 - 2 * u))[:, None]
            place[frames, :2] = xy + ease * (next_xy - xy)
            place[frames, 2] += SWING_HEIGHT * np.sin(np.pi * u) ** 2
            yaw[frames] = angle + ease[:, 0] * (next_angle - angle)
    return place, yaw, down


def _highest_hips(root: Array, ankle: Array, left: int) -> float:
    """Height at which one leg is never longer than LONGEST_LEG."""
    joint = MODEL_SKELETON.offsets[MODEL_SKELETON.index("LeftUpLeg" if left else "RightUpLeg")]
    hip = root[:, :2] + rotate(from_yaw(root[:, 3]), np.broadcast_to(joint, (len(root), 3)))[:, :2]
    aside = np.linalg.norm(ankle[:, :2] - hip, axis=1)
    return float((ankle[:, 2] + np.sqrt(LONGEST_LEG**2 - aside**2)).min() - joint[2])


def _print(root: Array, frame: float, side: Array) -> tuple[Array, float]:
    """Where a foot stands, and its angle, for the root at a fractional frame (continued beyond the clip)."""
    last = len(root) - 1
    inside = float(np.clip(frame, 0, last))
    now = np.array([np.interp(inside, np.arange(last + 1), root[:, i]) for i in range(4)])
    if frame < 0:
        now += (root[1] - root[0]) * frame
    elif frame > last:
        now += (root[last] - root[last - 1]) * (frame - last)
    return now[:2] + rotate(from_yaw(now[3]), np.append(side, 0.0))[:2], float(now[3])


def _pose(root: Array, height: float, feet: list[tuple[Array, Array]]) -> Clip:
    """The clip whose hips follow `root` at `height` and whose ankles are at `feet`."""
    s = MODEL_SKELETON
    count = len(root)
    hips = np.concatenate((root[:, :2], np.full((count, 1), height)), axis=1)
    yaw = from_yaw(root[:, 3])
    rotations = np.repeat(yaw[:, None], len(s), axis=1)
    for left, side in ((1.0, "Left"), (-1.0, "Right")):
        arm, forearm, hand = s.indices([side + "Arm", side + "ForeArm", side + "Hand"])
        hang = from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(left * 1.35))
        bend = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(-left * 0.3))
        rotations[:, arm] = multiply(yaw, hang)
        rotations[:, [forearm, hand]] = multiply(yaw, multiply(hang, bend))[:, None]
    for side, (ankle, angle) in zip(("Left", "Right"), feet, strict=True):
        upper, middle, foot = s.indices([side + "UpLeg", side + "Leg", side + "Foot"])
        hip = hips + rotate(yaw, np.broadcast_to(s.offsets[upper], hips.shape))
        rotations[:, upper], rotations[:, middle] = _leg(ankle - hip, direction(root[:, 3]))
        rotations[:, [foot, foot + 1]] = from_yaw(angle)[:, None]
    return Clip(s, hips, s.local_rotations(rotations), FPS, {"name": "synthetic"})


def _leg(to_ankle: Array, forward: Array) -> tuple[Array, Array]:
    """World rotations (T, 4) of thigh and shin: a hinge that bends the knee toward `forward` (T, 2)."""
    distance = np.linalg.norm(to_ankle, axis=1, keepdims=True)
    along = to_ankle / distance
    side = normalize(np.cross(np.append(forward, np.zeros((len(forward), 1)), axis=1), along))
    front = np.cross(along, side)
    cosine = (THIGH**2 + distance**2 - SHIN**2) / (2 * THIGH * distance)
    thigh = along * cosine + front * np.sqrt(1 - cosine**2)
    shin = normalize(to_ankle - thigh * THIGH)
    return _bone(side, thigh), _bone(side, shin)


def _bone(side: Array, down: Array) -> Array:
    """Rotations (T, 4) that take x to `side` and -z to `down`, unit and perpendicular (T, 3)."""
    return from_matrix(np.stack((side, np.cross(-down, side), -down), axis=-1))
