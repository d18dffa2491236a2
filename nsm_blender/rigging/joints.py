# SPDX-License-Identifier: GPL-3.0-or-later
"""A rig as plain data: its bones in the rest pose, and where it stands in the world."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import RigError
from ..motion.rotations import Array

_SHORTEST = 1e-5
"""Share of the rig's height below which a bone counts as having no length."""
_UNEVEN = 1e-3
"""Relative difference of the world's axes from which an armature counts as sheared or unevenly scaled."""
_ALONG = np.cos(np.radians(20))
"""Cosine of the angle between a bone and the way to the next bone, from which it points there."""
_MOST = 0.5
"""Share of the bones that point to the next ones, above which tails mean something."""


@dataclass(frozen=True, eq=False)
class BoneInfo:
    """A bone in the rest pose, in the armature's space.

    parent: its parent's name or None. head, tail: (3,). x_axis: (3,) the bone's own x axis, which gives its roll.
    connected: whether its head sticks to the parent's tail. deform: whether it moves the mesh.
    """

    name: str
    parent: str | None
    head: Array
    tail: Array
    x_axis: Array
    connected: bool = False
    deform: bool = True

    @property
    def length(self) -> float:
        """Length from head to tail, in the armature's units."""
        return float(np.linalg.norm(self.tail - self.head))

    @property
    def rest(self) -> Array:
        """The bone's axes (3, 3) as columns: y from head to tail, x as near to `x_axis` as a right angle allows."""
        y = (self.tail - self.head) / max(self.length, 1e-12)
        x = self.x_axis - y * (self.x_axis @ y)
        x = x / max(float(np.linalg.norm(x)), 1e-12)
        return np.stack((x, y, np.cross(x, y)), axis=1)


@dataclass(frozen=True, eq=False)
class RigInfo:
    """An armature.

    bones: parents before children. world: (4, 4) from the armature's space to world meters.
    """

    name: str
    bones: tuple[BoneInfo, ...]
    world: Array

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The bones' names."""
        return tuple(bone.name for bone in self.bones)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Index of each bone."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each bone's parent, -1 for a root."""
        return tuple(-1 if bone.parent is None else self.numbers[bone.parent] for bone in self.bones)

    @cached_property
    def heads(self) -> Array:
        """Heads (B, 3) in the armature's space."""
        return np.array([bone.head for bone in self.bones], dtype=np.float64)

    @cached_property
    def tails(self) -> Array:
        """Tails (B, 3) in the armature's space."""
        return np.array([bone.tail for bone in self.bones], dtype=np.float64)

    @property
    def size(self) -> float:
        """Meters per unit of the armature's space."""
        return float(np.cbrt(abs(np.linalg.det(np.asarray(self.world, dtype=np.float64)[:3, :3]))))

    @cached_property
    def height(self) -> float:
        """The largest extent of the rest pose, in the armature's units."""
        return float(np.ptp(np.concatenate((self.heads, self.tails)), axis=0).max()) if self.bones else 0.0

    @cached_property
    def tails_tell(self) -> bool:
        """Whether bones end where the next ones begin. Files in glTF, VRM and some in FBX have no tails: importers put
        them where the bones' own axes lead."""
        ends: dict[int, list[int]] = {}
        for number, parent in enumerate(self.parents):
            if parent >= 0:
                ends.setdefault(parent, []).append(number)
        told = []
        for bone, below in ends.items():
            way = self.tails[bone] - self.heads[bone]
            gaps = self.heads[below] - self.heads[bone]
            size = np.linalg.norm(gaps, axis=1) * float(np.linalg.norm(way))
            if size.max() > (_SHORTEST * self.height) ** 2:
                told.append(float((gaps @ way / np.maximum(size, 1e-12)).max()) > _ALONG)
        return not told or float(np.mean(told)) > _MOST

    def path(self, name: str) -> list[str]:
        """The bone and its ancestors, upwards."""
        out, bone = [], self.numbers[name]
        while bone >= 0:
            out.append(self.names[bone])
            bone = self.parents[bone]
        return out

    def above(self, name: str, among: Collection[str]) -> str | None:
        """The nearest ancestor of the bone among `among`."""
        return next((other for other in self.path(name)[1:] if other in among), None)

    def children(self, name: str) -> list[str]:
        """Names of the bones with the given parent."""
        return [bone.name for bone in self.bones if bone.parent == name]

    def check(self) -> None:
        """Raise RigError when the armature as a whole cannot be animated: mirrored, sheared, unevenly scaled."""
        axes = np.asarray(self.world, dtype=np.float64)[:3, :3]
        lengths = np.linalg.norm(axes, axis=0)
        if not np.isfinite(self.world).all() or lengths.min() < 1e-9:
            raise RigError(f"'{self.name}' has a scale of zero; give it a scale.")
        if np.abs((axes / lengths).T @ (axes / lengths) - np.eye(3)).max() > _UNEVEN:
            raise RigError(f"'{self.name}' is sheared by a parent's scale; apply the scales first (Ctrl+A).")
        if lengths.max() / lengths.min() > 1 + _UNEVEN:
            raise RigError(f"'{self.name}' is not scaled evenly; apply its scale first (Ctrl+A).")
        if np.linalg.det(axes) < 0:
            raise RigError(f"'{self.name}' is mirrored by a negative scale; apply its scale first (Ctrl+A).")

    def without_length(self, names: Collection[str]) -> list[str]:
        """The bones among `names` that have no length."""
        return [b.name for b in self.bones if b.name in names and b.length <= _SHORTEST * self.height]
