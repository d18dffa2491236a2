# SPDX-License-Identifier: GPL-3.0-or-later
"""Things on ground: the NSM, which knows level floors alone, uses them where the ground is level around them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..geometry.ground import Ground
from ..planning.path_planner import Leg, Planner
from ..shot.goals import LOCOMOTION, ActionKey
from ..shot.shot import Shot
from .registry import task_of

LEVEL = 0.04
"""Meters by which level ground is uneven at most: less than feet step over without being lifted for it."""
FLAT = 1e-6
"""Meters over the floor up to which ground is nothing but the floor."""
AROUND = 0.35
"""Meters around where a body stands within which the ground is to be level: a step to either side."""
_RING = np.array([(math.cos(a), math.sin(a)) for a in np.arange(8) * (math.pi / 4)])


def without_flat_ground(shot: Shot) -> Shot:
    """The shot as the NSM knows it: ground that is nothing but the floor is left out where things are used."""
    if not shot.ground or all(key.action in LOCOMOTION for key in shot.keys):
        return shot
    meshes = [mesh.mesh() for mesh in shot.ground]
    # Most ground that is not flat is told from its vertices, without the seconds that a landscape takes.
    if any(np.max(mesh.vertices[:, 2]) > FLAT for mesh in meshes) or not Ground.of(meshes).is_flat:
        return shot
    return replace(shot, ground=[])


def trouble(planner: Planner, key: ActionKey, leg: Leg | None, frame: float, held: str) -> str:
    """Why a key cannot be carried out over the ground of its shot, ""; leg: its way, None where it has none. held: name
    of what is in the hands as it begins, ""."""
    ground, thing = planner.terrain, planner.thing(key)
    if ground is None:
        return ""
    task = task_of(key)
    if not task.on_ground and thing is not None:
        what = f"The character can {task.verb} '{thing.name}' on a level floor alone, and there is ground."
        return f"{what} Use it as ground, too."
    if leg is None:
        return ""
    if held and np.ptp(leg.route.points[:, 2]) > LEVEL:
        return (
            f"The character carries '{held}' over level ground alone, and the way goes up or down. Put it down before."
        )
    if key.action in LOCOMOTION or thing is None:
        return ""
    place = leg.place
    around = ground.height(np.vstack((place, place + AROUND * _RING)), leg.height)
    uneven = float(np.ptp(around))
    if uneven > LEVEL:
        return (
            f"The ground before '{thing.name}' is uneven by {100 * uneven:.0f} cm, and things are used where it is "
            f"level to {100 * LEVEL:.0f} cm. Move '{thing.name}' onto level ground."
        )
    above = planner.floor_under(thing, frame) - float(around[0])
    if abs(above) > LEVEL:
        where = "higher" if above > 0 else "lower"
        return (
            f"The ground under '{thing.name}' is {100 * abs(above):.0f} cm {where} than the ground before it, "
            "where the character stands. Move it onto the same level."
        )
    return ""
