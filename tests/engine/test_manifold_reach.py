# SPDX-License-Identifier: GPL-3.0-or-later
"""Constraints that cannot hold are refused or told, never silently missed."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import EditError
from nsm_blender.manifold.constraints import FloorHeight, FootSkate, KeepTrajectory, LookAt, PinJoint, PoseKey
from nsm_blender.manifold.edit import Edit
from nsm_blender.manifold.frames import around_root
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.skeleton import MODEL_SKELETON

from .manifolds import autoencoder, walk

HAND, FOOT = MODEL_SKELETON.indices(["LeftHand", "LeftFoot"])


def clean() -> list:
    return [FootSkate(), KeepTrajectory(), FloorHeight()]


def edit(motion: Motion, constraints: list, **options) -> Edit:
    out = Edit(motion, constraints, autoencoder=autoencoder(), **options)
    out.motion()
    return out


def pin(motion: Motion, joint: str, offset: list[float], frames: tuple[int, int] = (85, 96)) -> PinJoint:
    """A joint pinned `offset` meters beside its place in the middle of a range, in the root's frame: left, back, up."""
    middle = sum(frames) // 2
    angle = motion.root[middle, 3]
    c, s = np.cos(angle), np.sin(angle)
    moved = np.array([c * offset[0] - s * offset[1], s * offset[0] + c * offset[1], offset[2]])
    place = motion.positions[middle, MODEL_SKELETON.index(joint)] + moved
    return PinJoint(*frames, joint=joint, places=[place.tolist()])


def test_a_trunk_leans_where_the_arm_alone_is_too_short() -> None:
    given = walk(180)
    done = edit(given, [*clean(), pin(given, "LeftHand", [0.45, 0, 0.2])])
    assert done.report["after.pin_error_cm"] < 0.5
    assert done.warnings == []


def test_a_pin_out_of_the_limb_s_reach_is_reported_with_its_distance() -> None:
    given = walk(180)
    done = edit(given, [*clean(), pin(given, "LeftHand", [1.1, 0, 0])])
    (warning,) = done.warnings
    short = done.report["after.pin_error_cm"]
    assert short > 5
    assert f"LeftHand stays {short:.0f} cm short of its pin" in warning
    assert "Keep Trajectory" in warning


def test_a_way_that_may_bend_takes_the_hand_there() -> None:
    given = walk(180)
    done = edit(given, [FootSkate(), pin(given, "LeftHand", [1.1, 0, 0])])
    assert done.report["after.pin_error_cm"] < 1
    assert done.warnings == []


@pytest.mark.parametrize(
    ("offset", "kept", "message"),
    [
        ([3.0, 0, 0], True, "LeftHand lies .* cm out of reach of the kept path"),
        ([0, 0, 2.5], True, "LeftHand lies .* cm higher than the character reaches"),
        ([0, 0, 2.5], False, "LeftHand lies .* cm higher than the character reaches"),
    ],
)
def test_a_pin_that_no_pose_reaches_is_refused(offset: list[float], kept: bool, message: str) -> None:
    given = walk(120)
    with pytest.raises(EditError, match=message):
        Edit(given, [pin(given, "LeftHand", offset), *(clean() if kept else [])], autoencoder=autoencoder())


def test_a_foot_that_is_pinned_elsewhere_does_not_stand_there() -> None:
    given = walk(180)
    planted = int(np.flatnonzero(given.contacts[60:, 0] * given.contacts[60:, 1])[5]) + 60
    done = edit(given, [*clean(), pin(given, "LeftFoot", [0, 0, 0.15], (planted, planted + 1))])
    assert done.report["after.pin_error_cm"] < 0.5
    assert not done.motion().contacts[planted, :2].any()
    assert done.report["after.foot_slide_cm_per_s"] < 1


def test_a_pose_key_is_met_and_a_planted_foot_that_contradicts_it_reported() -> None:
    given = walk(180)
    pose = around_root(given.positions, given.root)[90].copy()
    arms = [j for j, name in enumerate(given.names) if "ForeArm" in name or "Hand" in name]
    shoulder = pose[[MODEL_SKELETON.parents[j] for j in arms]]
    raised = shoulder + np.array([0.0, 0.0, 1.0]) * np.linalg.norm(pose[arms] - shoulder, axis=1, keepdims=True)
    pose[arms] = raised
    pose[MODEL_SKELETON.indices(["LeftHand", "RightHand"]), 2] = (
        pose[MODEL_SKELETON.indices(["LeftForeArm", "RightForeArm"]), 2] + 0.25
    )
    done = edit(given, [*clean(), PoseKey(90, 91, places=pose.tolist())])
    after = around_root(done.motion().positions, done.motion().root)[90]
    hands = MODEL_SKELETON.indices(["LeftHand", "RightHand"])
    assert np.linalg.norm(after[hands] - pose[hands], axis=1).max() < 0.05
    assert done.warnings == []
    apart = around_root(given.positions, given.root)[115]
    (warning,) = edit(given, [*clean(), PoseKey(90, 91, places=apart.tolist())]).warnings
    assert "pose key is missed by" in warning


def test_a_gaze_that_no_neck_follows_is_reported_and_does_not_bend_the_path() -> None:
    given = walk(180)
    head = given.positions[90, MODEL_SKELETON.index("Head")].astype(float)
    angle = given.root[90, 3]
    behind = head - 2 * np.array([np.sin(angle), -np.cos(angle), 0])
    done = edit(given, [LookAt(80, 100, target=[behind.tolist()])])
    assert done.report["after.path_error_cm"] < 2
    short = done.report["after.gaze_error_deg"]
    assert (short > 10) == bool(done.warnings)
    assert all(f"{short:.0f} degrees short" in warning for warning in done.warnings)


def test_half_an_edit_is_meant_to_fall_short() -> None:
    given = walk(120)
    assert edit(given, [*clean(), pin(given, "LeftHand", [0.3, 0, 0.2], (60, 61))], strength=0.5).warnings == []
    unpinned = replace(pin(given, "LeftHand", [3.0, 0, 0]), weight=0.0)
    assert edit(given, [*clean(), unpinned]).warnings == []
