# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of a capture on the timeline: keys on the armature's data, and markers. Written, read back, and taken away.

A frame of the capture is a frame of the scene, so that what is dragged by five frames is labeled five frames later.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import bpy
import numpy as np

from ..nsm_blender.errors import LabelError, RigError
from ..nsm_blender.labels import timeline
from ..nsm_blender.labels.capture import LabeledCapture, data_folder
from ..nsm_blender.labels.marks import Scene, marks_beside, save_marks
from ..nsm_blender.motion.gait import GAITS
from ..nsm_blender.motion.label_file import Labeled
from ..nsm_blender.motion.labels import Labels
from ..nsm_blender.motion.phase import phase_track
from ..nsm_blender.motion.rotations import Array
from . import actions, label_markers
from .label_settings import ACTIONS, CONTACTS, TOUCHING, NSM_PG_labels, name_of, of_armature

_PATH = "nsm.labels."
_GROUP = "Labels"
_ON_OFF = (*CONTACTS.values(), *ACTIONS.values(), *TOUCHING.values())
_ALL = (*_ON_OFF, "transition", "phase")
_ALONE = ("sit", "open", "climb")
"""Actions of which a character does one at a time; it can carry meanwhile."""
_CYCLE = 2 * np.pi
_PHASE_OFF = 1e-5
"""Cycles by which the phase's line may be off the label file's, whose rounding explains as much."""
_BACKWARD = -1e-4
"""Cycles in a frame below which a phase runs backward."""


def check(armature: bpy.types.Object) -> None:
    """Raise RigError when the armature's data cannot hold labels of its own."""
    data = armature.data
    if data.library is not None or data.override_library is not None:
        raise RigError(
            f"The armature of '{armature.name}' is linked from another file; label on a mannequin of this file."
        )
    if data.users > 1:
        raise RigError(
            f"'{armature.name}' shares its armature with other objects, which would get its labels; make it single "
            "user (Object > Relations > Make Single User > Object & Data)."
        )
    action = data.animation_data.action if data.animation_data else None
    if action is not None and (action.library is not None or action.users - action.use_fake_user > 1):
        raise RigError(f"The action '{action.name}' of the armature is also used elsewhere; make it single user.")


def write(
    scene: bpy.types.Scene, armature: bpy.types.Object, capture: LabeledCapture, path: Path, frame_start: int
) -> None:
    """Show the labels of a capture, read from the file `path`, whose first pose is at `frame_start`, in place of those
    of an earlier one."""
    clear(scene, armature)
    stored, labels, count = of_armature(armature), capture.labels, capture.clip.frames
    stored.filepath, stored.clip = str(path), capture.clip.name
    stored.frame_start, stored.frames, stored.fps = frame_start, count, capture.clip.fps
    stored.use_phase, stored.use_actions = not capture.phase_follows, capture.scene is not None
    tracks = [_on_off(prop, labels.contacts[:, i], frame_start) for i, prop in enumerate(CONTACTS.values())]
    tracks.append(_phase(labels.phase, frame_start))
    if capture.scene is not None:
        tracks += _of_scene(capture.scene, count, frame_start)
    actions.key(armature.data, f"{armature.name} Labels", _GROUP, tracks)
    gaits = [(int(frame) + frame_start, GAITS[int(labels.gait[frame])]) for frame in timeline.changes(labels.gait)]
    doubts = [(doubt.start + frame_start, doubt.reason) for doubt in labels.doubts]
    label_markers.show(scene, armature, gaits, doubts)


def read(scene: bpy.types.Scene, armature: bpy.types.Object) -> tuple[Labeled, Labels, Scene | None]:
    """What keys and markers say now. Raises LabelError for what does not fit together."""
    stored = of_armature(armature)
    count = stored.frames
    if not any(len(_points(armature, prop)) for prop in CONTACTS.values()):
        raise LabelError(f"'{armature.name}' has no keys of foot contacts any more; undo, or import the capture again.")
    contacts = np.stack([_values(armature, prop) for prop in CONTACTS.values()], axis=1).astype(np.float32)
    marked = label_markers.read(scene, armature)
    frames = np.array([frame - stored.frame_start for frame, _ in marked])
    gait = timeline.held(frames, np.array([GAITS.index(name) for _, name in marked]), count)
    phase = _own_phase(armature) if stored.use_phase else phase_track(contacts, stored.fps)
    labels = Labels(np.zeros((count, 4)), contacts, phase, gait, ())
    told = _scene_of(armature) if stored.use_actions else None
    return Labeled(stored.clip, stored.fps, count), labels, told


def save(scene: bpy.types.Scene, armature: bpy.types.Object, path: Path) -> list[str]:
    """Write a label file of what the timeline says, and show the phase that follows from it. Returns what the user
    should know.

    Raises LabelError for what does not fit together, and UserError when the file cannot be written.
    """
    clip, labels, told = read(scene, armature)
    save_marks(labels, told, clip, path)
    if not of_armature(armature).use_phase:
        _show_phase(armature, labels.phase)
    return _without_keys(armature)


def clear(scene: bpy.types.Scene, armature: bpy.types.Object) -> None:
    """Take all labels away; the capture's motion stays."""
    actions.erase(armature.data, [_PATH + prop for prop in _ALL])
    label_markers.clear(scene, armature)
    stored = of_armature(armature)
    for prop in stored.bl_rna.properties:
        if not prop.is_readonly:
            stored.property_unset(prop.identifier)


def file_of(armature: bpy.types.Object) -> Path:
    """Where training looks for the labels: beside the capture."""
    return marks_beside(Path(bpy.path.abspath(of_armature(armature).filepath)))


def data_of(armature: bpy.types.Object) -> Path:
    """The folder that training reads the capture from."""
    return data_folder(Path(bpy.path.abspath(of_armature(armature).filepath)))


def _without_keys(armature: bpy.types.Object) -> list[str]:
    """Which contacts have no keys any more, and what they count as, a sentence each."""
    stored = of_armature(armature)
    return [
        f"'{name_of(prop)}' has no keys and counts as {'on' if getattr(stored, prop) else 'off'} throughout."
        for prop in CONTACTS.values()
        if not len(_points(armature, prop))
    ]


def _show_phase(armature: bpy.types.Object, phase: Array) -> None:
    """Key the phase that follows from the contacts, in place of the one that is keyed."""
    actions.erase(armature.data, [_PATH + "phase"])
    track = _phase(phase, of_armature(armature).frame_start)
    actions.key(armature.data, f"{armature.name} Labels", _GROUP, [track])


def _of_scene(told: Scene, count: int, first: int) -> Iterator[actions.Track]:
    """The tracks of what is done besides walking."""
    for props, values in ((ACTIONS, told.besides), (TOUCHING, told.touching)):
        for column, prop in enumerate(props.values()):
            yield _on_off(prop, values[:, column], first)
    numbers = timeline.numbered(told.transitions, count)
    yield _held("transition", numbers, first)


def _on_off(prop: str, values: Array, first: int) -> actions.Track:
    return _held(prop, (values > 0.5).astype(int), first)


def _held(prop: str, values: Array, first: int) -> actions.Track:
    """Keys that hold; those that begin something are drawn larger than those that end it."""
    frames = timeline.changes(values)
    return actions.Track(
        _PATH + prop,
        frames + first,
        values[frames],
        ["EXTREME" if value else "BREAKDOWN" for value in values[frames].tolist()],
    )


def _phase(phase: Array, first: int) -> actions.Track:
    """Keys between which the phase rises evenly, in cycles."""
    cycles = phase / _CYCLE
    frames = timeline.corners(cycles, _PHASE_OFF)
    return actions.Track(_PATH + "phase", frames + first, cycles[frames], ["KEYFRAME"] * len(frames), straight=True)


def _points(armature: bpy.types.Object, prop: str) -> Array:
    return actions.points(armature.data, _PATH + prop)


def _frames(stored: NSM_PG_labels, points: Array) -> Array:
    """The capture's frames (K,) of keys (K, 2)."""
    out: Array = np.round(points[:, 0]).astype(int) - stored.frame_start
    return out


def _values(armature: bpy.types.Object, prop: str) -> Array:
    """A label (T,) at the capture's frames, whole numbers; without keys it is what the panel shows."""
    stored, points = of_armature(armature), _points(armature, prop)
    if not len(points):
        return np.full(stored.frames, int(getattr(stored, prop)))
    return timeline.held(_frames(stored, points), np.round(points[:, 1]).astype(int), stored.frames)


def _own_phase(armature: bpy.types.Object) -> Array:
    """The keyed phase (T,) in radians. Raises LabelError."""
    stored, points = of_armature(armature), _points(armature, "phase")
    if len(points) < 2:
        raise LabelError("The phase needs two keys at least; key it, or switch Override Phase off.")
    cycles = timeline.straight(_frames(stored, points), points[:, 1].astype(float), stored.frames)
    back = np.flatnonzero(np.diff(cycles) < _BACKWARD)
    if len(back):
        raise LabelError(
            f"The phase runs backward after frame {int(back[0]) + stored.frame_start}; let each of its keys be higher "
            "than the one before, or switch Override Phase off."
        )
    out: Array = np.maximum.accumulate(cycles) * _CYCLE
    return out


def _scene_of(armature: bpy.types.Object) -> Scene:
    besides = {prop: _values(armature, prop) for prop in ACTIONS.values()}
    _check_overlaps(besides, of_armature(armature).frame_start)
    return Scene(
        np.stack(list(besides.values()), axis=1).astype(np.float32),
        np.stack([_values(armature, prop) for prop in TOUCHING.values()], axis=1).astype(np.float32),
        timeline.stretches_of(_values(armature, "transition")),
    )


def _check_overlaps(besides: dict[str, Array], first: int) -> None:
    for one, other in combinations(_ALONE, 2):
        both = np.flatnonzero((besides[one] > 0) & (besides[other] > 0))
        if len(both):
            raise LabelError(
                f"'{name_of(one)}' and '{name_of(other)}' are both on at frame {int(both[0]) + first}; let the first "
                "end before the second begins."
            )
