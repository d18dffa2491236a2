# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake really did: the rig as Blender evaluates it, held against the engine's motion."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

import bpy
import numpy as np

from ..nsm_blender.errors import ShotError
from ..nsm_blender.geometry.body import depth, depth_of_points
from ..nsm_blender.geometry.colliders import Surroundings
from ..nsm_blender.geometry.ground import Ground
from ..nsm_blender.motion.foot_lock import Heights
from ..nsm_blender.motion.motion import Motion
from ..nsm_blender.motion.rotations import Array
from ..nsm_blender.motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from ..nsm_blender.naturalness.findings import Finding, finding_out
from ..nsm_blender.rigging.body_measure import BodyMeasure
from ..nsm_blender.stepwise import Stepwise
from . import arrivals, curves, isolation
from .gather import Gathered
from .properties import of_object
from .rig import orientations

_CONTACT = 0.5
"""A foot with a label above this touches the ground."""
_BUDGET = 1.5
"""Seconds that the measuring may take; in a heavy scene it takes fewer frames."""
_SLICE = 0.03
"""Seconds of measuring at a time."""
_TOLD = 1.0
"""Millimeters of the rig's error above which a note tells it."""
_AT_LEAST = 12
"""Frames that are measured however long it takes, beginning and end among them."""

_EVERY, _FRAMES = 2, 24
"""Of the measured frames, the depth in colliders is taken at every second one, so many at a time."""
_ACTIVE = 0.2
"""An action whose label is above this is being done."""

_OFF = 0.01
"""Meters by which the mesh may be in the floor, over it, or in itself before a note tells it."""

_SOLES = tuple(ANKLE_HEIGHT if name.endswith("Foot") else TOE_HEIGHT for name in CONTACT_JOINTS)
"""Meters of the model's CONTACT_JOINTS over its soles."""

_FINDING = ("measure", "value", "ratio", "text")

_NAMES = {
    "keys_unthinned": "keys.unthinned",
    "keys": "keys.written",
    "seconds_rollout": "seconds.rollout",
    "seconds_retarget": "seconds.retarget",
    "seconds_write": "seconds.write",
    "rig_error_mm_max": "rig_error_mm.max",
    "rig_error_mm_mean": "rig_error_mm.mean",
    "penetration_cm_max": "penetration_cm.max",
    "sole_depth_cm": "sole_depth_cm.max",
    "sole_gap_cm": "sole_gap_cm.max",
    "hand_depth_cm": "hand_depth_cm.max",
}
_MESH = ("sole_depth_cm", "sole_gap_cm", "hand_depth_cm")


Shown = tuple[Array, Array, Array]
"""Heads and tails (M, 3) of the measured bones in world meters, and their world orientations (M, 4)."""


@dataclass
class Report:
    """The figures of one bake; None where a figure does not apply.

    keys: that were written. keys_unthinned: that it would be with one for each frame. sole_depth_cm, sole_gap_cm: of
    the mesh's soles below and above what a foot stands on. hand_depth_cm: deepest that its hands are in its hips, trunk
    and thighs.
    """

    frames: int = 0
    frames_measured: int = 0
    keys: int = 0
    keys_unthinned: int = 0
    seconds_rollout: float = 0.0
    seconds_retarget: float = 0.0
    seconds_write: float = 0.0
    rig_error_mm_max: float = 0.0
    rig_error_mm_mean: float = 0.0
    foot_slide_cm_per_s: float = 0.0
    path_error_cm: float | None = None
    goal_error_cm: float | None = None
    goal_error_deg: float | None = None
    penetration_cm_max: float | None = None
    sole_depth_cm: float | None = None
    sole_gap_cm: float | None = None
    hand_depth_cm: float | None = None
    goals: list[arrivals.Arrival] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> str:
        """One JSON object with the design's names, flat but for the lists of goals and of findings."""
        values = {_NAMES.get(f.name, f.name): getattr(self, f.name) for f in fields(self)}
        values["findings"] = [asdict(one) | {"natural": one.natural} for one in self.findings]
        return json.dumps(values | {"goals": arrivals.plain(self.goals)}, indent=1)

    def store(self, armature: bpy.types.Object) -> None:
        """Keep the figures on the armature, for the panel and for the file."""
        stored = of_object(armature).report
        for name in _stored_names():
            value = getattr(self, name)
            if name == "notes":
                value = "\n".join(value)
            setattr(stored, name, -1.0 if value is None else value)
        stored.findings.clear()
        for one in self.findings:
            kept = stored.findings.add()
            for name in _FINDING:
                setattr(kept, name, getattr(one, name))
        arrivals.store(armature, self.goals)

    @staticmethod
    def stored(armature: bpy.types.Object) -> Report:
        """The report that `store` kept on the armature."""
        stored, report = of_object(armature).report, Report()
        for name in _stored_names():
            setattr(report, name, getattr(stored, name))
        report.notes = stored.notes.splitlines()
        for name in ("goal_error_cm", "goal_error_deg", "path_error_cm", *_MESH, "penetration_cm_max"):
            if getattr(stored, name) < 0:
                setattr(report, name, None)
        report.findings = [Finding(*(getattr(kept, name) for name in _FINDING)) for kept in stored.findings]
        report.goals = arrivals.stored(armature)
        return report


def forget(armature: bpy.types.Object) -> None:
    """Take the stored report off the armature."""
    of_object(armature).property_unset("report")
    arrivals.forget(armature)


def measure(
    context: bpy.types.Context, armature: bpy.types.Object, gathered: Gathered, motion: Motion, report: Report
) -> Iterator[float]:
    """Evaluate the baked rig at many frames and fill in `report`. Yields the share that is done, 0..1.

    The scene is as it was at each yield, so that a caller that stops here leaves nothing behind.
    """
    places: dict[int, Shown] = {}
    waiting = _order(len(motion))
    spent = 0.0
    while waiting and (spent < _BUDGET or len(places) < _AT_LEAST):
        start = time.perf_counter()
        places.update(_evaluate(context, armature, gathered, waiting))
        spent += time.perf_counter() - start
        yield 0.8 * len(places) / len(motion)
    for _ in _filling_in(gathered, motion, places, report):
        yield 0.8
    for share in _measure_depth(gathered, motion, places, report):
        yield 0.8 + 0.2 * share
    for _ in _finding_out(motion, report):
        yield 1.0


def _finding_out(motion: Motion, report: Report) -> Stepwise[None]:
    report.findings = yield from finding_out(motion, report.penetration_cm_max)


def measure_together(
    context: bpy.types.Context, baked: Sequence[tuple[bpy.types.Object, Gathered, Motion, Report]]
) -> Iterator[float]:
    """The same for many characters with the same frames, at few of these: each is evaluated once for all.

    baked: for each the armature, what was asked for, the engine's motion and the report to fill in.
    """
    frames, meters = baked[0][1].frames, curves.meters_per_unit(context.scene)
    places: list[dict[int, Shown]] = [{} for _ in baked]
    indices = _order(len(frames))[:_AT_LEAST]
    for done, index in enumerate(indices, 1):
        with isolation.stage(context, [armature for armature, *_ in baked]) as stage:
            graph = stage.show(int(frames[index]))
            for (armature, gathered, *_), found in zip(baked, places, strict=True):
                found[index] = _shown(armature.evaluated_get(graph), gathered.rig.measured, meters)
        yield done / len(indices)
    for (_, gathered, motion, report), found in zip(baked, places, strict=True):
        for _ in _filling_in(gathered, motion, found, report):
            yield 1.0


def _filling_in(gathered: Gathered, motion: Motion, places: dict[int, Shown], report: Report) -> Stepwise[None]:
    """The figures from what is shown at some of the frames, in pieces of work."""
    at = np.array(sorted(places))
    heads, tips, turned = (np.stack([places[i][part] for i in at.tolist()]) for part in range(3))
    yield
    errors = _errors(gathered, motion, at, heads, tips)
    yield
    surface = _surface(gathered, motion, at)
    body = gathered.rig.body_measure(motion, at, heads, turned, surface)
    yield
    heads = gathered.rig.joints(heads, motion, at)
    yield
    report.frames_measured = len(at)
    report.rig_error_mm_max = float(errors.max()) * 1000
    _judge(gathered, report, int(gathered.frames[at[errors.max(axis=1).argmax()]]))
    report.rig_error_mm_mean = float(errors.mean()) * 1000
    report.foot_slide_cm_per_s = _foot_slide(motion, at, heads) * 100
    report.notes += gathered.rig.notes
    if body is not None:
        _tell_body(body, gathered.frames[at], report)
    elif surface is not None:
        _tell_feet(_soles(gathered, motion, at, heads, surface), gathered.frames[at], report)
    report.path_error_cm = _path_error(gathered, heads[:, 0])
    report.goal_error_cm = _goal_error(gathered, heads[-1, 0])
    if gathered.shot.keys:
        yield
        report.goals = arrivals.measured(gathered, motion, at, heads)
        report.notes += arrivals.troubles(motion)
        report.goal_error_cm = max((a.error_cm for a in report.goals if a.error_cm is not None), default=None)
        report.goal_error_deg = max((a.error_deg for a in report.goals if a.error_deg is not None), default=None)


def _surface(gathered: Gathered, motion: Motion, at: Array) -> Heights | None:
    """Heights in world meters of the ground under places (N, P, 2), those of a frame (N,) at the storey of its root;
    None on a level floor."""
    if not gathered.shot.ground:
        return None
    ground, scale = Ground.of([mesh.mesh() for mesh in gathered.shot.ground]), gathered.rig.scale
    near = motion.root[at, 2:3].astype(np.float64)
    return lambda places: scale * ground.height(places / scale, near)


def _soles(gathered: Gathered, motion: Motion, at: Array, heads: Array, surface: Heights) -> Array:
    """Heights (N, 2) in meters of the left and the right foot over the ground, where the joints are at (N, J, 3): the
    lower of ankle and ball, each less its height over the sole; not a number where the foot does not stand."""
    feet = heads[:, MODEL_SKELETON.indices(CONTACT_JOINTS)]
    under = surface(feet[..., :2]) + gathered.rig.scale * np.array(_SOLES)
    touches = motion.contacts[at][:, [motion.contact_names.index(name) for name in CONTACT_JOINTS]] > _CONTACT
    over = (feet[..., 2] - under).reshape(len(at), 2, 2).min(axis=2)
    return np.where(touches.reshape(len(at), 2, 2).any(axis=2), over, np.nan)


def _tell_body(body: BodyMeasure, frames: Array, report: Report) -> None:
    """The figures of the mesh at scene frames (N,), and a note on what is off by more than a centimeter."""
    _tell_feet(body.soles, frames, report)
    report.hand_depth_cm = 100 * (hands := body.hands.max())
    if hands > _OFF:
        frame = frames[body.hands.argmax()]
        report.notes.append(f"A hand is up to {100 * hands:.1f} cm in the body, most at frame {frame}.")


def _tell_feet(soles: Array, frames: Array, report: Report) -> None:
    """The figures of the soles (N, 2) at scene frames (N,), and a note on what is off by more than a centimeter."""
    low, high = np.nanmin(soles, initial=0.0), np.nanmax(soles, initial=0.0)
    report.sole_depth_cm, report.sole_gap_cm = 100 * -low, 100 * high
    if -low > _OFF:
        frame = frames[np.nanargmin(np.nanmin(soles, axis=1, initial=0.0))]
        report.notes.append(f"The soles are up to {-100 * low:.1f} cm in the floor, most at frame {frame}.")
    if high > _OFF:
        frame = frames[np.nanargmax(np.nanmax(soles, axis=1, initial=0.0))]
        report.notes.append(f"The soles are up to {100 * high:.1f} cm over the floor, most at frame {frame}.")


def _judge(gathered: Gathered, report: Report, frame: int) -> None:
    """Raise ShotError for a rig that is not where its keys put it, worst at `frame`; a note where its own locks and
    limits explain it."""
    error, name = report.rig_error_mm_max, gathered.rig.name
    if not np.isfinite(error):
        raise ShotError(
            f"The bake was discarded: at frame {frame} '{name}' has a location that is not a finite number; look for a "
            "driver or handler that computes it."
        )
    if error > 1000 * gathered.rig.slack:
        raise ShotError(
            f"The bake was discarded: at frame {frame} '{name}' is {error:,.0f} mm away from where its keys put it; "
            "something else moves it, such as a handler, a driver or a parent."
        )
    if error > _TOLD:
        report.notes.append(
            f"At frame {frame} locks, limits or inverse kinematics keep '{name}' {error:,.0f} mm away from the motion."
        )


def _measure_depth(gathered: Gathered, motion: Motion, places: dict[int, Shown], report: Report) -> Iterator[float]:
    """How deep the rig is in colliders, where these are as the bake moves them; yields the share that is done."""
    shot = gathered.shot
    if not shot.colliders:
        return
    moved = motion.meta.get("things", {})
    around = Surroundings([replace(c, poses=np.array(moved.get(c.name, c.poses))) for c in shot.colliders])
    used = sorted({goal.collider for goal in shot.goals if goal.collider})
    sits, handles = _doing(motion, ("sit",)), _doing(motion, ("carry", "open"))
    deepest, at = 0.0, sorted(places)[::_EVERY]
    for first in range(0, len(at), _FRAMES):
        rows = np.array(at[first : first + _FRAMES])
        heads, _, turned = (np.stack([places[i][part] for i in rows.tolist()]) for part in range(3))
        joints = gathered.rig.joints(heads, motion, rows) / gathered.rig.scale
        mesh = gathered.rig.body_measure(motion, rows, heads, turned)
        for number, i in enumerate(rows.tolist()):
            if mesh is None:
                deep = depth(joints[number], i, around, used, sits[i], handles[i])
            else:
                points, middle = mesh.surface[number] / gathered.rig.scale, joints[number, 0]
                deep = depth_of_points(points, 0.0, mesh.owners, middle, i, around, used, sits[i], handles[i])
            deepest = max(deepest, deep)
        yield first / len(at)
    report.penetration_cm_max = 100 * deepest * gathered.rig.scale


def _doing(motion: Motion, actions: Sequence[str]) -> list[bool]:
    """For each frame whether one of these actions is done."""
    columns = [motion.action_names.index(name) for name in actions if name in motion.action_names]
    doing: list[bool] = (motion.actions[:, columns] > _ACTIVE).any(axis=1).tolist()
    return doing


def _order(count: int) -> list[int]:
    """All frames, in an order in which any beginning covers the range evenly and holds pairs of neighbors."""
    pairs = list(range(0, count, 2))
    order = [0, count - 1]
    step = 1 << max(len(pairs).bit_length() - 1, 0)
    seen = set(order)
    while step:
        for k in range(0, len(pairs), step):
            for i in (pairs[k], pairs[k] + 1):
                if i < count and i not in seen:
                    seen.add(i)
                    order.append(i)
        step >>= 1
    return order


def _evaluate(
    context: bpy.types.Context, armature: bpy.types.Object, gathered: Gathered, waiting: list[int]
) -> dict[int, Shown]:
    """The measured bones, by index in the frames.

    Takes indices from `waiting` until a slice of time is used up.
    """
    end = time.perf_counter() + _SLICE
    meters = curves.meters_per_unit(context.scene)
    out = {}
    with isolation.stage(context, [armature]) as stage:
        while waiting and (not out or time.perf_counter() < end):
            index = waiting.pop(0)
            # A handler may delete the armature at any frame, so it is not touched before the frame is shown.
            graph = stage.show(int(gathered.frames[index]))
            out[index] = _shown(armature.evaluated_get(graph), gathered.rig.measured, meters)
    return out


def _shown(evaluated: bpy.types.Object, names: tuple[str, ...], meters: float) -> Shown:
    """Bones of an evaluated armature."""
    world = np.array(evaluated.matrix_world, dtype=np.float64)
    bones = evaluated.pose.bones
    places = [np.array([getattr(bones[name], end) for name in names], dtype=np.float64) for end in ("head", "tail")]
    heads, tails = ((place @ world[:3, :3].T + world[:3, 3]) * meters for place in places)
    return heads, tails, orientations(evaluated, names)


def _errors(gathered: Gathered, motion: Motion, at: Array, heads: Array, tips: Array) -> Array:
    """Distances (N, 2 M) in meters of heads and tails (N, M, 3) from where the motion wants them.

    The heads say nothing of a last bone's rotation, such as that of a hand.
    """
    places, directions = gathered.rig.wanted(motion, at)
    bones = tips - heads
    lengths = np.linalg.norm(bones, axis=-1, keepdims=True)
    return np.linalg.norm(np.concatenate((heads - places, bones - directions * lengths), axis=1), axis=-1)


def _foot_slide(motion: Motion, at: Array, heads: Array) -> float:
    """Mean horizontal speed in m/s of heels and toes between neighboring frames in both of which they touch."""
    first = np.flatnonzero(np.diff(at) == 1)
    speeds = []
    for name in CONTACT_JOINTS:
        label = motion.contacts[:, motion.contact_names.index(name)] > _CONTACT
        touching = first[label[at[first]] & label[at[first] + 1]]
        joint = MODEL_SKELETON.index(name)
        moved = heads[touching + 1, joint, :2] - heads[touching, joint, :2]
        speeds.append(np.linalg.norm(moved, axis=-1) * motion.fps)
    every = np.concatenate(speeds)
    return float(every.mean()) if len(every) else 0.0


def _distance_from(line: Array, places: Array) -> Array:
    """Horizontal distance (N,) of places (N, 3) from a polyline (P, 3)."""
    a, b = line[:-1, :2], line[1:, :2]
    along = b - a
    length2 = np.maximum((along**2).sum(axis=1), 1e-12)
    out = np.empty(len(places))
    for i, place in enumerate(places[:, :2]):
        t = np.clip(((place - a) * along).sum(axis=1) / length2, 0, 1)
        out[i] = np.sqrt((((a + t[:, None] * along) - place) ** 2).sum(axis=1).min())
    return out


def _path_error(gathered: Gathered, hips: Array) -> float | None:
    """Mean horizontal distance in cm of places (N, 3) from the curve; None when none is followed."""
    if gathered.line is None:
        return None
    return float(_distance_from(gathered.line.points, hips).mean()) * 100


def _goal_error(gathered: Gathered, hips: Array) -> float | None:
    """Horizontal distance in cm of the last place from the curve's end; None when the shot does not lead there."""
    path = gathered.shot.path
    if path is None or gathered.line is None:
        return None
    way = sum(path.speeds) / gathered.shot.fps * gathered.rig.scale
    if path.speed_factors:
        way *= min(1.0, float(np.mean(path.speed_factors)))
    if path.closed or way < gathered.line.length():
        return None
    return float(np.linalg.norm(hips[:2] - gathered.line.points[-1, :2])) * 100


def _stored_names() -> list[str]:
    return [f.name for f in fields(Report) if f.name not in ("goals", "findings")]
