# SPDX-License-Identifier: GPL-3.0-or-later
"""Performers of other sizes become the model without sliding, sinking or breaking their knees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.api.scene import export_clip, import_motion
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import save_clip
from nsm_blender.motion.easing import smoothstep
from nsm_blender.motion.recorded import recorded
from nsm_blender.motion.retarget import leg_length, stride_ratio, to_model_skeleton
from nsm_blender.motion.rotations import Array, from_axis_angle, multiply
from nsm_blender.motion.skeleton import MODEL_SKELETON, Skeleton
from nsm_blender.naturalness.metrics import bone_length_error, hinge_angles

from .synthetic import FPS, Performance, perform, run, stand

PERFORMERS = {"tall": 1.2, "as the model": 1.0, "child": 0.7}


def performer(scale: float) -> Skeleton:
    return replace(MODEL_SKELETON, offsets=MODEL_SKELETON.offsets * scale)


def long_thighs() -> Skeleton:
    """Legs as long as the model's, but with other shares."""
    offsets = MODEL_SKELETON.offsets.copy()
    offsets[MODEL_SKELETON.indices(["LeftLeg", "RightLeg"]), 2] -= 0.03
    offsets[MODEL_SKELETON.indices(["LeftFoot", "RightFoot"]), 2] += 0.03
    return replace(MODEL_SKELETON, offsets=offsets)


def played_by(skeleton: Skeleton, performance: Performance, scale: float = 1.0) -> Clip:
    return replace(performance.clip, skeleton=skeleton, root=performance.clip.root * scale)


def slide(performance: Performance, positions: Array) -> float:
    """Largest speed in m/s of a toe over the ground while its foot stands."""
    worst = 0.0
    for column, name in enumerate(("LeftToe", "RightToe")):
        down = performance.down[1:, column] & performance.down[:-1, column]
        place = positions[:, MODEL_SKELETON.index(name), :2]
        worst = max(worst, float((np.linalg.norm(np.diff(place, axis=0), axis=1) * FPS)[down].max()))
    return worst


@pytest.fixture(scope="module")
def walk() -> Performance:
    return perform(1.0, turn=0.3)


@pytest.mark.parametrize("scale", PERFORMERS.values(), ids=PERFORMERS)
def test_a_performer_of_any_size_walks_as_the_model_does(walk: Performance, scale: float) -> None:
    model = to_model_skeleton(played_by(performer(scale), walk, scale))
    assert model.skeleton is MODEL_SKELETON
    positions, rotations = model.world()
    assert bone_length_error(positions) < 1e-6
    assert slide(walk, positions) < 0.01
    # Same proportions: the same motion again. A smoothed height of the hips is all that may differ.
    np.testing.assert_allclose(positions, walk.clip.world()[0], atol=0.02)
    for name, angle in hinge_angles(rotations).items():
        assert angle.min() > 0, name


def test_other_shares_of_thigh_and_shin_do_not_make_feet_slide(walk: Performance) -> None:
    clip = played_by(long_thighs(), walk)
    before, after = clip.world()[0], to_model_skeleton(clip).world()[0]
    assert slide(walk, after) < slide(walk, before) + 0.01
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    np.testing.assert_allclose(after[:, toes], before[:, toes] * [1, 1, 1], atol=0.02)


def test_a_run_stays_a_run() -> None:
    running = run()
    model = to_model_skeleton(played_by(performer(1.2), running, 1.2))
    assert slide(running, model.world()[0]) < 0.02
    speed = np.linalg.norm(np.diff(model.root[:, :2], axis=0), axis=1) * FPS
    assert speed.mean() == pytest.approx(2.5, rel=0.02)


def test_joints_may_come_in_another_order(walk: Performance) -> None:
    order = [0, *range(5, 9), *range(1, 5), *range(9, 22)]  # right leg before left
    skeleton = Skeleton(
        tuple(MODEL_SKELETON.names[i] for i in order),
        tuple(-1 if MODEL_SKELETON.parents[i] < 0 else order.index(MODEL_SKELETON.parents[i]) for i in order),
        MODEL_SKELETON.offsets[order],
    )
    clip = Clip(skeleton, walk.clip.root, walk.clip.rotations[:, order], FPS)
    expected = to_model_skeleton(walk.clip)
    np.testing.assert_allclose(to_model_skeleton(clip).world()[0], expected.world()[0], atol=1e-9)


def test_distances_scale_with_the_legs() -> None:
    assert leg_length(MODEL_SKELETON) == pytest.approx(0.838, abs=0.001)
    assert leg_length(performer(1.2)) == pytest.approx(1.2 * 0.838, abs=0.001)
    assert stride_ratio(performer(1.2)) == pytest.approx(1 / 1.2)


def airborne(scale: float, turns: float, high: float, box: float = 0.0) -> Clip:
    """A jump of a performer of this size: up by `high` meters, over by so many turns backward, from a box and back."""
    skeleton = performer(scale)
    clip = stand(2.0).clip
    t = np.clip((np.arange(len(clip)) / FPS - 0.5) / 1.0, 0.0, 1.0)
    rotations = clip.world()[1]
    over = from_axis_angle(np.array([1.0, 0.0, 0.0]), 2 * np.pi * turns * smoothstep(t))
    turned = multiply(np.broadcast_to(over[:, None], rotations.shape), rotations)
    root = scale * clip.root
    root[:, 2] += scale * high * 4 * t * (1 - t) + box
    return Clip(skeleton, root, skeleton.local_rotations(turned), FPS, {"name": "jump"})


AIRBORNE = {
    "a jump": {"turns": 0.0, "high": 0.5},
    "a flip": {"turns": 1.0, "high": 1.2},
    "on a box": {"turns": 0.0, "high": 0.0, "box": 0.4},
    "a flip off a box": {"turns": 1.0, "high": 1.2, "box": 0.4},
}


@pytest.mark.parametrize("unit", [1.0, 0.01], ids=["meters", "centimeters"])
@pytest.mark.parametrize("scale", PERFORMERS.values(), ids=PERFORMERS)
@pytest.mark.parametrize("name", AIRBORNE)
def test_hips_stay_where_they_are_high_above_the_floor(name: str, scale: float, unit: float, tmp_path: Path) -> None:
    clip = airborne(scale, **AIRBORNE[name])
    skeleton = replace(clip.skeleton, offsets=clip.skeleton.offsets / unit)
    save_clip(replace(clip, skeleton=skeleton, root=clip.root / unit), tmp_path / "clip.npz")
    made = import_motion(tmp_path / "clip.npz")
    wanted = clip.world()[0] / scale
    assert np.linalg.norm(made.positions - wanted, axis=-1).max() < 0.02


def test_a_motion_that_was_saved_is_read_as_it_was(walk: Performance, tmp_path: Path) -> None:
    made = recorded(walk.clip.root, walk.clip.world()[1], FPS, "walk")
    export_clip(made, tmp_path / "walk.npz")
    read = import_motion(tmp_path / "walk.npz")
    assert np.linalg.norm(read.positions - made.positions, axis=-1).max() < 0.001
    same = np.abs(np.sum(read.rotations * made.rotations, axis=-1))
    assert np.degrees(2 * np.arccos(np.clip(same, 0, 1))).max() < 0.1
