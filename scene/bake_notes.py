# SPDX-License-Identifier: GPL-3.0-or-later
"""What a baked action notes of the time before it, as JSON text in a custom property.

A file may come from anywhere, so nothing that it says is followed before it was checked: which properties a bake writes
is known, and of which kind their values are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import bpy

from ..nsm_blender.errors import FileFormatError, UserError
from ..nsm_blender.files import parse_json
from .lookup import MARK

PREVIOUS = "nsm_previous_action"
"""Custom property of a baked action: the action that was assigned before. It keeps that action from being purged."""

BLENDING = {"action_blend_type": "REPLACE", "action_influence": 1.0, "action_extrapolation": "HOLD"}
"""The settings with which an action decides its bones alone."""

_BLEND_TYPES = {"REPLACE", "COMBINE", "ADD", "SUBTRACT", "MULTIPLY"}
_EXTRAPOLATIONS = {"NOTHING", "HOLD", "HOLD_FORWARD"}

_TRANSFORM = r"location|scale|rotation_(?:euler|quaternion|axis_angle)"
_BONE = r'pose\.bones\["(?:[^"\\]|\\.)*"\]'
_WRITTEN = re.compile(rf'(?:{_TRANSFORM}|{_BONE}\.(?:{_TRANSFORM}|ik_stretch)|{_BONE}\["[^"]*"\])')
"""Paths of the properties that a bake may key: transforms of an object or a bone, and a bone's custom properties."""
_CUSTOM = re.compile(rf'(?P<owner>{_BONE})\["(?P<name>[^"]*)"\]')
"""Path of a bone's custom property."""
_LONGEST = 4
"""Components that a property has at most that a bake keys."""


class ActionError(UserError):
    """A bake cannot be removed, or an action cannot be assigned."""


@dataclass(frozen=True, eq=False)
class Note:
    """What moved an object before a bake, besides the action that is named by the custom property PREVIOUS.

    had_animation: it had animation data. slot, last_slot: identifiers. blending: how the action was blended. pose: the
    values that the keyed properties had, by their paths.
    """

    had_animation: bool
    slot: str
    last_slot: str
    blending: dict[str, Any]
    pose: dict[str, Any]

    def write(self, action: bpy.types.Action) -> None:
        """Keep the note on a baked action."""
        action[MARK] = json.dumps(asdict(self))


def read(action: bpy.types.Action) -> Note:
    """The note of a baked action. Raises ActionError when it is not such as a bake writes."""
    try:
        note = Note(**parse_json(str(action[MARK]), dict, "the note of a bake", action.name))
    except (KeyError, TypeError, FileFormatError):
        raise ActionError(_damaged(action)) from None
    told = all(isinstance(text, str) for text in (note.slot, note.last_slot)) and isinstance(note.had_animation, bool)
    if not (told and _is_blending(note.blending) and _is_pose(note.pose)):
        raise ActionError(_damaged(action))
    return note


def is_sound(action: bpy.types.Action) -> bool:
    """Whether the note of a baked action can be read."""
    try:
        read(action)
    except ActionError:
        return False
    return True


def previous(action: bpy.types.Action) -> bpy.types.Action | None:
    """The action that was assigned before a bake; None when there was none, or when a file names the bake itself."""
    return next((one for one in chain(action, PREVIOUS) if one != action), None)


def chain(action: bpy.types.Action | None, link: str) -> Iterator[bpy.types.Action]:
    """An action, the action that its custom property `link` names, and so on; each once, even where a file has them
    go round in a circle."""
    seen = set[int]()
    while isinstance(action, bpy.types.Action) and action.session_uid not in seen:
        seen.add(action.session_uid)
        yield action
        action = action.get(link)


def value(obj: bpy.types.Object, path: str) -> Any:
    """A property's value as JSON's plain data."""
    found = obj.path_resolve(path)
    return found if isinstance(found, bool | int | float) else list(found)


def give_back(obj: bpy.types.Object, path: str, given: Any) -> None:
    """Set a property of the object, of a bone, or a bone's custom property to what `value` read.

    A property that is gone, as that of a bone which was renamed since, or that is of another kind now, stays as it is.
    """
    custom = _CUSTOM.fullmatch(path)
    owner, _, attribute = (custom["owner"], "", custom["name"]) if custom else path.rpartition(".")
    try:
        now = value(obj, path)
        block = obj.path_resolve(owner) if owner else obj
    except (ValueError, TypeError):
        return
    if isinstance(now, list) != isinstance(given, list) or (isinstance(now, list) and len(now) != len(given)):
        return
    if custom is None:
        setattr(block, attribute, given)
    else:
        block[attribute] = given
        obj.update_tag(refresh={"DATA"})


def _is_blending(blending: Any) -> bool:
    if not isinstance(blending, dict) or set(blending) != set(BLENDING):
        return False
    influence = blending["action_influence"]
    return (
        blending["action_blend_type"] in _BLEND_TYPES
        and blending["action_extrapolation"] in _EXTRAPOLATIONS
        and _is_number(influence)
        and 0.0 <= influence <= 1.0
    )


def _is_pose(pose: Any) -> bool:
    return isinstance(pose, dict) and all(_WRITTEN.fullmatch(path) and _is_value(one) for path, one in pose.items())


def _is_value(one: Any) -> bool:
    if isinstance(one, list):
        return 0 < len(one) <= _LONGEST and all(_is_number(component) for component in one)
    return _is_number(one)


def _is_number(one: Any) -> bool:
    return isinstance(one, bool | int | float)


def _damaged(action: bpy.types.Action) -> str:
    return (
        f"The notes of the bake '{action.name}' were changed, so that it cannot be removed; "
        "unassign the action instead."
    )
