# SPDX-License-Identifier: GPL-3.0-or-later
"""Posing an armature for a moment: whatever is done to the pose meanwhile is put back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy

_CHANNELS = ("location", "rotation_quaternion", "rotation_euler", "rotation_axis_angle", "scale")


@contextmanager
def kept(context: bpy.types.Context, obj: bpy.types.Object, names: Sequence[str] | None = None) -> Iterator[None]:
    """The channels of the bones `names` (default: of all) are afterwards what they were."""
    bones = [obj.pose.bones[name] for name in names] if names is not None else list(obj.pose.bones)
    before = [[getattr(bone, channel)[:] for channel in _CHANNELS] for bone in bones]
    try:
        yield
    finally:
        for bone, values in zip(bones, before, strict=True):
            for channel, value in zip(_CHANNELS, values, strict=True):
                setattr(bone, channel, value)
        obj.update_tag(refresh={"DATA"})
        context.view_layer.update()
