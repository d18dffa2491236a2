# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations from joint places: bones point where the places are, and nothing flips."""

import numpy as np
import pytest

from nsm_blender.manifold.rotations_from_positions import rotations_of
from nsm_blender.motion.rotations import from_exponential_map, from_yaw, multiply
from nsm_blender.motion.skeleton import MODEL_SKELETON

from .synthetic import perform

INDEX = MODEL_SKELETON.index


def degrees_between(a, b):
    return 2 * np.degrees(np.arccos(np.clip(np.abs((a * b).sum(-1)), 0, 1)))


@pytest.fixture(scope="module")
def walk():
    """World places and rotations of a walk in a curve, with swinging and bending arms and a turning chest."""
    clip = perform(1.4, 4.0, turn=0.4).clip
    local = clip.rotations.astype(float).copy()
    swing = np.sin(np.arange(len(clip)) / 9)[:, None]
    rng = np.random.default_rng(3)
    for name in ("Spine", "Spine1", "Spine2", "Neck", "Head", "LeftArm", "RightArm", "LeftHand"):
        sway = from_exponential_map(swing * rng.normal(0, 0.15, 3) + rng.normal(0, 0.1, 3))
        local[:, INDEX(name)] = multiply(local[:, INDEX(name)], sway)
    for name, sign in (("LeftForeArm", -1), ("RightForeArm", 1)):  # a bent forearm comes forward
        bend = np.concatenate((0 * swing, 0 * swing, sign * (0.7 + 0.5 * swing)), axis=1)
        local[:, INDEX(name)] = from_exponential_map(bend)
    return MODEL_SKELETON.forward(clip.root.astype(float), local)


def test_places_come_back_without_a_reference(walk):
    places, _ = walk
    again = MODEL_SKELETON.positions(places[:, 0], rotations_of(places))
    assert np.linalg.norm(again - places, axis=-1).max() < 1e-3


def test_places_and_rotations_come_back_with_the_reference(walk):
    places, rotations = walk
    found = rotations_of(places, rotations)
    assert np.linalg.norm(MODEL_SKELETON.positions(places[:, 0], found) - places, axis=-1).max() < 1e-3
    assert degrees_between(found, rotations).max() < 0.1


def test_knees_elbows_and_feet_tell_the_twist_without_a_reference(walk):
    places, rotations = walk
    found = rotations_of(places)
    for name in ("Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightFoot", "Spine2"):
        assert degrees_between(found, rotations)[:, INDEX(name)].max() < 12, name
    for name in ("LeftArm", "LeftForeArm", "RightForeArm"):
        assert degrees_between(found, rotations)[:, INDEX(name)].max() < 25, name


def test_the_reference_may_face_and_stand_elsewhere(walk):
    places, rotations = walk
    turned = multiply(np.broadcast_to(from_yaw(np.array(2.0)), rotations.shape), rotations)
    assert degrees_between(rotations_of(places, turned), rotations).max() < 0.1


def test_head_and_hands_keep_the_reference_when_the_body_bends(walk):
    places, rotations = walk
    local = MODEL_SKELETON.local_rotations(rotations)
    bent = local.copy()
    bent[:, INDEX("Spine1")] = multiply(bent[:, INDEX("Spine1")], from_exponential_map(np.array([0.5, 0.1, 0.1])))
    bent_places, _ = MODEL_SKELETON.forward(places[:, 0], bent)
    found = MODEL_SKELETON.local_rotations(rotations_of(bent_places, rotations))
    for name in ("Head", "LeftHand", "RightHand", "LeftToe"):
        assert degrees_between(found, local)[:, INDEX(name)].max() < 0.1, name


@pytest.mark.parametrize("with_reference", [False, True])
def test_bones_of_wrong_length_become_rigid_and_nothing_flips(walk, with_reference):
    places, rotations = walk
    time = np.arange(len(places))[:, None, None]
    wobble = 0.015 * np.sin(time / 7 + np.arange(22)[:, None] * 1.7 + np.arange(3) * 2.1)
    found = rotations_of(places + wobble, rotations if with_reference else None)
    steps = degrees_between(found[1:], found[:-1])
    assert steps.max() < degrees_between(rotations[1:], rotations[:-1]).max() + 10
    assert ((found[1:] * found[:-1]).sum(-1) > 0).all()
    again = MODEL_SKELETON.positions(places[:, 0], found)
    lengths = np.linalg.norm(again[:, 1:] - again[:, list(MODEL_SKELETON.parents[1:])], axis=-1)
    np.testing.assert_allclose(
        lengths, np.broadcast_to(np.linalg.norm(MODEL_SKELETON.offsets[1:], axis=-1), lengths.shape), atol=1e-6
    )


def test_straight_limbs_do_not_spin():
    """A T-pose has no bending planes; a tenth of a millimeter of noise must not turn limbs about themselves."""
    places = np.repeat(MODEL_SKELETON.rest_positions()[None], 30, axis=0)
    noisy = places + np.random.default_rng(0).normal(0, 1e-4, places.shape)
    found = rotations_of(noisy)
    identity = np.broadcast_to(np.array([1.0, 0, 0, 0]), found.shape)
    assert degrees_between(found, identity).max() < 1.0
