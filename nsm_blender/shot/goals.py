# SPDX-License-Identifier: GPL-3.0-or-later
"""What a character is to do: goals in the scene and action keys in time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from ..files import Count, Sizes, Within
from ..geometry.body import BODY
from .limits import FARTHEST_PLACE, LONGEST_SHOT, MOST_FRAMES, Angle, PerFrame, Place

ACTIONS = ("idle", "walk", "run", "sit", "open", "pick_up", "put_down", "climb", "jump")
"""What an action key may ask for. The order is stored in files and keyframes: append only."""

LOCOMOTION = ("idle", "walk", "run", "jump")
"""Actions that the locomotion networks can do."""

WITHOUT_GOAL = ("idle", "jump")
"""Actions that need no goal: the character stays where it is."""

SLIM = 0.7
"""Share of the body's radius that it needs to either side where it goes sideways."""

Move = Annotated[list[float], Sizes(4), Within(-FARTHEST_PLACE, FARTHEST_PLACE)]
"""World x, y, z in meters and facing angle in radians."""
_MOST_CORNERS = 100_000
"""Points of a route or path at most: one every 11 cm of the longest."""

Corners = Annotated[list[Place], Count(0, _MOST_CORNERS)]
"""Points of a route or path."""


@dataclass
class Goal:
    """A place to go to or a thing to use.

    place: x, y, z in world meters. facing: angle about +Z in radians (0 faces -Y) at the end, or None: any.
    collider: name of the collider that is used, "" for a free goal. by_place: the part of the collider that is nearest
    to the place is used, such as another cushion or board; otherwise its handles alone say where.
    moves: x, y, z and facing angle at each frame of the shot, for a goal that is animated; empty for one that stays.
    """

    name: str
    place: Place
    facing: Angle | None = None
    collider: str = ""
    moves: Annotated[list[Move], PerFrame] = field(default_factory=list)
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

    action: one of ACTIONS. goal: name of a Goal, "" only for those WITHOUT_GOAL. start: frame of the shot (0 is its
    first) at which the character sets off, or None: when the previous key is done. hold: seconds to stay when done.
    gait: "walk", "jog" or "crouch" on the way. speed: m/s on the way, None as usual for the gait. facing: angle at the
    end, None as the goal has it.
    lean: whether a body that sits leans back where a backrest is within reach.
    route: the animator's own way as world places x, y, z, or empty: found around the colliders.
    arrive: frame of the shot at which the character is there, sits, has taken the thing or put it down; None: whenever
    it comes to that. duration: frames from setting off until then, None: as many as it takes. With either, the speed,
    the gait of a walk, and what is left open of start and arrival follow from the way.
    """

    action: str
    goal: str = ""
    start: Annotated[int, Within(-MOST_FRAMES, MOST_FRAMES, "frames")] | None = None
    hold: Annotated[float, Within(-LONGEST_SHOT, LONGEST_SHOT, "s")] = 0.0
    gait: str = "walk"
    speed: float | None = None
    facing: Angle | None = None
    lean: bool = True
    route: Corners = field(default_factory=list)
    arrive: Annotated[int, Within(-MOST_FRAMES, MOST_FRAMES, "frames")] | None = None
    duration: Annotated[int, Within(-MOST_FRAMES, MOST_FRAMES, "frames")] | None = None

    @property
    def is_timed(self) -> bool:
        """Whether it asks for the time of the arrival."""
        return self.arrive is not None or self.duration is not None


@dataclass
class RouteOptions:
    """How routes are found. radius, height: meters of the body. crouch: low beams may be gone under, crouching.
    sideways: gaps that are narrower than the body is wide may be gone through sideways."""

    radius: Annotated[float, Within(-10, 10, "m")] = BODY.radius
    height: Annotated[float, Within(-10, 10, "m")] = BODY.height
    crouch: bool = True
    sideways: bool = True

    @property
    def slim(self) -> float:
        """Meters to either side that the body needs where it goes sideways."""
        return SLIM * self.radius
