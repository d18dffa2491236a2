# SPDX-License-Identifier: GPL-3.0-or-later
"""Odd objects, rigs and frame ranges, given to the extension's operators."""

from __future__ import annotations

import math
import random
import tempfile
from pathlib import Path
from typing import Any

from attack_scenes import fresh, module, walker
from attack_verdicts import operated


def odd_object(rng: random.Random) -> tuple[str, str, str]:
    """Something odd is wrapped, asked for its handles, and walked around."""
    import bpy

    fresh()
    shape = rng.choice(("mesh", "points", "edge", "none", "nan", "huge", "tiny", "text", "meta", "curve", "surface",
                        "empty", "instance", "light", "grease"))  # fmt: skip
    h = {"huge": rng.choice((1e3, 1e5, 1e12)), "tiny": rng.choice((1e-4, 1e-9, 0.0))}.get(shape, 0.4)
    corners = [(x, y, z) for x in (-h, h) for y in (-h, h) for z in (0, h)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    obj: Any
    if shape in ("text", "curve", "surface", "meta"):
        obj = {"text": bpy.ops.object.text_add, "curve": bpy.ops.curve.primitive_bezier_circle_add,
               "surface": bpy.ops.surface.primitive_nurbs_surface_sphere_add,
               "meta": bpy.ops.object.metaball_add}[shape]()  # fmt: skip
        obj = bpy.context.object
    elif shape in ("empty", "instance", "light", "grease"):
        data = bpy.data.lights.new("Light", "POINT") if shape == "light" else None
        obj = bpy.data.objects.new("Thing", data)
        bpy.context.scene.collection.objects.link(obj)
        if shape == "instance":
            obj.instance_type, obj.instance_collection = "COLLECTION", bpy.data.collections.new("Group")
    else:
        mesh = bpy.data.meshes.new("Thing")
        if shape == "nan":
            corners[rng.randrange(8)] = (math.nan, math.inf, 0.0)
        mesh.from_pydata({"none": []}.get(shape, corners), [(0, 1)] if shape == "edge" else [],
                         faces if shape not in ("points", "edge", "none") else [])  # fmt: skip
        obj = bpy.data.objects.new("Thing", mesh)
        bpy.context.scene.collection.objects.link(obj)
    if rng.random() < 0.5:
        getattr(obj, rng.choice(("scale", "location")))[rng.randrange(3)] = rng.choice(
            (0.0, -1.0, 1e-7, 1e5, math.nan, math.inf)
        )
    if rng.random() < 0.3 and obj.type == "MESH":
        kind = rng.choice(("ARRAY", "SUBSURF", "DECIMATE", "MIRROR", "SOLIDIFY", "BOOLEAN", "MASK"))
        obj.modifiers.new("Odd", kind)
    if rng.random() < 0.2:
        above = bpy.data.objects.new("Above", None)
        bpy.context.scene.collection.objects.link(above)
        above.scale, above.rotation_euler = (1, rng.choice((0.0, 3.0)), 1), (0.3, 0.5, 0.0)
        obj.parent = above
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    role = rng.choice(("AUTO", "obstacle", "seat", "door", "carryable", "surface", "climbable"))
    size = rng.choice((0.04, 0.005, 1.0))
    first = operated(f"odd object, {shape}", lambda: bpy.ops.nsm.wrap_collider(role=role, size=size))
    if first[1] != "well":
        return first
    then = rng.choice((bpy.ops.nsm.propose_handles, bpy.ops.nsm.check_handles, bpy.ops.nsm.turn_facing,
                       bpy.ops.nsm.refresh_colliders, bpy.ops.nsm.remove_collider))  # fmt: skip
    return operated(f"odd object, {shape}", then)


_RIG_FAULTS = (
    *("scale", "nan", "constraint", "driver", "lock", "rest", "delete", "rename", "parent", "connected", "pose", "nla"),
    *("hidden", "bone constraint", "euler", "mirror", "unit", "empty"),
)
"""What may be wrong with a rig."""


def odd_rig(rng: random.Random) -> tuple[str, str, str]:
    """A rig that something is wrong with is baked, synthesized or bound."""
    import bpy

    fresh()
    rig = walker()
    what = rng.choice(_RIG_FAULTS)
    bone = rig.pose.bones[rng.choice(("Hips", "LeftUpLeg", "Spine", "Head", "RightHand"))]
    match what:
        case "scale":
            rig.scale = rng.choice(((0, 1, 1), (2, 1, 1), (1e-6,) * 3, (1e4,) * 3, (0.1,) * 3, (10,) * 3))
        case "nan":
            getattr(rig, rng.choice(("location", "rotation_euler", "scale")))[rng.randrange(3)] = math.nan
        case "constraint":
            rig.constraints.new(rng.choice(("COPY_LOCATION", "CHILD_OF", "FOLLOW_PATH", "LIMIT_SCALE", "TRACK_TO")))
        case "bone constraint":
            bone.constraints.new(rng.choice(("IK", "COPY_ROTATION", "LIMIT_ROTATION", "DAMPED_TRACK")))
        case "driver":
            bone.driver_add("location", 0).driver.expression = rng.choice(("frame", "1/0", "nonsense"))
        case "lock":
            bone.lock_location = bone.lock_rotation = (True, True, True)
        case "rest":
            rig.data.pose_position = "REST"
        case "delete" | "rename" | "connected":
            bpy.ops.object.mode_set(mode="EDIT")
            edited = rig.data.edit_bones[bone.name]
            if what == "delete":
                rig.data.edit_bones.remove(edited)
            elif what == "rename":
                edited.name = "Other"
            else:
                edited.use_connect = True
            bpy.ops.object.mode_set(mode="OBJECT")
        case "parent":
            rig.parent = rig.nsm.path
        case "pose":
            bone.scale, bone.location = (rng.choice((0.0, 2.0)), 1, 1), (5, 0, 0)
        case "nla":
            animation = rig.animation_data_create()
            track = animation.nla_tracks.new()
            track.is_solo = rng.random() < 0.5
            animation.action_influence = rng.choice((0.0, 0.5))
        case "hidden":
            rig.hide_viewport = rng.random() < 0.5
            rig.hide_set(True)
        case "euler":
            bone.rotation_mode = rng.choice(("XYZ", "ZYX", "AXIS_ANGLE"))
        case "mirror":
            rig.scale = (-1, 1, 1)
        case "unit":
            bpy.context.scene.unit_settings.scale_length = rng.choice((0.01, 100.0, 1e-5))
        case _:
            rig.data = bpy.data.armatures.new("Empty")
    bpy.context.view_layer.update()
    bpy.context.view_layer.objects.active = rig
    operator = rng.choice((bpy.ops.nsm.bake, bpy.ops.nsm.synthesize, bpy.ops.nsm.bind, bpy.ops.nsm.save_shot))
    if operator.idname_py() == "nsm.save_shot":
        with tempfile.TemporaryDirectory() as folder:
            return operated(f"odd rig, {what}", lambda: operator(filepath=str(Path(folder) / "shot.json")))
    return operated(f"odd rig, {what}", operator)


def odd_time(rng: random.Random) -> tuple[str, str, str]:
    """Frame ranges and rates that are hardly meant so."""
    import bpy

    fresh()
    scene = bpy.context.scene
    own = scene.nsm
    ends = (-1_048_574, -100, -1, 0, 1, 2, 3, 60, 1_000, 60_000, 108_001, 1_048_574)
    first, last = rng.choice(ends), rng.choice(ends)
    if rng.random() < 0.5:
        own.use_custom_range = True
        own.frame_start, own.frame_end = first, last
    else:
        scene.frame_start, scene.frame_end = max(first, 0), max(last, 0)
    scene.render.fps = rng.choice((1, 2, 24, 30, 60, 240, 1000))
    scene.render.fps_base = rng.choice((1.0, 1.001, 0.5, 10.0))
    if rng.random() < 0.2:
        scene.render.frame_map_old, scene.render.frame_map_new = rng.choice(((100, 50), (1, 900), (200, 200)))
    rig = walker()
    bpy.context.view_layer.objects.active = rig
    count = abs(own.frame_end - own.frame_start if own.use_custom_range else scene.frame_end - scene.frame_start)
    if count / scene.render.fps * scene.render.fps_base > 20 and count < 108_000:
        # A long shot is right, but takes longer than a case may: whether it is begun is what counts.
        return operated("odd time", lambda: module("operators.job").BakeJob(bpy.context, rig).cancel())
    return operated("odd time", rng.choice((bpy.ops.nsm.bake, bpy.ops.nsm.synthesize)))
