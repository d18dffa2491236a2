# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell which bones of a character's own rig are which joints of the model.

Blender reads the annotations of an operator as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, StringProperty

from ..nsm_blender import RigError, UserError
from ..scene import binding, lookup
from .base import Operation, counted

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems

    from ..nsm_blender import Mapping


class _OnCharacter(Operation):
    """Base of operators on a character's binding."""

    needs_binding = False

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """There has to be a character that may be changed."""
        armature = lookup.character(context)
        if lookup.baking(context):
            cls.poll_message_set("A bake is running; Esc cancels it")
        elif armature is None:
            cls.poll_message_set("Select a character's armature first")
        elif not armature.is_editable:
            cls.poll_message_set(f"'{armature.name}' is linked from another file; make a library override of it first")
        elif cls.needs_binding and not binding.is_bound(armature):
            cls.poll_message_set(f"'{armature.name}' is not bound; press Bind first")
        else:
            return True
        return False


class NSM_OT_bind(_OnCharacter):
    """Propose which bones of the armature are which joints, from their names and from the rest pose.
    Rows that were chosen by hand stay"""

    bl_idname = "nsm.bind"
    bl_label = "Bind Rig"
    bl_options = {"REGISTER", "UNDO"}

    manual: BoolProperty(
        name="Map Manually",
        description="List the joints without proposals, to choose their bones by hand",
        default=False,
        options={"SKIP_SAVE"},
    )

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Propose a mapping and keep it; what cannot be animated at all is refused."""
        from ..nsm_blender import Mapping, propose_mapping

        armature = lookup.character(context)
        assert armature is not None
        info = binding.rig_info(context, armature)
        info.check()
        chosen = {
            joint: bone for joint, bone in binding.by_hand(armature).items() if bone is None or bone in info.numbers
        }
        found = (Mapping({}) if self.manual else propose_mapping(info)).with_chosen(chosen)
        if self.manual:
            binding.store(armature, found, chosen)
            self.report({"INFO"}, f"Choose the bones of '{armature.name}' in the list; hips and legs are needed")
            return {"FINISHED"}
        if not found.matches:
            raise RigError(
                f"No limbs were recognized in '{armature.name}'; press 'Map Manually' and choose its bones in the list."
            )
        found.check_upright(info)
        binding.store(armature, found, chosen)
        for sentence in found.missing():
            self.report({"WARNING"}, sentence)
        refused = _look_at(self, context, armature)
        done = "Listed" if refused else "Bound"
        self.report(
            {"INFO"},
            f"{done} {counted(len(found.matches), 'joint')} of '{armature.name}'{_remarks(found, len(chosen))}",
        )
        return {"FINISHED"}


def _look_at(operator: Operation, context: bpy.types.Context, armature: bpy.types.Object) -> bool:
    """Report what a bake would say of the rig: why it would refuse it (then True), or what it leaves alone."""
    from ..scene import armatures, left_behind

    try:
        rig = armatures.read(context, armature)
    except UserError as reason:
        operator.report({"WARNING"}, f"It cannot be animated yet. {reason}")
        return True
    for sentence in (*rig.notes, *left_behind.sentences(armature, rig)):
        operator.report({"WARNING"}, sentence)
    return False


def _remarks(found: "Mapping", chosen: int) -> str:
    """What of a proposal wants a look, and how much of it is the user's own."""
    unsure = [joint for joint, match in found.matches.items() if match.confidence < binding.SURE]
    doubt = f"; look at {', '.join(unsure[:3])}{' ...' if len(unsure) > 3 else ''}" if unsure else ""
    kept = f"; {chosen} chosen by hand {'stays' if chosen == 1 else 'stay'}" if chosen else ""
    return doubt + kept


class NSM_OT_unbind(_OnCharacter):
    """Remove the binding from the armature"""

    bl_idname = "nsm.unbind"
    bl_label = "Unbind Rig"
    bl_options = {"REGISTER", "UNDO"}

    needs_binding = True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Forget the mapping."""
        armature = lookup.character(context)
        assert armature is not None
        binding.forget(armature)
        return {"FINISHED"}


class NSM_OT_check_binding(_OnCharacter):
    """Check whether the armature can be animated by its binding, and report what it lacks"""

    bl_idname = "nsm.check_binding"
    bl_label = "Check Binding"
    bl_options = {"REGISTER"}

    needs_binding = True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Describe the rig as a bake would."""
        from ..scene import armatures, left_behind

        armature = lookup.character(context)
        assert armature is not None
        rig = armatures.read(context, armature)
        left = left_behind.sentences(armature, rig)
        for sentence in (*binding.mapping(armature).missing(), *rig.notes, *left):
            self.report({"WARNING"}, sentence)
        self.report({"INFO"}, f"'{armature.name}' can be animated; its legs are {rig.scale:.2f} of the model's")
        return {"FINISHED"}


class _MappingFile(_OnCharacter):
    """Base of operators on mapping files."""

    filepath: StringProperty(name="File", description="A mapping as JSON", subtype="FILE_PATH", options={"SKIP_SAVE"})
    filter_glob: StringProperty(default="*.json", options={"HIDDEN"})

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> "set[OperatorReturnItems]":
        """Ask for the file."""
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def path(self) -> Path:
        """The chosen file."""
        if not self.filepath:
            raise RigError("Choose a mapping file.")
        return Path(bpy.path.abspath(self.filepath))


class NSM_OT_save_mapping(_MappingFile):
    """Save which bones are which joints, for other characters on the same rig"""

    bl_idname = "nsm.save_mapping"
    bl_label = "Save Bone Mapping"
    bl_options = {"REGISTER"}

    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    needs_binding = True

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Write the file."""
        armature = lookup.character(context)
        assert armature is not None
        path = self.path()
        binding.mapping(armature).save(path)
        self.report({"INFO"}, f"Wrote {path.name}")
        return {"FINISHED"}


class NSM_OT_load_mapping(_MappingFile):
    """Load which bones are which joints from a file"""

    bl_idname = "nsm.load_mapping"
    bl_label = "Load Bone Mapping"
    bl_options = {"REGISTER", "UNDO"}

    def run(self, context: bpy.types.Context) -> "set[OperatorReturnItems]":
        """Read the file; it has to fit the armature."""
        from ..nsm_blender import Mapping

        armature = lookup.character(context)
        assert armature is not None
        found = Mapping.load(self.path())
        found.check(binding.rig_info(context, armature))
        binding.store(armature, found)
        self.report({"INFO"}, f"Bound {counted(len(found.matches), 'joint')} of '{armature.name}'")
        return {"FINISHED"}


CLASSES = (NSM_OT_bind, NSM_OT_unbind, NSM_OT_check_binding, NSM_OT_save_mapping, NSM_OT_load_mapping)
