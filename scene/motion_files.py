# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion files that Blender reads: FBX, imported into a scene of its own that is gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy

from ..nsm_blender.errors import FileFormatError
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.rigging.mapping import propose
from . import armatures, binding, recording

_KINDS = ("objects", "armatures", "meshes", "actions", "materials", "images", "cameras", "lights", "collections")
"""What an FBX file may bring along."""


def read_fbx(context: bpy.types.Context, path: Path) -> Motion:
    """The motion of the character in an FBX file, at the model's size and the file's frame rate.

    Nothing is left behind. Raises FileFormatError, RigError and ShotError.
    """
    if not path.is_file():
        raise FileFormatError(f"{path}: there is no such file")
    with _imported(context, path):
        found = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
        animated = [obj for obj in found if obj.animation_data and obj.animation_data.action]
        if not animated:
            what = "an armature that is animated" if found else "an armature"
            raise FileFormatError(f"{path}: the file has no {what}; export the character with its animation.")
        armature = max(animated, key=lambda obj: len(obj.data.bones))
        armature.name = path.name
        binding.store(armature, propose(binding.rig_info(bpy.context, armature)))
        rig = armatures.read(bpy.context, armature)
        return recording.read(bpy.context, armature, rig, recording.frames_of_action(armature))


@contextmanager
def _imported(context: bpy.types.Context, path: Path) -> Iterator[None]:
    """The file's content in a scene of its own, which is the context's meanwhile."""
    before = {kind: set(getattr(bpy.data, kind)) for kind in _KINDS}
    scene, user, window = bpy.data.scenes.new(path.name), context.scene, context.window
    try:
        # The importer goes through edit mode, which an overridden context alone does not bring about.
        window.scene = scene
        _import(path)
        scene.view_layers[0].update()
        yield
    finally:
        window.scene = user
        bpy.data.scenes.remove(scene)
        bpy.data.batch_remove([block for kind in _KINDS for block in _new(kind, before[kind])])


def _import(path: Path) -> None:
    try:
        bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0.0, ignore_leaf_bones=False)
    except (AttributeError, RuntimeError) as error:
        raise FileFormatError(f"{path}: cannot be read as FBX ({str(error).strip()})") from error


def _new(kind: str, before: set[Any]) -> list[Any]:
    return [block for block in getattr(bpy.data, kind) if block not in before]
