# SPDX-License-Identifier: GPL-3.0-or-later
"""Climbing: straight over the edge of a step or platform, on to its landing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..geometry.colliders import Collider, Surroundings
from ..geometry.reach import CLIMB_HEIGHTS
from ..geometry.roles import Climbable, Handles
from ..geometry.scene_state import Scenery, pose_at, to_world
from ..geometry.stairs import is_flight, stairs_text
from ..motion.rotations import Array, normalize
from ..planning.approach_poses import BEFORE, UP, Approach, own_up, poses_before, used_handles
from ..planning.occupancy_grid import ObstacleOutlines
from ..planning.path_planner import Leg, Planner
from ..rollout.held_objects import Hands
from ..shot.goals import ActionKey
from .protocol import Prospect, Task

LEVEL = 0.05
"""Meters by which a top may differ in height from the landing of the thing that is climbed."""
BY_LEGS = 0.66
"""Meters up to which the legs alone step up: higher, thighs and shins would pass through the edge, and the character
leans on its hands and kneels."""
LADEN = 0.4
"""Meters up to which a character that carries something climbs at once: of 0.25 m it does, at 0.5 m it stops."""
RUN_UP = 1.0
"""Meters before the edge that is climbed over, on which lower steps may lie."""


class Climb(Task):
    """Go up on a thing, and stand there as the character came."""

    name, doing, verb, role = "climb", "climbing", "climb", "climbable"
    nothing_left = "The character is up there by then: nothing is done. Remove the key."
    turns = on_ground = False
    seconds = 2.5
    reaching = 0.5
    training = ("climb_episodes", "climbing")

    def approach(self, planner: Planner, key: ActionKey, frame: float) -> Approach:
        """Before the edge; on hands and knees over one that is too high for the legs."""
        out, tops = super().approach(planner, key, frame), self._tops(planner, key, frame)
        return replace(out, on_hands=bool(len(tops)) and float(np.diff(tops).max()) > BY_LEGS)

    def onward(self, handles: Handles, pose: Array) -> Sequence[Array]:
        """Over the edge to the landing."""
        parts = (handles.edge, handles.landing) if isinstance(handles, Climbable) else ()
        return [to_world(np.array(part), pose)[:2] for part in parts]

    def is_done(self, hands: Hands | None, thing: str, root: Array, scenery: Scenery, frame: int) -> bool:
        """It is up there."""
        return is_up(root[:2], scenery.collider(thing), scenery.pose(thing, frame))

    def foreseen(self, before: Prospect, key: ActionKey, leg: Leg, frame: float) -> tuple[Prospect, str]:
        """It is up there, until it goes elsewhere."""
        thing = before.planner.thing(key)
        return replace(before, on="" if thing is None else thing.name), ""

    def problems(self, planner: Planner, key: ActionKey, frame: float, held: str) -> list[tuple[str, bool]]:
        """What is climbed too far at once, or at all, or with something in the hands."""
        thing, goal = planner.thing(key), planner.goal(key, frame)
        if thing is None or goal is None or not isinstance(thing.handles, Climbable):
            return []
        pose = pose_at(thing, frame)
        climb = used_handles(goal, thing, pose)
        assert isinstance(climb, Climbable)
        if is_flight(climb, own_up(pose)):
            height = float(to_world(np.array(climb.landing), pose)[2]) - planner.ground
            return [(f"'{thing.name}': {stairs_text(height)}", True)]
        tops = self._tops(planner, key, frame)
        high, once = float(tops.max()), float(np.diff(tops).max())
        if high > CLIMB_HEIGHTS[1]:
            much = f"'{thing.name}' is {high:.2f} m high"
            return [(f"{much}. The character climbs no more than {CLIMB_HEIGHTS[1]:.0f} m.", True)]
        if held and once > LADEN:
            much = f"'{thing.name}' goes up {once:.2f} m at once, and the hands are full"
            return [(f"{much}. Put the thing down before, or give it a step in between.", False)]
        return []

    def _tops(self, planner: Planner, key: ActionKey, frame: float) -> Array:
        """Heights (N,) over the floor of what lies under the way over the edge of a key's thing, from a meter before it
        to the landing; none where the key has no such thing."""
        thing, goal = planner.thing(key), planner.goal(key, frame)
        if thing is None or goal is None:
            return np.zeros(0)
        pose = pose_at(thing, frame)
        climb = used_handles(goal, thing, pose)
        if not isinstance(climb, Climbable):
            return np.zeros(0)
        edge, landing = (to_world(np.array(part), pose)[:2] for part in (climb.edge, climb.landing))
        before = edge - RUN_UP * normalize(landing - edge)
        steps = ObstacleOutlines.of(planner.surroundings.at(frame).of([thing.name]))
        under = steps.distances(np.linspace(before, landing, 100)) <= 0
        out: Array = np.where(under, steps.high, planner.ground).max(axis=1) - planner.ground
        return out


@poses_before.register
def _(handles: Climbable, collider: Collider, distance: float) -> list[tuple[Array, Array]]:
    back = -normalize(np.array(handles.facing))
    return [(np.array(handles.edge) + (distance + _lower_steps(collider)) * back, back)]


def is_up(place: Array, thing: Collider, pose: Array) -> bool:
    """Whether a place (2,) is on top of a thing that is climbed, at a pose (7,): where it is as high as its landing."""
    handles = thing.handles
    if not isinstance(handles, Climbable):
        return False
    parts = ObstacleOutlines.of(Surroundings([replace(thing, poses=pose[None])]).at(0))
    top = parts.high[parts.distances(place[None])[0] <= 0].max(initial=-np.inf)
    return bool(abs(top - to_world(np.array(handles.landing), pose)[2]) < LEVEL)


def _lower_steps(collider: Collider) -> float:
    """Meters by which the lower steps of a flight lie before the edge over which it is climbed."""
    handles = collider.handles
    assert isinstance(handles, Climbable)
    back = -normalize(np.array(handles.facing))
    left = np.cross(back, UP)
    away, half = collider.cuboids.center - np.array(handles.edge), collider.cuboids.half
    before = np.abs(away @ left) - half @ np.abs(left) < 0.5 * handles.width - BEFORE
    return float((away @ back + half @ np.abs(back))[before].max(initial=0.0))
