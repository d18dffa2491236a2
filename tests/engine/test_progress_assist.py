# SPDX-License-Identifier: GPL-3.0-or-later
"""A root that stands or treads on its way, or short of its stand, is moved on; one that walks, looks elsewhere or is
there is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nsm_blender.rollout.goal_spec import Reach, Stay, Steer
from nsm_blender.rollout.progress_assist import STAND, WAY, ProgressAssist

from .root_filters import STILL, FilteredRoot
from .test_speed_profile import walker


def led(
    seconds: float,
    speed: float = 0.0,
    *,
    start: float = 0.0,
    facing: float = 0.0,
    asked: float | None = None,
    foreseen: float | None = None,
) -> FilteredRoot:
    """A root that begins `start` m along a way of 8 m along -Y. The network goes on at `speed` m/s, and foresees
    `foreseen`; the way asks for `asked` m/s, or for the usual speed."""
    steer = Steer(walker(speed=asked))
    steer.walker.along = start
    later = None if foreseen is None else (0.0, -foreseen)
    root = FilteredRoot(steer, [ProgressAssist()], (0.0, -start, 0.0, facing))
    return root.go(seconds, (0.0, -speed), foreseen=later)


@pytest.mark.parametrize("start", [0.0, 4.0], ids=["at the start", "on the way"])
@pytest.mark.parametrize("speed", [0.0, 0.15], ids=["stands", "treads"])
def test_a_root_that_lags_is_moved_on_along_its_way_after_a_while(start: float, speed: float) -> None:
    track = led(6.0, speed, start=start).track
    assert -track[30, 1] - start == pytest.approx(0.5 * speed), "half a second of standing is no lag yet"
    assert -track[-1, 1] - start > 6 * speed + 0.4
    np.testing.assert_allclose(track[:, [0, 3]], 0, atol=1e-9)


@pytest.mark.parametrize("foreseen", [0.0, 1.3, 9.0])
def test_no_more_speed_is_added_than_that_of_a_slow_walk(foreseen: float) -> None:
    most = WAY.share * WAY.most + WAY.lag - WAY.patience
    assert led(6.0, foreseen=foreseen).speeds.max() <= most + 1e-6 < 1.0


def test_a_root_whose_walk_is_foreseen_makes_up_for_a_part_of_its_speed_at_once() -> None:
    first = led(0.1, 0.3, start=2.0, foreseen=1.0).speeds
    assert (first > 0.4).all() and (first < 1.0).all()


@pytest.mark.parametrize("speed", [0.6, 1.3])
def test_a_root_that_walks_is_left_alone(speed: float) -> None:
    np.testing.assert_allclose(led(4.0, speed).speeds, speed, atol=1e-9)


def test_a_root_that_is_asked_to_go_slowly_may_do_so() -> None:
    np.testing.assert_allclose(led(6.0, 0.2, asked=0.3).speeds, 0.2, atol=1e-9)


@pytest.mark.parametrize("facing", [math.pi / 2, -2.5, math.pi])
def test_a_root_that_looks_elsewhere_is_not_moved_on(facing: float) -> None:
    np.testing.assert_allclose(led(6.0, facing=facing, foreseen=1.3).speeds, 0, atol=1e-9)


def test_a_root_at_the_end_of_its_way_is_not_moved_on() -> None:
    np.testing.assert_allclose(led(6.0, start=7.7, foreseen=1.3).speeds, 0, atol=1e-9)


def test_a_root_that_never_walks_comes_near_the_end_and_not_beyond_it() -> None:
    assert 7.5 < -led(40.0).track[-1, 1] <= 8.0


def test_a_root_that_is_to_stand_is_not_moved_on() -> None:
    root = FilteredRoot(Stay(np.array([0.0, -3.0, 0.0])), [ProgressAssist()])
    np.testing.assert_allclose(root.go(4.0, foreseen=(0.0, -1.3)).speeds, 0, atol=1e-9)


def test_a_lag_ends_with_the_way_on_which_it_arose() -> None:
    """Another way begins without it, once the character was to stand."""
    root = FilteredRoot(Steer(walker()), [ProgressAssist()]).go(3.0)
    assert root.speeds[-1] > 0
    root.set_goal(Stay(np.append(root.roots[-1][:2], 0.0))).go(0.5).set_goal(Steer(walker())).go(0.2)
    np.testing.assert_allclose(root.speeds[-12:], 0, atol=1e-9)


def reach(standoff: float = 0.45) -> Reach:
    """Something at the origin to be used with a face along -Y, from a stand that far before it."""
    return Reach(np.zeros(3), 0.0, "carry", "box", standoff=standoff)


@pytest.mark.parametrize("short", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("back", [0.0, 0.1], ids=["stands", "is led back"])
def test_a_root_that_stays_short_of_its_stand_is_moved_to_it_and_not_beyond(short: float, back: float) -> None:
    root = FilteredRoot(reach(), [ProgressAssist()], (0.0, 0.45 + short, 0.0, 0.0)).go(12.0, (0.0, back))
    assert 0.45 + STAND.end - 0.01 < root.track[-1, 1] < 0.45 + STAND.end + STAND.fades
    assert root.speeds.max() < 1.0


def test_a_root_that_comes_to_its_stand_or_is_there_is_left_alone() -> None:
    for start, speed in ((1.2, 0.4), (0.5, 0.0)):
        root = FilteredRoot(reach(), [ProgressAssist()], (0.0, start, 0.0, 0.0)).go(1.5, (0.0, -speed))
        np.testing.assert_allclose(root.speeds, speed, atol=1e-9)


def test_a_root_that_looks_away_from_what_it_uses_or_sits_on_it_is_not_moved_to_its_stand() -> None:
    for goal, facing in ((reach(), math.pi), (reach(standoff=0.0), 0.0)):
        root = FilteredRoot(goal, [ProgressAssist()], (0.0, 1.0, 0.0, facing)).go(4.0)
        np.testing.assert_allclose(root.speeds, 0, atol=1e-9)


def test_a_fork_lags_on_its_own() -> None:
    """The lag until then counts for both, what comes after it for each alone."""
    goal = Steer(walker())
    root = FilteredRoot(goal, [ProgressAssist()]).go(3.0)
    lagging = root.speeds[-1]
    fork = FilteredRoot(goal.fork(), [root.filters[0].fork()]).go(1 / 60)
    assert fork.speeds[0] == pytest.approx(lagging, rel=0.2)
    fork.set_goal(Stay(np.zeros(3))).go(0.5)
    assert root.go(1 / 60, STILL).speeds[-1] == pytest.approx(lagging, rel=0.2)
