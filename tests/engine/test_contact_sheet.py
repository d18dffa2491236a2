# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact sheets: a director finds every eighth of a second, from two sides, with what stands around."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")
from PIL import Image

from nsm_blender.evaluation.contact_sheet import draw
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.shot.shot import Shot

FPS = 60
ROW = 2 * 170
"""Pixels of a row of moments, from both sides."""


def standing(seconds: float, lift: float = 0.0) -> Motion:
    """A character that stands, raised by some meters from the middle of the motion on."""
    count = round(seconds * FPS) + 1
    joints = len(MODEL_SKELETON.names)
    places = np.tile(MODEL_SKELETON.rest_positions() + np.array([0, 0, HIPS_HEIGHT]), (count, 1, 1)).astype(np.float32)
    places[count // 2 :, :, 2] += lift
    return Motion(
        names=MODEL_SKELETON.names,
        parents=MODEL_SKELETON.parents,
        positions=places,
        rotations=np.tile(np.array([1, 0, 0, 0], np.float32), (count, joints, 1)),
        root=np.zeros((count, 4), np.float32),
        contacts=np.zeros((count, 1), np.float32),
        contact_names=("LeftFoot",),
        phase=np.zeros(count, np.float32),
        actions=np.ones((count, 1), np.float32),
        action_names=("idle",),
        fps=FPS,
        meta={},
    )


def sheet(motion: Motion, shot: Shot | None, path: Path) -> Array:
    """The sheet's pixels (H, W, 3)."""
    draw(motion, shot, path)
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def test_two_seconds_make_two_rows_of_moments_from_two_sides(tmp_path: Path) -> None:
    assert len(sheet(standing(1.0), None, tmp_path / "one.png")) == ROW
    assert len(sheet(standing(2.0), None, tmp_path / "two.png")) == 2 * ROW


def test_a_character_that_leaves_the_ground_is_seen_to_leave_it(tmp_path: Path) -> None:
    still = sheet(standing(1.0), None, tmp_path / "still.png")
    lifted = sheet(standing(1.0, 0.2), None, tmp_path / "lifted.png")
    change = np.abs(still - lifted).sum(axis=(0, 2)).reshape(12, -1).sum(axis=1) > 0
    assert change.tolist()[:8] == [False] * 4 + [True] * 4


def test_what_stands_beside_the_character_is_drawn(tmp_path: Path) -> None:
    box = Cuboids(np.array([[0.0, 0.0, 0.2]]), np.array([[0.2, 0.2, 0.2]]))
    beside = Collider("Box", box, np.array([[0.6, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]), "", None)
    around = Shot("test", FPS, 61, colliders=[beside])
    empty = Shot("test", FPS, 61)
    assert (sheet(standing(1.0), around, tmp_path / "a.png") != sheet(standing(1.0), empty, tmp_path / "b.png")).any()
