# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet stand on treads and before risers, and swing over edges."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.control.footholds import footholds
from nsm_blender.geometry.colliders import Collider, Cuboids, Placed, Surroundings
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

COUNT, TOP = 60, 0.3
STEP = Collider("step", Cuboids(np.array([[0.0, -0.5, TOP / 2]]), np.array([[0.5, 0.5, TOP / 2]])))
ANKLE, TOE = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
EVERYWHERE = np.ones((COUNT, len(CONTACT_JOINTS)))


def near(_: int) -> Placed:
    return Surroundings([STEP]).at(0)


def feet(ankle: Array) -> Array:
    """Places (T, J, 3) of one whose left foot points along -Y, the sole under its ankle at `ankle` (T, 3); all else is
    far away."""
    places = np.full((len(ankle), len(MODEL_SKELETON), 3), 9.0)
    places[:, ANKLE] = ankle + np.array([0.0, 0.0, ANKLE_HEIGHT])
    places[:, TOE] = ankle + np.array([0.0, -0.14, TOE_HEIGHT])
    return places


def test_a_foot_stands_on_the_tread_that_it_is_sunk_in_or_hovers_over() -> None:
    for off in (-0.06, 0.05):
        places = feet(np.tile([0.0, -0.4, TOP + off], (COUNT, 1)))
        shift = footholds(places, EVERYWHERE, near, ["step"], 0.0)["Left"]
        assert shift == pytest.approx(np.tile([0.0, 0.0, -off], (COUNT, 1)), abs=1e-6)


def test_toes_in_a_riser_go_back_before_it() -> None:
    places = feet(np.tile([0.0, 0.1, 0.0], (COUNT, 1)))
    moved = places[:, TOE] + footholds(places, EVERYWHERE, near, ["step"], 0.0)["Left"]
    assert (moved[:, 1] > 0.06).all() and moved[:, 2] == pytest.approx(TOE_HEIGHT)


def test_a_foot_swings_over_the_edge_and_keeps_its_stances() -> None:
    way = np.clip((np.arange(COUNT) - 15) / 30, 0, 1)
    # Straight from the floor onto the tread, through the edge.
    places = feet(np.stack((np.zeros(COUNT), 0.4 - 0.7 * way, TOP * way), axis=1))
    contacts = np.zeros_like(EVERYWHERE)
    contacts[:15] = contacts[46:] = 1
    shift = footholds(places, contacts, near, ["step"], 0.0)["Left"]
    toe, ankle = places[:, TOE] + shift, places[:, ANKLE] + shift
    for point, height in ((toe, TOE_HEIGHT), (ankle, ANKLE_HEIGHT)):
        over = point[:, 1] < 0
        assert (point[over, 2] - height > TOP - 0.02).all()
    assert np.abs(shift[:15]).max() < 1e-6 and np.abs(shift[46:]).max() < 1e-6
    assert np.abs(np.diff(shift, n=2, axis=0)).max() < 0.02


def test_what_carries_nobody_moves_no_foot() -> None:
    assert footholds(feet(np.tile([0.0, -0.4, TOP - 0.05], (COUNT, 1))), EVERYWHERE, near, [], 0.0) == {}
    assert footholds(feet(np.tile([0.0, 3.0, 0.0], (COUNT, 1))), EVERYWHERE, near, ["step"], 0.0) == {}
