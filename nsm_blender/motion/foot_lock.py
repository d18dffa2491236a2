# SPDX-License-Identifier: GPL-3.0-or-later
"""Foot lock: feet in contact stay where they are, by contact labels, gliding offsets and two-bone inverse kinematics,
for many characters at once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..models.manifold import FPS
from ..stepwise import Stepwise, by_frames, finished
from .filters import gaussian, highest_around
from .ik import LEFT_LEG, REACH, RIGHT_LEG, Limb, solve_limb
from .rotations import Array, between, from_axis_angle, from_exponential_map, multiply, rotate, to_exponential_map
from .skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .stances import AFTERWARD, Stances

Heights = Callable[[Array], Array]
"""Heights (...) in meters of the ground at places (..., 2)."""

_FOOT_GLIDE = 12
"""Frames over which the offset of a foot's rotation fades: a held heel must catch up with its rise."""
_STRETCH = 0.985
"""Share of its length to which a standing leg may stretch, or as far as the motion stretches it; beyond, its knee would
snap straight and back."""
_LONGEST_STRETCH = 0.992
"""Largest share of its length that a standing leg reaches; as its heel rolls off, the foot rolls farther instead."""
_LARGEST_ROLL = math.radians(40)
"""Largest angle in radians by which a heel is raised beyond the motion's, so that the leg reaches."""
_SLACK = 0.95
"""Share of its length beyond which a swinging leg stretches ever less."""
_CLEARANCE = 0.025
"""Least height in meters of a toe above its standing height in the middle of a step."""
_UNROLLED = 0.005
"""Rise in meters of the ball while the foot rolls off, half of which is taken for noise and left out."""
_FLAT = math.radians(2)
"""Angle in radians by which a heel rises while it is labeled as down, half of which is taken for noise and left out."""
_ARC = 6
"""Frames before and after an edge in which a swinging foot is as high as over it."""
_SMOOTH_FLOOR = 0.006
"""Distance in meters to the floor within which it begins to push a foot up, so that the height has no kink."""
_LARGEST_DROP, _LARGEST_DROP_UNEVEN = 0.12, 0.2
"""Largest drop in meters of the hips for feet out of reach, on a level floor and on ground: as far as people sink who
step down from a high step."""
_DROP_SPREAD = 0.3
"""Time in seconds to both sides, about half a step, over which the hips sink for a foot that is out of reach."""
_SUNK, _SUNK_UNEVEN = 0.015, 0.009
"""Meters by which a heel may be lower than it stands: on a level floor, where it sinks in as it lands, and on ground,
where a slope already leaves a part of the sole in it."""
_HIGHEST_STEP = 0.5
"""Meters above where a foot stands, or comes to stand, up to which ground is a step that it passes over, as in
`geometry.ground.STEP`; what is higher is a wall."""
_TOES = 0.075
"""Length in meters from the ball of a foot to the tip of its toes."""
_MOST_BENT = math.radians(60)
"""Largest angle in radians by which toes bend up on the ground."""
_STEEPEST = 0.7
"""Slope from the ball of a foot to the ground under its toes from which that is another step."""
_SIDES = {"Left": LEFT_LEG, "Right": RIGHT_LEG}


def plant_feet(
    hips: Array,
    rotations: Array,
    contacts: Array,
    ground: Heights | None = None,
    targets: Array | None = None,
    own_heights: bool = False,
) -> tuple[Array, Array]:
    """Pose characters so that feet in contact stand still on the ground, with the toes on it when the heel rises.

    hips: (N, T, 3) world places of joint 0. rotations: (N, T, J, 4) world. contacts: (N, T, 4), above 0 in contact, of
    CONTACT_JOINTS. ground: heights of the terrain; 0 without. targets: (N, T, J, 3) joint places that the toes should
    meet; without them, the places of the rotations. own_heights: leave each stance at its height, whatever the ground.
    Returns joint places (N, T, J, 3) and world rotations (N, T, J, 4).
    """
    return finished(planting_feet(hips, rotations, contacts, ground, targets, own_heights))


def planting_feet(
    hips: Array,
    rotations: Array,
    contacts: Array,
    ground: Heights | None = None,
    targets: Array | None = None,
    own_heights: bool = False,
    arcs: bool = True,
) -> Stepwise[tuple[Array, Array]]:
    """`plant_feet` in pieces. arcs: whether swinging feet pass over edges of the ground in arcs."""
    shape = contacts.shape[:2]
    flat_hips = hips.reshape(-1, 3).copy()
    out = rotations.reshape(-1, *rotations.shape[2:]).copy()
    ankles: dict[str, Array] = {}
    stances: dict[str, Stances] = {}
    flat: dict[str, Array] = {}
    longest: dict[str, Array] = {}
    floors: dict[str, Array] = {}
    for side, limb in _SIDES.items():
        upper, middle, foot, toe = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end, side + "Toe"])
        heel_on, toe_on = (contacts[..., CONTACT_JOINTS.index(side + part)] > 0 for part in ("Foot", "Toe"))
        bone = _bone(out[:, foot], toe)
        if targets is None:
            place = _chain(flat_hips, out, (upper, middle, foot)) + bone
        else:
            place = targets.reshape(-1, len(MODEL_SKELETON), 3)[:, toe]
        own = _distance(_chain(np.zeros_like(bone), out, (middle, foot))) / _length(limb)
        longest[side] = _length(limb) * np.clip(own, _STRETCH, _LONGEST_STRETCH)
        yield
        out[:, foot] = _steady(out[:, foot], bone, Stances(heel_on & toe_on))
        out[:, toe] = out[:, foot]
        yield
        # The toe's place is the target: it is the last to leave the ground and carries the foot's roll.
        ankle: Array = place - _bone(out[:, foot], toe)
        standing = stances[side] = Stances(heel_on | toe_on)
        on_toe = toe_on.reshape(-1)
        flat[side] = heel_on.reshape(-1)
        height = stance_heights(place, on_toe, standing) if own_heights else _heights(ground, place, standing)
        floors[side] = height
        yield
        moved = ankle + _offset(ankle, place, flat[side], on_toe, standing, height)
        lowest = _lowest_ankle(moved, out[:, foot], toe, ground, height, standing)
        if ground is not None and arcs:
            moved[:, 2] += _over_edges(lowest - moved[:, 2], standing, shape)
        moved[:, 2] = _smooth_maximum(moved[:, 2], lowest, _SMOOTH_FLOOR * _freedom(standing))
        ankles[side] = moved
        yield
    most = _LARGEST_DROP if ground is None else _LARGEST_DROP_UNEVEN
    flat_hips[:, 2] -= _hips_drop(flat_hips, out, ankles, flat, longest, shape, most)
    for side, limb in _SIDES.items():
        yield
        upper, middle, foot, toe = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end, side + "Toe"])
        origin = flat_hips + _bone(out[:, 0], upper)
        bone = _bone(out[:, foot], toe)
        rolling = Stances((stances[side].mask & ~flat[side]).reshape(shape))
        roll = _roll_off(origin, ankles[side], bone, limb, longest[side], rolling)
        roll[flat[side]] = 0
        out[:, foot] = multiply(from_exponential_map(roll), out[:, foot])
        out[:, toe] = out[:, foot]
        target = _within_reach(
            origin, ankles[side] + bone - _bone(out[:, foot], toe), limb, longest[side], stances[side]
        )
        if ground is not None:
            # A leg that does not reach its place holds its foot nearer to the body, where the ground may be higher.
            lowest = _lowest_ankle(target, out[:, foot], toe, ground, floors[side], stances[side])
            swings = ~stances[side].mask & (lowest > target[:, 2])
            target[swings, 2] = lowest[swings]
        yield
        # Each character is solved by itself: a straight leg takes its plane from the frames before and after.
        now = [part.reshape(*shape, -1) for part in (origin, target, out[:, upper], out[:, middle])]
        thigh, shin, _ = solve_limb(limb, now[0], now[1], now[2], now[3])
        out[:, upper], out[:, middle] = thigh.reshape(-1, 4), shin.reshape(-1, 4)
    yield
    places = yield from by_frames(MODEL_SKELETON.positions, flat_hips, out)
    for side in _SIDES:
        yield
        toe = MODEL_SKELETON.index(side + "Toe")
        out[:, toe] = _toes_bent(out[:, toe], places[:, toe], floors[side], ground)
    return places.reshape(*shape, -1, 3), out.reshape(rotations.shape)


def _bone(rotation: Array, joint: int) -> Array:
    """Bone (M, 3) to `joint` under its parent's world `rotation` (M, 4)."""
    return rotate(rotation, np.broadcast_to(MODEL_SKELETON.offsets[joint].astype(rotation.dtype), (len(rotation), 3)))


def _chain(hips: Array, rotations: Array, joints: tuple[int, ...]) -> Array:
    """Place (M, 3) of the last of `joints`, each the child of the one before, the first of the hips."""
    out = hips
    for joint in joints:
        out = out + _bone(rotations[:, MODEL_SKELETON.parents[joint]], joint)
    return out


def _distance(v: Array) -> Array:
    """Lengths (M,) of vectors (M, 3)."""
    out: Array = np.sqrt(np.einsum("ij,ij->i", v, v))
    return out


def _heights(ground: Heights | None, toe: Array, stances: Stances) -> Array:
    """Height (M,) in meters of the ground that each foot stands on; between stances it glides from one to the next, and
    beyond them it is that of the ground under the foot."""
    if ground is None:
        return np.zeros(len(toe))
    if not len(stances):
        return ground(toe[:, :2])
    out = stances.spread(ground(stances.mean(toe)[:, :2])[:, None])
    stances.glide(out, longest=len(out))
    beyond = stances.beyond()
    out[beyond, 0] = ground(toe[beyond, :2])
    return out[:, 0]


def stance_heights(toe: Array, toe_on: Array, stances: Stances) -> Array:
    """Height (M,) in meters of the ground, from the toe's mean height in each stance, gliding between stances and level
    beyond them."""
    out = np.zeros((len(toe), 1))
    if not len(stances):
        return out[:, 0]
    lift = _lift(toe[:, 2] - TOE_HEIGHT, toe_on, stances)
    means = stances.mean(lift[:, None])
    out = stances.spread(means)
    stances.glide(out, longest=len(out))
    beyond = stances.beyond()
    out[beyond] = means[stances.nearest(beyond)]
    return out[:, 0]


def _steady(rotation: Array, bone: Array, stances: Stances) -> Array:
    """Foot rotations (M, 4) that keep the heading of the foot `bone` (M, 3) constant while heel and toe are down, and
    its sole flat but for a heel that already rises: held down until its contact ends, the knee would snap."""
    turn = np.zeros_like(bone)
    if not len(stances):
        return rotation
    on = stances.mask
    flat, now = stances.mean(bone)[stances.last[on]], bone[on]
    level = _slope(flat)
    rise = np.maximum(level - _slope(now), 0)
    slope = (level - rise * rise / (rise + _FLAT))[:, None]
    heading = flat[:, :2] / np.maximum(np.linalg.norm(flat[:, :2], axis=1, keepdims=True), 1e-9)
    turn[on] = to_exponential_map(between(now, np.concatenate((heading * np.cos(slope), np.sin(slope)), axis=1)))
    stances.glide(turn, _FOOT_GLIDE)
    return multiply(from_exponential_map(turn), rotation)


def _slope(v: Array) -> Array:
    """Angles (M,) in radians of vectors (M, 3) over the horizontal."""
    out: Array = np.arctan2(v[:, 2], np.linalg.norm(v[:, :2], axis=1))
    return out


def _offset(heel: Array, toe: Array, heel_on: Array, toe_on: Array, stances: Stances, height: Array) -> Array:
    """Offset (M, 3) that keeps the supporting point of a foot still and on the ground at `height` (M,)."""
    rolling = toe_on & ~heel_on
    offset = np.zeros_like(toe)
    if not len(stances):
        return offset
    # Follow the drift of whichever point carries the foot; it is continuous when the point changes.
    carried = (toe_on & np.concatenate((toe_on[:1], toe_on[:-1])))[:, None]
    step = np.where(carried, np.diff(toe, axis=0, prepend=toe[:1]), np.diff(heel, axis=0, prepend=heel[:1]))
    drift = np.cumsum(step, axis=0)
    drift -= drift[stances.starts][stances.last]
    offset[:] = stances.mean(drift)[stances.last] - drift
    offset[:, 2] = _lift(height + TOE_HEIGHT - toe[:, 2] + _rise(toe[:, 2], toe_on, rolling, stances), toe_on, stances)
    offset[~stances.mask] = 0
    stances.glide(offset)
    return offset


def _rise(toe: Array, toe_on: Array, rolling: Array, stances: Stances) -> Array:
    """Rise (M,) in meters of the ball at heights (M,) over its stance's own while the foot rolls off over the toes."""
    stood = stances.mean(_lift(toe, toe_on, stances)[:, None])[stances.last, 0]
    rise = np.maximum(toe - stood, 0)
    return np.where(rolling, rise * rise / (rise + _UNROLLED), 0)


def _lift(lift: Array, toe_on: Array, stances: Stances) -> Array:
    """`lift` (M,) where the toe is down; elsewhere in a stance, its value at the nearest such frame before or after."""
    frames = np.arange(len(lift))
    before = np.maximum.accumulate(np.where(toe_on, frames, -1))
    after = np.minimum.accumulate(np.where(toe_on, frames, len(lift))[::-1])[::-1]
    start, stop = stances.starts[stances.last], stances.stops[stances.last]
    has_before, has_after = before >= start, after < stop
    nearer = np.where(has_before & (~has_after | (frames - before <= after - frames)), before, after)
    known = has_before | has_after
    return np.where(known, lift[np.clip(nearer, 0, len(lift) - 1)], 0)


def _lowest_ankle(
    ankle: Array, foot: Array, toe: int, ground: Heights | None, height: Array, stances: Stances
) -> Array:
    """Height (M,) in meters below which heel or toe would be under the floor, or a swinging toe would brush it."""
    bone = _bone(foot, toe)
    under_toe = under_heel = height
    sunk = _SUNK
    if ground is not None:
        wall = stances.larger(height) + _HIGHEST_STEP
        under_toe = np.minimum(ground((ankle + bone)[:, :2]), wall)
        under_heel = np.minimum(ground(ankle[:, :2]), wall)
        sunk = _SUNK_UNEVEN
    clear = _CLEARANCE * stances.swing((ankle + bone)[:, :2])
    return np.maximum(under_toe + TOE_HEIGHT - 0.005 + clear - bone[:, 2], under_heel + ANKLE_HEIGHT - sunk)


def _over_edges(lack: Array, stances: Stances, shape: tuple[int, ...]) -> Array:
    """Meters (M,) by which swinging feet are raised to pass over edges in an arc. lack: (M,) by how much they are too
    low. shape: characters and frames (N, T), whose product is M."""
    lack = np.where(stances.mask, 0.0, np.maximum(lack, 0.0))
    if not lack.any():
        return lack
    arc = gaussian(highest_around(lack.reshape(shape).T, _ARC), _ARC / 3)
    out: Array = arc.T.reshape(-1) * _freedom(stances)
    return out


def _toes_bent(rotation: Array, ball: Array, height: Array, ground: Heights | None) -> Array:
    """Rotations (M, 4) of toes, bent up from `rotation` (M, 4) as far as their tips would be in the ground.

    ball: (M, 3) their joints. height: (M,) in meters of the ground under these.
    """
    ahead, up = (rotate(rotation, np.broadcast_to(axis, ball.shape)) for axis in ([0.0, -1.0, 0.0], [0.0, 0.0, 1.0]))
    floor = height
    if ground is not None:
        tip = ball + _TOES * ahead
        under = ball[:, 2] - TOE_HEIGHT
        floor = np.minimum(ground(tip[:, :2]), np.maximum(height, under) + _STEEPEST * _TOES)
    # The sole's tip is `_TOES` ahead of the ball and TOE_HEIGHT below, and turns about the ball on a circle.
    level = np.arctan2(_TOES * ahead[:, 2] - TOE_HEIGHT * up[:, 2], _TOES * up[:, 2] + TOE_HEIGHT * ahead[:, 2])
    radius = math.hypot(_TOES, TOE_HEIGHT)
    angle = np.arcsin(np.clip((floor - ball[:, 2]) / radius, -1, 1)) - level
    left = rotate(rotation, np.broadcast_to([-1.0, 0.0, 0.0], ball.shape))
    return multiply(from_axis_angle(left, np.clip(angle, 0, _MOST_BENT)), rotation)


def _smooth_maximum(x: Array, lowest: Array, smoothing: Array) -> Array:
    """Smooth maximum (M,) of two values: up to half of `smoothing` (M,) meters more than the larger, without a kink."""
    out: Array = 0.5 * (x + lowest + np.sqrt((x - lowest) ** 2 + smoothing**2))
    return out


def _soft(distance: Array, start: Array | float, end: Array | float) -> Array:
    """Distances (M,) with growth that fades beyond `start`, so that they never reach `end`."""
    beyond = np.maximum(distance - start, 0) / (end - start)
    out: Array = np.where(beyond > 0, start + (end - start) * (1 - np.exp(-beyond)), distance)
    return out


def _roll_off(origin: Array, ankle: Array, bone: Array, limb: Limb, longest: Array, rolling: Stances) -> Array:
    """Rotation vectors (M, 3) about the ball of the foot that raise the heel until the leg reaches the ankle (M, 3).

    origin: (M, 3) of the leg. bone: (M, 3) from the ankle to the ball. rolling: stances of the ball alone; from their
    ends the rotation fades.
    """
    leg, foot = origin - ankle - bone, -bone
    distance = _soft(_distance(origin - ankle), longest, longest + (REACH - _LONGEST_STRETCH) * _length(limb))
    far, near = _distance(leg), _distance(foot)
    needed = np.arccos(np.clip((far**2 + near**2 - distance**2) / (2 * far * near), -1, 1))
    now = np.arccos(np.clip(np.einsum("ij,ij->i", leg, foot) / (far * near), -1, 1))
    axis = np.cross(foot, leg)
    axis /= np.maximum(_distance(axis), 1e-9)[:, None]
    out: Array = axis * (np.clip(now - needed, 0, _LARGEST_ROLL) * rolling.mask)[:, None]
    rolling.glide(out, _FOOT_GLIDE)
    return out


def _within_reach(origin: Array, ankle: Array, limb: Limb, longest: Array, stances: Stances) -> Array:
    """Places (M, 3) of an ankle that keep a swinging leg from snapping straight: it stretches ever less."""
    length = _length(limb)
    v = ankle - origin
    distance = _distance(v)
    free = _freedom(stances)
    start = longest + free * (_SLACK * length - longest)
    end = longest + (REACH - _LONGEST_STRETCH) * length
    end = end + free * (REACH * length - end)
    share = np.where(stances.mask, 1, _soft(distance, start, end) / np.maximum(distance, 1e-6))
    return origin + v * share[:, None]


def _freedom(stances: Stances) -> Array:
    """Weight (M,) that is 0 in stances and rises smoothly to 1 within AFTERWARD frames away from them."""
    held = np.ones((len(stances.mask), 1))
    held[~stances.mask] = 0
    stances.glide(held, longest=AFTERWARD)
    return 1 - np.clip(held[:, 0], 0, 1)


def _length(limb: Limb) -> float:
    """Length in meters of both bones of a limb."""
    joints = MODEL_SKELETON.indices([limb.middle, limb.end])
    return float(np.linalg.norm(MODEL_SKELETON.offsets[joints], axis=1).sum())


def _hips_drop(
    hips: Array,
    rotations: Array,
    ankles: dict[str, Array],
    flat: dict[str, Array],
    longest: dict[str, Array],
    shape: tuple[int, ...],
    most: float,
) -> Array:
    """Drop (M,) in meters of the hips, `most` at most, smooth in time, that keeps planted heels within reach of the
    legs.

    The hips sink for a whole step and do not bob: the need is greatest where they are lowest.
    """
    need = np.zeros(len(hips))
    for side, limb in _SIDES.items():
        length = longest[side]
        v = ankles[side] - hips - _bone(rotations[:, 0], MODEL_SKELETON.index(limb.upper))
        aside = np.minimum(np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2), length * 0.95)
        lack = -v[:, 2] - np.sqrt(length * length - aside * aside)
        need = np.maximum(need, np.where(flat[side], lack, 0))
    need = np.clip(need, 0, most).reshape(shape).T
    radius = int(_DROP_SPREAD * FPS)
    return gaussian(highest_around(need, radius), radius / 2).T.reshape(-1)
