# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the installed extension in bpy: from the button to the keys, how fast keys are written, how files grow.

Arguments: the extension's zip, the JSON file to write, and "speed" or "growth". Called by `nsm-blender bench`, in a
process of its own.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from types import ModuleType
from typing import Any

PACKAGE = "bl_ext.user_default.nsm_blender"
SECONDS = 10
STYLE, STYLE_SECONDS = "zombie", 8
"""That of the engine's own figure, `bench.manifold.style_8s.total`."""
REPETITIONS = 5
BAKES, MINUTE = 10, 60
"""Bakes with which a file grows, and how many seconds each lasts."""
FRAMES = 600
"""Of the keys written alone: 10 s at 60 fps."""


def install(extension: Path) -> None:
    """Install and enable the zip; the profile is chosen already."""
    import bpy

    bpy.ops.extensions.package_install_files(
        filepath=str(extension), repo="user_default", enable_on_install=True, overwrite=True
    )
    if PACKAGE not in bpy.context.preferences.addons:
        raise RuntimeError("the extension was not enabled")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def add_shot() -> Any:
    """The bundled character on a circle, for 10 s at the scene's frame rate. Returns the armature."""
    import bpy

    bpy.ops.curve.primitive_bezier_circle_add(radius=3.0)
    circle = bpy.context.object
    bpy.ops.nsm.add_character()
    armature = bpy.context.object
    armature.nsm.path = circle
    last(SECONDS)
    return armature


def last(seconds: float) -> None:
    """Let the shot last so long."""
    import bpy

    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, round(seconds * scene.render.fps / scene.render.fps_base)


def operator_seconds(operator: Any) -> float:
    """From the button to the keys, measurements and all."""
    start = perf_counter()
    if operator() != {"FINISHED"}:
        raise RuntimeError(f"{operator.idname()} did not finish")
    return perf_counter() - start


def style_seconds(armature: Any) -> list[float]:
    """The same of each restyling of a baked walk of STYLE_SECONDS."""
    import bpy

    last(STYLE_SECONDS)
    bpy.ops.nsm.bake()
    armature.nsm.manifold.style.source.bundled = STYLE
    seconds = []
    for _ in range(1 + REPETITIONS):
        seconds.append(operator_seconds(bpy.ops.nsm.apply_style))
        bpy.ops.nsm.remove_bake()
    bpy.ops.nsm.remove_bake()
    return seconds[1:]


def keys_per_second(actions: ModuleType, armature: Any) -> float:
    """Write place and rotation of all bones into a new action, and take it away again."""
    import numpy as np

    frames = np.arange(FRAMES)
    values = np.random.default_rng(0).standard_normal((FRAMES, 7)).astype(np.float32)
    channels = []
    for bone in armature.pose.bones:
        path = f'pose.bones["{bone.name}"]'
        channels += [
            actions.Channel(f"{path}.location", values[:, :3], bone.name),
            actions.Channel(f"{path}.rotation_quaternion", values[:, 3:], bone.name),
        ]
    start = perf_counter()
    action = actions.begin(armature, "Bench")
    actions.write(armature, action, frames, channels)
    rate: float = sum(channel.values.size for channel in channels) / (perf_counter() - start)
    actions.discard(armature, action)
    return rate


def growth(folder: Path) -> dict[str, Any]:
    """How much a saved file grows by each of ten bakes of a minute, which replace each other or are all kept."""
    import bpy

    def saved() -> int:
        place = folder / "growth.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(place), compress=False, copy=True)
        return place.stat().st_size

    out: dict[str, Any] = {}
    for kind in ("replaced", "kept"):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        armature = add_shot()
        last(MINUTE)
        empty = saved()
        operator_seconds(bpy.ops.nsm.bake)
        out["bench.growth.fresh_mb"] = (saved() - empty) / 1e6
        out["bench.growth.keys"] = armature.nsm.report.keys
        if kind == "kept":
            start = process_time()
            operator_seconds(bpy.ops.nsm.keep_bake)
            out["bench.growth.keep_seconds"] = process_time() - start
            out["bench.growth.keys_kept"] = armature.nsm.report.keys
        before = saved()
        for _ in range(BAKES):
            operator_seconds(bpy.ops.nsm.bake)
            if kind == "kept":
                operator_seconds(bpy.ops.nsm.keep_bake)
        out[f"bench.growth.{kind}_mb"] = (saved() - before) / BAKES / 1e6
    return out


def speed() -> dict[str, Any]:
    """How fast bakes are and keys are written."""
    import bpy

    armature = add_shot()
    bakes = []
    for _ in range(REPETITIONS):
        bakes.append(operator_seconds(bpy.ops.nsm.bake))
        bpy.ops.nsm.remove_bake()
    actions = importlib.import_module(f"{PACKAGE}.scene.actions")
    rates = [keys_per_second(actions, armature) for _ in range(REPETITIONS)]
    styles = style_seconds(armature)
    return {
        "bench.keys.per_second": median(rates),
        "bench.bake_10s.seconds": median(bakes),
        "bench.bake_10s.first_seconds": bakes[0],
        "bench.manifold.style_8s.operator": median(styles),
    }


def main() -> None:
    """Measure in a private profile, and leave at once: bpy may hang at exit when something went wrong."""
    profile = tempfile.mkdtemp(prefix="nsm-profile-")
    os.environ["BLENDER_USER_RESOURCES"] = profile  # bpy reads it when it is imported
    code = 1
    try:
        install(Path(sys.argv[1]))
        figures = growth(Path(profile)) if sys.argv[3] == "growth" else speed()
        figures["meta"] = {"blender": sys.modules["bpy"].app.version_string}
        Path(sys.argv[2]).write_text(json.dumps(figures), encoding="utf-8")
        code = 0
    except Exception:  # noqa: BLE001 - printed, and the exit code says so
        sys.excepthook(*sys.exc_info())
    finally:
        shutil.rmtree(profile, ignore_errors=True)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
