# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of own captures on the timeline: shown, corrected with the mouse, saved for training."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace

import bpy
import numpy as np
import pytest

from . import build
from .layouts import drawn
from .snapshot import difference, snapshot

FIRST = 11
"""Frame of the scene at which captures begin here."""


def room(engine, name):
    return importlib.import_module(f"{engine.__name__}.{name}")


@pytest.fixture
def capture(engine, tmp_path):
    """A capture of 3 s at 50 fps, and a character to put it on: at 24 fps, from frame 11."""
    scene = bpy.context.scene
    build.shot(engine, frames=60)
    bpy.ops.nsm.bake()
    path = tmp_path / "captures" / "walk.npz"
    path.parent.mkdir()
    bpy.ops.nsm.save_motion(filepath=str(path))
    clips = room(engine, "motion.clip_file")
    clip = clips.load_clip(path)
    clips.save_clip(replace(clip.resampled(50.0), meta={"name": "walk"}), path)
    bpy.ops.nsm.remove_bake()
    scene.render.fps, scene.frame_start, scene.frame_end = 24, FIRST, 40
    return path


def imported(engine, path):
    """The capture on the timeline, its data, and the label file that an unchanged save writes."""
    assert bpy.ops.nsm.import_capture(filepath=str(path)) == {"FINISHED"}
    assert bpy.ops.nsm.save_labels() == {"FINISHED"}
    return bpy.data.objects["Rig"].data, saved(path)


def saved(path):
    return json.loads(path.with_name("walk.labels.json").read_text())


def curve(extension_module, data, prop):
    (found,) = (c for c in extension_module("scene.actions").of(data) if c.data_path == f"nsm.labels.{prop}")
    return found


def label(engine, path):
    """The labels that the command line would write."""
    marks, tracks = room(engine, "labels.marks"), room(engine, "labels.capture")
    found = tracks.read_capture(path)
    place = path.with_name("expected.json")
    marks.save_marks(replace(found.labels, doubts=()), found.scene, found.clip, place)
    return json.loads(place.read_text())


def test_an_imported_capture_plays_with_its_labels_at_its_own_rate(engine, extension_module, capture):
    data, document = imported(engine, capture)
    scene = bpy.context.scene
    assert (scene.render.fps, scene.frame_start, scene.frame_end) == (50, FIRST, FIRST + document["frames"] - 1)
    assert bpy.data.objects["Rig"].animation_data.action.frame_range[:] == (FIRST, scene.frame_end)
    for first, last in document["contacts"]["RightToe"]:
        scene.frame_set(FIRST + first)
        assert data.nsm.labels.right_toe
        scene.frame_set(FIRST + last + 1)
        assert not data.nsm.labels.right_toe or last + 1 == document["frames"]
    gaits = [(m.frame - FIRST, m.name) for m in scene.timeline_markers if m.name.endswith(": Rig") and m.name[0] != "?"]
    assert sorted(gaits) == [(first, f"{gait.capitalize()}: Rig") for first, _, gait in document["gaits"]]
    assert f"walk: {document['frames']} frames, 50 fps" in " ".join(drawn("NSM_PT_labels"))


def test_saved_unchanged_the_labels_are_those_of_the_command_line(engine, capture):
    expected = label(engine, capture)
    _, document = imported(engine, capture)
    assert document == expected
    capture.with_name("expected.json").unlink()
    # And once more from that file.
    assert imported(engine, capture)[1] == expected


def test_labels_of_actions_and_own_phase_come_back_from_their_file(engine, capture):
    _, document = imported(engine, capture)
    last = document["frames"] - 1
    document["contacts"] |= {"LeftFoot": [[0, last]], "LeftToe": [[0, last]]}  # other strikes than the phase's
    document["scene"] = {
        "actions": {"sit": [[20, 60]], "open": [], "carry": [[0, last]], "climb": [[61, 70]]},
        "touching": {"LeftHand": [[5, 9]], "RightHand": [], "Hips": [[30, 50]]},
        "transitions": [[20, 29], [30, 40], [50, 60]],
    }
    capture.with_name("walk.labels.json").write_text(json.dumps(document))
    _, again = imported(engine, capture)
    assert {name: again["scene"][name] for name in document["scene"]} == document["scene"]
    assert again["contacts"] == document["contacts"] and again["gaits"] == document["gaits"]
    np.testing.assert_allclose(again["phase"], document["phase"], atol=2e-4)


def test_a_key_that_is_moved_by_five_frames_moves_its_label_by_five_frames(engine, extension_module, capture):
    data, before = imported(engine, capture)
    stretch = next(s for s in before["contacts"]["LeftToe"] if s[0] > 0)
    keys = curve(extension_module, data, "left_toe").keyframe_points
    key = next(k for k in keys if round(k.co.x) == FIRST + stretch[0])
    key.co.x += 5
    assert bpy.ops.nsm.save_labels() == {"FINISHED"}
    after = saved(capture)
    changed = [s if s != stretch else [stretch[0] + 5, stretch[1]] for s in before["contacts"]["LeftToe"]]
    assert after["contacts"]["LeftToe"] == changed
    assert all(after["contacts"][joint] == before["contacts"][joint] for joint in ("LeftFoot", "RightFoot", "RightToe"))
    assert after["gaits"] == before["gaits"]


def test_markers_of_gaits_can_be_moved_added_and_renamed(engine, capture):
    _, before = imported(engine, capture)
    markers, last = bpy.context.scene.timeline_markers, before["frames"] - 1
    markers.new("crouch: Rig", frame=FIRST + 30)
    assert bpy.ops.nsm.save_labels() == {"FINISHED"}
    assert saved(capture)["gaits"][-1] == [30, last, "crouch"]
    markers["crouch: Rig"].frame += 5
    markers["crouch: Rig"].name = "Jog: Rig"
    assert bpy.ops.nsm.save_labels() == {"FINISHED"}
    assert saved(capture)["gaits"][-1] == [35, last, "jog"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda m, _: m.new("Wlak: Rig", frame=20), "'Wlak: Rig' at frame 20 names no gait; rename it to one of Stand"),
        (
            lambda m, _: [m.new(f"{gait}: Rig", frame=60) for gait in ("Jog", "Crouch")],
            "At frame 60 there are markers of two gaits, Jog and Crouch; move or delete one",
        ),
        (lambda m, _: m.clear(), "'Rig' has no gait marker any more; add one such as 'Walk: Rig'"),
        (
            lambda _, labels: [setattr(labels, prop, True) for prop in ("use_actions", "sit", "climb")],
            f"'Sit' and 'Climb' are both on at frame {FIRST}; let the first end",
        ),
        (lambda _, labels: labels.id_data.animation_data_clear(), "no keys of foot contacts any more; undo, or import"),
    ],
)
def test_what_does_not_fit_together_is_told_and_nothing_is_written(engine, capture, change, told):
    data, before = imported(engine, capture)
    change(bpy.context.scene.timeline_markers, data.nsm.labels)
    with pytest.raises(RuntimeError, match=".*".join(told.split("'"))):
        bpy.ops.nsm.save_labels()
    assert saved(capture) == before


def test_a_phase_that_runs_backward_is_refused(engine, extension_module, capture):
    data, before = imported(engine, capture)
    data.nsm.labels.use_phase = True
    curve(extension_module, data, "phase").keyframe_points[-1].co.y = -3
    with pytest.raises(RuntimeError, match="The phase runs backward after frame"):
        bpy.ops.nsm.save_labels()
    assert saved(capture) == before


def test_a_track_without_keys_is_what_the_panel_shows(engine, extension_module, capture):
    data, before = imported(engine, capture)
    extension_module("scene.actions").erase(data, ["nsm.labels.left_toe"])
    data.nsm.labels.left_toe = True
    assert bpy.ops.nsm.save_labels() == {"FINISHED"}
    assert saved(capture)["contacts"]["LeftToe"] == [[0, before["frames"] - 1]]


def test_removed_labels_leave_nothing_behind(engine, capture):
    rig = bpy.data.objects["Rig"]
    bpy.context.scene.timeline_markers.new("Beat", frame=5)
    imported(engine, capture)
    bpy.ops.nsm.remove_bake()
    bpy.ops.nsm.remove_labels()
    assert rig.data.animation_data is None
    assert [m.name for m in bpy.context.scene.timeline_markers] == ["Beat"]
    assert not bpy.ops.nsm.save_labels.poll() and not bpy.ops.nsm.copy_training_command.poll()


def test_a_capture_that_cannot_be_read_changes_nothing(engine, capture):
    capture.with_name("walk.labels.json").write_text('{"format": 1}')
    before = snapshot()
    with pytest.raises(RuntimeError, match=r"walk\.labels\.json"):
        bpy.ops.nsm.import_capture(filepath=str(capture))
    assert difference(before, snapshot()) == {}


def test_the_training_command_names_the_folder_of_the_capture(engine, extension_module, capture):
    imported(engine, capture)
    assert bpy.ops.nsm.copy_training_command() == {"FINISHED"}
    command = extension_module("operators.labels").training_command(capture.parent / "own data")
    words = importlib.import_module("shlex").split(command)
    assert words == [
        "nsm-blender", "train", "nsm", "--data", str(capture.parent / "own data"), "--out", "runs/nsm.safetensors"
    ]  # fmt: skip
