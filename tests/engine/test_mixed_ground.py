# SPDX-License-Identifier: GPL-3.0-or-later
"""Shots that walk over ground and use things there: both networks in one motion, with hand-overs that do not show."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake, bake_of
from nsm_blender.evaluation.mixed_ground import around_seams, ramp, stairs
from nsm_blender.evaluation.naturalness.furniture_cases import CASES
from nsm_blender.geometry.ground import Ground, GroundMesh
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.rotations import from_yaw
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.naturalness.case import DEVELOPMENT_SEEDS
from nsm_blender.rollout.handover import other_phase, without_jumps
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.validation import check

ABLE = ("idle", "walk", "run", "sit", "open", "pick_up", "put_down", "climb")


@pytest.fixture(scope="module")
def sat() -> tuple[Shot, Motion]:
    """Up the stairs to a landing, down on a seat there, and back."""
    shot = stairs(1)
    return shot, bake_of(shot).motion()


def test_a_character_walks_up_to_a_seat_on_a_landing_sits_and_walks_down_again(sat: tuple[Shot, Motion]) -> None:
    shot, motion = sat
    sitting, leaving = motion.meta["keys"]
    assert not sitting["trouble"] and not leaving["trouble"]
    height = max(vertex[2] for vertex in shot.ground[0].vertices)
    assert motion.root[sitting["done"], 2] == pytest.approx(height, abs=0.01)
    assert motion.root[-1, 2] == pytest.approx(0.0, abs=0.01)
    seated = motion.positions[sitting["done"] - 5, 0, 2] - height
    assert 0.3 < seated < 0.75, "the hips are as high over the landing as on a seat"


def test_the_networks_hand_over_without_a_jerk(sat: tuple[Shot, Motion]) -> None:
    """Over shots, nearly all accelerations and jerks around hand-overs are such as people have in walking."""
    motions = [sat[1], *(bake_of(shot).motion() for shot in (stairs(2), stairs(3), ramp(1), ramp(3)))]
    seams = [tuple(motion.meta["handovers"]) for motion in motions]
    assert [len(of_shot) for of_shot in seams] == [2, 2, 2, 1, 1]
    ratios = [list(around_seams(motion, at).values()) for motion, at in zip(motions, seams, strict=True)]
    assert np.mean(np.array(ratios) < 1.0) > 0.9, "of the figures are within people's 99th percentile"


@pytest.mark.parametrize("seed", [13, 16])
def test_where_a_slope_ends_at_a_hand_over_the_hips_keep_their_height(seed: int) -> None:
    bake = SceneBake(ramp(seed))
    (seam,) = bake.motion().meta["handovers"]
    heights = bake.record().places[round(seam * 60) - 10 :, 0, 2][:20]
    assert np.abs(np.diff(heights, n=2)).max() * 60**2 < 30.0


def test_planted_feet_stand_on_treads_landing_and_floor(sat: tuple[Shot, Motion]) -> None:
    shot, motion = sat
    ground = Ground.of([mesh.mesh() for mesh in shot.ground])
    toes = motion.positions[:, MODEL_SKELETON.indices(["LeftToe", "RightToe"])].astype(float)
    down = motion.contacts[:, [CONTACT_JOINTS.index(side + "Toe") for side in ("Left", "Right")]] > 0.5
    near = np.broadcast_to(motion.root[:, None, 2], down.shape)
    above = (toes[..., 2] - TOE_HEIGHT - ground.height(toes[..., :2], near))[down]
    assert np.percentile(np.abs(above), 90) < 0.02


def test_a_box_at_the_foot_of_a_ramp_is_taken() -> None:
    shot = ramp(2)
    shot.keys = shot.keys[:1]
    bake = SceneBake(shot)
    while not bake.keys_done:
        bake.step()
    bake.end_here()
    motion = bake.motion()
    (taken,) = motion.meta["keys"]
    assert not taken["trouble"]
    assert motion.meta["things"]["Load"][-1][2] > 0.3, "the box is lifted"


def test_a_box_at_hand_is_taken_in_the_first_frame() -> None:
    """From where it was taken before, so that no way leads there."""
    shot = ramp(2)
    shot.keys = shot.keys[:1]
    bake = SceneBake(shot)
    bake.motion()
    (hold,) = bake.motion().meta["holds"]["LeftHand"]
    root = bake.motion().root[round(hold[0] * shot.fps)]
    again = SceneBake(replace(shot, start=[float(value) for value in root]))
    while not again.keys_done:
        again.step()
    again.end_here()
    (taken,) = again.motion().meta["keys"]
    assert not taken["trouble"]
    assert again.motion().meta["holds"]["LeftHand"][0][0] < 3.0


def test_a_character_walks_like_another_performer_to_what_it_climbs() -> None:
    """As it is climbed from a level floor alone, the NSM walks there by itself."""
    case = CASES["climb"](DEVELOPMENT_SEEDS[0])
    bake = SceneBake(replace(case.shot, performer="accad_female1"))
    while not bake.keys_done:
        bake.step()
    bake.end_here()
    assert not bake.motion().meta["keys"][0]["trouble"]
    assert "handovers" not in bake.motion().meta


def slope(degrees: float) -> GroundMesh:
    rise = 10 * math.tan(math.radians(degrees))
    corners = [[-5.0, -5.0, 0.0], [5.0, -5.0, rise], [5.0, 5.0, rise], [-5.0, 5.0, 0.0]]
    return GroundMesh("Hill", corners, [[0, 1, 2], [0, 2, 3]])


def refused(shot: Shot) -> str:
    return " ".join(problem.text for problem in check(shot, ABLE) if problem.fatal)


def test_a_seat_on_a_slope_is_refused_in_words() -> None:
    shot = stairs(1)
    low = max(vertex[2] for vertex in shot.ground[0].vertices)
    shot.ground = [slope(10)]
    rise = 5 * math.tan(math.radians(10)) + 3 * math.tan(math.radians(10)) - low
    for collider in shot.colliders:
        collider.poses[:, 2] += rise
    shot.goals[0].place[2] += rise
    assert "is uneven by" in refused(shot)


def test_what_the_flat_network_cannot_do_on_ground_is_refused_in_words() -> None:
    carried = ramp(2)
    carried.goals[1] = Goal("Away", [3.0, 0.0, 1.0])
    assert "over level ground alone" in refused(carried)
    climbed = stairs(1)
    climbed.colliders[0] = replace(climbed.colliders[0], role="climbable")
    climbed.keys = [ActionKey("climb", "Seat")]
    assert "on a level floor alone, and there is ground" in refused(climbed)


def test_flat_ground_changes_nothing_where_things_are_used() -> None:
    shot = stairs(1)
    height = max(vertex[2] for vertex in shot.ground[0].vertices)
    for collider in shot.colliders:
        collider.poses[:, 2] -= height
    shot.goals[0].place[2] -= height
    shot.frames, shot.ground = 120, []
    plain = bake_of(shot).motion()
    floor = block((-9, -9, -0.2), (9, 9, 0)).mesh
    shot.ground = [GroundMesh("Floor", floor.vertices.tolist(), floor.triangles.tolist())]
    np.testing.assert_array_equal(bake_of(shot).motion().positions, plain.positions)


def test_the_networks_phases_lie_half_a_cycle_apart() -> None:
    assert other_phase(0.0) == pytest.approx(math.pi)
    assert other_phase(other_phase(1.0)) == pytest.approx(1.0)


def test_a_jump_at_a_seam_becomes_a_bend() -> None:
    count, seam = 120, 60
    root = np.zeros((count, 4))
    root[:, 0] = np.arange(count) * 0.02
    places = np.repeat(root[:, None, :3], 22, axis=1)
    places[seam:, :, 2] += 0.1
    yaw = np.where(np.arange(count) < seam, 0.0, 0.3)
    rotations = np.repeat(from_yaw(yaw)[:, None], 22, axis=1)
    smooth, turned = without_jumps(root, places, rotations, [seam])
    assert np.abs(np.diff(smooth[:, 0, 2])).max() < 0.01, "10 cm at once before"
    assert np.abs(np.diff(turned[:, 0], axis=0)).max() < 0.02, "0.15 at once before"
    np.testing.assert_array_equal(smooth[:seam], places[:seam])
    np.testing.assert_allclose(smooth[-10:], places[-10:], atol=1e-3)
