# SPDX-License-Identifier: GPL-3.0-or-later
"""What the PFNN is told of the ground: which side is which, and a root that rises evenly over stairs."""

from __future__ import annotations

import numpy as np
import pytest

from nsm_blender.geometry.trajectory_heights import ASIDE, root_height, trajectory_heights
from nsm_blender.motion.root import direction
from nsm_blender.motion.rotations import Array


@pytest.mark.parametrize(("angle", "right_to_left"), [(0.0, (-1, 0, 1)), (np.pi, (1, 0, -1)), (np.pi / 2, (0, 0, 0))])
def test_left_and_right_are_the_characters(angle: float, right_to_left: tuple[int, ...]) -> None:
    def slope(places: Array) -> Array:
        return 2.0 * places[..., 0]

    found = trajectory_heights(slope, np.zeros((12, 2)), np.tile(direction(np.array(angle)), (12, 1)))
    np.testing.assert_allclose(found, np.tile(2 * ASIDE * np.array(right_to_left), (12, 1)), atol=1e-9)


def test_the_root_rises_evenly_over_stairs() -> None:
    def stairs(places: Array) -> Array:
        return 0.17 * np.floor(-places[..., 1] / 0.3)

    walked = -np.linspace(0.0, 3.0, 181)[:, None]
    samples = walked + np.linspace(-1.0, 0.8, 12) * -1.0
    positions = np.stack((np.zeros_like(samples), samples), axis=-1)
    height = root_height(trajectory_heights(stairs, positions, np.broadcast_to([0.0, -1.0], positions.shape)))
    assert np.diff(height).max() < 0.05
    assert height[-1] - height[0] == pytest.approx(10 * 0.17, abs=0.02)
