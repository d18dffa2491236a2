# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that operators write: whole, told beforehand where they cannot be, and never in the way of a finished bake."""

from __future__ import annotations

import json

import bpy
import pytest

from . import build


@pytest.fixture
def baked(engine):
    """A short bake."""
    rig, _ = build.shot(engine, frames=10)
    bpy.ops.nsm.bake()
    return rig


@pytest.mark.parametrize("operator", ["save_shot", "save_report", "save_motion"])
def test_a_file_is_not_written_through_a_link(baked, tmp_path, operator):
    kept = tmp_path / "kept"
    kept.write_text("mine")
    link = tmp_path / "link.json"
    link.symlink_to(kept)
    with pytest.raises(RuntimeError, match="link"):
        getattr(bpy.ops.nsm, operator)(filepath=str(link))
    assert kept.read_text() == "mine"


@pytest.mark.parametrize("operator", ["save_shot", "save_report", "save_motion"])
def test_a_folder_in_the_files_place_is_told(baked, tmp_path, operator):
    with pytest.raises(RuntimeError, match="cannot be written"):
        getattr(bpy.ops.nsm, operator)(filepath=str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_bake_whose_report_cannot_be_kept_is_a_bake(engine, extension_module):
    folder = extension_module("operators.base").user_folder("reports")
    path = folder / "report.json"
    path.unlink(missing_ok=True)
    path.mkdir()
    try:
        rig, _ = build.shot(engine, frames=10)
        assert bpy.ops.nsm.bake() == {"FINISHED"}
        assert rig.animation_data.action is not None
    finally:
        path.rmdir()


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"place": NaN}', '"text"'])
def test_damaged_handles_in_a_file_are_told(extension_module, text):
    handles = extension_module("scene.handles")
    bpy.ops.mesh.primitive_cube_add(size=0.5, location=(0, 0, 0.25), calc_uvs=False)
    obj = bpy.context.object
    bpy.ops.nsm.wrap_collider(role="seat")
    assert json.loads(obj.nsm.collider.handles)
    obj.nsm.collider.handles = text
    with pytest.raises(extension_module("nsm_blender.errors").ColliderError, match="damaged"):
        handles.stored(obj)
