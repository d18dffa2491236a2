# SPDX-License-Identifier: GPL-3.0-or-later
"""Times of sitting, as plain data: tasks note them, the clean-up brings the hips to the seat meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..motion.rotations import Array
from ..motion.skeleton import MODEL_SKELETON, SEAT_BELOW_HIP_JOINTS
from ..rollout.goal_spec import Reach

HIP_JOINTS = MODEL_SKELETON.indices(["LeftUpLeg", "RightUpLeg"])


def sitting_place(hips: Array, joints: Array) -> Array:
    """Where a body sits (3,): straight under its hips (3,), as far below the hip joints (2, 3) as a seat is.

    This is what episodes put on the place of a seat, and so what the network learns to bring there.
    """
    return np.array([hips[0], hips[1], joints[:, 2].mean() - SEAT_BELOW_HIP_JOINTS])


@dataclass(frozen=True, eq=False)
class Seating:
    """A time of sitting, in frames of the rollout.

    key: number of the key. aim: place of the hips and facing. first: from which on the character sits down. touched: at
    which the hips touched the seat. settled: at which it sat. left: at which it was told to get up, None while seated.
    rises: frames that getting up takes. lean: whether the back rests on a backrest that is within reach.
    """

    key: int
    aim: Reach
    first: int
    touched: int
    settled: int
    left: int | None = None
    rises: int = 0
    lean: bool = True

    def used(self, count: int) -> slice:
        """The frames of `count` in which the body may touch its seat."""
        return slice(self.first, count if self.left is None else min(self.left + self.rises, count))
