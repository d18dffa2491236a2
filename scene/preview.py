# SPDX-License-Identifier: GPL-3.0-or-later
"""Pictures of baked shots: a contact sheet over time, whose camera follows the character, and one view of a crowd.

Everything is built in a scene of its own, which is removed afterwards. Meanwhile that scene is the
window's, and frames are stepped through: call it from a process that was started for it, as the demo does.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import bpy
import numpy as np
from mathutils import Vector
from numpy.typing import NDArray

from ..nsm_blender.errors import UserError

Array = NDArray[np.float32]
Engine: TypeAlias = Literal["CYCLES", "BLENDER_WORKBENCH"]

_TILE = 0.5
"""Meters of a floor tile: a sliding foot shows against it."""
_BORDER = 6
"""Pixels between the pictures of a sheet."""
_ROOM = 0.8
"""Meters that the camera goes back from where a group just fits."""
_AROUND = 1.25
"""How much larger than its bones a character is in a thumbnail, with its flesh and some room."""
_THICK = 0.09
"""Half the thickness of a stick over its length."""
_SIDES = ((0, 1, 2, 3), (7, 6, 5, 4), (0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0))
"""Faces of a stick by its corners."""
_LENS, _NEAR_LENS = 52, 38
"""Focal lengths in millimeters of the usual camera and of the near one, which sees a character between walls."""
_NEAR = 3.4
"""Meters from the near camera to the character."""
_COLORS = {
    "light tile": (0.26, 0.29, 0.32, 1.0),
    "dark tile": (0.17, 0.20, 0.23, 1.0),
    "path": (0.95, 0.50, 0.03, 1.0),
    "trace": (0.03, 0.28, 0.75, 1.0),
}


@dataclass(frozen=True)
class Picture:
    """One picture of the sheet: the scene frame that it shows and the text below. near: of a room's sheet, degrees
    about +Z, 0 from -Y, from where a camera close by looks at the character; None for the whole room."""

    frame: int
    label: str
    near: float | None = None


def contact_sheet(
    character: bpy.types.Object,
    pictures: Sequence[Picture],
    path: Sequence[Sequence[float]],
    file: Path,
    *,
    columns: int = 5,
    size: int = 320,
    engine: Engine = "CYCLES",
    around: Sequence[bpy.types.Object] = (),
) -> None:
    """Render `pictures` of an animated armature and the meshes below it into one PNG.

    path: places (x, y, z) in meters of the line that it should follow, drawn on the floor in yellow; the way
    that its hips went is drawn in blue. size: pixels of a picture's side. engine: CYCLES (needs no graphics)
    or BLENDER_WORKBENCH (needs EGL). around: other objects of the shot to show.
    Raises UserError when nothing could be rendered.
    """
    with (
        tempfile.TemporaryDirectory(prefix="nsm-preview-") as folder,
        _stage([character], [path], (size, size), engine, around) as stage,
    ):
        stage.draw_trace(pictures[0].frame, pictures[-1].frame)
        heading: float | None = None
        images = []
        for number, picture in enumerate(pictures):
            stage.scene.frame_set(picture.frame)
            heading = stage.aim(heading)
            stage.scene.render.stamp_note_text = picture.label
            images.append(_render(stage.scene, Path(folder) / f"{number:03d}.png"))
    _save(_compose(images, columns), file)


def thumbnail(
    character: bpy.types.Object, bones: Sequence[str], way: Array, angle: float, frame: int, size: int
) -> Array:
    """A picture (size, size, 4) of an armature and the meshes that it moves, bottom row first.

    bones: those that have to be in view; where no mesh is there, they are drawn as sticks. way: (N, 3) Blender units,
    N at least 2, drawn on the floor. angle: about +Z from which the camera looks, 0 from -Y. Raises UserError when
    nothing could be rendered.
    """
    before = set(bpy.data.images)
    try:
        with (
            tempfile.TemporaryDirectory(prefix="nsm-preview-") as folder,
            _stage([character], [way.tolist()], (size, size), "CYCLES") as stage,
        ):
            stage.scene.frame_set(frame)
            stage.scene.render.use_stamp = False
            if not any(child.type == "MESH" for child in character.children_recursive):
                stage.draw_sticks(bones)
            stage.aim_at_bones(bones, angle)
            picture = _render(stage.scene, Path(folder) / "thumbnail.png")
    finally:
        bpy.data.batch_remove([image for image in bpy.data.images if image not in before])  # Blender's own result
    return np.concatenate([picture, np.ones((size, size, 1), np.float32)], axis=-1)


def group_picture(
    characters: Sequence[bpy.types.Object],
    picture: Picture,
    paths: Sequence[Sequence[Sequence[float]]],
    file: Path,
    *,
    size: tuple[int, int] = (1280, 720),
    engine: Engine = "CYCLES",
) -> None:
    """Render animated armatures and the meshes below them at one frame, all in view, into a PNG.

    paths: for each line that is drawn on the floor its places (x, y, z) in meters. size: pixels across and down.
    Raises UserError when nothing could be rendered.
    """
    with (
        tempfile.TemporaryDirectory(prefix="nsm-preview-") as folder,
        _stage(characters, paths, size, engine) as stage,
    ):
        stage.scene.frame_set(picture.frame)
        stage.aim_at_all(characters)
        stage.scene.render.stamp_note_text = picture.label
        image = _render(stage.scene, Path(folder) / "group.png")
    _save(_compose([image], 1), file)


def room_sheet(
    character: bpy.types.Object,
    pictures: Sequence[Picture],
    paths: Sequence[Sequence[Sequence[float]]],
    file: Path,
    *,
    around: Sequence[bpy.types.Object],
    columns: int = 2,
    size: tuple[int, int] = (480, 300),
    engine: Engine = "CYCLES",
) -> None:
    """Render `pictures` of an animated armature among the things of a room into one PNG, the room seen from -Y or the
    character from nearby.

    paths: for each line that is drawn its places (x, y, z) in meters. around: the room's objects, all in view. size:
    pixels of a picture across and down. Raises UserError when nothing could be rendered.
    """
    with (
        tempfile.TemporaryDirectory(prefix="nsm-preview-") as folder,
        _stage([character], paths, size, engine, around) as stage,
    ):
        stage.draw_trace(pictures[0].frame, pictures[-1].frame)
        # From the open side, so that no wall shades what happens before it.
        stage.sun.rotation_euler = (math.radians(40), 0.0, math.radians(-10))
        images = []
        for number, picture in enumerate(pictures):
            stage.scene.frame_set(picture.frame)
            if picture.near is None:
                stage.aim_at_room(around, paths)
            else:
                stage.aim_near(math.radians(picture.near))
            stage.scene.render.stamp_note_text = picture.label
            images.append(_render(stage.scene, Path(folder) / f"{number:03d}.png"))
    _save(_compose(images, columns), file)


class _Stage:
    """A scene with the characters, the floor and a camera; the camera can follow the first character."""

    def __init__(self, scene: bpy.types.Scene, character: bpy.types.Object, made: list[bpy.types.ID]) -> None:
        self.scene, self.character = scene, character
        self._made = made
        self.camera = self.add("Camera", bpy.data.cameras.new("Camera"))
        self.camera.data.lens = _LENS
        self.sun = self.add("Sun", bpy.data.lights.new("Sun", "SUN"))
        self.sun.data.energy, self.sun.data.angle = 2.6, math.radians(4)
        self.sun.rotation_euler = (math.radians(38), math.radians(18), math.radians(20))
        scene.camera = self.camera

    def add(self, name: str, data: bpy.types.ID) -> bpy.types.Object:
        """An object that goes when the stage does."""
        obj = bpy.data.objects.new(f"NSM Preview {name}", data)
        self._made += [obj, data]
        self.scene.collection.objects.link(obj)
        return obj

    def material(self, name: str) -> bpy.types.Material:
        """A matt material in the color of that name."""
        material = bpy.data.materials.new(f"NSM Preview {name}")
        self._made.append(material)
        material.diffuse_color = _COLORS[name]
        if material.node_tree is None:
            material.use_nodes = True
        shader = next(node for node in material.node_tree.nodes if node.type == "BSDF_PRINCIPLED")
        shader.inputs["Base Color"].default_value = _COLORS[name]
        shader.inputs["Roughness"].default_value = 0.9
        return material

    def draw_trace(self, first: int, last: int) -> None:
        """Draw the way of the hips between two frames on the floor."""
        places = []
        for frame in range(first, last + 1, 2):
            self.scene.frame_set(frame)
            places.append(self.hips())
        on_floor = np.array(places, np.float32) * np.array((1, 1, 0), np.float32)
        self.add("Trace", _ribbon(on_floor, 0.012, 0.003, self.material("trace")))

    def aim(self, heading: float | None) -> float:
        """Three-quarter view of where the character is now, turning with it slowly; returns the heading seen."""
        now = self.facing()
        heading = now if heading is None else heading + 0.6 * math.remainder(now - heading, 2 * math.pi)
        hips = self.hips()
        target = Vector((hips.x, hips.y, 0.86))
        around = heading - math.radians(52)
        away = Vector((math.sin(around), -math.cos(around), 0.34))
        self.camera.location = target + 3.7 * away
        self.camera.rotation_euler = (-away).to_track_quat("-Z", "Y").to_euler()
        return heading

    def aim_at_all(self, characters: Sequence[bpy.types.Object]) -> None:
        """A view from above and ahead of the first, as near as all are in the picture with their pose of now."""
        layer = self.scene.view_layers[0]
        assert layer.depsgraph is not None
        corners: list[float] = []
        for armature in characters:
            there = armature.evaluated_get(layer.depsgraph)
            for bone in there.pose.bones:
                corners += (there.matrix_world @ bone.tail).to_tuple()
        around = self.facing() - math.radians(35)
        away = Vector((math.sin(around), -math.cos(around), 0.5))
        self._aim_at_places(corners, away)
        self.camera.location += _ROOM * away.normalized()

    def aim_at_bones(self, bones: Sequence[str], angle: float) -> None:
        """A view from a little above, at `angle` about +Z, as near as these bones are in the picture with some room."""
        ends = [end for head, tail in self._bones(bones) for end in (head, tail)]
        away = Vector((math.sin(angle), -math.cos(angle), 0.3))
        middle = sum(ends, Vector()) / len(ends)
        wide = [middle + _AROUND * (end - middle) for end in ends]
        self._aim_at_places([number for place in wide for number in place], away)

    def draw_sticks(self, bones: Sequence[str]) -> None:
        """Draw these bones, where they are now, as four-sided sticks."""
        corners: list[Vector] = []
        faces: list[tuple[int, ...]] = []
        for head, tail in self._bones(bones):
            turn, thick = (tail - head).to_track_quat("Z", "Y"), _THICK * (tail - head).length
            first = len(corners)
            for end in (head, tail):
                corners += [
                    end + turn @ Vector((thick * x, thick * y, 0)) for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1))
                ]
            faces += [tuple(first + i for i in side) for side in _SIDES]
        mesh = bpy.data.meshes.new("NSM Preview Sticks")
        mesh.from_pydata([corner.to_tuple() for corner in corners], [], faces)
        mesh.materials.append(self.material("trace"))
        self.add("Sticks", mesh)

    def _bones(self, names: Sequence[str]) -> list[tuple[Vector, Vector]]:
        """Heads and tails of bones in the world."""
        there = self._evaluated()
        bones = [there.pose.bones[name] for name in names]
        return [(there.matrix_world @ bone.head, there.matrix_world @ bone.tail) for bone in bones]

    def aim_at_room(self, things: Sequence[bpy.types.Object], paths: Sequence[Sequence[Sequence[float]]]) -> None:
        """A view from above and from -Y, as near as all things and ways are in the picture."""
        corners = [(thing.matrix_world @ Vector(corner)).to_tuple() for thing in things for corner in thing.bound_box]
        corners += [(x, y, z + 2.0) for path in paths for x, y, z in path]
        self.camera.data.lens = _LENS
        self._aim_at_places([number for corner in corners for number in corner], Vector((0.0, -1.0, 1.05)))

    def aim_near(self, around: float) -> None:
        """A view of the whole body and what it has in its hands, from an angle about +Z, 0 from -Y."""
        hips = self.hips()
        away = Vector((math.sin(around), -math.cos(around), 0.3))
        self.camera.data.lens = _NEAR_LENS
        self.camera.location = Vector((hips.x, hips.y, max(hips.z - 0.05, 0.9))) + _NEAR * away
        self.camera.rotation_euler = (-away).to_track_quat("-Z", "Y").to_euler()

    def _aim_at_places(self, numbers: list[float], away: Vector) -> None:
        """Look against `away` from where all places, three numbers each, just fit."""
        layer = self.scene.view_layers[0]
        self.camera.rotation_euler = (-away).to_track_quat("-Z", "Y").to_euler()
        layer.update()
        self.camera.location, _ = self.camera.camera_fit_coords(layer.depsgraph, numbers)

    def hips(self) -> Vector:
        """Where the root bone is, in the world."""
        return self._evaluated().matrix_world @ self._root().head

    def facing(self) -> float:
        """The character's facing about +Z in radians, 0 along -Y."""
        bone = self._root()
        turned = bone.matrix @ bone.bone.matrix_local.inverted()
        forward = (self._evaluated().matrix_world @ turned).to_3x3() @ Vector((0.0, -1.0, 0.0))
        return math.atan2(forward.x, -forward.y)

    def _evaluated(self) -> bpy.types.Object:
        layer = self.scene.view_layers[0]
        assert layer.depsgraph is not None
        return self.character.evaluated_get(layer.depsgraph)

    def _root(self) -> bpy.types.PoseBone:
        return next(bone for bone in self._evaluated().pose.bones if bone.parent is None)


@contextmanager
def _stage(
    characters: Sequence[bpy.types.Object],
    paths: Sequence[Sequence[Sequence[float]]],
    size: tuple[int, int],
    engine: Engine,
    around: Sequence[bpy.types.Object] = (),
) -> Iterator[_Stage]:
    user, window = bpy.context.scene, bpy.context.window
    assert user is not None
    assert window is not None
    scene = bpy.data.scenes.new("NSM Preview")
    made: list[bpy.types.ID] = []
    try:
        # a scene that no window shows is rendered with the character's pose of another frame
        window.scene = scene
        scene.render.fps, scene.render.fps_base = user.render.fps, user.render.fps_base
        for character in characters:
            for obj in (character, *(child for child in character.children_recursive if child.type == "MESH")):
                scene.collection.objects.link(obj)
        for obj in around:
            scene.collection.objects.link(obj)
        stage = _Stage(scene, characters[0], made)
        lines = [np.array(path, np.float32) for path in paths]
        stage.add("Floor", _floor(np.concatenate(lines), stage.material("light tile"), stage.material("dark tile")))
        yellow = stage.material("path")
        for number, line in enumerate(lines):
            # bands that lie in each other are black
            stage.add("Path", _ribbon(line, 0.04, 0.002 + 0.0003 * number, yellow))
        scene.world = _sky()
        made.append(scene.world)
        _set_up_render(scene, size, engine)
        yield stage
    finally:
        window.scene = user
        bpy.data.scenes.remove(scene)
        bpy.data.batch_remove(made)


def _set_up_render(scene: bpy.types.Scene, size: tuple[int, int], engine: Engine) -> None:
    render = scene.render
    render.engine = engine  # type: ignore[assignment]  # the stubs know the built-in engine only
    render.resolution_x, render.resolution_y = size
    render.resolution_percentage = 100
    render.image_settings.file_format = "PNG"
    render.image_settings.color_mode = "RGB"
    scene.view_settings.view_transform = "Standard"  # type: ignore[assignment]  # the stubs do not load the color configuration
    if engine == "CYCLES":
        scene.cycles.device = "CPU"
        scene.cycles.samples = 8
        scene.cycles.use_denoising = False
        scene.cycles.max_bounces = 2
    else:
        shading = scene.display.shading
        shading.light, shading.color_type = "STUDIO", "MATERIAL"
        shading.show_shadows = shading.show_cavity = True
        shading.background_type = "WORLD"
        scene.display.render_aa = "8"
    render.use_stamp = True
    for part in (
        "date",
        "time",
        "render_time",
        "frame",
        "frame_range",
        "memory",
        "hostname",
        "camera",
        "lens",
        "scene",
        "marker",
        "filename",
        "sequencer_strip",
    ):
        setattr(render, f"use_stamp_{part}", False)
    render.use_stamp_note = True
    render.use_stamp_labels = False
    render.stamp_font_size = 15
    render.stamp_background = (0.0, 0.0, 0.0, 0.55)


def _sky() -> bpy.types.World:
    world = bpy.data.worlds.new("NSM Preview")
    world.color = (0.52, 0.58, 0.64)
    if world.node_tree is None:
        world.use_nodes = True
    background = next(node for node in world.node_tree.nodes if node.type == "BACKGROUND")
    background.inputs["Color"].default_value = (*world.color, 1.0)
    background.inputs["Strength"].default_value = 0.55
    return world


def _floor(places: Array, *tiles: bpy.types.Material) -> bpy.types.Mesh:
    """A checkered floor at z = 0 around `places` (N, 3)."""
    low = np.floor((places[:, :2].min(0) - 14) / _TILE).astype(int)
    high = np.ceil((places[:, :2].max(0) + 14) / _TILE).astype(int)
    x, y = np.meshgrid(np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1), indexing="ij")
    vertices = np.stack([x * _TILE, y * _TILE, np.full(x.shape, -0.001)], -1).reshape(-1, 3)
    rows, columns = np.meshgrid(np.arange(x.shape[0] - 1), np.arange(x.shape[1] - 1), indexing="ij")
    first = (rows * x.shape[1] + columns).ravel()
    quads = np.stack([first, first + x.shape[1], first + x.shape[1] + 1, first + 1], -1)
    mesh = bpy.data.meshes.new("NSM Preview Floor")
    mesh.from_pydata(vertices.tolist(), [], quads.tolist())
    mesh.polygons.foreach_set("material_index", ((rows + columns + low.sum()) % 2).ravel().astype(np.int32))
    for tile in tiles:
        mesh.materials.append(tile)
    return mesh


def _ribbon(places: Array, half_width: float, height: float, material: bpy.types.Material) -> bpy.types.Mesh:
    """A level band along `places` (N, 3), `height` meters above them."""
    along = np.gradient(places[:, :2], axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    middle = places + np.array((0, 0, height), np.float32)
    side = half_width * np.stack([-along[:, 1], along[:, 0], np.zeros(len(along))], -1)
    i, n = np.arange(len(places) - 1), len(places)
    mesh = bpy.data.meshes.new("NSM Preview Ribbon")
    quads = np.stack([i, i + n, i + 1 + n, i + 1], -1)[:, ::-1]
    mesh.from_pydata(np.concatenate([middle - side, middle + side]).tolist(), [], quads.tolist())
    mesh.materials.append(material)
    return mesh


def _render(scene: bpy.types.Scene, file: Path) -> Array:
    """One frame as an array (height, width, 3), bottom row first."""
    scene.render.filepath = str(file)
    try:
        bpy.ops.render.render(write_still=True, scene=scene.name)
    except RuntimeError as error:
        raise UserError(f"The preview could not be rendered: {str(error).strip()}") from error
    if not file.exists():
        raise UserError("The preview could not be rendered: Blender wrote no picture.")
    image = bpy.data.images.load(str(file))
    try:
        width, height = image.size
        pixels = np.empty(width * height * 4, np.float32)
        image.pixels.foreach_get(pixels)
    finally:
        bpy.data.images.remove(image)
    return pixels.reshape(height, width, 4)[..., :3]


def _compose(images: Sequence[Array], columns: int) -> Array:
    """Pictures (H, W, 3) row by row from the top into one (height, width, 4), bottom row first."""
    height, width = images[0].shape[:2]
    rows = -(-len(images) // columns)
    sheet = np.ones((rows * (height + _BORDER) + _BORDER, columns * (width + _BORDER) + _BORDER, 4), np.float32)
    sheet[..., :3] = 0.08
    for number, image in enumerate(images):
        row, column = divmod(number, columns)
        y = (rows - 1 - row) * (height + _BORDER) + _BORDER
        x = column * (width + _BORDER) + _BORDER
        sheet[y : y + height, x : x + width, :3] = image
    return sheet


def _save(pixels: Array, file: Path) -> None:
    height, width = pixels.shape[:2]
    image = bpy.data.images.new("NSM Preview", width, height)
    try:
        image.pixels.foreach_set(pixels.ravel())
        image.filepath_raw = str(file)
        image.file_format = "PNG"
        image.save()
    except RuntimeError as error:
        raise UserError(f"{file} could not be written: {str(error).strip()}") from error
    finally:
        bpy.data.images.remove(image)
