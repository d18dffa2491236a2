# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders in the scene: what is stored on an object, how its shape becomes cuboids, and all of them for a shot.

Blender reads the annotations of a PropertyGroup as they are, so this file has no postponed annotations.
"""
# A property's annotation is a call, which is no type:
# mypy: disable-error-code="valid-type"

import base64
import binascii
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from bpy.props import (
    BoolProperty,
    CollectionProperty,
    EnumProperty,
    FloatProperty,
    FloatVectorProperty,
    IntProperty,
    PointerProperty,
    StringProperty,
)
from mathutils import Euler, Matrix, Quaternion

from ..nsm_blender.errors import ColliderError
from ..nsm_blender.geometry.colliders import Collider, Cuboids
from ..nsm_blender.geometry.mesh import TriangleMesh
from ..nsm_blender.motion.rotations import Array, make_continuous
from ..nsm_blender.stepwise import Stepwise, finished
from . import curves, handles, hierarchy, meshes

VOXEL = 0.04
"""Meters of a voxel's edge by default (NSM 4.3 asks for a high resolution; this is a hand's breadth by half)."""

ROLE_ITEMS = (
    ("obstacle", "Obstacle", "Something to walk around", "MESH_CUBE", 0),
    ("seat", "Seat", "Something to sit on", "USER", 1),
    ("door", "Door", "A leaf to open", "TRIA_RIGHT_BAR", 2),
    ("carryable", "Carryable", "Something to carry between two hands", "PACKAGE", 3),
    ("surface", "Surface", "Something to put things on", "SNAP_FACE", 4),
    ("climbable", "Steps", "Something to climb onto", "SORT_DESC", 5),
    ("ground", "Ground", "Something to walk on", "VIEW_PERSPECTIVE", 6),
)
"""The engine's roles. The numbers are stored in files: never change them."""

SIDE_ITEMS = (
    ("front", "Front", "From the front", 1),
    ("left", "Left", "From the left of the seated character", 2),
    ("right", "Right", "From the right of the seated character", 4),
    ("back", "Back", "From behind", 8),
)
WEIGHT_ITEMS = (
    ("light", "Light", "Carried with ease, such as a cardboard box", 0),
    ("medium", "Medium", "Carried with care, such as a full crate", 1),
    ("heavy", "Heavy", "Carried with effort, such as a television", 2),
)

_FIXED: set[str] = set()
"""Options of a property that cannot be keyed: a bake reads it once."""
_OVERRIDE = {"LIBRARY_OVERRIDABLE"}
_MOVERS = ("action", "drivers", "nla_tracks")


class NSM_PG_part(bpy.types.PropertyGroup):
    """An object that belongs to another one's collider."""

    object: PointerProperty(
        name="Object", description="An object of this collider", type=bpy.types.Object, override=_OVERRIDE
    )


class NSM_PG_collider(bpy.types.PropertyGroup):
    """What an object is for the characters: its shape as cuboids, and its use."""

    count: IntProperty(
        name="Cuboids", description="Number of cuboids; 0: not a collider", options=_FIXED, override=_OVERRIDE
    )
    boxes: StringProperty(
        description="The cuboids in the object's frame; see scene/colliders.py", options=_FIXED, override=_OVERRIDE
    )
    fingerprint: StringProperty(description="Of the shape that was wrapped", options=_FIXED, override=_OVERRIDE)
    scale: FloatVectorProperty(
        description="The scale with which it was wrapped", size=3, options=_FIXED, override=_OVERRIDE
    )
    revision: IntProperty(description="Changes with the cuboids", options=_FIXED, override=_OVERRIDE)
    stale: BoolProperty(
        name="Out of Date",
        description="The shape has changed since it was wrapped; a bake takes the new one",
        options=_FIXED,
        override=_OVERRIDE,
    )
    enabled: BoolProperty(
        name="Enabled",
        description="The characters notice this collider",
        default=True,
        options=_FIXED,
        override=_OVERRIDE,
    )
    size: FloatProperty(
        name="Voxel Size",
        description="Meters of a voxel's edge; takes effect with the next refresh",
        default=VOXEL,
        min=0.005,
        soft_min=0.02,
        soft_max=1.0,
        max=100.0,
        precision=3,
        options=_FIXED,
        override=_OVERRIDE,
    )
    use_children: BoolProperty(
        name="With Children",
        description="The objects below this one belong to it, without those that are colliders of their own",
        default=True,
        options=_FIXED,
        override=_OVERRIDE,
    )
    parts: CollectionProperty(type=NSM_PG_part, override=_OVERRIDE)
    role: EnumProperty(
        name="Role", description="What this is for", items=ROLE_ITEMS, options=_FIXED, override=_OVERRIDE
    )
    handles: StringProperty(
        description="The role's handles in the object's frame, as JSON", options=_FIXED, override=_OVERRIDE
    )
    handles_scale: FloatVectorProperty(
        description="The scale with which the handles were kept; 0: that of the cuboids",
        size=3,
        options=_FIXED,
        override=_OVERRIDE,
    )
    also: StringProperty(
        description="Handles of the other parts that are used alike, in the object's frame, as JSON",
        options=_FIXED,
        override=_OVERRIDE,
    )
    warnings: StringProperty(
        description="What is odd about the handles, a line each", options=_FIXED, override=_OVERRIDE
    )
    approaches: EnumProperty(
        name="Approach",
        description="Sides from which the seat may be approached",
        items=SIDE_ITEMS,
        default={"front"},
        options={"ENUM_FLAG"},
        override=_OVERRIDE,
    )
    weight: EnumProperty(
        name="Weight", description="How heavy this is", items=WEIGHT_ITEMS, options=_FIXED, override=_OVERRIDE
    )
    leaf_width: FloatProperty(
        name="Leaf Width",
        description="Meters from the hinge to the free edge",
        min=0.0,
        default=0.9,
        options=_FIXED,
        override=_OVERRIDE,
    )
    leaf_height: FloatProperty(
        name="Leaf Height",
        description="Meters of the leaf's height",
        min=0.0,
        default=2.0,
        options=_FIXED,
        override=_OVERRIDE,
    )
    angle: FloatProperty(
        name="Opening Angle",
        description="Angle to which the leaf opens; positive is counter-clockwise from above",
        subtype="ANGLE",
        default=1.5707963,
        min=-3.1415926,
        max=3.1415926,
        options=_FIXED,
        override=_OVERRIDE,
    )


CLASSES = (NSM_PG_part, NSM_PG_collider)


def of(obj: bpy.types.Object) -> NSM_PG_collider:
    """The collider's settings of an object."""
    return obj.nsm.collider


def is_collider(obj: bpy.types.Object) -> bool:
    """Whether an object was wrapped."""
    return of(obj).count > 0


def name_of(obj: bpy.types.Object) -> str:
    """The name that the engine's `Collider` of this object has; unlike `name` it differs from a linked namesake."""
    return obj.name_full


def in_scene(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The objects of the view layer that are colliders, in its order; hidden ones too."""
    return [obj for obj in context.view_layer.objects if is_collider(obj)]


def members(obj: bpy.types.Object, below: hierarchy.Below | None = None) -> list[bpy.types.Object]:
    """The other objects that belong to the collider of `obj`. below: the children of all objects, where it is known."""
    settings = of(obj)
    found = [part.object for part in settings.parts if part.object is not None and part.object.users_scene]
    if settings.use_children:
        found += meshes.family(obj, below)
        for part in list(found):
            found += meshes.family(part, below)
    return [part for part in dict.fromkeys(found) if part != obj]


def finding_cuboids(mesh: TriangleMesh, size: float, name: str) -> Stepwise[Cuboids]:
    """The cuboids of a mesh in meters, in pieces of work. size: meters of a voxel. name: of the object, for the
    sentence.

    Raises ColliderError when the mesh cannot be wrapped.
    """
    from ..nsm_blender.geometry import cuboids

    try:
        return (yield from cuboids.finding_cuboids(mesh, size))
    except ColliderError as error:
        raise ColliderError(f"'{name}': {error}") from error


def store(obj: bpy.types.Object, cuboids: Cuboids, fingerprint: str) -> None:
    """Make `obj` a collider of these cuboids, in the collider's frame, in meters."""
    settings = of(obj)
    settings.boxes = encode(cuboids)
    settings.revision = zlib.crc32(settings.boxes.encode()) & 0x7FFFFFFF
    settings.count = len(cuboids.center)
    settings.fingerprint = fingerprint
    settings.scale = meshes.scale_of(obj)
    settings.stale = False


def check_writable(obj: bpy.types.Object) -> None:
    """Raise ColliderError when what is stored on `obj` cannot be changed in this file."""
    if obj.library is not None:
        raise ColliderError(
            f"'{obj.name}' is linked from another file; change it there, or make a library override of it first."
        )


def forget(obj: bpy.types.Object) -> None:
    """Make `obj` an ordinary object again: no setting of a collider is left."""
    settings = of(obj)
    for prop in settings.bl_rna.properties:
        if not prop.is_readonly:
            settings.property_unset(prop.identifier)
    settings.parts.clear()


def encode(cuboids: Cuboids) -> str:
    """Cuboids as text: center and half edges as little-endian float32, compressed, in base 64.

    A text is what a property keeps in every version of Blender, through undo, copy, append and link.
    """
    values = np.concatenate([cuboids.center, cuboids.half], axis=1).astype("<f4")
    return base64.b64encode(zlib.compress(values.tobytes())).decode()


def decode(text: str) -> Cuboids:
    """The cuboids of a text. Raises ColliderError when it is damaged."""
    try:
        raw = zlib.decompress(base64.b64decode(text, validate=True))
        values = np.frombuffer(raw, dtype="<f4").astype(np.float64).reshape(-1, 6)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ColliderError("The stored cuboids are damaged; wrap the object again.") from error
    return Cuboids(values[:, :3], values[:, 3:])


def stored(obj: bpy.types.Object) -> Cuboids:
    """The cuboids that are stored on an object. Raises ColliderError when they are damaged."""
    try:
        return decode(of(obj).boxes)
    except ColliderError as error:
        raise ColliderError(f"'{obj.name}': {error}") from error


def changed(graph: bpy.types.Depsgraph, objects: list[bpy.types.Object]) -> dict[bpy.types.Object, meshes.Surface]:
    """Those of the colliders whose shape is not the one that was wrapped, and their shape now.

    Raises ColliderError when one has no shape any more.
    """
    below = hierarchy.children()
    surfaces = meshes.read_all(graph, {obj: members(obj, below) for obj in objects})
    return {
        obj: surface
        for obj, surface in surfaces.items()
        if not meshes.same(of(obj).fingerprint, signature(surface, of(obj).size))
    }


def signature(surface: meshes.Surface, size: float) -> str:
    """What is stored as the fingerprint: of the shape, and of the voxels that it was wrapped with."""
    return f"{surface.fingerprint()} {size:.4f}"


def gather(context: bpy.types.Context, frames: Array, without: Collection[bpy.types.Object] = ()) -> list[Collider]:
    """The enabled colliders of the view layer, but those in `without`, with their poses at scene frames (F,), in world
    meters.

    One that never moves has one pose. One whose shape has changed gives the cuboids of its shape now. The scene is
    left as it is. Raises ColliderError.
    """
    graph = context.evaluated_depsgraph_get()
    there = [obj for obj in in_scene(context) if of(obj).enabled and obj not in without]
    objects = [obj for obj in there if obj.evaluated_get(graph).is_evaluated]
    shapes = {obj: stored(obj) for obj in objects}
    for obj, surface in changed(graph, objects).items():
        shapes[obj] = finished(finding_cuboids(surface.mesh(), of(obj).size, obj.name))
    below = hierarchy.children()
    held = {obj: handles.read(graph, obj, below) for obj in objects}
    where = poses(context, objects, frames)
    return [
        Collider(name_of(obj), shapes[obj], where[obj], of(obj).role, held[obj], handles.others(obj)) for obj in objects
    ]


def around(context: bpy.types.Context, obj: bpy.types.Object) -> list[Collider]:
    """The other colliders as they are stored and stand now. Raises ColliderError when one is damaged."""
    graph = context.evaluated_depsgraph_get()
    size = curves.meters_per_unit(context.scene)
    out = []
    for other in in_scene(context):
        evaluated = other.evaluated_get(graph)
        if other != obj and of(other).enabled and evaluated.is_evaluated:
            place = pose(evaluated.matrix_world, size, other.name)[None]
            out.append(Collider(name_of(other), stored(other), place, of(other).role))
    return out


def poses(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], frames: Array
) -> dict[bpy.types.Object, Array]:
    """Poses (1, 7) or (F, 7) of each object in world meters. Frames are played only when one may move.

    Raises ColliderError for a place or scale that is no good.
    """
    size = curves.meters_per_unit(context.scene)
    tracks = _sampled(context, objects, frames, lambda obj, evaluated: pose(evaluated.matrix_world, size, obj.name))
    for track in tracks.values():
        track[:, 3:] = make_continuous(track[:, 3:])
    return {obj: _short(track) for obj, track in tracks.items()}


@dataclass(frozen=True, eq=False)
class Track:
    """How an object is placed at F frames, or at one when it does not move. world, basis: (F, 4, 4), in the world and
    by its own channels, Blender units. rotation, delta: quaternions (F, 4) of its rotation and its delta rotation.
    shift: (F, 3) its delta location.
    """

    world: Array
    basis: Array
    rotation: Array
    delta: Array
    shift: Array


def transforms(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], frames: Array
) -> dict[bpy.types.Object, Track]:
    """The transforms of objects at scene frames (F,). Frames are played only when one may move."""
    sampled = _sampled(context, objects, frames, lambda _obj, evaluated: _transform(evaluated))
    out = {}
    for obj, rows in sampled.items():
        kept = _short(rows)
        world, basis = (part.reshape(-1, 4, 4) for part in (kept[:, :16], kept[:, 16:32]))
        out[obj] = Track(world, basis, kept[:, 32:36], kept[:, 36:40], kept[:, 40:43])
    return out


def _transform(evaluated: bpy.types.Object) -> Array:
    """What `Track` holds of one frame, in a row (43,)."""
    mode = evaluated.rotation_mode
    delta = Quaternion()
    if mode == "QUATERNION":
        rotation, delta = evaluated.rotation_quaternion.normalized(), evaluated.delta_rotation_quaternion.normalized()
    elif mode == "AXIS_ANGLE":
        angle, *axis = evaluated.rotation_axis_angle
        rotation = Quaternion(axis, angle)
    else:
        rotation = evaluated.rotation_euler.to_quaternion()
        # Blender turns by the delta angles in the object's own order.
        angles = evaluated.delta_rotation_euler
        delta = Euler((angles.x, angles.y, angles.z), mode).to_quaternion()
    world, basis = (
        np.array(matrix, dtype=np.float64).ravel() for matrix in (evaluated.matrix_world, evaluated.matrix_basis)
    )
    return np.concatenate([world, basis, rotation, delta, evaluated.delta_location])


def _sampled(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    frames: Array,
    read: Callable[[bpy.types.Object, bpy.types.Object], Array],
) -> dict[bpy.types.Object, Array]:
    """What `read` gives, a row of numbers, of each object and how it is evaluated: at all frames, or now for one that
    cannot move."""
    graph = context.evaluated_depsgraph_get()
    out = {obj: read(obj, obj.evaluated_get(graph))[None] for obj in objects}
    movers = [obj for obj in objects if _may_move(obj)]
    if not movers:
        return out
    rows: dict[bpy.types.Object, list[Array]] = {obj: [] for obj in movers}
    for _frame in _played(context, frames):
        graph = context.evaluated_depsgraph_get()
        for obj, found in rows.items():
            found.append(read(obj, obj.evaluated_get(graph)))
    return out | {obj: np.array(found) for obj, found in rows.items()}


def _short(track: Array) -> Array:
    """A track (F, n), or its first row alone when all are alike."""
    return track[:1] if np.allclose(track, track[0], rtol=0, atol=1e-7) else track


def _played(context: bpy.types.Context, frames: Array) -> Iterator[int]:
    """Set the scene to each frame in turn, and back afterwards."""
    scene, frame, subframe = context.scene, context.scene.frame_current, context.scene.frame_subframe
    try:
        for at in frames.tolist():
            scene.frame_set(int(at))
            yield int(at)
    finally:
        scene.frame_set(frame, subframe=subframe)


def pose(world: Matrix, size: float, name: str) -> Array:
    """A world matrix as a pose (7,): place in meters and quaternion of the collider's frame. Raises ColliderError."""
    frame = meshes.rigid(world, size, name)
    return np.array([*frame[:3, 3], *Matrix(frame.tolist()).to_quaternion()])


def _may_move(obj: bpy.types.Object) -> bool:
    """Whether an object, or what it hangs on, is animated, constrained or simulated."""
    above: bpy.types.Object | None = obj
    while above is not None:
        animation = above.animation_data
        if animation is not None and any(getattr(animation, name) for name in _MOVERS):
            return True
        # A vertex or bone that it hangs on may be moved by anything.
        if above.constraints or above.rigid_body is not None or above.parent_type not in ("OBJECT", "ARMATURE"):
            return True
        above = above.parent
    return False
