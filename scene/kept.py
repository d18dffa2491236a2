# SPDX-License-Identifier: GPL-3.0-or-later
"""Fewer keys for bakes that stay in the file: within 0.1 mm and 0.05 degrees of what they were.

A fresh bake is exact, and the next one takes its place. What is kept makes a file larger for good, so its curves are
fitted anew, each as finely as what hangs on it asks for.
"""

from __future__ import annotations

import re

import bpy
import numpy as np

from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.motion.skeleton import MODEL_SKELETON
from ..nsm_blender.stepwise import Stepwise
from . import actions, binding, curves, layers
from .fitting import fitting
from .lookup import find
from .properties import of_action

_OFF = 1.6e-5
"""Meters by which a curve may move the body. As most segments are nearly exact and errors of different bones have
nothing to do with each other, all curves of a rig together move a joint by less than 0.1 mm."""
_TURNED = 2.2e-5
"""Part of a unit quaternion by which a curve may turn a bone on which the whole body hangs: 0.003 degrees, or 0.05 mm a
meter away. Where less hangs on a bone, it may be more."""
_WHOLE = 1.2
"""Meters from the hips of the model to the farthest that hangs on them, at which _TURNED is meant."""
_BEYOND = 0.2
"""Meters of the mesh beyond the last joints: fingers, toes and the top of the head."""
_CONTROLLED = 0.02
"""Share of these on a rig whose controls are keyed, too: a pole that is hardly off turns a whole limb."""
_THINNED = f"{actions.OURS}thinned"
"""Custom property of an action whose keys were thinned: once is enough, as a second time would add its errors."""
_BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\]\.(\w+)')
"""Path of a bone's own property."""


def waits(bake: bpy.types.Action) -> bool:
    """Whether a bake is to be kept and its keys were not thinned yet."""
    return of_action(bake).keep and bake.library is None and not is_thinned(bake)


def is_thinned(bake: bpy.types.Action) -> bool:
    """Whether the keys of a bake were thinned."""
    return bool(bake.get(_THINNED))


class Thinning:
    """The thinning of a bake's keys, of the character and of all that it moves, in pieces of work; all of it can be
    taken back. keys: how many there are. keys_before: how many there were."""

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object, bake: bpy.types.Action) -> None:
        self.keys = self.keys_before = 0
        self._actions = [action.session_uid for action in (bake, *layers.moved_with(bake)) if not action.get(_THINNED)]
        self._bake = bake.session_uid
        self._meters = curves.meters_per_unit(context.scene)
        self._tolerances = _tolerances(armature, self._meters)
        self._was: list[tuple[int, str, int, tuple[Array, Array, actions.Keys]]] = []

    def work(self) -> Stepwise[None]:
        """Fit all curves, and then give them their keys. What is deleted meanwhile is left out."""
        made = []
        for number in self._actions:
            tolerances = self._tolerances if number == self._bake else {}
            action = find(bpy.data.actions, number)
            for path, components in (actions.generated(action) if action is not None else {}).items():
                there = {one: curve for one in components if (curve := _curve(number, path, one)) is not None}
                if not there:
                    continue
                times = [actions.keys_of(curve)[0] for curve in there.values()]
                frames = np.arange(min(one[0] for one in times), max(one[-1] for one in times) + 1)
                samples = np.array([[curve.evaluate(frame) for curve in there.values()] for frame in frames.tolist()])
                self.keys_before += sum(len(one) for one in times)
                tolerance = tolerances.get(path, _OFF / self._meters)
                fitted = yield from fitting(samples, tolerance, float(np.abs(frames).max()))
                for column, (component, keys) in enumerate(zip(there, fitted, strict=True)):
                    made.append((number, path, component, (frames[keys.at], samples[keys.at, column], keys)))
                    self.keys += len(keys.at)
                yield
        for number, path, component, thinned in made:
            curve = _curve(number, path, component)
            if curve is not None:
                self._was.append((number, path, component, actions.keys_of(curve)))
                actions.refill(curve, *thinned)
                yield
        for number in self._actions:
            action = find(bpy.data.actions, number)
            if action is not None:
                action[_THINNED] = True

    def undo(self) -> None:
        """Give all curves that are still there the keys that they had."""
        for number, path, component, keys in self._was:
            curve = _curve(number, path, component)
            if curve is not None:
                actions.refill(curve, *keys)
        for number in self._actions:
            action = find(bpy.data.actions, number)
            if action is not None:
                action.pop(_THINNED, None)


def _curve(number: int, path: str, component: int) -> bpy.types.FCurve | None:
    """The curve of an action with this number, as it is now; None where either is gone."""
    action = find(bpy.data.actions, number)
    return None if action is None else actions.curve_of(action, path, component)


def _tolerances(armature: bpy.types.Object, meters: float) -> dict[str, float]:
    """By the paths of the armature's animated properties how far their curves may be off."""
    size = meters * float(np.linalg.norm(np.array(armature.matrix_world)[:3, 0]))
    reaches = _reaches(armature, size)
    whole = max(reaches.values(), default=_WHOLE)
    paths = {curve.data_path for curve in actions.of(armature)}
    bones = {path: bpy.utils.unescape_identifier(found[1]) for path in paths if (found := _BONE.fullmatch(path))}
    share = 1.0 if set(bones.values()) <= set(reaches) else _CONTROLLED
    return {
        path: share
        * (_OFF / size if path.endswith("location") else _TURNED * _WHOLE / reaches.get(bones.get(path, ""), whole))
        for path in paths
    }


def _reaches(armature: bpy.types.Object, size: float) -> dict[str, float]:
    """Meters from each bone that is a joint to the farthest that hangs on it.

    size: meters of a unit of the armature.
    """
    bound = {joint: joint for joint in MODEL_SKELETON.names}
    if binding.is_bound(armature):
        bound = {joint: match.bone for joint, match in binding.mapping(armature).matches.items()}
    bones = armature.data.bones
    heads = {joint: bones[bone].head_local * size for joint, bone in bound.items() if bone in bones}
    out: dict[str, float] = {}
    for joint, place in heads.items():
        above: str | None = joint
        while above is not None:
            if above in heads:
                apart = (place - heads[above]).length + _BEYOND
                out[bound[above]] = max(out.get(bound[above], 0.0), apart)
            parent = MODEL_SKELETON.parents[MODEL_SKELETON.index(above)] if above in MODEL_SKELETON.names else -1
            above = MODEL_SKELETON.names[parent] if parent >= 0 else None
    return out
