# SPDX-License-Identifier: GPL-3.0-or-later
"""When a key that says when to arrive sets off, and how fast and in which gait it goes; or why it cannot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..motion.rotations import wrap_angle
from ..planning.path_planner import Leg, Planner
from ..planning.speed_limits import Range, SpeedLimits
from ..planning.speed_profile import PACES, Walker
from ..planning.trajectory import JOGGING, TURN_RATE
from ..shot.goals import ActionKey
from .protocol import Task

TURN_FIRST = math.radians(40)
"""Radians from its way at which a character that stands turns on the spot before it goes."""
TURNED_ENOUGH = math.radians(15)
"""Radians from its way at which such a character goes."""
BEGINNING = 0.3
"""Seconds until a character that stands begins to turn toward its way."""
SLACK = 0.95
"""Share of the shortest foreseen time that may be asked for: foresight errs by as much, and a warp makes it up."""
LAST_DECIMETER = 0.2
"""Seconds for the last decimeter of a way, at which the character counts as arrived."""
SHORTEST, SHORT = 1.9, 1.0
"""Seconds that setting off and stopping take however short the way is, and meters of the shortest such way."""
LEAST_PACE = 1.02
"""Factor on JOGGING that keeps a slow jog from falling into a walk and back."""
_HALVINGS = 12
"""Halvings of a range of speeds, down to a millimeter a second."""


@dataclass(frozen=True)
class Plan:
    """How a key is carried out. set_off: frame of the shot at which it sets off at the earliest. arrive: frame at which
    it is to arrive. gait, speed: on the way, speed None as usual for the gait. after: seconds from the end of the way
    until it arrives. trouble: why it cannot arrive then, "" where it can."""

    set_off: float
    arrive: float
    gait: str
    speed: float | None
    after: float = 0.0
    trouble: str = ""


def plan(
    planner: Planner,
    task: Task,
    key: ActionKey,
    leg: Leg,
    facing: float,
    free: float,
    limits: SpeedLimits,
    rising: float = 0.0,
    lead: float = 0.0,
) -> Plan:
    """The plan of a key that says when to arrive, whose character is free at a frame of the shot and looks along
    `facing`.

    rising: seconds until it stands that sits. lead: seconds by which it is planned to arrive sooner than asked.
    """
    fps, gait = planner.shot.fps, task.gait(key)
    set_off = free if key.start is None else max(free, float(key.start))
    # A rollout at 60 fps comes to a frame of the shot a little after it.
    set_off = float(math.floor(set_off + 1e-6))
    arrive = _arrival(key, set_off)
    way = _Way(planner, leg, facing, limits, rising + _turning(planner, leg, facing))
    target = arrive - lead * fps
    usual = _usual(key, gait, limits)
    needed = way.seconds(gait, usual) + task.reaching
    fixed = key.start if key.duration is None or key.arrive is None else key.arrive - key.duration
    if fixed is None and key.duration is None and set_off + needed * fps <= target:
        return Plan(target - needed * fps, arrive, gait, key.speed, task.reaching)
    set_off = max(set_off, 0 if fixed is None else fixed)
    available, may_wait = (target - set_off) / fps - task.reaching, fixed is None and key.duration is None
    gait, speed, trouble = way.fitted(gait, available, may_wait)
    if may_wait:
        # The slowest run may be far faster than the fastest walk, as on stairs.
        set_off = max(set_off, target - (way.seconds(gait, speed) + task.reaching) * fps)
    if trouble:
        trouble += _remedy(trouble, set_off, arrive, fps, way, gait, task.reaching)
    return Plan(set_off, arrive, gait, speed, task.reaching, trouble)


def _arrival(key: ActionKey, set_off: float) -> float:
    """Frame of the shot at which a timed key is to arrive that sets off at a frame."""
    if key.arrive is not None:
        return float(key.arrive)
    assert key.duration is not None
    return set_off + key.duration


def _usual(key: ActionKey, gait: str, limits: SpeedLimits) -> float:
    """m/s at which a key goes that has time."""
    known = limits.by_gait[gait]
    return min(max(PACES[gait].speed if key.speed is None else key.speed, known.least), known.most)


def _turning(planner: Planner, leg: Leg, facing: float) -> float:
    """Seconds of turning toward the way on the spot."""
    if leg.route.length == 0:
        return 0.0
    walker = planner.walker(leg.route, "walk", None)
    away = abs(float(wrap_angle(np.array(walker.heading() - facing))))
    return BEGINNING + (away - TURNED_ENOUGH) / TURN_RATE if away > TURN_FIRST else 0.0


@dataclass(frozen=True, eq=False)
class _Way:
    """A leg that takes `before` seconds until the character walks."""

    planner: Planner
    leg: Leg
    facing: float
    limits: SpeedLimits
    before: float

    @property
    def length(self) -> float:
        """Meters."""
        return self.leg.route.length

    def walker(self, gait: str, speed: float) -> Walker:
        """The walker at a speed."""
        return self.planner.walker(self.leg.route, gait, speed, self.facing)

    def seconds(self, gait: str, speed: float) -> float:
        """From setting off until the end of the way, at a steady speed where the way is free."""
        if self.length == 0:
            return self.before
        least = SHORTEST * min(self.length / SHORT, 1.0)
        return self.before + max(self.walker(gait, speed).seconds_at(speed) - LAST_DECIMETER, least)

    def shortest(self, gait: str) -> float:
        """Seconds at the fastest."""
        gaits = [gait] if gait == "crouch" else ["walk", "jog"]
        return min(self.seconds(one, self.limits.by_gait[one].most) for one in gaits)

    def fitted(self, gait: str, available: float, may_wait: bool) -> tuple[str, float, str]:
        """The gait and the speed in m/s with which the way takes so many seconds, and a sentence where none does."""
        gaits = [gait] if gait == "crouch" else ["walk", "jog"]
        if self.length == 0:
            return gait, PACES[gait].speed, ""
        for one in gaits:
            known = self.limits.by_gait[one]
            if self.seconds(one, known.most) <= available:
                break
        else:
            fits = SLACK * self.shortest(one) <= available
            return one, known.most, "" if fits else self._too_fast(available, known)
        least = self._least(one, known)
        if self.seconds(one, least) < available:
            slow = one == gaits[0] and not may_wait and self.seconds(one, least) < SLACK * available
            return one, least, self._too_slow(available, known) if slow else ""
        low, high = least, known.most
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self.seconds(one, middle) <= available else (middle, high)
        return one, high, ""

    def _least(self, gait: str, known: Range) -> float:
        """The slowest of a gait, which does not fall into another one."""
        return max(known.least, LEAST_PACE * JOGGING) if gait == "jog" else known.least

    def _too_fast(self, available: float, known: Range) -> str:
        shortest = self.shortest("crouch" if known is self.limits.by_gait["crouch"] else "jog")
        if available > 0 and self.length / available > known.most:
            needs = f"needs {self.length / available:.1f} m/s; the fastest is {known.most:.1f}."
            return f"{self.length:.1f} m in {available:.1f} s {needs}"
        left = f"{max(available, 0.0):.1f} s are left for {self.length:.1f} m"
        return f"{left}, which take {shortest:.1f} s at the fastest."

    def _too_slow(self, available: float, known: Range) -> str:
        needs = f"needs {self.length / available:.1f} m/s; the slowest is {known.least:.1f}."
        return f"{self.length:.1f} m in {available:.1f} s {needs}"


def _remedy(trouble: str, set_off: float, arrive: float, fps: float, way: _Way, gait: str, reaching: float) -> str:
    """What to do about it."""
    known = way.limits.by_gait[gait]
    if "slowest" in trouble:
        latest = arrive - (way.seconds("walk" if gait == "jog" else gait, known.least) + reaching) * fps
        return f" Let it set off at frame {math.ceil(latest)} or later, or leave that open."
    soonest = set_off + (way.shortest(gait) + reaching) * fps
    return f" Let it arrive at frame {math.ceil(soonest)} or later."
