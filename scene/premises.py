# SPDX-License-Identifier: GPL-3.0-or-later
"""What work that takes a while rests on: whether scene, character, curve and goals are still what they were.

Between two slices of the work anything may happen to Blender's data: a script, a timer, undo, another file. So nothing
is kept but numbers and names, and each time the data-blocks are found anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import bpy

from . import bake_notes, lookup

_COLLECTIONS = (
    (bpy.types.Object, "objects"),
    (bpy.types.Action, "actions"),
    (bpy.types.Scene, "scenes"),
)


@dataclass(frozen=True)
class _Held:
    """A data-block that has to stay. said: how the sentence names it."""

    collection: str
    uid: int
    name: str
    said: str

    def find(self) -> bpy.types.ID | None:
        """The data-block as it is now."""
        blocks = getattr(bpy.data, self.collection)
        block: bpy.types.ID | None = blocks.get(self.name)
        return block if block is not None and block.session_uid == self.uid else lookup.find(blocks, self.uid)


@dataclass(frozen=True)
class _Character:
    """An armature that is written to. data: the number of its armature. bones: those that the work knows by name."""

    held: _Held
    data: int
    bones: tuple[str, ...]

    def lost(self) -> str:
        """What happened to it, or nothing."""
        said = self.held.said
        obj = self.held.find()
        if not isinstance(obj, bpy.types.Object):
            return f"{said} was deleted"
        if obj.data is None or obj.data.session_uid != self.data:
            return f"{said} was given another armature"
        if obj.mode == "EDIT":
            return f"{said} was put into edit mode"
        gone = next((bone for bone in self.bones if bone not in obj.data.bones or bone not in obj.pose.bones), None)
        if gone is not None:
            return f"the bone '{gone}' of {said} was deleted or renamed"
        # A view layer learns late that an object was unlinked.
        there = bpy.context.scene.objects.get(obj.name) == obj and obj.name in bpy.context.view_layer.objects
        if obj.hide_viewport or not there:
            return f"{said} was taken out of the view layer"
        return ""


@dataclass(frozen=True)
class _Assignment:
    """An action that has to stay assigned to what it moves."""

    action: _Held
    owner: _Held

    def lost(self) -> str:
        """What happened to it, or nothing."""
        action, owner = self.action.find(), self.owner.find()
        if not isinstance(action, bpy.types.Action):
            return f"{self.action.said} was deleted"
        if not isinstance(owner, bpy.types.Object):
            return f"{self.owner.said} was deleted"
        animation = owner.animation_data
        if animation is None or animation.action != action:
            return f"{self.action.said} was taken from {self.owner.said}"
        if not bake_notes.is_sound(action):
            return f"{self.action.said} was damaged"
        if bpy.app.version >= (4, 4, 0) and animation.action_slot is None:
            return f"{self.action.said} lost its slot"
        return ""


class Premises:
    """What some work rests on, the open scene first of all."""

    def __init__(self) -> None:
        self._scene = _held(bpy.context.scene, "the scene")
        self._held: list[_Held] = []
        self._characters: list[_Character] = []
        self._assignments: list[_Assignment] = []
        self._parts: list[Premises] = []

    def include(self, other: Premises) -> None:
        """All that a part of the work rests on, now and later, has to hold for the whole."""
        self._parts.append(other)

    def hold(self, blocks: Iterable[tuple[str, bpy.types.Object | bpy.types.Action | None]]) -> None:
        """These objects and actions have to stay, each with what it is; where there is none, nothing has to."""
        self._held += [_held(block, f"the {kind}") for kind, block in blocks if block is not None]

    def hold_character(self, armature: bpy.types.Object, bones: Sequence[str]) -> None:
        """This armature has to stay as it is, with these bones."""
        self._characters.append(_Character(_held(armature, "the rig"), armature.data.session_uid, tuple(bones)))

    def hold_assigned(self, action: bpy.types.Action, owner: bpy.types.Object) -> None:
        """This action has to stay assigned to its owner."""
        self._assignments.append(_Assignment(_held(action, "the action"), _held(owner, "the object")))

    def lost(self) -> str:
        """What is not as it was, as a part of a sentence; empty when all is."""
        if bpy.context.scene is None or bpy.context.scene.session_uid != self._scene.uid:
            return f"{self._scene.said} was left for another one"
        for character in self._characters:
            if what := character.lost():
                return what
        gone = next((held for held in self._held if held.find() is None), None)
        if gone is not None:
            return f"{gone.said} was deleted"
        return next((what for one in (*self._assignments, *self._parts) if (what := one.lost())), "")


def _held(block: bpy.types.ID, kind: str) -> _Held:
    collection = next(name for owner, name in _COLLECTIONS if isinstance(block, owner))
    return _Held(collection, block.session_uid, block.name, f"{kind} '{block.name}'")
