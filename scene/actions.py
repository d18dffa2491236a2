# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions, slots and keys: the one file that knows how Blender's versions differ in them.

4.2 and 4.3 keep curves in the action. From 4.4 on they lie in a channelbag of a slot, and from 5.0 on only there.
A bake is one new action that carries what is needed to take it away; see bake_notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from . import bake_notes, thinning
from .bake_notes import BLENDING, PREVIOUS, ActionError, Note
from .lookup import baked
from .thinning import Keys

__all__ = ("PREVIOUS", "ActionError", "Keys")

Array = NDArray[Any]

OURS = "nsm_"
"""What the names of the custom properties of a baked action begin with."""
MADE = "nsm_action_keys"
"""Custom property of an action that was made for keys of action lists or labels on an armature's data."""


@dataclass(frozen=True, eq=False)
class Channel:
    """Keys of one property: `path` from the object, `values` (frames, components), the `group` they are shown in.

    components: those that are keyed; none given are all.
    """

    path: str
    values: Array
    group: str
    components: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Track:
    """Keys of one animatable property of a data-block: `frames` (K,) in order, `values` (K,), `types` (K,) of keys.
    straight: with lines between the keys; else each holds until the next."""

    path: str
    frames: Array
    values: Array
    types: Sequence[str]
    straight: bool = False


@dataclass(frozen=True, eq=False)
class Assigned:
    """What moves an object: an action with the identifier of its slot, how that is blended, and the values, by their
    paths, that properties have without it."""

    action: bpy.types.Action | None
    slot: str
    last_slot: str
    blending: dict[str, Any]
    values: dict[str, Any]


@dataclass(frozen=True)
class Removed:
    """What `remove` did: the action's name, and the number of hand-made keys that were left in it."""

    action: str
    kept_keys: int


def of(obj: bpy.types.ID) -> list[bpy.types.FCurve]:
    """The curves that animate `obj` through its active action."""
    return [curve for bag in _bags_of(obj) for curve in bag.fcurves]


def check_assignable(obj: bpy.types.Object) -> None:
    """Raise ActionError when an action assigned to `obj` would not move it."""
    animation = obj.animation_data
    if animation is None:
        return
    if animation.use_tweak_mode:
        raise ActionError(f"'{obj.name}' is in the tweak mode of the NLA editor; leave it (Tab) before baking.")
    solo = [track.name for track in animation.nla_tracks if track.is_solo] if animation.use_nla else []
    if solo:
        raise ActionError(f"The NLA track '{solo[0]}' of '{obj.name}' plays solo and hides a bake; switch solo off.")


def assigned(obj: bpy.types.Object, paths: Iterable[str] = ()) -> Assigned:
    """What moves `obj` now, which has animation data, and the values of the properties `paths`."""
    animation = obj.animation_data
    slot = last = ""
    if _slotted():
        slot = animation.action_slot.identifier if animation.action_slot else ""
        last = animation.last_slot_identifier
    blending = {key: getattr(animation, key) for key in BLENDING}
    values = {path: bake_notes.value(obj, path) for path in paths}
    return Assigned(animation.action, slot, last, blending, values)


def assigned_before(action: bpy.types.Action) -> Assigned:
    """What moved the object when the bake `action` was begun. Raises ActionError."""
    note = bake_notes.read(action)
    return Assigned(bake_notes.previous(action), note.slot, note.last_slot, note.blending, note.pose)


def assign(obj: bpy.types.Object, state: Assigned) -> None:
    """Let `state` move `obj`, which has animation data."""
    animation = obj.animation_data
    animation.action = state.action
    if _slotted():
        if state.action is not None:
            animation.action_slot = next((s for s in state.action.slots if s.identifier == state.slot), None)
        animation.last_slot_identifier = state.last_slot
    for key, value in state.blending.items():
        setattr(animation, key, value)
    for path, value in state.values.items():
        bake_notes.give_back(obj, path, value)


def show(obj: bpy.types.Object, action: bpy.types.Action) -> None:
    """Let an action that `begin` made for `obj`, which has animation data, move it."""
    animation = obj.animation_data
    animation.action = action
    if _slotted():
        animation.action_slot = action.slots[0]
    for key, value in BLENDING.items():
        setattr(animation, key, value)


def begin(obj: bpy.types.Object, name: str) -> bpy.types.Action:
    """Give `obj` a new, empty action and note in it what was assigned before."""
    had_animation = obj.animation_data is not None
    animation = obj.animation_data or obj.animation_data_create()
    was = assigned(obj)
    action = bpy.data.actions.new(name)
    if was.action is not None:
        action[PREVIOUS] = was.action
    Note(had_animation, was.slot, was.last_slot, was.blending, {}).write(action)
    try:
        animation.action = action
        if _slotted():
            animation.action_slot = action.slots.new(id_type="OBJECT", name=obj.name)
        for key, value in BLENDING.items():
            setattr(animation, key, value)
    except BaseException:
        discard(obj, action)
        raise
    return action


def write(obj: bpy.types.Object, action: bpy.types.Action, frames: Array, channels: Sequence[Channel]) -> int:
    """Write GENERATED keys into `action`, which `begin` made for `obj`, that show each frame's value; returns how many.

    frames: (F,) frame numbers, one after the other. What the channels were before is noted in the action.
    """
    note = bake_notes.read(action)
    note.pose.update({channel.path: bake_notes.value(obj, channel.path) for channel in channels})
    note.write(action)
    curves, written = _NewCurves(action, obj), 0
    for channel in channels:
        components = channel.components or range(channel.values.shape[1])
        thinned = thinning.thinned(channel.values[:, list(components)])
        for component, thin in zip(components, thinned, strict=True):
            curve = curves.add(channel.path, component, channel.group)
            curve.color_mode = "AUTO_YRGB" if channel.values.shape[1] == 4 else "AUTO_RGB"
            _fill(curve, frames[thin.at], channel.values[thin.at, component], thin)
            written += len(thin.at)
    return written


def generated(action: bpy.types.Action) -> dict[str, list[int]]:
    """By path the components of an action that a bake made and nothing else has a part in: all keys are GENERATED and
    stand at whole frames, and no modifier changes the curve."""
    out: dict[str, list[int]] = {}
    for curve in _curves(action):
        times = keys_of(curve)[0]
        if len(times) and not (_hand_made(curve) or len(curve.modifiers) or (times != np.round(times)).any()):
            out.setdefault(curve.data_path, []).append(curve.array_index)
    return out


def curve_of(action: bpy.types.Action, path: str, component: int) -> bpy.types.FCurve | None:
    """The curve of a property's component; None where there is none."""
    found = (one for one in _curves(action) if one.data_path == path and one.array_index == component)
    return next(found, None)


def keys_of(curve: bpy.types.FCurve) -> tuple[Array, Array, Keys]:
    """Times (K,) and values (K,) of the keys of a curve, and how the curve leads from each to the next."""
    keys = curve.keyframe_points
    sides = {}
    for name in ("co", "handle_left", "handle_right"):
        flat = np.empty(2 * len(keys), dtype=np.float32)
        keys.foreach_get(name, flat)
        sides[name] = flat.reshape(-1, 2).astype(np.float64)
    interpolation = np.empty(len(keys), dtype=np.int32)
    keys.foreach_get("interpolation", interpolation)
    times, values = sides["co"].T
    away = np.stack([times, np.zeros(len(times))], axis=1)
    curved = interpolation == _enum(bpy.types.Keyframe.bl_rna.properties["interpolation"], "BEZIER")
    at = np.arange(len(times))
    return times, values, Keys(at, sides["handle_left"] - away, sides["handle_right"] - away, curved)


def refill(curve: bpy.types.FCurve, times: Array, values: Array, keys: Keys) -> None:
    """Give a curve these keys instead of its own; see `keys_of`."""
    curve.keyframe_points.clear()
    _fill(curve, times, values, keys)


def mark(action: bpy.types.Action, markers: Iterable[tuple[int, str]]) -> None:
    """Add pose markers, each a frame and a name."""
    for frame, name in markers:
        action.pose_markers.new(name).frame = frame


def make_cyclic(obj: bpy.types.Object, action: bpy.types.Action, frames: tuple[int, int], *, on: bool) -> None:
    """Let the action that moves `obj` go round between two frames, of which the last shows the first one again.

    on: each round begins where the one before ended; places get farther by as much as they do in a round.
    """
    set_range(action, frames)
    action.use_cyclic = True
    for curve in of(obj):
        rounds: Any = curve.modifiers.new("CYCLES")
        rounds.mode_before = rounds.mode_after = "REPEAT"
        if on and curve.data_path.rpartition(".")[2] == "location":
            rounds.mode_before = rounds.mode_after = "REPEAT_OFFSET"


def push_down(obj: bpy.types.Object, track: str) -> str:
    """Make the action that moves `obj` a strip on a new track above the others, where it begins; returns the track's
    name. It holds its last pose until a later strip, and the lowest strip its first pose before it."""
    animation = obj.animation_data
    action, slot = animation.action, animation.action_slot if _slotted() else None
    is_lowest = not animation.nla_tracks
    made = animation.nla_tracks.new()
    made.name = track
    strip: Any = made.strips.new(action.name, round(action.frame_range[0]), action)
    if slot is not None:
        strip.action_slot = slot
    strip.name = action.name
    strip.extrapolation = "HOLD" if is_lowest else "HOLD_FORWARD"
    strip.blend_type, strip.influence = animation.action_blend_type, animation.action_influence
    animation.action = None
    return made.name


def set_range(action: bpy.types.Action, frames: tuple[int, int]) -> None:
    """Note the first and the last frame of an action in it."""
    action.use_frame_range = True
    action.frame_start, action.frame_end = frames


def remove(obj: bpy.types.Object) -> Removed:
    """Take the bake of `obj` away and assign again what was assigned before. Raises ActionError.

    Keys that were added by hand stay in the action, which is then kept with a fake user.
    """
    return discard(obj, removable(obj))


def removable(obj: bpy.types.Object, uses: int = 1) -> bpy.types.Action:
    """The bake of `obj` that `remove` takes away. Raises ActionError when there is none, or when it has more than these
    uses."""
    action = baked(obj)
    if action is None:
        raise ActionError(f"'{obj.name}' has no bake to remove; its active action was not made by a bake.")
    if action.users - action.use_fake_user > uses:
        raise ActionError(
            f"The action '{action.name}' is also used by an NLA strip or another object; delete that use first."
        )
    return action


def discard(obj: bpy.types.Object, action: bpy.types.Action) -> Removed:
    """Undo `begin` and `write`, finished or not. Raises ActionError, and then nothing has changed.

    Where another action was assigned since, that one stays.
    """
    before = assigned_before(action)
    had_animation = bake_notes.read(action).had_animation
    animation = obj.animation_data
    if animation is not None and animation.action == action:
        assign(obj, replace(before, values={}))
        if not had_animation and not animation.drivers and not animation.nla_tracks:
            obj.animation_data_clear()
    removed = drop(action)
    for path, value in before.values.items():
        bake_notes.give_back(obj, path, value)
    return removed


def drop(action: bpy.types.Action) -> Removed:
    """Take a baked action away that moves nothing any more; with keys made by hand it becomes an ordinary one."""
    name, kept = action.name, _delete_generated(action)
    if not kept:
        bpy.data.actions.remove(action)
        return Removed(name, 0)
    ours = [key for key, _ in action.items() if key.startswith(OURS)]
    for key in ours:
        del action[key]
    action.use_fake_user = True
    return Removed(name, kept)


def has_hand_made_keys(action: bpy.types.Action) -> bool:
    """Whether a baked action has keys that no bake made."""
    return any(_hand_made(curve) for curve in _curves(action))


def key(owner: bpy.types.ID, name: str, group: str, tracks: Iterable[Track]) -> None:
    """Key properties of a data-block that have no keys, in the action that it has, else in a new one, `name`."""
    ensure(owner, name)
    for track in tracks:
        # Blender makes the curve, and knows which properties have whole values.
        owner.keyframe_insert(track.path, frame=float(track.frames[0]), group=group)
        curve = next(curve for curve in of(owner) if curve.data_path == track.path)
        points, kinds = curve.keyframe_points, bpy.types.Keyframe.bl_rna.properties
        points.add(len(track.frames) - 1)
        points.foreach_set("co", np.stack([track.frames, track.values], axis=1).astype(np.float32).ravel())
        types = [_enum(kinds["type"], one) for one in track.types]
        points.foreach_set("type", np.array(types, dtype=np.int32))
        line = _enum(kinds["interpolation"], "LINEAR" if track.straight else "CONSTANT")
        points.foreach_set("interpolation", np.full(len(points), line, dtype=np.int32))
        curve.extrapolation = "LINEAR" if track.straight else "CONSTANT"
        curve.update()


def ensure(owner: bpy.types.ID, name: str) -> None:
    """Give a data-block without an action a new one of its own, `name`.

    Blender 4.4 and later would put its keys into the action of a related one, such as the bake of an armature's object.
    """
    animation = owner.animation_data or owner.animation_data_create()
    if animation.action is not None:
        return
    made = bpy.data.actions.new(name)
    made[MADE] = True
    animation.action = made
    if _slotted():
        animation.action_slot = made.slots.new(id_type=owner.id_type, name=owner.name)


def points(owner: bpy.types.ID, path: str) -> Array:
    """Frames and values (K, 2) of the keys of a property of a data-block, in order."""
    for curve in of(owner):
        if curve.data_path == path:
            out = np.empty(2 * len(curve.keyframe_points), dtype=np.float32)
            curve.keyframe_points.foreach_get("co", out)
            return out.reshape(-1, 2)
    return np.zeros((0, 2), dtype=np.float32)


def erase(owner: bpy.types.ID, paths: Sequence[str]) -> None:
    """Take the keys of properties of a data-block away, and the action that was made for them when it is empty then."""
    made = owner.animation_data.action if owner.animation_data else None
    for bag in _bags_of(owner):
        ours = [curve for curve in bag.fcurves if curve.data_path in paths]
        groups = {curve.group.name for curve in ours if curve.group is not None}
        for curve in ours:
            bag.fcurves.remove(curve)
        # Blender 4.4 and later take a group away with its last curve.
        for group in [group for group in bag.groups if group.name in groups and not len(group.channels)]:
            bag.groups.remove(group)
    if made is not None:
        drop_empty(owner, made)


def drop_empty(owner: bpy.types.ID, made: bpy.types.Action) -> None:
    """Take the action of a data-block away that `ensure` made, when nothing is left in it.

    made: the action, which Blender 4.2 unassigns with its last key.
    """
    if of(owner) or not made.get(MADE):
        return
    owner.animation_data.action = None
    if not made.users:
        bpy.data.actions.remove(made)
    if not owner.animation_data.drivers and not owner.animation_data.nla_tracks:
        owner.animation_data_clear()


def _slotted() -> bool:
    return bpy.app.version >= (4, 4, 0)


def _bags_of(obj: bpy.types.ID) -> list[Any]:
    """What holds the curves that animate `obj` through its active action."""
    animation = getattr(obj, "animation_data", None)
    if animation is None or animation.action is None:
        return []
    if not _slotted():
        return [animation.action]
    return [] if animation.action_slot is None else _channelbags(animation.action, animation.action_slot)


def _channelbags(action: bpy.types.Action, slot: Any = None) -> list[Any]:
    """The channelbags of one slot, or of all slots."""
    strips: list[Any] = [strip for layer in action.layers for strip in layer.strips]
    if slot is not None:
        return [bag for strip in strips if (bag := strip.channelbag(slot)) is not None]
    return [bag for strip in strips for bag in strip.channelbags]


def _curves(action: bpy.types.Action) -> list[bpy.types.FCurve]:
    """All curves of an action."""
    return [curve for bag in (_channelbags(action) if _slotted() else [action]) for curve in bag.fcurves]


def _hand_made(curve: bpy.types.FCurve) -> bool:
    """Whether a curve has keys that no bake made."""
    kinds = np.empty(len(curve.keyframe_points), dtype=np.int32)
    curve.keyframe_points.foreach_get("type", kinds)
    return bool((kinds != _generated()).any())


class _NewCurves:
    """Adds curves to the slot of `obj` in `action`, grouped by name."""

    def __init__(self, action: bpy.types.Action, obj: bpy.types.Object) -> None:
        if not _slotted():
            self._bag: Any = action
            return
        layer = action.layers[0] if action.layers else action.layers.new("Bake")
        strip: Any = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
        self._bag = strip.channelbag(obj.animation_data.action_slot, ensure=True)

    def add(self, path: str, component: int, group: str) -> bpy.types.FCurve:
        curve = self._bag.fcurves.new(path, index=component)
        curve.group = self._bag.groups.get(group) or self._bag.groups.new(group)
        return curve


def _delete_generated(action: bpy.types.Action) -> int:
    """Delete the generated keys, and the curves that are empty then. Returns the number of keys that are left."""
    kept = 0
    for bag in _channelbags(action) if _slotted() else [action]:
        for curve in list(bag.fcurves):
            hand_made = [key for key in curve.keyframe_points if key.type != "GENERATED"]
            if not hand_made:
                bag.fcurves.remove(curve)
                continue
            kept += len(hand_made)
            for index in reversed(range(len(curve.keyframe_points))):
                key = curve.keyframe_points[index]
                if key.type == "GENERATED":
                    curve.keyframe_points.remove(key, fast=True)
            curve.update()
    return kept


def _fill(curve: bpy.types.FCurve, times: Array, values: Array, thin: Keys) -> None:
    """Give an empty curve K keys at times (K,) with values (K,), and the handles of `thin`."""
    count = len(times)
    from_start = np.stack([times, np.zeros(count)], axis=1)
    sides = {
        "co": np.stack([times, values], axis=1),
        "handle_left": from_start + thin.left,
        "handle_right": from_start + thin.right,
    }
    kinds = bpy.types.Keyframe.bl_rna.properties
    free = np.full(count, _enum(kinds["handle_left_type"], "FREE"), dtype=np.int32)
    curved, straight = (_enum(kinds["interpolation"], name) for name in ("BEZIER", "LINEAR"))
    generated = np.full(count, _generated(), dtype=np.int32)
    keys = curve.keyframe_points
    keys.add(count)
    # First, so that whatever happens they are not taken for keys made by hand.
    keys.foreach_set("type", generated)
    for name, places in sides.items():
        keys.foreach_set(name, places.astype(np.float32).ravel())
    keys.foreach_set("handle_left_type", free)
    keys.foreach_set("handle_right_type", free)
    keys.foreach_set("interpolation", np.where(thin.curved, curved, straight).astype(np.int32))
    curve.update()


def _generated() -> int:
    """The number of the type of keys that a bake makes."""
    return _enum(bpy.types.Keyframe.bl_rna.properties["type"], "GENERATED")


def _enum(prop: Any, identifier: str) -> int:
    return int(prop.enum_items[identifier].value)
