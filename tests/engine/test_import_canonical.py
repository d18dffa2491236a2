# SPDX-License-Identifier: GPL-3.0-or-later
"""One known motion, written as BVH in the dialects of many programs, is the same clip after import."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import RigError
from nsm_blender.motion.bvh import load_bvh
from nsm_blender.motion.canonical import floor_height, to_canonical
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.feet import level_feet, level_floor, lowest_foot
from nsm_blender.motion.rotations import (
    from_axis_angle,
    from_yaw,
    make_continuous,
    multiply,
    normalize,
    rotate,
)
from nsm_blender.motion.skeleton import MODEL_SKELETON, Skeleton

from .dialects import (
    BANDAI,
    CMU,
    DIALECTS,
    NAMES,
    SIDES,
    Z,
    along_x,
    angles,
    imported,
    quarter_turns,
    walking,
    write_bvh,
)


@pytest.fixture(scope="module")
def walk():
    return walking()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_gives_the_same_clip(dialect, walk, tmp_path):
    clip = imported(walk, tmp_path, **DIALECTS[dialect])
    np.testing.assert_allclose(clip.world()[0], walk.world()[0], atol=1e-4)
    np.testing.assert_allclose(clip.skeleton.offsets, MODEL_SKELETON.offsets, atol=1e-4)
    assert angles(clip, walk).max() < 0.5
    assert clip.fps == 60


def test_bones_folded_along_one_axis_are_understood_from_the_motion(walk, tmp_path):
    clip = imported(walk, tmp_path, rest=along_x(), order="ZYX")
    np.testing.assert_allclose(clip.world()[0], walk.world()[0], atol=1e-4)
    assert angles(clip, walk).max() < 5
    assert "standing frames" in clip.meta["import"]["notes"][0]


def test_axes_of_the_chest_that_lie_a_quarter_turn_from_the_hips_do_not_turn_the_chest(walk, tmp_path):
    clip = imported(walk, tmp_path, names=BANDAI, rest=quarter_turns(), order="ZYX")
    np.testing.assert_allclose(clip.world()[0], walk.world()[0], atol=1e-4)
    away = angles(clip, walk)
    assert away.max() < 5
    assert away[:, MODEL_SKELETON.indices(["Hips", "Spine", "Spine1", "Spine2", "Neck", "Head"])].max() < 0.5


def test_up_and_scale_can_be_given(walk, tmp_path):
    write_bvh(walk, tmp_path / "a.bvh")
    clip = to_canonical(load_bvh(tmp_path / "a.bvh"), up="y", scale=0.02)
    np.testing.assert_allclose(clip.skeleton.offsets, 2 * MODEL_SKELETON.offsets, atol=1e-4)
    lying = to_canonical(load_bvh(tmp_path / "a.bvh"), up="z")
    np.testing.assert_allclose(
        lying.world()[0][:, 13, 1] - lying.world()[0][:, 0, 1],
        walk.world()[0][:, 13, 2] - walk.world()[0][:, 0, 2],
        atol=1e-4,
    )


def test_a_leg_of_no_known_unit_asks_for_the_scale(walk, tmp_path):
    with pytest.raises(RigError, match=r"a\.bvh: a leg is 5 units long.*--scale"):
        imported(walk, tmp_path, unit=0.83774 / 5)


@pytest.mark.parametrize(
    "without",
    [
        ("LeftToe", "RightToe"),
        ("LeftHand", "RightHand"),
        ("LeftShoulder", "RightShoulder"),
        ("Head",),
        ("Neck", "Head"),
    ],
)
def test_joints_that_are_missing_are_filled_in_and_the_others_stay(without, walk, tmp_path):
    if "LeftShoulder" in without:  # arms directly on the chest, as some old skeletons have them
        names = {"LeftShoulder": "helper one", "RightShoulder": "helper two"}
        clip = imported(walk, tmp_path, names=names)
    else:
        clip = imported(walk, tmp_path, without=without)
    here, there = clip.world()[0], walk.world()[0]
    kept = [i for i, n in enumerate(NAMES) if n not in without]
    np.testing.assert_allclose(here[:, kept] - here[:, :1], there[:, kept] - there[:, :1], atol=1e-4)
    np.testing.assert_allclose(here[:, 0], there[:, 0], atol=0.02)
    assert ", ".join(n for n in NAMES if n in without) in clip.meta["import"]["notes"][-1]
    lengths = np.linalg.norm(clip.skeleton.offsets, axis=1)
    assert lengths.max() < 0.6
    assert all(lengths[NAMES.index(n)] > 0.05 for n in without)


@pytest.mark.parametrize("above", ["Head", "Spine2", "LeftForeArm"])
def test_one_joint_more_in_a_chain_is_merged(above, walk, tmp_path):
    clip = imported(walk, tmp_path, extra=("Extra", above))
    here, there = clip.world()[0], walk.world()[0]
    np.testing.assert_allclose(here[:, NAMES.index("LeftFoot")], there[:, NAMES.index("LeftFoot")], atol=1e-4)
    # The extra joint bends the bone: directions are the source's, its length a mean.
    assert np.linalg.norm(here[:, NAMES.index(above)] - there[:, NAMES.index(above)], axis=-1).max() < 0.03


@pytest.mark.parametrize(
    ("rename", "missing"),
    [
        ({"LeftLeg": "thing"}, "LeftLeg"),
        ({"RightUpLeg": "thing"}, "RightUpLeg"),
        ({"LeftArm": "thing", "LeftShoulder": "other"}, "LeftArm"),
        ({"RightForeArm": "thing"}, "RightForeArm"),
        ({"LeftFoot": "thing", "LeftToe": "other"}, "LeftFoot"),
    ],
)
def test_a_skeleton_without_legs_or_arms_is_refused_by_name(rename, missing, walk, tmp_path):
    with pytest.raises(RigError) as error:
        imported(walk, tmp_path, names=rename)
    assert "a.bvh" in str(error.value) and missing in str(error.value)


def test_the_lower_foot_stands_on_the_floor(walk, tmp_path):
    raised = Clip(walk.skeleton, walk.root + 0.37 * Z, walk.rotations, walk.fps)
    clip = imported(raised, tmp_path)
    assert abs(floor_height(clip.world()[0], clip.fps)) < 1e-5
    np.testing.assert_allclose(clip.root[:, 2], walk.root[:, 2], atol=1e-3)


def test_feet_that_stand_on_their_edges_are_set_level(walk):
    _, world = walk.world()
    tilted = world.copy()
    for side, sign in SIDES:
        foot, toe = MODEL_SKELETON.indices((side + "Foot", side + "Toe"))
        roll = from_axis_angle(normalize(MODEL_SKELETON.offsets[toe]), np.asarray(sign * np.radians(22)))
        for joint in (foot, toe):
            tilted[:, joint] = multiply(world[:, joint], np.broadcast_to(roll, world[:, joint].shape))
    clip = Clip(MODEL_SKELETON, walk.root, make_continuous(MODEL_SKELETON.local_rotations(tilted)), 60.0)
    leveled = level_feet(clip)
    assert angles(leveled, walk).max() < 1.0
    np.testing.assert_allclose(leveled.world()[0], walk.world()[0], atol=1e-9)


def test_a_tilted_and_raised_floor_is_set_level(walk):
    tilt = from_axis_angle(normalize(np.array([0.4, 1.0, 0.0])), np.asarray(-0.05))
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(np.broadcast_to(tilt, (len(walk), 4)), rotations[:, 0])
    root = rotate(np.broadcast_to(tilt, (len(walk), 4)), walk.root) + 0.03 * Z
    tilted = Clip(walk.skeleton, root, make_continuous(rotations), walk.fps)
    assert np.percentile(np.abs(lowest_foot(tilted.world()[0])), 95) > 0.025
    leveled = level_floor(tilted)
    assert np.percentile(np.abs(lowest_foot(leveled.world()[0]) - lowest_foot(walk.world()[0])), 95) < 0.006


def test_stairs_are_not_taken_for_a_tilted_floor(walk):
    climbing = walk.root + np.outer(0.25 * (np.arange(len(walk)) // 30), Z)
    clip = Clip(walk.skeleton, climbing, walk.rotations, walk.fps)
    np.testing.assert_allclose(
        level_floor(clip).root[-1, 2] - level_floor(clip).root[0, 2], climbing[-1, 2] - climbing[0, 2], atol=0.02
    )


def test_a_file_whose_bones_change_their_lengths_is_refused(walk, tmp_path):
    write_bvh(walk, tmp_path / "a.bvh")
    motion = load_bvh(tmp_path / "a.bvh")
    knee = motion.names.index("LeftLeg")
    bone = np.tile(motion.offsets[knee], (len(motion), 1))
    bone[len(bone) // 2 :] *= 1.3
    with pytest.raises(RigError, match="cm beside where the file has it"):
        to_canonical(replace(motion, translations={**motion.translations, knee: bone}))


def test_a_chest_that_is_turned_throughout_stays_turned_and_is_not_taken_for_the_rest_pose(walk, tmp_path):
    turned = {
        name: from_yaw(np.radians(40))
        for name in NAMES
        if name.endswith(("Spine2", "Neck", "Head", "Shoulder", "Arm", "Hand"))
    }
    clip = replace(walk, rotations=MODEL_SKELETON.local_rotations(_with_world(walk, turned)))
    made = imported(clip, tmp_path, rest=along_x(), order="ZYX")
    trunk = MODEL_SKELETON.indices(["Hips", "Spine", "Spine1", "Spine2", "Neck", "Head"])
    assert angles(made, clip)[:, trunk].max() < 1


def _with_world(clip, turns):
    """World rotations (T, J, 4) of a clip whose joints are turned further about the vertical."""
    world = clip.world()[1].copy()
    for name, turn in turns.items():
        world[:, NAMES.index(name)] = multiply(np.broadcast_to(turn, (len(clip), 4)), world[:, NAMES.index(name)])
    return world


def test_heading_is_kept(walk, tmp_path):
    turn = from_yaw(np.full(len(walk), 2.0))
    rotations = walk.rotations.copy()
    rotations[:, 0] = multiply(turn, rotations[:, 0])
    turned = Clip(walk.skeleton, rotate(turn, walk.root), rotations, 60.0)
    np.testing.assert_allclose(imported(turned, tmp_path).world()[0], turned.world()[0], atol=1e-4)


def test_the_thorax_that_cgspeeds_files_lack_is_put_back(walk, tmp_path):
    """There neck and shoulders sit in the last spine joint; the trunk must not come out 12 cm short."""
    offsets = MODEL_SKELETON.offsets.copy()
    above = MODEL_SKELETON.indices(("Neck", "LeftShoulder", "RightShoulder"))
    offsets[above] = 0
    short = Skeleton(NAMES, MODEL_SKELETON.parents, offsets)
    clip = imported(Clip(short, walk.root, walk.rotations, 60.0), tmp_path, names=CMU, unit=0.0254 / 0.45)
    np.testing.assert_allclose(clip.skeleton.offsets[above], [[0, 0, 0.11616]] * 3, atol=1e-4)
