# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands that take boxes and let go of them, and that open doors."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from nsm_blender.geometry.body import solid
from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.roles import Carryable, Door
from nsm_blender.geometry.scene_state import Scenery, to_world
from nsm_blender.models.nsm import CONTACTS, FPS
from nsm_blender.motion.rotations import Array
from nsm_blender.motion.skeleton import MODEL_SKELETON
from nsm_blender.rollout.held_objects import EASES, LEVER, PALM, TAKING, Hands

LEFT, RIGHT = MODEL_SKELETON.indices(["LeftHand", "RightHand"])
LYING = np.array([0.0, -0.5, 0.8, 1.0, 0, 0, 0])
GOAL = np.array([0.5, -0.5, 1.1, 1.0, 0, 0, 0])
OUT, HALF = np.array([PALM, 0, 0]), np.array([0.2, 0, 0])
BOX = Collider(
    "box",
    Cuboids(np.zeros((1, 3)), np.array([[0.2, 0.15, 0.1]])),
    LYING[None],
    "carryable",
    Carryable([0.2, 0, 0], [-0.2, 0, 0], [0, 1, 0]),
)


SETTLED = round(TAKING.settles * FPS)
"""Frames without coming nearer after which a box that is near is taken."""
SOON = round(TAKING.after * FPS)
"""Frames without coming nearer for which only a box that is near is taken."""


def beside(meters: float) -> Array:
    return np.array([0.0, meters, 0.0])


@dataclass
class Body:
    """A character that stands at +Y of things; its palms are put where they are wanted."""

    places: Array = field(default_factory=lambda: MODEL_SKELETON.rest_positions() + np.array([0.0, 0.6, 1.0]))
    contacts: Array = field(default_factory=lambda: np.zeros(len(CONTACTS)))

    @property
    def rotations(self) -> Array:
        return np.tile([1.0, 0.0, 0.0, 0.0], (len(self.places), 1))

    def reach(self, left: Array, right: Array, touching: float = 1.0) -> Body:
        self.places[LEFT], self.places[RIGHT] = left - OUT, right + OUT
        self.contacts[[CONTACTS.index("LeftHand"), CONTACTS.index("RightHand")]] = touching
        return self

    def around(self, middle: Array) -> Body:
        return self.reach(middle + HALF, middle - HALF)


def door(angle: float) -> Collider:
    """A leaf in the XZ plane, its hinge at -X."""
    handles = Door([-0.4, 0, 0], [0, 0, 1], [0.35, 0, 1.0], 0.8, 2.0, angle)
    leaf = Cuboids(np.array([[0.0, 0, 1]]), np.array([[0.4, 0.02, 1.0]]))
    return Collider("door", leaf, np.array([[0.0, 0, 0, 1, 0, 0, 0]]), "door", handles)


def hands(thing: Collider) -> Hands:
    return Hands(Scenery(Surroundings([thing])))


def at_handle(opening: float, off: float = LEVER, touching: float = 1.0) -> Body:
    """A character with the left palm before the lever of the door that stands open by an angle about +Z."""
    c, s = np.cos(opening), np.sin(opening)
    x, y = 0.75, off
    body = Body()
    shoulder = np.array([-0.4 + c * x - s * (y + 0.4), s * x + c * (y + 0.4), 1.1])
    body.places += shoulder - body.places[MODEL_SKELETON.index("LeftArm")]
    body.reach(np.array([-0.4 + c * x - s * y, s * x + c * y, 1.0]), np.array([1.0, 1.0, 1.0]), touching)
    body.contacts[CONTACTS.index("RightHand")] = 0
    return body


def test_a_box_is_taken_when_the_palms_come_no_nearer() -> None:
    mine = hands(BOX)
    away = [0.12, 0.09, 0.07, 0.05, 0.04, 0.03] + [0.03] * (SETTLED + 1)
    for frame, meters in enumerate(away):
        if mine.take("box", Body().around(LYING[:3] + beside(meters)), frame, 0):
            break
    assert 6 <= frame <= 5 + SETTLED


def test_a_box_is_not_taken_without_touch_nor_from_afar() -> None:
    mine = hands(BOX)
    for frame in range(60):
        assert not mine.take("box", Body().around(LYING[:3] + beside(0.5)), frame, 0)
        body = Body().around(LYING[:3])
        body.contacts[:] = 0
        assert not mine.take("box", body, frame, 0)


def test_a_box_is_not_taken_while_the_palms_come_nearer() -> None:
    mine = hands(BOX)
    away = np.maximum(0.2 - 0.12 * np.arange(300) / FPS, 0.02)
    for frame, meters in enumerate(away):
        if mine.take("box", Body().around(LYING[:3] + beside(meters)), frame, 0):
            break
    assert away[frame] < 0.03


def test_a_low_box_is_taken_from_over_it_but_not_from_beside_it_nor_a_high_one() -> None:
    low = Collider("box", BOX.cuboids, np.array([[0.0, -0.5, 0.15, 1.0, 0, 0, 0]]), "carryable", BOX.handles)
    for thing, off, taken in (
        (low, [0, 0, 0.14], True),
        (low, [0, 0.14, 0], False),
        (low, [0, 0, -0.14], False),
        (BOX, [0, 0, 0.14], False),
    ):
        mine, body = hands(thing), Body()
        body.places[:, 2] -= body.places[:, 2].min()
        body.around(thing.poses[0][:3] + np.array(off))
        assert any(mine.take("box", body, frame, 0) for frame in range(SOON)) == taken


def test_hands_that_come_no_nearer_take_the_box_within_seconds() -> None:
    mine = hands(BOX)
    half_way = Body().around(LYING[:3] + beside(0.2))
    assert any(mine.take("box", half_way, frame, 0) for frame in range(round(2 * FPS)))


@pytest.mark.parametrize(
    ("off", "seconds"),
    [
        (beside(0.04), (0.0, 0.5)),
        (beside(0.15), (1.1, 2.4)),
        (np.array([0.0, 0, 0.15]), (0.5, 1.5)),
        (beside(0.3), (8.0, 9.0)),
    ],
    ids=["there", "near", "over it", "elsewhere"],
)
def test_a_box_is_let_go_the_sooner_the_nearer_it_stays_to_its_place(off: Array, seconds: tuple[float, float]) -> None:
    mine, goal = hands(BOX), GOAL
    frame, body = 0, Body().around(LYING[:3])
    while not mine.take("box", body, frame, 0):
        frame += 1
    body = Body().around(goal[:3] + off)
    for first in range(round(8 * FPS)):
        mine.follow(body, frame + first)
        if mine.leave(goal, frame + first, 1):
            assert mine.holding is None
            break
    else:
        first += 1
    assert seconds[0] <= first / FPS <= seconds[1]


@pytest.mark.parametrize("speed", [0.1, 0.4, 0.8])
def test_a_box_that_passes_its_place_is_let_go_where_it_is_nearest(speed: float) -> None:
    mine, frame, body = hands(BOX), 0, Body().around(LYING[:3])
    while not mine.take("box", body, frame, 0):
        frame += 1
    for n in range(120):
        along = speed * (n - 60) / FPS
        mine.follow(Body().around(GOAL[:3] + np.array([along, 0.02, 0.0])), frame + n)
        if mine.leave(GOAL, frame + n, 1):
            break
    assert np.hypot(along, 0.02) < 0.03


def test_a_box_that_found_no_rest_at_one_place_is_not_dropped_on_the_way_to_the_next() -> None:
    mine, frame, body = hands(BOX), 0, Body().around(LYING[:3])
    while not mine.take("box", body, frame, 0):
        frame += 1
    for key, off, count in ((1, beside(0.4), 300), (2, beside(0.2), 10)):
        for _ in range(count):
            mine.follow(Body().around(GOAL[:3] + off), frame)
            assert not mine.leave(GOAL, frame, key)
            frame += 1


def test_a_box_that_is_carried_past_its_place_is_kept() -> None:
    mine, goal = hands(BOX), GOAL
    frame, body = 0, Body().around(LYING[:3])
    while not mine.take("box", body, frame, 0):
        frame += 1
    for n in range(60):
        body = Body().around(goal[:3] + beside(0.2 - n / FPS))
        mine.follow(body, frame + n)
        assert not mine.leave(goal, frame + n, 1)


@pytest.mark.parametrize("angle", [1.5, -1.5])
def test_a_hand_on_the_near_side_of_a_door_does_not_turn_it_by_itself(angle: float) -> None:
    mine = hands(door(angle))
    assert mine.grip("door", at_handle(0.0), 0)
    for frame in range(6):
        mine.follow(at_handle(0.0), frame)
    assert mine.opened("door") == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("angle", [1.5, -1.5])
def test_a_door_goes_with_the_hand_through_flicker_of_its_label_and_swings_on(angle: float) -> None:
    mine, way = hands(door(angle)), float(np.sign(angle))
    assert mine.grip("door", at_handle(0.0), 0)
    for frame in range(90):
        mine.follow(at_handle(way * frame / 90, touching=float(frame % 7 > 0)), frame)
        assert mine.gripping("door", frame)
        assert not mine.let_go("door", frame)
    assert mine.opened("door") * abs(angle) == pytest.approx(89 / 90, abs=0.03)
    palm = to_world(mine.grips[0].place, mine.tracks[-1]["door"])
    np.testing.assert_allclose(palm, at_handle(way * 89 / 90).places[LEFT] + OUT, atol=0.03)
    for frame in range(90, 210):
        mine.follow(at_handle(0.0, touching=0.0), frame)
    assert mine.let_go("door", 210) and mine.opened("door") == pytest.approx(1, abs=1e-3)


def test_a_door_gives_way_to_a_hand_that_waits_but_not_to_one_that_lost_it() -> None:
    mine = hands(door(1.5))
    assert mine.grip("door", at_handle(0.0), 0)
    for frame in range(30):
        mine.follow(at_handle(0.0), frame)
    given = mine.opened("door")
    assert given > 0.05 and mine.gripping("door", 30)
    for frame in range(30, 70):
        mine.follow(at_handle(0.0, off=0.9), frame)
    assert mine.opened("door") == given and not mine.gripping("door", 70)


@pytest.mark.parametrize(("angle", "comes_through"), [(1.5, False), (-1.5, True)])
def test_a_leaf_waits_for_a_body_that_pulls_it_and_gives_way_to_a_body_that_pushes(
    angle: float, comes_through: bool
) -> None:
    mine = hands(door(angle))
    assert mine.grip("door", at_handle(0.0), 0)
    for frame in range(180):
        body = at_handle(0.0, off=LEVER - frame / 120 * comes_through, touching=0.0)
        if frame == 1:
            mine.release("door")
        mine.follow(body, frame)
    points, radii = solid(body.places)
    leaf = Scenery(Surroundings([door(angle)])).placed("door", 0, mine.tracks[-1].get("door"))
    assert (leaf.distance(points) > radii).all()
    assert mine.opened("door") > 0.95 if comes_through else mine.opened("door") < 0.9


@pytest.mark.parametrize(("angle", "pushed"), [(-1.5, True), (1.5, False)])
def test_a_door_is_given_a_push_at_arms_length_and_is_not_let_go_of_when_pulled(angle: float, pushed: bool) -> None:
    mine, at = hands(door(angle)), float(np.sign(angle)) * 29 / 90
    assert mine.grip("door", at_handle(0.0), 0)
    for frame in range(30):
        mine.follow(at_handle(float(np.sign(angle)) * frame / 90), frame)
    # Shoulder and hand are farther from each other than the arm is long, by 3 cm.
    here, shoulder = at_handle(at), MODEL_SKELETON.index("LeftArm")
    length = np.linalg.norm(MODEL_SKELETON.offsets[MODEL_SKELETON.indices(["LeftForeArm", "LeftHand"])], axis=1).sum()
    away = here.places[shoulder] - here.places[LEFT]
    here.places[shoulder] = here.places[LEFT] + (length + 0.03) * away / np.linalg.norm(away)
    for frame in range(30, 180):
        mine.follow(here, frame)
    assert mine.gripping("door", 179) != pushed and (mine.opened("door") > 0.95) == pushed


def test_a_box_comes_into_the_hands_and_to_its_place_without_a_jump_for_the_sensors() -> None:
    scenery = Scenery(Surroundings([BOX]))
    mine, body, frame = Hands(scenery), Body().around(LYING[:3] + beside(0.05)), 0
    while not mine.take("box", body, frame, 0):
        frame += 1
    seen = []
    for _ in range(60):
        mine.follow(body, frame)
        seen.append(scenery.pose("box", frame))
        frame += 1
    np.testing.assert_allclose(mine.tracks[0]["box"][:3], LYING[:3] + beside(0.05), atol=1e-6)
    place = seen[-1] + np.array([0.0, 0.05, 0, 0, 0, 0, 0])
    while not mine.leave(place, frame, 1):
        mine.follow(body, frame)
        frame += 1
    for _ in range(60):
        mine.follow(body, frame)
        seen.append(scenery.pose("box", frame))
        frame += 1
    np.testing.assert_allclose(mine.tracks[-1]["box"], place, atol=1e-6)
    np.testing.assert_allclose(seen[-1], place, atol=1e-6)
    assert np.linalg.norm(np.diff([LYING, *seen], axis=0)[:, :3], axis=1).max() < 0.05 * 2 / EASES
