# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects hang on which, found once for many: an object asked for its `children` looks at every other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy

Below = Mapping[bpy.types.Object, Sequence[bpy.types.Object]]
"""Objects and their children."""


def children() -> Below:
    """The children of all objects that have some."""
    out: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in bpy.data.objects:
        if obj.parent is not None:
            out.setdefault(obj.parent, []).append(obj)
    return out
