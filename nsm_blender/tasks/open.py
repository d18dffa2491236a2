# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening a door: a hand on its handle until it stands open enough, then through the doorway."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..geometry.colliders import QUATERNION, Collider
from ..geometry.roles import Door, Handles
from ..geometry.scene_state import Scenery, pose_at, to_world, turned_about
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, normalize, rotate
from ..planning.approach_poses import poses_before
from ..planning.path_planner import Leg
from ..planning.path_search import Route
from ..rollout.goal_spec import Reach
from ..rollout.held_objects import Hands
from ..rollout.nsm import SceneCharacter
from ..shot.goals import ActionKey
from .protocol import Completion, Held, Prospect, Task

OPEN = 0.6
"""Share of its angle by which a door is open enough to let go of and to go round, as it swings on."""
PUSHED = 0.2
"""Share of its angle by which a door that is pushed is open enough to go on: it swings on before the body, more than
the hand could follow standing."""
BEHIND = 0.8
"""Meters behind a door at which the character has gone through."""
BEFORE = 0.3
"""Meters before a door up to which the way first leads to its middle."""
ASIDE = 0.06
"""Meters of the way from the doorway's middle toward the handle, away from a leaf that stands open there."""


class Open(Task):
    """Open a door and go through."""

    name, doing, verb, role = "open", "opening a door", "open", "door"
    nothing_left = "The door is open by then: nothing is done. Remove the key; walk keys lead through the doorway."
    interacts = True
    hands = "free"
    # Before a door there may be a corner; and behind it the next key goes on.
    at_once = False
    stops = False
    sector = math.radians(60)
    seconds = 3.0
    reaching = 3.0
    training = ("open_episodes", "opening", "doorways")

    def is_done(self, hands: Hands | None, thing: str, root: Array, scenery: Scenery, frame: int) -> bool:
        """It stands open."""
        return hands is not None and hands.opened(thing) >= OPEN

    def aim(
        self,
        key: ActionKey,
        thing: Collider,
        pose: Array,
        handles: Handles | None,
        root: Array,
        held: Held | None,
        from_stand: bool = False,
    ) -> Reach:
        """The handle, looking through the door."""
        return open_aim(thing, pose, root[:2])

    def begin(self, number: int, aim: Reach, frame: int) -> Completion:
        """Opening it."""
        return _Opening(number, aim, frame)

    def exit(self, aim: Reach, root: Array, scenery: Scenery) -> Leg | None:
        """Through the doorway."""
        return through_door(aim, root, scenery.collider(aim.thing))

    def foreseen(self, before: Prospect, key: ActionKey, leg: Leg, frame: float) -> tuple[Prospect, str]:
        """The door is open, and the character behind it."""
        leaf = before.planner.thing(key)
        if leaf is None:
            return before, ""
        after = replace(before, done_with=before.done_with | {leaf.name})
        if not isinstance(leaf.handles, Door):
            return after, ""
        pose, door = pose_at(leaf, frame), leaf.handles
        opened = replace(leaf, poses=turned_about(pose, np.array(door.hinge), np.array(door.axis), door.angle)[None])
        aim = open_aim(leaf, pose, before.place)
        behind = through_door(aim, np.array([*before.place, 0.0, 0.0]), leaf).place
        return replace(after, place=behind).with_thing(opened), ""


class _Opening(Completion):
    """A hand takes the handle, and the leaf follows it."""

    def done(self, character: SceneCharacter, hands: Hands) -> bool:
        frame, name = character.frame, self.aim.thing
        if frame and not hands.gripping(name, frame):
            hands.grip(name, character, frame)
        enough = PUSHED if is_pushed(self.aim, character.scenery.collider(name)) else OPEN
        if not (hands.let_go(name, frame) or hands.opened(name) >= enough):
            return False
        hands.release(name)
        return True


@poses_before.register
def _(handles: Door, collider: Collider, distance: float) -> list[tuple[Array, Array]]:
    handle = np.array(handles.handle)
    across = normalize(np.cross(np.array(handles.axis), handle - np.array(handles.hinge)))
    return [(handle + sign * distance * across, sign * across) for sign in (1.0, -1.0)]


def open_aim(collider: Collider, pose: Array, here: Array) -> Reach:
    """Open a door from the side on which the character is, `here` (2,): the place is its handle, the facing the way
    through."""
    handles = collider.handles
    assert isinstance(handles, Door)
    handle, hinge = to_world(np.array(handles.handle), pose), to_world(np.array(handles.hinge), pose)
    across = np.cross(rotate(pose[QUATERNION], np.array(handles.axis)), handle - hinge)[:2]
    through = across if (handle[:2] - here) @ across > 0 else -across
    return Reach(handle, float(angle_of(through)), "open", collider.name, door=collider.name)


def is_pushed(aim: Reach, leaf: Collider) -> bool:
    """Whether the door of an aim swings away from the character that opens it."""
    handles, shut = leaf.handles, np.asarray(leaf.poses[0], dtype=float)
    assert isinstance(handles, Door)
    hinge, handle, above = (
        to_world(part, shut)
        for part in (np.array(handles.hinge), np.array(handles.handle), np.array(handles.hinge) + handles.axis)
    )
    swings = np.sign(handles.angle) * np.cross(above - hinge, handle - hinge)[:2]
    return float(swings @ direction(np.array(aim.facing))) > 0


def through_door(aim: Reach, root: Array, leaf: Collider) -> Leg:
    """From the root (4,) straight over the threshold of the door of an aim."""
    handles, shut = leaf.handles, np.asarray(leaf.poses[0], dtype=float)
    assert isinstance(handles, Door)
    hinge, handle = (to_world(np.array(part), shut)[:2] for part in (handles.hinge, handles.handle))
    # Straight over the threshold, also where the leaf stood open already as the character came.
    along = normalize(handle - hinge)
    through = np.array([along[1], -along[0]])
    through *= np.sign(through @ direction(np.array(aim.facing)))
    middle = hinge + (handles.width / 2 + ASIDE) * along
    points = [root[:2], middle + BEHIND * through]
    if (root[:2] - middle) @ through < -BEFORE:
        points.insert(1, middle - BEFORE * through)
    flat = np.hstack((np.array(points), np.full((len(points), 1), root[2])))
    return Leg(Route(flat, *np.zeros((2, len(points)), dtype=bool)), None, door=leaf.name)
