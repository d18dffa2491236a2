# SPDX-License-Identifier: GPL-3.0-or-later
"""Enabling, disabling and reloading the installed extension."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import addon_utils
import bpy
import pytest

PACKAGE = "bl_ext.user_default.nsm_blender"
OWNERS = (bpy.types.Object, bpy.types.Scene, bpy.types.WindowManager, bpy.types.Action)


def traces() -> set[str]:
    """What the extension could leave behind in Blender."""
    found = {name for name in dir(bpy.types) if name.startswith("NSM_")}
    found |= {f"operator {name}" for name in dir(bpy.ops.nsm)}
    found |= {f"{owner.__name__}.nsm" for owner in OWNERS if "nsm" in owner.bl_rna.properties or hasattr(owner, "nsm")}
    for name in dir(bpy.app.handlers):
        handlers = getattr(bpy.app.handlers, name)
        if isinstance(handlers, list):
            found |= {
                f"handler {h.__module__}.{h.__qualname__}"
                for h in handlers
                if str(getattr(h, "__module__", "")).startswith(PACKAGE)
            }
    keymaps = bpy.context.window_manager.keyconfigs.addon
    if keymaps is not None:
        items = [item for keymap in keymaps.keymaps for item in keymap.keymap_items]
        found |= {f"key {item.idname}" for item in items if item.idname.startswith("nsm.")}
    return found


@pytest.fixture
def enabled_again():
    yield
    addon_utils.enable(PACKAGE, default_set=True)


def test_disabling_leaves_nothing_behind_and_enabling_brings_all_back(enabled_again):
    with_extension = traces()
    assert {"NSM_OT_bake", "NSM_PT_bake", "operator bake", "Object.nsm", "Scene.nsm"} <= with_extension
    for _ in range(3):
        addon_utils.disable(PACKAGE, default_set=True)
        assert traces() == set()
        addon_utils.enable(PACKAGE, default_set=True)
        assert traces() == with_extension


def test_what_was_set_before_disabling_is_there_after_enabling(enabled_again):
    obj = bpy.data.objects.new("Way", bpy.data.curves.new("Way", "CURVE"))
    obj.nsm.speed = 2.25
    addon_utils.disable(PACKAGE, default_set=True)
    addon_utils.enable(PACKAGE, default_set=True)
    assert obj.nsm.speed == 2.25


def test_reinstalling_over_an_enabled_extension_works(extension_zip: Path):
    before = traces()
    bpy.ops.extensions.package_install_files(
        filepath=str(extension_zip), repo="user_default", enable_on_install=True, overwrite=True
    )
    assert traces() == before


_WATCH = """
import os, sys
import bpy
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import addon_utils
bpy.ops.extensions.package_install_files(
    filepath=sys.argv[1], repo="user_default", enable_on_install=False, overwrite=True)
before = set(sys.modules)
opened.clear()
assert addon_utils.enable("bl_ext.user_default.nsm_blender", default_set=True) is not None
new = set(sys.modules) - before
print("NEW", *sorted(new))
print("OPENED", *[path for path in opened if path.endswith((".safetensors", ".npz"))])
sys.stdout.flush()
os._exit(0)
"""


@pytest.fixture(scope="module")
def enabling(extension_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What a fresh Blender imports and opens while it enables the extension."""
    environment = {**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path_factory.mktemp("profile"))}
    done = subprocess.run(
        [sys.executable, "-c", _WATCH, str(extension_zip)], capture_output=True, text=True, env=environment, timeout=120
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith(("NEW", "OPENED"))]
    assert len(lines) == 2, done.stdout + done.stderr
    return {line[0]: line[1:] for line in lines}


def test_enabling_imports_no_torch_and_none_of_the_engines_work(enabling):
    roots = {name.split(".")[0] for name in enabling["NEW"]}
    assert f"{PACKAGE}.operators.bake" in enabling["NEW"]
    assert not roots & {"torch", "safetensors", "scipy"}
    heavy = ("api", "rollout", "cleanup", "tasks", "baking", "manifold", "models", "training", "evaluation")
    assert not [name for name in enabling["NEW"] if name.startswith(tuple(f"{PACKAGE}.nsm_blender.{h}" for h in heavy))]


def test_enabling_reads_no_weights(enabling):
    assert enabling["OPENED"] == []


def test_a_whole_bake_imports_no_torch(extension_zip: Path, tmp_path: Path):
    script = """
import os, sys, traceback
import bpy
bpy.ops.extensions.package_install_files(
    filepath=sys.argv[1], repo="user_default", enable_on_install=True, overwrite=True)
bpy.context.scene.frame_end = 5
bpy.ops.nsm.add_character()
bpy.ops.nsm.add_path()
assert bpy.ops.nsm.bake() == {"FINISHED"}
print("TORCH", "torch" in sys.modules)
sys.stdout.flush()
os._exit(0)
"""
    environment = {**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(extension_zip)], capture_output=True, text=True, env=environment, timeout=120
    )
    assert "TORCH False" in done.stdout, done.stdout + done.stderr


def test_the_gait_numbers_in_files_stay_those_of_the_engine(extension_module):
    items = extension_module("scene.properties").GAIT_ITEMS
    assert tuple(item[0] for item in items) == extension_module("nsm_blender.shot.shot").BAKEABLE_GAITS
    assert [item[3] for item in items] == [0, 1, 2, 3]
