# SPDX-License-Identifier: GPL-3.0-or-later
"""The icon and the featured image of the extension's page on the platform: the demo shot, baked by the installed zip.

python tools/store_pictures.py ZIP FOLDER
"""
# It calls our own operators, which no stub knows:
# mypy: disable-error-code="union-attr,attr-defined,arg-type,assignment"

from __future__ import annotations

import math
import os
import sys
import tempfile
from pathlib import Path

FEATURED, ICON = (1920, 1080), (256, 256)
"""Pixels that the platform takes."""
_WALKING, _SEATED = 45, 235
"""Frames of the demo shot at which the character walks, for the icon, and sits, for the featured image."""
_BRIGHTER = 0.8
"""Exposure in stops: the platform shows the image small, on a dark page."""
_WALL = (0.2, 0.21, 0.22)
"""Color beyond the room's walls, as linear RGB."""
_AWAY, _LENS = 4.4, 84.0
"""Meters from the camera of the icon to the character, and its focal length in millimeters."""
_ASIDE = math.radians(55)
"""Angle from the facing at which the icon shows the character."""


def main() -> None:
    """Install the zip in a private profile, bake the demo shot, and render both pictures."""
    extension, folder = (Path(argument).resolve() for argument in sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="nsm-store-") as profile:
        os.environ["BLENDER_USER_RESOURCES"] = profile  # read when bpy is first imported
        import bpy

        bpy.ops.extensions.package_install_files(
            filepath=str(extension), repo="user_default", enable_on_install=True, overwrite=True
        )
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.ops.nsm.add_demo_shot()
        bpy.ops.nsm.bake()
        scene = bpy.context.scene
        scene.frame_set(_SEATED)
        shading = scene.display.shading
        scene.render.engine, scene.display.render_aa = "BLENDER_WORKBENCH", "16"
        shading.light, shading.color_type = "STUDIO", "MATERIAL"
        shading.show_cavity = True
        scene.view_settings.view_transform, scene.view_settings.exposure = "Standard", _BRIGHTER
        scene.world = bpy.data.worlds.new("Store")
        scene.world.color = _WALL
        _render(scene, FEATURED, folder / "featured.jpg", "JPEG")
        scene.frame_set(_WALKING)
        _look_at(scene, bpy.context.view_layer.objects.active)
        scene.render.film_transparent = True
        _render(scene, ICON, folder / "icon.png", "PNG")
        sys.stdout.flush()
        # bpy may hang at exit while an extension is registered.
        os._exit(0)


def _render(scene: object, size: tuple[int, int], file: Path, kind: str) -> None:
    import bpy

    scene.render.resolution_x, scene.render.resolution_y = size
    scene.render.resolution_percentage = 100
    settings = scene.render.image_settings
    settings.file_format, settings.color_mode = kind, "RGBA" if kind == "PNG" else "RGB"
    settings.quality = 90
    scene.render.filepath = str(file)
    bpy.ops.render.render(write_still=True)
    print(f"Wrote {file}")


def _look_at(scene: object, rig: object) -> None:
    """Leave the room out, and put the camera beside the character."""
    import bpy
    from mathutils import Matrix, Vector

    for obj in scene.objects:
        obj.hide_render = obj.type == "MESH" and obj.parent != rig
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    hips = shown.matrix_world @ shown.pose.bones["Hips"].matrix
    # The mannequin's bones have their back along Z.
    facing = hips.to_3x3() @ Vector((0, 0, -1))
    facing.z = 0
    aside = Matrix.Rotation(_ASIDE, 3, "Z") @ facing.normalized()
    middle = Vector((*hips.translation.xy, rig.dimensions.z / 2))
    camera = scene.camera
    camera.data.lens = _LENS
    camera.location = middle + _AWAY * aside
    camera.rotation_euler = (middle - camera.location).to_track_quat("-Z", "Y").to_euler()


if __name__ == "__main__":
    main()
