# SPDX-License-Identifier: GPL-3.0-or-later
"""Displacement curves: smooth, and the least of their sums of squares is that of a dense solve."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.cleanup.displacement import Displacement, NormalEquations
from nsm_blender.motion.rotations import Array

SIZE = 3


def matrix_of(frames: int) -> Array:
    """Values at the frames of unit control points: (T, M), the same for every column."""
    curves = Displacement(frames, 1)
    columns = []
    for number in range(len(curves.control)):
        curves.control = np.zeros_like(curves.control)
        curves.control[number] = 1.0
        columns.append(curves.values()[:, 0])
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 7, 30, 61])
def test_the_banded_least_squares_are_those_of_a_dense_solve(frames: int) -> None:
    rng = np.random.default_rng(frames)
    curves = Displacement(frames, SIZE)
    count = len(curves.control)
    half = rng.normal(size=(frames, 2, SIZE))
    matrices, right = np.swapaxes(half, 1, 2) @ half, rng.normal(size=(frames, SIZE))
    still, toward = rng.uniform(0.5, 2.0, (count, SIZE)), rng.normal(size=(count, SIZE))
    equations = NormalEquations(curves)
    equations.add(matrices, right)
    equations.add_control(still, toward)
    basis = matrix_of(frames)
    dense = np.einsum("tm,tde,tn->mdne", basis, matrices, basis).reshape(count * SIZE, count * SIZE)
    dense += np.diag(still.ravel())
    vector = (basis.T @ right + still * toward).ravel()
    np.testing.assert_allclose(equations.least().ravel(), np.linalg.solve(dense, vector), atol=1e-9)
    one = rng.normal(size=(count, SIZE))
    np.testing.assert_allclose(equations.cost(one), one.ravel() @ dense @ one.ravel(), rtol=1e-9)


def test_speeds_and_accelerations_are_those_of_the_curves() -> None:
    # The control points of a parabola: a constant speed grows into a constant acceleration.
    frames = 60
    curves = Displacement(frames, 1)
    at = 3.0 * (np.arange(len(curves.control)) - 1)
    curves.control = (0.5 * 0.02 * at**2)[:, None]
    values = curves.values()[:, 0]
    np.testing.assert_allclose(np.diff(values, 2), 0.02, atol=1e-12)
    bend, speed = NormalEquations(curves), NormalEquations(curves)
    bend.add_accelerations(np.ones((frames, 1)))
    speed.add_speeds(np.ones((frames, 1)))
    assert bend.cost(curves.control) == pytest.approx(frames * 0.02**2)
    assert speed.cost(curves.control) == pytest.approx(np.sum((0.02 * np.arange(frames)) ** 2))


def test_a_copy_is_added_to_alone() -> None:
    curves = Displacement(9, 1)
    first = NormalEquations(curves)
    first.add_control(np.ones_like(curves.control), np.zeros_like(curves.control))
    second = first.copy()
    second.add_control(np.ones_like(curves.control), np.ones_like(curves.control))
    np.testing.assert_allclose(first.least(), 0, atol=1e-12)
    np.testing.assert_allclose(second.least(), 0.5)


def test_a_curve_that_is_to_be_somewhere_for_a_moment_comes_and_goes_smoothly() -> None:
    frames, middle = 120, 60
    curves = Displacement(frames, 1)
    equations = NormalEquations(curves)
    weight = np.full(frames, 1e-3)
    weight[middle] = 100.0
    wanted = np.zeros((frames, 1))
    wanted[middle] = 100.0
    equations.add(weight[:, None, None], wanted)
    equations.add_accelerations(np.full((frames, 1), 1e3))
    curves.control = equations.least()
    values = curves.values()[:, 0]
    assert values[middle] == pytest.approx(1.0, abs=0.05) and values.argmax() == pytest.approx(middle, abs=3)
    assert np.abs(np.diff(values, 2)).max() < 0.02
