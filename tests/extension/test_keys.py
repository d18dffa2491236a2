# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of action keys: its operators, markers and dope sheet, and how it survives copy, append and link."""

from __future__ import annotations

import math

import bpy
import pytest

from . import build
from .layouts import drawn
from .shapes import box, chair, select
from .snapshot import difference, snapshot


@pytest.fixture
def rig(engine):
    """A character, and the goals A and B."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 100
    rig = build.armature(engine)
    for name, place in (("A", (0, -3, 0)), ("B", (2, -3, 0))):
        bpy.ops.nsm.add_goal(location=place, name=name)
    return rig


@pytest.fixture
def keyframes(extension_module):
    """A function that gives the keyframes in the dope sheet, frame -> action."""
    of, names = extension_module("scene.actions").of, [i[0] for i in extension_module("scene.keys").ACTION_ITEMS]
    return lambda rig: {round(k.co.x): names[int(k.co.y)] for curve in of(rig.data) for k in curve.keyframe_points}


@pytest.fixture
def gathered(extension_module):
    """A function that gives the action keys as the engine gets them."""
    module = extension_module("scene.gather_keys")
    return lambda rig: module.gather(bpy.context, rig).shot.keys


def markers() -> dict[str, int]:
    return {marker.name: marker.frame for marker in bpy.context.scene.timeline_markers}


def move_keyframe(extension_module, rig, source: int, target: float) -> None:
    (curve,) = extension_module("scene.actions").of(rig.data)
    next(key for key in curve.keyframe_points if round(key.co.x) == source).co.x = target
    curve.update()


def test_one_call_makes_a_complete_key(rig, gathered):
    bpy.ops.nsm.add_action_key(action="run", goal="B", frame=31, hold=1.5, gait="jog", speed=2.5, facing=math.pi / 2)
    (key,) = gathered(rig)
    assert (key.action, key.goal, key.start, key.hold, key.gait) == ("run", "B", 30, 1.5, "jog")
    assert (key.speed, key.facing) == (pytest.approx(2.5), pytest.approx(math.pi / 2))
    assert key.route == []


def test_a_key_without_settings_waits_for_its_turn_and_leaves_the_rest_to_the_engine(rig, gathered):
    bpy.ops.nsm.add_action_key(action="walk", goal="A")
    bpy.ops.nsm.add_action_key(action="idle", goal="", hold=1.0)
    walk, idle = gathered(rig)
    assert (walk.start, walk.speed, walk.facing) == (None, None, None)
    assert (idle.goal, idle.hold) == ("B", 1.0), "the selected goal"


def test_the_tooltip_of_the_speed_tells_what_the_card_does(engine, extension_module):
    card = extension_module("nsm_blender.planning.speed_limits").shipped("pfnn")
    assert abs(extension_module("scene.keys").FASTEST_KEPT - card.fastest) < 0.1


def test_without_a_selected_goal_one_is_made_at_the_cursor(rig):
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.scene.cursor.location = (4, 4, 0)
    bpy.ops.nsm.add_action_key()
    assert tuple(rig.nsm.keys[0].goal.location) == (4, 4, 0)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"goal": "Nowhere"}, "There is no goal 'Nowhere'"),
        ({"goal": "Rig"}, "There is no goal 'Rig'"),
        ({"goal": "A", "route": "A"}, "There is no curve 'A'"),
    ],
)
def test_what_is_not_there_is_refused_and_nothing_is_added(rig, arguments, sentence):
    before = snapshot()
    with pytest.raises(RuntimeError, match=sentence):
        bpy.ops.nsm.add_action_key(**arguments)
    assert difference(before, snapshot()) == {}


def test_keys_are_reordered_duplicated_and_removed(rig):
    for goal in ("A", "B"):
        bpy.ops.nsm.add_action_key(goal=goal)
    bpy.ops.nsm.duplicate_action_key(index=0)
    assert [key.goal.name for key in rig.nsm.keys] == ["A", "A", "B"]
    bpy.ops.nsm.move_action_key(index=2, direction="UP")
    assert [key.goal.name for key in rig.nsm.keys] == ["A", "B", "A"]
    assert rig.nsm.key_index == 1
    bpy.ops.nsm.move_action_key(index=0, direction="UP")
    assert [key.goal.name for key in rig.nsm.keys] == ["A", "B", "A"], "the first stays the first"
    bpy.ops.nsm.remove_action_key(index=0)
    assert [key.goal.name for key in rig.nsm.keys] == ["B", "A"]
    with pytest.raises(RuntimeError, match="There is no action key 8; 'Rig' has 2"):
        bpy.ops.nsm.remove_action_key(index=7)
    assert bpy.data.objects["A"].nsm.goal.is_goal, "its goal stays"


def test_keys_at_frames_show_on_the_timeline_and_in_the_dope_sheet(rig, keyframes):
    bpy.context.scene.timeline_markers.new("NSM mine", frame=5)
    bpy.ops.nsm.add_action_key(action="walk", goal="A", frame=10)
    bpy.ops.nsm.add_action_key(action="idle", goal="B")
    bpy.ops.nsm.add_action_key(action="run", goal="B", frame=50)
    assert markers() == {"NSM mine": 5, "NSM Rig 1: Walk A": 10, "NSM Rig 3: Run B": 50}
    assert keyframes(rig) == {10: "walk", 50: "run"}
    assert rig.animation_data is None, "the action of a bake has them not"
    for _ in range(3):
        bpy.ops.nsm.remove_action_key(index=0)
    assert markers() == {"NSM mine": 5}
    assert rig.data.animation_data is None
    assert not bpy.data.actions


def test_keyframes_of_keys_leave_the_actions_of_the_character_alone(rig, keyframes):
    """Blender 4.4 and later would put them into the action of the armature's object."""
    rig.keyframe_insert("location", frame=1)
    own = rig.animation_data.action
    name, users = own.name, own.users
    bpy.ops.nsm.add_action_key(action="walk", goal="A", frame=30)
    assert keyframes(rig) and rig.data.animation_data.action != own
    assert (own.name, own.users) == (name, users)


def test_a_moved_marker_moves_the_key(rig, gathered, keyframes):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    bpy.context.scene.timeline_markers[0].frame = 25
    assert gathered(rig)[0].start == 24
    bpy.ops.nsm.add_action_key(goal="B")
    assert rig.nsm.keys[0].frame == 25
    assert keyframes(rig) == {25: "walk"}


def test_moved_keyframes_move_their_keys(rig, gathered, extension_module):
    for goal, frame in (("A", 10), ("B", 50)):
        bpy.ops.nsm.add_action_key(goal=goal, frame=frame)
    move_keyframe(extension_module, rig, 10, 20.3)
    move_keyframe(extension_module, rig, 50, 70)
    assert [key.start for key in gathered(rig)] == [19, 69]
    bpy.ops.nsm.select_goal(index=0)
    assert [key.frame for key in rig.nsm.keys] == [20, 70]
    assert markers() == {"NSM Rig 1: Walk A": 20, "NSM Rig 2: Walk B": 70}


def test_a_frame_typed_into_the_panel_moves_marker_and_keyframe(rig, keyframes):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    rig.nsm.keys[0].frame = 44
    bpy.ops.nsm.select_goal(index=0)
    assert markers() == {"NSM Rig 1: Walk A": 44}
    assert keyframes(rig) == {44: "walk"}
    rig.nsm.keys[0].start = "ARRIVAL"
    bpy.ops.nsm.select_goal(index=0)
    assert markers() == {}
    assert keyframes(rig) == {}


def test_gathering_reads_and_changes_nothing(rig, gathered):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    bpy.context.scene.timeline_markers[0].frame = 30
    before = snapshot()
    assert gathered(rig)[0].start == 29
    assert difference(before, snapshot()) == {}


def test_a_deleted_marker_comes_back_and_the_key_stays(rig):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    bpy.context.scene.timeline_markers.clear()
    bpy.ops.nsm.select_goal(index=0)
    assert markers() == {"NSM Rig 1: Walk A": 10}


def test_a_renamed_character_keeps_its_markers(rig):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    rig.name = "Hero"
    bpy.context.scene.timeline_markers[0].frame = 12
    bpy.ops.nsm.select_goal(index=0)
    assert markers() == {"NSM Hero 1: Walk A": 12}


def test_a_copied_character_has_keys_and_markers_of_its_own(rig):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    copy = rig.copy()
    copy.data = rig.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    bpy.context.view_layer.objects.active = copy
    copy.nsm.keys[0].frame = 60
    bpy.ops.nsm.select_goal(index=0)
    assert markers() == {"NSM Rig 1: Walk A": 10, "NSM Rig.001 1: Walk A": 60}
    assert rig.nsm.keys[0].frame == 10


def test_characters_that_share_their_data_share_no_keyframes(rig, keyframes):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    copy = rig.copy()
    bpy.context.scene.collection.objects.link(copy)
    bpy.context.view_layer.objects.active = copy
    bpy.ops.nsm.add_action_key(goal="B", frame=80)
    assert keyframes(rig) == {10: "walk"}
    assert "NSM Rig.001 2: Walk B" in markers()


def test_jumping_goes_to_the_frame(rig):
    bpy.ops.nsm.add_action_key(goal="A", frame=33)
    bpy.ops.nsm.go_to_action_key()
    assert bpy.context.scene.frame_current == 33
    bpy.ops.nsm.add_action_key(goal="A")
    with pytest.raises(RuntimeError, match="bake once"):
        bpy.ops.nsm.go_to_action_key()


def test_the_goal_of_a_key_is_selected(rig):
    bpy.ops.nsm.add_action_key(goal="A")
    bpy.ops.nsm.add_action_key(action="idle", goal="B")
    bpy.ops.nsm.select_goal(index=0)
    assert [obj.name for obj in bpy.context.selected_objects] == ["A"]
    rig.nsm.keys[0].goal = None
    with pytest.raises(RuntimeError, match="This action has no goal"):
        bpy.ops.nsm.select_goal(index=0)


def test_an_appended_character_brings_its_keys_and_goals(rig, tmp_path, gathered):
    bpy.ops.nsm.add_action_key(action="run", goal="A", frame=21, hold=2)
    file = str(tmp_path / "character.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(file) as (_, target):
        target.objects = ["Rig"]
    (appended,) = target.objects
    bpy.context.scene.collection.objects.link(appended)
    bpy.context.scene.collection.objects.link(appended.nsm.keys[0].goal)
    bpy.context.view_layer.objects.active = appended
    (key,) = gathered(appended)
    assert (key.action, key.goal, key.start, key.hold) == ("run", "A", 20, 2)
    bpy.ops.nsm.select_goal(index=0)
    assert markers() == {"NSM Rig 1: Run A": 21}


def test_a_linked_goal_can_be_used(rig, tmp_path, gathered):
    file = str(tmp_path / "goals.blend")
    bpy.data.libraries.write(file, {bpy.data.objects["B"]})
    bpy.data.objects.remove(bpy.data.objects["B"])
    with bpy.data.libraries.load(file, link=True) as (_, target):
        target.objects = ["B"]
    (linked,) = target.objects
    bpy.context.scene.collection.objects.link(linked)
    assert linked.library is not None
    bpy.ops.nsm.add_action_key(goal="B")
    assert rig.nsm.keys[0].goal == linked
    (key,) = gathered(rig)
    assert key.goal == linked.name_full


def test_keys_of_a_library_override_survive_saving(rig, tmp_path):
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    library, file = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    bpy.ops.wm.save_as_mainfile(filepath=library)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(library, link=True) as (_, target):
        target.objects = ["Rig", "A"]
    override = target.objects[0].override_create(remap_local_usages=True)
    bpy.context.scene.collection.objects.link(override)
    override.override_library.is_system_override = False
    bpy.context.view_layer.objects.active = override
    bpy.ops.nsm.add_goal(location=(5, 5, 0), name="Mine")
    bpy.ops.nsm.add_action_key(action="run", goal="Mine", hold=3)
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    keys = bpy.context.scene.objects["Rig"].nsm.keys
    assert [(key.action, key.goal.name, key.hold) for key in keys] == [("walk", "A", 0), ("run", "Mine", 3)]


def test_a_linked_character_has_no_list_to_edit(rig, tmp_path):
    file = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(file, link=True) as (_, target):
        target.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(target.objects[0])
    bpy.context.view_layer.objects.active = target.objects[0]
    assert not bpy.ops.nsm.add_action_key.poll()


def test_the_panel_shows_the_list_and_what_is_wrong_with_the_chosen_key(rig):
    rig.nsm.animate_by = "ACTIONS"
    assert "+ adds an action" in " ".join(drawn("NSM_PT_shot"))
    bpy.ops.nsm.add_action_key(goal="A", frame=10)
    bpy.ops.nsm.add_action_key(action="sit", goal="B")
    assert {"Walk A", "10", "Sit B", "Next", "Check"} <= set(drawn("NSM_PT_shot"))
    rig.nsm.keys[1].problem = "There is no seat at this goal, so sitting down there is impossible; choose another."
    shown = " ".join(drawn("NSM_PT_shot"))
    assert rig.nsm.keys[1].problem in shown
    assert "Ready to bake 2 actions." in drawn("NSM_PT_bake")


def test_the_panel_tells_how_the_last_bake_carried_a_key_out(rig):
    bpy.ops.nsm.add_action_key(goal="A")
    key = rig.nsm.keys[0]
    key.was_baked, key.set_off, key.arrived, key.error_cm, key.error_deg = True, 15, 190, 1.42, 0.6
    assert "~15" in drawn("NSM_PT_shot")
    assert "Frames 15 to 190, 1.4 cm, 0.6° off." in " ".join(drawn("NSM_PT_shot"))
    key.arrived = -(2**31)
    assert "Set off at frame 15, but did not arrive." in " ".join(drawn("NSM_PT_shot"))


def test_the_panel_of_goals_shows_the_selected_goal():
    assert "No goal is selected" in drawn("NSM_PT_goals")
    bpy.ops.nsm.add_goal()
    assert {"Add Goal", "Name", "Uses"} <= set(drawn("NSM_PT_goals"))


def test_an_action_uses_the_selected_thing_and_wraps_it_by_the_way(rig):
    seat = chair()
    seat.location = (0, -3, 0)
    select(seat)
    assert bpy.ops.nsm.add_action_key(action="sit") == {"FINISHED"}
    (key,) = rig.nsm.keys
    assert seat.nsm.collider.role == "seat"
    assert key.goal.nsm.goal.uses == seat
    assert bpy.context.selected_objects == [seat], "what was selected stays so"
    goal = key.goal
    bpy.ops.nsm.add_action_key(action="walk")
    assert rig.nsm.keys[1].goal == goal, "a goal that was not moved serves again"
    goal.location.x += 0.2
    bpy.ops.nsm.add_action_key(action="sit")
    assert rig.nsm.keys[2].goal != goal
    assert bpy.ops.nsm.check_keys() == {"FINISHED"}


def test_without_a_selected_thing_an_action_goes_to_the_cursor_each_time_anew(rig):
    select(rig)
    for x in (1, 2):
        bpy.context.scene.cursor.location = (x, -2, 0)
        bpy.ops.nsm.add_action_key()
    assert [tuple(key.goal.location) for key in rig.nsm.keys] == [(1, -2, 0), (2, -2, 0)]
    bpy.ops.nsm.add_action_key(action="idle", hold=2)
    assert rig.nsm.keys[2].goal is None


def test_what_is_worn_is_no_thing_to_use(rig):
    body = box(name="Body")
    body.parent = rig
    select(body)
    bpy.ops.nsm.add_action_key(action="sit")
    assert not body.nsm.collider.count
    assert rig.nsm.keys[0].goal.nsm.goal.uses is None


def test_a_mere_obstacle_takes_on_the_role_that_it_is_used_in(rig):
    seat = chair()
    seat.location = (0, -3, 0)
    select(seat)
    bpy.ops.nsm.wrap_collider(role="obstacle")
    bpy.ops.nsm.add_action_key(action="sit")
    assert seat.nsm.collider.role == "seat"
