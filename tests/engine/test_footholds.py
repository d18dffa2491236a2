# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet stand on treads and before risers, and swing over their edges."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.cleanup.cleanup import posed
from nsm_blender.cleanup.footholds import footholds
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.scene_state import Scenery
from nsm_blender.models.nsm import CONTACTS, FPS
from nsm_blender.motion.easing import smoothstep
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, HIPS_HEIGHT, MODEL_SKELETON, TOE_HEIGHT
from nsm_blender.rollout.held_objects import Hands

from .rollouts import COUNT as ROLLOUT
from .rollouts import record

COUNT, HIPS = 60, 0.9
LEFT, RIGHT = ([CONTACT_JOINTS.index(side + part) for part in ("Foot", "Toe")] for side in ("Left", "Right"))
EVERYWHERE = np.ones((COUNT, len(CONTACT_JOINTS)), dtype=np.float32)


def step(top: float) -> Surroundings:
    """A block from y = 0 on along -Y."""
    return Surroundings([Collider("step", Cuboids(np.array([[0.0, -0.5, top / 2]]), np.array([[0.5, 0.5, top / 2]])))])


def body(left: Array, right: Array | None = None) -> Array:
    """Joint places (T, J, 3) of a body over its feet, with the soles under the ankles at places (T, 3)."""
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


def shifts(places: Array, top: float) -> dict[str, Array]:
    """By how many meters (T, 3) feet that stand all the time move beside a block."""
    return footholds(places, EVERYWHERE, lambda _: step(top).at(0), 0.0)[1]


@pytest.mark.parametrize("off", [-0.06, 0.05])
def test_a_foot_stands_on_the_tread_that_it_is_sunk_in_or_hovers_over(off: float) -> None:
    shift = shifts(body(still([0.0, -0.4, 0.3 + off])), 0.3)["Left"]
    assert shift == pytest.approx(still([0.0, 0.0, -off]), abs=1e-6)


def test_a_foot_between_floor_and_top_stands_on_one_of_them() -> None:
    for height in np.linspace(0.0, 0.7, 8):
        places = body(still([0.0, 0.25, height]))
        moved = shifts(places, 0.7)
        foot = places[0, MODEL_SKELETON.index("LeftToe")] + (moved["Left"][0] if moved else 0)
        on = foot[1] < 0
        assert foot[2] - TOE_HEIGHT == pytest.approx(0.7 if on else 0.0, abs=1e-6)


def test_toes_in_a_riser_go_back_before_it() -> None:
    places = body(still([0.0, 0.1, 0.0]))
    moved = places[:, MODEL_SKELETON.index("LeftToe")] + shifts(places, 0.3)["Left"]
    assert (moved[:, 1] > 0.06).all() and moved[:, 2] == pytest.approx(TOE_HEIGHT)


@pytest.mark.parametrize("top", [0.2, 0.45])
def test_a_foot_that_steps_up_through_an_edge_goes_over_it(top: float) -> None:
    rest = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT])
    way = smoothstep((np.arange(ROLLOUT) - 90) / 40)
    places = np.tile(rest, (ROLLOUT, 1, 1))
    left = MODEL_SKELETON.indices(["LeftFoot", "LeftToe"])
    places[:, left, 1] -= 0.45 * way[:, None]
    places[:, left, 2] += top * way[:, None]
    places[:, :, 1] -= 0.15 * way[:, None]
    face = float(rest[MODEL_SKELETON.index("LeftToe"), 1]) - 0.1
    block = Cuboids(np.array([[0.0, face - 0.5, top / 2]]), np.array([[0.5, 0.5, top / 2]]))
    tread = Collider("step", block, role="climbable")
    rolled = record(places)
    rolled.contacts[95:128, CONTACTS.index("LeftFoot")] = 0
    rolled.root[:, 2] = top / 2 * way
    after = posed(rolled, [], Hands(Scenery(Surroundings([tread]))), [tread])
    toe = after.places[:, left[1]]
    # The edge of the ball of a foot, which is 3 cm thick, may brush the edge of the step.
    inside = (toe[:, 1] < face - 0.03) & (toe[:, 2] < top + TOE_HEIGHT - 0.03)
    assert not inside.any()
    assert toe[-1, 2] == pytest.approx(top + TOE_HEIGHT, abs=0.01)
    assert np.linalg.norm(np.diff(toe, 2, axis=0), axis=1).max() * FPS**2 < 60


def test_nothing_changes_where_there_are_no_steps() -> None:
    assert shifts(body(still([0.0, 3.0, 0.0])), 0.3) == {}
    none = Surroundings([]).at(0)
    contacts, moved = footholds(body(still([0.0, -0.4, 0.25])), EVERYWHERE, lambda _: none, 0.0)
    assert moved == {} and np.array_equal(contacts, EVERYWHERE)


def test_a_body_on_a_small_top_stands_as_upright_as_on_the_floor() -> None:
    """The ground under the root is a mean, which lower steps beside the top are a part of."""
    top, ground = 0.4, 0.32
    rest = MODEL_SKELETON.rest_positions() + np.array([0.0, 0.0, HIPS_HEIGHT + ground])
    rolled = record(np.tile(rest, (ROLLOUT, 1, 1)))
    rolled.root[:, 2] = ground
    rolled.root[:2, 2] = 0.0
    stool = Cuboids(np.array([[0.0, 0.0, top / 2]]), np.array([[0.3, 0.3, top / 2]]))
    thing = Collider("stool", stool, role="climbable")
    after = posed(rolled, [], Hands(Scenery(Surroundings([thing]))), [thing])
    toes = MODEL_SKELETON.indices(["LeftToe", "RightToe"])
    over = (after.places[:, 0, 2] - after.places[:, toes, 2].max(axis=1))[60:]
    assert after.places[60:, toes, 2] == pytest.approx(top + TOE_HEIGHT, abs=0.01)
    assert over == pytest.approx(rest[0, 2] - rest[toes[0], 2], abs=0.015)
