# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders move with their objects, and say how far anything is from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nsm_blender.errors import ColliderError
from nsm_blender.geometry.colliders import STILL, Collider, Cuboids, Surroundings
from nsm_blender.motion.rotations import Array, from_yaw, normalize, rotate

CUBE = Cuboids(np.zeros((1, 3)), np.full((1, 3), 0.5))


def swinging_door() -> Collider:
    """A leaf 1 m wide along +X of its hinge, which turns by 90 degrees in ten frames."""
    poses = np.zeros((11, 7))
    poses[:, 3:] = from_yaw(np.linspace(0, np.pi / 2, 11))
    return Collider("door", Cuboids(np.array([[0.5, 0.0, 1.0]]), np.array([[0.5, 0.02, 1.0]])), poses)


def test_a_door_swings_with_its_frames_and_between_them() -> None:
    surroundings = Surroundings([Collider("box", CUBE, np.append([5.0, 0, 0], [1, 0, 0, 0])[None]), swinging_door()])
    for frame in (0, 3, 4.5, 10):
        angle = frame / 10 * np.pi / 2
        tip = np.array([[np.cos(angle), np.sin(angle), 1.0]])
        assert surroundings.at(frame).distance(tip) == pytest.approx([0.0], abs=1e-9)
        assert surroundings.at(frame).distance(tip * [1.5, 1.5, 1]) == pytest.approx([0.5])


@pytest.mark.parametrize(("frame", "same"), [(-3, 0), (25, 10), (1e9, 10)])
def test_before_the_first_and_after_the_last_frame_all_is_still(frame: float, same: float) -> None:
    surroundings = Surroundings([swinging_door()])
    assert np.array_equal(surroundings.at(frame).center, surroundings.at(same).center)


def test_the_shorter_way_is_taken_between_frames() -> None:
    poses = np.zeros((2, 7))
    poses[:, 3:] = from_yaw(np.array([0.0, 0.2]))
    poses[1, 3:] *= -1  # the same rotation
    placed = Surroundings([Collider("plate", Cuboids(np.zeros((1, 3)), np.array([[1.0, 0.1, 0.1]])), poses)]).at(0.5)
    assert placed.rotation[0, :, 0] == pytest.approx([np.cos(0.1), np.sin(0.1), 0])


def test_distance_is_to_the_nearest_point_of_any_cuboid() -> None:
    rng = np.random.default_rng(0)
    colliders = []
    for number in range(6):
        pose = np.append(rng.uniform(-2, 2, 3), normalize(rng.normal(size=4)))
        colliders.append(
            Collider(str(number), Cuboids(rng.normal(size=(4, 3)), rng.uniform(0.05, 0.5, (4, 3))), pose[None])
        )
    points = rng.uniform(-4, 4, (5000, 3))
    expected = np.full(len(points), np.inf)
    for collider in colliders:
        place, inverse = collider.poses[0, :3], collider.poses[0, 3:] * [1, -1, -1, -1]
        local = rotate(np.broadcast_to(inverse, (len(points), 4)), points - place)
        for center, half in zip(collider.cuboids.center, collider.cuboids.half, strict=True):
            nearest = np.clip(local, center - half, center + half)
            expected = np.minimum(expected, np.linalg.norm(local - nearest, axis=1))
    placed = Surroundings(colliders).at(0)
    assert placed.distance(points) == pytest.approx(expected, abs=1e-9)
    assert (expected == 0).any()


def test_near_keeps_all_within_reach_and_drops_what_is_far() -> None:
    poses = [np.append([x, 0, 0], [1, 0, 0, 0])[None] for x in (0.0, 2.0, 50.0)]
    placed = Surroundings([Collider(str(i), CUBE, pose) for i, pose in enumerate(poses)]).at(0)
    near = placed.near(np.zeros(3), 1.6)
    assert near.owner.tolist() == [0, 1]
    assert near.distance(np.array([[2.0, 0, 2.0]])) == pytest.approx([1.5])


def test_colliders_are_chosen_by_name_or_number() -> None:
    placed = Surroundings([Collider(name, CUBE) for name in ("chair", "table", "box")]).at(0)
    assert placed.of(["table", 2]).owner.tolist() == [1, 2]
    assert placed.without(["table"]).owner.tolist() == [0, 2]
    with pytest.raises(ColliderError, match="'lamp'"):
        placed.of(["lamp"])


def test_what_rises_above_a_height_is_left_out_of_one_collider_only() -> None:
    tall = Cuboids(np.array([[0.0, 0, 0.5], [0, 0, 1.5]]), np.full((2, 3), 0.5))
    lying = np.append([5.0, 0, 0], [np.sqrt(0.5), np.sqrt(0.5), 0, 0])[None]
    placed = Surroundings([Collider("shelf", tall), Collider("wall", tall), Collider("beam", tall, lying)]).at(0)
    assert placed.below("shelf", 1.01).owner.tolist() == [0, 1, 1, 2, 2]
    assert placed.below("beam", 0.51).owner.tolist() == [0, 0, 1, 1, 2, 2]


def test_without_colliders_everything_is_infinitely_far() -> None:
    placed = Surroundings([]).at(3)
    assert len(placed) == 0
    assert np.isinf(placed.distance(np.zeros((2, 3)))).all()


def broken(poses: Array = STILL, center: Any = ((0, 0, 0),), half: Any = ((1, 1, 1),)) -> Collider:
    return Collider("lamp", Cuboids(np.array(center, dtype=float), np.array(half, dtype=float)), poses)


@pytest.mark.parametrize(
    "collider",
    [
        broken(np.zeros((0, 7))),
        broken(np.zeros((1, 6))),
        broken(STILL * np.nan),
        broken(STILL * 0),
        broken(center=((0, 0, np.inf),)),
        broken(half=((1, -1, 1),)),
        broken(half=((1, 1, 1), (1, 1, 1))),
        broken(center=((0, 0),), half=((1, 1),)),
    ],
)
def test_damaged_colliders_are_refused_by_name(collider: Collider) -> None:
    with pytest.raises(ColliderError, match="'lamp'"):
        Surroundings([collider])


def test_a_collider_survives_its_plain_data() -> None:
    door = swinging_door()
    again = Collider.from_data(door.to_data())
    assert np.array_equal(again.poses, door.poses)
    assert np.array_equal(again.cuboids.half, door.cuboids.half)
    assert again.name == "door"
