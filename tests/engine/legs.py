# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways that keys ask for, as the task machine looks for them."""

from __future__ import annotations

import numpy as np

from nsm_blender.motion.rotations import Array
from nsm_blender.planning.path_planner import Leg, Planner
from nsm_blender.shot.goals import ActionKey
from nsm_blender.shot.shot import Shot
from nsm_blender.tasks.registry import task_of


def leg(shot: Shot, key: ActionKey, start: Array | tuple[float, float]) -> Leg:
    """The way that a key asks for in a shot, from a place (2,), at its first frame. Raises RouteError."""
    planner = Planner(shot)
    return planner.leg(key, task_of(key).approach(planner, key, 0), np.asarray(start, dtype=float), 0)
