# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM goes sideways through gaps in walls, as the shipped weights do it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.errors import ShotError
from nsm_blender.geometry.body import depth
from nsm_blender.geometry.colliders import Surroundings
from nsm_blender.geometry.furniture import make
from nsm_blender.geometry.rooms import Furnishing
from nsm_blender.naturalness.metrics import foot_slide
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

from .obstacles import pen, wall

FPS = 30.0


def squeeze(gap: float, start: list[float], seconds: float) -> Shot:
    """A walk through a gap in a wall across a whole pen."""
    things = [*pen(), wall("Low", (0.0, -2.0), (0.0, -gap / 2)), wall("High", (0.0, gap / 2), (0.0, 2.0))]
    goals = [Goal("g", [1.6, 0.0, 0.0])]
    return Shot(
        "Walker", FPS, round(seconds * FPS), keys=[ActionKey("walk", "g")], goals=goals, colliders=things, start=start
    )


@pytest.mark.parametrize("start", [[-2.0, 0.0, 0.0, math.pi / 2], [-1.0, 0.2, 0.0, -math.pi / 2]])
def test_the_character_goes_sideways_through_a_narrow_gap_and_touches_nothing(start: list[float]) -> None:
    shot = squeeze(0.45, start, 8)
    motion = SceneBake(shot).motion()
    assert motion.meta["keys"][0]["trouble"] == ""
    assert motion.meta["keys"][0]["error_cm"] < 10
    around = Surroundings(shot.colliders)
    assert max(depth(places.astype(float), 0, around, (), False, False) for places in motion.positions) < 0.02
    within = np.abs(motion.root[:, 0]) < 0.15
    assert np.abs(np.sin(motion.root[within, 3].astype(float))).max() < math.sin(math.radians(30))
    assert foot_slide(motion) < 3.0


def test_the_character_sits_down_behind_a_narrow_gap() -> None:
    done = 0
    for seed in (4, 6, 8):
        shot, chair = squeeze(0.46, [-2.0, 0.0, 0.0, math.pi / 2], 10), make("chair", seed)
        shot.colliders.append(Furnishing("Chair", chair, np.array([1.35, 0.0, 0.0]), -math.pi / 2).collider())
        shot.keys, shot.goals = [ActionKey("sit", "g")], [Goal("g", [1.35, 0.0, 0.0], collider="Chair")]
        motion = SceneBake(shot).motion()
        done += motion.meta["keys"][0]["trouble"] == ""
        walls = Surroundings(shot.colliders[:-1])
        assert max(depth(places.astype(float), 0, walls, (), False, False) for places in motion.positions) < 0.02
    assert done >= 2


def test_a_gap_that_is_too_narrow_is_refused_before_the_bake() -> None:
    with pytest.raises(ShotError, match="there are 30 cm, but the character needs 42 cm to go sideways"):
        SceneBake(squeeze(0.3, [-2.0, 0.0, 0.0, math.pi / 2], 8))
