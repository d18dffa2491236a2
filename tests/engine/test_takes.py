# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes: another seed gives another motion that is as good, the same seed the same bytes."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.baking.bake import Bake
from nsm_blender.baking.nsm import SceneBake
from nsm_blender.evaluation.takes import distance, key_shot, path_shot
from nsm_blender.motion.motion import Motion
from nsm_blender.naturalness.metrics import foot_slide
from nsm_blender.planning.takes import PACE, Take
from nsm_blender.shot.goals import ActionKey

from .puppets import Puppet
from .test_task_machine import OPTIONS
from .test_task_machine import shot as furnished


@pytest.fixture(scope="module")
def takes() -> list[Motion]:
    """Four takes of a walk to a goal."""
    return [Bake(key_shot(0, seed)).motion() for seed in range(4)]


def test_takes_differ_by_centimeters_and_reach_the_goal_without_sliding(takes: list[Motion]) -> None:
    for seed, take in enumerate(takes[1:], start=1):
        assert distance(takes[0], take) > 0.5, seed
    for take in takes:
        assert take.meta["keys"][0]["error_cm"] < 10
        assert foot_slide(take) < 3.0
    assert max(distance(takes[0], take) for take in takes) > 2.0


def test_the_same_seed_gives_the_same_bytes(takes: list[Motion]) -> None:
    again = Bake(key_shot(0, 2)).motion()
    for name in ("positions", "rotations", "root", "contacts", "phase", "actions"):
        np.testing.assert_array_equal(getattr(again, name), getattr(takes[2], name))


def test_a_path_is_walked_otherwise_too() -> None:
    one, other = (Bake(path_shot(0, seed)).motion() for seed in (0, 5))
    assert distance(one, other) > 0.5


def test_a_take_of_a_scene_is_another_and_is_not_taken_from_the_one_before() -> None:
    asked = furnished(ActionKey("walk", "door"), seconds=5.0)
    first = SceneBake(asked, Puppet(), OPTIONS)
    first.motion()
    asked = furnished(ActionKey("walk", "door"), seconds=5.0)
    asked.seed = 3
    again = SceneBake(asked, Puppet(), OPTIONS, again=first)
    assert again.first_frame == 0
    assert not np.array_equal(again.motion().phase, first.motion().phase)


def test_seed_0_asks_for_nothing_else_and_others_for_little() -> None:
    times = np.linspace(0.0, 20.0, 200)
    plain, other = Take(0), Take(11)
    assert (plain.phase, plain.tempo(3)) == (0.0, 1.0)
    assert (plain.paces(times) == 1.0).all()
    assert np.abs(other.paces(times) - 1.0).max() <= PACE
    assert np.ptp(other.paces(times)) > 0.2 * PACE
    assert abs(other.tempo(0) - 1.0) <= PACE
