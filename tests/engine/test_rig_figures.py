# SPDX-License-Identifier: GPL-3.0-or-later
"""What `nsm-blender evaluate rigs` counts: faults that are put in have to show in the figure that is for them."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.cli import main
from nsm_blender.evaluation import rig_figures, rig_imports
from nsm_blender.evaluation.rig_figures import Sizes
from nsm_blender.evaluation.rigs import RECIPES, build
from nsm_blender.motion.canonical import to_canonical
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.recorded import recorded
from nsm_blender.motion.retarget import to_model_skeleton
from nsm_blender.motion.rotations import from_yaw, multiply
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON

from .synthetic import perform, ramp

FRAMES = 20
HANDS = ("LeftHand", "RightHand")
SAME = Sizes(scale=1.0, lift=0.0, wider=0.0, arm=0.6)


@pytest.fixture
def motion() -> Motion:
    """Standing in the T-pose, feet on the ground, hands holding something in the second half."""
    rotations = np.zeros((FRAMES, 22, 4), np.float32)
    rotations[..., 0] = 1.0
    rest = MODEL_SKELETON.rest_positions()
    rest[:, 2] += ANKLE_HEIGHT - rest[MODEL_SKELETON.index("LeftFoot"), 2]
    contacts = np.ones((FRAMES, 6), np.float32)
    contacts[: FRAMES // 2, 4:] = 0.0
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        np.repeat(rest[None], FRAMES, axis=0).astype(np.float32),
        rotations,
        np.zeros((FRAMES, 4), np.float32),
        contacts,
        (*CONTACT_JOINTS, *HANDS),
        np.zeros(FRAMES, np.float32),
        np.zeros((FRAMES, 0), np.float32),
        (),
        60.0,
    )


@pytest.fixture
def seen(motion) -> dict[str, np.ndarray]:
    """A rig that shows just that."""
    return {joint: motion.positions[:, i].astype(float) for i, joint in enumerate(motion.names)}


def test_a_rig_that_shows_the_motion_exactly_has_no_fault(seen, motion):
    figures = rig_figures.limbs(seen, motion) | rig_figures.feet(seen, motion, SAME)
    figures |= rig_figures.hands(seen, motion, SAME) | rig_figures.round_trip(motion, motion)
    assert figures.pop("hands_reached") == 1.0
    assert max(figures.values()) < 1e-4


def test_a_limb_that_points_elsewhere_is_seen(seen, motion):
    arm = seen["LeftHand"] - seen["LeftForeArm"]
    turned = np.array([[np.cos(0.1), -np.sin(0.1), 0], [np.sin(0.1), np.cos(0.1), 0], [0, 0, 1]])
    seen["LeftHand"] = seen["LeftForeArm"] + arm @ turned.T
    figures = rig_figures.limbs(seen, motion)
    assert figures["limb_deg_max"] == figures["arm_deg_max"] == pytest.approx(np.degrees(0.1), abs=1e-3)
    assert figures["limb_deg_mean"] == pytest.approx(np.degrees(0.1) / len(rig_figures.LIMBS), abs=1e-3)
    assert figures["leg_deg_max"] < 1e-3


def test_a_foot_beside_its_place_is_seen_but_for_what_wider_hips_ask(seen, motion):
    seen["RightFoot"] = seen["RightFoot"] + [0.03, 0.0, 0.0]
    assert rig_figures.feet(seen, motion, SAME)["feet_cm_max"] == pytest.approx(3.0, abs=1e-3)
    wider = Sizes(scale=1.0, lift=0.0, wider=0.02, arm=0.6)
    figures = rig_figures.feet(seen, motion, wider)
    assert figures["feet_cm_max"] == pytest.approx(1.0, abs=1e-3)
    assert figures["feet_cm_plain"] == pytest.approx(3.0, abs=1e-3)


def test_a_foot_in_the_air_does_not_count(seen, motion):
    motion.contacts[:, :4] = 0.0
    motion.contacts[:2, :4] = 1.0
    seen["RightFoot"][5:] += 1.0
    assert rig_figures.feet(seen, motion, SAME)["feet_cm_max"] < 1e-3


def test_a_sliding_foot_is_seen_above_the_engines_own(seen, motion):
    for joint in CONTACT_JOINTS:
        seen[joint] = seen[joint] + np.arange(FRAMES)[:, None] * [0.0005, 0.0, 0.0]
    assert rig_figures.feet(seen, motion, SAME)["slide_added_cm_per_s"] == pytest.approx(3.0, abs=1e-3)


def test_hands_count_where_they_hold_what_they_reach(seen, motion):
    seen["LeftHand"] = seen["LeftHand"] - [0.04, 0.0, 0.0]
    figures = rig_figures.hands(seen, motion, SAME)
    assert figures["hands_cm_max"] == pytest.approx(4.0, abs=1e-3)
    assert figures["hands_free_cm"] == pytest.approx(2.0, abs=1e-3)
    short = Sizes(scale=1.0, lift=0.0, wider=0.0, arm=0.5)
    assert rig_figures.hands(seen, motion, short)["hands_reached"] == 0.0


def test_what_a_round_trip_loses_is_seen(motion):
    turned = multiply(from_yaw(np.full((FRAMES, 22), np.radians(2.0))), motion.rotations.astype(float))
    read = Motion(**{**vars(motion), "rotations": turned, "positions": motion.positions + np.float32(0.01)})
    figures = rig_figures.round_trip(read, motion)
    assert figures["round_trip_deg_max"] == pytest.approx(2.0, abs=1e-3)
    assert figures["round_trip_cm_max"] == pytest.approx(np.sqrt(3.0), abs=1e-3)


def test_sizes_are_those_of_the_rest_pose():
    for name, scale in (("the model", 1.0), ("VRM", 0.9), ("giant at 0.01", 3.0), ("child", 0.6)):
        rig = build(name, RECIPES[name])
        world = rig.info.world
        heads = rig.info.heads @ world[:3, :3].T + world[:3, 3]
        sizes = Sizes.of({joint: heads[rig.info.numbers[bone]] for joint, bone in rig.truth.items()})
        assert sizes.scale == pytest.approx(scale)
        assert sizes.wider == pytest.approx(0.4 * 0.09414 if name == "child" else 0.0, abs=1e-6)


def test_without_names_fewer_joints_have_to_be_right():
    truth = {"Hips": "a", "Spine1": "b", "LeftArm": "c"}
    found = {"Hips": "a", "Spine1": "x", "LeftArm": "y"}
    assert rig_figures.wrong(found, truth, named=True) == ["Spine1", "LeftArm"]
    assert rig_figures.wrong(found, truth, named=False) == ["LeftArm"]


def test_a_rig_that_is_not_there_is_refused_with_those_that_are(capsys):
    assert main(["evaluate", "rigs", "--rig", "octopus"]) != 0
    assert "Rigify metarig" in capsys.readouterr().err


@pytest.fixture(scope="module")
def walked() -> Motion:
    """Seven seconds of standing and walking."""
    clip = perform(ramp(7.0, (0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (7.0, 1.0)), 7.0).clip
    return recorded(clip.root, clip.world()[1], clip.fps, "walk")


@pytest.mark.parametrize("name", rig_imports.DIALECTS)
@pytest.mark.parametrize("clip", ["walk", "flip on a box"])
def test_a_motion_written_in_any_convention_comes_back_within_the_bars(walked, clip, name):
    wanted = rig_imports.clips(walked)[clip]
    file = rig_imports.written(rig_imports.scaled(wanted, 1.2), rig_imports.DIALECTS[name])
    made = to_model_skeleton(to_canonical(file))
    for figure, value in rig_imports.compared(made, wanted).items():
        assert value < rig_figures.BARS[figure], figure


def test_hips_and_limbs_that_are_elsewhere_are_seen_in_imports(walked):
    wanted = rig_imports.clips(walked)["walk"]
    lower = replace(wanted, root=wanted.root - [0.0, 0.0, 0.1])
    turned = wanted.rotations.copy()
    turned[:, MODEL_SKELETON.index("Spine2")] = from_yaw(np.array(0.2))
    assert rig_imports.compared(lower, wanted)["imported_hips_cm_max"] == pytest.approx(10.0, abs=0.01)
    figures = rig_imports.compared(replace(wanted, rotations=turned), wanted)
    assert figures["imported_trunk_deg_max"] > 5.0
    assert figures["imported_limb_deg_max"] > 3.0


def test_a_sole_that_dips_into_the_floor_is_seen(motion):
    rest = dict(zip(MODEL_SKELETON.names, motion.positions[0].astype(float), strict=True))
    points = rig_figures.sole_points(rest)
    flat = {joint: np.zeros((FRAMES, len(own))) for joint, own in points.items()}
    assert rig_figures.soles(flat, motion, 1.0)["soles_cm_max"] < 1e-3
    flat["LeftFoot"][3, 0] = -0.03
    assert rig_figures.soles(flat, motion, 1.0)["soles_cm_max"] == pytest.approx(3.0, abs=1e-3)
