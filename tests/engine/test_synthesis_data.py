# SPDX-License-Identifier: GPL-3.0-or-later
"""Training data of the synthesis networks: of walks whose every figure is known, the labels are right."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.models.synthesis import WAVES, Stepping, duty, square_waves
from nsm_blender.motion.clip_file import load_library, update_library
from nsm_blender.motion.root import root_track
from nsm_blender.motion.skeleton import MODEL_SKELETON, TOE_HEIGHT

from .synthetic import perform, stand

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the train extra is not installed")

SPEED, TURN, CYCLE, DUTY = 1.2, 0.4, 1.0, 0.6


@pytest.fixture(scope="module")
def data():
    from nsm_blender.training import synthesis_data

    return synthesis_data


def test_the_trajectory_is_that_of_a_drawn_curve(data):
    root = perform(SPEED, 6.0, turn=TURN).root.copy()
    time = np.arange(len(root)) / 60
    root[:, 0] += 0.02 * np.sin(2 * np.pi * time / CYCLE)  # the sway of steps, which no drawn curve has
    found = data.trajectory_of(root, 0.4)
    np.testing.assert_allclose(np.linalg.norm(found[:, :2], axis=1), SPEED, atol=0.06)
    np.testing.assert_allclose(found[:, 1], -SPEED, atol=0.06)  # forward is -y
    np.testing.assert_allclose(found[:, 2], TURN, atol=0.01)


def test_waves_have_the_steps_frequency_and_duration(data):
    walk = perform(SPEED, 8.0, cycle=CYCLE, duty=DUTY)
    contacts = np.repeat(walk.down, 2, axis=1)
    waves = data.waves_of(contacts)
    middle = slice(90, -90)
    np.testing.assert_allclose(waves[middle, WAVES.frequency], 2 * np.pi / (60 * CYCLE), rtol=0.03)
    np.testing.assert_allclose(duty(waves[middle, WAVES.threshold]), DUTY, atol=0.03)


def test_waves_give_the_contacts_back(data):
    walk = perform(SPEED, 8.0, cycle=CYCLE, duty=DUTY)
    contacts = np.repeat(walk.down, 2, axis=1)
    waves = data.waves_of(contacts)
    angle = np.cumsum(waves[:, WAVES.frequency])
    together = Stepping(heel_phase=0, toe_phase=0)  # here heel and toe are down at the same time
    agree = [
        (square_waves(angle + shift, waves[:, WAVES.threshold], together)[60:-60] > 0) == contacts[60:-60]
        for shift in np.linspace(0, 2 * np.pi, 64)
    ]
    assert max(a.mean() for a in agree) > 0.95


def test_a_standing_character_keeps_standing(data):
    waves = data.waves_of(np.ones((200, 4)))
    np.testing.assert_allclose(waves[:, WAVES.threshold], -1, atol=1e-6)
    assert (waves[:, WAVES.frequency] > 0).all()


def test_standing_between_two_walks_is_found(data):
    walk = np.repeat(perform(SPEED, 4.0, cycle=CYCLE, duty=DUTY).down, 2, axis=1)
    contacts = np.concatenate((walk, np.ones((180, 4), dtype=bool), walk))
    found = duty(data.waves_of(contacts)[:, WAVES.threshold])
    np.testing.assert_allclose(found[310:350], 1, atol=0.01)
    np.testing.assert_allclose(found[90:150], DUTY, atol=0.05)


@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_contacts_are_found_whatever_the_floor_of_the_recording(data, floor: float):
    walk = perform(SPEED, 6.0, cycle=CYCLE, duty=DUTY)
    positions = walk.clip.world()[0].astype(float) + np.array([0, 0, floor])
    found = data.contacts_of_walk(positions)
    agree = (found > 0.5) == np.repeat(walk.down, 2, axis=1)
    assert agree[30:-30].mean() > 0.93


def test_a_floating_recording_is_put_on_the_ground(data):
    walk = perform(SPEED, 6.0)
    positions = walk.clip.world()[0].astype(float) + np.array([0, 0, 0.05])
    contacts = data.contacts_of_walk(positions)
    level = data.on_ground(positions, contacts)
    toes = level[:, MODEL_SKELETON.indices(["LeftToe", "RightToe"]), 2]
    assert np.abs(toes[walk.down] - TOE_HEIGHT).max() < 0.01
    np.testing.assert_allclose(level[..., :2], positions[..., :2])


def library(folder: Path) -> Path:
    from dataclasses import replace

    clips = []
    for name, tags, subject in (
        ("a", ["walk"], "one"),
        ("b", ["walk", "style:old"], "one"),
        ("c", ["walk", "carry"], "one"),
        ("d", ["walk"], "two"),
        ("e", ["punch"], "one"),
    ):
        clip = perform(SPEED, 3.0).clip
        clips.append(replace(clip, meta={"name": name, "tags": tags, "subject": subject}))
    update_library(folder, clips)
    return folder


def test_only_plain_walks_of_other_performers_are_learned(data, tmp_path: Path):
    folder = library(tmp_path)
    assert [e.name for e in data.locomotion_clips(folder, ["two"])] == ["a"]
    assert [e.name for e in data.locomotion_clips(folder, ["two"], held_out=True)] == ["d"]
    found = data.walks([e for e in load_library(folder) if e.name == "a"])
    assert len(found) == 2
    plain, mirrored = (w.trajectory(0.3) for w in found)
    np.testing.assert_allclose(mirrored, plain * np.array([-1, 1, -1]), atol=1e-3)
    np.testing.assert_allclose(found[1].waves[:, [2, 3, 0, 1]], found[0].waves[:, :4], atol=0.05)


def punching():
    """Places (T, J, 3) of a character that stands and twice sends the left hand forward."""
    positions = stand(4.0).clip.world()[0].astype(float)
    time = np.arange(len(positions))
    hand = MODEL_SKELETON.index("LeftHand")
    for hit, forward in ((80, 0.6), (170, 0.5)):
        before, after = np.clip((time - hit + 12) / 12, 0, 1), np.clip((hit + 30 - time) / 30, 0, 1)
        positions[:, hand, 1] -= forward * np.sin(np.pi / 2 * np.minimum(before, after)) * (before > 0)
        positions[:, hand, 2] += 0.4 * np.minimum(before, after)
    return positions


def test_strikes_are_found_where_the_hand_stops(data):
    from nsm_blender.manifold.frames import around_root
    from nsm_blender.training.strike_data import Fight, profiles_of, strikes_of

    positions = punching()
    root = root_track(positions, 60.0)
    strikes = strikes_of(around_root(positions, root))
    assert [s.effector for s in strikes] == [0, 0]
    np.testing.assert_allclose([s.frame for s in strikes], [80, 170], atol=6)
    assert not strikes_of(around_root(positions, root), ("Toe",))

    fight = Fight("f", positions, root, np.ones((len(positions), 4)), strikes)
    inputs = fight.inputs()
    np.testing.assert_allclose(inputs[strikes[0].frame, :3], fight.path(strikes[0])[strikes[0].frame], atol=1e-6)
    profile = profiles_of([fight])
    target = np.array([0.3, -0.6, 1.3])
    np.testing.assert_allclose(np.append(1, target) @ profile[0, len(profile[0]) // 2], target, atol=1e-5)


def test_data_without_a_kick_is_refused(data):
    from nsm_blender.errors import UserError
    from nsm_blender.manifold.frames import around_root
    from nsm_blender.training.strike_data import Fight, end_effector_constants, strikes_of

    positions = punching()
    root = root_track(positions, 60.0)
    fight = Fight("f", positions, root, np.ones((len(positions), 4)), strikes_of(around_root(positions, root)))
    with pytest.raises(UserError, match="no kick"):
        end_effector_constants([fight])


def test_moved_strikes_keep_the_bones_of_the_limb(data):
    from nsm_blender.manifold.frames import around_root
    from nsm_blender.training.strike_data import Fight, moved, strikes_of

    positions = punching()
    root = root_track(positions, 60.0)
    arm = MODEL_SKELETON.indices(["LeftArm", "LeftForeArm", "LeftHand"])
    # Real bones first: the hand above was moved by hand.
    fight = Fight("f", positions, root, np.ones((len(positions), 4)), strikes_of(around_root(positions, root)))
    other = moved(fight, np.random.default_rng(0))
    hit = fight.strikes[0].frame
    assert np.linalg.norm(other.positions[hit, arm[2]] - positions[hit, arm[2]]) > 0.01
    body = [j for j in range(len(MODEL_SKELETON)) if j not in arm]
    shift = other.positions[:, body] - fight.positions[:, body]
    np.testing.assert_allclose(shift, np.broadcast_to(shift[:, :1], shift.shape), atol=1e-9)  # moves as a whole
    np.testing.assert_allclose(other.root[:, :2] - root[:, :2], shift[:, 0, :2], atol=1e-9)


def test_a_training_run_lowers_the_error_and_resumes(data, tmp_path: Path):
    from nsm_blender.training.synthesis import FootstepTraining, Settings

    found = data.walks([e for e in load_library(library(tmp_path / "data")) if e.name in "ad"])
    settings = Settings(steps=30, batch=4, save_every=10)
    first = FootstepTraining(found, settings, tmp_path / "run")

    def error() -> float:
        """On the same windows each time."""
        first.rng = np.random.default_rng(5)
        return sum(float(first.loss(0).detach()) for _ in range(5))

    before = error()
    first.run(lambda _: None)
    assert error() < 0.9 * before
    again = FootstepTraining(found, Settings(steps=40, batch=4, save_every=10), tmp_path / "run", resume=True)
    assert again.step == 30
    tensors = again.run(lambda _: None)
    assert again.history[-1]["step"] == 40

    from nsm_blender.models.synthesis import FOOTSTEP_SHAPES, Footsteps

    assert set(tensors) == set(FOOTSTEP_SHAPES)
    assert Footsteps(tensors).waves(found[0].trajectory(0.3)).shape == (len(found[0].frames), WAVES.size)
