# SPDX-License-Identifier: GPL-3.0-or-later
"""Climbs on hands and knees are measured on sound shots, and told apart from steps by the legs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.evaluation.nsm_climbs import HIGHEST, Ascent, ascent, climb_figures, climb_shot, platforms
from nsm_blender.geometry.roles import Climbable
from nsm_blender.models.nsm import ACTIONS, FPS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.climb import BY_LEGS
from nsm_blender.tasks.validation import check

STANDING = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT])


def test_platforms_are_too_high_for_the_legs_solid_or_on_legs_and_shots_are_sound() -> None:
    pieces = platforms(8, development=True)
    heights = []
    for piece in pieces:
        assert isinstance(piece.handles, Climbable)
        heights.append(piece.handles.edge[2])
    assert min(heights) > BY_LEGS and max(heights) <= HIGHEST
    assert {len(piece.boxes.center) > 1 for piece in pieces} == {True, False}
    for number in range(3):
        shot = climb_shot(number, development=True)
        shot.validate()
        assert not check(shot, ["idle", "walk", "climb"])


def moved(shot: Shot, places: Array) -> Motion:
    """A motion with joints at places (T, J, 3) whose key is done at its end."""
    count = len(places)
    return Motion(
        names=MODEL_SKELETON.names,
        parents=MODEL_SKELETON.parents,
        positions=places.astype(np.float32),
        rotations=np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (*places.shape[:2], 1)),
        root=np.zeros((count, 4), dtype=np.float32),
        contacts=np.zeros((count, 4), dtype=np.float32),
        contact_names=CONTACT_JOINTS,
        phase=np.zeros(count, dtype=np.float32),
        actions=np.zeros((count, len(ACTIONS)), dtype=np.float32),
        action_names=ACTIONS,
        fps=FPS,
        meta={"keys": [{"trouble": "", "arrived": count - 1}]},
    )


def test_a_hand_and_a_knee_on_the_top_make_a_climb_on_hands_and_knees() -> None:
    shot = climb_shot(0, development=True)
    boxes = shot.colliders[0].cuboids
    top = np.array([*boxes.center[0, :2], (boxes.center + boxes.half)[:, 2].max()])
    up = np.tile(STANDING + top, (120, 1, 1))
    stood = ascent(shot, moved(shot, up), up)
    assert stood.done and not stood.on_hands_and_knees
    assert stood.raw_depth_cm < 1.0
    knelt, low = up.copy(), top + np.array([0.0, 0.0, 0.08])
    knelt[:60, MODEL_SKELETON.index("LeftHand")] = knelt[:60, MODEL_SKELETON.index("LeftLeg")] = low
    knelt[:60, MODEL_SKELETON.indices(["LeftToe", "RightToe"]), 2] -= 0.4
    found = ascent(shot, moved(shot, knelt), up - [0.0, 0.0, 0.1])
    assert found.on_hands_and_knees
    assert (found.leaning, found.kneeling, found.going_up) == pytest.approx((1.0, 1.0, 1.0))
    assert found.raw_depth_cm > 5.0


def test_the_figures_tell_shares_medians_and_the_deepest() -> None:
    one = Ascent(0.8, True, 4.0, 2.0, 5.0, 6.0, 0.5)
    figures = climb_figures([one, replace(one, leaning=0.0), replace(one, done=False, depth_cm=2.0)], lambda line: None)
    assert figures["nsm.climbs.done"] == pytest.approx(2 / 3) == figures["nsm.climbs.on_hands_and_knees"]
    assert figures["nsm.climbs.going_up_s.median"] == 5.0 and figures["nsm.climbs.depth_cm.max"] == 2.0
