# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations: quaternions, matrices, Euler angles and exponential maps mean the same thing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from nsm_blender.motion import rotations as r
from nsm_blender.motion.rotations import Array


def quaternions(count: int = 200, dtype: type = np.float64) -> Array:
    """Random unit quaternions, with half turns about the axes and the identity among them."""
    q = r.normalize(np.random.default_rng(0).standard_normal((count, 4)))
    q[:4] = np.eye(4)
    return q.astype(dtype)


def vectors(count: int = 200) -> Array:
    return np.random.default_rng(1).standard_normal((count, 3))


def axis_matrix(axis: str, angle: float) -> Array:
    """The matrix of a right-handed turn about one axis, written out."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array(
        {
            "X": [[1, 0, 0], [0, c, -s], [0, s, c]],
            "Y": [[c, 0, s], [0, 1, 0], [-s, 0, c]],
            "Z": [[c, -s, 0], [s, c, 0], [0, 0, 1]],
        }[axis]
    )


def assert_same_rotation(a: Array, b: Array, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(np.abs(np.sum(a * b, axis=-1)), 1, atol=tolerance)


def test_a_quarter_turn_about_up_takes_x_to_y() -> None:
    turned = r.rotate(r.from_yaw(np.array(np.pi / 2)), np.array([1.0, 0, 0]))
    np.testing.assert_allclose(turned, [0, 1, 0], atol=1e-12)


def test_matrices_turn_vectors_as_their_quaternions_do() -> None:
    q, v = quaternions(), vectors()
    np.testing.assert_allclose(np.einsum("nij,nj->ni", r.to_matrix(q), v), r.rotate(q, v), atol=1e-12)


def test_a_product_turns_by_its_second_factor_first() -> None:
    a, b, v = quaternions(), quaternions()[::-1], vectors()
    np.testing.assert_allclose(r.rotate(r.multiply(a, b), v), r.rotate(a, r.rotate(b, v)), atol=1e-12)


def test_the_conjugate_turns_back() -> None:
    q, v = quaternions(), vectors()
    np.testing.assert_allclose(r.rotate(r.conjugate(q), r.rotate(q, v)), v, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
def test_matrices_and_back_is_the_same_rotation_even_for_half_turns(dtype: type, tolerance: float) -> None:
    q = quaternions(dtype=dtype)
    back = r.from_matrix(r.to_matrix(q))
    assert back.dtype == dtype
    assert (back[:, 0] >= 0).all()
    assert_same_rotation(back, q, tolerance)


@pytest.mark.parametrize("order", ["XYZ", "ZXY", "ZYX", "YXZ", "YZX", "XZY"])
def test_euler_angles_apply_their_first_letter_outermost(order: str) -> None:
    angles = np.array([0.4, -1.1, 2.3])
    expected = np.eye(3)
    for letter, angle in zip(order, angles, strict=True):
        expected = expected @ axis_matrix(letter, angle)
    np.testing.assert_allclose(r.to_matrix(r.from_euler(angles, order)), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-6, 1e-4, 0.5, 3.1])
def test_exponential_maps_survive_the_way_there_and_back(scale: float) -> None:
    maps = r.normalize(vectors()) * scale
    np.testing.assert_allclose(r.to_exponential_map(r.from_exponential_map(maps)), maps, atol=1e-9)


def test_an_exponential_map_is_axis_times_angle() -> None:
    axis = r.normalize(vectors())
    angle = np.linspace(0.01, 3, len(axis))
    assert_same_rotation(r.from_exponential_map(axis * angle[:, None]), r.from_axis_angle(axis, angle))


def test_an_exponential_map_takes_the_short_way() -> None:
    long_way = r.from_axis_angle(np.array([0.0, 0, 1]), np.array(1.5 * np.pi))
    np.testing.assert_allclose(r.to_exponential_map(long_way), [0, 0, -0.5 * np.pi], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_shortest_rotation_between_directions_meets_its_goal(dtype: type) -> None:
    a = vectors().astype(dtype)
    b = vectors()[::-1].astype(dtype)
    a[0], b[0] = [1, 0, 0], [-1, 0, 0]  # opposite
    a[1], b[1] = [0, 0, 2], [0, 0, -1]
    a[2], b[2] = [0, 3, 0], [0, 1, 0]  # equal
    q = r.between(a, b)
    assert q.dtype == dtype
    np.testing.assert_allclose(r.rotate(q, r.normalize(a)), r.normalize(b), atol=1e-9 if dtype == np.float64 else 1e-5)


@pytest.mark.parametrize("angle", [1e-7, 1e-5, 1e-4, 3e-4, 1e-3, 1e-2])
def test_nearly_opposite_directions_are_met_within_half_a_milliradian(angle: float) -> None:
    a, b = np.array([[0.0, 1, 0]]), np.array([[np.sin(angle), -np.cos(angle), 0]])
    np.testing.assert_allclose(r.rotate(r.between(a, b), a), b, atol=5e-4)


def test_the_shortest_rotation_turns_by_no_more_than_the_angle_between() -> None:
    a, b = r.normalize(vectors()), r.normalize(vectors()[::-1])
    angle = np.linalg.norm(r.to_exponential_map(r.between(a, b)), axis=-1)
    np.testing.assert_allclose(angle, np.arccos(np.clip(np.sum(a * b, axis=-1), -1, 1)), atol=1e-6)


def test_slerp_turns_at_a_constant_rate_from_one_end_to_the_other() -> None:
    a = r.from_yaw(np.array(0.2))
    b = r.from_yaw(np.array(1.8))
    t = np.linspace(0, 1, 9)
    q = r.slerp(np.tile(a, (9, 1)), np.tile(b, (9, 1)), t)
    assert_same_rotation(q, r.from_yaw(0.2 + 1.6 * t))


def test_slerp_does_not_mind_the_sign_of_a_quaternion() -> None:
    a, b = quaternions(), quaternions()[::-1]
    half = np.full(len(a), 0.5)
    assert_same_rotation(r.slerp(a, -b, half)[4:-4], r.slerp(a, b, half)[4:-4])


def test_slerp_between_equal_rotations_stays_there() -> None:
    q = quaternions()
    np.testing.assert_allclose(r.slerp(q, q, np.full(len(q), 0.3)), q, atol=1e-12)


def test_continuous_rotations_never_change_sides() -> None:
    angles = np.linspace(0, 20, 300)
    q = r.from_yaw(angles) * np.random.default_rng(2).choice([-1.0, 1.0], (300, 1))
    smooth = r.make_continuous(q)
    assert_same_rotation(smooth, q)
    assert (np.sum(smooth[1:] * smooth[:-1], axis=-1) > 0).all()


def test_angles_wrap_to_half_a_turn_either_way() -> None:
    angles = np.array([0.0, np.pi + 0.1, -np.pi - 0.1, 7 * np.pi + 0.2, -0.3])
    expected = [0.0, -np.pi + 0.1, np.pi - 0.1, -np.pi + 0.2, -0.3]
    np.testing.assert_allclose(r.wrap_angle(angles), expected, atol=1e-12)


Q, V, A = np.array([0.6, 0, 0.8, 0]), np.array([1.0, 2, 3]), np.array(0.5)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (r.normalize, (Q,)),
        (r.multiply, (Q, Q)),
        (r.conjugate, (Q,)),
        (r.rotate, (Q, V)),
        (r.to_matrix, (Q,)),
        (r.from_matrix, (np.eye(3),)),
        (r.from_axis_angle, (V, A)),
        (r.from_exponential_map, (V,)),
        (r.to_exponential_map, (Q,)),
        (r.from_yaw, (A,)),
        (r.between, (V, V[::-1])),
        (r.slerp, (Q, Q[::-1], A)),
        (r.wrap_angle, (A,)),
    ],
)
def test_functions_broadcast_and_keep_float32(function: Callable[..., Array], arguments: tuple[Array, ...]) -> None:
    single = [np.asarray(a, dtype=np.float32)[None] for a in arguments]
    expected = function(*single)
    assert expected.dtype == np.float32
    # Every argument in turn with leading axes, the others without.
    for i, argument in enumerate(single):
        stacked = [*single[:i], np.broadcast_to(argument, (4, 3, *argument.shape[1:])), *single[i + 1 :]]
        many = function(*stacked)
        assert many.dtype == np.float32
        np.testing.assert_allclose(many, np.broadcast_to(expected, (4, 3, *expected.shape[1:])), atol=1e-6)
