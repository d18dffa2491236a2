# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies as capsules: how deep they are in things, and as obstacles of others."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.body import as_colliders, depth
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON

STANDING = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT])


def block(place: list[float], half: list[float], name: str = "block") -> Collider:
    return Collider(name, Cuboids(np.zeros((1, 3)), np.array([half])), np.array([[*place, 1.0, 0, 0, 0]]))


@pytest.mark.parametrize(("distance", "expected"), [(0.5, 0.0), (0.05, 0.06), (-0.2, 0.21)])
def test_depth_is_how_far_the_trunk_reaches_into_a_wall_before_it(distance: float, expected: float) -> None:
    wall = block([0, -distance - 1.0, 1.2], [0.1, 1.0, 0.1])
    found = depth(STANDING, 0.0, Surroundings([wall]), [], sits=False, handles=False)
    assert found == pytest.approx(expected, abs=0.035)


def test_what_is_used_may_be_pressed_a_little_by_the_parts_that_use_it() -> None:
    # Before the trunk, 3 cm in its capsule.
    around = Surroundings([block([0, -0.18, HIPS_HEIGHT + 0.15], [0.02, 0.1, 0.1])])
    assert depth(STANDING, 0.0, around, ["block"], sits=False, handles=False) == pytest.approx(0.03, abs=0.02)
    assert depth(STANDING, 0.0, around, ["block"], sits=True, handles=False) == 0
    assert depth(STANDING, 0.0, around, [], sits=True, handles=False) == pytest.approx(0.03, abs=0.02)


def test_a_body_that_sits_in_the_middle_of_a_seat_is_in_it() -> None:
    around = Surroundings([block([0, 0, HIPS_HEIGHT + 0.1], [0.3, 0.3, 0.3])])
    assert depth(STANDING, 0.0, around, ["block"], sits=True, handles=False) > 0.1


def test_nothing_near_is_no_depth() -> None:
    assert depth(STANDING, 0.0, Surroundings([block([9, 9, 0], [1, 1, 1])]), [], sits=False, handles=False) == 0


def test_a_body_is_an_obstacle_where_its_limbs_are_in_each_frame() -> None:
    steps = np.linspace(0, 2, 5)
    places = STANDING + steps[:, None, None] * np.array([1.0, 0.5, 0.0])
    parts = {part.name: part for part in as_colliders("Ann", places)}
    assert "Ann (Hips)" in parts and not any("Arm" in name for name in parts)
    around = Surroundings(list(parts.values()))
    for frame, joints in enumerate(places):
        for joint in ("Spine1", "LeftLeg", "RightFoot", "Head"):
            assert around.at(frame).distance(joints[MODEL_SKELETON.index(joint)][None])[0] < 0.02, joint
        beside = joints[MODEL_SKELETON.index("Hips")] + np.array([0.0, 0.4, 0.0])
        assert around.at(frame).distance(beside[None])[0] > 0.2
    assert len(as_colliders("Ann", places[:1].repeat(5, axis=0))[0].poses) == 1


def test_a_lying_or_sitting_character_is_a_lying_obstacle() -> None:
    lying = STANDING[:, [0, 2, 1]] * np.array([1.0, 1.0, 0.0]) + np.array([0.0, 0.0, 0.1])
    around = Surroundings(as_colliders("Ann", lying[None]))
    assert around.at(0).distance(np.array([[0.0, 1.0, 1.0]]))[0] > 0.5
    assert around.at(0).distance(lying[MODEL_SKELETON.index("Spine1")][None])[0] < 0.02
