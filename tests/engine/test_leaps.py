# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaps over gaps that are too wide for a step: they clear the gap, are told, and need room."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.gaps import StepsOver
from nsm_blender.geometry.ground import Ground, GroundMesh
from nsm_blender.geometry.shapes import block
from nsm_blender.models.pfnn_kernels import PFNN
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.paths import weights_folder
from nsm_blender.planning.leaps import Leaps
from nsm_blender.planning.path import GroundPath
from nsm_blender.planning.path_on_ground import BlockedPathError, Gap, check_path
from nsm_blender.shot.shot import PathFollow, Shot

HEIGHT = 1.0
"""Meters of the platforms above the floor."""
GAPS = [(0.6, 3.1, "walk"), (1.1, 2.6, "walk"), (0.6, 2.9, "jog"), (0.9, 3.0, "jog")]
"""Width in meters of a gap, meters of run-up before it, and gait."""


def platform(start: float, end: float, name: str = "Platform") -> GroundMesh:
    solid = block((start, -2, 0), (end, 2, HEIGHT)).mesh
    return GroundMesh(name, solid.vertices.tolist(), solid.triangles.tolist())


def over_gap(width: float, run_up: float = 3.0, gait: str = "walk", landing: float = 2.0) -> Shot:
    """A straight path along x, with the gap from 0 on."""
    speed = 2.4 if gait == "jog" else 1.2
    frames = int(120 * (run_up + width + landing) / speed) + 60
    points = [[-run_up, 0.0, HEIGHT], [width + landing, 0.0, HEIGHT]]
    follow = PathFollow(points, [speed] * frames, [gait] * frames, [0.0] * frames)
    return Shot("Leaper", 60.0, frames, path=follow, ground=[platform(-9, 0, "Near"), platform(width, 9, "Far")])


def is_clean(motion: Motion, width: float) -> bool:
    """Whether the character arrives, and no foot is in the gap or goes through an edge."""
    feet = motion.positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS)].astype(float) - (0, 0, HEIGHT)
    inside = (feet[..., 0] > 0.05) & (feet[..., 0] < width - 0.05)
    in_gap = inside & ((motion.contacts > 0.5) | (feet[..., 2] < -0.05))
    return bool(motion.root[:, 0].max() > width + 1.7 and not in_gap.any() and feet[..., 2].min() > -0.05)


@pytest.fixture(scope="module")
def leapt() -> list[Motion]:
    return [Bake(over_gap(*gap)).motion() for gap in GAPS]


def test_gaps_are_leapt_with_no_foot_in_them(leapt: list[Motion]) -> None:
    clean = [is_clean(motion, width) for motion, (width, _, _) in zip(leapt, GAPS, strict=True)]
    assert sum(clean) >= 3, clean


def test_the_root_stays_at_the_height_of_the_edges(leapt: list[Motion]) -> None:
    for motion in leapt:
        np.testing.assert_allclose(motion.root[:, 2], HEIGHT, atol=0.01)


def test_hips_and_feet_move_smoothly_through_a_leap(leapt: list[Motion]) -> None:
    """Jumps of a foot from frame to frame are 500 m/s^2 and more; recorded jogs have 90."""
    largest = []
    for motion in leapt:
        joints = motion.positions[:, MODEL_SKELETON.indices(["Hips", "LeftFoot", "RightFoot"])].astype(float)
        largest.append(np.linalg.norm(np.diff(joints, 2, axis=0), axis=2).max() * 60**2)
    assert np.median(largest) < 120
    assert max(largest) < 300


def test_a_leap_is_told_with_its_time(leapt: list[Motion]) -> None:
    for motion in leapt:
        (note,) = [note for note in motion.meta["notes"] if "leaps over a gap" in note]
        start, stop = float(note.split()[1]), float(note.split()[3])
        x = motion.root[round(60 * start) : round(60 * stop) + 1, 0]
        assert x[0] < 1.0 and x[-1] > -0.3


@pytest.fixture
def without_jump(tmp_path: Path) -> Path:
    """The weights for level ground, with none beside them that can jump."""
    for name in ("pfnn.safetensors", "pfnn.json", "sway.safetensors"):
        shutil.copy(weights_folder() / name, tmp_path)
    return tmp_path / "pfnn.safetensors"


def test_a_path_without_a_gap_does_not_depend_on_the_weights_that_jump(without_jump: Path) -> None:
    frames = 200
    follow = PathFollow([[-3.0, 0, HEIGHT], [0.0, 0, HEIGHT]], [1.2] * frames, ["walk"] * frames, [0.0] * frames)
    shot = Shot("Walker", 60.0, frames, path=follow, ground=[platform(-9, 9)])
    shipped, alone = Bake(shot).motion(), Bake(shot, without_jump).motion()
    np.testing.assert_array_equal(shipped.positions, alone.positions)
    np.testing.assert_array_equal(shipped.rotations, alone.rotations)
    assert shipped.meta == alone.meta


def test_without_weights_that_jump_a_gap_is_refused(without_jump: Path) -> None:
    with pytest.raises(BlockedPathError, match=r"leaves 'Near' over an edge 1\.00 m deep"):
        Bake(over_gap(0.8), without_jump)


@pytest.mark.parametrize(
    ("shot", "words"),
    [
        (over_gap(1.6), r"leaves 'Near' over an edge 1\.00 m deep"),
        (over_gap(0.8, run_up=0.6), r"has 0\.60 m before it for the run-up; 1\.00 m are needed\. Make the path longer"),
        (over_gap(0.8, landing=0.5), r"has 0\.50 m behind it for the landing; 1\.00 m are needed\. Make the path"),
    ],
)
def test_a_gap_that_cannot_be_leapt_says_why(shot: Shot, words: str) -> None:
    with pytest.raises(BlockedPathError, match=words):
        Bake(shot)


def found(stones: list[GroundMesh], end: float) -> list[Gap]:
    path = GroundPath(np.array([[0.0, 0.0], [end, 0.0]]))
    return check_path(path, Ground.of([one.mesh() for one in stones]), HEIGHT, stones, leaps=True).gaps


def test_between_two_leaps_there_is_room_for_landing_and_run_up() -> None:
    gaps = found([platform(-1, 3), platform(3.8, 6), platform(6.7, 12)], 10.0)
    assert [gap.is_leapt for gap in gaps] == [True, True]
    with pytest.raises(BlockedPathError, match=r"2\.00 m are needed"):
        found([platform(-1, 3), platform(3.8, 5), platform(5.7, 12)], 10.0)


def test_a_narrow_gap_is_stepped_over_and_a_shallow_one_walked_through() -> None:
    (gap,) = found([platform(-1, 3), platform(3.4, 12)], 8.0)
    assert not gap.is_leapt
    ditch = block((3, -2, 0), (4, 2, HEIGHT - 0.4)).mesh
    meshes = [platform(-1, 3), GroundMesh("Ditch", ditch.vertices.tolist(), ditch.triangles.tolist()), platform(4, 12)]
    assert found(meshes, 8.0) == []


def test_each_round_of_a_closed_path_has_leaps_of_its_own() -> None:
    leaps = Leaps([Gap(3.0, 3.8, (0.0, 0.0), True)], round_length=10.0)
    assert [leaps.runs_up(s) for s in (0.5, 2.0, 12.5, 22.5, 24.0)] == [False, True, True, True, False]
    assert leaps.speed(12.5, 1.0) > 1.5 and leaps.speed(15.0, 1.0) == 1.0
    assert leaps.jumps(13.2) and not leaps.jumps(12.0)


def test_a_character_that_is_to_stand_on_the_run_up_stands() -> None:
    leaps = Leaps([Gap(3.0, 3.8, (0.0, 0.0), True)])
    assert leaps.speed(2.0, 0.0) == 0.0 < leaps.speed(2.0, 0.5)
    assert leaps.speed(3.4, 0.0) > 1


def test_the_shipped_weights_know_which_of_them_can_jump() -> None:
    jumps = {name: PFNN.load(weights_folder() / name).knows_gait("jump") for name in SHIPPED}
    assert jumps == SHIPPED


SHIPPED = {"pfnn.safetensors": False, "pfnn_terrain.safetensors": True}
"""Whether weights were trained on jumps."""


def test_heel_and_ball_of_a_foot_are_moved_out_of_a_gap_on_every_round() -> None:
    corners = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 5.0], [0.0, 5.0]])
    path = GroundPath(corners, closed=True)
    # Round and round, as the arc length of a root is found near that of the frame before.
    along = np.arange(0.0, 25.0, 0.1)
    root = np.column_stack((path.position(along), np.zeros((len(along), 2))))
    places = np.tile(root[:, None, :3], (1, len(MODEL_SKELETON.names), 1))
    contacts = np.zeros((len(along), 4))
    stands = np.abs(along - 22.2) < 0.25
    contacts[stands, :2] = 1
    moved = StepsOver(path, [Gap(2.0, 2.6, (0.0, 0.0))]).targets(places, contacts, root)
    ankle, toe = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    shift = moved[stands] - places[stands]
    np.testing.assert_allclose(shift[:, ankle], shift[:, toe])
    assert np.median(moved[stands][:, toe, 0]) < 2.0


def test_stairs_behind_a_gap_are_walked_as_smoothly_as_stairs_alone() -> None:
    """The network that leaps jerks on them: by 150 m/s^2 and more."""
    steps = [block((2.6 + 0.3 * i, -1.5, 0), (7, 1.5, HEIGHT + 0.17 * (i + 1))).mesh for i in range(4)]
    stairs = [GroundMesh(f"Step {i}", step.vertices.tolist(), step.triangles.tolist()) for i, step in enumerate(steps)]
    shot = over_gap(0.6, landing=5.0)
    motion = Bake(replace(shot, ground=[platform(-9, 0, "Near"), platform(0.6, 2.6, "Far"), *stairs])).motion()
    hips = np.linalg.norm(np.diff(motion.positions[:, 0].astype(float), 2, axis=0), axis=1) * 60**2
    on_stairs = (motion.root[1:-1, 0] > 2.2) & (motion.root[1:-1, 0] < 4.5)
    assert on_stairs.sum() > 60 and hips[on_stairs].max() < 40
