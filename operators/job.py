# SPDX-License-Identifier: GPL-3.0-or-later
"""From the engine's work to keys and measurements, in small steps, with nothing left behind when it stops."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from typing import TypeVar

import bpy
import numpy as np

from ..nsm_blender import (
    Array,
    Bake,
    BlockedPathError,
    Motion,
    Problem,
    SceneBake,
    ShotError,
    Stepwise,
    UserError,
    Work,
    begin_bake,
    begin_check,
)
from ..scene import (
    actions,
    armatures,
    bake_notes,
    curves,
    gather_keys,
    ghosts,
    independence,
    kept,
    keys,
    layers,
    left_behind,
    lookup,
    measure,
    things,
)
from ..scene.gather import Gathered, check_time
from ..scene.lookup import MARK, find
from ..scene.premises import Premises
from .problems import described, model_of

_VALUES = 60_000
"""Values of channels that are written in one step, which takes 30 ms; of longer channels each is a step."""
_ROLLOUT, _WRITTEN = 0.85, 0.9
"""Progress when the rollout and the writing are done; the rest is measuring."""

T = TypeVar("T")


def paced(work: Stepwise[T], share: float) -> Generator[float, None, T]:
    """Do the engine's work in its pieces. Yields the share of the whole that is done, returns what the work makes."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            made: T = end.value
            return made
        yield share


class StoppedError(UserError):
    """Work ended early because what it rests on was changed meanwhile."""


class Steps:
    """Work that `stages` describes, in small steps: call `step` until `done`, or `cancel`.

    Before each step what the work rests on, its `premises`, is looked at. An exception, or `cancel`, at any moment
    closes the generator and calls `undo`, which takes away all that was made so far.
    """

    doing = "work"
    """What this is, for sentences."""

    def __init__(self) -> None:
        self.progress = 0.0
        self.done = self.changes_scene = False
        self.premises = Premises()
        self._started = time.perf_counter()
        self._work = self._guarded()

    def stages(self) -> Generator[float]:
        """Do the work; yields the share that is done, 0..1."""
        raise NotImplementedError

    def undo(self) -> None:
        """Take away what was made, and what is left of it when the user deleted things meanwhile."""

    @property
    def seconds_left(self) -> float:
        """An estimate from the time so far."""
        spent = time.perf_counter() - self._started
        return spent * (1 - self.progress) / self.progress if self.progress > 0 else 0.0

    def step(self) -> None:
        """Do a small piece of work."""
        try:
            self.progress = next(self._work)
        except StopIteration:
            self.progress, self.done = 1.0, True

    def run(self, seconds: float = float("inf")) -> None:
        """Step until done, or until `seconds` have passed."""
        end = time.perf_counter() + seconds
        while not self.done and time.perf_counter() < end:
            self.step()

    def ghost(self) -> list[Array]:
        """Nothing to see."""
        return []

    def cancel(self) -> None:
        """Stop, and take away all that was made."""
        self._work.close()
        self.done = True

    def _guarded(self) -> Generator[float]:
        """The stages, with a look at the premises before each step. Raises StoppedError when one does not hold."""
        work = self.stages()
        try:
            self._check()
            for share in work:
                yield share
                self._check()
        except Exception as error:
            stopped = error if isinstance(error, UserError) else self._explained(error)
            self._give_up(work)
            if stopped is None:
                raise
            raise stopped from error
        except BaseException:  # GeneratorExit: that is how `cancel` arrives here
            self._give_up(work)
            raise

    def _check(self) -> None:
        lost = self.premises.lost()
        if lost:
            raise StoppedError(f"The {self.doing} stopped: {lost}.")

    def _explained(self, error: Exception) -> UserError | None:
        """What explains an unexpected exception: a premise that broke during a step, or data that Blender freed."""
        lost = self.premises.lost()
        if not lost and isinstance(error, ReferenceError):
            lost = "something that it works on was deleted"
        return StoppedError(f"The {self.doing} stopped: {lost}.") if lost else None

    def _give_up(self, work: Generator[float]) -> None:
        work.close()
        self.undo()


class MotionJob(Steps):
    """Work in progress whose motion becomes an action. work: None where `stages` begins it. name: of the new action.
    used: what it is about besides the character, each with what it is. character: the armature's number. infos: those
    of the report's notes that are no warnings. Raises UserError on construction.
    """

    doing = "bake"

    def __init__(
        self,
        gathered: Gathered,
        armature: bpy.types.Object,
        work: Work | None,
        name: str,
        used: Sequence[tuple[str, bpy.types.Object | None]] = (),
    ) -> None:
        super().__init__()
        check_time(bpy.context.scene, gathered.frames)
        independence.check(bpy.context, armature, gathered.rig, used)
        self.gathered, self.work = gathered, work
        self.character, self._name, self._made = armature.session_uid, name, 0
        self._moved: list[tuple[int, int]] = []
        self._thinning: kept.Thinning | None = None
        self.infos: list[str] = []
        self.report = measure.Report(frames=len(gathered.frames), notes=list(gathered.notes))
        self.report.notes += left_behind.sentences(armature, gathered.rig)
        if gathered.rig.fingers is not None and not gathered.rig.fingers.bones:
            self.tell(f"'{armature.name}' has no fingers that could be posed.")
        self.premises.hold_character(armature, gathered.rig.named)
        self.premises.hold(used)
        self.premises.hold(("object", find(bpy.data.objects, one.uid)) for t in gathered.things for one in t.objects)

    def stages(self) -> Generator[float]:
        """Make the motion, write it, measure it, and let it come in place of the last one."""
        work = self.work
        assert work is not None
        while not work.done:
            start = time.perf_counter()
            work.step()
            self.report.seconds_rollout += time.perf_counter() - start
            yield _ROLLOUT * work.progress
        start = time.perf_counter()
        motion = work.motion()
        self.report.seconds_rollout += time.perf_counter() - start
        self.report.notes += motion.meta.get("notes", [])
        check_time(bpy.context.scene, self.gathered.frames)
        # Blender's context and objects are looked up anew after each pause: the user may have changed the scene.
        made = actions.begin(self._armature(), self._name)
        self._made = made.session_uid
        self.changes_scene = True
        self.premises.hold_assigned(made, self._armature())
        for share in self._write(motion):
            yield _ROLLOUT + (_WRITTEN - _ROLLOUT) * share
        for share in self.measure(motion):
            yield _WRITTEN + (1 - _WRITTEN) * share
        self.keep(self._armature())
        yield from self._thin_the_last()
        self.settle()

    def _thin_the_last(self) -> Generator[float]:
        """Thin the keys of the bake that this one follows, when it is to be kept."""
        last = bake_notes.previous(self.action())
        if last is not None and last.get(lookup.MARK) and kept.waits(last):
            self._thinning = kept.Thinning(bpy.context, self._armature(), last)
            yield from paced(self._thinning.work(), 1.0)

    def measure(self, motion: Motion) -> Iterator[float]:
        """Fill in the report from the baked rig; yields the share that is done."""
        bpy.context.view_layer.update()
        return measure.measure(bpy.context, self._armature(), self.gathered, motion, self.report)

    def keep(self, armature: bpy.types.Object) -> None:
        """Store on the character what was measured."""
        self.report.store(armature)

    def settle(self) -> None:
        """Let the new action come in place of the last bake."""
        layers.replace_previous(self.action())

    def _write(self, motion: Motion) -> Iterator[float]:
        frames, rig = self.gathered.frames, self.gathered.rig
        start = time.perf_counter()
        world = armatures.world_matrices(bpy.context, self._armature(), frames)
        yield 0.0
        channels = yield from paced(
            armatures.keying(rig, motion, world, curves.meters_per_unit(bpy.context.scene)), 0.0
        )
        self.report.seconds_retarget = time.perf_counter() - start
        yield 0.0
        together = max(_VALUES // (4 * len(frames)), 1)
        for first in range(0, len(channels), together):
            start = time.perf_counter()
            written = channels[first : first + together]
            self._count(frames, written, actions.write(self._armature(), self.action(), frames, written))
            self.report.seconds_write += time.perf_counter() - start
            yield min(1.0, (first + together) / len(channels))
        actions.mark(self.action(), self._gait_changes() or self._moments(motion))
        for thing in self.gathered.things:
            start = time.perf_counter()
            self._move(thing, motion.meta.get("things", {}).get(thing.name))
            self.report.seconds_write += time.perf_counter() - start
            yield 1.0
        moved = [f"'{name}'" for name in motion.meta.get("things", {})]
        if moved:
            self.tell(f"This bake moves {', '.join(moved)}; remove it to move them by hand.")

    def _count(self, frames: Array, channels: Sequence[actions.Channel], keys_written: int) -> None:
        """Add keys to those of the report, and what they would be without thinning."""
        self.report.keys += keys_written
        self.report.keys_unthinned += len(frames) * sum(len(c.components) or c.values.shape[1] for c in channels)

    def tell(self, note: str) -> None:
        """Add a note that is no warning to the report."""
        self.infos.append(note)
        self.report.notes.append(note)

    def _move(self, thing: things.Thing, poses: list[list[float]] | None) -> None:
        """Give a thing the keys of its poses (F, 7), at the model's size; what an earlier bake moved and this one does
        not is kept where it is without any."""
        if poses is None and not thing.was_moved:
            return
        where = None if poses is None else np.array(poses) * _enlarged(self.gathered.rig.scale)
        for one, channels in thing.keys(where, curves.meters_per_unit(bpy.context.scene)):
            obj = find(bpy.data.objects, one.uid)
            made = layers.begin(obj, self.action(), self._armature())
            self._moved.append((one.uid, made.session_uid))
            self.premises.hold_assigned(made, obj)
            frames = self.gathered.frames[: len(channels[0].values)]
            self._count(frames, channels, actions.write(obj, made, frames, channels))

    def undo(self) -> None:
        """Take away what was made, and what is left of it when the user deleted things meanwhile."""
        if self._thinning is not None:
            self._thinning.undo()
        for owner, made in [*reversed(self._moved), (self.character, self._made)]:
            action, obj = find(bpy.data.actions, made), find(bpy.data.objects, owner)
            if action is not None and obj is not None and bake_notes.is_sound(action):
                actions.discard(obj, action)
            elif action is not None:
                bpy.data.actions.remove(action)

    def action(self) -> bpy.types.Action:
        """The action that is being written."""
        action: bpy.types.Action = find(bpy.data.actions, self._made)
        return action

    def _gait_changes(self) -> list[tuple[int, str]]:
        """Frame and name of each gait along the shot."""
        path = self.gathered.shot.path
        if path is None:
            return []
        gaits, frames = path.gaits, self.gathered.frames.tolist()
        return [(frames[i], gaits[i].capitalize()) for i in range(len(gaits)) if i == 0 or gaits[i] != gaits[i - 1]]

    def _moments(self, motion: Motion) -> list[tuple[int, str]]:
        """Frame and name of each setting off and arrival of the action keys."""
        first, out = int(self.gathered.frames[0]), []
        for told in motion.meta.get("keys", []):
            label = f"{keys.ACTIONS[told['action']]} {told['goal']}".strip()
            out += [(first + told["set_off"], label)] if told["set_off"] is not None else []
            out += [(first + told["arrived"], f"At {told['goal']}")] if told["goal"] and told["arrived"] else []
        return out

    def _armature(self) -> bpy.types.Object:
        armature: bpy.types.Object = find(bpy.data.objects, self.character)
        return armature


class BakeJob(MotionJob):
    """A bake of the character's action keys, or without any of its way along its curve.

    previous: an earlier bake of the character; what comes before the first change is taken from there. Raises
    UserError on construction.
    """

    def __init__(
        self,
        context: bpy.types.Context,
        armature: bpy.types.Object | None,
        previous: Bake | SceneBake | None = None,
    ) -> None:
        gathered = gather_keys.gather_shot(context, armature)
        assert armature is not None
        self._model, self._previous = model_of(armature), previous
        self.bake: Bake | SceneBake | None = None
        super().__init__(gathered, armature, None, f"{gathered.rig.name} Bake", gather_keys.used(armature))

    def stages(self) -> Generator[float]:
        """See whether it can work, then what every job does."""
        gathered, problems = self.gathered, None
        if gathered.shot.keys:
            problems = yield from paced(begin_check(gathered.shot, self._model), 0.0)
            _refuse_what_cannot_work(self._armature(), problems, self.report)
            yield 0.0
        try:
            bake = begin_bake(gathered.shot, self._model, again=self._previous, problems=problems)
        except BlockedPathError as error:
            raise ShotError(error.obstruction.told(gathered.rig.scale)) from error
        self.work = self.bake = bake
        if isinstance(bake, SceneBake) and bake.first_frame:
            frame = int(gathered.frames[0]) + bake.first_frame
            self.tell(f"Baked anew from frame {frame} on; what comes before is that of the last bake.")
        yield 0.0
        yield from super().stages()

    def keep(self, armature: bpy.types.Object) -> None:
        """Store what was measured, and where the hand-made keys of the last bake are."""
        last = bake_notes.previous(self.action())
        if last is not None and last.get(MARK) and actions.has_hand_made_keys(last):
            self.tell(f"The hand-made keys of the last bake are in its action, '{last.name}', which stays in the file.")
        super().keep(armature)

    def ghost(self) -> list[Array]:
        """The character, and what it has moved, where the rollout has come to."""
        now = None if self.bake is None or self.bake.done else self.bake.now()
        if now is None:
            return []
        cuboids = {collider.name: collider.cuboids for collider in self.gathered.shot.colliders}
        lines = [ghosts.figure(now.places), *(ghosts.thing(cuboids[name], pose) for name, pose in now.things.items())]
        size = self.gathered.rig.scale / curves.meters_per_unit(bpy.context.scene)
        return [line * size for line in lines]


def _refuse_what_cannot_work(armature: bpy.types.Object, problems: list[Problem], report: measure.Report) -> None:
    """Raise ShotError with what the check found; what may work nevertheless becomes a note of the report."""
    if any(problem.fatal for problem in problems):
        raise ShotError(described(armature, problems))
    report.notes.extend(described(armature, [problem]) for problem in problems)


def _enlarged(scale: float) -> Array:
    """What a pose is multiplied by, (7,), so that the world is larger by `scale`."""
    return np.array([scale] * 3 + [1.0] * 4)
