# SPDX-License-Identifier: GPL-3.0-or-later
"""When action keys set off: in the list, as markers on the timeline and as keyframes in the dope sheet.

All three can be moved. Each key remembers the frame at which its marker and its keyframe were put; what is found
elsewhere was moved. Reading changes nothing; `update` writes all three alike.
"""

from __future__ import annotations

from typing import Any

import bpy

from . import actions, keys

PREFIX = "NSM"
"""Beginning of the markers' names."""
PATH = "nsm.action"
"""The property of the armature's data that the dope sheet shows."""
_GROUP = "Action Keys"


def frames(scene: bpy.types.Scene, armature: bpy.types.Object) -> list[int | None]:
    """The frame at which each key sets off, as the animator last put it; None for one that waits for its turn."""
    listed = [key for key in keys.of_character(armature) if key.start == "FRAME"]
    moved = _moved_keyframes(armature, listed)
    out: list[int | None] = []
    for key in keys.of_character(armature):
        marker = _marker(scene, armature, key)
        if key.start != "FRAME":
            out.append(None)
        elif not key.marker or key.frame != key.shown:
            out.append(key.frame)
        elif key.shown in moved:
            out.append(moved[key.shown])
        else:
            out.append(key.frame if marker is None else marker.frame)
    return out


def update(scene: bpy.types.Scene, armature: bpy.types.Object) -> None:
    """Put frames, markers and keyframes where they were moved last."""
    found = frames(scene, armature)
    for key, frame in zip(keys.of_character(armature), found, strict=True):
        if frame is not None and key.frame != frame:
            key.frame = frame
    _write_markers(scene, armature)
    _write_keyframes(armature)


def is_current(scene: bpy.types.Scene, armature: bpy.types.Object) -> bool:
    """Whether `update` would change nothing."""
    for number, key in enumerate(keys.of_character(armature), start=1):
        marker = _marker(scene, armature, key)
        if (key.start == "FRAME") != (marker is not None):
            return False
        if marker is not None and not (
            key.frame == key.shown == marker.frame and marker.name == _name(armature, number, key)
        ):
            return False
    return set(_keyframes(armature)) == set(_wanted(armature)) or not _can_be_keyed(armature.data)


def forget(scene: bpy.types.Scene, armature: bpy.types.Object, key: keys.NSM_PG_action_key) -> None:
    """Take the marker of a key away that is about to go."""
    marker = _marker(scene, armature, key)
    if marker is not None:
        scene.timeline_markers.remove(marker)
    key.marker = ""


def _name(armature: bpy.types.Object, number: int, key: keys.NSM_PG_action_key) -> str:
    return f"{PREFIX} {armature.name} {number}: {keys.label(key)}"


def _marker(
    scene: bpy.types.Scene, armature: bpy.types.Object, key: keys.NSM_PG_action_key
) -> bpy.types.TimelineMarker | None:
    """The marker of a key. A copied character's keys still name those of the original, which are not its own."""
    if not key.marker or _is_of_another(armature, key):
        return None
    return scene.timeline_markers.get(key.marker)


def _is_of_another(armature: bpy.types.Object, key: keys.NSM_PG_action_key) -> bool:
    owner = key.marker.removeprefix(f"{PREFIX} ").rsplit(":", 1)[0].rsplit(" ", 1)[0]
    other = bpy.data.objects.get(owner)
    return other is not None and other != armature and any(k.marker == key.marker for k in keys.of_character(other))


def _write_markers(scene: bpy.types.Scene, armature: bpy.types.Object) -> None:
    for number, key in enumerate(keys.of_character(armature), start=1):
        marker = _marker(scene, armature, key)
        if key.start != "FRAME":
            forget(scene, armature, key)
            continue
        name = _name(armature, number, key)
        if marker is None:
            marker = scene.timeline_markers.new(name, frame=key.frame)
        marker.name, marker.frame = name, key.frame
        key.marker, key.shown = marker.name, key.frame


def _wanted(armature: bpy.types.Object) -> dict[int, str]:
    """Frame -> action of the keyframes; of keys at one frame the last counts."""
    return {key.frame: key.action for key in keys.of_character(armature) if key.start == "FRAME"}


def _moved_keyframes(armature: bpy.types.Object, listed: list[Any]) -> dict[int, int]:
    """Where keyframes went: the frame at which they were put -> the frame at which they are now.

    Told apart by their order. When some were added or deleted, nothing tells which is which.
    """
    if not _can_be_keyed(armature.data):
        return {}
    put, found = {key.shown for key in listed if key.marker}, set(_keyframes(armature))
    gone, come = sorted(put - found), sorted(found - put)
    return dict(zip(gone, come, strict=True)) if len(gone) == len(come) else {}


def _keyframes(armature: bpy.types.Object) -> list[int]:
    return [round(point.co.x) for curve in _curves(armature.data) for point in curve.keyframe_points]


def _curves(data: bpy.types.ID) -> list[bpy.types.FCurve]:
    return [curve for curve in actions.of(data) if curve.data_path == PATH]


def _can_be_keyed(data: bpy.types.ID) -> bool:
    """Characters that share their data, or its action, would share the keyframes; then there are markers only."""
    action = data.animation_data.action if data.animation_data else None
    alone = action is None or (action.library is None and action.users - action.use_fake_user == 1)
    return data.users == 1 and data.library is None and alone


def _write_keyframes(armature: bpy.types.Object) -> None:
    data, wanted = armature.data, _wanted(armature)
    if not _can_be_keyed(data) or set(_keyframes(armature)) == set(wanted) == set(_values(armature, wanted)):
        return
    if wanted:
        actions.ensure(data, f"{armature.name} Action Keys")
    before = data.nsm.action
    for frame, action in wanted.items():
        data.nsm.action = action
        data.keyframe_insert(PATH, frame=frame, group=_GROUP)
    data.nsm.action = before
    made = data.animation_data.action
    # Last, as Blender 4.2 takes an action away with its last keyframe.
    for place in [point.co.x for curve in _curves(data) for point in curve.keyframe_points]:
        if place not in wanted:
            data.keyframe_delete(PATH, frame=place)
    if not wanted:
        actions.drop_empty(data, made)


def _values(armature: bpy.types.Object, wanted: dict[int, str]) -> list[int]:
    """The frames of `wanted` at which the keyframes have its value."""
    numbers = {item[0]: item[4] for item in keys.ACTION_ITEMS}
    curves = _curves(armature.data)
    return [frame for frame, action in wanted.items() if curves and curves[0].evaluate(frame) == numbers[action]]
