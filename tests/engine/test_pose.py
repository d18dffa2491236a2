# SPDX-License-Identifier: GPL-3.0-or-later
"""The face turns to what it is turned to."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.motion.rotations import Array, rotate
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.rollout.pose import GAZE_LIMIT, look_at

HEAD = MODEL_SKELETON.index("Head")


@pytest.mark.parametrize("target", [(0.5, -0.6, 0.6), (-0.4, -0.5, 0.9), (0.0, -0.4, 1.0)])
def test_the_face_turns_to_a_target_in_front_and_no_farther_than_a_neck_turns(target: tuple[float, ...]) -> None:
    turned = np.zeros((2, len(MODEL_SKELETON), 4))
    turned[..., 0] = 1
    places = MODEL_SKELETON.positions(np.tile([0.0, 0.0, HIPS_HEIGHT], (2, 1)), turned)

    def off(at: Array, weight: float) -> float:
        out = look_at(places, turned, np.tile(at, (2, 1)), np.full(2, weight))
        face = rotate(out[0, HEAD], np.array([0.0, -1.0, 0.0]))
        way = at - places[0, HEAD]
        return float(np.arccos(np.clip(face @ way / np.linalg.norm(way), -1, 1)))

    assert off(np.array(target), 1.0) < np.radians(10)
    assert off(np.array(target), 0.0) > np.radians(20)
    behind = np.array([0.0, 2.0, 1.6])
    out = look_at(places, turned, np.tile(behind, (2, 1)), np.ones(2))
    face = rotate(out[0, HEAD], np.array([0.0, -1.0, 0.0]))
    assert np.arccos(-face[1]) < GAZE_LIMIT + 1e-6
