# SPDX-License-Identifier: GPL-3.0-or-later
"""How a bake carried the action keys out: when each set off and arrived, and how near the rig came to its goal."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import bpy
import numpy as np

from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.root import facing_angle
from ..nsm_blender.motion.rotations import Array
from . import keys
from .gather import Gathered

_BEFORE = 0.2
"""Seconds before a key is done at which its errors are taken: later the character already leans and turns to the next.
"""
_SMOOTHED = 0.5
"""Seconds up to then over which the rig's facing is smoothed."""


@dataclass(frozen=True)
class Arrival:
    """What became of one key. Frames are the scene's; None where it did not come to that.

    error_cm: horizontal distance of the hips from the goal. error_deg: angle from the facing asked for, None when
    none was. Both just before it was done, or at the last frame; of a sit where the character came to sit, from where
    the hips slide back on the seat to lean. For what is picked up or put down: how far the hands were from the box, or
    the box from its place.
    """

    key: int
    action: str
    goal: str
    set_off: int | None
    arrived: int | None
    done: int | None
    error_cm: float | None
    error_deg: float | None


def measured(gathered: Gathered, motion: Motion, at: Array, heads: Array) -> list[Arrival]:
    """What became of each key of the shot. heads: (N, J, 3) world meters of the baked rig's joints at the indices
    `at` (N,) of the shot's frames."""
    told: list[dict[str, Any]] = motion.meta.get("keys", [])
    return [_arrival(number, key, gathered, motion.fps, at, heads) for number, key in enumerate(told, start=1)]


def troubles(motion: Motion) -> list[str]:
    """Why keys did not come to their goals, a sentence each."""
    told: list[dict[str, Any]] = motion.meta.get("keys", [])
    return [
        f"Action key {number} ({keys.ACTIONS[key['action']]} {key['goal']}): {key['trouble']}"
        for number, key in enumerate(told, start=1)
        if key.get("trouble")
    ]


def store(armature: bpy.types.Object, found: list[Arrival]) -> None:
    """Keep on each key what became of it."""
    forget(armature)
    for key, arrival in zip(keys.of_character(armature), found, strict=False):
        key.was_baked = arrival.set_off is not None
        for name in ("set_off", "arrived", "done"):
            value = getattr(arrival, name)
            setattr(key, name, keys.NEVER if value is None else value)
        key.error_cm = keys.NOT_MEASURED if arrival.error_cm is None else arrival.error_cm
        key.error_deg = keys.NOT_MEASURED if arrival.error_deg is None else arrival.error_deg


def stored(armature: bpy.types.Object) -> list[Arrival]:
    """What `store` kept, of the keys that were baked."""
    return [
        Arrival(
            number,
            key.action,
            key.goal.name_full if key.goal is not None else "",
            *(None if frame == keys.NEVER else frame for frame in (key.set_off, key.arrived, key.done)),
            *(None if error < 0 else error for error in (key.error_cm, key.error_deg)),
        )
        for number, key in enumerate(keys.of_character(armature), start=1)
        if key.was_baked
    ]


def forget(armature: bpy.types.Object) -> None:
    """Take off the keys what a bake left on them."""
    for key in keys.of_character(armature):
        for name in ("was_baked", "set_off", "arrived", "done", "error_cm", "error_deg"):
            key.property_unset(name)


def plain(found: list[Arrival]) -> list[dict[str, Any]]:
    """Arrivals as JSON's plain data."""
    return [asdict(arrival) for arrival in found]


def _arrival(number: int, told: dict[str, Any], gathered: Gathered, fps: float, at: Array, heads: Array) -> Arrival:
    first = int(gathered.frames[0])
    frames = {name: None if told.get(name) is None else first + int(told[name]) for name in _MOMENTS}
    # How far the hands or the box were off: the place of what is used is not where the hips are to be.
    cm, deg = (told.get("error_cm"), told.get("error_deg")) if told["action"] in _WITH_HANDS else (None, None)
    uses = told["action"] in _WITH_HANDS or told["action"] == "open"
    if not uses and told.get("arrived") is not None and told.get("place") is not None:
        # A character that stands there when the shot ends is not done, but as near as it gets.
        row = len(at) - 1
        if told["action"] == "sit":
            row = int(np.abs(at - told["arrived"]).argmin())
        elif told.get("done") is not None:
            row = int(np.abs(at - max(told["arrived"], told["done"] - _BEFORE * fps)).argmin())
        wanted = np.array(told["place"])[:2] * gathered.rig.scale
        cm = float(np.linalg.norm(heads[row, 0, :2] - wanted)) * 100
        if told.get("facing") is not None:
            off = _facing(at, heads, row, fps) - told["facing"]
            deg = abs(math.degrees(math.remainder(off, 2 * math.pi)))
    return Arrival(number, told["action"], told["goal"], **frames, error_cm=cm, error_deg=deg)


_MOMENTS = ("set_off", "arrived", "done")
_WITH_HANDS = ("pick_up", "put_down")


def _facing(at: Array, heads: Array, row: int, fps: float) -> float:
    """The rig's facing angle at a measured frame; smoothed where those before it were measured, too."""
    first = max(0, row - round(_SMOOTHED * fps))
    if at[row] - at[first] != row - first:
        first = row
    return float(facing_angle(heads[first : row + 1], fps)[-1])
