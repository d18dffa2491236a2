# SPDX-License-Identifier: GPL-3.0-or-later
"""Carrying: take a box between both palms and lift it; put it on a surface, square to its edge, and let go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..errors import RouteError
from ..geometry.body import BODY
from ..geometry.colliders import PLACE, QUATERNION, Collider
from ..geometry.roles import Carryable, Handles, Surface
from ..geometry.scene_state import Scenery, corners, pose_at, to_world
from ..geometry.sides import other_grasps, other_surfaces
from ..geometry.spots import abreast
from ..models.nsm import FPS
from ..motion.root import angle_of
from ..motion.rotations import Array, from_yaw, multiply, normalize, rotate
from ..planning.approach_poses import UP, Side, Stand, own_up, poses_before, stands, used_handles
from ..planning.path_planner import Leg, Planner
from ..planning.placement_fit import misfit
from ..planning.scene_planner import Load
from ..planning.stand_clearance import BodyPart, columns
from ..rollout.goal_spec import Reach
from ..rollout.held_objects import Hands, Hold, between_palms, carried_pose, grasp_of
from ..rollout.nsm import SceneCharacter
from ..shot.goals import ActionKey
from .protocol import Completion, Held, Prospect, ThingTask, facing_of

STANDS = 0.45, 0.55
"""Meters from the middle between the palms to that of a body that takes a box, and that lifts it."""
BESIDE_PALM, HAND = 0.05, 0.04
"""Meters beside a face at which the hand on it is, and meters that must be free about it; its elbow needs as much again
on the way."""
FROM_EDGE = 0.03
"""Meters that a box is put down behind a surface's edge."""
ABOVE = 0.0005
"""Meters over a surface at which a thing is put down: what lies on it is not in it."""
LIFTING = 0.8
"""Seconds after the grasp at which a box is picked up, and after letting go at which it is put down."""
LIFTED = 1.05
"""Meters of a surface up to which things are put on it: of 1 m they are, on 1.1 m they end up 20 cm off."""
_AWAY = np.array([0.0, 0.0, 1e3, 0.0, 0.0, 0.0, 0.0])
"""What is carried is out of everyone's way: so far up."""


class _Carry(ThingTask):
    """What picking up and putting down have in common."""

    seconds = 3.0
    training = ("carry_episodes", "lifting", "holding", "boxes")

    def tiers(self, planner: Planner, key: ActionKey, frame: float) -> list[list[Side]]:
        """As the handles say, then from other sides: each as good as the others."""
        goal, thing = planner.goal(key, frame), planner.thing(key)
        assert goal is not None and thing is not None
        pose = pose_at(thing, frame)
        used = used_handles(goal, thing, pose)
        assert used is not None
        every = [used, *self.other_handles(used, thing, own_up(pose))]
        return [[[stand] for one in every for stand in stands(goal, thing, one, frame, planner.before)]]

    def other_handles(self, handles: Handles, thing: Collider, up: Array) -> list[Handles]:
        """By which the thing is used from another side."""
        raise NotImplementedError


class PickUp(_Carry):
    """Take a box and lift it."""

    name, doing, verb, role = "pick_up", "picking things up", "take", "carryable"
    hands = "free"
    reaching = 1.3
    sector = math.radians(60)

    def other_handles(self, handles: Handles, thing: Collider, up: Array) -> list[Handles]:
        """Grasps between the same faces from behind, and between the others."""
        return list(other_grasps(handles, thing.cuboids)) if isinstance(handles, Carryable) else []

    def parts(self, stand: Stand, pose: Array, ground: float) -> list[BodyPart]:
        """The body over the box, and the hands beside it."""
        grasp = stand.handles
        assert isinstance(grasp, Carryable)
        left, right = to_world(np.array(grasp.left), pose), to_world(np.array(grasp.right), pose)
        across = normalize(left - right)
        hands = np.array([left + BESIDE_PALM * across, right - BESIDE_PALM * across])
        middle = ((left + right) / 2)[:2] + np.multiply.outer(STANDS, stand.outward)
        return [(columns(middle, ground), BODY.trunk), (hands, HAND)]

    def suits(self, planner: Planner, key: ActionKey, frame: float) -> Callable[[Handles | None], bool]:
        """Tells of the grasps of a box whether it, held so, fits where the next key puts it down; of any other handles,
        and where that cannot be told, that it does."""
        keys, box = planner.shot.keys, planner.thing(key)
        number = next((number for number, other in enumerate(keys) if other is key), len(keys))
        carries = (PickUp.name, PutDown.name)
        put = next((other for other in keys[number + 1 :] if other.action in carries), None)
        thing = None if put is None or put.action != PutDown.name else planner.thing(put)
        if put is None or thing is None or box is None:
            return lambda _: True
        try:
            top = PUT_DOWN.approach(planner, put, frame).sides[0][0].handles
        except RouteError:
            top = None
        pose = pose_at(box, frame)

        def fits(grasp: Handles | None) -> bool:
            if not isinstance(grasp, Carryable) or not isinstance(top, Surface):
                return True
            return not _too_large(planner, thing, top, Held(box, grasp, pose), frame)

        return fits

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
        """The middle between the faces of the box."""
        assert isinstance(handles, Carryable)
        facing = facing_of([-x for x in handles.facing], pose)
        return Reach(grasp_of(handles, pose)[0], facing, "carry", thing.name, grasp=handles)

    def begin(self, number: int, aim: Reach, frame: int) -> Completion:
        """Taking it."""
        return _Taking(number, aim, frame)

    def held_after(self, held: str, thing: str) -> str:
        """The box."""
        return thing

    def foreseen(self, before: Prospect, key: ActionKey, leg: Leg, frame: float) -> tuple[Prospect, str]:
        """The box is in the hands."""
        thing = before.planner.thing(key)
        if thing is None or before.held is not None or not isinstance(leg.handles, Carryable):
            return before, ""
        pose = pose_at(thing, frame)
        after = before.with_thing(replace(thing, poses=pose[None] + _AWAY))
        return replace(after, held=Held(thing, leg.handles, pose)), ""


class PutDown(_Carry):
    """Put the box that is held on a surface."""

    name, doing, verb, role = "put_down", "putting things down", "put things on", "surface"
    hands = "full"
    reaching = 1.5
    # With a box before it, a body gets stuck at a corner.
    sector = math.radians(40)

    def other_handles(self, handles: Handles, thing: Collider, up: Array) -> list[Handles]:
        """The same top from its open sides."""
        return list(other_surfaces(handles, thing.cuboids, up)) if isinstance(handles, Surface) else []

    def parts(self, stand: Stand, pose: Array, ground: float) -> list[BodyPart]:
        """The body before the edge."""
        top = stand.handles
        assert isinstance(top, Surface)
        edge = to_world(abreast(top, UP), pose)[:2] + top.depth / 2 * stand.outward
        return [(columns(edge + BODY.half_width * stand.outward, ground), BODY.trunk)]

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
        """The box on the surface."""
        assert isinstance(handles, Surface) and held is not None
        aim = put_down_aim(handles, pose, held.box, held.grasp, held.lying)
        return replace(aim, top=(thing.name, float(to_world(np.array(handles.place), pose)[2])))

    def begin(self, number: int, aim: Reach, frame: int) -> Completion:
        """Putting it down."""
        return _Putting(number, aim, frame)

    def held_after(self, held: str, thing: str) -> str:
        """Nothing."""
        return ""

    def foreseen(self, before: Prospect, key: ActionKey, leg: Leg, frame: float) -> tuple[Prospect, str]:
        """The box is on the surface, where it fits there."""
        thing, held = before.planner.thing(key), before.held
        if thing is None or held is None or not isinstance(leg.handles, Surface):
            return before, ""
        put = put_down_aim(leg.handles, pose_at(thing, frame), held.box, held.grasp, held.lying).pose
        assert put is not None
        after = replace(before.with_thing(replace(held.box, poses=put[None])), held=None)
        return after, _too_large(before.planner, thing, leg.handles, held, frame)

    def problems(self, planner: Planner, key: ActionKey, frame: float, held: str) -> list[tuple[str, bool]]:
        """What things are put on higher than the network lifts them."""
        thing, goal = planner.thing(key), planner.goal(key, frame)
        if thing is None or goal is None or not isinstance(thing.handles, Surface):
            return []
        pose = pose_at(thing, frame)
        top = used_handles(goal, thing, pose)
        assert isinstance(top, Surface)
        high = float(to_world(np.array(top.place), pose)[2]) - planner.floor_under(thing, frame)
        if high <= LIFTED:
            return []
        much = f"'{thing.name}' is {high:.2f} m high. The character lifts things to {LIFTED:.2f} m"
        return [(f"{much}: choose a lower place.", False)]


class _Handling(Completion):
    """A box that changes between a hand and a place."""

    def _miss(self, was: tuple[Array, Array], wanted: tuple[Array, Array]) -> None:
        """Keep by how much a middle between palms (3,) and its angle are off."""
        self.off = float(np.linalg.norm(was[0] - wanted[0])), float(wanted[1] - was[1])


class _Taking(_Handling):
    """The palms take the box when they touch it, and it is lifted."""

    def done(self, character: SceneCharacter, hands: Hands) -> bool:
        hold = hands.holding
        if hold is not None:
            return character.frame - hold.taken > LIFTING * FPS
        if character.frame and hands.take(self.aim.thing, character, character.frame, self.number, self.aim.grasp):
            hold = hands.holds[-1]
            self.reached = hold.taken
            self._miss(between_palms(character.places, character.rotations), grasp_of(hold.handles, hold.lying))
        return False


class _Putting(_Handling):
    """The palms let go of the box when it is where it shall be."""

    def done(self, character: SceneCharacter, hands: Hands) -> bool:
        assert self.aim.pose is not None
        hold = hands.holding
        if hold is None:
            left = hands.holds[-1].left
            return left is not None and character.frame - left > LIFTING * FPS
        pose = character.scenery.pose(hold.name, character.frame)
        if hands.leave(self.aim.pose, character.frame, self.number):
            self._miss(grasp_of(hold.handles, pose), grasp_of(hold.handles, self.aim.pose))
            self.released, self.reached = True, character.frame
        return False


PUT_DOWN = PutDown()


@poses_before.register
def _(handles: Carryable, collider: Collider, distance: float) -> list[tuple[Array, Array]]:
    middle, front = 0.5 * (np.array(handles.left) + np.array(handles.right)), normalize(np.array(handles.facing))
    return [(middle + distance * front, front)]


@poses_before.register
def _(handles: Surface, collider: Collider, distance: float) -> list[tuple[Array, Array]]:
    front = normalize(np.array(handles.facing))
    return [(abreast(handles, UP) + (0.5 * handles.depth + distance) * front, front)]


def load_of(hold: Hold | None, scenery: Scenery) -> Load | None:
    """What the body needs room for that holds something."""
    if hold is None:
        return None
    handles = scenery.collider(hold.name).handles
    assert isinstance(handles, Carryable)
    across = np.array(handles.left) - np.array(handles.right)
    return Load(hold.name, float(np.linalg.norm(across)) / 2 + 2 * BESIDE_PALM)


def put_down_aim(top: Surface, pose: Array, box: Collider, grasp: Carryable, lying: Array) -> Reach:
    """Put a box, which lay at `lying` (7,) and is held by a grasp, on a surface whose pose is (7,): square to its front
    edge, near that or at the surface's spot, as near as the box lies on the area."""
    outward = normalize(rotate(pose[QUATERNION], np.array(top.facing)))
    facing = float(angle_of(-outward[:2]))
    turned = _turned(lying, facing - facing_of([-x for x in grasp.facing], lying))
    middle, angle = grasp_of(grasp, turned)
    outline = corners(box, turned) - middle
    near, bottom = float((outline @ outward).max()), float(-outline[:, 2].min())
    left = np.array([-outward[1], outward[0], 0.0])
    wide = float((outline @ left).max())
    place = to_world(np.array(top.place), pose)
    away = to_world(np.array(top.spot), pose) - place if top.spot else top.depth * outward
    out, aside = max(top.depth / 2 - near - FROM_EDGE, 0.0), max(top.width / 2 - wide, 0.0)
    place = place + np.clip(away @ outward, -out, out) * outward + np.clip(away @ left, -aside, aside) * left
    place[2] += bottom + ABOVE
    return Reach(place, facing, "idle", box.name, carried_pose(grasp, turned, place, angle))


def _turned(pose: Array, angle: float) -> Array:
    """A pose turned about the vertical."""
    return np.concatenate((pose[PLACE], multiply(from_yaw(np.array(angle)), pose[QUATERNION])))


def _too_large(planner: Planner, thing: Collider, top: Surface, held: Held, frame: float) -> str:
    """A sentence about what is held and does not fit on a thing's surface, "" where it fits."""
    pose = pose_at(thing, frame)
    put = put_down_aim(top, pose, held.box, held.grasp, held.lying).pose
    assert put is not None
    loose = [one.name for one in planner.shot.colliders if one.role == PickUp.role]
    return misfit(held.box, put, thing, pose, top, planner.around(frame).without(loose))
