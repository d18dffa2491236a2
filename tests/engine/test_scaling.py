# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders and handles at another size."""

from __future__ import annotations

import numpy as np

from nsm_blender.geometry.colliders import Collider, Cuboids
from nsm_blender.geometry.roles import Door, Seat
from nsm_blender.geometry.scaling import scaled, scaled_handles


def test_a_collider_twice_as_large_is_twice_as_far_away_and_turned_alike():
    pose = [1.0, 2.0, 0.5, 0.6, 0.0, 0.8, 0.0]
    chair = Collider("Chair", Cuboids(np.array([[0.1, 0, 0.4]]), np.array([[0.2, 0.3, 0.4]])), np.array([pose]))
    large = scaled(chair, 2.0)
    assert large.poses.tolist() == [[2.0, 4.0, 1.0, 0.6, 0.0, 0.8, 0.0]]
    assert large.cuboids.center.tolist() == [[0.2, 0, 0.8]]
    assert large.cuboids.half.tolist() == [[0.4, 0.6, 0.8]]
    assert chair.poses.tolist() == [pose], "the original stays"


def test_handles_keep_directions_angles_and_words():
    door = scaled_handles(Door([1, 0, 0], [0, 0, 1], [0.2, 0, 1], 0.9, 2.0, -1.5), 0.5)
    assert door == Door([0.5, 0, 0], [0, 0, 1], [0.1, 0, 0.5], 0.45, 1.0, -1.5)
    seat = scaled_handles(Seat([0, 0, 0.5], [0, -1, 0], 0.4, 0.5, [[0.2, 0, 0.6]], ["front", "left"]), 2.0)
    assert seat == Seat([0, 0, 1.0], [0, -1, 0], 0.8, 1.0, [[0.4, 0, 1.2]], ["front", "left"])
    assert scaled_handles(Seat([0, 0, 1], [0, 1, 0], 1, 1), 3.0).arm_rests == []
