# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character that walks a route is asked for in the next seconds."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.planning.path_search import Route
from nsm_blender.planning.speed_profile import KNEELING, ON_HANDS, PACES, Walker
from nsm_blender.planning.trajectory import GAINING
from nsm_blender.rollout.goal_spec import Steer

TIMES = np.linspace(0, 2, 13)


def walker(meters: float = 8.0, speed: float | None = None) -> Walker:
    points = np.array([[0.0, -y, 0.0] for y in np.linspace(0, meters, 81)])
    return Walker(Route(points, *np.zeros((2, 81), dtype=bool)), "walk", speed, np.full(81, 9.0))


def in_a_gap(before: float = 0.0) -> Walker:
    """A walk along -Y that goes sideways from 4 to 4.5 m, and comes from `before` radians aside until 3 m."""
    along = np.linspace(0, 8, 81)
    x = np.minimum(along - 3, 0) * np.tan(before)
    points = np.stack((x, -along, 0 * along), axis=1)
    sideways = (along > 4) & (along < 4.5)
    return Walker(Route(points, np.zeros(81, dtype=bool), sideways), "walk", None, np.full(81, 9.0))


def test_the_character_turns_aside_before_a_gap_goes_slowly_and_turns_back_behind_it() -> None:
    walker = in_a_gap()
    s = np.array([1.0, 3.5, 4.25, 5.0, 7.0])
    aside = np.abs(walker.facing(s) - walker.path.heading(s))
    np.testing.assert_allclose(aside[[0, 2, 4]], [0, np.pi / 2, 0], atol=0.02)
    assert 0 < aside[1] < np.pi / 2 and 0 < aside[3] < np.pi / 2
    assert walker.ahead(np.array([60.0]))[0] == pytest.approx(8.0, abs=0.1)
    assert (
        walker.seconds
        > Walker(
            Route(np.array([[0, 0, 0], [0, -8, 0]]), *np.zeros((2, 2), dtype=bool)), "walk", None, np.full(2, 9.0)
        ).seconds
        + 0.5
    )


@pytest.mark.parametrize("first", [0.1, 1.0, 3.0])
def test_a_body_goes_sideways_where_the_gap_is_however_the_points_of_the_way_are_spaced(first: float) -> None:
    along = np.concatenate(([0.0], np.arange(first, 8.05, 0.1)))
    points = np.stack((0 * along, -along, 0 * along), axis=1)
    sideways = (along > 4) & (along < 4.5)
    walker = Walker(Route(points, 0 * along > 1, sideways), "walk", None, 0 * along + 9.0)
    turned = np.abs(walker.facing(np.array([0.5, 3.0, 4.25, 5.5])) - walker.path.heading(np.zeros(4)))
    np.testing.assert_allclose(turned, [0, 0, np.pi / 2, 0], atol=0.02)


def test_a_way_up_on_hands_and_knees_is_led_at_their_pace_and_takes_their_time() -> None:
    before = np.array([[0.0, -y, 0.0] for y in np.linspace(0, 3, 31)])
    points = np.vstack((before, [[0.0, -3.3, 0.0], [0.0, -3.65, 0.0]]))
    flags = np.zeros((2, len(points)), dtype=bool)
    led = np.arange(len(points)) == len(before)
    by_legs, on_hands = (
        Walker(Route(points, *flags, on_hands=climbs), "walk", None, np.full(33, 9.0)) for climbs in (None, led)
    )
    assert 5.0 < on_hands.seconds - by_legs.seconds < 8.0
    on_hands.along = 3.05
    assert on_hands.ahead(np.array([1.0, 2.0])) == pytest.approx([3.05 + ON_HANDS, 3.05 + 2 * ON_HANDS], abs=0.03)
    on_hands.along = 3.4
    assert on_hands.ahead(np.array([1.0]))[0] == pytest.approx(3.4 + ON_HANDS, abs=0.03)
    on_hands.along = 3.26
    assert on_hands.ahead(np.array([1.0]))[0] == pytest.approx(3.26 + KNEELING, abs=0.01)
    assert [on_hands.climbs(at) for at in (2.9, 3.15, 3.3, 3.5)] == [0, 1, 1, 0] and not by_legs.goes_on_hands
    on_hands.along = by_legs.along = 0.5
    assert on_hands.ahead(np.array([0.5]))[0] == pytest.approx(by_legs.ahead(np.array([0.5]))[0], abs=0.01)


def test_a_gap_is_known_while_it_is_ahead() -> None:
    sideways, free = in_a_gap(), walker()
    assert sideways.goes_sideways and not free.goes_sideways
    sideways.along = 5.5
    assert not sideways.goes_sideways


@pytest.mark.parametrize("before", [-0.8, 0.8])
def test_the_character_turns_to_the_side_that_is_less_turning(before: float) -> None:
    walker = in_a_gap(before)
    first, within = walker.facing(np.array([1.0, 4.6]))
    assert np.abs(within - first) < np.pi / 2


def test_the_usual_pace_is_kept() -> None:
    along = walker().ahead(TIMES, PACES["walk"].speed)
    np.testing.assert_allclose(along, PACES["walk"].speed * TIMES, atol=0.02)


def test_a_standing_character_is_asked_to_set_off_by_and_by() -> None:
    along = walker().ahead(TIMES, 0.0)
    assert (np.diff(along, 2) >= -1e-9).all()
    assert along[-1] <= 0.5 * GAINING * TIMES[-1] ** 2 + 1e-9
    assert along[-1] > 1.5


def test_a_character_that_is_too_fast_is_held_back_but_never_back() -> None:
    slower, slowest = walker().ahead(TIMES, 1.6 * PACES["walk"].speed), walker().ahead(TIMES, 9.0)
    usual = walker().ahead(TIMES)
    assert (slower[1:] < 0.8 * usual[1:]).all()
    assert (np.diff(slowest) > 0).all()


def test_a_fork_goes_its_own_way() -> None:
    steer = Steer(walker())
    steer.samples(np.zeros(4), 0.0)
    fork = steer.fork()
    for frame in range(1, 60):
        steer.samples(np.array([0.0, -frame / 30, 0.0, 0.0]), frame / 60)
    assert steer.walker.along == pytest.approx(59 / 30, abs=0.05) and fork.walker.along == pytest.approx(0, abs=1e-6)
    assert steer.pace > 1.5 and fork.pace == 0
