# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar in each state, drawn into a layout that writes down what a person would see."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import pytest

from . import build
from .layouts import Layout, drawn, layout_of, menu, panels
from .shapes import box, chair, select

TOP = ("Character", "Shot", "Bake", "Scene Objects", "Refine", "Generate")


def test_the_sidebar_has_six_panels_in_one_tab_and_the_rest_below_them_closed():
    assert {panel.bl_label for panel in panels(top=True)} == set(TOP)
    assert {panel.bl_category for panel in panels()} == {"Acting"}
    assert all("DEFAULT_CLOSED" in panel.bl_options for panel in panels(top=False))


def states(engine):
    """Scenes of all kinds, one after the other: the name of what is selected in each."""
    yield "nothing"
    rig, way = build.shot(engine)
    yield "a character with a path"
    select(way)
    yield "its path"
    seat = chair()
    seat.location.y = 3
    select(seat)
    yield "a mesh"
    bpy.ops.nsm.wrap_collider(role="seat")
    yield "a seat"
    select(seat.children[0])
    yield "its handle"
    select(box(name="Crate"))
    bpy.ops.nsm.wrap_collider(role="carryable")
    yield "a box"
    select(rig)
    bpy.ops.nsm.add_constraint(kind="PIN")
    yield "a character with a pin"
    bpy.ops.nsm.add_constraint(kind="POSE")
    bpy.ops.nsm.add_strike()
    yield "a character with a pose key and a strike"
    bpy.ops.nsm.bind()
    yield "a bound character"
    bpy.context.scene.nsm.overlay.show_environment = True
    bpy.context.scene.nsm.use_custom_range = True
    yield "a character and other settings"


def test_no_panel_changes_its_height_with_the_selection(engine):
    heights: dict[str, dict[float, str]] = {}
    for state in states(engine):
        for panel in panels():
            heights.setdefault(panel.bl_label, {})[round(layout_of(panel.__name__).height, 3)] = state
    assert {label: found for label, found in heights.items() if len(found) > 1} == {}


def test_the_actions_keep_their_height_whatever_is_chosen_in_them(engine):
    rig, _ = build.shot(engine)
    rig.nsm.animate_by = "ACTIONS"
    heights = {layout_of("NSM_PT_shot").height}
    bpy.ops.nsm.add_action_key()
    heights.add(layout_of("NSM_PT_shot").height)
    rig.nsm.keys[0].problem = "There is no seat at this goal, so sitting down there is impossible; choose another. " * 3
    heights.add(layout_of("NSM_PT_shot").height)
    for _ in range(9):
        bpy.ops.nsm.add_action_key()
    rig.nsm.keys[9].start, rig.nsm.keys[9].action = "FRAME", "sit"
    heights.add(layout_of("NSM_PT_shot").height)
    assert len(heights) == 1


def test_an_empty_scene_says_how_to_begin():
    assert {"Add", "Demo Shot", "No character"} <= set(drawn("NSM_PT_character"))
    assert "Select a character's armature" in " ".join(drawn("NSM_PT_bake"))
    assert not bpy.ops.nsm.bake.poll()


def test_a_rig_that_is_not_bound_has_bind_beside_it_and_no_bake(engine):
    rig, _ = build.shot(engine)
    assert "Rig is ready" in drawn("NSM_PT_character")
    rig.data.bones["LeftLeg"].name = "Shin"
    assert {"Not bound yet", "Bind"} <= set(drawn("NSM_PT_character"))
    assert "'Rig' is not bound yet; press Bind" in " ".join(drawn("NSM_PT_bake"))
    with pytest.raises(RuntimeError, match="'Rig' is not bound yet; press Bind"):
        bpy.ops.nsm.bake()
    with pytest.raises(RuntimeError, match="'Rig' is not bound yet; press Bind"):
        bpy.ops.nsm.synthesize()
    bpy.ops.nsm.bind()
    assert {"22 joints bound", "Bind Again"} <= set(drawn("NSM_PT_character"))
    assert bpy.ops.nsm.bake.poll()


def test_the_character_stays_while_other_things_are_selected(engine, extension_module):
    first, second = build.armature(engine, "First"), build.armature(engine, "Second")
    thing = box()
    character = extension_module("scene.lookup").character
    for rig in (first, second, first):
        select(rig)
        bpy.context.view_layer.update()
        select(thing)
        bpy.context.view_layer.update()
        assert character(bpy.context) == rig
    bpy.ops.nsm.pick_character(name="Second")
    assert bpy.context.object == character(bpy.context) == second
    assert "Second" in drawn("NSM_PT_character")
    assert set(menu("NSM_MT_characters")) == {"First", "Second"}
    with pytest.raises(RuntimeError, match="no armature 'Third'"):
        bpy.ops.nsm.pick_character(name="Third")


def test_a_path_shows_what_can_be_keyed(engine):
    build.shot(engine)
    assert {"Path", "Actions", "Speed (m/s)", "Gait", "Facing", "Speed by Radius", "Loop"} <= set(drawn("NSM_PT_shot"))
    assert drawn("NSM_PT_shot_advanced") == ["Position", "Direction"]
    assert drawn("NSM_PT_bake")[:6] == ["Custom Range", "Start", "End", "Seed", "Sway", "Bake"]
    assert "Ready to bake the path." in drawn("NSM_PT_bake")


def test_the_switch_decides_what_is_baked(engine, extension_module):
    rig, way = build.shot(engine)
    bpy.ops.nsm.add_goal(name="A", location=(0, -2, 0), attach=False)
    bpy.ops.nsm.add_action_key(goal="A")
    gather = extension_module("scene.gather_keys").gather_shot
    assert rig.nsm.animate_by == "ACTIONS"
    assert gather(bpy.context, rig).shot.keys
    rig.nsm.animate_by = "PATH"
    assert gather(bpy.context, rig).shot.path is not None
    bpy.ops.nsm.add_action_key(goal="A")
    assert rig.nsm.animate_by == "ACTIONS", "what is added is baked"
    select(way, rig)
    bpy.ops.nsm.assign_path()
    assert rig.nsm.animate_by == "PATH"
    rig.nsm.animate_by = "ACTIONS"
    bpy.ops.nsm.remove_action_key()
    bpy.ops.nsm.remove_action_key()
    assert rig.nsm.animate_by == "PATH", "without actions there is only the path"


def test_the_menu_offers_what_fits_the_selection(engine):
    build.shot(engine)
    anywhere = {"Walk Here", "Run Here", "Jump", "Wait"}

    def offered():
        return {text for text, enabled in menu("NSM_MT_add_action").items() if enabled}

    assert set(menu("NSM_MT_add_action")) >= {"Walk Here", "Sit Here", "Pick Up", "Open", "Climb", "Wait"}
    assert offered() == anywhere
    seat = chair()
    seat.location.y = 3
    select(seat)
    assert "Sit Here" in offered()
    bpy.ops.nsm.wrap_collider(role="seat")
    assert offered() == anywhere | {"Sit Here"}
    select(box(name="Crate"))
    bpy.ops.nsm.wrap_collider(role="carryable")
    assert offered() == anywhere | {"Pick Up"}


def test_a_result_shows_its_figures_and_can_be_removed_and_exported(engine):
    rig, way = build.shot(engine)
    build.spline(way.data, [(0, 0, 0), (0.1, 0, 0)])
    bpy.ops.nsm.bake()
    assert {"Remove", "Export"} <= set(drawn("NSM_PT_bake"))
    assert {"FBX", "glTF", "BVH", "USD"} <= set(menu("NSM_MT_export"))
    assert "feet slide" in " ".join(drawn("NSM_PT_bake"))
    shown = drawn("NSM_PT_report")
    assert {"Rig error", "Foot slide", "Path", "Save Report", "Keep This Bake", "Delete Unused Bakes"} <= set(shown)
    assert any(text.startswith("40 in ") for text in shown)
    assert "'Way' has 2 splines; the longest is walked." in " ".join(shown)
    rig.animation_data.action.nsm.keep = True
    bpy.ops.nsm.bake()
    bpy.ops.nsm.remove_bake()
    assert "Keep This Bake" in drawn("NSM_PT_report")  # that of the first bake, whose figures are gone
    bpy.ops.nsm.remove_bake()
    assert "No bake yet." in drawn("NSM_PT_report")
    assert rig.animation_data is None


def test_the_verdict_says_what_the_character_does_off_its_mark(engine):
    rig, _ = build.shot(engine)
    bpy.ops.nsm.bake()
    for action, error in (("walk", 0.1), ("sit", 0.4)):
        key = rig.nsm.keys.add()
        key.action, key.error_cm = action, error
    report = rig.nsm.report
    report.findings.clear()
    report.foot_slide_cm_per_s, report.goal_error_cm = 0.1, 0.4
    assert "Good: feet slide 0.1 cm/s, sits 0.4 cm off its mark." in " ".join(drawn("NSM_PT_bake"))


def test_a_running_bake_shows_its_progress_and_how_to_cancel_at_the_height_of_the_button(
    engine, extension_module, monkeypatch
):
    build.shot(engine)
    height = layout_of("NSM_PT_bake").height
    # A modal operator needs a real window; `make gui` runs one.
    monkeypatch.setattr(extension_module("scene.lookup"), "baking", lambda context: True)
    state = extension_module("scene.progress").Progress
    monkeypatch.setattr(state, "share", 0.5)
    monkeypatch.setattr(state, "text", "50%, 2 s left")
    assert "50%, 2 s left" in drawn("NSM_PT_bake")
    assert "Esc cancels" in " ".join(drawn("NSM_PT_bake"))
    assert layout_of("NSM_PT_bake").height == height
    assert not bpy.ops.nsm.bake.poll()


def test_after_a_bake_the_timeline_shows_the_character(engine):
    rig, way = build.shot(engine)
    select(way)
    bpy.ops.nsm.bake()
    assert bpy.context.object == rig
    assert rig.select_get()
    assert not way.select_get()


def test_the_preferences_say_that_nothing_has_to_be_installed():
    layout = Layout()
    preferences = bpy.context.preferences.addons["bl_ext.user_default.nsm_blender"].preferences
    type(preferences).draw(SimpleNamespace(layout=layout), bpy.context)
    assert layout.shown[0] == "Bakes run on NumPy, which Blender brings along"
