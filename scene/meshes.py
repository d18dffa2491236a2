# SPDX-License-Identifier: GPL-3.0-or-later
"""The surfaces of objects as they are displayed: modifiers, instances, curves, texts; several objects as one."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import bpy
import numpy as np
from mathutils import Matrix

from ..nsm_blender.errors import ColliderError
from ..nsm_blender.geometry.mesh import TriangleMesh
from ..nsm_blender.motion.rotations import Array
from . import curves
from .hierarchy import Below

MOST_TRIANGLES = 10_000_000
"""More than this, instances counted each, would fill the memory of an ordinary machine."""
_SURFACES = frozenset({"MESH", "CURVE", "SURFACE", "FONT", "META"})
"""Types of objects that may have triangles."""
_INSTANCERS = frozenset({"NODES", "PARTICLE_SYSTEM"})
"""Modifiers that may make instances."""
_FLAT = 1e-9
"""A scale below this leaves nothing of an object."""
_SAME = 1e-4
"""Relative difference of two placements that float32 and moving about explain."""


@dataclass(frozen=True, eq=False)
class Shape:
    """One mesh. vertices: (V, 3) float32 in its own frame. triangles: (N, 3) int32 into them."""

    vertices: Array
    triangles: Array

    @cached_property
    def checksum(self) -> int:
        """Of vertices and triangles; it takes a while."""
        return zlib.crc32(self.triangles.data, zlib.crc32(self.vertices.data))


@dataclass(frozen=True, eq=False)
class Piece:
    """One mesh at one place. place: (4, 4) float64, from its own frame to that of the whole."""

    shape: Shape
    place: Array


@dataclass(frozen=True, eq=False)
class Surface:
    """All pieces of a collider in the collider's frame, in meters. frame: (4, 4), where that is in the world, in
    meters too and without scale.
    """

    pieces: list[Piece]
    frame: Array

    def mesh(self) -> TriangleMesh:
        """The pieces as one mesh."""
        return TriangleMesh.joined(
            [
                TriangleMesh(piece.shape.vertices.astype(np.float64), piece.shape.triangles).transformed(piece.place)
                for piece in self.pieces
            ]
        )

    def fingerprint(self) -> str:
        """What changes when the shape does, and not when the whole is moved; see `same`.

        Coordinates count exactly. Placements are known to a few digits only, so they count as sums, in which each
        piece has a weight of its own, that can be compared with a tolerance.
        """
        checksum = 0
        sums = np.zeros((3, 4))
        for number, piece in enumerate(self.pieces):
            checksum = zlib.crc32(piece.shape.checksum.to_bytes(4, "little"), checksum)
            sums += (1.5 + math.cos(number)) * piece.place[:3]
        return " ".join([f"{checksum:08x}", *(f"{value:.6g}" for value in sums.ravel().tolist())])


def same(one: str, other: str) -> bool:
    """Whether two fingerprints are of the same shape."""
    a, b = one.split(), other.split()
    if len(a) != len(b) or a[:1] != b[:1]:
        return False
    first, second = np.array(a[1:], dtype=float), np.array(b[1:], dtype=float)
    return bool(np.allclose(first, second, rtol=_SAME, atol=_SAME * max(1.0, float(np.abs(first).max(initial=0)))))


def read(graph: bpy.types.Depsgraph, owner: bpy.types.Object, others: Iterable[bpy.types.Object] = ()) -> Surface:
    """The surface of `owner` and of `others` as one, at the current frame.

    Raises ColliderError when an object is not evaluated, when nothing has a face, or when the place or scale of the
    whole is no good.
    """
    return read_all(graph, {owner: list(others)})[owner]


def read_all(
    graph: bpy.types.Depsgraph, groups: dict[bpy.types.Object, list[bpy.types.Object]]
) -> dict[bpy.types.Object, Surface]:
    """`read` for several owners with their others; the scene's instances are gone through once for all."""
    frames = {owner: frame_of(graph, owner) for owner in groups}
    size = curves.meters_per_unit(graph.scene)
    members = {obj: owner for owner, others in groups.items() for obj in (owner, *others)}
    reader = _Reader()
    found: dict[bpy.types.Object, list[Piece]] = {owner: [] for owner in groups}
    back = {owner: np.linalg.inv(frame) for owner, frame in frames.items()}
    for obj, mesh, world in _meshes(graph, list(members)):
        owner = members[obj]
        piece = reader.piece(mesh, back[owner] @ _meters(world, size))
        if len(piece.shape.triangles):
            found[owner].append(piece)
        reader.check(owner)
    out = {}
    for owner, pieces in found.items():
        if not pieces:
            raise ColliderError(f"{_no_faces(owner, groups[owner])}")
        out[owner] = Surface(pieces, frames[owner])
    return out


def frame_of(graph: bpy.types.Depsgraph, obj: bpy.types.Object) -> Array:
    """Place and rotation of an object in the world as a matrix (4, 4), in meters and without its scale.

    Raises ColliderError when the object is not evaluated, has no finite place or a scale of zero.
    """
    evaluated = obj.evaluated_get(graph)
    if not evaluated.is_evaluated:
        raise ColliderError(
            f"'{obj.name}' is disabled in viewports, or its collection is excluded or not in this scene; enable it."
        )
    return rigid(evaluated.matrix_world, curves.meters_per_unit(graph.scene), obj.name)


def rigid(world: Matrix, size: float, name: str) -> Array:
    """The place and rotation of a world matrix, (4, 4) in meters. size: meters in a Blender unit.

    Raises ColliderError as `frame_of` does.
    """
    values = np.array(world)
    if not np.isfinite(values).all():
        raise ColliderError(f"The transform of '{name}' is not made of finite numbers; clear it and set it again.")
    if np.linalg.norm(values[:3, :3], axis=0).min() < _FLAT:
        raise ColliderError(f"'{name}' has a scale of zero; give it a scale.")
    place, rotation, _ = world.decompose()
    out = np.array(Matrix.LocRotScale(place, rotation, None))
    out[:3, 3] *= size
    return out


def scale_of(obj: bpy.types.Object) -> tuple[float, float, float]:
    """How long the axes of an object are in the world, in Blender units."""
    x, y, z = (column.length for column in obj.matrix_world.to_3x3().transposed())
    return x, y, z


def family(obj: bpy.types.Object, below: Below | None = None) -> Iterator[bpy.types.Object]:
    """The objects with surfaces below `obj`, without those that are colliders of their own.

    below: the children of all objects, where many are asked for.
    """
    for child in obj.children if below is None else below.get(obj, ()):
        if not child.nsm.collider.count:
            if child.type in _SURFACES or child.is_instancer:
                yield child
            yield from family(child, below)


def has_surface(obj: bpy.types.Object) -> bool:
    """Whether an object is of a kind that may have triangles."""
    return obj.type in _SURFACES or obj.is_instancer


@dataclass
class _Reader:
    """Turns Blender's meshes into arrays, each only once however often it is instanced."""

    known: dict[int, Shape] = field(default_factory=dict)
    triangles: int = 0

    def piece(self, mesh: bpy.types.Mesh, place: Array) -> Piece:
        """The mesh at a place."""
        key = mesh.as_pointer()
        if key not in self.known:
            self.known[key] = Shape(*_arrays(mesh))
        self.triangles += len(self.known[key].triangles)
        return Piece(self.known[key], place)

    def check(self, owner: bpy.types.Object) -> None:
        """Raise ColliderError when there is more than can be worked on."""
        if self.triangles > MOST_TRIANGLES:
            raise ColliderError(
                f"'{owner.name}' has more than {MOST_TRIANGLES // 1_000_000} million triangles with its instances; "
                "use a simpler mesh as the collider."
            )


def _arrays(mesh: bpy.types.Mesh) -> tuple[Array, Array]:
    """Vertices (V, 3) float32 and triangles (N, 3) int32 of a mesh."""
    vertices = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", vertices)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    if len(corners):
        # Many times as fast as the same by the loops or by the triangles.
        mesh.attributes[".corner_vert"].data.foreach_get("value", corners)
    if len(corners) != 3 * len(mesh.polygons):
        mesh.calc_loop_triangles()
        cut = np.empty(len(mesh.loop_triangles) * 3, dtype=np.int32)
        mesh.loop_triangles.foreach_get("loops", cut)
        corners = corners[cut]
    return vertices.reshape(-1, 3), corners.reshape(-1, 3)


def _meshes(
    graph: bpy.types.Depsgraph, objects: Sequence[bpy.types.Object]
) -> Iterator[tuple[bpy.types.Object, bpy.types.Mesh, Matrix]]:
    """Each mesh that one of `objects` shows: the object, the mesh, where it is in the world."""
    many = set()
    for obj in objects:
        if _is_single(obj):
            evaluated = obj.evaluated_get(graph)
            if evaluated.is_evaluated:
                yield obj, evaluated.data, evaluated.matrix_world
        elif obj.visible_get(view_layer=graph.view_layer):
            many.add(obj)
        else:
            yield from _hidden(graph, obj)
    if many:
        yield from _instances(graph, many)


def _is_single(obj: bpy.types.Object) -> bool:
    """Whether an object shows one mesh and nothing else."""
    instancing = obj.is_instancer or any(modifier.type in _INSTANCERS for modifier in obj.modifiers)
    return obj.type == "MESH" and not instancing


def _instances(
    graph: bpy.types.Depsgraph, objects: set[bpy.types.Object]
) -> Iterator[tuple[bpy.types.Object, bpy.types.Mesh, Matrix]]:
    """`_meshes` by going through all that the scene shows."""
    # What belongs to an instance is only there until the next one is asked for.
    for instance in graph.object_instances:
        shown = instance.object
        source = (instance.parent if instance.is_instance else shown).original
        if shown.type == "MESH" and source in objects and (instance.is_instance or instance.show_self):
            yield source, shown.data, instance.matrix_world


def _hidden(
    graph: bpy.types.Depsgraph, obj: bpy.types.Object
) -> Iterator[tuple[bpy.types.Object, bpy.types.Mesh, Matrix]]:
    """`_meshes` of an object that the viewport does not show: what it is made of itself, without instances."""
    evaluated = obj.evaluated_get(graph)
    if not evaluated.is_evaluated or obj.type not in _SURFACES:
        return
    mesh = evaluated.to_mesh()
    try:
        if mesh is not None:
            yield obj, mesh, evaluated.matrix_world
    finally:
        evaluated.to_mesh_clear()


def _meters(world: Matrix, size: float) -> Array:
    """A world matrix (4, 4) with its result in meters."""
    out = np.array(world)
    out[:3] *= size
    return out


def _no_faces(owner: bpy.types.Object, others: Sequence[bpy.types.Object]) -> str:
    """The sentence for an object without triangles."""
    if others:
        return f"'{owner.name}' and the objects that belong to it have no faces; choose objects with a surface."
    if owner.type == "EMPTY":
        return f"'{owner.name}' is an empty without objects below it; wrap its objects, or put them below it."
    if owner.type not in _SURFACES:
        return f"'{owner.name}' has no surface; choose a mesh, a curve with a bevel, a text or an instance."
    failed = [modifier.name for modifier in owner.modifiers if modifier.show_viewport]
    hint = f"; check its modifiers ({', '.join(failed)})" if failed else ""
    return f"'{owner.name}' has no faces{hint}; choose an object with a surface."
