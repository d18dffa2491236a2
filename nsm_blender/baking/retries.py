# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that are to arrive in time: tried again from where they began, and shown at another pace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..geometry.colliders import Collider
from ..geometry.scene_state import pose_at
from ..models.nsm import FPS
from ..motion.time_warp import MOST, TimeWarp
from ..shot.shot import Shot
from ..tasks.clock import Miss
from ..tasks.machine import TaskMachine

TRIES = 8
"""How often a key is carried out at most to arrive in time; most need one or two, and few with things more than five:
the same key begun a little later takes the NSM up to a second more or less."""
GENTLE, GENTLE_TRIES = 0.5, 3
"""Share of what a warp can make up that is left to it, and in how many tries: a key that needs more is tried again."""
EARLIER = 0.25
"""Seconds by which a key that did not arrive at all sets off earlier in the next try: from another step it succeeds."""
SAME = 1e-3
"""Seconds between two tries with different leads up to which they are the same: the key is carried out as fast, or as
slowly, as can be."""


class Retries:
    """Says when to go back to the beginning of a key, and with which lead to try it again."""

    def __init__(self) -> None:
        self._key, self._tries, self._ended = -1, list[Miss](), False

    def lead(self, machine: TaskMachine[Any]) -> float | None:
        """Seconds of `KeyClock.lead` for another try; None where the key has arrived well enough, or not yet, or
        the best of its tries is this one."""
        found, machine.clock.miss = machine.clock.miss, None
        if found is None:
            return None
        if found.key != self._key:
            self._key, self._tries, self._ended = found.key, [], False
        gentle = GENTLE if len(self._tries) < GENTLE_TRIES else 1.0
        if self._ended or abs(found.late) <= gentle * found.room:
            return None
        same = bool(self._tries) and abs(found.late - self._tries[-1].late) < SAME
        self._tries.append(found)
        if len(self._tries) < TRIES - 1 and not same:
            return self._next()
        self._ended = True
        best = min(self._tries, key=lambda one: max(abs(one.late) - one.room, 0.0))
        return None if best.lead == found.lead else best.lead

    def _next(self) -> float:
        """What the last try that arrived needed; after some, which differ for no reason that a lead could tell, the
        mean of all. Earlier with each that did not arrive."""
        arrived = [one for one in self._tries if math.isfinite(one.late)]
        earlier = EARLIER * (len(self._tries) - len(arrived))
        if not arrived:
            return self._tries[0].lead + earlier
        used = arrived[-1:] if len(arrived) < GENTLE_TRIES else arrived
        return sum(one.lead + one.late for one in used) / len(used) + earlier


def rollout_frames(shot: Shot, warp: TimeWarp) -> int:
    """Frames at 60 fps that a shot needs whose rollout is shown by a warp."""
    last = (shot.frames - 1) / shot.fps * FPS
    return math.ceil(float(warp.frames(np.array(last))) if warp.stretches else last) + 1


def most_frames(shot: Shot) -> int:
    """Frames at 60 fps that a shot needs at most, however it is warped."""
    frames = rollout_frames(shot, TimeWarp())
    return math.ceil(frames / (1 - MOST)) + 1 if any(key.is_timed for key in shot.keys) else frames


def retimed(colliders: Sequence[Collider], warp: TimeWarp, fps: float) -> Sequence[Collider]:
    """Colliders as they are at the frames of a rollout that is shown by a warp, at the rate of their poses."""
    if not warp.stretches:
        return colliders
    out = []
    for collider in colliders:
        if len(collider.poses) > 1:
            frames = np.arange(math.ceil(len(collider.poses) / (1 - MOST))) * (FPS / fps)
            shown = warp.times(frames) * (fps / FPS)
            collider = replace(collider, poses=np.stack([pose_at(collider, time) for time in shown]))
        out.append(collider)
    return out
