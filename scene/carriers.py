# SPDX-License-Identifier: GPL-3.0-or-later
"""What carries a bone: found by posing the rig and looking, so that constraints and drivers are accounted for.

A bone's keys act in a frame that its parents, constraints and drivers give it. On a rig of controls the parent says
little: a limb may follow the chest through helper bones, or keep the armature's direction. So all bones that are to
be keyed are turned at once, by turns of which no two are alike, and for each the one is sought with which its frame
moved. The pose is put back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from ..nsm_blender.errors import RigError
from ..nsm_blender.motion.rotations import Array
from . import posing

_TURN, _SHIFT = 0.4, 0.05
"""How far the bones are posed to find what carries them: radians, and a share of the rig's height."""
_ANGLE, _PLACE = 2e-3, 2e-4
"""How well a frame has to move with its carrier: as a matrix entry, and a share of the rig's height."""
_SEED = 7
"""Seed of the turns, so that a rig is always described alike."""

_DRIVEN = re.compile(r'pose\.bones\["(?P<bone>(?:[^"\\]|\\.)*)"\]\.(?P<channel>.*)')
"""Path of a bone's property from its object."""

FIXED = -1
"""Stands for the armature itself as a carrier."""

Switches = Mapping[tuple[str, str], Any]
"""Bone and custom property -> value."""


@dataclass(frozen=True, eq=False)
class Carried:
    """A bone that is keyed, and how its channels move it, all in the armature's space.

    turned_by, placed_by, axes_by: index of the bone that carries its orientation, place and the axes of its location,
    or FIXED. turn, axes: (3, 3) and place: (3,) relative to those. limited: constraints limit what keys do.
    """

    name: str
    mode: str
    connected: bool
    limited: bool
    turned_by: int
    turn: Array
    placed_by: int
    place: Array
    axes_by: int
    axes: Array

    def frame(self, poses: Sequence[Array], places: Sequence[Array]) -> tuple[Array, Array, Array]:
        """Orientation, place and location axes that its carriers' poses (T, 3, 3) and places (T, 3) give the bone."""
        turn = self.turn if self.turned_by == FIXED else poses[self.turned_by] @ self.turn
        axes = self.axes if self.axes_by == FIXED else poses[self.axes_by] @ self.axes
        if self.placed_by == FIXED:
            return turn, self.place, axes
        return turn, places[self.placed_by] + poses[self.placed_by] @ self.place, axes


@dataclass(frozen=True, eq=False)
class _State:
    """One pose of the rig. For each bone: its frame and location axes (N, 3, 3), place (N, 3), and as which it shows
    itself (N, 3, 3), (N, 3)."""

    frames: Array
    places: Array
    axes: Array
    shown: Array
    heads: Array


def find(context: bpy.types.Context, obj: bpy.types.Object, names: Sequence[str], switches: Switches) -> list[Carried]:
    """What carries the bones `names` of `obj` with its switches so set; carriers come first in the result.

    The scene is left as it is. Raises RigError for a bone that keys would not move as they say.
    """
    random = np.random.default_rng(_SEED)
    height = _height(obj)
    turns = [
        Quaternion(Vector(random.normal(size=3).tolist()).normalized(), _TURN * random.uniform(0.6, 1.4)) for _ in names
    ]
    shifts = [Vector((random.normal(size=3) * _SHIFT * height).tolist()) for _ in names]
    moved = {
        name: (Matrix.Identity(4) if obj.data.bones[name].use_connect else Matrix.Translation(shift))
        @ turn.to_matrix().to_4x4()
        for name, turn, shift in zip(names, turns, shifts, strict=True)
    }
    still = {name: Matrix.Identity(4) for name in names}
    if is_free(obj, names):
        states = [_by_hand(obj, names, bases) for bases in (still, moved)]
    else:
        with _switched(context, obj, names, switches):
            states = [_evaluated(context, obj, names, bases) for bases in (still, moved)]
    bases = np.array([np.array(moved[name].to_3x3()) for name in names])
    return _sorted([_carried(obj, i, names, states[0], states[1], bases[i], height) for i in range(len(names))])


def is_free(obj: bpy.types.Object, names: Sequence[str]) -> bool:
    """Whether nothing but keys moves the bones and those above them."""
    chain = {bone for name in names for bone in above(obj, name)}
    if any(active_constraint(obj.pose.bones[bone]) for bone in chain):
        return False
    drivers = [*_drivers(obj), *_drivers(obj.data)]
    return not any(f'bones["{bone}"]' in driver.data_path for driver in drivers for bone in chain)


def above(obj: bpy.types.Object, name: str) -> list[str]:
    """A bone and those above it, the topmost first."""
    bone = obj.data.bones[name]
    return [*(parent.name for parent in reversed(bone.parent_recursive)), name]


def active_constraint(bone: bpy.types.PoseBone) -> bpy.types.Constraint | None:
    """The first constraint that acts on a bone."""
    return next((c for c in bone.constraints if c.enabled and c.influence > 0), None)


def driver_of(obj: bpy.types.Object, bone: str) -> str | None:
    """The driven property of a bone's pose, or None."""
    start = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].'
    channels = ("location", "rotation", "scale")
    paths = [d.data_path.removeprefix(start) for d in _drivers(obj) if d.data_path.startswith(start) and not d.mute]
    return next((path for path in paths if path.startswith(channels)), None)


def driven(obj: bpy.types.Object, channel: str) -> set[str]:
    """The bones of which a driver moves a channel whose name begins so."""
    found = (_DRIVEN.match(d.data_path) for d in _drivers(obj) if not d.mute)
    return {bpy.utils.unescape_identifier(m["bone"]) for m in found if m and m["channel"].startswith(channel)}


def _drivers(block: bpy.types.ID) -> list[bpy.types.FCurve]:
    animation = getattr(block, "animation_data", None)
    return list(animation.drivers) if animation is not None else []


def _height(obj: bpy.types.Object) -> float:
    heads = np.array([bone.head_local for bone in obj.data.bones])
    return float(np.ptp(heads, axis=0).max()) or 1.0


@contextmanager
def _switched(
    context: bpy.types.Context, obj: bpy.types.Object, names: Sequence[str], switches: Switches
) -> Iterator[None]:
    """Pose and switches of the user's are put back in the end."""
    before = {key: obj.pose.bones[key[0]][key[1]] for key in switches}
    with posing.kept(context, obj, names):
        try:
            for (bone, name), value in switches.items():
                obj.pose.bones[bone][name] = value
            yield
        finally:
            for (bone, name), value in before.items():
                obj.pose.bones[bone][name] = value
            obj.update_tag(refresh={"DATA"})


def _by_hand(obj: bpy.types.Object, names: Sequence[str], bases: Mapping[str, Matrix]) -> _State:
    """The state with the bones' own transforms `bases`, from the rest pose and the parents alone."""
    poses: dict[str, Matrix] = {}
    for name in (bone for leaf in names for bone in above(obj, leaf)):
        if name not in poses:
            basis = bases[name] if name in bases else obj.pose.bones[name].matrix_basis
            poses[name] = _frame(obj.data.bones[name], poses, basis)
    return _state(obj, names, poses)


def _evaluated(
    context: bpy.types.Context, obj: bpy.types.Object, names: Sequence[str], bases: Mapping[str, Matrix]
) -> _State:
    """The same as Blender evaluates it."""
    for name, basis in bases.items():
        obj.pose.bones[name].matrix_basis = basis
    obj.update_tag(refresh={"DATA"})
    context.view_layer.update()
    shown = obj.evaluated_get(context.evaluated_depsgraph_get()).pose.bones
    chain = {bone for name in names for bone in above(obj, name)}
    return _state(obj, names, {name: shown[name].matrix.copy() for name in chain})


def _state(obj: bpy.types.Object, names: Sequence[str], poses: Mapping[str, Matrix]) -> _State:
    frames = np.array([np.array(_frame(obj.data.bones[name], poses, Matrix.Identity(4))) for name in names])
    moved = np.array(
        [
            [np.array(_frame(obj.data.bones[name], poses, Matrix.Translation(axis)))[:3, 3] for axis in np.eye(3)]
            for name in names
        ]
    )
    shown = np.array([np.array(poses[name]) for name in names])
    places = frames[:, :3, 3]
    return _State(
        _unscaled(frames[:, :3, :3]),
        places,
        (moved - places[:, None]).transpose(0, 2, 1),
        _unscaled(shown[:, :3, :3]),
        shown[:, :3, 3],
    )


def _frame(bone: bpy.types.Bone, poses: Mapping[str, Matrix], basis: Matrix) -> Matrix:
    """Where a bone is in the armature's space with its own transform `basis`, below its parent's pose."""
    if bone.parent is None:
        return bone.convert_local_to_pose(basis, bone.matrix_local)
    return bone.convert_local_to_pose(
        basis,
        bone.matrix_local,
        parent_matrix=poses[bone.parent.name],
        parent_matrix_local=bone.parent.matrix_local,
    )


def _unscaled(axes: Array) -> Array:
    return axes / np.maximum(np.linalg.norm(axes, axis=-2, keepdims=True), 1e-12)


def _carried(
    obj: bpy.types.Object, i: int, names: Sequence[str], still: _State, moved: _State, basis: Array, height: float
) -> Carried:
    name, bone = names[i], obj.pose.bones[names[i]]
    limited = np.abs(moved.frames[i] @ basis - moved.shown[i]).max() > _ANGLE
    if limited and not all(c.type.startswith("LIMIT_") for c in bone.constraints if c.enabled and c.influence > 0):
        raise RigError(_why_not(obj, name))
    parent = _keyed_above(obj, name, names)
    nearest = [FIXED] if parent is None else [names.index(parent), FIXED]
    sought = (
        (_turns(still, still.frames[i]), _turns(moved, moved.frames[i]), _ANGLE),
        (_places(still, still.places[i]), _places(moved, moved.places[i]), _PLACE * height),
        (_turns(still, still.axes[i]), _turns(moved, moved.axes[i]), _ANGLE),
    )
    found = [_best(i, nearest, before, after, enough) for before, after, enough in sought]
    (turned_by, turn, angle), (placed_by, place, apart), (axes_by, axes, _) = found
    if angle > _ANGLE or apart > _PLACE * height:
        raise RigError(_why_not(obj, name))
    connected = bool(obj.data.bones[name].use_connect)
    return Carried(name, bone.rotation_mode, connected, bool(limited), turned_by, turn, placed_by, place, axes_by, axes)


def _turns(state: _State, axes: Array) -> Array:
    """Axes (3, 3) as seen from the armature and from each bone, (1 + N, 3, 3)."""
    return np.concatenate((axes[None], state.shown.transpose(0, 2, 1) @ axes))


def _places(state: _State, place: Array) -> Array:
    """A place (3,) as seen from the armature and from each bone, (1 + N, 3)."""
    seen = np.einsum("nji,nj->ni", state.shown, place - state.heads)
    return np.concatenate((place[None], seen))


def _best(i: int, nearest: Sequence[int], still: Array, moved: Array, enough: float) -> tuple[int, Array, float]:
    """The carrier that a frame moved with, how the frame lies relative to it, and by how much it did not move with it.

    The bones `nearest` are taken first when they move it well `enough`: two bones with their heads at one place
    are both near to each other, though neither carries the other.
    """
    errors = np.abs(still - moved).reshape(len(still), -1).max(axis=1)
    errors[i + 1] = np.inf  # a bone does not carry itself
    best = next((bone + 1 for bone in nearest if errors[bone + 1] < enough), int(np.argmin(errors)))
    return best - 1, still[best], float(errors[best])


def _keyed_above(obj: bpy.types.Object, name: str, names: Sequence[str]) -> str | None:
    """The nearest bone above that is keyed, too."""
    return next((other for other in reversed(above(obj, name)[:-1]) if other in names), None)


def _why_not(obj: bpy.types.Object, name: str) -> str:
    """Why keys do not move a bone as they say."""
    for other in reversed(above(obj, name)):
        constraint = active_constraint(obj.pose.bones[other])
        if constraint is not None:
            return (
                f"The bone '{name}' of '{obj.name}' does not follow keys because of the constraint "
                f"'{constraint.name}' on '{other}'; mute it, or choose the rig's control bone instead."
            )
    return f"The bone '{name}' of '{obj.name}' does not follow keys: something else moves it; choose its control bone."


def _sorted(found: list[Carried]) -> list[Carried]:
    """Carriers first, with the numbers of the new order. Raises RigError for bones that carry each other."""
    order: list[int] = []
    waiting = list(range(len(found)))
    while waiting:
        ready = [i for i in waiting if all(c == FIXED or c in order for c in _carriers(found[i]))]
        if not ready:
            raise RigError(f"The bones '{found[waiting[0]].name}' and others carry each other; choose other bones.")
        order += ready
        waiting = [i for i in waiting if i not in ready]
    new = {old: number for number, old in enumerate(order)} | {FIXED: FIXED}
    return [_renumbered(found[i], new) for i in order]


def _carriers(bone: Carried) -> tuple[int, int, int]:
    return bone.turned_by, bone.placed_by, bone.axes_by


def _renumbered(bone: Carried, new: Mapping[int, int]) -> Carried:
    return Carried(
        bone.name,
        bone.mode,
        bone.connected,
        bone.limited,
        new[bone.turned_by],
        bone.turn,
        new[bone.placed_by],
        bone.place,
        new[bone.axes_by],
        bone.axes,
    )
