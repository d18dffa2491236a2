# SPDX-License-Identifier: GPL-3.0-or-later
"""The evaluation's test rigs, and with them Rigify's rigs and a skeleton without a rest pose, as plain data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from nsm_blender.evaluation.rigs import (
    LIMBS,
    NAMES,
    ODD,
    PROPORTIONED,
    RECIPES,
    SIDES,
    Recipe,
    Rig,
    X,
    Y,
    build,
    named,
    rigify_truth,
)
from nsm_blender.motion.skeleton import MODEL_SKELETON, Skeleton
from nsm_blender.rigging.joints import BoneInfo, RigInfo

__all__ = [
    "ALL",
    "LIMBS",
    "NAMES",
    "ODD",
    "RECIPES",
    "SIDES",
    "Recipe",
    "Rig",
    "X",
    "Y",
    "build",
    "folded",
    "named",
    "rig",
    "rigify",
]


def rigify(kind: str) -> Rig:
    """Rigify's human "metarig" or the rig "generated" from it (without its face and fingers)."""
    rows = json.loads((Path(__file__).parent / "rigs_data" / f"rigify_{kind}.json").read_text())
    bones = tuple(
        BoneInfo(name, above, np.array(head), np.array(tail), np.array(x), bool(connected), bool(deform))
        for name, above, head, tail, x, connected, deform in rows
    )
    return Rig(RigInfo(f"Rigify {kind}", bones, np.eye(4)), rigify_truth(kind))


def folded() -> Rig:
    """A skeleton as LaFAN's files rest: every bone lies along the armature's x axis, the hips' width along z."""
    offsets = np.zeros((len(NAMES), 3))
    for joint in NAMES[1:]:
        length = float(np.linalg.norm(MODEL_SKELETON.offsets[NAMES.index(joint)]))
        offsets[NAMES.index(joint)] = [length, 0.0, 0.0]
    for side, sign in SIDES:
        offsets[NAMES.index(side + "UpLeg")] = [0.01, 0.0, sign * 0.1]
        offsets[NAMES.index(side + "Shoulder")] = [0.1, 0.0, sign * 0.05]
    places = Skeleton(NAMES, MODEL_SKELETON.parents, offsets).rest_positions()
    bones = tuple(
        BoneInfo(
            joint,
            NAMES[parent] if parent >= 0 else None,
            places[i],
            places[i] + [0.1, 0.0, 0.0],
            np.array([0.0, 1.0, 0.0]),
        )
        for i, (joint, parent) in enumerate(zip(NAMES, MODEL_SKELETON.parents, strict=True))
    )
    return Rig(RigInfo("folded", bones, np.eye(4)), {joint: joint for joint in NAMES})


def rig(name: str) -> Rig:
    """One of RECIPES, PROPORTIONED or ODD, or Rigify's."""
    return rigify(name.split()[-1]) if name.startswith("Rigify") else build(name, (RECIPES | PROPORTIONED | ODD)[name])


def wolf() -> RigInfo:
    """An animal on four legs, whose bones are named as a person's."""
    bones = [
        _bone("Hips", None, (0, 0.4, 0.8), (0, 0.2, 0.8)),
        _bone("Spine", "Hips", (0, 0.2, 0.8), (0, -0.2, 0.82)),
        _bone("Spine1", "Spine", (0, -0.2, 0.82), (0, -0.4, 0.85)),
        _bone("Neck", "Spine1", (0, -0.4, 0.85), (0, -0.6, 1.05)),
        _bone("Head", "Neck", (0, -0.6, 1.05), (0, -0.85, 1.0)),
    ]
    for side, sign in SIDES:
        hind = [(0.12 * sign, y, z) for y, z in ((0.4, 0.75), (0.35, 0.45), (0.5, 0.2), (0.45, 0.03), (0.35, 0.02))]
        fore = [(0.12 * sign, y, z) for y, z in ((-0.35, 0.75), (-0.3, 0.5), (-0.35, 0.25), (-0.35, 0.03))]
        for limb, top, parts in (
            (hind, "Hips", ("UpLeg", "Leg", "Foot", "Toe")),
            (fore, "Spine1", ("Arm", "ForeArm", "Hand")),
        ):
            above = top
            for part, head, tail in zip(parts, limb, limb[1:], strict=False):
                bones.append(_bone(side + part, above, head, tail))
                above = side + part
    return RigInfo("Wolf", tuple(bones), np.eye(4))


def _bone(name: str, above: str | None, head: tuple[float, ...], tail: tuple[float, ...]) -> BoneInfo:
    return BoneInfo(name, above, np.array(head, dtype=float), np.array(tail, dtype=float), X)


ALL = ("Rigify metarig", "Rigify generated", *RECIPES)
