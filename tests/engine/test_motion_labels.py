# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic labels against performances whose contacts, strikes, phase and gait are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.motion.clip import Clip
from nsm_blender.motion.contacts import foot_contacts
from nsm_blender.motion.filters import gaussian, runs
from nsm_blender.motion.gait import GAITS, gait_labels, gait_weights
from nsm_blender.motion.labels import Labels, label
from nsm_blender.motion.phase import STANDING_CYCLE, foot_strikes, phase_track
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON

from .synthetic import FPS, Performance, perform, ramp, run, stand

TAU = 2 * np.pi
NEAR = 3
"""Frames (50 ms) by which a strike or a lift-off may be found early or late."""

PERFORMANCES = {
    "walk": lambda: perform(1.0),
    "slow walk": lambda: perform(0.5, cycle=1.2, duty=0.65),
    "curve": lambda: perform(0.9, turn=0.6, start=(1, 2, 0.5)),
    "backward": lambda: perform(0.7, toward=np.pi),
    "sideways": lambda: perform(0.5, toward=np.pi / 2, cycle=0.8),
    "run": lambda: run(2.5),
    "fast run": lambda: run(3.2),
    "crouch": lambda: perform(0.6, hips=0.75),
}


@pytest.fixture(params=list(PERFORMANCES))
def performance(request: pytest.FixtureRequest) -> Performance:
    return PERFORMANCES[request.param]()


def stop_and_go() -> Performance:
    """Two seconds of standing, a walk, standing again from second 5.5 on."""
    return perform(ramp(8, (2, 0), (2.4, 1), (4.6, 1), (5, 0)), 8, stepping=(2, 5.3))


def contacts_of(performance: Performance) -> Array:
    return foot_contacts(performance.clip.world()[0], FPS)


def labels_of(performance: Performance) -> Labels:
    return label(performance.clip)


def far_from_edges(mask: Array) -> Array:
    """Where `mask` (T,) has not changed within NEAR frames, nor begins or ends."""
    changes = np.flatnonzero(np.diff(mask.astype(int)))
    frames = np.arange(len(mask))
    near = np.zeros(len(mask), dtype=bool)
    for change in changes:
        near |= (frames > change - NEAR) & (frames <= change + NEAR)
    return ~near


def test_feet_are_in_contact_exactly_while_they_stand(performance: Performance) -> None:
    found = contacts_of(performance)
    for column, name in enumerate(CONTACT_JOINTS):
        truth = performance.down[:, 0 if name.startswith("Left") else 1]
        certain = far_from_edges(truth)
        np.testing.assert_array_equal(found[certain, column] > 0.5, truth[certain])


def test_a_foot_that_stands_on_a_table_is_not_in_contact_with_the_floor() -> None:
    raised = stand()
    clip = replace(raised.clip, root=raised.clip.root + np.array([0, 0, 0.5]))
    assert not foot_contacts(clip.world()[0], FPS).any()


def test_a_contact_ends_when_the_ball_of_the_foot_leaves_the_ground_however_slowly() -> None:
    second = round(FPS)
    places = np.repeat(stand(2.0).clip.world()[0][:1], 2 * second, axis=0)
    foot, toe = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    places[:, [foot, toe], 2] += np.clip(np.arange(2 * second) / second - 1, 0, 1)[:, None] * 0.06
    on = foot_contacts(places, FPS)[:, CONTACT_JOINTS.index("LeftToe")]
    assert on[:second].all() and not on[second + second // 4 :].any(), "from 1.5 cm on"


def test_contacts_do_not_flicker_in_a_noisy_recording() -> None:
    walk = perform(1.0)
    noise = np.random.default_rng(0).normal(0, 0.002, walk.clip.world()[0].shape)
    noisy = foot_contacts(walk.clip.world()[0] + gaussian(noise, 1.0), FPS)
    steps = len(runs(walk.down[:, 0])) + len(runs(walk.down[:, 1]))
    assert sum(len(runs(c)) for c in noisy.T) == 2 * steps


def test_strikes_are_found_when_and_on_which_side_they_happen(performance: Performance) -> None:
    found = foot_strikes(contacts_of(performance), FPS)
    assert [is_left for _, is_left in found] == [is_left for _, is_left in performance.strikes]
    late = np.array([f for f, _ in found]) - np.array([f for f, _ in performance.strikes])
    assert np.abs(late).max() <= NEAR


def test_feet_that_land_together_are_one_strike() -> None:
    together = np.zeros((60, 4), dtype=np.float32)
    together[20:, :2] = 1
    together[22:, 2:] = 1
    assert foot_strikes(together, FPS) == [(20, True)]


def test_the_phase_is_zero_at_right_strikes_and_half_a_cycle_at_left_ones(performance: Performance) -> None:
    phase = phase_track(contacts_of(performance), FPS)
    for frame, is_left in foot_strikes(contacts_of(performance), FPS):
        assert np.cos(phase[frame] - (np.pi if is_left else 0.0)) == pytest.approx(1)


def test_the_phase_grows_steadily_in_a_steady_walk() -> None:
    walk = perform(1.0)
    contacts = contacts_of(walk)
    strikes = [f for f, _ in foot_strikes(contacts, FPS)]
    speed = np.diff(phase_track(contacts, FPS))[strikes[0] : strikes[-1]]
    np.testing.assert_allclose(speed * FPS, TAU / 0.9, rtol=0.1)


def test_the_phase_never_falls(performance: Performance) -> None:
    assert (np.diff(phase_track(contacts_of(performance), FPS)) > 0).all()


def test_standing_cycles_at_the_standing_rate() -> None:
    phase = phase_track(contacts_of(stand(5.0)), FPS)
    np.testing.assert_allclose(np.diff(phase) * FPS, TAU / STANDING_CYCLE)


def test_a_pause_between_steps_is_filled_with_whole_cycles() -> None:
    # Right foot first after the pause, left foot last before it: half a cycle and some whole ones.
    contacts = np.ones((600, 4), dtype=np.float32)
    contacts[30:50, :2] = 0  # left steps, strikes at 50
    contacts[530:550, 2:] = 0  # right steps 8.33 s later
    phase = phase_track(contacts, FPS)
    advance = phase[550] - phase[50]
    assert advance % TAU == pytest.approx(np.pi)
    assert advance / TAU * STANDING_CYCLE == pytest.approx(500 / FPS, abs=0.5)


@pytest.mark.parametrize(
    ("name", "gait"),
    [
        ("walk", "walk"),
        ("slow walk", "walk"),
        ("curve", "walk"),
        ("backward", "walk"),
        ("sideways", "walk"),
        ("run", "jog"),
        ("fast run", "jog"),
        ("crouch", "crouch"),
    ],
)
def test_each_performance_has_its_gait_throughout(name: str, gait: str) -> None:
    assert [GAITS[i] for i in np.unique(labels_of(PERFORMANCES[name]()).gait)] == [gait]


def test_standing_is_standing() -> None:
    assert set(labels_of(stand()).gait) == {GAITS.index("stand")}


def test_turning_on_the_spot_is_walking() -> None:
    turning = labels_of(perform(0.0, turn=1.0, cycle=0.8)).gait
    assert set(turning[:-30]) == {GAITS.index("walk")}  # a step that the clip cuts off has no label to expect


def test_a_walk_between_two_pauses_is_found_in_time() -> None:
    gait = labels_of(stop_and_go()).gait
    edges = np.flatnonzero(np.diff(gait)) + 1
    assert [GAITS[g] for g in gait[[0, *edges]]] == ["stand", "walk", "stand"]
    assert edges[0] / FPS == pytest.approx(2.0, abs=0.3)
    assert edges[1] / FPS == pytest.approx(5.3, abs=0.5)


def test_starting_to_run_is_part_of_the_run() -> None:
    speed = ramp(6, (1, 0), (2.0, 2.5))
    gait = labels_of(perform(speed, 6, cycle=0.66, duty=0.35, stepping=(1.0, np.inf))).gait
    assert [GAITS[g] for g in gait[np.concatenate(([0], np.flatnonzero(np.diff(gait)) + 1))]] == ["stand", "jog"]


def test_a_leap_is_a_jump_and_not_a_run() -> None:
    positions, contacts = stand(4.0).clip.world()[0], np.ones((240, 4), dtype=np.float32)
    u = np.linspace(0, 1, 30)
    positions[100:130] += (4 * 0.3 * u * (1 - u))[:, None, None] * [0, 0, 1]
    contacts[100:130] = 0
    gait = gait_labels(positions, contacts, FPS)
    assert (gait[100:130] == GAITS.index("jump")).all()
    assert GAITS.index("jog") not in gait


def test_gait_weights_are_shares_and_change_smoothly() -> None:
    labels = np.repeat([0, 1, 2], 60)
    weights = gait_weights(labels, FPS)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    assert weights.min() >= 0
    np.testing.assert_array_equal(weights[[30, 90, 150]].argmax(axis=1), [0, 1, 2])
    assert np.abs(np.diff(weights, axis=0)).max() < 0.1


def moved(clip: Clip, frames: slice, by: Array | list[float]) -> Clip:
    root = clip.root.copy()
    root[frames] += by
    return replace(clip, root=root)


def test_a_clean_performance_raises_no_doubts(performance: Performance) -> None:
    assert labels_of(performance).doubts == ()


def test_a_jump_of_the_root_is_doubted_at_its_frame() -> None:
    doubts = label(moved(perform(1.0).clip, slice(100, None), [0.5, 0, 0])).doubts
    assert any(d.start <= 100 <= d.stop and "root jumps" in d.reason for d in doubts)


def test_a_foot_under_the_floor_is_doubted() -> None:
    doubts = label(moved(stand().clip, slice(60, 120), [0, 0, -0.06])).doubts
    assert {d.reason for d in doubts if d.start <= 60 and d.stop >= 120} == {
        "LeftToe is under the floor",
        "RightToe is under the floor",
    }


def test_a_standing_figure_without_ground_is_doubted() -> None:
    doubts = label(moved(stand().clip, slice(None), [0, 0, 0.3])).doubts
    assert "standing with no foot on the ground" in {d.reason for d in doubts}


def test_missing_strikes_are_doubted() -> None:
    walk = perform(0.25, 8.0, cycle=4.0)
    assert any("strike may be missing" in d.reason for d in labels_of(walk).doubts)


def test_labels_have_one_entry_per_frame_and_the_root_on_the_ground() -> None:
    labels = labels_of(stop_and_go())
    assert labels.root.shape == (480, 4)
    assert labels.contacts.shape == (480, 4)
    assert labels.phase.shape == labels.gait.shape == (480,)
    np.testing.assert_array_equal(labels.root[:, 2], 0)


def test_other_proportions_are_labeled_as_the_models_are() -> None:
    walk = perform(1.0)
    tall = replace(
        walk.clip,
        skeleton=replace(MODEL_SKELETON, offsets=MODEL_SKELETON.offsets * 1.15),
        root=walk.clip.root * 1.15,
    )
    found, expected = label(tall), label(walk.clip)
    np.testing.assert_array_equal(found.gait, expected.gait)
    assert [s for _, s in foot_strikes(found.contacts, FPS)] == [s for _, s in walk.strikes]
