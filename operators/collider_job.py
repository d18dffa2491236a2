# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes into cuboids, one object after the other; what is found is written at the end, all at once."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import bpy

from ..nsm_blender import Collider, ColliderError, Cuboids, Stepwise, TriangleMesh
from ..scene import colliders, ground, handles, meshes
from ..scene.lookup import find
from . import proposing
from .job import Steps, paced

AUTO = "AUTO"
"""The role that is guessed from the shape."""
_WRAPPED = 0.9
"""Progress when all shapes are cuboids; the rest is proposing."""


@dataclass(frozen=True)
class Order:
    """What to wrap, and how: see the operator's properties."""

    role: str
    size: float
    use_children: bool
    as_one: bool


@dataclass(frozen=True, eq=False)
class Shape:
    """What became of one object, in the collider's frame. obj: its number. size: meters of the voxels."""

    obj: int
    mesh: TriangleMesh
    cuboids: Cuboids
    signature: str
    size: float


class WrapJob(Steps):
    """Wraps `objects`, without any the selected ones. An object that cannot be wrapped is left out with a note; alone,
    it is an error."""

    doing = "wrapping"

    def __init__(
        self, context: bpy.types.Context, order: Order, objects: Sequence[bpy.types.Object] | None = None
    ) -> None:
        self._order = order
        self._groups = _chosen(context, order, context.selected_objects if objects is None else objects)
        self.wrapped, self.cuboids, self.notes = 0, 0, list[str]()
        super().__init__()
        everyone = [uid for owner, others in self._groups.items() for uid in (owner, *others)]
        self.premises.hold(("object", _object(uid)) for uid in everyone)

    def stages(self) -> Generator[float]:
        """Read and wrap each, propose how they are used, then write all."""
        shapes = []
        for number, (owner, others) in enumerate(self._groups.items()):
            try:
                work = self._shape(_object(owner), [_object(other) for other in others])
                shapes.append((yield from paced(work, _WRAPPED * number / len(self._groups))))
            except ColliderError as error:
                if len(self._groups) == 1:
                    raise
                self.notes.append(str(error))
            yield _WRAPPED * (number + 1) / len(self._groups)
        if not shapes:
            raise ColliderError(" ".join(self.notes))
        also = [_collider(shape) for shape in shapes]
        uses = []
        for number, shape in enumerate(shapes):
            share = _WRAPPED + (1 - _WRAPPED) * number / len(shapes)
            uses.append((yield from paced(self._use(shape, also), share)))
            yield _WRAPPED + (1 - _WRAPPED) * (number + 1) / len(shapes)
        for shape, use in zip(shapes, uses, strict=True):
            self._write(shape, use)

    def _shape(self, obj: bpy.types.Object, others: list[bpy.types.Object]) -> Stepwise[Shape]:
        """Read and wrap an object with those that belong to it. Raises ColliderError."""
        colliders.check_writable(obj)
        surface = meshes.read(bpy.context.evaluated_depsgraph_get(), obj, others)
        uid, size, role = obj.session_uid, self._order.size, self._order.role
        yield
        mesh = surface.mesh()
        coarse = ground.voxel_size(mesh, size)
        if role == AUTO and coarse > size:
            yield
            role = yield from proposing.guess(bpy.context, _object(uid), mesh)
        return (yield from _wrapped(_object(uid), surface, coarse if role == ground.ROLE else size))

    def _use(self, shape: Shape, also: list[Collider]) -> Stepwise[proposing.Use]:
        role = self._order.role
        if role == AUTO:
            role = yield from proposing.guess(bpy.context, _object(shape.obj), shape.mesh)
        return (yield from proposing.propose(bpy.context, _object(shape.obj), role, shape.mesh, also))

    def _write(self, shape: Shape, use: proposing.Use) -> None:
        obj = _object(shape.obj)
        settings = colliders.of(obj)
        settings.size, settings.use_children = shape.size, self._order.use_children
        settings.parts.clear()
        if self._order.as_one:
            for uid in self._groups[shape.obj]:
                settings.parts.add().object = _object(uid)
        colliders.store(obj, shape.cuboids, shape.signature)
        proposing.put(bpy.context, obj, use)
        self.wrapped += 1
        self.cuboids += settings.count
        self.notes += [f"'{obj.name}': {line}" for line in use.warnings]


class RefreshJob(Steps):
    """Wraps those colliders of the view layer again that have changed."""

    doing = "refreshing"

    def __init__(self, context: bpy.types.Context, force: bool) -> None:
        self._force = force
        self._objects = [obj.session_uid for obj in colliders.in_scene(context)]
        self.wrapped, self.seen, self.notes = 0, len(self._objects), list[str]()
        super().__init__()
        self.premises.hold(("object", _object(uid)) for uid in self._objects)

    def stages(self) -> Generator[float]:
        """Read and compare each, wrap the changed ones, then write all."""
        shapes, same = [], []
        for number, uid in enumerate(self._objects):
            obj = _object(uid)
            try:
                shape = yield from paced(self._shape(obj), number / (len(self._objects) + 1))
            except ColliderError as error:
                self.notes.append(str(error))
            else:
                if shape is None:
                    same.append(uid)
                else:
                    shapes.append(shape)
            yield (number + 1) / (len(self._objects) + 1)
        for uid in same:
            if colliders.of(_object(uid)).stale:
                colliders.of(_object(uid)).stale = False
        uses = [self._use(shape) for shape in shapes]
        for shape, use in zip(shapes, uses, strict=True):
            obj = _object(shape.obj)
            colliders.store(obj, shape.cuboids, shape.signature)
            if use is not None:
                proposing.put(bpy.context, obj, use)
        self.wrapped = len(shapes)

    def _use(self, shape: Shape) -> proposing.Use | None:
        """What is to be said of the handles with the new shape; None when they cannot be read, which becomes a note."""
        obj = _object(shape.obj)
        try:
            now = handles.read(bpy.context.evaluated_depsgraph_get(), obj)
            return proposing.check(bpy.context, obj, shape.mesh, now)
        except ColliderError as error:
            self.notes.append(str(error))
            return None

    def _shape(self, obj: bpy.types.Object) -> Stepwise[Shape | None]:
        """The shape of a collider, or None when it is as it was."""
        settings = colliders.of(obj)
        surface = meshes.read(bpy.context.evaluated_depsgraph_get(), obj, colliders.members(obj))
        fingerprint, size, uid = settings.fingerprint, settings.size, obj.session_uid
        yield
        if not self._force and meshes.same(fingerprint, colliders.signature(surface, size)):
            return None
        colliders.check_writable(_object(uid))
        return (yield from _wrapped(_object(uid), surface, size))


def _wrapped(obj: bpy.types.Object, surface: meshes.Surface, size: float) -> Stepwise[Shape]:
    """The shape of an object, which is not touched after the first piece of work."""
    uid, name = obj.session_uid, obj.name
    yield
    mesh = surface.mesh()
    yield
    cuboids = yield from colliders.finding_cuboids(mesh, size, name)
    yield
    return Shape(uid, mesh, cuboids, colliders.signature(surface, size), size)


def _collider(shape: Shape) -> Collider:
    """The collider that a shape will be, where its object stands now."""
    obj = _object(shape.obj)
    return Collider(colliders.name_of(obj), shape.cuboids, proposing.pose_of(bpy.context, obj)[None])


def _chosen(context: bpy.types.Context, order: Order, objects: Sequence[bpy.types.Object]) -> dict[int, list[int]]:
    """Which objects become colliders, and which others belong to each, by their numbers. Raises ColliderError."""
    selected = [obj for obj in objects if not handles.is_handle(obj)]
    if not selected:
        raise ColliderError("No object is selected; select the objects to wrap.")
    if order.as_one:
        owner = context.active_object
        if owner not in selected:
            raise ColliderError("The active object is not selected; it is the one that becomes the collider.")
        parts = [obj for obj in selected if obj != owner]
        return {owner.session_uid: [obj.session_uid for obj in _below([owner, *parts], order) if obj != owner]}
    chosen = {}
    for obj in selected:
        others = [other for other in _below([obj], order) if other not in selected]
        if meshes.has_surface(obj) or others or len(selected) == 1:
            chosen[obj.session_uid] = [other.session_uid for other in others]
    if not chosen:
        raise ColliderError("None of the selected objects has a surface; select meshes, or their parents.")
    return chosen


def _below(objects: list[bpy.types.Object], order: Order) -> list[bpy.types.Object]:
    """The objects without the first of them, with their children when these are asked for."""
    found = list(objects[1:])
    if order.use_children:
        for obj in objects:
            found += meshes.family(obj)
    return list(dict.fromkeys(found))


def _object(uid: int) -> bpy.types.Object:
    """The object with this number. Raises ColliderError when it was deleted meanwhile."""
    obj: bpy.types.Object | None = find(bpy.data.objects, uid)
    if obj is None:
        raise ColliderError("An object was deleted meanwhile; nothing was changed.")
    return obj
