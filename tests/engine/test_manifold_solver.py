# SPDX-License-Identifier: GPL-3.0-or-later
"""The solver in hidden-unit space, and the bounded L-BFGS."""

import numpy as np
import pytest

from nsm_blender.manifold.constraints import Base, BoneLengths, FootSkate, KeepTrajectory
from nsm_blender.manifold.lbfgs import Lbfgs
from nsm_blender.manifold.solver import Solver
from nsm_blender.models.manifold import FRAME
from nsm_blender.motion.rotations import Array

from .manifolds import autoencoder, walk_base


def problem() -> tuple[Base, list]:
    """A walk with bent bones and sliding feet."""
    base = walk_base(120)
    given = [constraint.term(base) for constraint in (FootSkate(), BoneLengths(), KeepTrajectory())]
    rng = np.random.default_rng(0)
    wrong = autoencoder().decode_linear(rng.normal(size=(len(base) // 2, 256)).astype(np.float32) * 0.05)
    return Base(base.frames + wrong, base.start, base.contacts), given


def _impulse(pairs: int) -> Array:
    """(pairs, 1), 1 at the middle pair of frames."""
    out = np.zeros((pairs, 1), dtype=np.float32)
    out[pairs // 2] = 1
    return out


def test_both_ways_through_the_decoder_at_once_is_one_after_the_other() -> None:
    network = autoencoder()
    frames = np.random.default_rng(0).normal(size=(120, 73)).astype(np.float32)
    # The decoder answers a hidden unit alike at every pair of frames, so that one answer of each tells its transpose.
    answers = np.stack([network.decode_linear(np.eye(256, dtype=np.float32)[[u]] * _impulse(60)) for u in range(256)])
    padded = np.pad(frames, ((60, 60), (0, 0)))
    transposed = np.stack([np.tensordot(answers, padded[2 * t : 2 * t + 120], 2) for t in range(60)])
    one_by_one = network.decode_linear(transposed)
    at_once = network.decode_both(frames)
    inside = slice(24, -24)
    np.testing.assert_allclose(at_once[inside], one_by_one[inside], rtol=1e-4, atol=1e-4 * np.abs(one_by_one).max())


def test_a_solve_leaves_a_hundredth_of_the_cost() -> None:
    base, terms = problem()
    solver = Solver(autoencoder(), base.frames, base.start, terms)
    solver.solve()
    assert solver.cost <= 0.01 * solver.costs[0]


def test_bones_that_flutter_too_fast_for_the_decoder_are_stilled_as_well() -> None:
    base = walk_base(120)
    flutter = np.sin(0.5 * np.pi * np.arange(120))[:, None] * np.random.default_rng(1).normal(size=66)
    frames = base.frames.copy()
    frames[:, FRAME.joint_position] += 0.01 * flutter.astype(np.float32)
    solver = Solver(autoencoder(), frames, base.start, [BoneLengths().term(base)])
    solver.solve()
    assert solver.cost <= 0.05 * solver.costs[0]


def test_a_motion_that_meets_its_constraints_is_not_changed() -> None:
    base = walk_base(60)
    solver = Solver(autoencoder(), base.frames, base.start, [KeepTrajectory().term(base)])
    np.testing.assert_array_equal(solver.solve(), base.frames)


def after_a_step(solver: Solver) -> None:
    """Work until the solver tells another cost."""
    before = len(solver.costs)
    while len(solver.costs) == before and not solver.done:
        solver.step()


def test_it_can_be_stopped_after_any_step_and_has_not_become_worse() -> None:
    base, terms = problem()
    solver = Solver(autoencoder(), base.frames, base.start, terms)
    progress = [solver.progress]
    for _ in range(12):
        after_a_step(solver)
        progress.append(solver.progress)
        assert solver.cost <= solver.costs[0]
    assert progress[0] == 0
    assert all(0 <= p <= 1 for p in progress)
    assert progress[-1] > progress[0]
    while not solver.done:
        solver.step()
    assert solver.progress == 1


def test_a_guess_that_holds_already_ends_the_solve() -> None:
    base, terms = problem()
    solved = Solver(autoencoder(), base.frames, base.start, terms).solve()
    again = Solver(autoencoder(), base.frames, base.start, terms, guess=solved, target=0.02)
    first = again.frames
    np.testing.assert_array_equal(first, solved)
    after_a_step(again)
    other = Solver(autoencoder(), base.frames, base.start, terms)
    after_a_step(other)
    assert again.costs[0] == pytest.approx(other.costs[0])


def test_bounded_minimum_of_a_badly_scaled_bowl() -> None:
    center = np.linspace(-2, 3, 200, dtype=np.float32)
    scale = np.logspace(0, 2, 200).astype(np.float32)

    def bowl(x):
        yield
        off = x - center
        return float(np.vdot(scale * off, off)), 2 * scale * off

    search = Lbfgs(bowl, np.full(200, 5.0, dtype=np.float32), lower=0.0)
    while not search.done:
        search.step()
    np.testing.assert_allclose(search.x, np.maximum(center, 0), atol=0.05)
    assert (search.x >= 0).all()
