# SPDX-License-Identifier: GPL-3.0-or-later
"""Our entries in Blender's menus: Add, and Object > Animate, through which F3 finds every operator.

Blender's search looks through menus alone, so what the sidebar has is here too.
"""

from __future__ import annotations

from typing import Any

import bpy

from ..scene import keys, lookup

_ICONS: dict[str, Any] = {item[0]: item[3] for item in keys.ACTION_ITEMS}
ACTIONS = (
    ("walk", "Walk Here"),
    ("run", "Run Here"),
    ("sit", "Sit Here"),
    ("pick_up", "Pick Up"),
    ("put_down", "Put Down Here"),
    ("open", "Open"),
    ("climb", "Climb"),
    ("jump", "Jump"),
    ("idle", "Wait"),
)
"""The actions that menus offer, and what they are called there."""


class NSM_MT_animate(bpy.types.Menu):
    """All that the extension does."""

    bl_label = "Animate"

    def draw(self, _context: bpy.types.Context) -> None:
        """The bake, then a menu for each panel of the sidebar."""
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator("nsm.bake", icon="REC")
        layout.operator("nsm.keep_bake", icon="FAKE_USER_ON")
        layout.operator("nsm.remove_bake", icon="TRASH")
        layout.operator("nsm.push_down", icon="NLA_PUSHDOWN")
        layout.operator("nsm.mark_asset", icon="ASSET_MANAGER")
        layout.operator("nsm.purge_bakes")
        layout.menu("NSM_MT_export", icon="EXPORT")
        layout.separator()
        layout.menu("NSM_MT_character", icon="ARMATURE_DATA")
        layout.menu("NSM_MT_shot", icon="SEQUENCE")
        layout.menu("NSM_MT_goals", icon="EMPTY_SINGLE_ARROW")
        layout.menu("NSM_MT_things", icon="MESH_CUBE")
        layout.menu("NSM_MT_refine", icon="MOD_SMOOTH")
        layout.menu("NSM_MT_generate", icon="COMMUNITY")


class NSM_MT_character(bpy.types.Menu):
    """Characters and their rigs."""

    bl_label = "Character"

    def draw(self, _context: bpy.types.Context) -> None:
        """Add, choose, bind."""
        layout = self.layout
        layout.operator("nsm.add_character", icon="OUTLINER_OB_ARMATURE")
        layout.operator("nsm.add_demo_shot", icon="HOME")
        layout.menu("NSM_MT_characters", text="Pick Character")
        layout.separator()
        layout.operator("nsm.bind", icon="LINKED")
        layout.operator("nsm.bind", text="Map Manually", icon="HAND").manual = True
        layout.operator("nsm.check_binding", icon="CHECKMARK")
        layout.operator("nsm.unbind")
        layout.separator()
        layout.operator("nsm.load_mapping", icon="FILE_FOLDER")
        layout.operator("nsm.save_mapping", icon="FILE_TICK")


class NSM_MT_shot(bpy.types.Menu):
    """What the character is to do."""

    bl_label = "Shot"

    def draw(self, _context: bpy.types.Context) -> None:
        """The path, the actions, their routes, and files."""
        layout = self.layout
        layout.operator("nsm.add_path", icon="CURVE_BEZCURVE")
        layout.operator("nsm.assign_path")
        layout.separator()
        layout.menu("NSM_MT_add_action", icon="ADD")
        layout.operator("nsm.check_keys", icon="CHECKMARK")
        layout.operator("nsm.remove_action_key", icon="REMOVE")
        layout.operator("nsm.duplicate_action_key", icon="DUPLICATE")
        layout.operator("nsm.move_action_key", text="Move Action Up", icon="TRIA_UP").direction = "UP"
        layout.operator("nsm.move_action_key", text="Move Action Down", icon="TRIA_DOWN").direction = "DOWN"
        layout.operator("nsm.go_to_action_key", icon="TIME")
        layout.operator("nsm.select_goal", icon="RESTRICT_SELECT_OFF")
        layout.separator()
        layout.operator("nsm.show_routes", icon="CURVE_BEZCURVE")
        layout.operator("nsm.forget_route")
        layout.separator()
        layout.operator("nsm.load_shot", icon="FILE_FOLDER")
        layout.operator("nsm.save_shot", icon="FILE_TICK")
        layout.operator("nsm.save_report", icon="FILE_TEXT")


class NSM_MT_goals(bpy.types.Menu):
    """Places to go to and things to use."""

    bl_label = "Goal"

    def draw(self, _context: bpy.types.Context) -> None:
        """Place, drop, turn, make."""
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator("nsm.place_goal", icon="EYEDROPPER")
        layout.operator("nsm.place_goal", text="Drop Goal on Object", icon="SNAP_FACE").move_selected = True
        layout.operator("nsm.turn_goal", icon="DRIVER_ROTATIONAL_DIFFERENCE")
        layout.separator()
        layout.operator("nsm.add_goal", icon="EMPTY_SINGLE_ARROW")
        layout.operator("nsm.mark_goal", icon="EMPTY_AXIS")


class NSM_MT_things(bpy.types.Menu):
    """What characters use."""

    bl_label = "Scene Objects"

    def draw(self, context: bpy.types.Context) -> None:
        """Roles, handles, the demo room."""
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator_menu_enum("nsm.wrap_collider", "role", text="Use As", icon="MESH_CUBE")
        layout.operator_menu_enum("nsm.set_role", "role", text="Change Use")
        layout.operator_menu_enum("nsm.select_role", "role", text="Select by Role", icon="RESTRICT_SELECT_OFF")
        layout.operator("nsm.refresh_colliders", icon="FILE_REFRESH")
        layout.operator("nsm.remove_collider", icon="TRASH")
        layout.separator()
        layout.operator("nsm.propose_handles", icon="VIEWZOOM")
        layout.operator("nsm.show_handles", icon="EMPTY_DATA")
        layout.operator("nsm.check_handles", icon="CHECKMARK")
        layout.operator_menu_enum("nsm.move_handle", "way", text="Move Handle")
        layout.operator("nsm.turn_facing", icon="DRIVER_ROTATIONAL_DIFFERENCE")
        layout.separator()
        layout.operator("nsm.add_demo_room", icon="HOME")


class NSM_MT_refine(bpy.types.Menu):
    """Change a motion that is there."""

    bl_label = "Refine"

    def draw(self, _context: bpy.types.Context) -> None:
        """Constraints, contacts, style."""
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator("nsm.edit_motion", icon="MOD_SMOOTH")
        layout.operator_menu_enum("nsm.add_constraint", "kind", icon="ADD")
        layout.operator("nsm.remove_constraint", icon="REMOVE")
        layout.operator("nsm.move_constraint", text="Move Constraint Up", icon="TRIA_UP").direction = "UP"
        layout.operator("nsm.move_constraint", text="Move Constraint Down", icon="TRIA_DOWN").direction = "DOWN"
        layout.operator("nsm.capture_pose", icon="ARMATURE_DATA")
        layout.separator()
        layout.operator("nsm.detect_contacts", icon="VIEWZOOM")
        layout.operator("nsm.add_contact", icon="ADD")
        layout.operator("nsm.remove_contact", icon="REMOVE")
        layout.operator("nsm.clear_contacts", icon="TRASH")
        layout.operator("nsm.create_contact_markers", icon="MARKER_HLT")
        layout.operator("nsm.read_contact_markers", icon="MARKER")
        layout.separator()
        layout.operator("nsm.mirror_motion", icon="MOD_MIRROR")
        layout.operator("nsm.loop_gait", icon="FILE_REFRESH")
        layout.separator()
        layout.operator("nsm.apply_style", icon="SHADERFX")
        layout.operator("nsm.load_style", icon="FILE_FOLDER")
        layout.operator("nsm.save_style", icon="FILE_TICK")


class NSM_MT_generate(bpy.types.Menu):
    """Whole motions at once."""

    bl_label = "Generate"

    def draw(self, _context: bpy.types.Context) -> None:
        """Along curves, for a crowd, as strikes, from files; and what networks are trained on."""
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator("nsm.synthesize", icon="CURVE_PATH")
        layout.operator("nsm.live_synthesis", icon="FILE_REFRESH")
        layout.operator("nsm.synthesize_crowd", icon="COMMUNITY")
        layout.separator()
        layout.operator("nsm.synthesize_strike", icon="FORCE_FORCE")
        layout.operator("nsm.add_strike", icon="ADD")
        layout.operator("nsm.remove_strike", icon="REMOVE")
        layout.separator()
        layout.operator("nsm.apply_motion", icon="IMPORT")
        layout.operator("nsm.save_motion", icon="EXPORT")
        layout.separator()
        layout.operator("nsm.import_capture", icon="IMPORT")
        layout.operator("nsm.save_labels", icon="FILE_TICK")
        layout.operator("nsm.remove_labels", icon="TRASH")
        layout.operator("nsm.copy_training_command", icon="COPYDOWN")


class NSM_MT_add_goal(bpy.types.Menu):
    """Goals where the 3D cursor is."""

    bl_label = "Animation Goal"

    def draw(self, context: bpy.types.Context) -> None:
        """With an action for the character, and without."""
        layout = self.layout
        column = layout.column()
        column.enabled = lookup.character(context) is not None
        for action, label in ACTIONS:
            added = column.operator("nsm.add_action_key", text=label, icon=_ICONS[action])
            added.action, added.place = action, "CURSOR"
        layout.separator()
        layout.operator("nsm.add_goal", text="Goal Only", icon="EMPTY_SINGLE_ARROW").attach = False
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator("nsm.place_goal", text="Place with the Mouse", icon="EYEDROPPER")


def start() -> None:
    """Add our entries to Blender's menus."""
    for menu, draw in _entries():
        menu.append(draw)


def stop() -> None:
    """Take them out again."""
    for menu, draw in _entries():
        menu.remove(draw)


def _entries() -> list[tuple[Any, Any]]:
    """Blender's menus, and what draws our entry there."""
    types = bpy.types
    return [
        (types.VIEW3D_MT_object, _draw_animate),
        (types.VIEW3D_MT_pose, _draw_animate),
        (types.VIEW3D_MT_object_context_menu, _draw_actions),
        (types.VIEW3D_MT_armature_add, _draw_character),
        (types.VIEW3D_MT_add, _draw_goals),
    ]


def _draw_animate(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.menu("NSM_MT_animate", icon="ARMATURE_DATA")


def _draw_actions(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    """What the character can do with the object under the menu."""
    if lookup.character(context) is not None:
        menu.layout.separator()
        menu.layout.menu("NSM_MT_add_action", icon="ARMATURE_DATA")


def _draw_character(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.operator("nsm.add_character", text="Animated Character", icon="OUTLINER_OB_ARMATURE")


def _draw_goals(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.menu("NSM_MT_add_goal", icon="EMPTY_SINGLE_ARROW")


CLASSES = (
    NSM_MT_character,
    NSM_MT_shot,
    NSM_MT_goals,
    NSM_MT_things,
    NSM_MT_refine,
    NSM_MT_generate,
    NSM_MT_animate,
    NSM_MT_add_goal,
)
