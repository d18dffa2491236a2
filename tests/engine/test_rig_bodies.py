# SPDX-License-Identifier: GPL-3.0-or-later
"""Retargeting by a rig's mesh: soles on the floor, hips on the seat, hands out of the body."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.evaluation import rig_bodies
from nsm_blender.evaluation.rig_bodies import figures, made_motion, measured, retargeter
from nsm_blender.evaluation.rig_skins import body
from nsm_blender.motion.rotations import conjugate, multiply
from nsm_blender.motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from nsm_blender.rigging.mapping import propose
from nsm_blender.rigging.retarget import Retargeter
from nsm_blender.rigging.skin import Skin

from . import rigs


@pytest.fixture(scope="module")
def walk():
    return rig_bodies.walking()


@pytest.fixture(scope="module")
def sit():
    """Sitting at rest, on a seat under the motion's own hips: how deep it sits is no matter of retargeting."""
    scene = rig_bodies.sitting()
    scene = replace(scene, seated=scene.seated + round(2 * scene.motion.fps))
    joints = scene.motion.positions[scene.seated :, MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"]), 2]
    return replace(scene, seat=float(joints.mean()) - SEAT_BELOW_HIP_JOINTS)


@pytest.mark.parametrize("name", ["broad hips", "big feet", "no toes", "toy"])
def test_walking_soles_and_hands(walk, name):
    found = measured(body(name), walk)
    assert found["hands_cm"] < 1.0
    assert found["sink_cm"] < 1.0
    assert found["float_cm"] < 1.0


@pytest.mark.parametrize("name", ["big belly", "child"])
def test_sitters_are_on_their_seats_and_not_in_them(sit, name):
    found = measured(body(name), sit)
    assert found["seat_cm"] < 1.5
    assert found["hands_cm"] < 1.0


def test_without_its_mesh_a_body_of_other_width_and_feet_fails_what_it_passes_with_it(walk):
    assert measured(body("broad hips"), walk, fleshless=True)["hands_cm"] > 3.0
    assert measured(body("big feet"), walk, fleshless=True)["sink_cm"] > 10.0


def test_a_mesh_of_few_vertices_serves_as_well(walk):
    made = body("big feet")
    some = np.arange(0, len(made.skin.vertices), 3)
    coarse = Skin(made.skin.vertices[some], made.skin.bones, made.skin.owners[some], made.skin.weights[some])
    found = figures(made, made_motion(made, walk, coarse), walk, retargeter(made).scale)
    assert found["sink_cm"] < 2.0
    assert found["hands_cm"] < 1.5


def test_hands_give_way_smoothly(walk):
    """An arm that is turned aside keeps the smoothness that it had: no frame jerks."""
    made = body("broad hips")
    hand = made.rig.truth["RightHand"]

    def largest(rig):
        place = rig.places[:, rig.bones.index(hand)]
        return np.linalg.norm(np.diff(place, n=2, axis=0), axis=1).max() * rig.fps**2

    assert largest(made_motion(made, walk, made.skin)) < 1.5 * largest(made_motion(made, walk, None)) + 5.0


def test_what_was_retargeted_by_a_mesh_comes_back(walk):
    made = body("big feet")
    target = retargeter(made, made.skin)
    once = target.to_rig(walk.motion)
    back = target.from_rig(once.hips, once.rotations, walk.motion.fps)
    again = target.to_rig(back)
    assert 100 * np.linalg.norm(again.places - once.places, axis=-1).max() < 0.5
    turn = multiply(again.rotations, conjugate(once.rotations))
    assert np.degrees(2 * np.arcsin(np.linalg.norm(turn[..., 1:], axis=-1).clip(0, 1))).max() < 0.5


def test_a_skin_that_hangs_on_no_keyed_bone_changes_nothing(walk):
    made = body("slim")
    vertices = np.zeros((20, 3))
    stray = Skin(vertices, ("Root prop",), np.zeros((20, 1), int), np.ones((20, 1)))
    plain, other = (made_motion(made, walk, skin) for skin in (None, stray))
    assert np.array_equal(plain.rotations, other.rotations)
    assert np.array_equal(plain.places, other.places)


def test_the_mesh_of_a_control_rig_hangs_on_the_bones_that_its_controls_move(walk):
    """Rigify's mesh hangs on bones of its own, and its legs on another bone than its hips."""
    rig = rigs.rig("Rigify generated")
    target = Retargeter(rig.info, propose(rig.info))
    deforming = [bone for bone in rig.info.bones if bone.name.startswith("DEF-")]
    rng = np.random.default_rng(7)
    shares, aside = rng.uniform(size=(len(deforming), 40, 1)), rng.uniform(-0.04, 0.04, size=(len(deforming), 40, 3))
    vertices = np.concatenate([b.head + s * (b.tail - b.head) + a
                               for b, s, a in zip(deforming, shares, aside, strict=True)])  # fmt: skip
    owners = np.repeat(np.arange(len(deforming)), 40)[:, None]
    skin = Skin(vertices, tuple(bone.name for bone in deforming), owners, np.ones(owners.shape))
    fleshed = Retargeter(rig.info, propose(rig.info), skin).to_rig(walk.motion)
    plain = target.to_rig(walk.motion)
    assert np.isfinite(fleshed.places).all()
    # The cloud of points is about as thick as the model's feet.
    assert 100 * np.linalg.norm(fleshed.places - plain.places, axis=-1).max() < 12.0
    lowest = np.concatenate([vertices[owners[:, 0] == i] for i, bone in enumerate(deforming) if "foot" in bone.name])
    foot = fleshed.bones.index("foot_fk.L")
    depth = rig.info.heads[rig.info.numbers["foot_fk.L"], 2] - lowest[:, 2].min()
    assert fleshed.places[:60, foot, 2] == pytest.approx(depth, abs=0.03)


def test_a_cape_and_a_skirt_are_no_feet_and_no_hips(walk):
    """Cloth that hangs on the hips down to the floor neither lifts the figure nor spreads its arms wide."""
    made = body("slim")
    hips = made.skin.bones.index(made.rig.truth["Hips"])
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    hem = np.stack((0.5 * np.cos(angle), 0.5 * np.sin(angle), np.full(24, 0.02)), axis=1) / made.rig.info.size
    count, width = len(hem), made.skin.owners.shape[1]
    weights = np.zeros((count, width))
    weights[:, 0] = 1.0
    dressed = Skin(np.concatenate((made.skin.vertices, hem)), made.skin.bones,
                   np.concatenate((made.skin.owners, np.full((count, width), hips))),
                   np.concatenate((made.skin.weights, weights)))  # fmt: skip
    plain, other = (made_motion(made, walk, skin) for skin in (made.skin, dressed))
    assert 100 * np.linalg.norm(plain.places - other.places, axis=-1).max() < 1.0


def test_the_measure_of_the_mesh_tells_what_is_wrong(walk):
    made = body("big feet")
    told = retargeter(made, made.skin)
    at = np.arange(0, len(walk.motion), 10)
    worst = {}
    for name, skin in (("bones", None), ("mesh", made.skin)):
        rig = made_motion(made, walk, skin)
        found = told.body_measure(walk.motion, at, rig.places[at], rig.rotations[at])
        worst[name] = -100 * np.nanmin(found.soles)
    assert worst["bones"] > 5.0
    assert worst["mesh"] < 1.0
