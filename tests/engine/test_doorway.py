# SPDX-License-Identifier: GPL-3.0-or-later
"""Leaves that turn beside bodies: how far they may, and how far they have to."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Door
from nsm_blender.geometry.scene_state import turned_about
from nsm_blender.motion.rotations import Array
from nsm_blender.rollout.doorway import LEAVES, doorway

WIDTH, RADIUS = 0.8, 0.1


def leaf(angle: float) -> Collider:
    """Its hinge is at -X of the doorway's middle; it swings towards +Y where the angle is positive."""
    handles = Door([-0.4, 0.0, 0.0], [0.0, 0.0, 1.0], [0.3, 0.0, 1.0], WIDTH, 2.0, angle)
    return Collider("leaf", Cuboids(np.array([[0.0, 0.0, 1.0]]), np.array([[0.4, 0.02, 1.0]])), handles=handles)


def opened(door: Collider, angle: float) -> Array:
    assert isinstance(door.handles, Door)
    return turned_about(np.array([0.0, 0, 0, 1, 0, 0, 0]), np.array(door.handles.hinge), np.array([0, 0, 1.0]), angle)


def away(door: Collider, angle: float, point: Array) -> float:
    """Meters from a point of the ground to the leaf when it stands open by an angle."""
    middle, turn = np.array([-0.4, 0.0]), np.array([np.cos(angle), np.sin(angle)])
    along = float(np.clip((point - middle) @ turn, 0, WIDTH))
    return float(np.linalg.norm(point - middle - along * turn)) - 0.02


@pytest.mark.parametrize("way", [1.0, -1.0])
@pytest.mark.parametrize("turned", [0.0, 0.4])
def test_a_leaf_stops_just_before_what_it_swings_to(way: float, turned: float) -> None:
    door = leaf(1.5 * way)
    body = np.array([[0.1, 0.55 * way]])
    now = doorway(door, opened(door, turned * way))
    at = now.turned + now.room(body, np.array([RADIUS]))
    assert now.turned == pytest.approx(turned)
    assert RADIUS < away(door, at * way, body[0]) < RADIUS + 2 * LEAVES
    assert now.way(body, np.array([RADIUS])) == 0


def test_a_leaf_gives_way_to_what_comes_from_behind_it_and_to_nothing_beside_it() -> None:
    door = leaf(1.5)
    now, radii = doorway(door, opened(door, 0.4)), np.array([RADIUS])
    body = np.array([[0.1, 0.15]])
    at = now.turned + now.way(body, radii)
    assert away(door, at, body[0]) > RADIUS
    for beside in ([[0.1, -0.5]], [[0.9, 0.3]]):
        assert now.way(np.array(beside), radii) == 0 and now.room(np.array(beside), radii) == np.inf
