# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs in the child process of `nsm-blender evaluate rigs`: binds, bakes and reads back on one rig after the other.

Arguments: the extension's zip, a folder with the motions as NPZ, the JSON file to write, the rigs' names with "|"
between them, and optionally a folder for contact sheets. The environment names a private Blender profile.
"""
# It calls our own operators, which no stub knows:
# mypy: disable-error-code="union-attr,attr-defined,arg-type,assignment"

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import bpy
import numpy as np
import rig_armatures
import rig_sheets

from nsm_blender.evaluation import rig_figures
from nsm_blender.evaluation.rigs import ANEW
from nsm_blender.motion.motion import Motion

PACKAGE = "bl_ext.user_default.nsm_blender"
FIRST = 1
"""Scene frame of a motion's beginning."""
REPETITIONS = 3
DOUBTFUL = 0.8
"""Confidence below which Bind asks for a look at a joint."""
FK, IK = "Rigify generated, FK", "Rigify generated, IK"
NO_NAMES = "nonsense names"
PICTURES = 6

Figures = dict[str, float]
Array = Any


def main() -> int:
    """Measure; the exit code is 0 when all rigs were measured."""
    extension, folder, out, names = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4].split("|")
    sheets = Path(sys.argv[5]) if len(sys.argv) > 5 else None
    tell = own_output()
    bpy.ops.extensions.package_install_files(
        filepath=str(extension), repo="user_default", enable_on_install=True, overwrite=True
    )
    motions = {
        path.stem: module("nsm_blender.motion.motion").Motion.load(path) for path in sorted(folder.glob("*.npz"))
    }
    figures: dict[str, Any] = {}
    faults: dict[str, list[str]] = {}
    for name in names:
        start = time.perf_counter()
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        measured, faults[name] = Subject(name).measure(motions, sheets)
        figures |= {f"rigs.{row(name)}.{figure}": value for figure, value in measured.items()}
        print(f"{time.perf_counter() - start:7.1f} s  {name}", file=tell, flush=True)
    figures["meta"] = {
        "blender": bpy.app.version_string,
        "joints_wrong": {name: wrong for name, wrong in faults.items() if wrong},
    }
    out.write_text(json.dumps(figures), encoding="utf-8")
    return 0


def own_output() -> TextIO:
    """A stream to this process's output, while Blender's own chatter, which it writes there too, is dropped."""
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.close(sink)
    return stream


class Subject:
    """One rig in an empty scene, bound."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.obj, self.truth = rig_armatures.add(rig_armatures.GENERATED if name in (FK, IK) else name)
        bones = self.obj.data.bones
        self.rest = {
            joint: np.array(self.obj.matrix_world @ bones[bone].head_local) for joint, bone in self.truth.items()
        }
        self.sizes = rig_figures.Sizes.of(self.rest)
        self.soles = rig_figures.sole_points(self.rest)
        self.seen = {joint: followed(self.obj, bone) for joint, bone in self.truth.items()}

    def measure(self, motions: dict[str, Motion], sheets: Path | None) -> tuple[Figures, list[str]]:
        """All figures of the rig, and the joints that were bound wrongly."""
        start = time.perf_counter()
        bpy.ops.nsm.bind()
        out = {"seconds_bind": time.perf_counter() - start}
        found = {match.name: match.bone for match in self.obj.nsm.binding.matches if match.bone}
        wrong = rig_figures.wrong(found, self.truth, named=self.name != NO_NAMES)
        sure = {match.name for match in self.obj.nsm.binding.matches if match.confidence >= DOUBTFUL}
        out |= {
            "joints": float(len(self.truth)),
            "joints_wrong": float(len(sure.intersection(wrong))),
            "joints_doubted": float(len(set(found) - sure)),
        }
        self.obj.nsm.binding.ik_legs = self.obj.nsm.binding.ik_arms = self.name == IK
        if self.name in ANEW:  # one motion tells of proportions; there are many of these
            motions = {"moves": motions["moves"]}
        else:
            out |= self.timed(motions["moves"])
        for motion_name, motion in motions.items():
            out |= {f"{motion_name}.{figure}": value for figure, value in self.baked(motion).items()}
            if sheets is not None and motion_name != "hold":
                frames = np.linspace(FIRST, FIRST + len(motion) - 1, PICTURES + 2).round().astype(int)[1:-1]
                rig_sheets.draw(self.obj, self.seen, frames.tolist(), sheets / f"{row(self.name)}_{motion_name}.png")
            bpy.ops.nsm.remove_bake()
        return out, wrong

    def timed(self, motion: Motion) -> Figures:
        """Seconds from a motion to its keys, the description of the rig included; the least of several.

        Of the processor, all threads together, which is no less than by the clock on a machine that does nothing else.
        """
        armatures, actions, curves = (module(f"scene.{name}") for name in ("armatures", "actions", "curves"))
        frames, wall, processor, described = np.arange(FIRST, FIRST + len(motion)), [], [], []
        bpy.context.scene.render.fps = round(motion.fps)
        for _ in range(REPETITIONS):
            start, busy = time.perf_counter(), time.process_time()
            rig = armatures.read(bpy.context, self.obj)
            described.append(time.perf_counter() - start)
            world = armatures.world_matrices(bpy.context, self.obj, frames)
            channels = armatures.channels(rig, motion, world, curves.meters_per_unit(bpy.context.scene))
            action = actions.begin(self.obj, "Timed")
            actions.write(self.obj, action, frames, channels)
            wall.append(time.perf_counter() - start)
            processor.append(time.process_time() - busy)
            actions.discard(self.obj, action)
        return {
            f"seconds_{len(motion)}": min(processor),
            f"seconds_{len(motion)}_wall": min(wall),
            "seconds_describe": min(described),
        }

    def baked(self, motion: Motion) -> Figures:
        """A motion's figures on the rig, as Blender shows it; the motion stays on it."""
        scene = bpy.context.scene
        scene.render.fps, scene.render.fps_base = round(motion.fps), 1.0
        scene.frame_start, scene.frame_end = FIRST, FIRST + len(motion) - 1
        job = self.job(motion)
        job.run()
        seen, heights = self.places(len(motion))
        out = rig_figures.feet(seen, motion, self.sizes) | rig_figures.soles(heights, motion, self.sizes.scale)
        if "LeftHand" in motion.contact_names:
            # Arms that reach for something do not point where the engine's do.
            return out | rig_figures.hands(seen, motion, self.sizes)
        busy = time.process_time()
        read = module("scene.recording").record(bpy.context, self.obj).motion
        out["seconds_read"] = time.process_time() - busy
        out |= rig_figures.limbs(seen, motion) | rig_figures.round_trip(read, motion, self.truth)
        out |= self.applied(len(motion), seen)
        return out | {"rig_error_mm_max": job.report.rig_error_mm_max}

    def job(self, motion: Motion) -> Any:
        """The extension's own work from a finished motion to keys and their report."""
        rig = module("scene.armatures").read(bpy.context, self.obj)
        shot = module("nsm_blender.shot.shot").Shot(self.name, motion.fps, len(motion))
        frames = np.arange(FIRST, FIRST + len(motion))
        gathered = module("scene.gather").Gathered(shot, rig, None, frames)
        return module("operators.job").MotionJob(gathered, self.obj, Finished(motion), self.name)

    def applied(self, count: int, seen: dict[str, Array]) -> Figures:
        """How far joints are, in cm at the model's size, when the motion is saved and applied to the same rig, in the
        place of the bake."""
        path = str(Path(bpy.app.tempdir) / "motion.npz")
        bpy.ops.nsm.save_motion(filepath=path)
        bpy.ops.nsm.apply_motion(filepath=path, place="FILE", frame_start=FIRST)
        again, _ = self.places(count)
        apart = max(float(np.linalg.norm(again[joint] - seen[joint], axis=-1).max()) for joint in seen)
        return {"applied_cm_max": 100 * apart / self.sizes.scale}

    def places(self, count: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """Where the joints' bones (count, 3) are in the world, frame by frame, and the heights (count, N) of the points
        of the soles."""
        names = list(self.seen.values())
        places = np.empty((len(names), count, 3))
        heights = {joint: np.empty((count, len(points))) for joint, points in self.soles.items()}
        rests = {joint: self.rest_matrix(joint) for joint in self.soles}
        for number in range(count):
            bpy.context.scene.frame_set(FIRST + number)
            shown = self.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
            world = np.array(shown.matrix_world)
            heads = np.array([shown.pose.bones[name].head for name in names])
            places[:, number] = heads @ world[:3, :3].T + world[:3, 3]
            for joint, points in self.soles.items():
                moved = world @ np.array(shown.pose.bones[self.seen[joint]].matrix) @ np.linalg.inv(rests[joint])
                heights[joint][number] = points @ moved[2, :3] + moved[2, 3]
        return dict(zip(self.seen, places, strict=True)), heights

    def rest_matrix(self, joint: str) -> Array:
        """Where the rest pose has a joint's bone in the world, (4, 4)."""
        return np.array(self.obj.matrix_world @ self.obj.data.bones[self.seen[joint]].matrix_local)


class Finished:
    """A motion as the work of a job."""

    done, progress = True, 1.0

    def __init__(self, motion: Motion) -> None:
        self._motion = motion

    def step(self) -> None:
        """Nothing is left to do."""

    def motion(self) -> Motion:
        """The motion."""
        return self._motion


def followed(obj: bpy.types.Object, bone: str) -> str:
    """The bone that the mesh follows: on a rig of controls not the control itself, which may be switched off."""
    original = f"ORG-{bone.replace('_fk', '')}"
    return original if original in obj.data.bones else bone


def row(name: str) -> str:
    """A rig's name in the names of figures."""
    return re.sub(r"\W+", "_", name.lower())


def module(name: str) -> ModuleType:
    """A module of the installed extension."""
    return importlib.import_module(f"{PACKAGE}.{name}")


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
