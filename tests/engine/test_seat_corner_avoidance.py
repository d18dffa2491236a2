# SPDX-License-Identifier: GPL-3.0-or-later
"""A character that comes to a seat from the side goes round its corner."""

from __future__ import annotations

import numpy as np

from nsm_blender.geometry.roles import Seat
from nsm_blender.rollout.seat_corner_avoidance import round_corner


def test_a_character_that_comes_from_the_side_is_led_round_the_corner_of_a_seat() -> None:
    sofa = Seat([0.0, 0.0, 0.42], [0.0, -1.0, 0.0], 1.5, 0.5)
    place = np.array(sofa.place)
    front = -place[1] - 0.25
    over, before, middle, far = round_corner(
        sofa, place, 0.0, np.array([[0.6, -0.1], [0.6, -0.7], [0.05, -0.1], [3.0, 0.0]])
    )
    assert over[1] < front and abs(over[0]) < 1e-9
    np.testing.assert_allclose([before, middle, far], 0, atol=1e-9)
    behind = round_corner(sofa, place, 0.0, np.array([[0.3, 2.0]]))
    np.testing.assert_allclose(behind, 0, atol=1e-9)
