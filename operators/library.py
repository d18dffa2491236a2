# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a finished motion: a strip of the NLA editor, or an asset.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from typing import TYPE_CHECKING

import bpy
from bpy.props import StringProperty

from ..nsm_blender import ShotError
from ..scene import assets, lookup, strips
from ..scene.export_stage import current_action
from .base import Operation, counted

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems


class _OnAction(Operation):
    """Base of operators on the action of the character."""

    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character with an action of its own file."""
        rig = lookup.character(context)
        if rig is None:
            cls.poll_message_set("Select a character's armature first")
        elif not rig.is_editable:
            cls.poll_message_set(f"'{rig.name}' is linked from another file; make a library override first")
        elif lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
        elif current_action(rig) is None:
            cls.poll_message_set(f"'{rig.name}' has no action; bake one first")
        else:
            return True
        return False


class NSM_OT_push_down(_OnAction):
    """Push the character's action down to a strip of the NLA editor, on a track named after it, with what the bake
    moves; the next bake begins without it"""

    bl_idname = "nsm.push_down"
    bl_label = "Push to NLA"

    track: StringProperty(
        name="Track", description="Name of the new track; the action's name when it is empty", options={"SKIP_SAVE"}
    )

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Make the strips."""
        rig = lookup.character(context)
        assert rig is not None
        made = strips.push_down(rig, self.track)
        others = f", and {counted(made.others, 'strip')} for what it moves" if made.others else ""
        self.report({"INFO"}, f"'{made.action}' is a strip on the track '{made.track}' of '{rig.name}'{others}")
        return {"FINISHED"}


class NSM_OT_mark_asset(_OnAction):
    """Mark the character's action as an asset, with a description, tags and a picture of its middle frame, for the
    asset browser"""

    bl_idname = "nsm.mark_asset"
    bl_label = "Mark as Asset"

    description: StringProperty(
        name="Description", description="What the asset browser tells; empty says how the motion was made"
    )
    tags: StringProperty(name="Tags", description="More tags, with commas between them")

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Mark it."""
        rig = lookup.character(context)
        assert rig is not None
        action = current_action(rig)
        assert action is not None
        if action.library is not None:
            raise ShotError(f"'{action.name}' is linked from another file; mark it there.")
        tags = [tag for tag in (text.strip() for text in self.tags.split(",")) if tag]
        assets.mark(context, rig, action, self.description, tags)
        self.report({"INFO"}, f"'{action.name}' is an asset; save this file in an asset library to find it there")
        if not assets.add_picture(context, rig, action):
            self.report({"WARNING"}, "The picture could not be rendered; choose one in the asset browser")
        return {"FINISHED"}


CLASSES = (NSM_OT_push_down, NSM_OT_mark_asset)
