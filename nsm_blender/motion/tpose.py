# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations of an imported skeleton's joints in the T-pose.

Where the file's rest pose is a standing figure, arms and legs are brought to the T-pose by the shortest turns; where it
is not, standing frames of the motion take its place.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import RigError
from .bone_names import SIDES
from .rotations import (
    Array,
    between,
    conjugate,
    from_axis_angle,
    from_matrix,
    from_yaw,
    multiply,
    normalize,
    rotate,
    snapped_to_axes,
)
from .skeleton import MODEL_SKELETON
from .source import NAMES, Source, found_above

_TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")
"""Joints of the trunk from the hips to the head."""
_DOWN = np.array([0.0, 0.0, -1.0])
_LEAST_UPRIGHT = 0.3
"""Least score of the straightest frame, the lowest cosine of trunk and legs with the vertical, that counts as
standing."""
_QUARTER = np.pi / 2
"""A right angle in radians."""
_IN_LINE = 0.8
"""Least cosine of the angle between the lines of shoulders and of hips of a figure that stands at rest."""
_MOST_ASKEW = np.radians(45)
"""Angle in radians between the lines of shoulders and of hips from which the figure is not merely turning."""
_LEAST_BEND = 0.08
"""Least sine of a limb's mean bend that determines its bending plane."""


def tpose_rotations(source: Source, notes: list[str]) -> dict[str, Array]:
    """World rotation (4,) of each found joint in the T-pose: standing, facing -Y, arms and legs straight."""
    rest = {name: source.rest[j] for name, j in source.bones.items()}
    axes = _body_axes(rest)
    places = {} if axes is None else {name: axes @ place for name, place in rest.items()}
    upright = None if axes is None else multiply(from_matrix(axes), source.rest_turn)
    posed = source.motion.posed
    if upright is not None and not posed and _stands(places):
        return _straightened(source, dict.fromkeys(source.bones, upright))
    notes.append("the rest pose is no standing figure, so the T-pose was taken from standing frames")
    reference = _standing_pose(source)
    if upright is not None and not posed and _trunk_stands(places):  # then only arms and legs are folded
        for name in _TRUNK:
            if name in reference:
                reference[name] = _untwisted(upright, reference[name])
        _carry_shoulders(source, reference)
    _square_up(source, reference)
    return _hinged(source, _straightened(source, reference)) | _flat_feet(source)


def _body_axes(figure: Mapping[str, Array]) -> Array | None:
    """Rotation (3, 3) of joint places so that the trunk is up and the left hip at +X; None when it has no extent."""
    up = (figure["LeftArm"] + figure["RightArm"] - figure["LeftUpLeg"] - figure["RightUpLeg"]) / 2
    left = figure["LeftUpLeg"] - figure["RightUpLeg"]
    axes = np.zeros((3, 3))
    axes[2] = normalize(up)
    axes[0] = normalize(left - axes[2] * (axes[2] @ left))
    axes[1] = np.cross(axes[2], axes[0])
    if abs(np.linalg.det(axes) - 1) > 1e-6:
        return None
    # Rest poses are drawn along the axes of the program; the rest of the rotation is the figure's own slant.
    return snapped_to_axes(axes)


def _trunk_stands(places: Mapping[str, Array]) -> bool:
    chain = [places[n] for n in _TRUNK if n in places]
    steps = np.diff(chain, axis=0)
    return bool(np.all(steps[:, 2] >= 0.6 * np.linalg.norm(steps, axis=1)))


def _untwisted(upright: Array, standing: Array) -> Array:
    """World rotation (4,) in the T-pose of a trunk joint whose bone stands in the rest pose.

    upright: (4,) the rest pose's own turn. standing: (4,) the joint's rotation in standing frames. The rest pose does
    not show a joint's twist; a file may turn each joint's axes by right angles about its bone (Bandai Namco's chest
    lies a quarter turn from the hips), so the quarter turns are taken from the standing frames.
    """
    turned = multiply(standing, conjugate(upright))
    twist = 2 * np.arctan2(turned[3], turned[0])
    return multiply(from_yaw(np.round(twist / _QUARTER) * _QUARTER), upright)


def _square_up(source: Source, reference: dict[str, Array]) -> None:
    """Turn hips and chest about the vertical until hip joints and shoulders lie along x: standing frames may be taken
    in the middle of a turn."""
    chest = found_above("LeftShoulder", source.bones)
    hips, shoulders = (_across(source, reference, part) for part in ("UpLeg", "Arm"))
    if chest == "Hips" or abs(_wrapped(shoulders - hips)) > _MOST_ASKEW:
        return
    turned = {"Hips": hips, chest: shoulders} | {side + "Shoulder": shoulders for side in SIDES}
    for name, angle in turned.items():
        if name in reference:
            reference[name] = multiply(from_yaw(np.asarray(-angle)), reference[name])


def shoulders_askew(source: Source, tpose: Mapping[str, Array]) -> float:
    """Angle in radians about the vertical between the line of the shoulders and that of the hip joints in the
    T-pose."""
    return abs(_wrapped(_across(source, tpose, "Arm") - _across(source, tpose, "UpLeg")))


def _wrapped(angle: float) -> float:
    """The same angle between -pi and pi."""
    return float(np.arctan2(np.sin(angle), np.cos(angle)))


def _across(source: Source, turns: Mapping[str, Array], part: str) -> float:
    """Angle in radians about the vertical, from x on, of the line from the right to the left `part` with the joints
    turned by `turns`."""
    places = []
    for side in SIDES:
        place, below = np.zeros(3), side + part
        while below != "Hips":
            above = found_above(below, source.bones)
            place = place + rotate(turns[above], source.bone(above, source.bones[below]).mean(0))
            below = above
        places.append(place)
    line = places[0] - places[1]
    return float(np.arctan2(line[1], line[0]))


def _carry_shoulders(source: Source, reference: dict[str, Array]) -> None:
    """Put the collar bones on the reference's chest as they sit on it on average."""
    chest = found_above("LeftShoulder", source.bones)
    s, below = source.sample, source.bones[chest]
    for side in SIDES:
        if side + "Shoulder" in reference:
            shoulder = source.rotations[s, source.bones[side + "Shoulder"]]
            local = _mean_rotation(multiply(conjugate(source.rotations[s, below]), shoulder))
            reference[side + "Shoulder"] = multiply(reference[chest], local)


def _mean_rotation(q: Array) -> Array:
    """Mean (4,) of rotations (N, 4) that lie close together."""
    return normalize((q * np.sign(q @ q[0])[:, None]).mean(0))


def _stands(places: Mapping[str, Array]) -> bool:
    def direction(upper: str, lower: str) -> Array:
        return normalize(places[lower] - places[upper])

    if direction("RightArm", "LeftArm") @ direction("RightUpLeg", "LeftUpLeg") < _IN_LINE:
        return False
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        if direction(side + "UpLeg", side + "Leg")[2] > -0.75 or direction(side + "Leg", side + "Foot")[2] > -0.75:
            return False
        for arm in (
            direction(side + "Arm", side + "ForeArm"),
            direction(side + "ForeArm", side + "Hand") if side + "Hand" in places else _DOWN,
        ):
            if arm[0] * sign < -0.3 or arm[2] > 0.5:
                return False
        if side + "Toe" in places and direction(side + "Foot", side + "Toe")[1] > 0.3:
            return False
    return True


def _standing_pose(source: Source) -> dict[str, Array]:
    """Mean world rotations (4,) of the frames in which the figure stands straightest, turned to face -Y."""
    places = {name: source.positions[source.sample, j] for name, j in source.bones.items()}
    hips = normalize(places["LeftUpLeg"] - places["RightUpLeg"])
    shoulders = normalize(places["LeftArm"] - places["RightArm"])
    trunk = normalize(places["LeftArm"] + places["RightArm"] - places["LeftUpLeg"] - places["RightUpLeg"])
    straight = [trunk[:, 2], np.sum(hips * shoulders, axis=1)]
    for side in SIDES:
        straight += [
            normalize(places[side + a] - places[side + b])[:, 2] for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"))
        ]
    score = np.min(straight, axis=0)
    if score.max() < _LEAST_UPRIGHT:
        raise RigError(
            f"{source.motion.source}: the figure stands upright neither in the rest pose nor in any frame, "
            "so that its T-pose cannot be found; export the motion with a standing rest pose"
        )
    chosen = np.flatnonzero(score > score.max() - 0.02)
    across = normalize((hips + shoulders)[chosen])
    facing = from_yaw(-np.arctan2(across[:, 1], across[:, 0]))
    out = {}
    for name, j in source.bones.items():
        out[name] = _mean_rotation(multiply(facing, source.rotations[source.sample, j][chosen]))
    return out


def _straightened(source: Source, reference: Mapping[str, Array]) -> dict[str, Array]:
    """Turn arms to the sides, legs down and feet ahead in the reference pose, each by the shortest turn."""
    out = dict(reference)

    def turn(name: str, by: Array) -> None:
        out[name] = multiply(by, reference[name])

    def aimed(name: str, child: int, by: Array, goal: Array) -> Array:
        """The turn `by`, then the shortest turn that points the bone from `name` to `child` along `goal`."""
        bone = rotate(multiply(by, reference[name]), source.bone(name, child).mean(0))
        return multiply(between(bone, goal), by)

    none = np.array([1.0, 0.0, 0.0, 0.0])
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        outward = np.array([sign, 0.0, 0.0])
        upper = aimed(side + "UpLeg", source.bones[side + "Leg"], none, _DOWN)
        turn(side + "UpLeg", upper)
        turn(side + "Leg", aimed(side + "Leg", source.bones[side + "Foot"], upper, _DOWN))
        foot = _foot_ahead(source, reference, side)
        for name in (side + "Foot", side + "Toe"):
            if name in reference:
                turn(name, foot)
        upper = aimed(side + "Arm", source.bones[side + "ForeArm"], none, outward)
        turn(side + "Arm", upper)
        hand = source.hand(side)
        if hand is not None:
            upper = aimed(side + "ForeArm", hand, upper, outward)
        turn(side + "ForeArm", upper)
        if side + "Hand" in reference:
            turn(side + "Hand", upper)
    return out


def _hinged(source: Source, tpose: dict[str, Array]) -> dict[str, Array]:
    """Twist straight limbs until knees bend to the back and elbows to the front, as they do in the motion.

    Standing frames say little of twist; the planes in which the limbs bend determine it.
    """
    out = dict(tpose)
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for upper, lower, end, along, hinge in (
            ("UpLeg", "Leg", source.bones[side + "Foot"], _DOWN, np.array([1.0, 0.0, 0.0])),
            ("Arm", "ForeArm", source.hand(side), np.array([sign, 0.0, 0.0]), np.array([0.0, 0.0, -sign])),
        ):
            if end is None:
                continue
            s, middle = source.sample, source.bones[side + lower]
            first = normalize(source.positions[s, middle] - source.positions[s, source.bones[side + upper]])
            second = normalize(source.positions[s, end] - source.positions[s, middle])
            normal = np.cross(first, second)  # as long as the sine of the bend, so straight limbs do not count
            for name in (side + upper, side + lower):
                local = rotate(conjugate(source.rotations[s, source.bones[name]]), normal).mean(0)
                if np.linalg.norm(local) < _LEAST_BEND:
                    continue
                axis = rotate(tpose[name], local)
                axis -= along * (along @ axis)
                angle = np.arctan2(along @ np.cross(axis, hinge), axis @ hinge)
                out[name] = multiply(from_axis_angle(along, angle), tpose[name])
        if side + "Hand" in out:
            turned = multiply(out[side + "ForeArm"], conjugate(tpose[side + "ForeArm"]))
            out[side + "Hand"] = multiply(turned, tpose[side + "Hand"])
    return out


def _flat_feet(source: Source) -> dict[str, Array]:
    """World rotations (4,) of feet and toes that stand flat and point to -Y, from the frames in which they are
    lowest."""
    out: dict[str, Array] = {}
    for side in SIDES:
        foot = source.bones[side + "Foot"]
        tip = source.bones.get(side + "Toe", source.ends.get(foot))
        if tip is None:
            continue
        s = source.sample
        height = source.positions[s, foot, 2] + source.positions[s, tip, 2]
        low = height <= np.percentile(height, 15)
        turns = source.rotations[s, foot][low]
        axes = np.zeros((3, 3))
        axes[2] = normalize(rotate(conjugate(turns), np.broadcast_to(-_DOWN, (len(turns), 3))).mean(0))
        ahead = source.bone(side + "Foot", tip).mean(0)
        axes[1] = -normalize(ahead - axes[2] * (axes[2] @ ahead))
        axes[0] = np.cross(axes[1], axes[2])
        if abs(np.linalg.det(axes) - 1) > 1e-6:
            continue
        out[side + "Foot"] = from_matrix(axes)
        if side + "Toe" in source.bones:
            bend = multiply(conjugate(turns), source.rotations[s, tip][low])
            out[side + "Toe"] = multiply(out[side + "Foot"], _mean_rotation(bend))
    return out


def _foot_ahead(source: Source, reference: Mapping[str, Array], side: str) -> Array:
    """The turn that points the foot to -Y, about the vertical, so that a flat foot stays flat."""
    foot = source.bones[side + "Foot"]
    tip = source.bones.get(side + "Toe", source.ends.get(foot))
    if tip is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    bone = normalize(rotate(reference[side + "Foot"], source.bone(side + "Foot", tip).mean(0)))
    if np.hypot(bone[0], bone[1]) < 0.4:  # drawn like a dancer's, or straight on along the shin
        return between(bone, MODEL_SKELETON.offsets[NAMES.index(side + "Toe")])
    return from_yaw(-np.arctan2(bone[0], -bone[1]))
