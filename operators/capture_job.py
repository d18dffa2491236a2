# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture put onto a character, with its labels on the timeline."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import bpy

from ..nsm_blender import LabeledCapture, Motion, read_capture
from ..scene import label_tracks
from .motion_file_job import MotionFileJob, in_background


class CaptureJob(MotionFileJob):
    """A capture on its way onto a character, at its own place and frame rate, which the scene takes over at the end.

    capture: there once the file is read. Raises UserError on construction and while it works.
    """

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object | None, path: Path, first: int) -> None:
        super().__init__(context, armature, path, first, here=False)
        self.capture: LabeledCapture | None = None
        label_tracks.check(self._armature())

    def settle(self) -> None:
        """Show the labels, and let the scene play the capture as it was recorded."""
        capture, scene, first = self.capture, bpy.context.scene, int(self.gathered.frames[0])
        assert capture is not None
        assert scene is not None
        label_tracks.check(self._armature())
        super().settle()
        scene.render.fps = max(round(capture.clip.fps), 1)
        scene.render.fps_base = scene.render.fps / capture.clip.fps
        scene.frame_end = first + capture.clip.frames - 1
        label_tracks.write(scene, self._armature(), capture, self._path, first)

    def _read(self) -> Generator[float, None, Motion]:
        """The motion, and beside it the labels."""
        self.capture = yield from in_background(lambda: read_capture(self._path))
        self.gathered = replace(self.gathered, shot=replace(self.gathered.shot, fps=self.capture.clip.fps))
        return self.capture.motion
