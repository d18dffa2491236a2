# SPDX-License-Identifier: GPL-3.0-or-later
"""Jump keys: on the spot, to a goal, onto something, off something and over a gap; and what is refused in words."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.nsm import SceneBake, bake_of
from nsm_blender.errors import ShotError
from nsm_blender.evaluation import jumps
from nsm_blender.evaluation.nsm_trials import BOXES, SEATS, carry_shot, pieces, sit_shot
from nsm_blender.geometry.ground import Ground, GroundMesh
from nsm_blender.geometry.shapes import block
from nsm_blender.motion.filters import runs
from nsm_blender.motion.motion import Motion
from nsm_blender.motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from nsm_blender.paths import weights_folder
from nsm_blender.planning.hop import Hop
from nsm_blender.planning.trajectory import State
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.validation import check

ALONG_X = math.pi / 2
"""Facing angle along +x."""
FEET = MODEL_SKELETON.indices(CONTACT_JOINTS)


def platform(start: float, end: float, height: float, half_width: float = 1.5) -> GroundMesh:
    solid = block((start, -half_width, 0), (end, half_width, height)).mesh
    return GroundMesh(f"Platform {start}", solid.vertices.tolist(), solid.triangles.tolist())


def jump_to(x: float | None, height: float = 0.0, ground: list[GroundMesh] | None = None, begin: float = 0.0) -> Shot:
    """A character at x 0 and a height that jumps to a goal ahead, or on the spot."""
    goals = [] if x is None else [Goal("Spot", [x, 0.0, height])]
    keys = [ActionKey("jump", goals[0].name if goals else "")]
    return Shot("Jumper", 60.0, 480, keys=keys, goals=goals, ground=ground or [], start=[0.0, 0.0, begin, ALONG_X])


def flights(motion: Motion, ground: Ground | None = None) -> list[float]:
    """Seconds of each span in which both feet are clearly off what is below them."""
    feet = motion.positions[:, FEET].astype(float)
    below = 0.0 if ground is None else ground.height(feet[..., :2], motion.root[:, None, 2].astype(float))
    air = (feet[..., 2] - below > 0.09).all(axis=1)
    return [(stop - start) / motion.fps for start, stop in runs(air) if stop - start > 0.1 * motion.fps]


@pytest.mark.parametrize("seed", [0, 3])
def test_without_a_goal_the_character_jumps_where_it_stands(seed: int) -> None:
    motion = Bake(replace(jump_to(None), seed=seed, frames=260)).motion()
    (flight,) = flights(motion)
    hips = motion.positions[:, 0, 2].astype(float)
    rise = hips.max() - hips[0]
    assert 0.15 < rise < 0.4
    # No longer than a body falls from there, and the push and the landing with bent knees.
    assert 0.3 < flight < 2 * math.sqrt(2 * rise / 9.81) + 0.2
    assert hips[: hips.argmax()].min() < hips[0] - 0.02, "it bends its knees before"
    assert np.linalg.norm(motion.root[-1, :2] - motion.root[0, :2]) < 0.05
    assert motion.meta["keys"][0]["trouble"] == ""


TALL = platform(1.6, 4.0, 0.8)
WEIGHTS = weights_folder() / "pfnn.safetensors"

PLACES = {
    "level": (2.0, 0.0, [], 0.0),
    "onto": (2.0, 0.4, [platform(1.6, 4.0, 0.4)], 0.0),
    "off": (1.6, 0.0, [platform(-2.0, 1.0, 0.6)], 0.6),
    "gap": (2.4, 1.0, [platform(-2.0, 1.5, 1.0), platform(2.05, 5.0, 1.0)], 1.0),
}
"""x and height of the goal, the ground, and the height of the start."""


@pytest.fixture(scope="module")
def jumped() -> dict[str, tuple[Shot, Motion]]:
    shots = {name: jump_to(*place) for name, place in PLACES.items()}
    return {name: (shot, Bake(shot).motion()) for name, shot in shots.items()}


@pytest.mark.parametrize("name", PLACES)
def test_the_character_lands_on_its_goal_and_stands_there(jumped: dict[str, tuple[Shot, Motion]], name: str) -> None:
    shot, motion = jumped[name]
    (key,) = motion.meta["keys"]
    assert key["trouble"] == "" and key["error_cm"] < 5
    np.testing.assert_allclose(motion.root[-1, :3], shot.goals[0].place, atol=0.05)
    assert motion.contacts[-1].max() == 1


@pytest.mark.parametrize("name", PLACES)
def test_no_foot_goes_through_what_is_jumped_over(jumped: dict[str, tuple[Shot, Motion]], name: str) -> None:
    shot, motion = jumped[name]
    ground = Ground.of([mesh.mesh() for mesh in shot.ground])
    assert flights(motion, ground)
    feet = motion.positions[:, FEET].astype(float)
    below = ground.height(feet[..., :2], motion.root[:, None, 2].astype(float))
    assert (feet[..., 2] - below).min() > -0.03
    if name == "gap":
        assert feet[..., 2].min() > 0.95


@pytest.mark.parametrize("name", PLACES)
def test_the_hips_take_off_and_land_smoothly(jumped: dict[str, tuple[Shot, Motion]], name: str) -> None:
    """A body that is moved in the air alone starts and stops with 100 m/s^2 and more."""
    hips = jumped[name][1].positions[:, 0].astype(float)
    assert np.linalg.norm(np.diff(hips, 2, axis=0), axis=1).max() * 60**2 < 50


def test_a_course_begins_at_its_start_and_ends_at_its_end_without_a_step() -> None:
    start, end = np.array([1.0, 2.0, 0.3]), np.array([1.0, 3.2, 0.7])
    hop = Hop(start, end, 10.0, 0.0)
    times = np.arange(10.0, 12.5, 1 / 60)
    states = [State(1.0, 2.0, 0.0, time) for time in times]
    heights = np.array([hop.future(state).airborne.height for state in states])  # type: ignore[union-attr]
    assert heights[0] == 0.3 and abs(heights[-1] - 0.7) < 1e-9
    assert (np.diff(heights) >= -1e-9).all() and np.diff(heights).max() < 0.02
    assert not hop.is_over(11.0) and hop.is_over(12.5)


def test_a_jump_and_a_seat_in_one_shot_are_two_networks_in_one_motion() -> None:
    shot = sit_shot(pieces(SEATS, 1, development=True)[0], np.random.default_rng(3))
    keys = [ActionKey("jump"), *shot.keys]
    bake = bake_of(replace(shot, keys=keys, frames=round(10 * shot.fps)))
    assert isinstance(bake, SceneBake)
    motion = bake.motion()
    jump, sit = motion.meta["keys"]
    assert jump["trouble"] == sit["trouble"] == ""
    hips = motion.positions[: jump["done"], 0, 2]
    assert hips.max() > hips[0] + 0.15


def test_a_jump_that_is_added_to_a_shot_is_baked_from_the_beginning() -> None:
    """The character walked by another network before."""
    shot = sit_shot(pieces(SEATS, 1, development=True)[0], np.random.default_rng(3))
    walked = SceneBake(replace(shot, frames=90))
    walked.motion()
    again = bake_of(replace(shot, keys=[*shot.keys, ActionKey("jump")], frames=90), again=walked)
    assert again.motion().meta["locomotion"] and walked.motion().meta.get("locomotion") is None


@pytest.mark.parametrize(
    ("shot", "told"),
    [
        (jump_to(2.0, 0.8, [platform(1.6, 4.0, 0.8)]), "cannot reach 'Spot' on 'Platform 1.6'"),
        (jump_to(2.0, 0.8, [platform(1.7, 2.3, 0.8, 0.3)]), "'Spot' lies 0.80 m higher .* jumps up 0.4 m"),
        (jump_to(1.6, 0.0, [platform(-2.0, 1.0, 1.2)], 1.2), "cannot reach 'Spot'"),
        (jump_to(3.0, 1.0, [platform(-2.0, 1.0, 1.0), platform(2.6, 5, 1.0)], 1.0), "cannot reach 'Spot'"),
    ],
    ids=["too high", "too high and too small", "too deep", "too far"],
)
def test_what_is_not_jumped_is_refused_with_the_reason(shot: Shot, told: str) -> None:
    with pytest.raises(ShotError, match=told):
        Bake(shot)


def test_a_jump_with_full_hands_is_told_before() -> None:
    carry = carry_shot(pieces(BOXES, 1, development=True)[0], np.random.default_rng(3))
    shot = replace(carry, keys=[*carry.keys[:1], ActionKey("jump")])
    assert any(one.fatal and "still holds" in one.text and one.key == 1 for one in check(shot))


def test_a_jump_lands_at_the_frame_that_is_asked_for() -> None:
    shot = jump_to(2.5)
    motion = Bake(replace(shot, keys=[replace(shot.keys[0], arrive=380)])).motion()
    (key,) = motion.meta["keys"]
    assert key["trouble"] == "" and abs(key["arrived"] - 380) <= 1
    away = np.linalg.norm(motion.root[:, :2] - shot.goals[0].place[:2], axis=1)
    assert away[385] < 0.1 < away[365]


def test_a_jump_on_the_spot_arrives_nowhere_and_says_so() -> None:
    shot = jump_to(None)
    with pytest.raises(ShotError, match="arrives nowhere"):
        replace(shot, keys=[replace(shot.keys[0], arrive=200)]).validate()


def test_weights_without_a_jump_and_none_beside_them_are_refused(tmp_path: Path) -> None:
    for file in ("pfnn.safetensors", "pfnn.json"):
        shutil.copy(weights_folder() / file, tmp_path / file)
    with pytest.raises(ShotError, match="know no jump"):
        Bake(jump_to(None), tmp_path / "pfnn.safetensors")


def test_the_table_tells_how_many_jumps_land_on_their_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jumps, "KINDS", {"spot": jumps.spot, "refused": lambda rng: jump_to(2.0, 0.8, [TALL])})
    figures = jumps.jump_figures(WEIGHTS, print, quick=True)
    assert figures["pfnn.jumps.spot.done"] == 1 and figures["pfnn.jumps.refused.done"] == 0
    assert figures["pfnn.jumps.done"] == 0.5
    assert figures["pfnn.jumps.spot.goal_cm.max"] < 100 * jumps.LANDED
