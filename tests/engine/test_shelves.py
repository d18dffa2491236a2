# SPDX-License-Identifier: GPL-3.0-or-later
"""A box is put between the boards of a shelf by the shipped network."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Carryable, Surface
from nsm_blender.motion.rotations import from_yaw
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot


def test_a_box_is_put_between_the_boards_of_a_shelf_by_a_character_that_stays_upright() -> None:
    def boards(*low_high: list[float]) -> Cuboids:
        corners = np.array(low_high)
        return Cuboids((corners[:, :3] + corners[:, 3:]) / 2, (corners[:, 3:] - corners[:, :3]) / 2)

    levels = [[-0.503, -0.177, z, 0.503, 0.177, z + 0.028] for z in (0.052, 0.677, 1.301, 1.925)]
    sides = [[x - 0.014, -0.177, 0.0, x + 0.014, 0.177, 1.953] for x in (-0.489, 0.489)]
    shelf = boards(*levels, *sides, [-0.503, 0.165, 0.0, 0.503, 0.177, 1.953])
    legs = [[x - 0.022, y - 0.022, 0.0, x + 0.022, y + 0.022, 0.727] for x in (-0.605, 0.605) for y in (-0.366, 0.366)]
    table = boards([-0.627, -0.388, 0.727, 0.627, 0.388, 0.757], *legs)
    crate = boards([-0.202, -0.128, 0.0, 0.202, 0.128, 0.248])
    handles = Carryable([0.202, 0.0, 0.124], [-0.202, 0.0, 0.124], [0.0, -1.0, 0.0])
    top = Surface([0.0, -0.006, 0.705], [0.0, -1.0, 0.0], 0.951, 0.341)
    turned = [-3.034, 1.252, 0.0, *from_yaw(np.array(1.595))]
    colliders = [
        Collider("table", table, np.array([[-0.9, -0.7, 0.0, 1, 0, 0, 0]]), "obstacle"),
        Collider("crate", crate, np.array([[-0.85, -0.92, 0.759, 1, 0, 0, 0]]), "carryable", handles),
        Collider("shelf", shelf, np.array([turned]), "surface", top),
    ]
    goals = [Goal(name, [0.0, 0.0, 0.0], None, name) for name in ("crate", "shelf")]
    keys = [ActionKey("pick_up", "crate"), ActionKey("put_down", "shelf")]
    start = [0.531, -2.956, 0.0, -2.786]
    shot = Shot("actor", 30.0, 600, keys=keys, goals=goals, colliders=colliders, start=start)
    motion = SceneBake(shot).motion()
    taken, put = motion.meta["keys"]
    assert taken["trouble"] == put["trouble"] == ""
    necks = motion.positions[taken["done"] : put["done"], motion.names.index("Neck"), 2]
    assert necks.min() > 1.0
    box = np.array(motion.meta["things"]["crate"])[-1]
    assert box[2] == pytest.approx(0.707, abs=0.005)
    assert abs(box[0] + 3.034) < 0.15 and abs(box[1] - 1.252) < 0.15
    assert motion.meta["corrections"][1]["raw_cm"] < 15
