# SPDX-License-Identifier: GPL-3.0-or-later
"""Many motion files put onto a character, each as an action of its own."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import bpy

from ..nsm_blender import FileFormatError, UserError
from ..scene import actions
from ..scene.lookup import find
from ..scene.properties import of_action
from .job import Steps, StoppedError
from .motion_file_job import MotionFileJob

_ENDINGS = (".bvh", ".fbx", ".glb", ".gltf", ".vrm", ".amc", ".npz")
"""Endings of the files that are taken out of a folder."""
_MOST = 1000
"""Files that are still taken at once; a folder of more was hardly meant."""


def found(chosen: Sequence[Path]) -> list[Path]:
    """The chosen files, and the motion files in the chosen folders, by their names. Raises FileFormatError."""
    out: list[Path] = []
    for path in chosen:
        if not path.is_dir():
            out.append(path)
            continue
        inside = sorted(file for file in path.iterdir() if file.suffix.lower() in _ENDINGS and file.is_file())
        if not inside:
            raise FileFormatError(f"{path}: the folder has no motion file; choose one with {', '.join(_ENDINGS)}.")
        out += inside
    if len(out) > _MOST:
        raise FileFormatError(f"{len(out)} motion files were chosen; apply at most {_MOST} at once.")
    return out


class _OneOfMany(MotionFileJob):
    """A file whose action stays when the next one comes; what was measured of it is not shown."""

    def keep(self, _armature: bpy.types.Object) -> None:
        """Leave the character's report to the last file."""

    def settle(self) -> None:
        """Keep the action, and what was there before."""
        of_action(self.action()).keep = True
        self.action().use_fake_user = True


class MotionFilesJob(Steps):
    """Motion files on their way onto a character. here: as for `MotionFileJob`.

    Each file begins with the scene as it was; a file that cannot be applied leaves nothing and does not keep the others
    from it. applied: the actions' numbers. refusals: a sentence for each file that was left out. shown: name of the
    action that the character has in the end, that of the first file. Raises UserError on construction, and where no
    file could be applied.
    """

    doing = "import"

    def __init__(
        self,
        context: bpy.types.Context,
        armature: bpy.types.Object | None,
        paths: Sequence[Path],
        first: int,
        *,
        here: bool,
    ) -> None:
        super().__init__()
        self.paths, self._first, self._here = paths, first, here
        self._job = self._begin(context, armature, paths[0])
        self._character = self._job.character
        assert armature is not None
        self._had_animation = armature.animation_data is not None
        self._jobs: list[_OneOfMany] = []
        self.applied: list[int] = []
        self.refusals: list[str] = []
        self.shown = ""

    def stages(self) -> Generator[float]:
        """One file after the other."""
        for number, path in enumerate(self.paths):
            if number:
                self._job = self._begin(bpy.context, self._armature(), path)
            try:
                while not self._job.done:
                    self._job.step()
                    self.changes_scene = self._job.changes_scene
                    yield (number + self._job.progress) / len(self.paths)
            except StoppedError:
                raise
            except UserError as error:
                self.refusals.append(_named(path, str(error)))
                continue
            self._jobs.append(self._job)
            self.applied.append(self._job.action().session_uid)
            self.premises.hold([("action", self._job.action())])
            # The next file finds the character as this one did.
            actions.assign(self._armature(), actions.assigned_before(self._job.action()))
            bpy.context.view_layer.update()
        if not self._jobs:
            raise FileFormatError(" ".join(["No motion file could be applied.", *self.refusals]))
        self._show(self._jobs[0])

    def undo(self) -> None:
        """Take away what all files made."""
        self._job.cancel()
        for job in reversed(self._jobs):
            job.undo()
        armature = find(bpy.data.objects, self._character)
        if armature is None or self._had_animation or armature.animation_data is None:
            return
        animation = armature.animation_data
        if animation.action is None and not animation.drivers and not animation.nla_tracks:
            armature.animation_data_clear()

    def _begin(self, context: bpy.types.Context, armature: bpy.types.Object | None, path: Path) -> _OneOfMany:
        return _OneOfMany(context, armature, path, self._first, here=self._here)

    def _show(self, job: _OneOfMany) -> None:
        """Assign a file's action, and store on the character what was measured of it."""
        armature, action = self._armature(), job.action()
        actions.show(armature, action)
        job.report.store(armature)
        self.shown = action.name

    def _armature(self) -> bpy.types.Object:
        armature: bpy.types.Object = find(bpy.data.objects, self._character)
        return armature


def _named(path: Path, sentence: str) -> str:
    """A sentence about a file that names it."""
    return sentence if path.name in sentence else f"{path.name}: {sentence}"
