# SPDX-License-Identifier: GPL-3.0-or-later
"""Wavefront OBJ files: vertices and faces only, which is all that a collider needs."""

from __future__ import annotations

from array import array
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..errors import FileFormatError
from ..files import TextLines, write_whole
from .mesh import TriangleMesh

_LEAST_CORNERS = 3
"""Least number of corners of a face."""
_MOST_TRIANGLES = 2_000_000
"""Vertices or triangles at most: twice the largest scan that is wrapped in a few seconds."""
_FARTHEST = 1e7
"""Largest coordinate that is believed, in millimeters 10 km."""


def read_obj(path: Path | str) -> TriangleMesh:
    """All faces of a file as one mesh, in the file's axes and units; faces of many corners as fans of triangles.

    Raises FileFormatError, naming the file and the line, when it cannot be read or holds no faces.
    """
    path = Path(path)
    vertices, triangles = array("d"), array("q")
    for number, line in enumerate(TextLines(path, "an OBJ file"), start=1):
        words = line.split()
        if not words or words[0] not in ("v", "f"):
            continue
        try:
            if words[0] == "v":
                place = [float(word) for word in words[1:4]]
                if len(place) != 3 or not all(abs(value) <= _FARTHEST for value in place):
                    raise ValueError
                vertices.extend(place)
            else:
                corners = [_corner(word, len(vertices) // 3) for word in words[1:]]
                if len(corners) < _LEAST_CORNERS:
                    raise ValueError
                for pair in pairwise(corners[1:]):
                    triangles.extend((corners[0], *pair))
        except ValueError as error:
            raise FileFormatError(f"{path}, line {number}: '{line.strip()[:40]}' is not a vertex or face") from error
        if max(len(vertices), len(triangles)) > 3 * _MOST_TRIANGLES:
            raise FileFormatError(f"{path}: more than {_MOST_TRIANGLES:,} vertices or triangles; simplify the mesh")
    if not triangles:
        raise FileFormatError(f"{path}: the file holds no faces")
    return TriangleMesh(np.array(vertices).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3))


def write_obj(mesh: TriangleMesh, path: Path | str) -> None:
    """Write a mesh, with places in meters to a hundredth of a millimeter."""
    lines = [f"v {x:.5f} {y:.5f} {z:.5f}" for x, y, z in np.asarray(mesh.vertices).tolist()]
    lines += [f"f {a} {b} {c}" for a, b, c in (np.asarray(mesh.triangles) + 1).tolist()]
    write_whole(path, "\n".join(lines) + "\n")


def _corner(word: str, known: int) -> int:
    """Index of the vertex of a corner such as 3, 3/1/2 or -1. Raises ValueError when there is none."""
    number = int(word.partition("/")[0])
    index = number - 1 if number > 0 else known + number
    if number == 0 or not 0 <= index < known:
        raise ValueError(word)
    return index
