# SPDX-License-Identifier: GPL-3.0-or-later
"""Wrapping objects, refreshing and removing colliders, and what of them arrives in a shot."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from .shapes import box, boxes, select
from .snapshot import difference, snapshot


@pytest.fixture
def gather(extension_module):
    """A function that gives the colliders of the scene by name."""
    module = extension_module("scene.colliders")

    def gathered(frames=(1,)):
        return {collider.name: collider for collider in module.gather(bpy.context, np.array(frames))}

    return gathered


def wrap(*objects, role="obstacle", **options):
    select(*objects)
    return bpy.ops.nsm.wrap_collider(role=role, **options)


def volume(collider):
    return float(8 * collider.cuboids.half.prod(axis=1).sum())


def test_a_box_becomes_one_cuboid_of_its_size_where_it_stands(gather):
    obj = box()
    obj.location, obj.scale = (3, 4, 5), (1, 0.5, 0.5)
    assert wrap(obj) == {"FINISHED"}
    collider = gather()["Thing"]
    assert (obj.nsm.collider.count, collider.role, collider.handles) == (1, "obstacle", None)
    assert np.allclose(collider.cuboids.half, [[1, 0.5, 0.5]], atol=0.04)
    assert np.allclose(collider.poses, [[3, 4, 5, 1, 0, 0, 0]])


def test_each_selected_object_becomes_a_collider_and_what_cannot_is_left_out(gather):
    one, other, camera = box(name="One"), box(name="Other"), bpy.data.objects.new("Camera", None)
    bpy.context.scene.collection.objects.link(camera)
    empty = bpy.data.objects.new("Empty", bpy.data.meshes.new("Empty"))
    bpy.context.scene.collection.objects.link(empty)
    assert wrap(one, other, camera, empty) == {"FINISHED"}
    assert set(gather()) == {"One", "Other"}


def test_several_objects_become_one_collider_of_the_active_one(gather):
    one, other = box(name="One"), box(name="Other")
    other.location.x = 5
    wrap(one, other, as_one=True)
    assert set(gather()) == {"One"}
    assert volume(gather()["One"]) == pytest.approx(16, rel=0.1)
    other.location.x = 8
    bpy.context.view_layer.update()
    assert one.nsm.collider.stale
    assert gather()["One"].cuboids.center[:, 0].max() == pytest.approx(8, abs=0.05)


def test_children_belong_to_their_parent_unless_they_are_colliders_of_their_own(gather):
    frame, leaf = box(name="Frame"), box(name="Leaf")
    leaf.parent, leaf.location.x = frame, 4
    wrap(frame)
    assert volume(gather()["Frame"]) == pytest.approx(16, rel=0.1)
    wrap(leaf)
    bpy.ops.nsm.refresh_colliders()
    assert volume(gather()["Frame"]) == pytest.approx(8, rel=0.1)
    wrap(frame, use_children=False)
    assert volume(gather()["Frame"]) == pytest.approx(8, rel=0.1)


def test_smaller_voxels_follow_the_shape_more_closely(gather):
    wedge = boxes(((0, 0, 0), (1, 1, 1)))
    for vertex in wedge.data.vertices:
        if vertex.co.x > 0.5:
            vertex.co.z *= 0
    wrap(wedge, size=0.2)
    coarse = volume(gather()["Thing"])
    wrap(wedge, size=0.02)
    fine = volume(gather()["Thing"])
    assert 0.5 < fine < coarse
    assert fine == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    "change",
    [
        lambda obj: setattr(obj.scale, "x", 1.5),
        lambda obj: obj.data.transform(Matrix.Translation((0, 0, 1))),
        lambda obj: obj.modifiers.new("Array", "ARRAY"),
    ],
    ids=["scale", "mesh", "modifier"],
)
def test_a_collider_whose_shape_changed_is_marked_and_a_bake_takes_the_new_shape(gather, change):
    obj = box()
    wrap(obj)
    kept = obj.nsm.collider.boxes
    change(obj)
    obj.data.update()
    bpy.context.view_layer.update()
    assert obj.nsm.collider.stale
    fresh = gather()["Thing"]
    assert obj.nsm.collider.boxes == kept
    assert bpy.ops.nsm.refresh_colliders() == {"FINISHED"}
    assert (obj.nsm.collider.stale, obj.nsm.collider.boxes != kept) == (False, True)
    assert np.allclose(gather()["Thing"].cuboids.half, fresh.cuboids.half)


def test_moving_and_turning_do_not_change_the_shape(gather):
    obj, child = box(), box(name="Child")
    child.parent = obj
    obj.scale = (1, 2, 0.3)
    wrap(obj)
    kept = obj.nsm.collider.boxes
    obj.location, obj.rotation_euler = (100, -20, 3), (1, 2, 3)
    bpy.context.view_layer.update()
    assert not obj.nsm.collider.stale
    bpy.ops.nsm.refresh_colliders()
    assert obj.nsm.collider.boxes == kept


def test_a_new_voxel_size_takes_effect_with_the_next_refresh():
    obj = box()
    obj.rotation_euler.x = 0.3
    wrap(obj, size=0.1)
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 2
    bpy.ops.nsm.refresh_colliders()
    count = obj.nsm.collider.count
    obj.nsm.collider.size = 0.05
    bpy.ops.nsm.refresh_colliders()
    assert obj.nsm.collider.count > count


def test_a_refresh_says_which_colliders_have_no_shape_any_more_and_keeps_them():
    obj = box()
    wrap(obj)
    obj.data.clear_geometry()
    bpy.context.view_layer.update()
    assert bpy.ops.nsm.refresh_colliders() == {"FINISHED"}
    assert (obj.nsm.collider.count, obj.nsm.collider.stale) == (1, True)


def test_a_swinging_door_has_a_pose_for_each_frame_and_the_frame_stays(gather):
    leaf, still = box(name="Leaf"), box(name="Still")
    hinge = bpy.data.objects.new("Hinge", None)
    bpy.context.scene.collection.objects.link(hinge)
    leaf.parent, leaf.location.x, still.location.x = hinge, 2, 9
    for frame, angle in ((1, 0.0), (11, math.pi / 2)):
        hinge.rotation_euler.z = angle
        hinge.keyframe_insert("rotation_euler", frame=frame)
    wrap(leaf, still)
    bpy.context.scene.frame_set(4, subframe=0.25)
    before = snapshot()
    found = gather(range(1, 12))
    assert difference(before, snapshot()) == {}
    assert (len(found["Leaf"].poses), len(found["Still"].poses)) == (11, 1)
    assert np.allclose(found["Leaf"].poses[0], [2, 0, 0, 1, 0, 0, 0], atol=1e-6)
    assert np.allclose(found["Leaf"].poses[-1, :3], [0, 2, 0], atol=1e-6)
    assert np.allclose(found["Leaf"].poses[-1, 3:], [math.cos(math.pi / 4), 0, 0, math.sin(math.pi / 4)], atol=1e-6)


def test_a_constrained_collider_moves_with_its_target(gather):
    obj, target = box(), bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    obj.constraints.new("COPY_LOCATION").target = target
    for frame in (1, 3):
        target.location.z = frame
        target.keyframe_insert("location", frame=frame)
    wrap(obj)
    assert gather((1, 2, 3))["Thing"].poses[:, 2] == pytest.approx([1, 2, 3])


def test_a_disabled_collider_does_not_take_part(gather):
    obj = box()
    wrap(obj)
    obj.nsm.collider.enabled = False
    assert gather() == {}


def test_a_hidden_collider_takes_part(gather):
    obj = box()
    wrap(obj)
    obj.hide_set(True)
    assert set(gather()) == {"Thing"}


def test_removing_a_collider_leaves_the_object_as_it_was_before():
    obj, part = box(), box(name="Part")
    select(obj, part)
    before = snapshot()
    wrap(obj, part, as_one=True, size=0.1)
    assert bpy.ops.nsm.remove_collider() == {"FINISHED"}
    assert difference(before, snapshot()) == {}
    assert not bpy.ops.nsm.remove_collider.poll()


def test_colliders_are_selected_by_role():
    obstacle, ground = box(), box(name="Ground")
    wrap(obstacle)
    wrap(ground, role="ground")
    bpy.ops.nsm.select_role(role="obstacle")
    assert bpy.context.selected_objects == [obstacle]
    bpy.ops.nsm.select_role(role="ground", extend=True)
    assert set(bpy.context.selected_objects) == {obstacle, ground}


def test_a_copy_is_a_collider_of_its_own(gather):
    obj = box()
    wrap(obj)
    select(obj)
    bpy.ops.object.duplicate(linked=False)
    bpy.context.active_object.location.x = 9
    bpy.context.view_layer.update()
    found = gather()
    assert set(found) == {"Thing", "Thing.001"}
    assert found["Thing.001"].poses[0, 0] == 9
    assert np.array_equal(found["Thing"].cuboids.center, found["Thing.001"].cuboids.center)


@pytest.fixture
def library(tmp_path):
    """A file with a wrapped ball of many cuboids, and the text of these."""
    obj = box(0.4, name="Ball")
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 2
    wrap(obj, role="carryable")
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    boxes = obj.nsm.collider.boxes
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return path, boxes


def test_a_saved_file_has_its_colliders_again(library, gather):
    path, boxes = library
    bpy.ops.wm.open_mainfile(filepath=path)
    assert bpy.data.objects["Ball"].nsm.collider.boxes == boxes
    assert gather()["Ball"].role == "carryable"


@pytest.mark.parametrize("link", [False, True], ids=["appended", "linked"])
def test_a_collider_of_another_file_takes_part_with_its_handles(library, gather, link):
    path, boxes = library
    with bpy.data.libraries.load(path, link=link) as (_, into):
        into.objects = ["Ball"]
    (obj,) = into.objects
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    (collider,) = gather().values()
    assert obj.nsm.collider.boxes == boxes
    assert (collider.role, collider.handles is not None) == ("carryable", True)
    select(obj)
    if link:
        with pytest.raises(RuntimeError, match="linked from another file"):
            bpy.ops.nsm.wrap_collider(role="obstacle")


def test_a_library_override_can_be_given_another_role(library, gather):
    path, _ = library
    with bpy.data.libraries.load(path, link=True) as (_, into):
        into.objects = ["Ball"]
    own = into.objects[0].override_create()
    bpy.context.scene.collection.objects.link(own)
    select(own)
    assert bpy.ops.nsm.set_role(role="obstacle") == {"FINISHED"}
    (collider,) = gather().values()
    assert collider.role == "obstacle"


def test_damaged_cuboids_are_refused_with_the_reason(extension_module, gather):
    obj = box()
    wrap(obj)
    obj.nsm.collider.boxes = "nonsense"
    error = extension_module("nsm_blender.errors").ColliderError
    with pytest.raises(error, match="'Thing': The stored cuboids are damaged"):
        gather()


def test_the_role_numbers_in_files_stay_those_of_the_engine(extension_module):
    module = extension_module("scene.colliders")
    roles = extension_module("nsm_blender.geometry.roles")
    assert tuple(item[0] for item in module.ROLE_ITEMS) == roles.ROLES
    assert [item[4] for item in module.ROLE_ITEMS] == list(range(len(roles.ROLES)))
    assert {item[0] for item in module.SIDE_ITEMS} == set(roles.SIDES)
    assert tuple(item[0] for item in module.WEIGHT_ITEMS) == roles.WEIGHTS


@pytest.mark.parametrize("late", [False, True])
def test_a_wrap_that_loses_an_object_says_so_and_leaves_nothing(extension_module, late):
    job = extension_module("operators.collider_job")
    first, second = box(name="First"), box(name="Second")
    select(first, second)
    before = {obj.name for obj in bpy.data.objects}
    work = job.WrapJob(bpy.context, job.Order("carryable", 0.04, True, False))
    while late and work.progress < 0.9:
        work.step()
    bpy.data.objects.remove(second)
    with pytest.raises(Exception, match="The wrapping stopped: the object 'Second' was deleted"):
        work.run()
    assert {obj.name for obj in bpy.data.objects} == before - {"Second"}
    assert not first.nsm.collider.count


def test_a_cancelled_wrap_leaves_the_scene_unchanged(extension_module):
    job = extension_module("operators.collider_job")
    select(box(), box(name="Other"))
    before = snapshot()
    work = job.WrapJob(bpy.context, job.Order("obstacle", 0.04, True, False))
    while work.progress == 0:
        work.step()
    assert 0 < work.progress < 1
    work.cancel()
    assert difference(before, snapshot()) == {}
