# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Blender's own menus lead: every operator is reached from them, so F3 finds it; and what redo and keys do."""

from __future__ import annotations

import runpy
from pathlib import Path
from types import SimpleNamespace

import bpy

from . import build
from .layouts import Layout

FILES_ONLY = {
    "save_mapping",
    "save_shot",
    "save_report",
    "save_motion",
    "save_style",
    "save_labels",
    "copy_training_command",
    "check_binding",
    "live_synthesis",
}
"""Operators that change nothing in the file, so that there is nothing to undo; exports are such, too."""
INSIDE = {"pick_character"}
"""Offered by a menu for each armature that there is."""


class Menus(Layout):
    """A layout that follows menus and writes down the operators that it meets."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.operators = set()
        self.operator_context = "INVOKE_DEFAULT"

    def operator(self, identifier, **options):
        self.operators.add(identifier)
        return super().operator(identifier, **options)

    def operator_menu_enum(self, identifier, name, **options):
        self.operators.add(identifier)
        super().operator_menu_enum(identifier, name, **options)

    def menu(self, identifier, **options):
        super().menu(identifier, **options)
        if identifier.startswith("NSM_MT_"):
            follow(getattr(bpy.types, identifier).draw, self)

    def _part(self, sideways):
        part = Menus(self.shown, sideways)
        part.operators = self.operators
        self._below.append(part)
        return part


def follow(draw, layout):
    draw(SimpleNamespace(layout=layout), bpy.context)


def entries(menu):
    """What the extension has added to one of Blender's menus."""
    layout = Menus()
    for draw in getattr(bpy.types, menu)._dyn_ui_initialize():
        if "nsm_blender" in draw.__module__:
            follow(draw, layout)
    return layout


def operators():
    """All operators of the extension by the second half of their names."""
    return {name: getattr(bpy.ops.nsm, name) for name in dir(bpy.ops.nsm)}


def test_f3_finds_every_operator_through_the_menu_animate(engine):
    build.shot(engine)
    for menu in ("VIEW3D_MT_object", "VIEW3D_MT_pose"):
        found = {name.removeprefix("nsm.") for name in entries(menu).operators}
        assert set(operators()) - found - INSIDE == set(), menu


def test_the_add_menu_has_the_character_and_its_goals(engine):
    assert "Animated Character" in entries("VIEW3D_MT_armature_add").shown
    assert {"Animation Goal", "Walk Here", "Sit Here", "Goal Only"} <= set(entries("VIEW3D_MT_add").shown)


def test_the_menu_of_an_object_offers_the_actions_once_there_is_a_character(engine):
    assert entries("VIEW3D_MT_object_context_menu").shown == []
    build.shot(engine)
    assert {"Add Action", "Sit Here", "Walk Here"} <= set(entries("VIEW3D_MT_object_context_menu").shown)


def test_every_operator_has_a_label_and_says_what_it_does():
    for name, operator in operators().items():
        kind = operator.get_rna_type()
        assert kind.name[0].isupper(), name
        assert kind.description, name


def test_what_changes_the_scene_can_be_undone_and_done_again_with_other_settings():
    for name in operators():
        options = getattr(bpy.types, f"NSM_OT_{name}").bl_options
        assert "REGISTER" in options, name
        if name not in FILES_ONLY and not name.startswith("export_"):
            assert "UNDO" in options, name


def test_the_shortcuts_are_those_that_the_preferences_show_and_only_the_menu_is_on_at_first():
    keymap = bpy.context.window_manager.keyconfigs.addon.keymaps["Object Mode"]
    ours = {
        item.properties.name if item.idname == "wm.call_menu" else item.idname: item.active
        for item in keymap.keymap_items
        if item.idname == "wm.call_menu" or item.idname.startswith("nsm.")
    }
    assert ours == {"NSM_MT_animate": True, "nsm.bake": False, "nsm.place_goal": False, "nsm.check_keys": False}


def test_no_shortcut_takes_a_key_that_blender_uses_in_object_mode(extension_module):
    """Blender's own keymap as its source tells it: in module mode it is not loaded."""
    folders = [Path(folder) / "keymap_data" for folder in bpy.utils.preset_paths("keyconfig")]
    source = next(path for path in (folder / "blender_default.py" for folder in folders) if path.exists())
    scope = runpy.run_path(str(source))
    parameters = scope["Params"]()
    used = set()
    for name in ("km_object_mode", "km_object_non_modal", "km_view3d", "km_view3d_generic", "km_screen", "km_window"):
        builder = scope.get(name)
        if builder is None:
            continue
        _, _, content = builder(parameters)
        used |= {_combination(item[1]) for item in content["items"]}
    assert len(used) > 100
    for one in extension_module("panels.keymaps").SHORTCUTS:
        assert (one.key, one.ctrl, one.alt, one.shift) not in used, one


def _combination(keys):
    return (keys["type"], *(bool(keys.get(held)) for held in ("ctrl", "alt", "shift")))
