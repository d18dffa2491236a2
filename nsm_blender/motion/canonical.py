# SPDX-License-Identifier: GPL-3.0-or-later
"""From any imported skeleton to the 22 joints, the T-pose and the axes of the model skeleton.

The world direction of every limb and the performer's own bone lengths stay those of the source. Only the meaning of
"not rotated" changes: in the result it is the T-pose. Where the source's rest pose is a standing figure (arms up, half
down or down), it is brought to the T-pose by the shortest turns of arms and legs; where it is not (some files rest with
every bone along one axis), standing frames of the motion take its place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from ..errors import RigError
from .bone_names import SIDES, map_bones
from .clip import Clip
from .clip_file import up_y_to_z
from .feet import level_feet
from .imported import ImportedMotion
from .rotations import Array, between, conjugate, make_continuous, multiply, normalize, rotate
from .skeleton import MODEL_SKELETON, TOE_HEIGHT, Skeleton
from .source import NAMES, PARENT, Source, found_above
from .tpose import shoulders_askew, tpose_rotations

MODEL_LEG = 0.83774
"""Distance in meters from hip to ankle of the model skeleton."""

_ANY_BUILD, _PERSON = (0.5, 1.3), (0.7, 1.05)
"""Least and largest leg length in meters of figures of any build, and of people."""
_UNITS = ((1.0, _ANY_BUILD), (0.01, _ANY_BUILD), (0.001, _ANY_BUILD), (0.0254, _PERSON), (0.0254 / 0.45, _PERSON))
"""Meters per unit and the leg lengths for which the unit is believed: meters, cm, mm, inches, and CMU's unit, of which
0.45 make an inch."""

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

_FARTHEST_OFF, _MOST_TURNED = 0.02, np.radians(5)
"""Meters by which a converted joint may lie beside the file's, and radians by which the shoulders may be turned against
the hips in the T-pose; beyond them the file is refused."""
_MOSTLY = 99
"""Percentile over the frames at which joints are compared, as single frames of a recording may be damaged."""
_AIM_TOLERANCE = np.radians(0.2)
"""Largest spread in radians of a bone's direction that counts as rigid; beyond it the bone is aimed at the next
joint."""


def to_canonical(motion: ImportedMotion, up: str = "auto", scale: float | None = None) -> Clip:
    """Bring imported motion to the model skeleton's joints and axes.

    up: "y", "z" or "auto". scale: meters per unit of the file; None guesses it from the leg's length. Returns a Clip at
    the file's frame rate, float32, on the performer's own bone lengths, in the file's place and heading; it is moved up
    or down so that in stance the ball of the lower foot is at TOE_HEIGHT, and feet are level in stance.
    `meta["import"]` records what was guessed and what was filled in; its `floor` is the height, in meters of the file's
    space, that became 0. Raises RigError when hips, legs or arms are missing, or when units or rest pose cannot be
    determined.
    """
    notes: list[str] = []
    bones = map_bones(motion.names, motion.parents, motion.is_end, motion.source)
    positions, rotations = motion.world()
    if up == "auto":
        up = _guess_up(positions, motion.rest_positions(), bones)
    source = _turned(motion, positions, rotations, bones, up)
    tpose = tpose_rotations(source, notes)
    places, lifted = _tpose_places(source, tpose, notes)
    meters = _metres_per_unit(source, scale)

    turns = _world_rotations(source, tpose, places)
    offsets = np.array([places[n] - places[PARENT[n]] if PARENT[n] else np.zeros(3) for n in NAMES]) * meters
    skeleton = Skeleton(NAMES, MODEL_SKELETON.parents, offsets)
    root = source.positions[:, bones["Hips"]] * meters
    local = make_continuous(skeleton.local_rotations(turns))
    joints = skeleton.positions(root, turns)
    _check_converted(source, tpose, joints, meters, lifted)
    floor = floor_height(joints, motion.fps)
    root[:, 2] -= floor
    return level_feet(
        Clip(
            skeleton=skeleton,
            root=root.astype(np.float32),
            rotations=local.astype(np.float32),
            fps=motion.fps,
            meta={
                "source": motion.source,
                "import": {"up": up, "metres_per_unit": round(meters, 6), "floor": round(floor, 4), "notes": notes},
            },
        )
    )


def floor_height(positions: Array, fps: float) -> float:
    """Height in meters of the ground under a figure (T, 22, 3): the ball of the lower foot in stance less TOE_HEIGHT.

    Stance is where the lower foot is slow; a low percentile is taken, so that steps and platforms stay above the
    ground.
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


def _check_converted(
    source: Source, tpose: Mapping[str, Array], joints: Array, meters: float, lifted: Collection[str]
) -> None:
    """Raise RigError where converted joints (T, 22, 3), in meters, are not where the file has them.

    lifted: joints that were put elsewhere on purpose.
    """
    askew = shoulders_askew(source, tpose)
    if askew > _MOST_TURNED:
        raise RigError(
            f"{source.motion.source}: the chest cannot be told from the file: it would be turned by "
            f"{np.degrees(askew):.0f} degrees; export the motion with a rest pose that stands upright"
        )
    away: dict[str, float] = {}
    for name, number in source.bones.items():
        if name in lifted:
            continue
        gap = np.linalg.norm(joints[:, NAMES.index(name)] - meters * source.positions[:, number], axis=1)
        away[name] = float(np.percentile(gap, _MOSTLY))
    worst = max(away, key=lambda name: away[name])
    if away[worst] > _FARTHEST_OFF:
        raise RigError(
            f"{source.motion.source}: the joint {source.motion.names[source.bones[worst]]} would be "
            f"{100 * away[worst]:.0f} cm beside where the file has it, as its bones change their lengths or their "
            "order; export the motion with bones of constant length"
        )


# Axes and units


def _guess_up(positions: Array, rest: Array, bones: Mapping[str, int]) -> str:
    """Guess "y" or "z", the axis along which the figure stands in the motion; its rest pose has half a vote.

    The rest pose decides where the figure lies for a part of the motion.
    """
    feet = [bones["LeftFoot"], bones["RightFoot"]]
    arms = [bones["LeftArm"], bones["RightArm"]]
    standing = normalize(positions[:, arms].mean(1) - positions[:, feet].mean(1))
    resting = normalize(rest[arms].mean(0) - rest[feet].mean(0))
    votes = {axis: (standing[:, i] > 0.7).mean() + 0.5 * (resting[i] > 0.7) for axis, i in (("y", 1), ("z", 2))}
    return "z" if votes["z"] > votes["y"] else "y"


def _turned(motion: ImportedMotion, positions: Array, rotations: Array, bones: Mapping[str, int], up: str) -> Source:
    rest, turn = motion.rest_positions(), np.array([1.0, 0.0, 0.0, 0.0])
    if up == "y":
        turn = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
        positions, rest = up_y_to_z(positions), up_y_to_z(rest)
        rotations = multiply(np.broadcast_to(turn, rotations.shape), rotations)
    ends = {p: j for j, p in enumerate(motion.parents) if motion.is_end[j] and np.any(motion.offsets[j] != 0)}
    return Source(motion, positions, rotations, rest, turn, bones, ends)


def _metres_per_unit(source: Source, scale: float | None) -> float:
    """Meters per unit: the given scale, the scale that the file states, or the unit in which the leg has a person's
    length."""
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
    return unit_of_leg(leg, source.motion.unit, source.motion.source)


def unit_of_leg(leg: float, stated: float | None, name: str) -> float:
    """Meters per unit when a leg is so many units long: `stated` if that gives a leg, else a usual unit. Raises
    RigError that names the file when none does."""
    for unit, (shortest, longest) in _UNITS if stated is None else ((stated, _ANY_BUILD), *_UNITS):
        if shortest <= leg * unit <= longest:
            return unit
    raise RigError(
        f"{name}: a leg is {leg:.4g} units long, which fits no usual unit; give the meters per unit (--scale)"
    )


# Joints in the T-pose


def _tpose_places(
    source: Source, tpose: Mapping[str, Array], notes: list[str]
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Places (3,) of all 22 joints in the T-pose, in the file's units, Hips at the origin, and the joints that were
    lifted.

    Joints that the source lacks are put where they do not change the places of the others.
    """
    places: dict[str, Array] = {"Hips": np.zeros(3)}
    for name in NAMES[1:]:
        if name in source.bones:
            above = found_above(name, source.bones)
            bone = source.bone(above, source.bones[name]).mean(0)
            places[name] = places[above] + rotate(tpose[above], bone)
    ratio = float(np.linalg.norm(places["LeftFoot"] - places["LeftUpLeg"])) / MODEL_LEG
    lifted = _restore_thorax(places, ratio)
    model = dict(zip(NAMES, MODEL_SKELETON.offsets * ratio, strict=True))
    missing = [n for n in NAMES if n not in places]
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
    return places, lifted


def _restore_thorax(places: dict[str, Array], ratio: float) -> tuple[str, ...]:
    """Lift neck and shoulders where they sit in the last spine joint, and return the joints that were lifted.

    CMU's recordings as BVH by B. Hahne lack the thorax, and everything above sits 12 cm too low; the bone below has
    nearly its length.
    """
    above = [n for n in ("Neck", "LeftShoulder", "RightShoulder") if n in places]
    if len(above) < 3 or "Spine1" not in places or "Spine2" not in places:
        return ()
    if max(np.linalg.norm(places[n] - places["Spine2"]) for n in above) > 0.02 * ratio:
        return ()
    lift = places["Spine2"] - places["Spine1"]
    upper = ("Neck", "Head", *(s + p for s in SIDES for p in ("Shoulder", "Arm", "ForeArm", "Hand")))
    lifted = tuple(name for name in upper if name in places)
    for name in lifted:
        places[name] = places[name] + lift
    return lifted


# Motion


def _world_rotations(source: Source, tpose: Mapping[str, Array], places: Mapping[str, Array]) -> Array:
    """World rotations (T, 22, 4) against the T-pose; filled-in joints turn with the joint above.

    Where bones were merged (a fourth spine bone, a second neck bone) or joints slide, the bone is aimed at the next
    joint, so that only its length differs.
    """
    out = np.empty((len(source.positions), len(NAMES), 4))
    for i, name in enumerate(NAMES):
        if name not in source.bones:
            out[:, i] = out[:, NAMES.index(found_above(name, source.bones))]
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
