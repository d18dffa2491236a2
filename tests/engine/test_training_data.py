# SPDX-License-Identifier: GPL-3.0-or-later
"""Training data: of performances whose every figure is known, the features hold the right ones in the right places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nsm_blender.errors import FileFormatError
from nsm_blender.models.layout import Layout
from nsm_blender.models.pfnn import CURRENT, FUTURE, INPUT, JOINT_INPUT_SCALE, OUTPUT, SAMPLES
from nsm_blender.motion.clip import Clip
from nsm_blender.motion.clip_file import update_library
from nsm_blender.motion.gait import GAITS
from nsm_blender.motion.mirror import mirror_clip
from nsm_blender.motion.rotations import Array, from_exponential_map, multiply
from nsm_blender.motion.skeleton import MODEL_SKELETON, mirror_indices
from nsm_blender.training.pfnn_data import (
    HELD_OUT_SHARE,
    KINDS,
    DataSet,
    Features,
    augmented,
    balance,
    build,
    choose_clips,
    extract,
    held_at_ends,
    mean_rotations,
    prepare,
    set_rotations,
)

from .synthetic import FPS, perform, ramp, run, stand

SPEED, TURN, CYCLE = 1.0, 0.4, 0.9
LENGTH = 40.0
"""Seconds of each clip of the data folder: long enough for something to be held out."""
TIMES = (np.arange(SAMPLES) - CURRENT) / 6
"""Seconds of the trajectory samples, from -1 to +5/6."""


@pytest.fixture(scope="module")
def straight() -> Features:
    return extract(prepare(perform(SPEED, 6.0, start=(3, -2, 1.1)).clip))


@pytest.fixture(scope="module")
def turning() -> Features:
    return extract(prepare(perform(SPEED, 8.0, turn=TURN, start=(3, -2, 1.1)).clip))


def piece(features: Features, name: str, output: bool = False) -> Array:
    layout: Layout = OUTPUT if output else INPUT
    values = features.y if output else features.x
    return values[:, getattr(layout, name)].reshape(len(values), *layout.shape(name))


def joint(name: str) -> int:
    return MODEL_SKELETON.index(name)


def middle(values: Array) -> Array:
    """Without the ends, whose facing is smoothed toward the clip's first and last frame."""
    return values[20:-20]


def test_features_are_of_every_frame_with_a_second_before_and_behind_it(straight: Features) -> None:
    assert len(straight.x) == 6 * 60 - 2 * 61
    assert straight.x.shape[1] == INPUT.size
    assert straight.y.shape == (len(straight.x), OUTPUT.size)
    assert straight.x.dtype == straight.y.dtype == np.float32
    assert len(extract(prepare(perform(1.0, 1.5).clip)).x) == 0


def test_who_stands_at_both_ends_is_trained_on_from_the_first_frame_to_the_last() -> None:
    standing, walking = stand(3.0).clip, perform(SPEED, 3.0).clip
    assert len(extract(prepare(held_at_ends(standing))).x) == len(standing)
    assert len(held_at_ends(walking)) == len(walking)


def test_a_floor_that_was_captured_too_high_is_leveled() -> None:
    clip = perform(SPEED, 6.0).clip
    high = Clip(clip.skeleton, clip.root + np.array([0, 0, 0.04]), clip.rotations, clip.fps, {"name": "high"})
    np.testing.assert_allclose(prepare(high).labels.contacts, prepare(clip).labels.contacts)


def test_a_straight_walk_has_a_straight_trajectory_in_the_root_frame(straight: Features) -> None:
    expected = np.stack((0 * TIMES, -SPEED * TIMES), axis=1)
    places = piece(straight, "trajectory_position")
    np.testing.assert_allclose(places, np.broadcast_to(expected, places.shape), atol=1e-4)
    facings = piece(straight, "trajectory_direction")
    np.testing.assert_allclose(facings, np.broadcast_to([0.0, -1.0], facings.shape), atol=1e-4)


def test_a_turning_walk_bends_its_trajectory_to_the_left(turning: Features) -> None:
    facings = middle(piece(turning, "trajectory_direction"))
    expected = np.stack((np.sin(TURN * TIMES), -np.cos(TURN * TIMES)), axis=1)
    np.testing.assert_allclose(facings, np.broadcast_to(expected, facings.shape), atol=2e-3)
    places = middle(piece(turning, "trajectory_position"))
    radius = SPEED / TURN
    circle = np.stack((radius * (1 - np.cos(TURN * TIMES)), -radius * np.sin(TURN * TIMES)), axis=1)
    np.testing.assert_allclose(places, np.broadcast_to(circle, places.shape), atol=0.01)


def test_the_output_trajectory_is_the_next_frames(turning: Features) -> None:
    for name in ("trajectory_position", "trajectory_direction"):
        following = piece(turning, name)[1:, CURRENT:]
        np.testing.assert_allclose(piece(turning, name, output=True)[:-1], following, atol=1e-5)
    assert OUTPUT.shape("trajectory_position") == (FUTURE, 2)


def test_the_root_moves_ahead_at_its_speed_and_turns_at_its_rate(turning: Features) -> None:
    velocity = middle(piece(turning, "root_velocity", output=True))
    np.testing.assert_allclose(velocity, np.broadcast_to([0.0, -SPEED], velocity.shape), atol=0.01)
    np.testing.assert_allclose(middle(piece(turning, "root_turn", output=True)), TURN, atol=1e-3)


def test_the_phase_changes_by_a_cycle_per_cycle(straight: Features) -> None:
    change = piece(straight, "phase_change", output=True)
    assert change.mean() == pytest.approx(2 * np.pi / CYCLE, rel=0.03)
    assert change.min() > 0
    step = np.diff(np.unwrap(straight.phase)) * 60
    np.testing.assert_allclose(step, change[:-1, 0], atol=1e-3)


def test_joints_are_in_the_root_frame_and_the_inputs_are_the_frame_befores(turning: Features) -> None:
    places = middle(piece(turning, "joint_position", output=True))
    hips, left, right = places[:, joint("Hips")], places[:, joint("LeftArm")], places[:, joint("RightArm")]
    np.testing.assert_allclose(hips[:, :2], 0, atol=1e-3)
    assert (left[:, 0] > 0.1).all()  # left is +x
    assert (right[:, 0] < -0.1).all()
    assert (places[:, joint("LeftToe"), 1] < places[:, joint("LeftFoot"), 1] - 0.08).all()  # toes ahead, at -y
    for name in ("joint_position", "joint_velocity"):
        before = piece(turning, name, output=True)[:-1]
        np.testing.assert_allclose(piece(turning, name)[1:], before, atol=1e-6)


def test_joint_velocities_are_of_the_world_in_the_root_frame(straight: Features) -> None:
    velocity = piece(straight, "joint_velocity", output=True)
    for name in ("Hips", "Head"):
        ahead = velocity[:, joint(name)]
        np.testing.assert_allclose(ahead, np.broadcast_to([0.0, -SPEED, 0.0], ahead.shape), atol=1e-3)
    standing = piece(straight, "contact", output=True)[:, 1] > 0.5
    # A planted toe does not move over the ground (labels begin and end up to a frame or two in the swing).
    assert np.median(np.linalg.norm(velocity[standing][:, joint("LeftToe")], axis=1)) < 1e-3


def test_contacts_are_those_of_the_frame() -> None:
    performance = perform(SPEED, 6.0)
    contacts = piece(extract(prepare(performance.clip)), "contact", output=True)
    down = performance.down[61:-61]
    assert (contacts[:, 0] == down[:, 0]).mean() > 0.93
    assert (contacts[:, 2] == down[:, 1]).mean() > 0.93


@pytest.mark.parametrize(
    ("clip", "gait"),
    [(perform(1.0, 4).clip, "walk"), (run(seconds=4).clip, "jog"), (stand(4).clip, "stand")],
    ids=["walk", "jog", "stand"],
)
def test_the_gait_is_told_at_every_sample(clip: Clip, gait: str) -> None:
    told = piece(extract(prepare(clip)), "gait")
    expected = np.eye(len(GAITS))[GAITS.index(gait)]
    np.testing.assert_allclose(told, np.broadcast_to(expected, told.shape), atol=1e-5)


def test_flat_ground_has_no_height(straight: Features) -> None:
    np.testing.assert_array_equal(piece(straight, "terrain_height"), 0)


def test_joint_rotations_are_relative_to_the_mean_and_give_the_rotations_back(turning: Features) -> None:
    reference = mean_rotations(turning.rotations)
    set_rotations(turning, reference)
    maps = piece(turning, "joint_rotation", output=True).astype(np.float64)
    back = multiply(np.broadcast_to(reference, turning.rotations.shape), from_exponential_map(maps))
    np.testing.assert_allclose(np.abs(np.sum(back * turning.rotations, axis=-1)), 1, atol=1e-5)
    assert np.abs(maps.mean(axis=0)).max() < 0.15


def test_mirrored_features_are_the_mirror_image_of_the_features() -> None:
    clip = perform(SPEED, 6.0, turn=TURN, start=(3, -2, 1.1)).clip
    features, mirrored = extract(prepare(clip)), extract(prepare(mirror_clip(clip)))
    reference = mean_rotations(features.rotations)
    sign, order = np.array([-1.0, 1, 1]), mirror_indices(MODEL_SKELETON.names)
    turn_sign = np.array([1.0, 1, -1, -1])
    set_rotations(features, reference)
    set_rotations(mirrored, reference[order] * turn_sign)

    for output in (False, True):
        for name in ("trajectory_position", "trajectory_direction"):
            expected = piece(features, name, output) * sign[:2]
            np.testing.assert_allclose(piece(mirrored, name, output), expected, atol=1e-4)
        for name in ("joint_position", "joint_velocity"):
            expected = piece(features, name, output)[:, order] * sign
            np.testing.assert_allclose(piece(mirrored, name, output), expected, atol=1e-3)
    np.testing.assert_allclose(piece(mirrored, "gait"), piece(features, "gait"), atol=1e-6)
    maps = piece(features, "joint_rotation", output=True)[:, order] * [1, -1, -1]
    np.testing.assert_allclose(piece(mirrored, "joint_rotation", output=True), maps, atol=1e-3)
    np.testing.assert_allclose(
        piece(mirrored, "root_velocity", output=True),
        piece(features, "root_velocity", output=True) * sign[:2],
        atol=1e-3,
    )
    np.testing.assert_allclose(
        piece(mirrored, "root_turn", output=True), -piece(features, "root_turn", output=True), atol=1e-3
    )
    np.testing.assert_array_equal(
        piece(mirrored, "contact", output=True), piece(features, "contact", output=True)[:, [2, 3, 0, 1]]
    )
    # What was a right strike is a left one: half a cycle further.
    np.testing.assert_allclose(np.exp(1j * mirrored.phase), -np.exp(1j * features.phase), atol=1e-6)
    np.testing.assert_array_equal(mirrored.kind, features.kind)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("walk", {"speed": 1.0}),
        ("walk turning", {"speed": 0.9, "turn": 1.0}),
        ("side", {"speed": 0.6, "toward": np.pi / 2}),
        ("backward", {"speed": 0.7, "toward": np.pi}),
        ("jog", {"speed": 2.5, "cycle": 0.7, "duty": 0.35}),
        ("jog turning", {"speed": 2.2, "cycle": 0.7, "duty": 0.35, "turn": 1.2}),
        ("turn on the spot", {"speed": 0.0, "turn": 1.0, "cycle": 0.8}),
        ("stand", {"speed": 0.0, "stepping": None}),
        ("crouch", {"speed": 0.6, "hips": 0.75}),
    ],
)
def test_each_kind_of_locomotion_is_recognized(kind: str, options: dict[str, Any]) -> None:
    options = dict(options)
    performance = perform(options.pop("speed"), 6.0, **options)
    kinds = extract(prepare(performance.clip)).kind
    assert (kinds == KINDS.index(kind)).mean() > 0.9


def test_starting_and_stopping_are_recognized() -> None:
    speed = ramp(9, (3, 0), (3.8, 1), (5.5, 1), (6.3, 0))
    kinds = extract(prepare(perform(speed, 9, stepping=(3, 6.5)).clip)).kind
    names = {KINDS[k] for k in kinds}
    assert {"start or stop", "walk"} <= names


def test_rare_kinds_are_drawn_more_often_but_not_without_limit() -> None:
    common, rare, rarest = KINDS.index("walk"), KINDS.index("side"), KINDS.index("backward")
    kind = np.repeat([common, rare, rarest], [10000, 2500, 1])
    weights = balance(kind)
    assert weights.shape == kind.shape
    assert weights[0] == pytest.approx(1)
    assert weights[10000] == pytest.approx(2)  # a quarter as frequent: twice as often
    assert weights[-1] == pytest.approx(4)


def test_augmentation_mirrors_and_warps_each_clip() -> None:
    clip = perform(1.0, 4.0).clip
    versions = augmented(clip, [0.9, 1.1])
    assert len(versions) == 6
    assert [v.name.endswith("_mirrored") for v in versions] == [False] * 3 + [True] * 3
    assert sorted({len(v) for v in versions}) == sorted(
        {len(clip), len(clip.time_warped(0.9)), len(clip.time_warped(1.1))}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder: a walk, a run, standing, and a dance that is no locomotion."""
    data = tmp_path_factory.mktemp("data")
    speed = ramp(LENGTH, (2, 0), (3, 1), (32, 1), (33, 0))
    clips = []
    for name, tags, clip in (
        ("walk", ["walk"], perform(speed, LENGTH, stepping=(2, 33.3)).clip),
        ("run", ["run"], run(seconds=LENGTH, turn=0.3).clip),
        ("idle", ["idle"], stand(LENGTH).clip),
        ("dance", ["walk", "dance"], perform(0.5, LENGTH).clip),
    ):
        meta = {"name": name, "tags": tags, "subject": "a", "licence": "CC0-1.0"}
        clips.append(Clip(clip.skeleton, clip.root.astype(np.float32), clip.rotations.astype(np.float32), FPS, meta))
    update_library(data, clips)
    return data


@pytest.fixture(scope="module")
def data(folder: Path) -> DataSet:
    return build(folder)


def test_a_data_set_is_normalized_and_leaves_out_what_is_no_locomotion(data: DataSet) -> None:
    assert sorted(data.clips) == ["idle", "run", "walk"]
    x = (data.train.x - data.x_mean) / data.x_scale
    y = (data.train.y - data.y_mean) / data.y_scale
    assert np.isfinite(x).all()
    assert np.isfinite(y).all()
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-2)
    # One scale for a whole piece: on average over its dimensions the deviation is one.
    for name in ("trajectory_position", "trajectory_direction", "gait"):
        assert x[:, getattr(INPUT, name)].std(axis=0).mean() == pytest.approx(1, rel=0.02)
    for name in ("joint_position", "joint_velocity"):
        assert x[:, getattr(INPUT, name)].std(axis=0).mean() == pytest.approx(JOINT_INPUT_SCALE, rel=0.02)
    for name in OUTPUT.shapes:
        assert y[:, getattr(OUTPUT, name)].std(axis=0).mean() == pytest.approx(1, rel=0.02)
    assert data.minutes["walk"] + data.minutes["walk turning"] > 0.05
    assert data.minutes["jog"] == pytest.approx((LENGTH - 2) / 60, abs=0.02)


def test_the_end_of_each_clip_is_held_out_and_not_mirrored(data: DataSet) -> None:
    frames, window = round(LENGTH * FPS), 2 * 61
    trained = int(frames * (1 - HELD_OUT_SHARE))
    assert len(data.train.x) == 3 * 2 * (trained - window)
    assert len(data.held_out.x) == 3 * (frames - trained - window)
    assert np.abs(data.held_out.y).max() > 0
    # Rotations too are relative to the mean of what is trained on.
    assert np.abs(data.held_out.y[:, OUTPUT.joint_rotation]).max() > 0


def test_clips_that_are_too_short_to_hold_anything_out_are_refused(tmp_path: Path) -> None:
    clip = perform(SPEED, 8.0).clip
    clip.meta.update({"name": "short", "subject": "a", "licence": "CC0", "tags": ["walk"]})
    update_library(tmp_path, [clip])
    with pytest.raises(FileFormatError, match="too short"):
        build(tmp_path)


def test_subjects_can_be_chosen_and_none_is_an_error(folder: Path) -> None:
    assert sorted(choose_clips(folder, subjects=["a"])) == ["idle", "run", "walk"]
    with pytest.raises(FileFormatError, match="no locomotion clip of subject nobody"):
        build(folder, subjects=["nobody"])
