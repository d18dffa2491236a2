# SPDX-License-Identifier: GPL-3.0-or-later
"""A character's way along its curve from the motion manifold: one character, a crowd, or a strike."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import fields

import bpy
import numpy as np

from ..nsm_blender import Motion, Passes, Stepping, Synthesis, SynthesisOptions, begin_synthesis, passes_between
from ..scene import actions, crowd, curves, layers, lookup, measure, terrain
from ..scene.gather import Gathered, gather
from ..scene.lookup import find
from ..scene.manifold import of_character
from ..scene.properties import of_object
from .job import MotionJob, Steps

ASKED = "nsm_asked_for"
"""Custom property of a synthesized action: what was asked for."""

_MADE, _SYNTHESIZED, _WRITTEN = 0.05, 0.4, 0.95
"""Progress of a crowd when its characters are made, their motions, and the keys; the rest is measuring."""


class SynthesisJob(MotionJob):
    """A synthesis of the character's way along its curve. Raises UserError on construction."""

    doing = "synthesis"

    def __init__(self, context: bpy.types.Context, armature: bpy.types.Object | None) -> None:
        gathered = gather(context, armature)
        assert armature is not None
        wanted = options(armature)
        work = begin_synthesis(gathered.shot, wanted, ground=ground_of(context, armature, [gathered]))
        used = [("curve", of_object(armature).path)]
        super().__init__(gathered, armature, work, f"{armature.name} Synthesis", used)
        self._asked_for = asked_for(context, armature, gathered)

    def keep(self, armature: bpy.types.Object) -> None:
        """Store what was measured, and what was asked for."""
        super().keep(armature)
        self.action()[ASKED] = self._asked_for


def options(armature: bpy.types.Object) -> SynthesisOptions:
    """How a character is to step."""
    settings = of_character(armature).synthesis
    # Blender's numbers are float32; what a person typed has fewer digits.
    return SynthesisOptions(
        stepping=Stepping(**{f.name: round(getattr(settings, f.name), 6) for f in fields(Stepping)}),
        phase=round(settings.phase, 6),
        sway=round(settings.sway, 6),
        standing_start=settings.standing_start,
    )


def ground_of(
    context: bpy.types.Context, armature: bpy.types.Object, together: Sequence[Gathered]
) -> terrain.Heights | None:
    """Heights, at the model's size, of the ground on which characters of one size walk; None for the floor."""
    ground = of_character(armature).synthesis.ground
    if ground is not None:
        size = curves.meters_per_unit(context.scene) / together[0].rig.scale
        return terrain.of_object(context, ground, size)
    return terrain.under_curves([np.array(g.shot.path.points) for g in together if g.shot.path])


def asked_for(context: bpy.types.Context, armature: bpy.types.Object, gathered: Gathered) -> str:
    """A digest of everything that determines a synthesis."""
    ground = of_character(armature).synthesis.ground
    surface = terrain.fingerprint(context, ground) if ground is not None else ""
    return f"{gathered.shot.hash()} {options(armature)} {surface}"


def changed_characters(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The synthesized characters whose curve, ground or settings are not those of their action any more."""
    out = []
    for obj in context.scene.objects:
        action = lookup.baked(obj) if obj.type == "ARMATURE" else None
        if action is None or action.get(ASKED) is None or of_object(obj).path is None:
            continue
        if asked_for(context, obj, gather(context, obj)) != action[ASKED]:
            out.append(obj)
    return out


def synthesize_again(context: bpy.types.Context, armature: bpy.types.Object, previous: Synthesis | None) -> Synthesis:
    """Replace the synthesis of a character by one for its curve as it is now, without measuring.

    Keys made by hand stay in the old action, as when a bake is removed. Raises UserError, and then the old
    synthesis stays.
    """
    gathered, wanted = gather(context, armature), options(armature)
    ground = ground_of(context, armature, [gathered])
    work = begin_synthesis(gathered.shot, wanted, ground=ground, again=previous)
    motion = work.motion()
    actions.remove(armature)
    job = _Written(gathered, armature, _Made(motion), f"{armature.name} Synthesis")
    job.run()
    job.action()[ASKED] = asked_for(context, armature, gathered)
    measure.forget(armature)
    return work


class _Made:
    """One character's motion out of a crowd, as the work of a `MotionJob`."""

    done, progress = True, 1.0

    def __init__(self, motion: Motion) -> None:
        self._motion = motion

    def step(self) -> None:
        """Nothing is left to do."""

    def motion(self) -> Motion:
        """The motion."""
        return self._motion


class _Written(MotionJob):
    """The writing of one character of a crowd, which is measured with the others."""

    def measure(self, _motion: Motion) -> Iterator[float]:
        """Nothing yet."""
        return iter(())

    def keep(self, _armature: bpy.types.Object) -> None:
        """Nothing yet."""

    def settle(self) -> None:
        """Nothing yet."""


class CrowdJob(Steps):
    """A crowd in progress: a character for each selected curve, made where none follows it, and their motions.

    Raises UserError on construction or in a step.
    """

    doing = "synthesis"

    def __init__(self, context: bpy.types.Context) -> None:
        self._cast = [(way.session_uid, a.session_uid if a else 0) for way, a in crowd.cast(context)]
        self._model = crowd.model(context).session_uid if any(not a for _, a in self._cast) else 0
        self._objects: list[int] = []
        self._jobs: list[_Written] = []
        self.reports: list[measure.Report] = []
        self.passes = Passes(float("inf"), 0)
        super().__init__()
        self.premises.hold(("curve", _object(way)) for way, _ in self._cast)
        self.premises.hold([("character", find(bpy.data.objects, self._model))])

    def stages(self) -> Generator[float]:
        """Make the characters, their motions, the keys, and measure."""
        armatures = []
        for i, (way, follower) in enumerate(self._cast):
            armatures.append(follower or self._copy(way))
            self.premises.hold([("character", _object(armatures[-1]))])
            yield _MADE * i / len(self._cast)
        bpy.context.view_layer.update()
        gathered = []
        for uid in armatures:
            gathered.append(gather(bpy.context, _object(uid)))
            yield _MADE
        for uid, what in zip(armatures, gathered, strict=True):
            self.premises.hold_character(_object(uid), what.rig.named)
        motions: list[Motion] = [None] * len(gathered)
        for share in self._synthesize(gathered, armatures, motions):
            yield _MADE + (_SYNTHESIZED - _MADE) * share
        hips = [motion.positions[:, 0, :2] * what.rig.scale for motion, what in zip(motions, gathered, strict=True)]
        self.passes = passes_between(hips)
        yield _SYNTHESIZED
        for share in self._write(gathered, armatures, motions):
            yield _SYNTHESIZED + (_WRITTEN - _SYNTHESIZED) * share
        self.reports = [job.report for job in self._jobs]
        rows = list(zip(map(_object, armatures), gathered, motions, self.reports, strict=True))
        for share in measure.measure_together(bpy.context, rows):
            yield _WRITTEN + (1 - _WRITTEN) * share
        for uid, what, job in zip(armatures, gathered, self._jobs, strict=True):
            job.report.store(_object(uid))
            job.action()[ASKED] = asked_for(bpy.context, _object(uid), what)
        for job in self._jobs:
            layers.replace_previous(job.action())

    def _copy(self, way: int) -> int:
        made = crowd.copy(bpy.context, _object(self._model), _object(way), len(self._objects))
        self._objects += [obj.session_uid for obj in made]
        return made[0].session_uid

    def _synthesize(self, gathered: list[Gathered], armatures: list[int], motions: list[Motion]) -> Iterator[float]:
        """Fill in `motions`; characters of one size on one ground go together."""
        alike: dict[tuple[float, str], list[int]] = {}
        for i, uid in enumerate(armatures):
            ground = of_character(_object(uid)).synthesis.ground
            alike.setdefault((gathered[i].rig.scale, ground.name_full if ground else ""), []).append(i)
        done = 0
        for chosen in alike.values():
            together = [gathered[i] for i in chosen]
            wanted = [options(_object(armatures[i])) for i in chosen]
            ground_there = ground_of(bpy.context, _object(armatures[chosen[0]]), together)
            work = begin_synthesis([g.shot for g in together], wanted, ground=ground_there)
            while not work.done:
                work.step()
                yield (done + len(chosen) * work.progress) / len(gathered)
            for i, motion in zip(chosen, work.motions(), strict=True):
                motions[i] = motion
            done += len(chosen)

    def _write(self, gathered: list[Gathered], armatures: list[int], motions: list[Motion]) -> Iterator[float]:
        for i, (what, uid, motion) in enumerate(zip(gathered, armatures, motions, strict=True)):
            job = _Written(what, _object(uid), _Made(motion), f"{what.rig.name} Synthesis")
            self._jobs.append(job)
            self.premises.include(job.premises)
            while not job.done:
                job.step()
                yield (i + job.progress) / len(gathered)

    def undo(self) -> None:
        """Take away keys and characters."""
        for job in self._jobs:
            job.cancel()
            job.undo()
        for uid in reversed(self._objects):
            obj = find(bpy.data.objects, uid)
            if obj is not None:
                bpy.data.objects.remove(obj)


def _object(uid: int) -> bpy.types.Object:
    obj: bpy.types.Object = find(bpy.data.objects, uid)
    return obj
