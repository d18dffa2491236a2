# SPDX-License-Identifier: GPL-3.0-or-later
"""What the NSM's figures are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nsm_blender.evaluation import nsm_rooms
from nsm_blender.evaluation.naturalness.mesh_contact import MeshContact, contact_of
from nsm_blender.evaluation.nsm_bodies import (
    added_acceleration,
    added_figures,
    measured_frames,
    motion_detail,
    penetration,
    rollout_places,
)
from nsm_blender.evaluation.nsm_endurance import judged
from nsm_blender.evaluation.nsm_picture import gates_by_phase
from nsm_blender.evaluation.nsm_rooms import Task, success_figures
from nsm_blender.evaluation.nsm_trials import DEVELOPMENT, SEATS, pieces, seeds, sit_shot, until_done
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.furniture import held_out
from nsm_blender.models.nsm import ACTIONS
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import from_yaw
from nsm_blender.motion.skeleton import CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON
from nsm_blender.naturalness.case import Case
from nsm_blender.naturalness.recorded import RATES, joint_acceleration
from nsm_blender.rollout.nsm import SceneRecord
from nsm_blender.rollout.nsm_network import load
from nsm_blender.tasks.outcome import UNFINISHED

from .rollouts import COUNT, record


def standing(action: str = "idle") -> Motion:
    """Someone in the T-pose over the origin."""
    joints = len(MODEL_SKELETON)
    places = np.tile(MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT]), (30, 1, 1))
    actions = np.zeros((30, len(ACTIONS)), dtype=np.float32)
    actions[:, ACTIONS.index(action)] = 1
    return Motion(
        MODEL_SKELETON.names,
        MODEL_SKELETON.parents,
        places,
        np.tile(np.array([1.0, 0, 0, 0]), (30, joints, 1)),
        np.zeros((30, 4)),
        np.zeros((30, 4)),
        CONTACT_JOINTS,
        np.zeros(30),
        actions,
        ACTIONS,
        60.0,
    )


def box(low: list[float], high: list[float]) -> Surroundings:
    a, b = np.array([low]), np.array([high])
    return Surroundings([Collider("thing", Cuboids((a + b) / 2, (b - a) / 2))])


def test_a_wall_through_the_body_is_deep_and_one_beside_it_is_none() -> None:
    through, beside = box([-2, -2, 0.8], [2, 2, 1.2]), box([2.0, -2, 0], [2.2, 2, 2])
    assert penetration(standing(), through, []).min() > 0.2
    assert penetration(standing(), beside, []).max() == 0


def test_the_parts_that_sit_may_press_into_the_seat() -> None:
    back = box([-0.3, 0.08, HIPS_HEIGHT + 0.1], [0.3, 0.3, HIPS_HEIGHT + 0.3])
    assert penetration(standing("sit"), back, ["thing"]).max() == 0
    assert penetration(standing("walk"), back, ["thing"]).min() > 0.02
    assert penetration(standing("sit"), back, []).min() > 0.02


def test_motion_detail_is_the_joints_own_turning() -> None:
    still = standing()
    turning = from_yaw(np.radians(np.arange(30.0)))[:, None]
    whole = replace(still, rotations=np.tile(turning, (1, len(MODEL_SKELETON), 1)))
    assert motion_detail(still) == pytest.approx(0, abs=1e-6)
    assert motion_detail(whole) == pytest.approx(0, abs=1e-6)
    rotations = still.rotations.copy()
    rotations[:, MODEL_SKELETON.index("Head")] = turning[:, 0]
    assert motion_detail(replace(still, rotations=rotations)) == pytest.approx(1 / (len(MODEL_SKELETON) - 1), rel=1e-3)


def rolled(motion: Motion) -> SceneRecord:
    """The rollout, at 60 fps, of a motion that does not change it."""
    every = np.repeat(motion.positions, round(60 / motion.fps), axis=0)
    return replace(record(), places=every)


@pytest.mark.parametrize("fps", RATES)
def test_a_joint_that_the_cleanup_pushes_for_a_frame_is_accelerated_by_twice_that(fps: float) -> None:
    still = replace(standing(), fps=float(fps))
    pushed = still.positions.copy()
    pushed[12, MODEL_SKELETON.index("LeftHand"), 2] += 0.01
    assert added_acceleration(rolled(still), still) == 0
    found = added_acceleration(rolled(still), replace(still, positions=pushed))
    assert found == pytest.approx(2 * 0.01 * fps**2)


def test_what_the_rollout_does_itself_is_not_added() -> None:
    still = standing()
    swung = still.positions.copy()
    swung[:, MODEL_SKELETON.index("LeftHand"), 2] += 0.05 * np.sin(np.arange(30.0))
    swinging = replace(still, positions=swung)
    assert added_acceleration(rolled(swinging), swinging) == 0
    assert added_acceleration(rolled(swinging), still) == 0
    assert added_acceleration(rolled(still), swinging) > 100


@pytest.mark.parametrize("fps", RATES)
def test_motions_are_counted_whose_added_acceleration_is_beyond_recorded_joints(fps: float) -> None:
    people = joint_acceleration(fps).at(99.9)
    found = added_figures("x", [0.5 * people, 1.01 * people, 0.99 * people, 3.0 * people], fps)
    expected = {"x.max_m_s2": 3 * people, "x.recorded_m_s2": people, "x.motions": 4.0, "x.over": 2.0}
    assert found == pytest.approx(expected)


def test_rooms_tell_the_depth_in_colliders_and_in_meshes_over_the_frames_of_all_tasks() -> None:
    def task(depths: np.ndarray[Any, Any], mesh_depths: np.ndarray[Any, Any], added: float) -> Task:
        return Task(1, "walk", True, "", 0.0, depths, mesh_depths, added)

    deep = np.zeros(100)
    deep[:5] = 0.02
    figures = success_figures([task(np.zeros(100), deep, 1.0), task(deep, np.zeros(300), 900.0)], print)
    # 5 of 200 frames are in colliders, 5 of 400 in meshes.
    assert figures["nsm.penetration_cm.p99"] == pytest.approx(2.0)
    assert figures["nsm.mesh_penetration_cm.p99"] == pytest.approx(2.0)
    assert figures["nsm.mesh_penetration_cm.max"] == pytest.approx(2.0)
    assert figures["nsm.added_acceleration.rooms.over"] == 1 and figures["nsm.added_acceleration.rooms.motions"] == 2
    longer = success_figures([task(deep, deep, 1.0), task(deep, np.zeros(900), 1.0)], print)
    assert longer["nsm.mesh_penetration_cm.p99"] == 0 and longer["nsm.mesh_penetration_cm.max"] == pytest.approx(2.0)


def test_depths_are_measured_at_the_same_frames_in_colliders_and_in_meshes() -> None:
    assert len(penetration(standing(), box([2.0, -2, 0], [2.2, 2, 2]), [])) == len(measured_frames(standing())) == 10


def test_rooms_are_measured_with_the_true_mesh_of_each_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def contact(case: Case, motion: Motion, frames: np.ndarray[Any, Any]) -> MeshContact:
        seen.append((case, len(frames)))
        return contact_of(case, motion, frames)

    monkeypatch.setattr(nsm_rooms, "TASKS", 1)
    monkeypatch.setattr(nsm_rooms, "contact_of", contact)
    (task,) = nsm_rooms.tasks(load(None), nsm_rooms.DEVELOPMENT)
    ((case, frames),) = seen
    assert {thing.name for thing in case.shot.colliders} == case.meshes.keys()
    assert frames == len(task.depths) == len(task.mesh_depths)
    assert 0 < task.added < 1000


def test_a_trial_is_compared_with_the_rollout_that_it_was_made_of() -> None:
    shot = sit_shot(pieces(SEATS, 1, development=True)[0], np.random.default_rng(1))
    bake = until_done(shot, load(None), None)
    motion = bake.motion()
    assert len(motion) < shot.frames
    off = motion.positions[:, 0] - rollout_places(bake.record(), motion)[:, 0]
    assert np.linalg.norm(off, axis=-1).max() < 0.25


def test_gates_are_gathered_by_the_phase() -> None:
    base = record()
    phase = np.linspace(0, 4 * np.pi, COUNT, endpoint=False) % (2 * np.pi)
    gates = np.stack((phase < np.pi, phase >= np.pi), axis=1).astype(float)
    actions = base.actions.copy()
    actions[:, ACTIONS.index("walk")] = 1
    turned = replace(base, phase=phase, gates=gates, actions=actions)
    found = gates_by_phase(turned, "walk")
    assert found is not None
    np.testing.assert_allclose(found[: len(found) // 2], [[1.0, 0.0]] * (len(found) // 2))
    np.testing.assert_allclose(found[len(found) // 2 :], [[0.0, 1.0]] * (len(found) // 2))
    assert gates_by_phase(turned, "sit") is None


def test_nothing_is_measured_on_what_is_tuned_on() -> None:
    reported, tuned = set(seeds(50)), set(seeds(50, development=True))
    assert not reported & tuned and min(tuned) >= DEVELOPMENT
    assert all(held_out(seed) for seed in reported)


def test_a_still_character_is_frozen_unless_it_rests() -> None:
    assert judged(standing("walk")).frozen == pytest.approx(0.5)
    assert judged(standing("idle")).frozen == 0
    walking = standing("walk")
    swinging = walking.positions.copy()
    swinging[:, -1, 0] += 0.1 * np.sin(np.arange(30))
    assert judged(replace(walking, positions=swinging)).frozen == 0


def test_a_character_off_the_ground_floats_unless_it_sits() -> None:
    def raised(action: str) -> Motion:
        motion = standing(action)
        return replace(motion, positions=motion.positions + np.array([0.0, 0.0, 0.2]))

    assert judged(standing()).floating == 0
    assert judged(raised("walk")).floating == pytest.approx(0.5)
    assert judged(raised("sit")).floating == 0


def test_standing_on_what_is_climbed_is_no_floating_but_being_above_it_is() -> None:
    def raised(meters: float) -> Motion:
        motion = standing("walk")
        return replace(motion, positions=motion.positions + np.array([0.0, 0.0, meters]))

    cuboid = Cuboids(np.array([[0.0, 0.0, 0.3]]), np.array([[1.0, 1.0, 0.3]]))
    platform, crate = (Collider("thing", cuboid, role=role) for role in ("climbable", "obstacle"))
    aside = replace(platform, poses=np.array([[2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]))
    assert judged(raised(0.6), [platform]).floating == 0
    for meters, thing in ((0.8, platform), (0.6, crate), (0.6, aside)):
        assert judged(raised(meters), [thing]).floating == pytest.approx(0.5)


def test_numbers_that_are_none_are_noticed() -> None:
    motion = standing()
    broken = motion.positions.copy()
    broken[3, 2, 1] = np.nan
    assert judged(motion).finite and not judged(replace(motion, positions=broken)).finite


def test_a_key_that_the_end_of_the_motion_cuts_off_is_neither_done_nor_failed() -> None:
    motion = standing()
    told = [("", 0), ("The character came to a stop.", 9), (UNFINISHED, 20), (UNFINISHED, None)]
    motion.meta["keys"] = [{"trouble": trouble, "set_off": frame} for trouble, frame in told]
    found = judged(motion)
    assert (found.keys, found.done) == (2, 1)
