# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work in small pieces: generators that yield between two pieces and return what they make.

A modal operator does a piece at a time and so notices Esc at once; `finished` does all pieces one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
T = TypeVar("T")
Stepwise = Generator[None, None, T]
"""Work that yields after each piece and returns a T."""

FRAMES = 2000
"""Frames in one piece of work that treats each frame alone: at the 15 microseconds that the slowest such work takes for
a frame, 30 ms."""
TRIANGLES = 1 << 15
"""Triangles of a mesh in one piece of work: 10 to 40 ms."""
ITEMS = 100
"""Stances, seatings or other short runs of frames in one piece of work: each takes about 0.1 ms."""


def finished(work: Stepwise[T]) -> T:
    """Do all pieces and return what the work makes."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made


def by_frames(change: Callable[..., Array], *arrays: Array, size: int = FRAMES) -> Stepwise[Array]:
    """Compute change(*arrays), (F, ...), of arrays (F, ...) whose frames `change` treats alone, `size` at a time."""
    count = len(arrays[0])
    first = change(*(array[:size] for array in arrays))
    if count <= size:
        return first
    out = np.empty((count, *first.shape[1:]), dtype=first.dtype)
    out[:size] = first
    for start in range(size, count, size):
        yield
        out[start : start + size] = change(*(array[start : start + size] for array in arrays))
    return out
