# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet stand on treads and before risers, and swing over edges; hips come down to the feet that carry them."""

from __future__ import annotations

import numpy as np
import pytest
from nsm_blender.cleanup.climbing import climbing

from nsm_blender.cleanup.footholds import OVER, Footholds
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT

COUNT, HIPS = 60, 0.9
LEFT, RIGHT = ([CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")] for side in ("Left", "Right"))
EVERYWHERE = np.ones((COUNT, len(CONTACT_JOINTS)), dtype=np.float32)
ROTATIONS = np.tile([1.0, 0.0, 0.0, 0.0], (COUNT, len(MODEL_SKELETON), 1))


def step(top: float) -> Surroundings:
    """A block from y = 0 on along -Y."""
    return Surroundings([Collider("step", Cuboids(np.array([[0.0, -0.5, top / 2]]), np.array([[0.5, 0.5, top / 2]])))])


def body(left: Array, right: Array | None = None) -> Array:
    """Places (T, J, 3) of one whose hips are over his feet, the soles under his ankles at places (T, 3)."""
    right = np.tile([-0.2, 3.0, 0.0], (COUNT, 1)) if right is None else right
    places = np.zeros((COUNT, len(MODEL_SKELETON), 3))
    places[:] = ((left + right) / 2)[:, None] + [0, 0, HIPS]
    for side, ankle in (("Left", left), ("Right", right)):
        places[:, MODEL_SKELETON.index(side + "UpLeg")] += np.array([0.1 if side == "Left" else -0.1, 0.0, 0.0])
        places[:, MODEL_SKELETON.index(side + "Foot")] = ankle + np.array([0.0, 0.0, ANKLE_HEIGHT])
        places[:, MODEL_SKELETON.index(side + "Toe")] = ankle + np.array([0.0, -0.14, TOE_HEIGHT])
    return places


def still(place: list[float]) -> Array:
    return np.tile(place, (COUNT, 1))


def stepping(top: float) -> tuple[Array, Array]:
    """A left foot (T, 3) that goes straight through the edge from the floor onto a block, and contacts."""
    way = np.clip((np.arange(COUNT) - 15) / 30, 0, 1)
    contacts = EVERYWHERE.copy()
    contacts[15:46, LEFT] = 0
    return np.stack((np.zeros(COUNT), 0.4 - 0.7 * way, top * way), axis=1), contacts


def holds(places: Array, contacts: Array, top: float) -> Footholds:
    return Footholds(places, ROTATIONS, contacts, [step(top).at(0)] * COUNT, 0.0)


@pytest.mark.parametrize("off", [-0.06, 0.05])
def test_a_foot_stands_on_the_tread_that_it_is_sunk_in_or_hovers_over(off: float) -> None:
    shift = holds(body(still([0.0, -0.4, 0.3 + off])), EVERYWHERE, 0.3).stances()["Left"]
    assert shift == pytest.approx(still([0.0, 0.0, -off]), abs=1e-6)


def test_a_foot_between_floor_and_top_stands_on_one_of_them() -> None:
    for height in np.linspace(0.0, 0.7, 8):
        places = body(still([0.0, 0.25, height]))
        foot = places[0, MODEL_SKELETON.index("LeftToe")] + holds(places, EVERYWHERE, 0.7).stances()["Left"][0]
        on = foot[1] < 0
        assert foot[2] - TOE_HEIGHT == pytest.approx(0.7 if on else 0.0, abs=1e-6)


def test_toes_in_a_riser_go_back_before_it() -> None:
    places = body(still([0.0, 0.1, 0.0]))
    moved = places[:, MODEL_SKELETON.index("LeftToe")] + holds(places, EVERYWHERE, 0.3).stances()["Left"]
    assert (moved[:, 1] > 0.06).all() and moved[:, 2] == pytest.approx(TOE_HEIGHT)


@pytest.mark.parametrize("top", [0.2, 0.5, 0.8])
def test_a_foot_swings_over_the_edge_without_a_flick(top: float) -> None:
    ankle, contacts = stepping(top)
    places = body(ankle, still([-0.2, 0.35, 0.0]))
    found = holds(places, contacts, top)
    shift = found.shifts(np.zeros((COUNT, 3)))["Left"]
    for joint, height in (("LeftToe", TOE_HEIGHT), ("LeftFoot", ANKLE_HEIGHT)):
        point = places[:, MODEL_SKELETON.index(joint)] + shift
        assert (point[point[:, 1] < 0, 2] - height > top - OVER).all()
    stands = found.contacts[:, LEFT].any(axis=1)
    assert np.abs(np.diff((places[:, MODEL_SKELETON.index("LeftToe")] + shift)[stands], axis=0))[:14].max() < 1e-6
    assert np.linalg.norm(np.diff(places[:, MODEL_SKELETON.index("LeftToe")] + shift, n=2, axis=0), axis=1).max() < 0.03


def test_one_foot_stays_until_the_other_stands() -> None:
    left, contacts = still([0.1, -0.2, 0.5]), EVERYWHERE.copy()
    left[30:] = [0.1, 0.6, 0.0]
    contacts[20:30, LEFT] = 0
    contacts[18:50, RIGHT] = 0
    found = holds(body(left, still([-0.1, -0.2, 0.5])), contacts, 0.5)
    assert found.contacts.any(axis=1).all()


def test_hips_come_down_to_a_foot_on_the_floor_and_stay_before_the_face() -> None:
    places = body(still([0.1, 0.3, 0.25]), still([-0.1, 0.3, 0.25]))
    places[:, 0, 1] = 0.1
    surroundings = step(0.9)
    facing = np.zeros(COUNT)
    climb = climbing(places, ROTATIONS, facing, EVERYWHERE, lambda _: surroundings.at(0), ["step"], 0.0)
    assert climb is not None
    hips = places[:, 0] + climb.hips
    assert (hips[:, 2] < HIPS + 0.25 - 0.1).all() and (hips[:, 1] > 0.2).all()
    neck = MODEL_SKELETON.index("Neck")
    leant = MODEL_SKELETON.positions(hips, climb.leaning(ROTATIONS))[:, neck] - hips
    assert (leant[:, 1] < -0.05).all()


def test_nothing_changes_where_there_are_no_steps() -> None:
    places, near = body(still([0.0, -0.4, 0.25])), step(0.3)
    assert climbing(places, ROTATIONS, np.zeros(COUNT), EVERYWHERE, lambda _: near.at(0), [], 0.0) is None
    away = body(still([0.0, 3.0, 0.0]))
    assert climbing(away, ROTATIONS, np.zeros(COUNT), EVERYWHERE, lambda _: near.at(0), ["step"], 0.0) is None
