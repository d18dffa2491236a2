# SPDX-License-Identifier: GPL-3.0-or-later
"""From a mesh to its use: proposed handles for a role, the likely role, and problems in words.

Everything is judged as the thing stands in the world; handles are in the collider's frame (see `roles`).
"""

from __future__ import annotations

import numpy as np

from ..motion.rotations import Array, to_matrix
from ..stepwise import Stepwise, finished
from .colliders import STILL, Placed
from .doors import check_door, propose_door
from .floors import is_floor
from .form import SEAT_ROOM, STEP_ROOM, TOP_ROOM, Form
from .grasps import check_grasp, is_portable, propose_grasp
from .mesh import TriangleMesh
from .reach import CLIMB_HEIGHTS, SIT_HEIGHTS
from .roles import KINDS, Carryable, Climbable, Door, Handles, Proposal, Seat, Surface, moved
from .seats import check_seat, is_backed, is_open, propose_seat
from .stairs import flight
from .tops import check_climb, check_surface, propose_climb, propose_surface

_TABLE, _STAGE = 0.3, 0.78
"""Heights in meters: a lower top than the first is no table; the second is the width and depth from which a low thing
is a stage."""

_PROPOSE = {
    "seat": propose_seat,
    "door": propose_door,
    "carryable": propose_grasp,
    "surface": propose_surface,
    "climbable": propose_climb,
}
"""The function that proposes the handles of each role."""
_ROOM = {"seat": SEAT_ROOM, "surface": TOP_ROOM, "climbable": STEP_ROOM}
"""Free space in meters above the tops that are looked at for each role."""


def propose(
    role: str,
    mesh: TriangleMesh,
    surroundings: Placed | None = None,
    pose: Array = STILL[0],
    ground: float | None = None,
) -> Proposal:
    """Propose handles of `role` for a mesh, with warnings. A role without handles gives none, and no warning.

    mesh: in the collider's frame, with the object's scale. surroundings: the other colliders, in the world. pose: (7,)
    of the collider's frame in the world, as in `Collider.poses`. ground: height in meters of the floor that people
    stand on; None takes the thing's lowest point. Raises ColliderError on a mesh without faces or with places that are
    not finite.
    """
    return finished(proposing(role, mesh, surroundings, pose, ground))


def proposing(
    role: str,
    mesh: TriangleMesh,
    surroundings: Placed | None = None,
    pose: Array = STILL[0],
    ground: float | None = None,
) -> Stepwise[Proposal]:
    """`propose` in pieces."""
    if role not in KINDS:
        return Proposal(None, [], 1.0)
    form = yield from Form.forming(mesh, pose)
    if role in _ROOM:
        yield from form.finding_levels(_ROOM[role])
    yield
    found = _PROPOSE[role](form, surroundings)
    if found.handles is None:
        return found
    yield
    floor = form.floor if ground is None else ground
    found.warnings += _check(moved(found.handles, form.world, np.zeros(3)), None, floor, surroundings)
    found.handles = moved(found.handles, form.turn, form.shift)
    found.also = [moved(part, form.turn, form.shift) for part in found.also]
    return found


def check(
    handles: Handles | None,
    role: str,
    mesh: TriangleMesh | None = None,
    surroundings: Placed | None = None,
    pose: Array = STILL[0],
    ground: float | None = None,
) -> list[str]:
    """List the problems of handles as the animator set them, one sentence each; empty without any.

    Arguments as in `propose`; without a mesh only what needs no mesh is judged, and the floor is at height 0.
    """
    if role not in KINDS:
        return []
    if handles is None:
        return [f"The {role} has no handles yet: press Propose Handles, or choose another role."]
    stand = to_matrix(np.asarray(pose[3:], dtype=float))
    there = moved(handles, stand, np.asarray(pose[:3], dtype=float))
    form = None if mesh is None else Form(mesh, pose, _looking(there))
    floor = ground if ground is not None else form.floor if form is not None else 0.0
    return _check(there, form, floor, surroundings)


def guess_role(mesh: TriangleMesh, pose: Array = STILL[0]) -> str:
    """Guess the most likely role of a thing from its form alone. Arguments and errors as in `propose`."""
    return finished(guessing_role(mesh, pose))


def guessing_role(mesh: TriangleMesh, pose: Array = STILL[0]) -> Stepwise[str]:
    """`guess_role` in pieces."""
    if is_floor(mesh, pose):
        return "ground"
    form = yield from Form.forming(mesh, pose)
    yield
    size = np.ptp(form.points, axis=0)
    door = propose_door(form, None).handles
    if isinstance(door, Door) and 1.7 <= size[2] <= 2.6 and 0.5 <= door.width <= 1.5 and size[:2].min() < 0.25:
        return "door"
    yield from form.finding_levels(STEP_ROOM)
    yield
    steps = flight(form)
    yield
    if steps is not None and len(steps.treads) > 2:
        return "ground" if steps.treads[-1].height - form.floor > CLIMB_HEIGHTS[1] else "climbable"
    if size[2] > 1.5 and size[:2].max() > 3.0:
        return "obstacle"
    if is_portable(form):
        return "carryable"
    yield from form.finding_levels(SEAT_ROOM)
    yield
    found = propose_seat(form, None)
    yield from form.finding_levels(TOP_ROOM)
    yield
    seat = found.handles
    if not isinstance(seat, Seat) or not is_open(seat, form):
        return _role_of_top(form, None, size, steps is not None)
    if min(seat.width, seat.depth) > 0.25 and (found.confidence > 0.9 or is_backed(seat, form)):
        return "seat"
    return _role_of_top(form, seat, size, steps is not None)


def _role_of_top(form: Form, seat: Seat | None, size: Array, steps: bool) -> str:
    """Role of a thing that is neither door nor chair, by the height and the area of its top. steps: whether a lower
    tread leads up to it."""
    climb = propose_climb(form, None).handles
    if isinstance(climb, Climbable):
        high = climb.edge[2] - form.floor
        broad = size[:2].min() >= _STAGE
        if CLIMB_HEIGHTS[0] < high < (_TABLE if not broad and not steps else 0.6):
            return "climbable"
    surface = propose_surface(form, None).handles
    if seat is not None and SIT_HEIGHTS[0] < seat.place[2] - form.floor and _is_stool(form, seat, size):
        return "seat"
    height = surface.place[2] - form.floor if isinstance(surface, Surface) else 0.0
    if isinstance(surface, Surface) and _TABLE <= height < 1.3 and min(surface.width, surface.depth) > 0.2:
        return "surface"
    if isinstance(climb, Climbable) and CLIMB_HEIGHTS[0] < climb.edge[2] - form.floor < CLIMB_HEIGHTS[1]:
        return "climbable"
    return "obstacle"


def _is_stool(form: Form, seat: Seat, size: Array) -> bool:
    """Whether a seat without a back is the top of a stool or a bench, at sitting height and not deep, or of a bar
    stool: higher, small, and mostly air below."""
    if size[2] < SIT_HEIGHTS[1]:
        return seat.depth < 0.5
    small = max(seat.width, seat.depth) < 0.45 and size[2] < 0.9
    return small and form.voxels.volume() < 0.3 * float(np.prod(size))


def _looking(handles: Handles) -> float | None:
    """Facing angle in radians of handles in the world, None for handles without a facing."""
    if isinstance(handles, Door):
        return None
    return float(np.arctan2(handles.facing[0], -handles.facing[1]))


def _check(handles: Handles, form: Form | None, floor: float, around: Placed | None) -> list[str]:
    """List the problems of handles in the world."""
    match handles:
        case Seat():
            return check_seat(handles, form, floor, around)
        case Door():
            return check_door(handles, floor, around)
        case Carryable():
            return check_grasp(handles, form, floor)
        case Surface():
            return check_surface(handles, form, floor, around)
        case Climbable():
            return check_climb(handles, form, floor, around)
