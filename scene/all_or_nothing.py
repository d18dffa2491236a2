# SPDX-License-Identifier: GPL-3.0-or-later
"""Additions to the scene that are made wholly or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy

_ADDED = ("objects", "meshes", "curves", "armatures", "actions", "materials", "collections")
"""Kinds of data-blocks that operators of ours add."""


@contextmanager
def additions(context: bpy.types.Context) -> Iterator[None]:
    """After an exception, the data-blocks that were added meanwhile are gone, and the selection is what it was."""
    before = {block.session_uid for name in _ADDED for block in getattr(bpy.data, name)}
    layer = context.view_layer
    active = layer.objects.active.name if layer.objects.active else ""
    selected = {obj.name for obj in context.selected_objects}
    try:
        yield
    except BaseException:
        # First, as the view layer still lists for a while what was deleted.
        for obj in layer.objects:
            obj.select_set(obj.name in selected)
        layer.objects.active = layer.objects.get(active)
        added = [block for name in _ADDED for block in getattr(bpy.data, name) if block.session_uid not in before]
        bpy.data.batch_remove(added)
        layer.update()
        raise
