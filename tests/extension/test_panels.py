# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar in each state, drawn into a layout that writes down what a person would see."""

from __future__ import annotations

from types import SimpleNamespace

import bpy

from . import build


class Layout:
    """Stands for a UILayout; refuses what Blender would show as an empty row or an error."""

    def __init__(self, shown: list[str] | None = None) -> None:
        self.shown: list[str] = [] if shown is None else shown
        self.enabled = True

    def label(self, text: str, icon: str = "NONE") -> None:
        assert icon in bpy.types.UILayout.bl_rna.functions["label"].parameters["icon"].enum_items
        self.shown.append(text)

    def prop(self, data: bpy.types.bpy_struct, name: str, text: str | None = None) -> None:
        self.shown.append(text or data.bl_rna.properties[name].name)

    def operator(self, identifier: str, icon: str = "NONE", text: str | None = None) -> None:
        assert icon in bpy.types.UILayout.bl_rna.functions["operator"].parameters["icon"].enum_items
        module, name = identifier.split(".")
        self.shown.append(text or getattr(getattr(bpy.ops, module), name).get_rna_type().name)

    def prop_enum(self, data: bpy.types.bpy_struct, name: str, value: str) -> None:
        if self.enabled:
            self.shown.append(data.bl_rna.properties[name].enum_items[value].name)

    def progress(self, factor: float, text: str) -> None:
        assert 0 <= factor <= 1
        self.shown.append(text)

    def column(self, **_options: object) -> Layout:
        return type(self)(self.shown)

    row = split = column


def drawn(label: str) -> list[str]:
    """What the panel with this label shows now."""
    names = [name for name in dir(bpy.types) if name.startswith("NSM_PT_")]
    (panel,) = (getattr(bpy.types, name) for name in names if getattr(bpy.types, name).bl_label == label)
    assert panel.bl_category == "NSM"
    if hasattr(panel, "poll") and not panel.poll(bpy.context):
        return []
    layout = Layout()
    panel.draw(SimpleNamespace(layout=layout), bpy.context)
    return layout.shown


def test_an_empty_scene_says_how_to_begin():
    assert "Add Mannequin" in drawn("Character")
    assert "Add Path" in drawn("Path")
    assert "Bake" in drawn("Bake")
    assert drawn("Result") == ["No bake yet."]


def test_a_character_without_a_path_is_asked_for_one(engine):
    rig, _ = build.shot(engine)
    rig.nsm.path = None
    assert drawn("Character") == ["Rig"]
    assert drawn("Path")[0] == "Path"
    assert "Add Path" in drawn("Path")


def test_a_path_shows_what_can_be_keyed(engine):
    _, way = build.shot(engine)
    assert {"Speed (m/s)", "Gait", "Facing", "Speed by Radius"} <= set(drawn("Path"))
    assert "Loop" not in drawn("Path")
    way.data.splines[0].use_cyclic_u = True
    assert "Loop" in drawn("Path")
    assert drawn("Following") == ["Position", "Direction"]
    bpy.context.scene.nsm.use_custom_range = True
    controllers = ("Automatic", "PFNN", "NSM")
    assert [text for text in drawn("Bake") if text not in controllers] == ["Custom Range", "Start", "End", "Bake"]


def test_a_result_shows_its_figures_and_can_be_removed_and_exported(engine):
    rig, way = build.shot(engine)
    build.spline(way.data, [(0, 0, 0), (0.1, 0, 0)])
    bpy.ops.nsm.bake()
    shown = drawn("Result")
    assert {"Remove Bake", "Export FBX", "Rig error", "Foot slide", "Path error", "Save Report"} <= set(shown)
    assert any(text.startswith("40 in ") for text in shown)
    assert "'Way' has 2 splines; the longest is walked." in " ".join(shown)
    assert {"Keep This Bake", "Delete Unused Bakes"} <= set(shown)
    rig.animation_data.action.nsm.keep = True
    bpy.ops.nsm.bake()
    bpy.ops.nsm.remove_bake()
    assert "Remove Bake" in drawn("Result")  # that of the first bake, whose figures are gone
    bpy.ops.nsm.remove_bake()
    assert drawn("Result") == ["No bake yet."]
    assert rig.animation_data is None


def test_a_running_bake_shows_its_progress_and_how_to_cancel(extension_module, monkeypatch):
    # A modal operator needs a real window; `make gui` runs one.
    monkeypatch.setattr(extension_module("scene.lookup"), "baking", lambda context: True)
    state = bpy.context.window_manager.nsm
    state.progress, state.text = 0.5, "50%, 2 s left"
    assert drawn("Bake") == ["50%, 2 s left", "Esc cancels"]
    assert not bpy.ops.nsm.bake.poll()
    state.property_unset("progress")
    state.property_unset("text")


def test_the_preferences_say_that_nothing_has_to_be_installed():
    layout = Layout()
    preferences = bpy.context.preferences.addons["bl_ext.user_default.nsm_blender"].preferences
    type(preferences).draw(SimpleNamespace(layout=layout), bpy.context)
    assert layout.shown == ["Bakes run on NumPy, which Blender brings along"]
