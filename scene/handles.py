# SPDX-License-Identifier: GPL-3.0-or-later
"""The handles of a collider's role as empties below its object, which the animator moves.

An empty carries the custom property `TAG` with the name of what it is. The handles are kept on the object itself too,
as they were last seen: a copy without the empties, or a linked object, still has them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import bpy
import numpy as np
from mathutils import Matrix

from ..nsm_blender.errors import ColliderError, FileFormatError
from ..nsm_blender.files import parse_json
from ..nsm_blender.geometry import roles
from ..nsm_blender.motion.rotations import Array
from . import curves, meshes
from .hierarchy import Below

Json = TypeVar("Json", list[Any], dict[str, Any])

TAG = "nsm_handle"
"""Custom property of a handle's empty: the name of its `_Empty`."""

_BALL = 0.05
"""Meters: radius of a handle that is a place alone."""
_THICK = 0.04
"""Meters: height of a handle that is an area or an edge."""
_Display = Literal["CUBE", "SPHERE", "SINGLE_ARROW"]


@dataclass(frozen=True, eq=False)
class _Empty:
    """One empty. frame: (4, 4) in the collider's frame, meters; its own -Y is the facing. size: its scale (3,);
    the empty's drawing is one meter wide at a scale of 1."""

    name: str
    label: str
    display: _Display
    frame: Array
    size: tuple[float, float, float] = (2 * _BALL, 2 * _BALL, 2 * _BALL)


def is_handle(obj: bpy.types.Object) -> bool:
    """Whether an object is the empty of a handle."""
    return obj.type == "EMPTY" and obj.get(TAG) is not None


def empties(obj: bpy.types.Object, below: Below | None = None) -> dict[str, bpy.types.Object]:
    """The handles' empties of a collider by what they are. below: the children of all objects, where it is known."""
    found = obj.children if below is None else below.get(obj, ())
    return {str(child[TAG]): child for child in found if is_handle(child)}


def main(obj: bpy.types.Object | None) -> bpy.types.Object | None:
    """The empty that says where a collider is used and which way the character faces there; None without one."""
    if obj is None:
        return None
    there = empties(obj)
    return next((there[name] for name in _MAIN if name in there), None)


def store(obj: bpy.types.Object, handles: roles.Handles | None) -> None:
    """Keep the handles on the object; the settings that are no empties are set too."""
    settings = obj.nsm.collider
    settings.handles_scale = meshes.scale_of(obj)
    settings.handles = "" if handles is None else json.dumps(roles.to_data(handles))
    if isinstance(handles, roles.Seat):
        settings.approaches = set(handles.approaches)
    elif isinstance(handles, roles.Door):
        settings.leaf_width, settings.leaf_height = handles.width, handles.height
        settings.angle = handles.angle
    elif isinstance(handles, roles.Carryable):
        settings.weight = handles.weight


def store_others(obj: bpy.types.Object, also: Sequence[roles.Handles]) -> None:
    """Keep the handles of the object's other parts, for goals that point at these."""
    obj.nsm.collider.also = json.dumps([roles.to_data(part) for part in also]) if also else ""


def others(obj: bpy.types.Object) -> list[roles.Handles]:
    """The handles of the object's other parts at its scale of now; none when they are of the role that it had before.

    Raises ColliderError when they are damaged.
    """
    settings = obj.nsm.collider
    if not settings.also:
        return []
    try:
        found = [roles.from_data(settings.role, part) for part in _plain(settings.also, list, obj)]
    except TypeError:
        return []
    return [_stretched(part, _grown(obj)) for part in found if part is not None]


def stored(obj: bpy.types.Object) -> roles.Handles | None:
    """The handles that are kept on the object, with its settings and scale of now; None when it has none of its role.

    Raises ColliderError when they are damaged.
    """
    settings = obj.nsm.collider
    if not settings.handles:
        return None
    try:
        handles = roles.from_data(settings.role, _plain(settings.handles, dict, obj))
    except TypeError:  # they are of the role that it had before
        return None
    return _with_settings(obj, None if handles is None else _stretched(handles, _grown(obj)))


def _plain(text: str, kind: type[Json], obj: bpy.types.Object) -> Json:
    """The data of handles that are kept on an object as JSON. Raises ColliderError."""
    try:
        return parse_json(text, kind, "handles", f"'{obj.name}'")
    except FileFormatError:
        raise ColliderError(f"The handles of '{obj.name}' are damaged; propose them again.") from None


def read(graph: bpy.types.Depsgraph, obj: bpy.types.Object, below: Below | None = None) -> roles.Handles | None:
    """The handles as their empties are now, in the collider's frame, in meters; without empties as they are kept.

    below: the children of all objects, where it is known. Raises ColliderError when an empty is missing or what is kept
    is damaged.
    """
    role = obj.nsm.collider.role
    if role not in roles.KINDS:
        return None
    there = empties(obj, below)
    if not there:
        return stored(obj)
    frames = _frames(graph, obj, there)
    missing = [name for name in _NEEDED[role] if name not in frames]
    if missing:
        raise ColliderError(
            f"'{obj.name}' lacks the handle {' and '.join(missing)} of its role; propose its handles again."
        )
    return _with_settings(obj, _from_frames(role, frames, up(meshes.frame_of(graph, obj))))


def up(frame: Array) -> Array:
    """The world's up, (3,), in the collider's frame (4, 4)."""
    return frame[2, :3].copy()


def show(context: bpy.types.Context, obj: bpy.types.Object, handles: roles.Handles) -> list[bpy.types.Object]:
    """Give `obj` the empties of these handles; those that it had are moved there, or go when they are of another role.

    The world matrix of `obj` must be up to date.
    """
    size = curves.meters_per_unit(context.scene)
    world = obj.matrix_world.copy()
    values = meshes.rigid(world, size, obj.name)
    rigid = Matrix(values.tolist())
    rigid.translation = world.translation
    # The empty's own location, rotation and scale are in the collider's frame; the object's scale, taken out here,
    # still moves them when it changes later.
    unscaled = world.inverted_safe() @ rigid
    there, made = empties(obj), []
    for plan in _plans(handles, up(values)):
        empty = there.pop(plan.name, None) or _new(context, obj, plan)
        empty.empty_display_size = 0.5 / size
        empty.matrix_parent_inverse = unscaled
        frame = Matrix(plan.frame.tolist())
        empty.location = frame.translation / size
        empty.rotation_mode = "XYZ"
        empty.rotation_euler = frame.to_euler()
        empty.scale = plan.size
        made.append(empty)
    for empty in there.values():
        bpy.data.objects.remove(empty)
    return made


def hide(obj: bpy.types.Object) -> int:
    """Take the handles' empties of `obj` away; returns how many there were."""
    there = list(empties(obj).values())
    for empty in there:
        bpy.data.objects.remove(empty)
    return len(there)


def turned(handles: roles.Handles, angle: float, axis: Array) -> roles.Handles:
    """The handles facing another way: turned by `angle` (radians, counter-clockwise) about their own middle.

    axis: up in the collider's frame, (3,). Raises ColliderError for a door.
    """
    turn = np.array(Matrix.Rotation(angle, 3, axis.tolist()))
    if isinstance(handles, roles.Door):
        raise ColliderError("A door has no facing; change the angle by which it opens, or move its hinge.")
    data = roles.to_data(handles) or {}
    if isinstance(handles, roles.Carryable):
        middle = (np.array(handles.left) + handles.right) / 2
        data["left"] = (middle + turn @ (np.array(handles.left) - middle)).tolist()
        data["right"] = (middle + turn @ (np.array(handles.right) - middle)).tolist()
    if isinstance(handles, roles.Climbable):
        edge = np.array(handles.edge)
        data["landing"] = (edge + turn @ (np.array(handles.landing) - edge)).tolist()
    if isinstance(handles, roles.Seat | roles.Surface) and abs(np.sin(angle)) > 0.5:
        data["width"], data["depth"] = handles.depth, handles.width
    data["facing"] = (turn @ np.array(handles.facing)).tolist()
    return type(handles)(**data)


def apart(one: roles.Handles, other: roles.Handles) -> float:
    """The largest difference between two handles of one role, in meters, units of directions or radians."""
    if type(one) is not type(other):
        return float("inf")
    a, b = _numbers(one), _numbers(other)
    return float("inf") if len(a) != len(b) else float(np.abs(a - b).max(initial=0.0))


def _numbers(handles: roles.Handles) -> Array:
    """All numbers of the handles in a row."""
    values = [value for value in (roles.to_data(handles) or {}).values() if not _is_text(value)]
    return np.concatenate([np.ravel(np.array(value, dtype=float)) for value in values])


def _is_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and any(isinstance(one, str) for one in value))


_PLACES = {"place", "arm_rests", "hinge", "handle", "left", "right", "spot", "edge", "landing"}
"""The fields of handles that are places."""
_MAIN = ("seat", "surface", "edge")
"""The empties that stand for the area and the facing of a seat, a surface and a step."""
_NEEDED = {
    "seat": ("seat",),
    "door": ("hinge", "handle"),
    "carryable": ("left", "right"),
    "surface": ("surface",),
    "climbable": ("edge", "landing"),
}
"""The empties without which a role's handles are not known."""


def _plans(handles: roles.Handles, up: Array) -> list[_Empty]:
    """The empties that show these handles. up: in the collider's frame."""
    if isinstance(handles, roles.Seat):
        area = (handles.width, handles.depth, _THICK)
        rests = [
            _Empty(f"arm_{number}", "Arm Rest", "SPHERE", _at(place)) for number, place in enumerate(handles.arm_rests)
        ]
        return [_Empty("seat", "Seat", "CUBE", _at(handles.place, handles.facing, up), area), *rests]
    if isinstance(handles, roles.Surface):
        area = (handles.width, handles.depth, _THICK)
        return [_Empty("surface", "Surface", "CUBE", _at(handles.place, handles.facing, up), area)]
    if isinstance(handles, roles.Door):
        return [
            _Empty("hinge", "Hinge", "SINGLE_ARROW", _upwards(handles.hinge, handles.axis), (1.0, 1.0, 1.0)),
            _Empty("handle", "Handle", "SPHERE", _at(handles.handle)),
        ]
    if isinstance(handles, roles.Carryable):
        return [
            _Empty("left", "Left Hand", "SPHERE", _at(handles.left, handles.facing, up)),
            _Empty("right", "Right Hand", "SPHERE", _at(handles.right, handles.facing, up)),
        ]
    edge = _at(handles.edge, handles.facing, up)
    return [
        _Empty("edge", "Edge", "CUBE", edge, (handles.width, _THICK, _THICK)),
        _Empty("landing", "Landing", "SPHERE", _at(handles.landing, handles.facing, up)),
    ]


def _from_frames(role: str, frames: dict[str, Array], up: Array) -> roles.Handles:
    """The handles that empties at these frames (4, 4), scale included, show."""
    if role == "seat":
        frame = frames["seat"]
        rests = [frames[name][:3, 3].tolist() for name in sorted(frames) if name.startswith("arm_")]
        return roles.Seat(_place(frame), _facing(frame), _width(frame), _depth(frame), rests)
    if role == "surface":
        frame = frames["surface"]
        return roles.Surface(_place(frame), _facing(frame), _width(frame), _depth(frame))
    if role == "door":
        axis = frames["hinge"][:3, 2]
        return roles.Door(
            _place(frames["hinge"]), (axis / np.linalg.norm(axis)).tolist(), _place(frames["handle"]), 0.9, 2.0, 1.5
        )
    if role == "carryable":
        return roles.Carryable(_place(frames["left"]), _place(frames["right"]), _grasp_facing(frames, up))
    edge = frames["edge"]
    return roles.Climbable(_place(edge), _facing(edge), _place(frames["landing"]), _width(edge))


def _with_settings(obj: bpy.types.Object, handles: roles.Handles | None) -> roles.Handles | None:
    """The handles with what the object's settings say of them."""
    settings = obj.nsm.collider
    if isinstance(handles, roles.Seat):
        handles.approaches = [side for side in roles.SIDES if side in settings.approaches]
    elif isinstance(handles, roles.Door):
        handles.width, handles.height, handles.angle = settings.leaf_width, settings.leaf_height, settings.angle
        grown, axis = _grown(obj), np.array(handles.axis)
        leaf = np.array(handles.handle) - handles.hinge
        handles.width *= _along(grown, leaf - (leaf @ axis) * axis)
        handles.height *= _along(grown, axis)
    elif isinstance(handles, roles.Carryable):
        handles.weight = settings.weight
    return handles


def _grown(obj: bpy.types.Object) -> Array:
    """By how much the axes of an object are longer than when its handles were kept, (3,)."""
    settings = obj.nsm.collider
    kept = np.array(settings.handles_scale)
    if kept.min() <= 0:
        kept = np.array(settings.scale)
    return np.array(meshes.scale_of(obj)) / kept if kept.min() > 0 else np.ones(3)


def _along(grown: Array, direction: Array) -> float:
    """By how much a length along a direction (3,) grows."""
    return float(np.linalg.norm(grown * _unit(direction))) if np.linalg.norm(direction) > 0 else 1.0


def _stretched(handles: roles.Handles, grown: Array) -> roles.Handles:
    """The handles of an object whose axes have become longer by factors (3,); a door's leaf is left to its settings."""
    if np.allclose(grown, 1.0, rtol=1e-4):
        return handles
    data = roles.to_data(handles) or {}
    for name in _PLACES & data.keys():
        data[name] = (np.array(data[name], dtype=float).reshape(-1, 3) * grown).tolist()
        if name != "arm_rests" and data[name]:
            data[name] = data[name][0]
    facing = np.array(data.get("facing", (0.0, -1.0, 0.0)))
    if not isinstance(handles, roles.Door):
        level = np.cross(facing, [0.0, 0.0, 1.0]) if abs(facing[2]) < 0.9 else np.array([1.0, 0.0, 0.0])
        for name, direction in (("width", level), ("depth", facing)):
            if name in data:
                data[name] *= _along(grown, direction)
    return type(handles)(**data)


def _frames(graph: bpy.types.Depsgraph, obj: bpy.types.Object, there: dict[str, bpy.types.Object]) -> dict[str, Array]:
    """Where the empties are in the collider's frame, in meters: (4, 4) each, with their scale in meters."""
    size = curves.meters_per_unit(graph.scene)
    back = np.linalg.inv(meshes.rigid(obj.evaluated_get(graph).matrix_world, size, obj.name))
    out = {}
    for name, empty in there.items():
        evaluated = empty.evaluated_get(graph)
        if not evaluated.is_evaluated:
            raise ColliderError(f"The handle '{empty.name}' is disabled in viewports or excluded; enable it.")
        world = np.array(evaluated.matrix_world)
        if not np.isfinite(world).all() or np.linalg.norm(world[:3, :3], axis=0).min() < 1e-9:
            raise ColliderError(f"The handle '{empty.name}' has no usable transform; propose the handles again.")
        # The drawing of an empty is `empty_display_size` to each side at a scale of 1.
        world[:3, :3] *= 2 * empty.empty_display_size
        world[:3] *= size
        out[name] = back @ world
    return out


def _new(context: bpy.types.Context, obj: bpy.types.Object, plan: _Empty) -> bpy.types.Object:
    """A new empty below `obj`, in the collections where that is."""
    empty = bpy.data.objects.new(f"{obj.name} {plan.label}", None)
    empty[TAG] = plan.name
    empty.empty_display_type = plan.display
    empty.show_in_front = True
    for collection in _collections(context, obj):
        collection.objects.link(empty)
    empty.parent = obj
    return empty


def _collections(context: bpy.types.Context, obj: bpy.types.Object) -> list[bpy.types.Collection]:
    """The collections of the scene in which an object lies; the scene's own for an object of a linked one."""
    mine = {context.scene.collection, *context.scene.collection.children_recursive}
    found = [collection for collection in obj.users_collection if collection in mine and collection.library is None]
    return found or [context.scene.collection]


def _at(place: list[float], facing: list[float] | None = None, up: Array | None = None) -> Array:
    """A frame (4, 4) at a place whose -Y looks along `facing`, its Z as near to `up` as that lets it."""
    out = np.eye(4)
    if facing is not None and up is not None:
        back = -_unit(np.asarray(facing, dtype=float))
        above = up if abs(back @ up) < 0.999 else np.roll(up, 1)
        across = _unit(np.cross(back, above))
        out[:3, :3] = np.stack([across, back, np.cross(across, back)], axis=1)
    out[:3, 3] = place
    return out


def _upwards(place: list[float], axis: list[float]) -> Array:
    """A frame (4, 4) at a place whose Z points along `axis`."""
    out = np.eye(4)
    z = _unit(np.asarray(axis, dtype=float))
    y = _unit(np.cross(z, [1.0, 0.0, 0.0] if abs(z[0]) < 0.9 else [0.0, 1.0, 0.0]))
    out[:3, :3] = np.stack([np.cross(y, z), y, z], axis=1)
    out[:3, 3] = place
    return out


def _place(frame: Array) -> list[float]:
    return frame[:3, 3].tolist()


def _facing(frame: Array) -> list[float]:
    """The unit vector along a frame's -Y."""
    return (-_unit(frame[:3, 1])).tolist()


def _width(frame: Array) -> float:
    return float(np.linalg.norm(frame[:3, 0]))


def _depth(frame: Array) -> float:
    return float(np.linalg.norm(frame[:3, 1]))


def _grasp_facing(frames: dict[str, Array], up: Array) -> list[float]:
    """Toward the carrier: level, and with the hands on its left and right."""
    facing = np.cross(up, frames["left"][:3, 3] - frames["right"][:3, 3])
    return _unit(facing).tolist() if np.linalg.norm(facing) > 1e-6 else _facing(frames["left"])


def _unit(vector: Array) -> Array:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)
