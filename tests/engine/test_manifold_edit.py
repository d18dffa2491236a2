# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of whole motions: what was asked for holds, the rest stays, the figures say so."""

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.errors import EditError
from nsm_blender.manifold.constraints import FloorHeight, FootSkate, KeepTrajectory, LookAt, PinJoint
from nsm_blender.manifold.edit import Edit
from nsm_blender.manifold.frames import to_frames
from nsm_blender.manifold.style import Style
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import rotate
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.naturalness.metrics import bone_length_error, foot_slide

from .manifolds import autoencoder, walk

HAND = MODEL_SKELETON.index("LeftHand")


def clean() -> list:
    return [FootSkate(), KeepTrajectory(), FloorHeight()]


def sliding(motion: Motion) -> Motion:
    """The motion with a body that sways under its way, so that planted feet slide and bones stretch."""
    wave = 0.03 * np.sin(np.arange(len(motion)) * 0.15)[:, None] * np.linspace(0, 1, len(motion.names))
    positions = motion.positions.copy()
    positions[..., 0] += wave
    positions[:, MODEL_SKELETON.indices(["LeftToe", "LeftFoot"]), 1] += wave[:, -1:]
    return replace(motion, positions=positions.astype(np.float32))


def edit(motion: Motion, constraints: list, **options) -> Edit:
    out = Edit(motion, constraints, autoencoder=autoencoder(), **options)
    out.motion()
    return out


def test_sliding_feet_stand_still_on_rigid_bones_and_the_way_is_kept() -> None:
    given = sliding(walk(180))
    assert foot_slide(given) > 3
    done = edit(given, clean())
    motion = done.motion()
    assert foot_slide(motion) < 1
    assert bone_length_error(motion.positions.astype(float)) < 1e-4
    assert np.abs(motion.root - given.root).max() < 0.02
    assert done.report["before.foot_slide_cm_per_s"] == pytest.approx(foot_slide(given), rel=0.01)
    assert done.report["after.foot_slide_cm_per_s"] == pytest.approx(foot_slide(motion), abs=0.01)


def test_a_pinned_hand_is_where_it_is_pinned_and_elsewhere_nothing_is_thrown_about() -> None:
    given = walk(240)
    middle = given.positions[110, HAND].astype(float)
    place = (middle + np.array([0.0, 0.0, 0.15])).tolist()
    motion = edit(given, [*clean(), PinJoint(105, 116, joint="LeftHand", places=[place])]).motion()
    assert np.linalg.norm(motion.positions[105:116, HAND] - place, axis=1).max() < 0.005
    others = [j for j, name in enumerate(given.names) if name not in ("LeftHand", "LeftForeArm")]
    before, after = (
        np.linalg.norm(np.diff(m.positions[:, others], 2, axis=0), axis=-1) * 3600 for m in (given, motion)
    )
    assert after.mean() < 1.5 * before.mean()
    np.testing.assert_allclose(motion.positions[-20:], given.positions[-20:], atol=0.02)


def test_the_head_turns_to_what_it_looks_at() -> None:
    given = walk(180)
    head = MODEL_SKELETON.index("Head")
    target = given.positions[90, head].astype(float) + np.array([1.5, -1.5, 0.0])
    motion = edit(given, [*clean(), LookAt(60, 120, target=[target.tolist()])]).motion()
    facing = rotate(motion.rotations[90, head], np.array([0.0, -1.0, 0.0]))
    toward = target - motion.positions[90, head]
    assert facing @ (toward / np.linalg.norm(toward)) > 0.99


def test_no_strength_gives_the_motion_back_and_half_lies_between() -> None:
    given = walk(120)
    np.testing.assert_allclose(edit(given, clean(), strength=0.0).motion().positions, given.positions, atol=1e-6)
    place = (given.positions[60, HAND].astype(float) + np.array([0.0, 0.0, 0.2])).tolist()
    pin = PinJoint(60, 61, joint="LeftHand", places=[place])
    whole, half = edit(given, [pin]).motion(), edit(given, [pin], strength=0.5).motion()
    risen = [m.positions[60, HAND, 2] - given.positions[60, HAND, 2] for m in (half, whole)]
    assert risen[1] == pytest.approx(0.2, abs=0.005)
    assert 0.05 < risen[0] < 0.15
    assert bone_length_error(half.positions.astype(float)) < 1e-4


@pytest.mark.parametrize(("fps", "frames"), [(24.0, 120), (30.0, 121), (60.0, 119)])
def test_the_result_has_the_motion_s_rate_and_length(fps: float, frames: int) -> None:
    given = walk(frames, fps)
    motion = edit(given, clean()).motion()
    assert (motion.fps, len(motion)) == (fps, len(given))
    assert np.linalg.norm(motion.positions - given.positions, axis=-1).mean() < 0.02


def test_a_restyled_walk_keeps_its_way_and_its_feet_stand() -> None:
    quick = walk(240, speed=1.8)
    style = Style.of("quick", autoencoder(), to_frames(quick.positions, quick.root, quick.contacts))
    given = walk(180)
    done = edit(given, [], style=style)
    motion = done.motion()
    assert np.abs(motion.root - given.root).max() < 0.05
    assert foot_slide(motion) < 1
    np.testing.assert_array_equal(motion.contacts, given.contacts)
    assert done.report["style.gram_ratio"] < 0.1


def test_it_goes_in_steps_and_can_be_left_after_any() -> None:
    given = sliding(walk(120))
    before = given.positions.copy()
    running = Edit(given, clean(), autoencoder=autoencoder())
    seen = [running.progress]
    for _ in range(5):
        running.step()
        seen.append(running.progress)
    assert not running.done
    assert seen == sorted(seen)
    np.testing.assert_array_equal(given.positions, before)


def test_contacts_of_other_joints_are_found_anew() -> None:
    given = walk(120)
    unknown = replace(given, contacts=np.ones((120, 2), dtype=np.float32), contact_names=("LeftHand", "RightHand"))
    assert foot_slide(edit(unknown, clean()).motion()) < 1


def test_what_cannot_be_edited_is_refused_with_the_reason() -> None:
    given = walk(60)
    with pytest.raises(EditError, match="not on the model skeleton"):
        Edit(replace(given, names=("a",) * 22), [], autoencoder=autoencoder())
    with pytest.raises(EditError, match="too short"):
        Edit(replace(given, positions=given.positions[:2], root=given.root[:2]), [], autoencoder=autoencoder())
    with pytest.raises(EditError, match="strength"):
        Edit(given, [], strength=-1.0, autoencoder=autoencoder())
