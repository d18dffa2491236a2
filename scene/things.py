# SPDX-License-Identifier: GPL-3.0-or-later
"""Things that a bake moves, such as boxes and doors: where they are without it, and the keys that move them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ..nsm_blender.errors import ColliderError
from ..nsm_blender.geometry.colliders import PLACE, QUATERNION
from ..nsm_blender.motion.rotations import Array, conjugate, from_matrix, make_continuous, multiply, to_matrix
from . import actions, colliders, goals, keys
from .rig import in_mode, rotation_attribute

MOVING = ("pick_up", "open")
"""Actions of keys that move the thing which their goal uses."""
_GROUP = "Object Transforms"
_TRANSFORMS = ("location", "rotation", "scale", "delta_")
_FLAT = 1e-9
"""A scale below this leaves nothing of an object."""
_SHEAR = 1e-3
"""Relative unevenness of the scale above an object that float32 explains."""


@dataclass(frozen=True, eq=False)
class Followed:
    """One object that moves with a thing, as it is without the bake, at N = F frames or one when it does not move.

    uid: its number in this session. mode: of its rotation. above: (N, 4, 4) from its own channels to the world, basis:
    (N, 4, 4) of its channels, in Blender units. rotation, delta: (N, 4) quaternions of its rotation and its delta
    rotation. shift: (N, 3) its delta location.
    """

    uid: int
    name: str
    mode: str
    above: Array
    basis: Array
    rotation: Array
    delta: Array
    shift: Array

    def channels(self, moved: Array) -> list[actions.Channel]:
        """Keys that put it where `moved` (T, 4, 4) takes it from where it is, in the world's Blender units."""
        local = np.linalg.inv(self.above) @ moved @ self.above @ self.basis
        turn = local[:, :3, :3] @ np.linalg.inv(self.basis[:, :3, :3])
        turned = from_matrix(turn / np.linalg.norm(turn, axis=-2, keepdims=True))
        shape = turned.shape
        rotation, delta = np.broadcast_to(self.rotation, shape), np.broadcast_to(self.delta, shape)
        own = multiply(conjugate(delta), multiply(turned, multiply(delta, rotation)))
        values = in_mode(make_continuous(own), self.mode)
        return [
            actions.Channel("location", local[:, :3, 3] - self.shift, _GROUP),
            actions.Channel(rotation_attribute(self.mode), values, _GROUP),
        ]


@dataclass(frozen=True, eq=False)
class Thing:
    """A collider that a bake may move. name: the engine's. poses: (N, 7) where it is without the bake, world meters.
    objects: those that move with it. was_moved: whether an earlier bake of the character moves it now.
    """

    name: str
    poses: Array
    objects: list[Followed]
    was_moved: bool

    def keys(self, poses: Array | None, meters: float) -> list[tuple[Followed, list[actions.Channel]]]:
        """For each object its keys: along `poses` (F, 7) in world meters, or, without, where it is by itself.

        meters: of a Blender unit.
        """
        if poses is None:
            still = np.tile(np.eye(4), (len(self.poses), 1, 1))
            return [(one, one.channels(still[: len(one.above)])) for one in self.objects]
        moved = _matrices(poses, meters) @ np.linalg.inv(_matrices(self.poses, meters))
        return [(one, one.channels(moved)) for one in self.objects]


def used(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """The colliders that the character's keys move. Raises ColliderError and ActionError when keys would not."""
    found = [goals.of_goal(key.goal).uses for key in keys.of_character(armature) if key.goal and key.action in MOVING]
    out = [obj for obj in dict.fromkeys(found) if obj is not None and colliders.is_collider(obj)]
    for owner in out:
        for obj in _together(owner):
            _check(obj, owner)
    return out


def read(
    context: bpy.types.Context,
    wanted: Sequence[bpy.types.Object],
    freed: Sequence[bpy.types.Object],
    frames: Array,
) -> list[Thing]:
    """The things that a bake is to move, and those of which an earlier one lets go.

    The scene must be without that earlier one (layers.without), and is left so. frames: (F,) of the scene. Raises
    ColliderError for one that keys would shear.
    """
    alone = [obj for obj in freed if not any(obj in _together(owner) for owner in wanted)]
    groups = {owner: _together(owner) for owner in wanted} | {obj: [obj] for obj in alone}
    tracks = colliders.transforms(context, [obj for objects in groups.values() for obj in objects], frames)
    places = colliders.poses(context, list(groups), frames)
    return [
        Thing(
            colliders.name_of(owner),
            places[owner],
            [_followed(obj, tracks[obj]) for obj in objects],
            any(obj in freed for obj in objects),
        )
        for owner, objects in groups.items()
    ]


def _together(owner: bpy.types.Object) -> list[bpy.types.Object]:
    """The collider's object, and the objects that belong to it without hanging on it."""
    out = [owner]
    for part in colliders.members(owner):
        if not any(above in out for above in _above(part)):
            out = [one for one in out if part not in _above(one)] + [part]
    return out


def _above(obj: bpy.types.Object) -> Iterable[bpy.types.Object]:
    """What an object hangs on."""
    above = obj.parent
    while above is not None:
        yield above
        above = above.parent


def _check(obj: bpy.types.Object, owner: bpy.types.Object) -> None:
    """Raise ColliderError where keys would not move `obj`."""
    name = f"'{obj.name}'" if obj == owner else f"'{obj.name}', a part of '{owner.name}',"
    override = obj.override_library
    if obj.library is not None or (override is not None and override.is_system_override):
        raise ColliderError(f"{name} is linked from another file and cannot be moved; make a library override of it.")
    if any(one.enabled and one.influence > 0 for one in obj.constraints):
        raise ColliderError(f"{name} has constraints and cannot be moved by keys; remove or disable them.")
    body = obj.rigid_body
    if body is not None and body.type == "ACTIVE" and not body.kinematic:
        raise ColliderError(f"{name} is moved by the rigid body simulation; tick 'Animated' in its physics settings.")
    animation = obj.animation_data
    if animation is not None and any(one.data_path.startswith(_TRANSFORMS) for one in animation.drivers):
        raise ColliderError(f"{name} has a driver on its transform and cannot be moved by keys; remove the driver.")
    actions.check_assignable(obj)


def _followed(obj: bpy.types.Object, track: colliders.Track) -> Followed:
    if np.linalg.norm(track.world[:, :3, :3], axis=1).min() < _FLAT:
        raise ColliderError(f"'{obj.name}' has a scale of zero; give it a scale.")
    above = track.world @ np.linalg.inv(track.basis)
    axes = above[:, :3, :3]
    scale = np.linalg.norm(axes, axis=-2)[..., None]
    grid = np.swapaxes(axes, -1, -2) @ axes / (scale * np.swapaxes(scale, -1, -2))
    if np.ptp(scale, axis=1).max() > _SHEAR * scale.max() or np.abs(grid - np.eye(3)).max() > _SHEAR:
        raise ColliderError(
            f"'{obj.name}' has a parent that is scaled unevenly, which would shear it as it turns; apply the "
            "parent's scale (Ctrl+A)."
        )
    return Followed(
        obj.session_uid,
        obj.name,
        obj.rotation_mode,
        above,
        track.basis,
        track.rotation,
        track.delta,
        track.shift,
    )


def _matrices(poses: Array, meters: float) -> Array:
    """Poses (N, 7) in meters as matrices (N, 4, 4) in Blender units."""
    poses = np.asarray(poses, dtype=np.float64)
    out = np.tile(np.eye(4), (len(poses), 1, 1))
    out[:, :3, :3] = to_matrix(poses[:, QUATERNION] / np.linalg.norm(poses[:, QUATERNION], axis=1, keepdims=True))
    out[:, :3, 3] = poses[:, PLACE] / meters
    return out
