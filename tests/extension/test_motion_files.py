# SPDX-License-Identifier: GPL-3.0-or-later
"""Many motion files put onto a character at once, through the installed extension's operators."""

from __future__ import annotations

import shutil

import bpy
import numpy as np
import pytest

from . import build
from .snapshot import difference, snapshot


@pytest.fixture
def folder(engine, tmp_path):
    """A folder with two motions, of 40 and of 20 frames, a file that is none, and a text; the rig has no animation."""
    build.shot(engine)
    bpy.ops.nsm.bake()
    bpy.ops.nsm.save_motion(filepath=str(tmp_path / "walk.npz"))
    bpy.context.scene.nsm.use_custom_range = True
    bpy.context.scene.nsm.frame_start, bpy.context.scene.nsm.frame_end = 11, 30
    bpy.ops.nsm.save_motion(filepath=str(tmp_path / "short.npz"))
    bpy.context.scene.nsm.use_custom_range = False
    bpy.ops.nsm.remove_bake()
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nnonsense")
    (tmp_path / "readme.txt").write_text("no motion")
    return tmp_path


def places(rig, frame: int) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    return np.array([bone.head for bone in rig.pose.bones])


def test_each_file_of_a_folder_becomes_an_action_and_a_bad_one_is_told(folder):
    rig = bpy.context.object
    assert bpy.ops.nsm.apply_motion(filepath=str(folder)) == {"FINISHED"}
    assert {action.name for action in bpy.data.actions} == {"short", "walk"}
    lengths = {action.name: action.frame_range[1] - action.frame_range[0] + 1 for action in bpy.data.actions}
    assert lengths == {"short": 20, "walk": 40}
    assert rig.animation_data.action == bpy.data.actions["short"]
    assert rig.nsm.report.frames == 20
    together = places(rig, 15)
    bpy.ops.nsm.remove_bake()
    bpy.ops.nsm.apply_motion(filepath=str(folder / "short.npz"))
    assert np.abs(places(rig, 15) - together).max() < 1e-6


def test_the_files_that_the_browser_chose_are_applied_and_no_others(folder):
    shutil.copy(folder / "walk.npz", folder / "other.npz")
    files = [{"name": "walk.npz"}, {"name": "other.npz"}]
    assert bpy.ops.nsm.apply_motion(directory=str(folder), files=files, frame_start=5) == {"FINISHED"}
    assert {action.name for action in bpy.data.actions} == {"walk", "other"}
    assert {tuple(action.frame_range) for action in bpy.data.actions} == {(5, 44)}
    assert bpy.context.object.animation_data.action.name == "walk"


def test_a_bake_that_is_there_stays_when_files_are_applied(folder):
    rig = bpy.context.object
    bpy.ops.nsm.bake()
    baked = rig.animation_data.action
    bpy.ops.nsm.apply_motion(filepath=str(folder))
    assert baked.name in bpy.data.actions
    bpy.ops.nsm.remove_bake()
    assert rig.animation_data.action == baked
    assert "walk" in bpy.data.actions


def test_bad_files_alone_are_refused_and_nothing_changes(folder):
    (folder / "worse.bvh").write_text("")
    before = snapshot()
    with pytest.raises(RuntimeError, match=r"(?s)No motion file could be applied.*broken.bvh.*worse.bvh"):
        bpy.ops.nsm.apply_motion(directory=str(folder), files=[{"name": "broken.bvh"}, {"name": "worse.bvh"}])
    assert difference(before, snapshot()) == {}


def test_a_folder_without_motions_is_refused(engine, tmp_path):
    build.shot(engine)
    with pytest.raises(RuntimeError, match="the folder has no motion file"):
        bpy.ops.nsm.apply_motion(filepath=str(tmp_path))


def test_canceled_in_the_last_file_all_files_are_taken_back(folder, extension_module):
    rig = bpy.context.object
    module = extension_module("operators.motion_files_job")
    before = snapshot()
    job = module.MotionFilesJob(bpy.context, rig, module.found([folder]), 1, here=True)
    while job.progress < 0.95:
        job.step()
    assert not job.done
    assert len(job.applied) == 1
    job.cancel()
    assert difference(before, snapshot()) == {}


def test_files_of_which_one_loses_its_action_are_all_taken_back(folder, extension_module):
    rig = bpy.context.object
    module = extension_module("operators.motion_files_job")
    job = module.MotionFilesJob(bpy.context, rig, module.found([folder]), 1, here=True)
    while not job.applied:
        job.step()
    applied = next(action for action in bpy.data.actions if action.session_uid == job.applied[0])
    bpy.data.actions.remove(applied)
    with pytest.raises(Exception, match=r"stopped: the action '.+' was deleted"):
        job.run()
    assert not bpy.data.actions and rig.animation_data is None
