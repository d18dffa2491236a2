# SPDX-License-Identifier: GPL-3.0-or-later
"""Foot contacts as markers on the timeline."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from . import build
from .layouts import drawn
from .snapshot import difference, snapshot


@pytest.fixture
def walker(engine):
    """A character with a baked walk of 60 frames."""
    rig, _ = build.shot(engine, frames=60)
    bpy.ops.nsm.bake()
    return rig


def markers(start=""):
    """The timeline's markers whose names begin so, as (frame, name), in order."""
    found = bpy.context.scene.timeline_markers
    return sorted((marker.frame, marker.name) for marker in found if marker.name.startswith(start))


def listed(rig):
    """The list of contacts as (joint, first frame, last frame)."""
    return [(c.joint, c.frame_start, c.frame_end) for c in rig.nsm.manifold.edit.contacts]


def edited_contacts(extension_module, rig):
    """Joint -> frames that an edit takes as contacts."""
    rig.nsm.manifold.edit.constraints.add().kind = "FEET"
    job = extension_module("operators.manifold_job").EditJob(bpy.context, rig)
    while job.work is None:
        job.step()
    motion = job.work.motion()
    return {
        name: set((np.flatnonzero(labels > 0.5) + 1).tolist())
        for name, labels in zip(motion.contact_names, motion.contacts.T, strict=True)
    }


def test_detected_contacts_become_markers_and_come_back(walker):
    assert not bpy.ops.nsm.read_contact_markers.poll()
    assert bpy.ops.nsm.create_contact_markers() == {"FINISHED"}
    before = listed(walker)
    downs = markers("L heel down: Rig")
    assert [frame for frame, _ in downs] == [first for joint, first, _ in before if joint == "LeftFoot"]
    assert "The timeline's markers are used." in drawn("NSM_PT_contacts")
    assert bpy.ops.nsm.read_contact_markers() == {"FINISHED"}
    assert not markers()
    assert sorted(listed(walker)) == sorted(before)


def test_an_edit_takes_the_contacts_from_dragged_markers(walker, extension_module):
    bpy.ops.nsm.create_contact_markers()
    scene = bpy.context.scene
    for marker in [m for m in scene.timeline_markers if m.name.startswith("R toe")]:
        scene.timeline_markers.remove(marker)
    for marker in [m for m in scene.timeline_markers if m.name.startswith("L heel")]:
        scene.timeline_markers.remove(marker)
    scene.timeline_markers.new("L heel up: Rig", frame=10)  # down before it
    scene.timeline_markers.new("L heel down: Rig", frame=20)
    scene.timeline_markers.new("L heel up: Rig", frame=30)
    scene.timeline_markers.new("L heel down: Rig", frame=30)  # goes on standing
    scene.timeline_markers.new("L heel down: Rig", frame=58)
    found = edited_contacts(extension_module, walker)
    assert found["LeftFoot"] == {*range(1, 10), *range(20, 61)}
    assert found["RightToe"] == set()


def test_markers_of_others_are_left_alone(walker, engine):
    scene = bpy.context.scene
    own = [(5, "Beat"), (7, "L heel down"), (9, "L heel down: Somebody")]
    for frame, name in own:
        scene.timeline_markers.new(name, frame=frame)
    before = snapshot()
    bpy.ops.nsm.create_contact_markers()
    bpy.ops.nsm.create_contact_markers()  # in place of the first ones
    names = [name for _, name in markers()]
    assert len(names) == 2 * len(walker.nsm.manifold.edit.contacts) + len(own)
    walker.name = "Renamed"
    bpy.ops.nsm.read_contact_markers()
    walker.name = "Rig"
    assert markers() == own
    bpy.ops.nsm.clear_contacts()
    walker.nsm.manifold.edit.property_unset("marker_owner")
    assert difference(before, snapshot()) == {}


def test_a_copied_character_has_markers_of_its_own(walker):
    bpy.ops.nsm.create_contact_markers()
    first = markers()
    twin = walker.copy()
    twin.data = walker.data.copy()
    bpy.context.scene.collection.objects.link(twin)
    bpy.context.view_layer.objects.active = twin
    bpy.ops.nsm.create_contact_markers()
    assert len(markers()) == 2 * len(first)
    bpy.ops.nsm.read_contact_markers()
    assert markers() == first
