# SPDX-License-Identifier: GPL-3.0-or-later
"""The last bakes of this session, from which the next ones take what comes before the first change.

They are kept in memory and never in a file: a file that is opened elsewhere is baked from the beginning.
"""

from __future__ import annotations

from typing import ClassVar

import bpy

from ..nsm_blender import Bake, SceneBake

_MOST = 4
"""Characters whose bakes are kept: each holds a network and all frames."""


class Earlier:
    """The last bake of each of a few characters, by the numbers that Blender gives to objects."""

    _bakes: ClassVar[dict[int, SceneBake]] = {}

    @classmethod
    def of(cls, armature: bpy.types.Object) -> SceneBake | None:
        """The last bake of a character by the Neural State Machine; None when there was none."""
        return cls._bakes.get(armature.session_uid)

    @classmethod
    def keep(cls, character: int, bake: Bake | SceneBake) -> None:
        """Remember a bake that is done, and forget the oldest when there are too many. character: its number."""
        cls._bakes.pop(character, None)
        if isinstance(bake, SceneBake):
            cls._bakes[character] = bake
        while len(cls._bakes) > _MOST:
            del cls._bakes[next(iter(cls._bakes))]
