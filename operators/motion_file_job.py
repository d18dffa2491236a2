# SPDX-License-Identifier: GPL-3.0-or-later
"""A motion file read and put onto a character."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import bpy
import numpy as np

from ..nsm_blender import FileFormatError, Motion, RigError, Shot, import_motion, placed
from ..scene import actions, armatures, motion_files
from ..scene.gather import Gathered
from .job import MotionJob, paced

_LONGEST = 100_000
"""Frames of a file that are still taken."""
_WAIT = 0.005
"""Seconds between two looks whether the file is read."""
_READING = 0.01
"""Progress that is shown while the file is read, as the time that reading takes is unknown."""

T = TypeVar("T")


class MotionFileJob(MotionJob):
    """A motion file on its way onto a character. here: it begins where the character stands, not where the file says.

    The file is read in the background, so that the job can be cancelled meanwhile; only FBX and glTF are read by
    Blender itself, which cannot be interrupted. Raises UserError on construction and while it works.
    """

    doing = "import"

    def __init__(
        self, context: bpy.types.Context, armature: bpy.types.Object | None, path: Path, first: int, *, here: bool
    ) -> None:
        rig = armatures.read(context, armature)
        if armature is None:
            raise RigError("No character is chosen; select an armature.")
        actions.check_assignable(armature)
        render = context.scene.render
        self._path, self._first, self._here = path, first, here
        # How long the shot is, the file tells.
        shot = Shot(name=armature.name, fps=render.fps / render.fps_base, frames=0)
        super().__init__(Gathered(shot, rig, None, np.arange(0)), armature, Finished(None), path.stem)

    def stages(self) -> Generator[float]:
        """Read the file, then what every job does."""
        motion = yield from self._read()
        gathered = self.gathered
        if not 2 <= len(motion) <= _LONGEST:
            raise FileFormatError(f"{self._path}: {len(motion)} frames; a motion of 2 to {_LONGEST} frames is needed.")
        motion = yield from paced(motion.resampling(gathered.shot.fps), _READING)
        first = self._first
        if self._here:
            motion = placed(motion, armatures.standing(bpy.context, self._armature(), gathered.rig, first))
        shot = replace(gathered.shot, frames=len(motion))
        self.gathered = Gathered(shot, gathered.rig, None, np.arange(first, first + len(motion)))
        self.report.frames = len(motion)
        self.work = Finished(motion)
        yield from super().stages()

    def _read(self) -> Generator[float, None, Motion]:
        """The file's motion on the model."""
        if self._path.suffix.lower() in motion_files.ENDINGS:
            return motion_files.read_file(bpy.context, self._path)
        return (yield from in_background(lambda: import_motion(self._path)))


class Finished:
    """A motion that is there as the work of a `MotionJob`."""

    done, progress = True, 1.0

    def __init__(self, motion: Motion | None) -> None:
        self._motion = motion

    def step(self) -> None:
        """Nothing is left to do."""

    def motion(self) -> Motion:
        """The motion."""
        assert self._motion is not None
        return self._motion


def in_background(work: Callable[[], T]) -> Generator[float, None, T]:
    """What `work`, which must not touch Blender's data, returns or raises; yields while it is at work."""
    pool = ThreadPoolExecutor(1)
    done = pool.submit(work)
    pool.shutdown(wait=False)
    while not done.done():
        time.sleep(_WAIT)
        yield _READING
    return done.result()
