# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact sheets of a rig's animation: two views of a body that is made for its bones, frame by frame."""
# The stubs call the context's scene and the data of objects optional, and know no render engine but the built-in ones:
# mypy: disable-error-code="union-attr,attr-defined,assignment,arg-type"

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

VIEWS = (("from the front left", 35.0), ("from the right", -90.0))
"""What the rows show, and the angle in degrees from the figure's front to the camera."""
SIZE = (190, 260)
"""Pixels across and down."""
SAMPLES = 4
SIDES = 6
"""Of the prism that a bone's body is."""
THICK, THICKEST, LEAST = 0.16, 0.045, 0.012
"""Radius of a bone's body: share of its length, and shares of the figure's height between which it is kept; the trunk's
is twice that."""
RINGS = ((0.0, 0.5), (0.12, 1.0), (0.85, 0.75), (1.0, 0.35))
"""Of the prism: share of the length, and share of the radius there."""
APART = 0.02
"""Share of the figure's height: a bone that begins so far from its parent's end is joined to it by a body, too."""
TILE = 0.25
"""Side of a floor tile, as a share of the figure's height: a sliding foot shows against it."""
BORDER = 4
COLORS = {
    "left": (0.10, 0.28, 0.75, 1.0),
    "right": (0.75, 0.16, 0.08, 1.0),
    "middle": (0.55, 0.52, 0.46, 1.0),
    "light": (0.26, 0.29, 0.32, 1.0),
    "dark": (0.16, 0.19, 0.22, 1.0),
}

Array = Any


def draw(obj: bpy.types.Object, joints: Mapping[str, str], frames: Sequence[int], file: Path) -> None:
    """Render an armature at `frames` from all VIEWS into one PNG, a row for each view.

    joints: joint of the model -> bone that shows it. The body, blue on the left and red on the right, is taken away
    again.
    """
    height = float(np.ptp([(obj.matrix_world @ bone.head_local).z for bone in obj.data.bones]))
    with tempfile.TemporaryDirectory(prefix="nsm-rig-sheet-") as folder, _stage(obj, height) as camera:
        rows = []
        for label, degrees in VIEWS:
            images = []
            for frame in frames:
                bpy.context.scene.frame_set(frame)
                _aim(camera, obj, joints, height, math.radians(degrees))
                bpy.context.scene.render.stamp_note_text = f"{frame}  {label}"
                images.append(_rendered(Path(folder) / "one.png"))
            rows.append(np.concatenate(images, axis=1))
        _save(np.concatenate(rows[::-1]), file)


@contextmanager
def _stage(obj: bpy.types.Object, height: float) -> Iterator[bpy.types.Object]:
    """The scene with a body, a floor, light and a camera, which is yielded; afterwards they are gone."""
    scene = bpy.context.scene
    made: list[bpy.types.ID] = []

    def add(name: str, data: Any) -> bpy.types.Object:
        thing = bpy.data.objects.new(name, data)
        scene.collection.objects.link(thing)
        made.extend((thing, data))
        return thing

    materials = {name: _material(name) for name in COLORS}
    made += materials.values()
    try:
        body = add("Body", _body(obj, height, materials))
        body.parent = obj
        body.modifiers.new("Armature", "ARMATURE").object = obj
        for bone in obj.data.bones:
            body.vertex_groups.new(name=bone.name)
        _skin(body)
        add("Floor", _floor(obj, height, materials))
        sun = add("Sun", bpy.data.lights.new("Sun", "SUN"))
        sun.data.energy, sun.rotation_euler = 3.0, (math.radians(38), math.radians(18), math.radians(20))
        camera = add("Camera", bpy.data.cameras.new("Camera"))
        camera.data.lens = 60
        camera.data.clip_start, camera.data.clip_end = 0.01 * height, 100 * height
        scene.camera = camera
        scene.world = bpy.data.worlds.new("Sky")
        made.append(scene.world)
        scene.world.use_nodes = True
        background = next(node for node in scene.world.node_tree.nodes if node.type == "BACKGROUND")
        background.inputs["Color"].default_value = (0.5, 0.55, 0.6, 1.0)
        background.inputs["Strength"].default_value = 0.6
        _set_up_render(scene)
        yield camera
    finally:
        bpy.data.batch_remove(made)


def _body(obj: bpy.types.Object, height: float, materials: Mapping[str, bpy.types.Material]) -> bpy.types.Mesh:
    """A spindle along each bone that moves a mesh, in the armature's space; vertices know their bone by number."""
    vertices: list[Array] = []
    faces: list[list[int]] = []
    colors: list[int] = []
    owners: list[int] = []
    for number, begin, end, radius, color in _spindles(obj, height):
        first = len(owners)
        places, around = _spindle(begin, end, radius)
        vertices.append(places)
        faces += [[first + corner for corner in face] for face in around]
        colors += [list(materials).index(color)] * len(around)
        owners += [number] * len(places)
    mesh = bpy.data.meshes.new("Body")
    mesh.from_pydata(np.concatenate(vertices).tolist(), [], faces)
    for material in materials.values():
        mesh.materials.append(material)
    mesh.polygons.foreach_set("material_index", np.array(colors, dtype=np.int32))
    mesh.attributes.new("owner", "INT", "POINT").data.foreach_set("value", np.array(owners, dtype=np.int32))
    return mesh


def _spindles(obj: bpy.types.Object, height: float) -> Iterator[tuple[int, Array, Array, float, str]]:
    """Of the bones that move a mesh, and where one begins away from its parent's end, of the way there: the number of
    the bone that moves it, its ends (3,) and radius in the armature's units, its color."""
    bones = list(obj.data.bones)
    numbers = {bone.name: number for number, bone in enumerate(bones)}
    generated = any(bone.name.startswith("DEF-") for bone in bones)
    axis = np.array(obj.matrix_world)[0, :3]
    unit = height / float(np.linalg.norm(axis))
    for bone in bones:
        if not bone.use_deform or (generated and not bone.name.startswith("DEF-")):
            continue
        begin, end = np.array(bone.head_local), np.array(bone.tail_local)
        ways = [(numbers[bone.name], begin, end)]
        above = bone.parent
        ends = [] if above is None or not above.use_deform else [above.head_local, above.tail_local]
        if ends and min((bone.head_local - place).length for place in ends) > APART * unit:
            ways.append((numbers[above.name], np.array(above.head_local), begin))
        aside = float(axis @ end) / height
        color = "left" if aside > 0.01 else "right" if aside < -0.01 else "middle"
        thick = 2.0 if color == "middle" else 1.0
        for number, start, stop in ways:
            length = float(np.linalg.norm(stop - start))
            radius = min(max(thick * THICK * length, LEAST * unit), thick * THICKEST * unit, 0.4 * length)
            yield number, start, stop, radius, color


def _spindle(begin: Array, end: Array, radius: float) -> tuple[Array, list[list[int]]]:
    """Corners (N, 3) and faces of a prism that is narrow at its ends."""
    along = end - begin
    aside = np.cross(along, np.eye(3)[np.argmin(np.abs(along))])
    aside /= np.linalg.norm(aside)
    ahead = np.cross(along, aside) / np.linalg.norm(along)
    angles = np.arange(SIDES) * (2 * math.pi / SIDES)
    ring = np.outer(np.cos(angles), aside) + np.outer(np.sin(angles), ahead)
    places = np.concatenate([begin + share * along + wide * radius * ring for share, wide in RINGS])
    count = len(RINGS) - 1
    faces = [
        [low * SIDES + i, low * SIDES + (i + 1) % SIDES, (low + 1) * SIDES + (i + 1) % SIDES, (low + 1) * SIDES + i]
        for low in range(count)
        for i in range(SIDES)
    ]
    return places, [*faces, list(range(SIDES))[::-1], [count * SIDES + i for i in range(SIDES)]]


def _skin(body: bpy.types.Object) -> None:
    """Let each vertex follow the bone that it belongs to."""
    owners = np.empty(len(body.data.vertices), dtype=np.int32)
    body.data.attributes["owner"].data.foreach_get("value", owners)
    for number in np.unique(owners).tolist():
        body.vertex_groups[number].add(np.flatnonzero(owners == number).tolist(), 1.0, "REPLACE")


def _floor(obj: bpy.types.Object, height: float, materials: Mapping[str, bpy.types.Material]) -> bpy.types.Mesh:
    """A checkered floor at z = 0, wide enough for ten seconds."""
    count, size = 60, TILE * height
    x, y = np.meshgrid(np.arange(count + 1) - count // 2, np.arange(count + 1) - count // 2, indexing="ij")
    middle = np.array(obj.matrix_world)[:2, 3]
    places = np.stack([x * size + middle[0], y * size + middle[1], np.zeros(x.shape)], -1).reshape(-1, 3)
    rows, columns = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    first = (rows * (count + 1) + columns).ravel()
    mesh = bpy.data.meshes.new("Floor")
    mesh.from_pydata(
        places.tolist(), [], np.stack([first, first + count + 1, first + count + 2, first + 1], -1).tolist()
    )
    mesh.polygons.foreach_set("material_index", ((rows + columns) % 2).ravel().astype(np.int32))
    for name in ("light", "dark"):
        mesh.materials.append(materials[name])
    return mesh


def _material(name: str) -> bpy.types.Material:
    material = bpy.data.materials.new(name)
    if material.node_tree is None:
        material.use_nodes = True
    shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
    shader.inputs["Base Color"].default_value = COLORS[name]
    shader.inputs["Roughness"].default_value = 0.9
    return material


def _aim(
    camera: bpy.types.Object, obj: bpy.types.Object, joints: Mapping[str, str], height: float, angle: float
) -> None:
    """Look at the figure from `angle` (radians) beside its front, as its hips are turned."""
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    place = {joint: shown.matrix_world @ shown.pose.bones[bone].head for joint, bone in joints.items()}
    left = place["LeftUpLeg"] - place["RightUpLeg"]
    middle = (place["LeftUpLeg"] + place["RightUpLeg"]) / 2
    around = math.atan2(left.y, left.x) + angle
    away = Vector((math.sin(around), -math.cos(around), 0.25))
    target = Vector((middle.x, middle.y, 0.52 * height))
    camera.location = target + 2.6 * height * away
    camera.rotation_euler = (-away).to_track_quat("-Z", "Y").to_euler()


def _set_up_render(scene: bpy.types.Scene) -> None:
    render = scene.render
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y = SIZE
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    scene.view_settings.view_transform = "Standard"
    scene.cycles.device, scene.cycles.samples = "CPU", SAMPLES
    scene.cycles.use_denoising, scene.cycles.max_bounces = False, 1
    render.use_persistent_data = True
    render.use_stamp = render.use_stamp_note = True
    for name in dir(render):
        if name.startswith("use_stamp_") and name != "use_stamp_note":
            setattr(render, name, False)
    render.stamp_font_size, render.stamp_background = 12, (0.0, 0.0, 0.0, 0.55)


def _rendered(file: Path) -> Array:
    """The scene as it is now, (height, width, 4), bottom row first, with a dark border."""
    bpy.context.scene.render.filepath = str(file)
    bpy.ops.render.render(write_still=True)
    image = bpy.data.images.load(str(file))
    width, height = image.size
    pixels = np.empty(width * height * 4, np.float32)
    image.pixels.foreach_get(pixels)
    bpy.data.images.remove(image)
    framed = np.full((height + BORDER, width + BORDER, 4), (0.05, 0.05, 0.05, 1.0), np.float32)
    framed[BORDER // 2 :, BORDER // 2 :][:height, :width] = pixels.reshape(height, width, 4)
    return framed


def _save(pixels: Array, file: Path) -> None:
    height, width = pixels.shape[:2]
    image = bpy.data.images.new("Sheet", width, height)
    image.pixels.foreach_set(np.ascontiguousarray(pixels).ravel())
    image.filepath_raw, image.file_format = str(file), "PNG"
    image.save()
    bpy.data.images.remove(image)
