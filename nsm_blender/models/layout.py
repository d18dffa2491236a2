# SPDX-License-Identifier: GPL-3.0-or-later
"""Named slices of feature vectors, declared once and used by data, training, rollout and tests."""

from __future__ import annotations

from collections.abc import Mapping


class Layout:
    """Names for consecutive pieces of a feature vector.

    `layout.joint_position` is a slice; `layout.shape("joint_position")` the shape to view it in.
    """

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        self.shapes: Mapping[str, tuple[int, ...]] = shapes
        self._slices: dict[str, slice] = {}
        start = 0
        for name, shape in shapes.items():
            size = 1
            for n in shape:
                size *= n
            self._slices[name] = slice(start, start + size)
            start += size
        self.size = start

    def __getattr__(self, name: str) -> slice:
        try:
            return self.__dict__["_slices"][name]
        except KeyError:
            raise AttributeError(name) from None

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape in which the piece `name` is meant."""
        return self.shapes[name]

    def describe(self) -> dict[str, list[int]]:
        """Name -> [start, stop], for model cards and checks."""
        return {name: [s.start, s.stop] for name, s in self._slices.items()}
