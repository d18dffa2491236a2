# SPDX-License-Identifier: GPL-3.0-or-later
"""From any imported skeleton to the 22 joints, the T-pose and the axes of the model skeleton.

The world direction of every limb and the performer's own bone lengths stay those of the source. What
changes is the meaning of "not rotated": in the result it is the T-pose. Where the source's rest pose is
a standing figure (arms up, half down or down), it is brought to the T-pose by the shortest turns of arms
and legs; where it is not (some files rest with every bone along one axis), standing frames of the motion
take its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from ..errors import RigError
from .bone_names import SIDES, map_bones
from .clip import Clip
from .clip_file import up_y_to_z
from .feet import level_feet
from .imported import ImportedMotion
from .rotations import (
    Array,
    between,
    conjugate,
    from_axis_angle,
    from_matrix,
    from_yaw,
    make_continuous,
    multiply,
    normalize,
    rotate,
)
from .skeleton import MODEL_SKELETON, TOE_HEIGHT, Skeleton

MODEL_LEG = 0.83774
"""Hip to ankle of the model skeleton, metres."""

# Metres per unit and the leg lengths (metres) for which it is believed: metres, cm, mm for figures of any
# build; inches and CMU's unit (0.45 of which make an inch) for people.
_ANY_BUILD, _PERSON = (0.5, 1.3), (0.7, 1.05)
_UNITS = ((1.0, _ANY_BUILD), (0.01, _ANY_BUILD), (0.001, _ANY_BUILD), (0.0254, _PERSON), (0.0254 / 0.45, _PERSON))

_NAMES = MODEL_SKELETON.names
_PARENT = {name: _NAMES[p] if p >= 0 else "" for name, p in zip(_NAMES, MODEL_SKELETON.parents, strict=True)}

# A joint's bone in the T-pose is the one to this child.
_MAIN_CHILD = {"Spine": "Spine1", "Spine1": "Spine2", "Neck": "Head"} | {
    side + a: side + b
    for side in SIDES
    for a, b in (
        ("UpLeg", "Leg"),
        ("Leg", "Foot"),
        ("Foot", "Toe"),
        ("Shoulder", "Arm"),
        ("Arm", "ForeArm"),
        ("ForeArm", "Hand"),
    )
}

_TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")
_DOWN = np.array([0.0, 0.0, -1.0])
_SAMPLES = 400
_LEAST_UPRIGHT = 0.3
_LEAST_BEND = 0.08
_AIM_TOLERANCE = np.radians(0.2)


@dataclass(frozen=True, eq=False)
class _Source:
    """The imported motion in Z-up axes and its own units, and the joints found in it.

    positions: (T, J, 3). rotations: (T, J, 4) world. rest: (J, 3) places in the file's rest pose.
    rest_turn: (4,) world rotation of every joint in the rest pose. bones: joint name -> index.
    ends: joint index -> index of the end joint below it, where that says a direction.
    """

    motion: ImportedMotion
    positions: Array
    rotations: Array
    rest: Array
    rest_turn: Array
    bones: Mapping[str, int]
    ends: Mapping[int, int]

    @property
    def sample(self) -> slice:
        """Some hundred frames, spread over the motion."""
        return slice(None, None, max(len(self.positions) // _SAMPLES, 1))

    def bone(self, upper: str, lower: int) -> Array:
        """(frames, 3) from joint `upper` to joint index `lower`, in the frame of `upper`, in sampled frames."""
        top, s = self.bones[upper], self.sample
        return rotate(conjugate(self.rotations[s, top]), self.positions[s, lower] - self.positions[s, top])


def to_canonical(motion: ImportedMotion, up: str = "auto", scale: float | None = None) -> Clip:
    """Bring imported motion to the model skeleton's joints and axes.

    up: "y", "z" or "auto". scale: metres per unit of the file, None guesses it from the leg's length.
    Returns a Clip at the file's frame rate, float32, on the performer's own bone lengths, in the file's
    place and heading; it is moved up or down so that in stance the ball of the lower foot is at TOE_HEIGHT,
    and feet are level where they stand.
    `meta["import"]` tells what was guessed and what was made up; its `floor` is the height, in metres of the file's
    space, that became 0.
    Raises RigError when hips, legs or arms are missing, or units or rest pose cannot be made out.
    """
    notes: list[str] = []
    bones = map_bones(motion.names, motion.parents, motion.is_end, motion.source)
    positions, rotations = motion.world()
    if up == "auto":
        up = _guess_up(positions, motion.rest_positions(), bones)
    source = _turned(motion, positions, rotations, bones, up)
    tpose = _tpose(source, notes)
    places = _tpose_places(source, tpose, notes)
    metres = _metres_per_unit(source, scale)

    turns = _world_rotations(source, tpose, places)
    offsets = np.array([places[n] - places[_PARENT[n]] if _PARENT[n] else np.zeros(3) for n in _NAMES]) * metres
    skeleton = Skeleton(_NAMES, MODEL_SKELETON.parents, offsets)
    root = source.positions[:, bones["Hips"]] * metres
    local = make_continuous(skeleton.local_rotations(turns))
    floor = floor_height(skeleton.positions(root, turns), motion.fps)
    root[:, 2] -= floor
    return level_feet(
        Clip(
            skeleton=skeleton,
            root=root.astype(np.float32),
            rotations=local.astype(np.float32),
            fps=motion.fps,
            meta={
                "source": motion.source,
                "import": {"up": up, "metres_per_unit": round(metres, 6), "floor": round(floor, 4), "notes": notes},
            },
        )
    )


def floor_height(positions: Array, fps: float) -> float:
    """Height of the ground under a figure (T, 22, 3), metres: the ball of the lower foot in stance less TOE_HEIGHT.

    Stance is where the lower foot is slow; a low percentile, so that steps and platforms stay above it.
    """
    toes = positions[:, MODEL_SKELETON.indices(("LeftToe", "RightToe"))]
    low = np.argmin(toes[..., 2], axis=1)
    height = toes[np.arange(len(toes)), low, 2]
    if len(toes) > 1:
        speed = np.linalg.norm(np.gradient(toes, axis=0), axis=-1)[np.arange(len(toes)), low] * fps
        stance = speed < 0.3
        if stance.mean() > 0.05:
            height = height[stance]
    return float(np.percentile(height, 10)) - TOE_HEIGHT


# Axes and units


def _guess_up(positions: Array, rest: Array, bones: Mapping[str, int]) -> str:
    """ "y" or "z": along which the figure stands in the motion; its rest pose has half a vote.

    The rest pose decides where the figure lies for a part of the motion.
    """
    feet = [bones["LeftFoot"], bones["RightFoot"]]
    arms = [bones["LeftArm"], bones["RightArm"]]
    standing = normalize(positions[:, arms].mean(1) - positions[:, feet].mean(1))
    resting = normalize(rest[arms].mean(0) - rest[feet].mean(0))
    votes = {axis: (standing[:, i] > 0.7).mean() + 0.5 * (resting[i] > 0.7) for axis, i in (("y", 1), ("z", 2))}
    return "z" if votes["z"] > votes["y"] else "y"


def _turned(motion: ImportedMotion, positions: Array, rotations: Array, bones: Mapping[str, int], up: str) -> _Source:
    rest, turn = motion.rest_positions(), np.array([1.0, 0.0, 0.0, 0.0])
    if up == "y":
        turn = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
        positions, rest = up_y_to_z(positions), up_y_to_z(rest)
        rotations = multiply(np.broadcast_to(turn, rotations.shape), rotations)
    ends = {p: j for j, p in enumerate(motion.parents) if motion.is_end[j] and np.any(motion.offsets[j] != 0)}
    return _Source(motion, positions, rotations, rest, turn, bones, ends)


def _metres_per_unit(source: _Source, scale: float | None) -> float:
    """The given scale, the one that the file states, or the unit in which the leg has a person's length."""
    if scale is not None:
        return scale
    leg = 2 * float(
        np.mean(
            [
                np.linalg.norm(source.bone(s + a, source.bones[s + b]), axis=1).mean()
                for s in SIDES
                for a, b in (("UpLeg", "Leg"), ("Leg", "Foot"))
            ]
        )
    )
    stated = source.motion.unit
    for unit, (shortest, longest) in _UNITS if stated is None else ((stated, _ANY_BUILD), *_UNITS):
        if shortest <= leg * unit <= longest:
            return unit
    raise RigError(
        f"{source.motion.source}: a leg is {leg:.4g} units long, which is a person's in no usual unit; "
        f"give the metres per unit (--scale)"
    )


# Rest pose


def _tpose(source: _Source, notes: list[str]) -> dict[str, Array]:
    """World rotation (4,) of each found joint in the T-pose: it stands, faces -Y, arms and legs are straight."""
    rest = {name: source.rest[j] for name, j in source.bones.items()}
    axes = _body_axes(rest)
    places = {} if axes is None else {name: axes @ place for name, place in rest.items()}
    upright = None if axes is None else multiply(from_matrix(axes), source.rest_turn)
    if upright is not None and _stands(places):
        return _straightened(source, dict.fromkeys(source.bones, upright))
    notes.append("the rest pose is no standing figure, so the T-pose was taken from standing frames")
    reference = _standing_pose(source)
    if upright is not None and _trunk_stands(places):  # then only arms and legs are folded
        reference |= dict.fromkeys((n for n in _TRUNK if n in reference), upright)
        _carry_shoulders(source, reference)
    return _hinged(source, _straightened(source, reference)) | _flat_feet(source)


def _body_axes(figure: Mapping[str, Array]) -> Array | None:
    """(3, 3) that turns joint places so that the trunk is up and the left hip at +X; None when it has no extent."""
    up = (figure["LeftArm"] + figure["RightArm"] - figure["LeftUpLeg"] - figure["RightUpLeg"]) / 2
    left = figure["LeftUpLeg"] - figure["RightUpLeg"]
    axes = np.zeros((3, 3))
    axes[2] = normalize(up)
    axes[0] = normalize(left - axes[2] * (axes[2] @ left))
    axes[1] = np.cross(axes[2], axes[0])
    if abs(np.linalg.det(axes) - 1) > 1e-6:
        return None
    # Rest poses are drawn along the axes of the program; what is left is the figure's own slant.
    cube = max(_CUBE_ROTATIONS, key=lambda m: float(np.sum(m * axes)))
    return cube if np.sum(cube * axes) > 1 + 2 * np.cos(np.radians(25)) else axes


def _trunk_stands(places: Mapping[str, Array]) -> bool:
    chain = [places[n] for n in _TRUNK if n in places]
    steps = np.diff(chain, axis=0)
    return bool(np.all(steps[:, 2] >= 0.6 * np.linalg.norm(steps, axis=1)))


def _carry_shoulders(source: _Source, reference: dict[str, Array]) -> None:
    """Put the collar bones on the reference's chest as they sit on it on average."""
    chest = _found_above("LeftShoulder", source.bones)
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


_CUBE_ROTATIONS = tuple(
    m
    for order in permutations(range(3))
    for signs in product((1.0, -1.0), repeat=3)
    if np.linalg.det(m := np.eye(3)[list(order)] * np.array(signs)[:, None]) > 0
)


def _standing_pose(source: _Source) -> dict[str, Array]:
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
            f"{source.motion.source}: the rest pose is no standing figure and in no frame does the figure "
            f"stand upright, so its T-pose cannot be made out"
        )
    chosen = np.flatnonzero(score > score.max() - 0.02)
    across = normalize((hips + shoulders)[chosen])
    facing = from_yaw(-np.arctan2(across[:, 1], across[:, 0]))
    out = {}
    for name, j in source.bones.items():
        out[name] = _mean_rotation(multiply(facing, source.rotations[source.sample, j][chosen]))
    return out


def _straightened(source: _Source, reference: Mapping[str, Array]) -> dict[str, Array]:
    """Turn arms to the sides, legs down and feet ahead in the reference pose, each by the shortest turn."""
    out = dict(reference)

    def turn(name: str, by: Array) -> None:
        out[name] = multiply(by, reference[name])

    def aimed(name: str, child: int, by: Array, goal: Array) -> Array:
        """The turn `by`, then the shortest one that brings the bone from `name` to `child` to `goal`."""
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
        hand = _hand(source, side)
        if hand is not None:
            upper = aimed(side + "ForeArm", hand, upper, outward)
        turn(side + "ForeArm", upper)
        if side + "Hand" in reference:
            turn(side + "Hand", upper)
    return out


def _hinged(source: _Source, tpose: dict[str, Array]) -> dict[str, Array]:
    """Twist straight limbs until knees bend to the back and elbows to the front, as they do in the motion.

    Standing frames say little of twist; the planes in which the limbs bend say it all.
    """
    out = dict(tpose)
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        for upper, lower, end, along, hinge in (
            ("UpLeg", "Leg", source.bones[side + "Foot"], _DOWN, np.array([1.0, 0.0, 0.0])),
            ("Arm", "ForeArm", _hand(source, side), np.array([sign, 0.0, 0.0]), np.array([0.0, 0.0, -sign])),
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


def _flat_feet(source: _Source) -> dict[str, Array]:
    """World rotations (4,) of feet and toes when they stand flat and point to -Y, from where they are lowest."""
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


def _foot_ahead(source: _Source, reference: Mapping[str, Array], side: str) -> Array:
    """The turn that points the foot to -Y: about the vertical, so that a flat foot stays flat."""
    foot = source.bones[side + "Foot"]
    tip = source.bones.get(side + "Toe", source.ends.get(foot))
    if tip is None:
        return np.array([1.0, 0.0, 0.0, 0.0])
    bone = normalize(rotate(reference[side + "Foot"], source.bone(side + "Foot", tip).mean(0)))
    if np.hypot(bone[0], bone[1]) < 0.4:  # drawn like a dancer's, or straight on along the shin
        return between(bone, MODEL_SKELETON.offsets[_NAMES.index(side + "Toe")])
    return from_yaw(-np.arctan2(bone[0], -bone[1]))


def _hand(source: _Source, side: str) -> int | None:
    """The wrist, or the end of the forearm where the skeleton has no hands."""
    return source.bones.get(side + "Hand", source.ends.get(source.bones[side + "ForeArm"]))


# Joints in the T-pose


def _tpose_places(source: _Source, tpose: Mapping[str, Array], notes: list[str]) -> dict[str, Array]:
    """Places (3,) of all 22 joints in the T-pose, in the file's units, Hips at the origin.

    Joints that the source lacks are put where they do not change the places of the others.
    """
    places: dict[str, Array] = {"Hips": np.zeros(3)}
    for name in _NAMES[1:]:
        if name in source.bones:
            above = _found_above(name, source.bones)
            bone = source.bone(above, source.bones[name]).mean(0)
            places[name] = places[above] + rotate(tpose[above], bone)
    ratio = float(np.linalg.norm(places["LeftFoot"] - places["LeftUpLeg"])) / MODEL_LEG
    _restore_thorax(places, ratio)
    model = dict(zip(_NAMES, MODEL_SKELETON.offsets * ratio, strict=True))
    missing = [n for n in _NAMES if n not in places]
    shoulders = (places["LeftArm"] + places["RightArm"]) / 2
    if "Spine2" not in places:
        places["Spine2"] = 0.5 * shoulders
    if "Spine" not in places:
        places["Spine"] = places["Hips"]
    if "Spine1" not in places:
        places["Spine1"] = (places["Spine"] + places["Spine2"]) / 2
    if "Neck" not in places:
        end = places.get("Head", shoulders + 3 * model["Neck"])
        places["Neck"] = places["Spine2"] + 0.5 * (end - places["Spine2"])
    if "Head" not in places:
        places["Head"] = places["Neck"] + model["Head"]
    for side in SIDES:
        if side + "Shoulder" not in places:
            arm = places[side + "Arm"]
            places[side + "Shoulder"] = np.array([0.1 * arm[0], arm[1], arm[2]])
        if side + "Hand" not in places:
            end = source.ends.get(source.bones[side + "ForeArm"])
            bone = (
                model[side + "Hand"]
                if end is None
                else rotate(tpose[side + "ForeArm"], source.bone(side + "ForeArm", end).mean(0))
            )
            places[side + "Hand"] = places[side + "ForeArm"] + bone
        if side + "Toe" not in places:
            places[side + "Toe"] = places[side + "Foot"] + model[side + "Toe"]
    if missing:
        notes.append(f"joints that the skeleton lacks were filled in: {', '.join(missing)}")
    return places


def _restore_thorax(places: dict[str, Array], ratio: float) -> None:
    """Lift neck and shoulders where they sit in the last spine joint.

    CMU's recordings as BVH by B. Hahne lack the thorax, and everything above sits 12 cm too low; the bone
    below it has nearly its length.
    """
    above = [n for n in ("Neck", "LeftShoulder", "RightShoulder") if n in places]
    if len(above) < 3 or "Spine1" not in places or "Spine2" not in places:
        return
    if max(np.linalg.norm(places[n] - places["Spine2"]) for n in above) > 0.02 * ratio:
        return
    lift = places["Spine2"] - places["Spine1"]
    for name in ("Neck", "Head", *(s + p for s in SIDES for p in ("Shoulder", "Arm", "ForeArm", "Hand"))):
        if name in places:
            places[name] = places[name] + lift


def _found_above(name: str, found: Mapping[str, int]) -> str:
    """The nearest joint above `name` that the source has."""
    above = _PARENT[name]
    while above not in found:
        above = _PARENT[above]
    return above


# Motion


def _world_rotations(source: _Source, tpose: Mapping[str, Array], places: Mapping[str, Array]) -> Array:
    """World rotations (T, 22, 4) against the T-pose; joints that were filled in turn with the joint above.

    Where bones were merged (a fourth spine bone, a second neck bone) or joints slide, the bone is aimed at
    the place of the next joint, so that only its length differs.
    """
    out = np.empty((len(source.positions), len(_NAMES), 4))
    for i, name in enumerate(_NAMES):
        if name not in source.bones:
            out[:, i] = out[:, _NAMES.index(_found_above(name, source.bones))]
            continue
        j = source.bones[name]
        out[:, i] = multiply(source.rotations[:, j], conjugate(tpose[name]))
        child = _MAIN_CHILD.get(name)
        while child is not None and child not in source.bones:
            child = _MAIN_CHILD.get(child)
        if child is None:
            continue
        bones = normalize(source.bone(name, source.bones[child]))
        if np.linalg.norm(places[child] - places[name]) > 0 and _spread(bones) > _AIM_TOLERANCE:
            actual = source.positions[:, source.bones[child]] - source.positions[:, j]
            present = rotate(out[:, i], np.broadcast_to(places[child] - places[name], actual.shape))
            out[:, i] = multiply(between(present, actual), out[:, i])
    return out


def _spread(directions: Array) -> float:
    """The largest angle between unit vectors (N, 3) and their mean."""
    return float(np.arccos(np.clip(directions @ normalize(directions.mean(0)), -1, 1)).max())
