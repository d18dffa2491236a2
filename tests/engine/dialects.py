# SPDX-License-Identifier: GPL-3.0-or-later
"""One known motion, written as BVH in the dialects of many programs."""

from __future__ import annotations

import numpy as np

from nsm_blender.motion.bvh import load_bvh
from nsm_blender.motion.canonical import to_canonical
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import up_z_to_y
from nsm_blender.motion.rotations import (
    conjugate,
    from_axis_angle,
    from_matrix,
    multiply,
    normalize,
    rotate,
    to_matrix,
)
from nsm_blender.motion.skeleton import MODEL_SKELETON, TOE_HEIGHT

NAMES = MODEL_SKELETON.names
X, Y, Z = np.eye(3)
SIDES = (("Left", 1.0), ("Right", -1.0))


def walking():
    """Half a second's stand, then steps along -Y with a turn to the left; feet are kept level throughout."""
    count = 150
    time = np.arange(count) / 60
    stride = np.clip(time - 0.5, 0, 1)
    turns = np.zeros((count, 22, 4))
    turns[..., 0] = 1
    yaw = 0.4 * stride**2

    def local(name, axis, angle):
        turns[:, NAMES.index(name)] = from_axis_angle(np.tile(axis, (count, 1)), np.broadcast_to(angle, count))

    local("Hips", Z, yaw)
    local("Spine1", X, 0.1 + 0.05 * np.sin(7 * time))
    local("Spine2", Z, 0.1 * np.sin(5 * time))
    local("Neck", Z, 0.2 * np.sin(3 * time))
    local("Head", X, -0.15)
    for side, sign in SIDES:
        swing = sign * 0.5 * np.sin(7 * stride)
        bend = 0.12 + 0.4 * stride * (1 + sign * np.cos(7 * stride))
        local(side + "UpLeg", X, -swing - bend / 2)
        local(side + "Leg", X, bend)
        local(side + "Foot", X, swing - bend / 2)
        hang = from_axis_angle(np.tile(Y, (count, 1)), np.full(count, sign * 1.2))
        swung = from_axis_angle(np.tile(X, (count, 1)), 0.8 * swing)
        turns[:, NAMES.index(side + "Arm")] = multiply(swung, hang)
        local(side + "ForeArm", -sign * Z, 0.5 + 0.3 * np.sin(7 * time))
    root = np.stack((0.3 * stride**2, -1.2 * stride, np.full(count, 0.95)), axis=1)
    clip = Clip(MODEL_SKELETON, root, turns, 60.0)
    positions, _ = clip.world()
    root[:, 2] -= np.min(positions[:, MODEL_SKELETON.indices(("LeftToe", "RightToe")), 2], axis=1) - TOE_HEIGHT
    return clip


def to_euler(q, order):
    """Angles of intrinsic rotations about three different axes."""
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = to_matrix(q)
    return np.stack(
        (
            np.arctan2(-sign * m[..., j, k], m[..., k, k]),
            np.arcsin(np.clip(sign * m[..., i, k], -1, 1)),
            np.arctan2(-sign * m[..., i, j], m[..., i, i]),
        ),
        axis=-1,
    )


def write_bvh(clip, path, names=None, order="ZXY", up="y", unit=0.01, rest=None, without=(), extra=None):
    """Write `clip` in a dialect.

    names: of the joints. rest: joint -> world rotation in the T-pose, where the file's rest pose is another.
    without: joints left out. extra: (new joint, joint it is put above), halfway along the bone.
    """
    turn = np.tile([1.0, 0, 0, 0], (22, 1))
    for name, value in (rest or {}).items():
        turn[NAMES.index(name)] = value
    _, world = clip.world()
    world = multiply(world, np.broadcast_to(turn, world.shape))
    parents = [*MODEL_SKELETON.parents]
    offsets = clip.skeleton.offsets.copy()
    for j in range(1, 22):
        offsets[j] = rotate(conjugate(turn[parents[j]]), offsets[j])
    local, root = clip.skeleton.local_rotations(world), clip.root
    labels = [(names or {}).get(n, n) for n in NAMES]
    if extra:
        labels.append(extra[0])
        child = NAMES.index(extra[1])
        parents.append(parents[child])
        parents[child] = 22
        offsets = np.vstack((offsets, offsets[child] / 2))
        offsets[child] /= 2
        half = from_axis_angle(np.tile(X, (len(clip), 1)), np.full(len(clip), 0.3))
        local = np.concatenate((local, half[:, None]), axis=1)
        local[:, child] = multiply(conjugate(half), local[:, child])
    if up == "y":
        local = np.concatenate((local[..., :1], up_z_to_y(local[..., 1:])), axis=-1)
        offsets, root = up_z_to_y(offsets), up_z_to_y(root)
    offsets, root, angles = offsets / unit, root / unit, np.degrees(to_euler(local, order))
    lines, columns = ["HIERARCHY"], [root]

    def emit(j):
        lines.extend([f"{'ROOT' if j == 0 else 'JOINT'} {labels[j]}", "{"])
        lines.append("OFFSET {:.6f} {:.6f} {:.6f}".format(*offsets[j]))
        channels = ["Xposition", "Yposition", "Zposition"] * (j == 0) + [f"{axis}rotation" for axis in order]
        lines.append(f"CHANNELS {len(channels)} {' '.join(channels)}")
        columns.append(angles[:, j])
        below = [c for c, p in enumerate(parents) if p == j and not (c < 22 and NAMES[c] in without)]
        for c in below:
            emit(c)
        if not below:
            lines.extend(["End Site", "{", "OFFSET 0 0 0", "}"])
        lines.append("}")

    emit(0)
    rows = [" ".join(f"{v:.6f}" for v in row) for row in np.concatenate(columns, axis=1)]
    lines += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {1 / clip.fps:.7f}", *rows]
    path.write_text("\n".join(lines) + "\n")


def names_of(middle, parts, form):
    """Joint names from those of the middle and of the parts of limbs, put together with a side by `form`."""
    return middle | {side + part: form(side, name) for side, _ in SIDES for part, name in parts.items()}


def mixamo(prefix):
    return {n: prefix + n for n in NAMES} | {f"{s}Toe": f"{prefix}{s}ToeBase" for s, _ in SIDES}


CMU = (
    {n: n for n in NAMES}
    | {"Spine": "LowerBack", "Spine1": "Spine", "Spine2": "Spine1"}
    | {f"{s}Toe": f"{s}ToeBase" for s, _ in SIDES}
)
ASF = names_of(
    {
        "Hips": "root",
        "Spine": "lowerback",
        "Spine1": "upperback",
        "Spine2": "thorax",
        "Neck": "lowerneck",
        "Head": "head",
    },
    {
        "UpLeg": "femur",
        "Leg": "tibia",
        "Foot": "foot",
        "Toe": "toes",
        "Shoulder": "clavicle",
        "Arm": "humerus",
        "ForeArm": "radius",
        "Hand": "wrist",
    },
    lambda s, n: s[0].lower() + n,
)
SMPL = names_of(
    {
        "Hips": "m_avg_Pelvis",
        "Spine": "m_avg_Spine1",
        "Spine1": "m_avg_Spine2",
        "Spine2": "m_avg_Spine3",
        "Neck": "m_avg_Neck",
        "Head": "m_avg_Head",
    },
    {
        "UpLeg": "Hip",
        "Leg": "Knee",
        "Foot": "Ankle",
        "Toe": "Foot",
        "Shoulder": "Collar",
        "Arm": "Shoulder",
        "ForeArm": "Elbow",
        "Hand": "Wrist",
    },
    lambda s, n: f"m_avg_{s[0]}_{n}",
)
CHARACTER_STUDIO = names_of(
    {"Spine": "Chest", "Spine1": "Chest2", "Spine2": "Chest3"},
    {
        "UpLeg": "Hip",
        "Leg": "Knee",
        "Foot": "Ankle",
        "Toe": "Toe",
        "Shoulder": "Collar",
        "Arm": "Shoulder",
        "ForeArm": "Elbow",
        "Hand": "Wrist",
    },
    lambda s, n: s + n,
)
XSENS = names_of(
    {"Hips": "Pelvis", "Spine": "L5", "Spine1": "L3", "Spine2": "T8"},
    {"UpLeg": "UpperLeg", "Leg": "LowerLeg", "Arm": "UpperArm", "ForeArm": "Forearm"},
    lambda s, n: s + n,
)
DAZ = names_of(
    {"Hips": "hip", "Spine": "abdomen", "Spine1": "abdomen2", "Spine2": "chest", "Neck": "neck", "Head": "head"},
    {
        "UpLeg": "Thigh",
        "Leg": "Shin",
        "Foot": "Foot",
        "Toe": "Toe",
        "Shoulder": "Collar",
        "Arm": "Shldr",
        "ForeArm": "ForeArm",
        "Hand": "Hand",
    },
    lambda s, n: s[0].lower() + n,
)
BIPED = names_of(
    {
        "Hips": "Bip01 Pelvis",
        "Spine": "Bip01 Spine",
        "Spine1": "Bip01 Spine1",
        "Spine2": "Bip01 Spine2",
        "Neck": "Bip01 Neck",
        "Head": "Bip01 Head",
    },
    {
        "UpLeg": "Thigh",
        "Leg": "Calf",
        "Foot": "Foot",
        "Toe": "Toe0",
        "Shoulder": "Clavicle",
        "Arm": "UpperArm",
        "ForeArm": "Forearm",
        "Hand": "Hand",
    },
    lambda s, n: f"Bip01 {s[0]} {n}",
)
UNREAL = names_of(
    {
        "Hips": "pelvis",
        "Spine": "spine_01",
        "Spine1": "spine_02",
        "Spine2": "spine_03",
        "Neck": "neck_01",
        "Head": "head",
    },
    {
        "UpLeg": "thigh",
        "Leg": "calf",
        "Foot": "foot",
        "Toe": "ball",
        "Shoulder": "clavicle",
        "Arm": "upperarm",
        "ForeArm": "lowerarm",
        "Hand": "hand",
    },
    lambda s, n: f"{n}_{s[0].lower()}",
)
RIGIFY = names_of(
    {"Hips": "spine", "Spine": "spine.001", "Spine1": "spine.002", "Spine2": "spine.003", "Neck": "spine.004"},
    {
        "UpLeg": "thigh",
        "Leg": "shin",
        "Foot": "foot",
        "Toe": "toe",
        "Shoulder": "shoulder",
        "Arm": "upper_arm",
        "ForeArm": "forearm",
        "Hand": "hand",
    },
    lambda s, n: f"{n}.{s[0]}",
)


def arms_down(degrees):
    return {
        side + part: from_axis_angle(Y, -sign * np.radians(degrees))
        for side, sign in SIDES
        for part in ("Arm", "ForeArm", "Hand")
    }


LEGS_APART = {
    side + part: from_axis_angle(Y, sign * np.radians(20)) for side, sign in SIDES for part in ("UpLeg", "Leg")
}


def along_x():
    """World rotations in the T-pose of joints whose bones all lie along their own +X, as LaFAN's do."""

    def axes(x, y):
        return from_matrix(np.stack((x, y, np.cross(x, y)), axis=1))

    out = {name: axes(Z, -Y) for name in ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")}
    ahead = normalize(MODEL_SKELETON.offsets[NAMES.index("LeftToe")])
    for side, sign in SIDES:
        out |= {side + part: axes(-Z, -Y) for part in ("UpLeg", "Leg")}
        out |= {side + part: axes(sign * X, -Y) for part in ("Shoulder", "Arm", "ForeArm", "Hand")}
        out |= {side + "Foot": axes(ahead, np.cross(X, ahead)), side + "Toe": axes(-Y, Z)}
    return out


def quarter_turns():
    """World rotations in the T-pose of joints as in Bandai Namco's files.

    Bones lie along their own +X, those of the right limbs along -X, and the axes of the spine above the hips are a
    quarter turn about the vertical from those of the hips.
    """

    def axes(x, y):
        return from_matrix(np.stack((x, y, np.cross(x, y)), axis=1))

    out = {"Hips": axes(Z, -X)} | {name: axes(Z, -Y) for name in ("Spine", "Spine1", "Spine2", "Neck", "Head")}
    ahead = normalize(MODEL_SKELETON.offsets[NAMES.index("LeftToe")])
    for side, sign in SIDES:
        out |= {side + part: axes(-sign * Z, -Y) for part in ("UpLeg", "Leg")}
        out |= {side + part: axes(X, Z) for part in ("Shoulder", "Arm", "ForeArm", "Hand")}
        out |= {side + "Foot": axes(sign * ahead, np.cross(X, ahead)), side + "Toe": axes(-sign * Y, Z)}
    return out


BANDAI = names_of(
    {"Hips": "Hips", "Spine": "Spine", "Spine1": "Chest", "Spine2": "UpperChest", "Neck": "Neck", "Head": "Head"},
    {
        "UpLeg": "UpperLeg",
        "Leg": "LowerLeg",
        "Foot": "Foot",
        "Toe": "Toes",
        "Shoulder": "Shoulder",
        "Arm": "UpperArm",
        "ForeArm": "LowerArm",
        "Hand": "Hand",
    },
    lambda s, n: f"{n}_{s[0]}",
)


DIALECTS = {
    "the model's own": {},
    "CMU in cgspeed's names, its units": {"names": CMU, "unit": 0.0254 / 0.45, "order": "ZYX"},
    "Mixamo, arms half down": {"names": mixamo("mixamorig:"), "unit": 1.0, "order": "XYZ", "rest": arms_down(45)},
    "Mixamo with a numbered prefix, inches": {"names": mixamo("mixamorig7_"), "unit": 0.0254, "order": "YZX"},
    "Acclaim's names, legs apart": {"names": ASF, "order": "XZY", "rest": LEGS_APART},
    "SMPL, meters, Z up": {"names": SMPL, "unit": 1.0, "up": "z"},
    "Character Studio": {"names": CHARACTER_STUDIO, "order": "YXZ"},
    "Xsens, Z up, arms down": {"names": XSENS, "up": "z", "order": "YXZ", "rest": arms_down(88)},
    "Daz": {"names": DAZ},
    "Biped": {"names": BIPED},
    "Unreal": {"names": UNREAL},
    "Rigify": {"names": RIGIFY},
    "millimeters": {"unit": 0.001},
}


def imported(walk, path, **dialect):
    write_bvh(walk, path / "a.bvh", **dialect)
    return to_canonical(load_bvh(path / "a.bvh"))


def angles(a, b):
    """Degrees (T, J) between two clips' world rotations."""
    return np.degrees(2 * np.arccos(np.clip(np.abs(np.sum(a.world()[1] * b.world()[1], axis=-1)), 0, 1)))
