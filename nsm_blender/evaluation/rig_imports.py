# SPDX-License-Identifier: GPL-3.0-or-later
"""Imported motions of many conventions, made by rule: what comes of a clip that is written in them and read again.

The clips walk, jump, turn over in the air and stand on a box, and are of performers of several sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..motion.canonical import to_canonical
from ..motion.clip import Clip
from ..motion.clip_file import up_z_to_y
from ..motion.easing import smoothstep
from ..motion.imported import ImportedMotion
from ..motion.load import in_meters
from ..motion.motion import Motion
from ..motion.retarget import to_model_skeleton
from ..motion.rotations import (
    Array,
    conjugate,
    from_axis_angle,
    from_matrix,
    from_yaw,
    multiply,
    normalize,
    rotate,
)
from ..motion.skeleton import MODEL_SKELETON
from .rig_figures import LIMBS
from .rigs import NAMES, RECIPES, SIDES, arms_down, legs_apart

X, Y, Z = np.eye(3)
SIZES = {"small": 0.85, "as the model": 1.0, "tall": 1.2}
"""Sizes of the performers, as factors on the model."""
_TRUNK = ("Hips", "Spine", "Spine1", "Spine2", "Neck", "Head")


@dataclass(frozen=True, eq=False)
class Dialect:
    """How a file writes a motion. names: joint -> name. rest: joint -> world rotation in the T-pose where the file's
    rest pose is another. unit: meters per unit. up: axis. below_root: whether the hips hang on a root at the floor.
    """

    names: Mapping[str, str]
    rest: Mapping[str, Array] = field(default_factory=dict)
    unit: float = 0.01
    up: str = "y"
    below_root: bool = False


def _names(recipe: str) -> dict[str, str]:
    return {joint: links[0] for joint, links in RECIPES[recipe].names.items()}


def _axes(x: Array, y: Array) -> Array:
    return from_matrix(np.stack((x, y, np.cross(x, y)), axis=1))


def _along_x(twisted: bool) -> dict[str, Array]:
    """Rotations of joints whose bones lie along x; `twisted`: the hips' axes a quarter turn from the spine's."""
    out = {name: _axes(Z, -Y) for name in _TRUNK} | ({"Hips": _axes(Z, -X)} if twisted else {})
    ahead = normalize(MODEL_SKELETON.offsets[NAMES.index("LeftToe")])
    for side, sign in SIDES:
        mirrored = sign if twisted else 1.0
        out |= {side + part: _axes(-mirrored * Z, -Y) for part in ("UpLeg", "Leg")}
        outward = X if twisted else sign * X
        out |= {side + part: _axes(outward, Z if twisted else -Y) for part in ("Shoulder", "Arm", "ForeArm", "Hand")}
        out |= {side + "Foot": _axes(mirrored * ahead, np.cross(X, ahead)), side + "Toe": _axes(-mirrored * Y, Z)}
    return out


DIALECTS: dict[str, Dialect] = {
    "Mixamo": Dialect(_names("Mixamo"), arms_down(0)),
    "Unreal": Dialect(_names("Unreal 5"), arms_down(48) | legs_apart(6)),
    "MakeHuman": Dialect(_names("MakeHuman"), arms_down(40), unit=1.0, up="z"),
    "VRM": Dialect(_names("VRM"), unit=1.0),
    "Unity humanoid": Dialect(_names("Unity humanoid"), arms_down(10), unit=1.0),
    "Character Creator": Dialect(_names("Character Creator"), arms_down(35)),
    "Daz": Dialect(_names("Daz"), arms_down(45)),
    "SMPL": Dialect(_names("SMPL"), unit=1.0),
    "CMU": Dialect(_names("CMU"), legs_apart(20), unit=0.0254 / 0.45),
    "cgspeed": Dialect(_names("cgspeed"), unit=0.0254 / 0.45),
    "LaFAN, folded": Dialect(_names("LaFAN"), _along_x(twisted=False)),
    "Bandai Namco": Dialect(_names("Unity humanoid"), _along_x(twisted=True), below_root=True),
    "Auto-Rig Pro": Dialect(_names("Auto-Rig Pro"), arms_down(50), unit=1.0, up="z"),
    "Biped": Dialect(_names("Biped"), arms_down(88)),
    "millimeters": Dialect(_names("LaFAN"), unit=0.001),
}
"""Conventions of motion files."""


def clips(moves: Motion) -> dict[str, Clip]:
    """Clips on the model, by name, from a motion that stands and walks: as it is, jumping, turning over backward in
    the air, stepping onto a box of 40 cm, and turning over on it."""
    t = np.arange(len(moves)) / moves.fps
    local = MODEL_SKELETON.local_rotations(moves.rotations.astype(np.float64))
    root = moves.positions[:, 0].astype(np.float64)

    def clip(name: str, turns: float, high: float, box: float) -> Clip:
        phase = np.clip((t - _TAKE_OFF) / _FLIGHT, 0.0, 1.0)
        place = root.copy()
        place[:, 2] += high * 4 * phase * (1 - phase) + box * smoothstep(np.clip((t - _ON_BOX) / _STEP_UP, 0.0, 1.0))
        turned = local.copy()
        yaw = from_yaw(moves.root[:, 3].astype(np.float64))
        across = rotate(yaw, np.broadcast_to(X, (len(t), 3)))
        over = from_axis_angle(across, 2 * np.pi * turns * smoothstep(phase))
        turned[:, 0] = multiply(over, local[:, 0])
        return Clip(MODEL_SKELETON, place, turned, moves.fps, {"name": name})

    return {
        "walk": clip("walk", 0.0, 0.0, 0.0),
        "jump": clip("jump", 0.0, 0.6, 0.0),
        "flip": clip("flip", 1.0, 1.3, 0.0),
        "box": clip("box", 0.0, 0.0, 0.4),
        "flip on a box": clip("flip on a box", 1.0, 1.3, 0.4),
    }


CLIP_FILES = {"clip file": 1.0, "clip file in cm": 0.01}
"""Clip files (.npz), and meters of their units."""
_TAKE_OFF, _FLIGHT = 5.0, 1.0
"""Seconds at which the clips leave the ground, and for which they are in the air."""
_ON_BOX, _STEP_UP = 2.5, 0.5
"""Seconds at which the clips step onto the box, and that it takes."""


def figures(moves: Motion) -> dict[str, float]:
    """Figures of all clips in all conventions and sizes: "<convention>.<clip>.<size>.<figure>"."""
    out: dict[str, float] = {}
    for clip_name, clip in clips(moves).items():
        for size, factor in SIZES.items():
            for name, dialect in DIALECTS.items():
                made = to_model_skeleton(to_canonical(written(scaled(clip, factor), dialect)))
                out |= {f"{name}.{clip_name}.{size}.{k}": v for k, v in compared(made, clip).items()}
            for label, unit in CLIP_FILES.items():
                stored = scaled(scaled(clip, factor), 1 / unit)
                made = to_model_skeleton(in_meters(stored, None, label))
                out |= {f"{label}.{clip_name}.{size}.{k}": v for k, v in compared(made, clip).items()}
    return out


def scaled(clip: Clip, factor: float) -> Clip:
    """The clip by a performer of another size."""
    skeleton = replace(clip.skeleton, offsets=clip.skeleton.offsets * factor)
    return replace(clip, skeleton=skeleton, root=clip.root * factor)


def written(clip: Clip, dialect: Dialect) -> ImportedMotion:
    """The clip as a file in a dialect is read."""
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (len(NAMES), 1))
    for name, value in dialect.rest.items():
        turn[NAMES.index(name)] = value
    world = multiply(clip.world()[1], np.broadcast_to(turn, (len(clip), len(NAMES), 4)))
    parents = MODEL_SKELETON.parents
    offsets = clip.skeleton.offsets.copy()
    for joint in range(1, len(NAMES)):
        offsets[joint] = rotate(conjugate(turn[parents[joint]]), offsets[joint])
    local, root = clip.skeleton.local_rotations(world), np.asarray(clip.root, dtype=np.float64)
    if dialect.up == "y":
        local = np.concatenate((local[..., :1], up_z_to_y(local[..., 1:])), axis=-1)
        offsets, root = up_z_to_y(offsets), up_z_to_y(root)
    kept = [i for i, joint in enumerate(NAMES) if joint in dialect.names]
    names = [dialect.names[NAMES[i]] for i in kept]
    above = [_kept_above(i, kept) for i in kept]
    offsets, root, local = offsets[kept] / dialect.unit, root / dialect.unit, local[:, kept]
    moved = {0: root}
    if dialect.below_root:
        still = np.zeros_like(local[:, :1])
        still[..., 0] = 1.0
        names, above = ["joint_Root", *names], [-1, *(i + 1 for i in above)]
        offsets, local = np.concatenate((np.zeros((1, 3)), offsets)), np.concatenate((still, local), axis=1)
        moved = {0: np.zeros_like(root), 1: root}
    return ImportedMotion(
        "made", tuple(names), tuple(above), offsets, (False,) * len(names), local, clip.fps, moved, None
    )


def _kept_above(joint: int, kept: list[int]) -> int:
    above = MODEL_SKELETON.parents[joint]
    return kept.index(above) if above >= 0 else -1


def compared(made: Clip, wanted: Clip) -> dict[str, float]:
    """How far the hips are, in cm at the model's size, and how far limbs and trunk are turned, in degrees."""
    places, turns = made.world()
    own, meant = wanted.world()
    there = {joint: places[:, NAMES.index(joint)] for joint in NAMES}
    right = {joint: own[:, NAMES.index(joint)] for joint in NAMES}
    limbs = [_degrees(there[b] - there[a], right[b] - right[a]) for a, b in LIMBS]
    trunk = [NAMES.index(joint) for joint in ("Hips", "Spine2", "Head")]
    turned = multiply(turns[:, trunk].astype(np.float64), conjugate(meant[:, trunk]))
    return {
        "imported_hips_cm_max": 100 * float(np.linalg.norm(there["Hips"] - right["Hips"], axis=1).max()),
        "imported_limb_deg_max": float(np.max(limbs)),
        "imported_trunk_deg_max": float(
            np.degrees(2 * np.arctan2(np.linalg.norm(turned[..., 1:], axis=-1), np.abs(turned[..., 0]))).max()
        ),
    }


def _degrees(a: Array, b: Array) -> Array:
    """Between directions (T, 3)."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b), axis=-1), np.sum(a * b, axis=-1)))
