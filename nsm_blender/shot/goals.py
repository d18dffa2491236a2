# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character is to do: goals in the scene and action keys in time."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..geometry.body import BODY

ACTIONS = ("idle", "walk", "run", "sit", "open", "pick_up", "put_down", "climb")
"""What an action key may ask for. The order is stored in files and keyframes: append only."""

LOCOMOTION = ("idle", "walk", "run")
"""Actions that the locomotion network can do."""

SLIM = 0.7
"""Share of the body's radius that it needs to either side where it goes sideways."""


@dataclass
class Goal:
    """A place to go to or a thing to use.

    place: x, y, z in world meters. facing: angle about +Z in radians (0 faces -Y) at the end, or None: any.
    collider: name of the collider that is used, "" for a free goal. by_place: the part of the collider that is nearest
    to the place is used, such as another cushion or board; otherwise its handles alone say where.
    moves: x, y, z and facing angle at each frame of the shot, for a goal that is animated; empty for one that stays.
    """

    name: str
    place: list[float]
    facing: float | None = None
    collider: str = ""
    moves: list[list[float]] = field(default_factory=list)
    by_place: bool = False

    def at(self, frame: float) -> Goal:
        """The goal as it is at a frame of the shot, where it stays; before and after the shot as at its ends."""
        if not self.moves:
            return self
        x, y, z, facing = self.moves[min(max(round(frame), 0), len(self.moves) - 1)]
        facing_then = None if self.facing is None else facing
        return Goal(self.name, [x, y, z], facing_then, self.collider, by_place=self.by_place)


@dataclass
class ActionKey:
    """One thing to do.

    action: one of ACTIONS. goal: name of a Goal, "" only for idle. start: frame of the shot (0 is its first) at which
    the character sets off, or None: when the previous key is done. hold: seconds to stay when done. gait: "walk", "jog"
    or "crouch" on the way. speed: m/s on the way, None as usual for the gait. facing: angle at the end, None as the
    goal has it.
    lean: whether a body that sits leans back where a backrest is within reach.
    route: the animator's own way as world places x, y, z, or empty: found around the colliders.
    """

    action: str
    goal: str = ""
    start: int | None = None
    hold: float = 0.0
    gait: str = "walk"
    speed: float | None = None
    facing: float | None = None
    lean: bool = True
    route: list[list[float]] = field(default_factory=list)


@dataclass
class RouteOptions:
    """How routes are found. radius, height: meters of the body. crouch: low beams may be gone under, crouching.
    sideways: gaps that are narrower than the body is wide may be gone through sideways."""

    radius: float = BODY.radius
    height: float = BODY.height
    crouch: bool = True
    sideways: bool = True

    @property
    def slim(self) -> float:
        """Meters to either side that the body needs where it goes sideways."""
        return SLIM * self.radius
