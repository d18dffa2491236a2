# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the child process of `nsm-blender demo`: does with the installed extension what a user would do.

Arguments: the extension's zip, the folder for the results. The environment names a private Blender profile.
"""
# It calls our own operators, which no stub knows:
# mypy: disable-error-code="union-attr,attr-defined,arg-type,assignment"

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import bpy

PACKAGE = "bl_ext.user_default.nsm_blender"
FPS = 30
FRAMES = 450
PICTURES = 12

# Metres. Straight ahead, a turn back within a metre and a half, then a long bend to jog along.
CURVE = ((0, 0), (0, -2.6), (0.75, -3.5), (1.6, -2.7), (1.8, -1.0), (2.6, 2.2), (4.4, 5.0), (6.6, 6.3), (9.0, 6.6))

# (frame, metres per second)
SPEED = ((1, 0), (45, 0), (60, 1.3), (180, 1.3), (205, 2.7), (280, 2.7), (305, 0), (350, 0), (362, 0.6), (415, 0.6),
         (428, 0))  # fmt: skip
# (frame, gait), each until the next
GAIT = ((1, "stand"), (45, "walk"), (182, "jog"), (296, "walk"), (306, "stand"), (350, "walk"), (428, "stand"))
# (frame, degrees left of the way); a quarter turn while standing makes the last part a sidestep
FACING = ((1, 0), (306, 0), (340, 90))


def main() -> int:
    """Make the demo; the exit code is 1 when a step fails, after a line that says which and why."""
    extension, out = Path(sys.argv[1]), Path(sys.argv[2])
    tell = _own_output()
    steps = _Steps(tell)
    try:
        with steps("install the extension in a private profile"):
            install(extension)
        with steps("add the character"):
            bpy.ops.nsm.add_character()
        character = bpy.context.active_object
        with steps("draw the curve; key speed, gait and facing"):
            curve = draw(character)
        with steps(f"bake {FRAMES} frames"):
            bpy.ops.nsm.bake()
            if character.animation_data is None or character.animation_data.action is None:
                raise RuntimeError("The bake ended without an action on the character.")
        with steps("export demo.fbx"):
            bpy.ops.nsm.export_fbx(filepath=str(out / "demo.fbx"), preset="UNITY")
        with steps("save shot.json and report.json"):
            bpy.ops.nsm.save_shot(filepath=str(out / "shot.json"))
            bpy.ops.nsm.save_report(filepath=str(out / "report.json"))
        with steps("save demo.blend"):
            bpy.ops.wm.save_as_mainfile(filepath=str(out / "demo.blend"), compress=True)
        with steps(f"render preview.png, {PICTURES} pictures"):
            preview(character, curve, out / "preview.png")
    except Exception as error:  # noqa: BLE001 - any failure ends the demo with its sentence; the log has the rest
        print(f"demo: {steps.current}: {str(error).strip()}", file=tell)
        return 1
    for name, value in json.loads((out / "report.json").read_text()).items():
        if isinstance(value, float | int):
            print(f"{value:11.3f}  {name}", file=tell)
    return 0


class _Steps:
    """Prints a line for each step with its seconds."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self.current = ""

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.current, start = name, time.perf_counter()
        yield
        print(f"{time.perf_counter() - start:7.2f} s  {name}", file=self._output, flush=True)


def _own_output() -> TextIO:
    """A stream to this process's output, while Blender's own chatter, which it writes there too, is dropped."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.close(sink)
    return stream


def install(extension: Path) -> None:
    """Install and enable the zip as from the preferences, in an empty file."""
    bpy.ops.extensions.package_install_files(
        filepath=str(extension), repo="user_default", enable_on_install=True, overwrite=True
    )
    if PACKAGE not in bpy.context.preferences.addons:
        raise RuntimeError("The extension was installed but could not be enabled.")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def draw(character: bpy.types.Object) -> bpy.types.Object:
    """The character's path, with its keyed settings, and the shot's length and rate."""
    scene = bpy.context.scene
    scene.render.fps = FPS
    scene.frame_start, scene.frame_end = 1, FRAMES
    data = bpy.data.curves.new("Path", "CURVE")
    data.dimensions = "3D"
    spline = data.splines.new("BEZIER")
    spline.bezier_points.add(len(CURVE) - 1)
    for point, (x, y) in zip(spline.bezier_points, CURVE, strict=True):
        point.co = (x, y, 0.0)
        point.handle_left_type = point.handle_right_type = "AUTO"
    curve = bpy.data.objects.new("Path", data)
    scene.collection.objects.link(curve)
    character.nsm.path = curve
    for frame, speed in SPEED:
        curve.nsm.speed = speed
        curve.keyframe_insert("nsm.speed", frame=frame)
    for frame, gait in GAIT:
        curve.nsm.gait = gait
        curve.keyframe_insert("nsm.gait", frame=frame)
    for frame, degrees in FACING:
        curve.nsm.facing = degrees * 3.14159265 / 180
        curve.keyframe_insert("nsm.facing", frame=frame)
    return curve


def preview(character: bpy.types.Object, curve: bpy.types.Object, file: Path) -> None:
    """The contact sheet, with time, frame and gait below each picture."""
    module = importlib.import_module(f"{PACKAGE}.scene.preview")
    line = importlib.import_module(f"{PACKAGE}.scene.curves").polyline(bpy.context, curve)
    pictures = []
    for number in range(PICTURES):
        frame = 1 + round(number * (FRAMES - 1) / (PICTURES - 1))
        gait = [name for first, name in GAIT if first <= frame][-1]
        sideways = " sideways" if gait == "walk" and frame > FACING[-1][0] else ""
        pictures.append(module.Picture(frame, f"{(frame - 1) / FPS:.1f} s  frame {frame}  {gait}{sideways}"))
    module.contact_sheet(character, pictures, line.points, file, columns=4)


if __name__ == "__main__":
    code = 1
    try:
        code = main()
    except Exception:  # noqa: BLE001 - printed, and the exit code says so
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # bpy 4.2 crashes at interpreter exit after it rendered.
        os._exit(code)
