# SPDX-License-Identifier: GPL-3.0-or-later
"""What stood around a recording: seats, boxes, doors and steps, told in a JSON file beside the clip.

NAME.objects.json belongs to the clip NAME and holds a list of objects with these keys:

- "kind": one of KINDS.
- "position": seat: middle of the sitting surface; else the middle of the underside. "facing": a vector: where the
  sitter looks; from a box to its carrier; from a door to the approach; along which steps are climbed.
- "size": [width, depth, height] of a block, or "mesh": an OBJ file beside the JSON file, which lies where it stood.
  A mesh says by itself what is left out of position and facing, as far as that can be seen; "origin" and "turn"
  (degrees, counter-clockwise from above) place one that lies elsewhere.
- "from", "to": seconds of the clip. Seat: only sitting within them is on it. Box: when it is taken and when it is left;
  one of them is needed. Door: when the hand is laid on the handle and taken off it. Climbable: the part to use.
- "put": where a box is left, if that is elsewhere. "hinge": "left" or "right", "opens": "push" or "pull", of a door
  as seen on the approach.

Beside a motion file all is in that file's axes and unit; beside a clip of a library in Blender's frame and meters,
which `data import` makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ...errors import ColliderError, FileFormatError
from ...files import Key, NotZero, OneOf, Sizes, Where, Within, read_json, record, write_whole
from ...geometry.colliders import Cuboids
from ...geometry.cuboids import cuboids_of
from ...geometry.mesh import TriangleMesh
from ...geometry.obj_file import read_obj, write_obj
from ...geometry.proposals import propose
from ...geometry.roles import Seat
from ...motion.clip_file import is_file_name, up_y_to_z
from ...motion.root import angle_of
from ...motion.rotations import Array, from_yaw, rotate

SUFFIX = ".objects.json"
"""Ending of the file beside a clip that tells of the objects in it."""
GROUND_SUFFIX = ".ground.json"
"""Ending of the file that tells the ground of a clip whose blocks are no climb from the floor, in the same format."""
KINDS = ("seat", "box", "door", "climbable")
_SECONDS = ("from", "to")
_MOST_OBJECTS = 1000
"""Objects told beside a clip at most."""
_Vector = Annotated[list[float], Sizes(3), Within(-1e7, 1e7)]
"""x, y, z in the unit of the motion file, which may be millimeters."""
_Seconds = Annotated[float, Within(-1e5, 1e5, "s")]
_USUAL_SEAT = 0.45
"""Meters across and along of a seat of which only the place is known."""
_VOXEL = 0.02
"""Meters of a voxel of a told mesh: finer than usual, as hands lie on these."""
_SAME_SEAT = 0.25
"""Meters within which a proposed seat is the one that was told."""


@dataclass(frozen=True, eq=False)
class Prop:
    """A thing in a recording, in Blender's frame and meters.

    place: (3,) as "position" in the file. facing: angle, None where nothing says it. size: (3,) of a block, or mesh: in
    the world. start, stop: seconds. put: (3,) where a box is left. hinge, opens: of a door.
    """

    name: str
    kind: str
    place: Array
    facing: float | None
    size: Array | None = None
    mesh: TriangleMesh | None = None
    start: float | None = None
    stop: float | None = None
    put: Array | None = None
    hinge: str = "left"
    opens: str = "push"

    def scaled(self, factors: Array) -> Prop:
        """In a world stretched by `factors` (3,), as a clip is that is brought to the model skeleton."""
        return Prop(
            self.name,
            self.kind,
            self.place * factors,
            self.facing,
            None if self.size is None else self.size * factors,
            None if self.mesh is None else TriangleMesh(self.mesh.vertices * factors, self.mesh.triangles),
            self.start,
            self.stop,
            None if self.put is None else self.put * factors,
            self.hinge,
            self.opens,
        )

    def solid(self, facing: float, about: Array | None = None) -> Cuboids:
        """Its cuboids in the frame whose origin is on the floor under `about` (2,), by default under its place, and
        whose -Y points along the angle `facing`. A block faces there; a mesh stays as it stood."""
        mesh = self._mesh_in(facing, about)
        if mesh is not None:
            return cuboids_of(mesh, _VOXEL if self.kind == "box" else 2 * _VOXEL)
        assert self.size is not None
        low = self.place[2] - (self.size[2] if self.kind == "seat" else 0.0)
        center = np.array([0.0, 0.0, low + self.size[2] / 2])
        if about is not None:
            center[:2] = rotate(from_yaw(np.array(-facing)), np.append(self.place[:2] - about, 0.0))[:2]
        return Cuboids(center[None], self.size[None] / 2)

    def seat(self, facing: float, about: Array | None = None) -> Seat:
        """How it is sat on, in the frame of `solid`: over the origin, looking along -Y."""
        width, depth, rests = _USUAL_SEAT, _USUAL_SEAT, []
        mesh = self._mesh_in(facing, about)
        if mesh is not None:
            found = propose("seat", mesh).handles
            away = np.inf if not isinstance(found, Seat) else abs(found.place[2] - self.place[2])
            if isinstance(found, Seat) and away < _SAME_SEAT:
                width, depth, rests = found.width, found.depth, found.arm_rests
        elif self.size is not None:
            width, depth = self.size[:2].tolist()
        return Seat([0.0, 0.0, float(self.place[2])], [0.0, -1.0, 0.0], width, depth, rests)

    def _mesh_in(self, facing: float, about: Array | None) -> TriangleMesh | None:
        if self.mesh is None:
            return None
        origin = np.append(self.place[:2] if about is None else about, 0.0)
        turn = np.broadcast_to(from_yaw(np.array(-facing)), (len(self.mesh.vertices), 4))
        return TriangleMesh(rotate(turn, self.mesh.vertices - origin), self.mesh.triangles)


@dataclass(frozen=True)
class Frame:
    """The space of a motion file. up: its axis. unit: meters per unit. floor: meters that are the floor's height."""

    up: str = "z"
    unit: float = 1.0
    floor: float = 0.0

    @staticmethod
    def of(imported: Mapping[str, Any] | None) -> Frame:
        """The space that a clip was imported from, as its `meta["import"]` tells; the library's own without."""
        told = imported or {}
        return Frame(str(told.get("up", "z")), float(told.get("metres_per_unit", 1.0)), float(told.get("floor", 0.0)))

    def vectors(self, values: Array) -> Array:
        """Directions [..., 3] in Blender's axes."""
        return up_y_to_z(values) if self.up == "y" else values

    def places(self, values: Array) -> Array:
        """Places [..., 3] in Blender's frame, meters, the floor at 0."""
        out: Array = self.vectors(values) * self.unit - np.array([0.0, 0.0, self.floor])
        return out


@dataclass(frozen=True, eq=False)
class ImportedProp:
    """An object of a file, checked: plain values, and the mesh where it stood, in Blender's frame and meters."""

    values: dict[str, Any]
    mesh: TriangleMesh | None = field(default=None)


def objects_beside(clip: Path) -> Path:
    """Where the objects of a motion file or clip are told."""
    return clip.with_name(clip.stem + SUFFIX)


def told_beside(clip: Path) -> Path | None:
    """The file that tells the objects of a clip, or the ground under it; None where nothing is told."""
    paths = (objects_beside(clip), clip.with_name(clip.stem + GROUND_SUFFIX))
    return next((path for path in paths if path.is_file()), None)


def kinds_beside(clip: Path) -> set[str]:
    """The kinds of the objects told beside a clip; none without a file. Raises FileFormatError."""
    path = objects_beside(clip)
    return {entry["kind"] for entry in _read(path)} if path.is_file() else set()


def read_props(path: Path) -> list[Prop]:
    """The objects of a file of a library. Raises FileFormatError, naming the file and the object."""
    return [_prop(entry, f"{path}, object {number}", number) for number, entry in enumerate(_entries(path, Frame()), 1)]


def imported_props(source: Path, frame: Frame) -> list[ImportedProp]:
    """What is told beside a motion file, in Blender's frame. Raises FileFormatError."""
    entries = _entries(source, frame)
    for number, entry in enumerate(entries, 1):
        _prop(entry, f"{source}, object {number}", number)
    return entries


def write_props(entries: Sequence[ImportedProp], clip: Path) -> None:
    """Write imported objects, meshes included, beside the clip that they belong to."""
    out = []
    for number, entry in enumerate(entries, 1):
        values = dict(entry.values)
        if entry.mesh is not None:
            values["mesh"] = f"{clip.stem}.{number}.obj"
            write_obj(entry.mesh, clip.with_name(values["mesh"]))
        out.append(values)
    write_whole(objects_beside(clip), json.dumps(out, indent=1) + "\n")


def _entries(path: Path, frame: Frame) -> list[ImportedProp]:
    """The objects of a file whose space is `frame`, in Blender's."""
    out = []
    for raw in _read(path):
        values = dict(raw)
        for name in ("position", "put"):
            if name in values:
                values[name] = np.round(frame.places(np.array(values[name], dtype=float)), 5).tolist()
        if "facing" in values:
            values["facing"] = frame.vectors(np.array(values["facing"], dtype=float)).tolist()
        if "size" in values:
            values["size"] = [float(value) * frame.unit for value in values["size"]]
        mesh = _placed_mesh(path, raw, frame) if "mesh" in raw else None
        for name in ("origin", "turn"):
            values.pop(name, None)
        out.append(ImportedProp(values, mesh))
    return out


def _placed_mesh(path: Path, raw: Mapping[str, Any], frame: Frame) -> TriangleMesh:
    mesh = read_obj(path.with_name(raw["mesh"]))
    turn = from_yaw(np.array(np.radians(float(raw.get("turn", 0.0)))))
    vertices = rotate(np.broadcast_to(turn, (len(mesh.vertices), 4)), frame.vectors(mesh.vertices)) * frame.unit
    origin = frame.places(np.array(raw.get("origin", [0.0, 0.0, 0.0]), dtype=float))
    return TriangleMesh(vertices + origin, mesh.triangles)


def _prop(entry: ImportedProp, where: str, number: int) -> Prop:
    values, mesh = entry.values, entry.mesh
    kind = values["kind"]
    place = None if "position" not in values else np.array(values["position"], dtype=float)
    facing = None if "facing" not in values else float(angle_of(np.array(values["facing"], dtype=float)[:2]))
    size = None if "size" not in values else np.array(values["size"], dtype=float)
    if mesh is not None:
        place, facing = _seen(kind, mesh, place, facing, where)
    if place is None:
        raise FileFormatError(f"{where}: the {kind} needs a 'position' or a 'mesh'")
    if mesh is None and size is None:
        if kind != "seat":
            raise FileFormatError(f"{where}: the {kind} needs a 'size' or a 'mesh'")
        size = np.array([_USUAL_SEAT, _USUAL_SEAT, place[2]])
    if kind == "box" and not set(_SECONDS) & set(values):
        raise FileFormatError(f"{where}: a box needs the second at which it is taken ('from') or left ('to')")
    if kind == "door" and (facing is None or not set(_SECONDS) <= set(values)):
        raise FileFormatError(f"{where}: a door needs 'facing', 'from' and 'to'")
    return Prop(
        f"{kind} {number}",
        kind,
        place,
        facing,
        size,
        mesh,
        values.get("from"),
        values.get("to"),
        None if "put" not in values else np.array(values["put"], dtype=float),
        values.get("hinge", "left"),
        values.get("opens", "push"),
    )


def _seen(
    kind: str, mesh: TriangleMesh, place: Array | None, facing: float | None, where: str
) -> tuple[Array, float | None]:
    """Place and facing, as far as they were not told, from a mesh."""
    if kind != "seat":
        low, high = mesh.vertices[mesh.triangles].min((0, 1)), mesh.vertices[mesh.triangles].max((0, 1))
        return (np.append((low + high)[:2] / 2, low[2]) if place is None else place), facing
    if place is not None and facing is not None:
        return place, facing
    try:
        found = propose("seat", mesh).handles
    except ColliderError as error:
        raise FileFormatError(f"{where}: {error}") from error
    if not isinstance(found, Seat):
        if place is None:
            raise FileFormatError(f"{where}: no place to sit on was found in the mesh; tell its 'position'")
        return place, facing
    looking = float(angle_of(np.array(found.facing[:2])))
    return (np.array(found.place) if place is None else place), (looking if facing is None else facing)


def _read(path: Path) -> list[dict[str, Any]]:
    """The objects as the file has them, their form checked."""
    content = read_json(path, list, "a list of objects")
    if len(content) > _MOST_OBJECTS:
        raise FileFormatError(f"{path}: more than {_MOST_OBJECTS:,} objects")
    return [_checked(entry, Where(f"{path}, object {number}")) for number, entry in enumerate(content, 1)]


@dataclass
class _Told:
    """An object as its file tells it; what is None is left out there."""

    kind: Annotated[str, OneOf(KINDS)]
    position: _Vector | None = None
    facing: Annotated[_Vector, NotZero()] | None = None
    size: _Vector | None = None
    mesh: str | None = None
    origin: _Vector | None = None
    turn: Annotated[float, Within(-1e4, 1e4, "degrees")] | None = None
    start: Annotated[_Seconds | None, Key("from")] = None
    stop: Annotated[_Seconds | None, Key("to")] = None
    put: _Vector | None = None
    hinge: Annotated[str, OneOf(("left", "right"))] | None = None
    opens: Annotated[str, OneOf(("push", "pull"))] | None = None


def _checked(entry: object, where: Where) -> dict[str, Any]:
    """An object of the file, its form checked. Raises FileFormatError that names the field."""
    if not isinstance(entry, dict):
        where.wrong(entry, "an object")
    for name, value in entry.items():
        if value is None:
            where.at(name[:40]).refuse("is null; leave it out")
    told = record(_Told, entry, where)
    if told.size is not None and min(told.size) <= 0:
        where.at("size").refuse("must be above zero")
    if told.size is not None and told.mesh is not None:
        where.at("size").refuse("and 'mesh' exclude each other")
    if told.mesh is not None and not is_file_name(told.mesh):
        where.at("mesh").refuse("must be the name of a file beside this one")
    if told.start is not None and told.stop is not None and told.start >= told.stop:
        where.at("from").refuse("must be before 'to'")
    return entry
