# SPDX-License-Identifier: GPL-3.0-or-later
"""Balls in unions of cuboids: how deep they are, and one way out for a whole part over time."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.colliders import Collider, Cuboids, Surroundings
from nsm_blender.geometry.collision import Balls, Contacts, Obstacles
from nsm_blender.motion.rotations import Array, from_axis_angle, to_matrix

from .rollouts import block

NEAR, NO_FLOOR = 0.02, -np.inf
UP, AHEAD = np.array([0.0, 0.0, 1.0]), np.array([0.0, -1.0, 0.0])


def nothing_given(balls: Array, _frames: Array, _thing: int, _normals: Array) -> Array:
    return np.zeros(len(balls))


def contacts(
    points: Array, radius: float, *things: Collider, parts: Array | None = None, floor: float = NO_FLOOR
) -> Contacts:
    """Of balls around points (K, P, 3), one moment after the other; each is a part of its own, but for `parts` (P,)."""
    moments, count = points.shape[:2]
    balls = Balls(np.full(count, radius), np.arange(count) if parts is None else parts, nothing_given)
    there = np.ones((moments, len(things)), dtype=bool)
    around = Obstacles(things, [np.asarray(thing.poses) for thing in things], there, floor)
    return around.contacts(balls, points, np.arange(moments), NEAR)


def heap(rng: np.random.Generator, turned: bool) -> Collider:
    """Five cuboids that overlap, at a place and turned."""
    center, half = rng.uniform(-0.15, 0.15, (5, 3)), rng.uniform(0.1, 0.3, (5, 3))
    axis = rng.normal(size=3)
    turn = from_axis_angle(axis / np.linalg.norm(axis), np.array(rng.uniform(-3, 3) if turned else 0.0))
    return Collider("heap", Cuboids(center, half), np.concatenate((rng.uniform(-1, 1, 3), turn))[None])


def inflated(thing: Collider, local: Array, radius: float) -> Array:
    """Whether cubes of half edge `radius` around points (N, 3) of its frame touch a thing."""
    off = np.abs(local[:, None] - thing.cuboids.center) - thing.cuboids.half
    return np.asarray((off.max(axis=2) < radius - 1e-9).any(axis=1))


@pytest.mark.parametrize("turned", [False, True])
def test_a_ball_beside_a_thing_is_as_deep_as_its_radius_reaches_over_the_distance(turned: bool) -> None:
    rng = np.random.default_rng(5)
    thing = heap(rng, turned)
    points = np.asarray(thing.poses)[0, :3] + rng.uniform(-0.7, 0.7, (1, 3000, 3))
    away = Surroundings([thing]).at(0).distance(points[0])
    found = contacts(points, 0.1, thing)
    outside = away[found.ball] > 0
    assert outside.sum() > 200
    np.testing.assert_allclose(found.depth[outside], 0.1 - away[found.ball[outside]], atol=1e-9)
    assert set(np.flatnonzero((away > 0) & (away < 0.1))) <= set(found.ball.tolist())
    # The way out leads straight away from the nearest point of the surface.
    halfway = points[0, found.ball] - 0.5 * away[found.ball, None] * found.normal
    halved = Surroundings([thing]).at(0).distance(halfway)
    np.testing.assert_allclose(halved[outside], 0.5 * away[found.ball[outside]], atol=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_a_ball_inside_a_union_leaves_all_of_it_by_the_shortest_of_six_ways(turned: bool) -> None:
    rng = np.random.default_rng(6)
    thing, radius, step = heap(rng, turned), 0.04, 0.002
    points = np.asarray(thing.poses)[0, :3] + rng.uniform(-0.3, 0.3, (1, 300, 3))
    inside = np.flatnonzero(Surroundings([thing]).at(0).distance(points[0]) == 0)
    assert len(inside) > 50
    found = contacts(points[:, inside], radius, thing)
    assert len(found.ball) == len(inside)
    away = Surroundings([thing]).at(0).distance(points[0, inside[found.ball]] + found.depth[:, None] * found.normal)
    assert away.min() > radius - 1e-6
    pose = np.asarray(thing.poses)[0]
    local = (points[0, inside[found.ball]] - pose[:3]) @ to_matrix(pose[3:])
    shortest = np.full(len(local), np.inf)
    for way in np.concatenate((np.eye(3), -np.eye(3))):
        for length in np.arange(0, 1.5, step):
            out = ~inflated(thing, local + length * way, radius)
            shortest[out] = np.minimum(shortest[out], length)
    assert (found.depth <= shortest + 1e-6).all() and (found.depth > shortest - step - 1e-6).all()


def test_a_ball_whose_middle_is_on_an_edge_is_as_deep_as_its_radius_and_is_led_out() -> None:
    thing = block([0.0, 0.0, 0.0], [0.25, 0.25, 0.25])
    for place in ([0.25, 0.25, 0.0], [0.25, 0.25, 0.25]):
        toward = np.array(place) * (1 - 1e-9)
        found = contacts(toward[None, None], 0.05, thing)
        np.testing.assert_allclose(found.depth, 0.05, atol=1e-6)
        gone = toward + found.depth * found.normal[0]
        assert Surroundings([thing]).at(0).distance(gone[None])[0] > 0.05 - 1e-6


def test_what_is_far_and_what_is_not_there_is_no_contact() -> None:
    thing = block([0.0, 0.0, 0.0], [0.1, 0.1, 0.1])
    points = np.array([[[0.0, 0.0, 0.0], [0.0, 0.0, 0.5]]])
    assert contacts(points, 0.05, thing).ball.tolist() == [0]
    assert not len(contacts(points + 5.0, 0.05, thing).ball) and not len(contacts(points, 0.05).ball)
    balls = Balls(np.full(2, 0.05), np.arange(2), nothing_given)
    around = Obstacles([thing], [np.asarray(thing.poses)], np.array([[True], [False]]), NO_FLOOR)
    found = around.contacts(balls, np.tile(points, (2, 1, 1)), np.arange(2), NEAR)
    assert found.moment.tolist() == [0]


def shin(ahead: float, count: int = 1) -> Array:
    """Middles (K, P, 3) of balls from a knee to an ankle that stands upright, `ahead` meters before the origin."""
    up = np.linspace(0.5, 0.1, 9)
    return np.tile(np.stack((0 * up, 0 * up - ahead, up), axis=1), (count, 1, 1))


def test_a_shin_that_crosses_the_front_edge_of_a_seat_leaves_it_to_the_front() -> None:
    plate = block([0.0, 0.0, 0.42], [0.3, 0.25, 0.03])
    found = contacts(shin(0.22, 10), 0.05, plate, parts=np.zeros(9, dtype=int))
    deep = found.depth > 0
    assert deep.sum() >= 10
    np.testing.assert_allclose(found.normal[deep], np.tile(AHEAD, (deep.sum(), 1)), atol=1e-9)


def test_a_limb_that_swings_through_a_thin_post_leaves_it_on_one_side() -> None:
    post = block([0.0, 0.0, 1.0], [0.02, 0.02, 0.5])
    swing = np.linspace(-0.15, 0.15, 31)[:, None] + 0.01 * np.arange(4)
    points = np.stack((swing, 0 * swing, np.broadcast_to(np.linspace(0.9, 1.1, 4), swing.shape)), axis=2)
    found = contacts(points, 0.03, post, parts=np.zeros(4, dtype=int))
    deep = found.depth > 0.03
    assert deep.sum() > 10
    assert len(np.unique(found.normal[deep].round(6), axis=0)) == 1


def test_no_way_out_leads_under_the_floor() -> None:
    low = block([0.0, 0.0, 0.05], [0.3, 0.3, 0.05])
    foot = np.array([[[0.0, 0.0, 0.02]]])
    assert contacts(foot, 0.03, low).normal[0, 2] == -1
    led = contacts(foot, 0.03, low, floor=0.0)
    np.testing.assert_allclose(led.normal, UP[None], atol=1e-9)


def test_a_thing_that_moves_counts_where_it_is_at_each_moment() -> None:
    poses = np.zeros((5, 7))
    poses[:, 0], poses[:, 3] = np.arange(5), 1
    leaf = Collider("leaf", Cuboids(np.zeros((1, 3)), np.array([[0.1, 0.1, 0.1]])), poses)
    points = np.tile([2.05, 0.0, 0.0], (5, 1, 1))
    found = contacts(points, 0.05, leaf)
    assert found.moment.tolist() == [2]
    np.testing.assert_allclose(found.normal, [[1, 0, 0]], atol=1e-9)
    np.testing.assert_allclose(found.depth, 0.1, atol=1e-9)
    # Moments that are asked for apart are the same ones.
    balls = Balls(np.array([0.05]), np.zeros(1, dtype=int), nothing_given)
    around = Obstacles([leaf], [poses], np.ones((5, 1), dtype=bool), NO_FLOOR)
    assert around.contacts(balls, points[2:4], np.array([2, 3]), NEAR).moment.tolist() == [0]


def test_what_is_given_is_no_depth() -> None:
    thing = block([0.0, 0.0, 0.0], [0.3, 0.3, 0.1])
    points = np.array([[[0.0, 0.0, 0.13]]])

    def cushion(balls: Array, _frames: Array, thing: int, normals: Array) -> Array:
        return np.where(normals[:, 2] > 0.5, 0.05, 0.0) * (thing == 0)

    around = Obstacles([thing], [np.asarray(thing.poses)], np.ones((1, 1), dtype=bool), NO_FLOOR)
    balls = Balls(np.array([0.08]), np.zeros(1, dtype=int), cushion)
    assert around.contacts(balls, points, np.zeros(1, dtype=int), NEAR).depth.max() <= 1e-9
    assert contacts(points, 0.08, thing).depth.max() == pytest.approx(0.05)


@pytest.mark.parametrize("trunk", [-0.25, 0.25])
def test_an_arm_in_a_door_leaf_leaves_it_on_the_side_on_which_the_trunk_is(trunk: float) -> None:
    """The hand is farther through the leaf than the shoulder is before it."""
    leaf = block([0.0, 0.0, 1.0], [0.5, 0.02, 1.0])
    side = np.sign(trunk)
    arm = [[0.0, side * 0.01, 1.2], [0.1, side * -0.03, 1.2], [0.2, side * -0.1, 1.2]]
    points = np.array([[[0.0, trunk, 1.2], *arm]])
    for hangs_on, way in (({1: 0}, side), ({}, -side)):
        balls = Balls(np.full(4, 0.04), np.array([0, 1, 1, 1]), nothing_given, hangs_on)
        around = Obstacles([leaf], [np.asarray(leaf.poses)], np.ones((1, 1), dtype=bool), NO_FLOOR)
        found = around.contacts(balls, points, np.arange(1))
        assert set(found.ball.tolist()) <= {1, 2, 3} and len(found.ball)
        np.testing.assert_allclose(
            found.normal[found.depth > 0], np.tile([0.0, way, 0.0], ((found.depth > 0).sum(), 1)), atol=1e-9
        )
