# SPDX-License-Identifier: GPL-3.0-or-later
"""Who thinks that he holds a box from beside it steps nearer; a box is put upright onto a board of a shelf."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.baking.nsm import SceneBake
from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Carryable, Surface
from nsm_blender.motion.rotations import from_yaw
from nsm_blender.rollout.goal_input import Reach, Stay
from nsm_blender.rollout.grasp_alignment import CLOSE, FASTEST, stepped
from nsm_blender.rollout.held_objects import between_palms
from nsm_blender.shot.goals import ActionKey, Goal
from nsm_blender.shot.shot import Shot

from .rollouts import record

TOUCH = np.ones(2)


def off_by(metres: float, action: str = "carry", hands: np.ndarray = TOUCH, up: float = 0.1) -> np.ndarray:
    body = record()
    places, rotations = body.places[0], body.rotations[0]
    middle, _ = between_palms(places, rotations)
    return stepped(Reach(middle + np.array([metres, 0.0, up]), 0.0, action, "box"), places, rotations, hands)


@pytest.mark.parametrize("action", ["carry", "idle"])
def test_one_steps_to_a_box_that_is_beside_his_hands_and_not_faster_than_a_step(action: str) -> None:
    near, far = off_by(0.08, action), off_by(0.28, action)
    assert 0 < near[0] < far[0] <= FASTEST + 1e-9
    assert near[1] == far[1] == pytest.approx(0)


def test_who_is_to_bend_keeps_room_before_him() -> None:
    """He faces -Y; his palms are over a place half a metre lower."""
    body = record()
    places, rotations = body.places[0], body.rotations[0]
    middle, _ = between_palms(places, rotations)
    back = stepped(Reach(middle - [0.0, 0.0, 0.5], 0.0, "idle", "box"), places, rotations, TOUCH)
    assert 0.05 < back[1] <= FASTEST and back[0] == pytest.approx(0)


def test_nobody_steps_who_is_on_his_way_or_sits_down_or_stands() -> None:
    body = record()
    assert not off_by(CLOSE + 0.05).any()
    assert not off_by(0.1, hands=np.array([1.0, 0.2])).any()
    assert not off_by(0.1, "sit").any()
    assert not stepped(Stay(np.zeros(3), 0.0, "carry", "box"), body.places[0], body.rotations[0], TOUCH).any()


def test_a_box_is_put_between_the_boards_of_a_shelf_by_one_who_stays_upright() -> None:
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
