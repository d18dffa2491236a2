# SPDX-License-Identifier: GPL-3.0-or-later
"""The time of the keys: when the frames of a rollout are shown, and how the present key keeps to its arrival."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..models.nsm import FPS
from ..motion.time_warp import TimeWarp, room
from ..planning.pacing import Pacer
from ..planning.speed_limits import SpeedLimits
from ..planning.speed_profile import Walker
from .timing import LAST_DECIMETER, Plan

OVERDUE = 3.0
"""Seconds after which a key that has still not arrived is not waited for while it can be tried again."""


@dataclass(frozen=True)
class Miss:
    """How a key with an arrival arrived. key: its number. lead: the clock's. late: seconds after it was to arrive, in
    the rollout, infinite where it has not arrived. room: seconds that a warp can make up."""

    key: int
    lead: float
    late: float
    room: float


class KeyClock:
    """Tells the time of a shot whose rollout has frames at 60 fps, and brings keys to their arrivals.

    warp: when the frames of the rollout are shown. lead: seconds by which the present key is planned to arrive sooner
    than asked. miss: how the last of the keys arrived that say when; None until then. plan: of the present key, None
    where it does not say.
    """

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self.warp = TimeWarp()
        self.lead = 0.0
        self.miss: Miss | None = None
        self.plan: Plan | None = None
        self._pacer: Pacer | None = None
        self._began = self._set_off = 0
        self._reached = -1
        self._lost = False

    def shown(self, frame: int) -> float:
        """A frame of the rollout in frames of the shot."""
        return self.warp.time(frame) / FPS * self._fps

    def begin(self, plan: Plan | None, frame: int) -> None:
        """A key is planned at a frame of the rollout; from there on time may be warped, its waiting included."""
        self.plan, self._began, self._reached, self._lost = plan, frame, -1, False

    def set_off(self, frame: int) -> None:
        """The key sets off at a frame of the rollout."""
        self._set_off, self._reached = frame, -1

    def pace(self, walker: Walker, limits: SpeedLimits) -> None:
        """Keep a walker of the present key in time from now on."""
        if self.plan is not None:
            speed = walker.top if self.plan.speed is None else self.plan.speed
            self._pacer = Pacer(walker, self.plan.gait, speed, limits.by_gait[self.plan.gait])

    def keep(self, frame: int) -> None:
        """Go faster while late, and slower while early, in the next frame."""
        if self.plan is not None and self._pacer is not None:
            left = (self.plan.arrive - self.shown(frame)) / self._fps - self.lead - self.plan.after
            self._pacer.keep(left + LAST_DECIMETER)

    def has_reached(self, seconds: float, frame: int) -> bool:
        """Whether the present key, which says when, has arrived so many seconds before a frame of the rollout."""
        return 0 <= self._reached <= frame - seconds * FPS

    def reach(self, key: int, frame: int) -> tuple[int, int] | None:
        """The key of a number has arrived at a frame of the rollout: time is warped so that this is shown when asked.

        The frames of the shot at which it set off and arrived; None where it does not say when, or has arrived before.
        """
        if self._reached >= 0 or self.plan is None:
            return None
        self._reached = frame
        asked = self.plan.arrive / self._fps * FPS
        self.miss = Miss(key, self.lead, (self.warp.time(frame) - asked) / FPS, room(self._began, frame) / FPS)
        self.warp = self.warp.brought(self._began, frame, asked)
        return math.ceil(self.shown(self._set_off) - 1e-6), math.ceil(self.shown(frame) - 1e-6)

    def watch(self, key: int, frame: int) -> None:
        """The key of a number is still under way at a frame of the rollout, at which it may be long overdue."""
        if self.plan is not None and self.shown(frame) > self.plan.arrive + OVERDUE * self._fps:
            self.lose(key)

    def lose(self, key: int) -> None:
        """The key of a number does not arrive: it failed, or there is no time left for it."""
        if self.plan is not None and self._reached < 0 and not self._lost:
            self._lost = True
            self.miss = Miss(key, self.lead, math.inf, 0.0)

    def finish(self) -> None:
        """The present key is done."""
        self.plan, self._pacer, self.lead = None, None, 0.0
