# SPDX-License-Identifier: GPL-3.0-or-later
"""Attack the installed extension in bpy: take away, rename and replace what its jobs work on, slice after slice, and
give it odd objects, rigs and frame ranges. Right is all done, or refused in words with nothing left behind.

Arguments: the extension's zip, the first case, how many, and a seed. Prints a JSON list a case: kind, number, verdict,
what was told. Called by `nsm-blender evaluate robustness`, in a process of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGE = "bl_ext.user_default.nsm_blender"
SECONDS = 10.0
"""Seconds of processor time of a case above which it is wrong, without the making of its scene."""
MEMORY = 1 << 20
"""Kilobytes by which the process may grow in a case."""
LONGEST = 600
"""Characters of a sentence that refuses."""
FRAMES = 30
"""Frames of the shots."""
WATCHED = ("objects", "actions", "scenes", "meshes", "curves", "armatures", "collections", "node_groups")
"""Kinds of data-blocks of which a refusal leaves none behind."""

Case = Callable[[random.Random], tuple[str, str, str]]


def module(name: str) -> ModuleType:
    """A module of the installed extension."""
    return importlib.import_module(f"{PACKAGE}.{name}")


def names() -> dict[str, set[int]]:
    """The numbers of the data-blocks of each watched kind."""
    import bpy

    return {kind: {block.session_uid for block in getattr(bpy.data, kind)} for kind in WATCHED}


def fresh() -> None:
    """An empty scene."""
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 30, 1, FRAMES


def character(name: str = "Rig") -> Any:
    """The bundled character."""
    import bpy

    bpy.ops.nsm.add_character()
    bpy.context.object.name = name
    return bpy.context.object


def curve(x: float = 0.0, name: str = "Way") -> Any:
    """A curve of 4 m."""
    import bpy

    data = bpy.data.curves.new(name, "CURVE")
    data.dimensions = "3D"
    points = data.splines.new("POLY").points
    points.add(2)
    for point, place in zip(points, ((x, 0, 0, 1), (x + 0.3, -2, 0, 1), (x + 1, -4, 0, 1)), strict=True):
        point.co = place
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def walker() -> Any:
    """A character with its curve."""
    way = curve()
    rig = character()
    rig.nsm.path = way
    return rig


def baked() -> Any:
    """A character with a bake."""
    import bpy

    rig = walker()
    bpy.ops.nsm.bake()
    return rig


# Jobs, as their operators begin them


def bake_job() -> Any:
    """Along a curve."""
    import bpy

    return module("operators.job").BakeJob(bpy.context, walker())


def keys_job() -> Any:
    """To a goal, past a box."""
    import bpy

    bpy.ops.mesh.primitive_cube_add(size=0.4, location=(1.5, -1, 0.2), calc_uvs=False)
    bpy.ops.nsm.wrap_collider(role="obstacle")
    rig = character()
    bpy.ops.nsm.add_goal(name="There", location=(0, -1, 0), attach=False)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.nsm.add_action_key(action="walk", goal="There")
    return module("operators.job").BakeJob(bpy.context, rig)


def synthesis_job() -> Any:
    """Along a curve, by the manifold."""
    import bpy

    return module("operators.synthesis_job").SynthesisJob(bpy.context, walker())


def crowd_job() -> Any:
    """Two curves and one character."""
    import bpy

    rig, other = walker(), curve(2.0, "Other Way")
    for obj in (rig, rig.nsm.path, other):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = rig
    return module("operators.synthesis_job").CrowdJob(bpy.context)


def edit_job() -> Any:
    """A bake whose feet are kept."""
    import bpy

    rig = baked()
    bpy.ops.nsm.add_constraint(kind="FEET")
    return module("operators.manifold_job").EditJob(bpy.context, rig)


def style_job() -> Any:
    """A bake in another style."""
    import bpy

    rig = baked()
    rig.nsm.manifold.style.source.bundled = "zombie"
    return module("operators.manifold_job").StyleJob(bpy.context, rig)


def wrap_job() -> Any:
    """Two boxes."""
    import bpy

    made = []
    for x in (0, 2):
        bpy.ops.mesh.primitive_cube_add(size=0.5, location=(x, 0, 0.25), calc_uvs=False)
        made.append(bpy.context.object)
    for obj in made:
        obj.select_set(True)
    wrapping = module("operators.collider_job")
    return wrapping.WrapJob(bpy.context, wrapping.Order("AUTO", 0.04, True, False))


def check_job() -> Any:
    """The keys of `keys_job`."""
    import bpy

    keys_job().cancel()
    rig = bpy.context.view_layer.objects.active
    return module("operators.check_job").CheckJob(bpy.context, rig)


JOBS: dict[str, Callable[[], Any]] = {
    "bake": bake_job,
    "bake of keys": keys_job,
    "synthesis": synthesis_job,
    "crowd": crowd_job,
    "edit": edit_job,
    "style": style_job,
    "wrap": wrap_job,
    "check": check_job,
}

# What happens to them meanwhile


def some(blocks: Any, rng: random.Random) -> Any:
    """One of the data-blocks, or None."""
    listed = list(blocks)
    return rng.choice(listed) if listed else None


def of_type(kind: str) -> list[Any]:
    """The objects of a type."""
    import bpy

    return [obj for obj in bpy.data.objects if obj.type == kind]


def delete_object(rng: random.Random) -> None:
    """Any object."""
    import bpy

    if obj := some(bpy.data.objects, rng):
        bpy.data.objects.remove(obj)


def delete_data(rng: random.Random) -> None:
    """The data of any object, and with it all that use it."""
    import bpy

    kind = rng.choice(("armatures", "curves", "meshes"))
    if block := some(getattr(bpy.data, kind), rng):
        getattr(bpy.data, kind).remove(block)


def delete_action(rng: random.Random) -> None:
    """Any action."""
    import bpy

    if action := some(bpy.data.actions, rng):
        bpy.data.actions.remove(action)


def rename(rng: random.Random) -> None:
    """Any object, its data, or a bone."""
    import bpy

    what = rng.choice(("object", "data", "bone", "action"))
    if what == "bone" and (rig := some(bpy.data.armatures, rng)):
        some(rig.bones, rng).name = "Renamed"
    elif what == "action" and (action := some(bpy.data.actions, rng)):
        action.name = "Renamed"
    elif obj := some(bpy.data.objects, rng):
        (obj if what == "object" or obj.data is None else obj.data).name = "Renamed"


def assign(rng: random.Random) -> None:
    """Another action, or none, to any object."""
    import bpy

    obj = some(bpy.data.objects, rng)
    if obj is None:
        return
    animation = obj.animation_data or obj.animation_data_create()
    animation.action = rng.choice((None, bpy.data.actions.new("Mine")))


def remap(rng: random.Random) -> None:
    """All users of a data-block to another one of its kind, or to itself."""
    import bpy

    blocks = list(getattr(bpy.data, rng.choice(("actions", "objects", "armatures", "curves"))))
    if blocks:
        rng.choice(blocks).user_remap(rng.choice(blocks))


def edit_mode(rng: random.Random) -> None:
    """Any armature into edit or pose mode, a bone deleted at times."""
    import bpy

    rig = some([obj for obj in of_type("ARMATURE") if obj.name in bpy.context.view_layer.objects], rng)
    if rig is None:
        return
    bpy.context.view_layer.objects.active = rig
    mode = rng.choice(("EDIT", "POSE", "bone"))
    bpy.ops.object.mode_set(mode="EDIT" if mode == "bone" else mode)
    if mode == "bone":
        rig.data.edit_bones.remove(some(rig.data.edit_bones, rng))
        bpy.ops.object.mode_set(mode="OBJECT")


def hide(rng: random.Random) -> None:
    """Any object out of sight, out of its collection, or its collection out of the view layer."""
    import bpy

    obj = some(bpy.data.objects, rng)
    if obj is None:
        return
    match rng.choice(("viewport", "unlink", "hide", "exclude")):
        case "viewport":
            obj.hide_viewport = True
        case "hide" if obj.name in bpy.context.view_layer.objects:
            obj.hide_set(True)
        case "unlink":
            for group in obj.users_collection:
                group.objects.unlink(obj)
        case _:
            for layer in bpy.context.view_layer.layer_collection.children:
                layer.exclude = True


def other_file(_rng: random.Random) -> None:
    """Another file is opened."""
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def other_scene(rng: random.Random) -> None:
    """Another scene is shown, and the old one deleted at times."""
    import bpy

    old = bpy.context.scene
    bpy.context.window.scene = bpy.data.scenes.new("Other")
    if rng.random() < 0.5:
        bpy.data.scenes.remove(old)


def other_time(rng: random.Random) -> None:
    """Another frame range, rate or stretch."""
    import bpy

    scene = bpy.context.scene
    match rng.randrange(4):
        case 0:
            scene.frame_end = rng.choice((1, 5, 10_000))
        case 1:
            scene.render.fps = rng.choice((1, 24, 120))
        case 2:
            scene.render.frame_map_new = rng.choice((50, 300))
        case _:
            scene.frame_set(rng.randint(-50, 500))


def other_transform(rng: random.Random) -> None:
    """Any object somewhere else, scaled, or at no place that is a number."""
    import bpy

    if obj := some(bpy.data.objects, rng):
        value = rng.choice((0.0, -1.0, 1e6, math.nan, math.inf, 3.0))
        getattr(obj, rng.choice(("location", "scale", "rotation_euler")))[rng.randrange(3)] = value


def other_parent(rng: random.Random) -> None:
    """Any object hangs on another one."""
    import bpy

    child, above = some(bpy.data.objects, rng), some(bpy.data.objects, rng)
    if child is not None and above != child:
        with contextlib.suppress(RuntimeError):  # a circle, which Blender refuses
            child.parent = above


def purge(_rng: random.Random) -> None:
    """All that nothing uses is deleted."""
    import bpy

    bpy.data.orphans_purge()


ATTACKS: dict[str, Callable[[random.Random], None]] = {
    "delete object": delete_object,
    "delete data": delete_data,
    "delete action": delete_action,
    "rename": rename,
    "assign": assign,
    "remap": remap,
    "edit mode": edit_mode,
    "hide": hide,
    "other file": other_file,
    "other scene": other_scene,
    "other time": other_time,
    "other transform": other_transform,
    "other parent": other_parent,
    "purge": purge,
}


_SLICES: dict[str, int] = {}
"""Slices of each job, once it was run to its end."""


def slices_of(job: str) -> int:
    """How many slices a job has at least; measuring takes as many as there is time for."""
    if job not in _SLICES:
        fresh()
        work, count = JOBS[job](), 0
        while not work.done:
            work.step()
            count += 1
        _SLICES[job] = max(count - 1, 1)
    return _SLICES[job]


def attacked(job: str, attack: str) -> Case:
    """A job during which something happens, at any slice."""

    def case(rng: random.Random) -> tuple[str, str, str]:
        kind = f"{job}, {attack}"
        whole = slices_of(job)
        fresh()
        work = JOBS[job]()
        before = names()
        start = time.process_time()
        try:
            for _ in range(rng.randrange(whole)):
                work.step()
            mine = names()
            ATTACKS[attack](rng)
            # What the attack itself makes or deletes is not the job's.
            now = names()
            for key, block in now.items():
                before[key] |= block - mine[key]
            work.run()
        except Exception as error:  # noqa: BLE001 - judged
            return (kind, *refusal(error, before, start))
        return (kind, *timed(start))

    return case


def refusal(error: Exception, before: dict[str, set[int]], start: float) -> tuple[str, str]:
    """The verdict on an exception."""
    import bpy

    told = str(error)
    user = any(base.__name__ == "UserError" for base in type(error).__mro__)
    reported = isinstance(error, RuntimeError) and told.startswith(("Error: ", "Warning: ")) and "Traceback" not in told
    if not (user or reported) or len(told) > LONGEST or not told.strip():
        return "wrong", "".join(traceback.format_exception(error))[-800:]
    left = {kind: some_left for kind, blocks in names().items() if (some_left := blocks - before[kind])}
    if left:
        blocks = {kind: [b.name for b in getattr(bpy.data, kind) if b.session_uid in left[kind]] for kind in left}
        return "wrong", f"left behind {blocks} after: {told}"
    verdict, late = timed(start)
    return ("refused", told) if verdict == "well" else (verdict, late)


def timed(start: float) -> tuple[str, str]:
    """Well, unless it took too long."""
    seconds = time.process_time() - start
    return ("wrong", f"took {seconds:.0f} s") if seconds > SECONDS else ("well", "")


# Odd scenes


def operated(kind: str, operator: Callable[[], Any]) -> tuple[str, str, str]:
    """An operator's verdict."""
    before, start = names(), time.process_time()
    try:
        operator()
    except Exception as error:  # noqa: BLE001 - judged
        return (kind, *refusal(error, before, start))
    return (kind, *timed(start))


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


def cases() -> list[tuple[str, Case]]:
    """The sorts of cases in turn."""
    while_working = [(f"{job}, {attack}", attacked(job, attack)) for job in JOBS for attack in ATTACKS]
    odd: list[tuple[str, Case]] = [("odd object", odd_object), ("odd rig", odd_rig), ("odd time", odd_time)]
    return [*while_working, *(16 * odd)]


def main() -> None:
    """Run the cases, and leave at once: bpy may hang at exit when something went wrong."""
    extension, first, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    profile = tempfile.mkdtemp(prefix="nsm-profile-")
    os.environ["BLENDER_USER_RESOURCES"] = profile  # bpy reads it when it is imported
    os.environ["NSM_BLENDER_RAISE"] = "1"
    # Blender prints to the same place; the rows go to where it was at first.
    rows = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import bpy

    bpy.ops.extensions.package_install_files(
        filepath=extension, repo="user_default", enable_on_install=True, overwrite=True
    )
    sorts = cases()
    for number in range(first, first + count):
        name, case = sorts[number % len(sorts)]
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            kind, verdict, told = case(random.Random(f"{seed} {number}"))
        except Exception as error:  # noqa: BLE001 - in the making of the scene
            kind, verdict, told = name, "wrong", "".join(traceback.format_exception(error))[-800:]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size
        if grown > MEMORY:
            verdict, told = "wrong", f"took {grown >> 10} MB"
        print(json.dumps([kind, number, verdict, told]), file=rows, flush=True)
    shutil.rmtree(profile, ignore_errors=True)
    rows.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
