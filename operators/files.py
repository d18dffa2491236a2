# SPDX-License-Identifier: GPL-3.0-or-later
"""Save the shot and the report of a bake as files."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy_extras.io_utils import ExportHelper

from ..nsm_blender.errors import ShotError
from ..scene import lookup
from ..scene.properties import of_object
from .base import Operation


class NSM_OT_save_shot(Operation, bpy.types.Operator, ExportHelper):
    """Save what the character is to do as a file, to repeat the bake without Blender."""

    bl_idname = "nsm.save_shot"
    bl_label = "Save Shot"

    filename_ext = ".json"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        return _has_character(cls, context)

    def run(self, context: bpy.types.Context) -> set[str]:
        """Gather the shot and write it."""
        from ..scene.gather import gather

        gathered = gather(context, lookup.character(context))
        _write(Path(bpy.path.abspath(self.filepath)), gathered.shot.to_json() + "\n")
        return {"FINISHED"}


class NSM_OT_save_report(Operation, bpy.types.Operator, ExportHelper):
    """Save the measurements of the last bake as a file."""

    bl_idname = "nsm.save_report"
    bl_label = "Save Report"

    filename_ext = ".json"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character."""
        return _has_character(cls, context)

    def run(self, context: bpy.types.Context) -> set[str]:
        """Write the report that the last bake left on the armature."""
        from ..scene.measure import Report

        armature = lookup.character(context)
        assert armature is not None
        if not of_object(armature).report.frames:
            raise ShotError(f"'{armature.name}' has no report; bake first.")
        _write(Path(bpy.path.abspath(self.filepath)), Report.stored(armature).to_json() + "\n")
        return {"FINISHED"}


def _has_character(operator: type[bpy.types.Operator], context: bpy.types.Context) -> bool:
    if lookup.character(context) is None:
        operator.poll_message_set("Select a character's armature first")
        return False
    return True


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ShotError(f"{path}: cannot be written ({error.strerror})") from error


CLASSES = (NSM_OT_save_shot, NSM_OT_save_report)
