# SPDX-License-Identifier: GPL-3.0-or-later
"""The same motion as ASF and AMC, as CMU writes them, is the same clip as from BVH."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.motion.asf_amc import load_asf_amc
from nsm_blender.motion.canonical import to_canonical
from nsm_blender.motion.clip_file import up_z_to_y
from nsm_blender.motion.rotations import (
    conjugate,
    from_axis_angle,
    multiply,
)
from nsm_blender.motion.skeleton import MODEL_SKELETON

from .dialects import ASF, NAMES, SIDES, angles, to_euler, walking


@pytest.fixture(scope="module")
def walk():
    return walking()


def write_acclaim(clip, folder):
    """Write `clip` as CMU does: Y up, 0.45 of an inch, bones from joint to joint, turned axes."""
    unit = 0.0254 / 0.45
    names = {n: ASF[n] for n in NAMES}
    aims = {"Spine": "Spine1", "Spine1": "Spine2", "Spine2": "Neck", "Neck": "Head"} | {
        side + a: side + b
        for side, _ in SIDES
        for a, b in (
            ("UpLeg", "Leg"),
            ("Leg", "Foot"),
            ("Foot", "Toe"),
            ("Shoulder", "Arm"),
            ("Arm", "ForeArm"),
            ("ForeArm", "Hand"),
        )
    }
    axes = {n: np.array([10.0 * j, 20.0 - j, 5.0 * j]) for j, n in enumerate(NAMES)}
    lines = [
        ":units",
        "length 0.45",
        "angle deg",
        ":root",
        "order TX TY TZ RX RY RZ",
        "axis XYZ",
        "position 0 0 0",
        "orientation 0 0 0",
        ":bonedata",
    ]
    tree = ["root lhipjoint rhipjoint lowerback", "lhipjoint lfemur", "rhipjoint rfemur"]
    local = np.concatenate((clip.rotations[..., :1], up_z_to_y(clip.rotations[..., 1:])), axis=-1)
    values = {}
    for side, _ in SIDES:
        offset = up_z_to_y(MODEL_SKELETON.offsets[NAMES.index(side + "UpLeg")]) / unit
        lines += [
            "begin",
            f"name {side[0].lower()}hipjoint",
            "direction {} {} {}".format(*offset),
            f"length {np.linalg.norm(offset)}",
            "axis 0 0 0 XYZ",
            "end",
        ]
    for j, name in enumerate(NAMES):
        own = np.array([1.0, 0, 0, 0])
        if j:
            for letter, angle in zip("XYZ", np.radians(axes[name]), strict=True):
                own = multiply(from_axis_angle(np.eye(3)["XYZ".index(letter)], angle), own)
            aim = aims.get(name)
            offset = up_z_to_y(MODEL_SKELETON.offsets[NAMES.index(aim)]) / unit if aim else np.array([0.0, 0, 1])
            lines += [
                "begin",
                f"name {names[name]}",
                "direction {} {} {}".format(*offset / np.linalg.norm(offset)),
                f"length {np.linalg.norm(offset)}",
                "axis {} {} {} XYZ".format(*axes[name]),
                "dof rx ry rz",
                "end",
            ]
            below = [names[c] for c in NAMES if c != "Hips" and MODEL_SKELETON.parents[NAMES.index(c)] == j]
            if below:
                tree.append(" ".join([names[name], *below]))
        turned = multiply(
            multiply(np.broadcast_to(conjugate(own), local[:, j].shape), local[:, j]),
            np.broadcast_to(own, local[:, j].shape),
        )
        values[names[name]] = np.degrees(to_euler(turned, "ZYX"))[:, ::-1]
    values["root"] = np.concatenate((up_z_to_y(clip.root) / unit, values["root"]), axis=1)
    (folder / "a.asf").write_text("\n".join([*lines, ":hierarchy", "begin", *tree, "end"]) + "\n")
    frames = [
        f"{t + 1}\n" + "\n".join(f"{n} " + " ".join(f"{x:.6f}" for x in v[t]) for n, v in values.items())
        for t in range(len(clip))
    ]
    (folder / "a.amc").write_text(":FULLY-SPECIFIED\n:DEGREES\n" + "\n".join(frames) + "\n")


def test_asf_and_amc_give_the_same_clip_as_bvh(walk, tmp_path):
    write_acclaim(walk, tmp_path)
    clip = to_canonical(load_asf_amc(tmp_path / "a.asf", tmp_path / "a.amc", fps=60))
    np.testing.assert_allclose(clip.world()[0], walk.world()[0], atol=1e-4)
    np.testing.assert_allclose(clip.skeleton.offsets, MODEL_SKELETON.offsets, atol=1e-4)
    assert angles(clip, walk).max() < 0.5
