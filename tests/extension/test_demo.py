# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `nsm-blender demo`, run as from a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import bpy
import numpy as np

GRAINY = """
import bpy

@bpy.app.handlers.persistent
def one_sample(scene, *_):
    scene.cycles.samples = 1

def register():
    bpy.app.handlers.render_init.append(one_sample)
"""
"""A startup script of Blender that renders with one sample instead of eight: most of the demo's time is rendering."""


def demo(repository: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nsm_blender", "demo", *arguments]
    return subprocess.run(
        command, cwd=repository, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_the_demo_leaves_a_walking_character_its_restyled_walk_and_figures_of_both(repository, extension_zip, tmp_path):
    scripts = tmp_path / "scripts"
    (scripts / "startup").mkdir(parents=True)
    (scripts / "startup" / "grainy.py").write_text(GRAINY)
    asked = ["--out", str(tmp_path / "new" / "demo"), "--zip", str(extension_zip)]
    done = demo(repository, *asked, BLENDER_SYSTEM_SCRIPTS=str(scripts))
    assert done.returncode == 0, done.stdout + done.stderr
    out = tmp_path / "new" / "demo"
    assert {path.name for path in out.iterdir()} == {
        "demo.fbx", "demo.blend", "shot.json", "report.json", "preview.png",
        "preview_style.png", "report_style.json", "crowd.png",
        "room.blend", "shot_room.json", "report_room.json", "preview_room.png",
        "ground.blend", "shot_ground.json", "report_ground.json", "preview_ground.png",
        "preview_ground_keys.png",
    }  # fmt: skip
    report = json.loads((out / "report.json").read_text())
    shot = json.loads((out / "shot.json").read_text())
    assert report["frames"] == shot["frames"] == 450
    assert shot["fps"] == 30
    assert report["rig_error_mm.max"] < 1
    assert {"stand", "walk", "jog"} <= set(shot["path"]["gaits"])
    assert max(shot["path"]["facing_offsets"]) > 1.5
    for name, smallest in (
        ("preview.png", 900),
        ("preview_style.png", 500),
        ("crowd.png", 500),
        ("preview_room.png", 900),
        ("preview_ground.png", 700),
    ):
        image = bpy.data.images.load(str(out / name))
        pixels = np.empty(image.size[0] * image.size[1] * 4, np.float32)
        image.pixels.foreach_get(pixels)
        assert min(image.size) > smallest
        assert pixels.reshape(-1, 4)[:, :3].std() > 0.05, f"{name} should show something"
    styled = json.loads((out / "report_style.json").read_text())
    assert styled["rig_error_mm.max"] < 1
    assert styled["frames_on_rail"] >= 1.5 * shot["fps"]
    assert styled["hand_error_cm.max"] < 1, "the hand should stay on the rail"
    assert styled["foot_slide_cm_per_s"] < 2
    assert styled["restyle.style_sought_of_the_distance.after"] < 0.3
    assert (
        styled["restyle.style_in_the_end_of_the_distance.after"]
        < styled["restyle.style_in_the_end_of_the_distance.before"]
    )
    assert styled["rail.pins_cm_off.after"] < 1 < styled["rail.pins_cm_off.before"]
    report = json.loads((out / "report_room.json").read_text())
    acts = (repository / "weights" / "nsm.safetensors").is_file()
    assert len(report["goals"]) == (5 if acts else 3)
    assert all(goal["done"] is not None for goal in report["goals"])
    if not acts:
        assert report["goal_error_cm"] < 10
        assert report["goal_error_deg"] < 5
    assert report["foot_slide_cm_per_s"] < 2
    report = json.loads((out / "report_ground.json").read_text())
    assert report["rig_error_mm.max"] < 1
    assert report["sole_depth_cm.max"] < 4
    assert report["goal_error_cm"] < 10, "it comes to the end of its path"
    bpy.ops.import_scene.fbx(filepath=str(out / "demo.fbx"), anim_offset=0.0)
    rig = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    places = []
    for frame in (1, 40, 450):
        bpy.context.scene.frame_set(frame)
        places.append(rig.matrix_world @ rig.pose.bones["Hips"].head)
    assert (places[1] - places[0]).length < 0.2, "it stands at first"
    assert (places[2] - places[0]).length > 5


def test_a_missing_zip_is_one_sentence(repository, tmp_path):
    done = demo(repository, "--out", str(tmp_path / "demo"), "--zip", str(tmp_path / "none.zip"))
    assert done.returncode == 1
    assert done.stderr.strip() == f"nsm-blender: {tmp_path / 'none.zip'}: there is no such file."


def test_a_broken_zip_fails_with_the_step_that_failed(repository, tmp_path):
    (tmp_path / "broken.zip").write_text("no zip")
    done = demo(repository, "--out", str(tmp_path / "demo"), "--zip", str(tmp_path / "broken.zip"))
    assert done.returncode == 1
    assert "install the extension" in done.stdout
    assert not (tmp_path / "demo" / "demo.fbx").exists()
