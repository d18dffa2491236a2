# SPDX-License-Identifier: GPL-3.0-or-later
"""The stage on which a character is exported: a scene of its own that holds only the character.

So its frame range is the action's, and neither selection, mode, frame nor anything else of the user's scene is touched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bpy

from ..nsm_blender.errors import RigError, UserError
from . import deform_rig, root_motion


@dataclass(frozen=True)
class Exported:
    """What an export wrote: the first and last frame, and the number of meshes."""

    first: int
    last: int
    meshes: int


class Names:
    """Lends copies the names that the file shall show, and gives them back to their owners."""

    def __init__(self) -> None:
        self._owners: list[tuple[bpy.types.ID, str]] = []

    def give(self, copy: bpy.types.ID | None, name: str) -> None:
        """Name a copy as its original, which gets another name until `restore`."""
        assert copy is not None
        if isinstance(copy, bpy.types.Action):
            owner: bpy.types.ID | None = bpy.data.actions.get((name, None))  # local, of no library
        elif isinstance(copy, bpy.types.Object):
            owner = bpy.data.objects.get((name, None))
        else:
            owner = bpy.data.meshes.get((name, None))
        if owner is not None and owner != copy:
            self._owners.append((owner, name))
            owner.name = f"{name[:40]} (during export)"
        copy.name = name

    def restore(self) -> None:
        """Give the names back."""
        for owner, name in self._owners:
            owner.name = name


@dataclass(frozen=True, eq=False)
class Stage:
    """What an exporter writes: the scene, the armature and the meshes that follow it, the first and last frame."""

    scene: bpy.types.Scene
    armature: bpy.types.Object
    meshes: list[bpy.types.Object]
    names: Names
    first: int
    last: int

    def result(self) -> Exported:
        """What was written."""
        return Exported(self.first, self.last, len(self.meshes))

    @contextmanager
    def lit(self, objects: list[bpy.types.Object]) -> Iterator[None]:
        """The scene with these objects in it, all selected and the first of them active, as the context's scene."""
        for obj in objects:
            self.scene.collection.objects.link(obj)
        layer = self.scene.view_layers[0]
        layer.update()
        layer.objects.active = objects[0]
        for obj in objects:
            obj.select_set(True, view_layer=layer)
        with bpy.context.temp_override(
            scene=self.scene, view_layer=layer, active_object=objects[0], object=objects[0], selected_objects=objects
        ):
            yield


@contextmanager
def staged(
    context: bpy.types.Context,
    rig: bpy.types.Object,
    path: Path,
    root: str,
    *,
    sampled: bool = False,
    in_world: bool = False,
) -> Iterator[Stage]:
    """Set `rig`, the visible meshes that it moves and its current action up for an export to `path`.

    root: where the motion over the ground goes, one of `root_motion.ITEMS`. sampled: the armature is a copy with keys
    of its own in any case, for exporters that follow neither constraints nor parents. in_world: the object itself is
    at the origin, for files that have no objects. Raises RigError when the rig has no action, UserError when there is
    no such folder; nothing is left behind in either case, nor after an error within.
    """
    action = current_action(rig)
    if action is None:
        raise RigError(f"'{rig.name}' has no action to export; bake one first.")
    if not path.parent.is_dir():
        raise UserError(f"The folder {path.parent} does not exist.")
    first, last = math.floor(action.frame_range[0]), math.ceil(action.frame_range[1])
    meshes = skinned_meshes(context, rig)
    with (
        _pose_kept(context.scene, rig),
        _scene_of_its_own(context, action.name, first, last) as scene,
        borrowed_names() as names,
        deform_rig.lean(context, scene, rig, meshes) as (bones, skins),
        root_motion.moved_to(context, scene, bones, skins, root, sampled=sampled, in_world=in_world) as (
            moved,
            followers,
        ),
    ):
        for copy, original in zip([moved, *followers], [rig, *meshes], strict=True):
            if copy != original:
                names.give(copy, original.name)
        if moved not in (rig, bones):
            names.give(current_action(moved), action.name)
        yield Stage(scene, moved, followers, names, first, last)


def current_action(rig: bpy.types.Object) -> bpy.types.Action | None:
    """The action that moves the rig now, or None."""
    return rig.animation_data.action if rig.animation_data else None


def skinned_meshes(context: bpy.types.Context, rig: bpy.types.Object) -> list[bpy.types.Object]:
    """Visible meshes that the rig deforms or carries."""
    return [
        obj
        for obj in context.view_layer.objects
        if obj.type == "MESH"
        and obj.visible_get()
        and (obj.parent == rig or any(m.type == "ARMATURE" and m.object == rig for m in obj.modifiers))
    ]


_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")


@contextmanager
def _pose_kept(user: bpy.types.Scene | None, rig: bpy.types.Object) -> Iterator[None]:
    """Stepping through frames in another scene writes animated values into the originals: undo that."""
    assert user is not None
    owners = [rig, *rig.pose.bones]
    kept = [[tuple(getattr(owner, channel)) for channel in _CHANNELS] for owner in owners]
    try:
        yield
    finally:
        user.frame_set(user.frame_current, subframe=user.frame_subframe)
        for owner, values in zip(owners, kept, strict=True):
            for channel, value in zip(_CHANNELS, values, strict=True):
                setattr(owner, channel, value)


@contextmanager
def _scene_of_its_own(context: bpy.types.Context, name: str, first: int, last: int) -> Iterator[bpy.types.Scene]:
    """An empty scene with the user's frame rate and units. The exporter names the take after it."""
    user = context.scene
    scene = bpy.data.scenes.new(name)
    try:
        scene.render.fps, scene.render.fps_base = user.render.fps, user.render.fps_base
        scene.unit_settings.system = user.unit_settings.system
        scene.unit_settings.scale_length = user.unit_settings.scale_length
        scene.frame_start, scene.frame_end = first, last
        scene.frame_set(first)
        yield scene
    finally:
        bpy.data.scenes.remove(scene)


@contextmanager
def borrowed_names() -> Iterator[Names]:
    """Names to lend; they are back with their owners in the end, when the copies are gone."""
    names = Names()
    try:
        yield names
    finally:
        names.restore()
