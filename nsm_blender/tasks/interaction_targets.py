# SPDX-License-Identifier: GPL-3.0-or-later
"""What a key with a thing comes down to: a place, a facing and an action for the network, from the thing's handles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..geometry.colliders import PLACE, QUATERNION, Collider
from ..geometry.roles import Carryable, Door, Handles, Seat, Surface
from ..geometry.scene_state import to_world
from ..geometry.sides import other_seats
from ..motion.root import angle_of, direction
from ..motion.rotations import Array, conjugate, from_yaw, multiply, normalize, rotate
from ..rollout.goal_input import Reach
from ..rollout.held_objects import Hold, carried_pose, grasp_of

FROM_EDGE = 0.03
"""Metres that a box is put down behind a surface's edge."""
SHORT = 0.04, 0.02, 0.05
"""Metres by which the network puts a box down short of a low place, to the left of it, and over it: so much farther
over is asked for"""
LOW = (0.25, 0.7)
"""at places of the box's middle lower than this, falling to nothing at that height."""
ABOVE = 0.0005
"""Metres over a surface at which a thing is put down: what lies on it is not in it."""


def aim_of(
    action: str,
    thing: Collider,
    pose: Array,
    handles: Handles | None,
    root: Array,
    held: tuple[Hold, Collider] | None,
    from_stand: bool = False,
) -> Reach:
    """What to ask the network for near a thing at a pose (7,), of one who comes from a root (4,) and uses it by these
    handles. held: what is in the hands. from_stand: the root is where the way to the thing ends."""
    if action == "open":
        return open_aim(thing, pose, root[:2])
    if isinstance(handles, Carryable):
        return pick_up_aim(thing, pose, handles)
    if isinstance(handles, Surface):
        assert held is not None
        hold, box = held
        aim = put_down_aim(handles, pose, box, hold.handles, hold.lying, float(root[2]))
        return replace(aim, top=(thing.name, float(to_world(np.array(handles.place), pose)[2])))
    assert isinstance(handles, Seat)
    return seat_aim(thing, pose, seat_towards(handles, pose, root[:2]) if from_stand else handles)


def seat_aim(collider: Collider, pose: Array, seat: Seat | None = None) -> Reach:
    """Sit on a seat whose pose is (7,), by its own handles or others."""
    used = collider.handles if seat is None else seat
    assert isinstance(used, Seat)
    place = to_world(np.array(used.place), pose)
    return Reach(place, _angle(used.facing, pose), "sit", collider.name, seat=used)


def seat_towards(seat: Seat, pose: Array, place: Array) -> Seat:
    """The seat as one sits on it who stands at a place (2,) in the world: one that is open on all sides, looking back
    to there. pose: (7,) of the thing, in whose frame the seat is."""
    away = place - to_world(np.array(seat.place), pose)[:2]
    up = rotate(conjugate(pose[QUATERNION]), np.array([0.0, 0.0, 1.0]))
    ways = [seat, *other_seats(seat, up)]
    return max(ways, key=lambda one: float(direction(np.array(_angle(one.facing, pose))) @ away))


def pick_up_aim(collider: Collider, pose: Array, grasp: Carryable) -> Reach:
    """Take a box that lies at a pose (7,) by one of its grasps: the place is the middle between its faces."""
    facing = _angle([-x for x in grasp.facing], pose)
    return Reach(grasp_of(grasp, pose)[0], facing, "carry", collider.name, grasp=grasp)


def put_down_aim(
    top: Surface, pose: Array, box: Collider, grasp: Carryable, lying: Array, ground: float = 0.0
) -> Reach:
    """Put a box, which lay at `lying` (7,) and is held by a grasp, on a surface whose pose is (7,): square to its front
    edge, near that or at the surface's spot, as near as the box lies on the area. ground: height under the feet."""
    outward = normalize(rotate(pose[QUATERNION], np.array(top.facing)))
    facing = float(angle_of(-outward[:2]))
    turned = _turned(lying, facing - _angle([-x for x in grasp.facing], lying))
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
    return Reach(
        place + _lead(facing, float(place[2]) - ground),
        facing,
        "idle",
        box.name,
        carried_pose(grasp, turned, place, angle),
    )


def _lead(facing: float, height: float) -> Array:
    """Metres (3,) by which a place for a box's middle at a height over the ground is asked for beyond where it is."""
    ahead, right, down = np.interp(height, LOW, (1.0, 0.0)) * np.array(SHORT)
    front = direction(np.array(facing))
    return np.array([*(ahead * front + right * np.array([front[1], -front[0]])), -down])


def open_aim(collider: Collider, pose: Array, here: Array) -> Reach:
    """Open a door from the side on which one is, `here` (2,): the place is its handle, the facing the way through."""
    handles = collider.handles
    assert isinstance(handles, Door)
    handle, hinge = to_world(np.array(handles.handle), pose), to_world(np.array(handles.hinge), pose)
    across = np.cross(rotate(pose[QUATERNION], np.array(handles.axis)), handle - hinge)[:2]
    through = across if (handle[:2] - here) @ across > 0 else -across
    return Reach(handle, float(angle_of(through)), "open", collider.name)


def _angle(direction: list[float], pose: Array) -> float:
    """Facing angle of a direction of a thing's frame."""
    return float(angle_of(rotate(pose[QUATERNION], np.array(direction))[:2]))


def _turned(pose: Array, angle: float) -> Array:
    """A pose turned about the vertical."""
    return np.concatenate((pose[PLACE], multiply(from_yaw(np.array(angle)), pose[QUATERNION])))


def corners(collider: Collider, pose: Array) -> Array:
    """Corners (P, 3) in the world of a collider's cuboids."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    local = collider.cuboids.centre[:, None] + signs * collider.cuboids.half[:, None]
    return to_world(local.reshape(-1, 3), pose)
