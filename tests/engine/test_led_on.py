# SPDX-License-Identifier: GPL-3.0-or-later
"""Who stands on his way and looks along it is led on; who walks, looks elsewhere or has come to the end is not."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.models.nsm import FPS, FUTURE
from nsm_blender.rollout.goal_input import Stay, Steer
from nsm_blender.rollout.progress_assist import BESIDE, MOST, PACE, PATIENCE, STEP, led_on, led_there

from .test_speed_profile import walker


def led(
    seconds: float,
    start: float = 0.0,
    facing: float = 0.0,
    speed: float = 0.0,
    door: str = "",
    asked: float | None = None,
) -> np.ndarray:
    """Metres (F,) along a way of 8 m along -Y of one who begins `start` m along it, goes on at `speed` m/s, and is to
    go at `asked` m/s, or as usual."""
    steer, root, out = Steer(walker(speed=asked), door=door), np.array([0.0, -start, 0.0, facing]), []
    steer.walker.along, steer.mark = start, (0.0, start)
    for frame in range(round(seconds * FPS)):
        steer.samples(root, frame / FPS)
        root = root - np.array([0.0, speed / FPS, 0.0, 0.0])
        led_on(steer, root, np.zeros((FUTURE, 2)))
        out.append(-root[1])
    return np.array(out)


@pytest.mark.parametrize("start", [0.0, 4.0, 7.2], ids=["at the start", "on the way", "short of the end"])
def test_one_who_stands_is_led_on_after_a_while_no_faster_than_a_step(start: float) -> None:
    along = led(PATIENCE + 1.5, start)
    assert along[round(PATIENCE * FPS) - 1] == start
    assert along[-1] > start + 0.3 and np.diff(along).max() * FPS <= PACE + 1e-6


def test_one_is_led_up_to_the_end_and_not_over_it() -> None:
    assert 7.65 < led(8.0, 7.2)[-1] < 8.0


def test_one_who_never_walks_of_himself_is_given_up() -> None:
    assert led(30.0)[-1] < (MOST + PATIENCE) * PACE


def test_one_who_only_treads_on_is_led_too_but_not_one_who_is_to_go_slowly() -> None:
    assert led(6.0, speed=0.2)[-1] > 6 * 0.2 + 0.3
    assert led(6.0, speed=0.2, asked=0.3)[-1] == pytest.approx(6 * 0.2)


@pytest.mark.parametrize(("facing", "speed", "door"), [(2.5, 0.0, ""), (0.0, 1.0, ""), (0.0, 0.0, "door")])
def test_who_turns_first_or_walks_or_opens_a_door_is_left_alone(facing: float, speed: float, door: str) -> None:
    along = led(4.0, 0.0, facing, speed, door)
    np.testing.assert_allclose(along, speed * np.arange(1, len(along) + 1) / FPS, atol=1e-9)


def stood(off: float, thing: str) -> np.ndarray:
    """Metres (F,) from his place of one who is to stand there for three seconds."""
    stay, root, out = Stay(np.zeros(3), None, "carry", thing), np.array([off, 0.0, 0.0, 0.0]), []
    for _ in range(round(3 * FPS)):
        led_there(stay, root, np.zeros((FUTURE, 2)))
        out.append(float(np.hypot(*root[:2])))
    return np.array(out)


@pytest.mark.parametrize("thing", ["box", ""], ids=["with a box", "with empty hands"])
def test_a_character_beside_the_place_where_it_is_to_stand_comes_to_it_step_by_step(thing: str) -> None:
    away = stood(0.25, thing)
    assert away[-1] <= BESIDE[0] and -np.diff(away).min() * FPS <= STEP + 1e-6


@pytest.mark.parametrize(("off", "thing"), [(0.6, ""), (0.6, "box"), (0.02, "box")], ids=["far", "far, box", "there"])
def test_a_character_that_is_still_on_its_way_or_there_already_is_not_led(off: float, thing: str) -> None:
    np.testing.assert_array_equal(stood(off, thing), off)
