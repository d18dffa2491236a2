# SPDX-License-Identifier: GPL-3.0-or-later
"""A body that is displaced: rigid bones, derivatives that are those of its places, and no change by itself."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.cleanup.kinematics import ENDS, HIPS, PELVIS, SIZE, SWIVELS, TRUNK, Body
from nsm_blender.motion.ik import ARMS, LEGS, solve_limb
from nsm_blender.motion.rotations import Array, from_axis_angle, multiply
from nsm_blender.motion.skeleton import HIPS_HEIGHT, MODEL_SKELETON

from .rollouts import bone_lengths

FRAMES = 12


def bent() -> tuple[Array, Array]:
    """Joints (T, J, 3) and world rotations (T, J, 4) of bodies that stand on bent knees, arms bent before them."""
    rng = np.random.default_rng(3)
    axis = rng.normal(size=(FRAMES, 3))
    turn = from_axis_angle(axis / np.linalg.norm(axis, axis=1, keepdims=True), rng.uniform(-0.4, 0.4, FRAMES))
    rotations = np.repeat(turn[:, None], len(MODEL_SKELETON), axis=1)
    hips = np.tile([0.0, 0.0, HIPS_HEIGHT], (FRAMES, 1)) + rng.normal(0, 0.05, (FRAMES, 3))
    places = MODEL_SKELETON.positions(hips, rotations)
    for limb, straight in (*((leg, 0.8) for leg in LEGS.values()), *((arm, 0.7) for arm in ARMS.values())):
        upper, middle, end = MODEL_SKELETON.indices([limb.upper, limb.middle, limb.end])
        length = np.linalg.norm(MODEL_SKELETON.offsets[[middle, end]], axis=1).sum()
        way = np.array([0.0, -0.2, -1.0]) if limb in LEGS.values() else np.array([0.0, -1.0, -0.3])
        way = way + rng.normal(0, 0.1, (FRAMES, 3))
        target = places[:, upper] + straight * length * way / np.linalg.norm(way, axis=1, keepdims=True)
        rotations[:, upper], rotations[:, middle], _ = solve_limb(
            limb, places[:, upper], target, rotations[:, upper], rotations[:, middle]
        )
    return MODEL_SKELETON.positions(hips, rotations), rotations


def displaced(scale: float) -> Array:
    """Displacements (T, SIZE) of all kinds."""
    out = np.random.default_rng(8).normal(0, scale, (FRAMES, SIZE))
    out[:, list(SWIVELS.values())] *= 4
    return out


@pytest.mark.parametrize(("scale", "off"), [(0.0, 1e-3), (0.02, 0.05)])
def test_the_derivatives_of_joints_are_their_central_differences(scale: float, off: float) -> None:
    body, x, step = Body(*bent()), displaced(scale), 1e-5
    # Of a rotation that is not small, the derivative is that of the rotation which comes on top.
    x[:, PELVIS], x[:, TRUNK] = 0.0, 0.0
    now = body.at(x, np.arange(FRAMES)).moves
    for column in range(SIZE):
        aside = step * np.eye(SIZE)[column]
        more, less = (body.at(y, np.arange(FRAMES), False).places for y in (x + aside, x - aside))
        wrong = np.abs(now[..., column] - (more - less) / (2 * step))
        assert wrong.max() < off, column


def test_no_displacement_gives_back_the_body() -> None:
    places, rotations = bent()
    body = Body(places, rotations)
    again, turned = body.posed(np.zeros((FRAMES, SIZE)))
    np.testing.assert_allclose(again, places, atol=1e-9)
    np.testing.assert_allclose(np.abs(np.einsum("tji,tji->tj", turned, rotations)), 1, atol=1e-9)
    frames = np.array([3, 7])
    np.testing.assert_allclose(body.at(np.zeros((2, SIZE)), frames).places, places[frames], atol=1e-9)


@pytest.mark.parametrize("scale", [0.02, 0.1, 0.5])
def test_a_displaced_body_has_rigid_bones_and_is_what_the_solver_saw(scale: float) -> None:
    body, x = Body(*bent()), displaced(scale)
    places, _ = body.posed(x)
    np.testing.assert_allclose(bone_lengths(places), np.tile(bone_lengths(bent()[0][:1]), (FRAMES, 1)), atol=1e-6)
    if scale < 0.1:
        seen = body.at(x, np.arange(FRAMES), derive=False).places
        limbs = [MODEL_SKELETON.index(joint) for limb in (*LEGS.values(), *ARMS.values())
                 for joint in (limb.upper, limb.middle, limb.end)]  # fmt: skip
        np.testing.assert_allclose(places[:, limbs], seen[:, limbs], atol=0.01)


def test_each_displacement_moves_what_it_names_and_leaves_what_it_should() -> None:
    places, rotations = bent()
    body = Body(places, rotations)
    ankles, wrists = (MODEL_SKELETON.indices([side + end for side in LEGS]) for end in ("Foot", "Hand"))

    def moved(columns: slice | int, value: Array | float) -> Array:
        x = np.zeros((FRAMES, SIZE))
        x[:, columns] = value
        return np.asarray(body.posed(x)[0] - places)

    hips = moved(HIPS, np.array([0.02, 0.01, -0.03]))
    np.testing.assert_allclose(hips[:, [0, *wrists]], np.broadcast_to([0.02, 0.01, -0.03], (FRAMES, 3, 3)), atol=1e-6)
    np.testing.assert_allclose(hips[:, ankles], 0, atol=1e-6)
    lean = moved(TRUNK, np.array([0.1, 0.0, 0.0]))
    np.testing.assert_allclose(lean[:, [0, *ankles]], 0, atol=1e-6)
    assert np.abs(lean[:, wrists]).max() > 0.02
    for end, columns in ENDS.items():
        there = moved(columns, np.array([0.0, 0.03, 0.02]))
        joint = MODEL_SKELETON.index(end)
        np.testing.assert_allclose(there[:, joint], np.broadcast_to([0.0, 0.03, 0.02], (FRAMES, 3)), atol=1e-6)
        others = [other for other in (*ankles, *wrists) if other != joint]
        np.testing.assert_allclose(there[:, [0, *others]], 0, atol=1e-6)
        swivel = moved(SWIVELS[end], 0.3)
        np.testing.assert_allclose(swivel[:, [0, *ankles, *wrists]], 0, atol=1e-6)
        middle = MODEL_SKELETON.parents[joint]
        assert np.linalg.norm(swivel[:, middle], axis=1).min() > 0.01


def test_a_limb_that_is_told_beyond_its_reach_stretches_that_far_and_no_farther() -> None:
    body = Body(*bent())
    x = np.zeros((FRAMES, SIZE))
    x[:, ENDS["LeftHand"]] = [0.0, -5.0, 0.0]
    places, _ = body.posed(x)
    np.testing.assert_allclose(bone_lengths(places), np.tile(bone_lengths(bent()[0][:1]), (FRAMES, 1)), atol=1e-6)


def test_the_pelvis_turns_the_trunk_and_arms_as_one() -> None:
    places, rotations = bent()
    x = np.zeros((FRAMES, SIZE))
    x[:, PELVIS] = [0.0, 0.0, 0.2]
    after, turned = Body(places, rotations).posed(x)
    chest = MODEL_SKELETON.index("Spine2")
    yaw = from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(0.2))
    wanted = multiply(np.broadcast_to(yaw, (FRAMES, 4)), rotations[:, chest])
    np.testing.assert_allclose(np.abs(np.einsum("ti,ti->t", turned[:, chest], wanted)), 1, atol=1e-9)
    np.testing.assert_allclose(after[:, MODEL_SKELETON.index("Hips")], places[:, MODEL_SKELETON.index("Hips")])
