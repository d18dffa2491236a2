# SPDX-License-Identifier: GPL-3.0-or-later
"""Editing a motion in the manifold by constraints and style, with figures of the result."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..errors import EditError
from ..models.manifold import FPS, FRAME, Autoencoder
from ..motion.contacts import foot_contacts
from ..motion.filters import without_short_runs
from ..motion.motion import Motion
from ..motion.rotations import Array
from ..motion.skeleton import CONTACT_JOINTS, MODEL_SKELETON
from ..naturalness.metrics import bone_length_error, foot_slide
from ..paths import weights_folder
from ..stepwise import Stepwise
from .constraints import (
    Base,
    BoneLengths,
    Constraint,
    FloorHeight,
    FootSkate,
    KeepTrajectory,
    LookAt,
    PinJoint,
    PoseKey,
)
from .finish import finish, free_features, with_kept_root
from .frames import to_frames
from .reach import missed, refuse_out_of_reach, standing
from .solver import TARGET, Solver
from .style import Restyle, Style, StyleSettings

_STYLE_TARGET = 0.004
"""Share of the constraints' cost at which the solve of a restyled motion ends, in place of the solver's own: a style
leaves more to planting, with legs that do not reach as far as the steps are wide."""
_BRIEF = 4
"""Shortest stance or swing of a foot, in frames at 60 fps."""
_SHORTEST = 4
"""Shortest motion that can be edited, in frames at 60 fps; a shorter one has no meaningful velocity."""


class Edit:
    """An edit in progress. `step()` does a small piece of work; repeat until `done`, then call `motion()`.

    motion: on the model skeleton, at any rate; its `root` and `contacts` are used unchanged (contacts of other joints
    are detected). constraints: see `constraints`; bone lengths are always kept. style: None, or the style for the
    motion; then its root path is kept as well, and its contacts as far as `settings.timing` leaves them. strength: 0 is
    the motion itself, 1 the edit, more exaggerates it. given: the motion before it was brought to the style's tempo
    (`tempo.retimed`), from which the distance to the style is measured. Raises EditError or WeightsError.
    """

    def __init__(
        self,
        motion: Motion,
        constraints: Sequence[Constraint] = (),
        style: Style | None = None,
        strength: float = 1.0,
        settings: StyleSettings | None = None,
        autoencoder: Autoencoder | Path | str | None = None,
        given: Motion | None = None,
    ) -> None:
        if not np.isfinite(strength) or strength < 0:
            raise EditError(f"The strength of the edit is {strength}; it must be 0 or more.")
        if not isinstance(autoencoder, Autoencoder):
            autoencoder = Autoencoder.load(autoencoder or weights_folder() / "autoencoder.safetensors")
        self._started = time.perf_counter()
        self._motion, self._strength, self._autoencoder = motion, strength, autoencoder
        self._at_60, self._base = _prepare(motion)
        self._constraints = _completed(constraints, style, self._base)
        refuse_out_of_reach(self._base, self._constraints)
        self._base = replace(self._base, contacts=standing(self._base, self._constraints))
        self._terms = [c.term(self._base) for c in self._constraints if c.weight > 0]
        self._restyle, self._timing = None, 0.0
        if style is not None:
            settings = settings or StyleSettings()
            self._restyle, self._timing = Restyle(autoencoder, self._base.frames, style, settings), settings.timing
        self._given = None if given is motion else given
        self._restyled = self._base.frames
        self._solver: Solver | None = None
        self._result: Motion | None = None
        self._steps = self._run()
        self.report: dict[str, float] = {}
        """Figures of the finished edit: see `_figures`."""
        self.warnings: list[str] = []
        """Sentences on the constraints that the finished edit does not meet."""

    @property
    def done(self) -> bool:
        """Whether the motion is finished."""
        return self._result is not None

    @property
    def progress(self) -> float:
        """Share of the work that is done, 0..1."""
        if self.done:
            return 1.0
        parts = [] if self._restyle is None else [self._restyle.progress]
        parts.append(0.0 if self._solver is None else self._solver.progress)
        return 0.95 * sum(parts) / len(parts)

    def step(self) -> None:
        """Run one step of the solvers, or the final step."""
        if not self.done:
            next(self._steps, None)

    def motion(self) -> Motion:
        """The edited motion, at the given motion's rate and length."""
        while not self.done:
            self.step()
        assert self._result is not None
        return self._result

    def _run(self) -> Iterator[None]:
        frames = self._base.frames
        if self._restyle is not None:
            while not self._restyle.done:
                self._restyle.step()
                yield
            frames = self._restyled = self._restyle.frames
            if self._timing > 0:
                self._take_contacts(frames)
        yield
        guess = with_kept_root(self._base, frames, self._constraints)
        target = TARGET if self._restyle is None else _STYLE_TARGET
        self._solver = Solver(
            self._autoencoder,
            frames,
            self._base.start,
            self._terms,
            guess,
            target,
            free=free_features(self._base, self._constraints),
        )
        while not self._solver.done:
            self._solver.step()
            yield
        posed = yield from self._pose(self._strength)
        yield
        result = yield from posed.resampling(self._motion.fps, len(self._motion))
        self.report = yield from self._figures(posed)
        self._result = result

    def _take_contacts(self, restyled: Array) -> None:
        """Take the stances of restyled frames (T, FRAME.size), as far as the timing allows."""
        own, found = self._base.frames[:, FRAME.contact], restyled[:, FRAME.contact]
        on = own + np.float32(self._timing) * (found - own) > 0
        contacts = np.stack([without_short_runs(column, _BRIEF, _BRIEF) for column in on.T], axis=1)
        self._base = replace(self._base, contacts=contacts.astype(np.float32))
        self._base = replace(self._base, contacts=standing(self._base, self._constraints))
        self._terms = [c.term(self._base) for c in self._constraints if c.weight > 0]

    def _pose(self, strength: float) -> Stepwise[Motion]:
        """The solved frames as a motion at 60 fps."""
        assert self._solver is not None
        given = self._base.frames
        frames = given + np.float32(strength) * (self._solver.frames - given)
        if strength == 0:
            return self._at_60
        places, rotations, root, contacts = yield from finish(
            self._base, frames, self._constraints, self._at_60.rotations, strength
        )
        return replace(
            self._at_60,
            positions=places.astype(np.float32),
            rotations=rotations.astype(np.float32),
            root=root.astype(np.float32),
            contacts=contacts.astype(np.float32),
            meta={**self._motion.meta, "edited": True, "autoencoder": self._autoencoder.hash},
        )

    def _figures(self, after: Motion) -> Stepwise[dict[str, float]]:
        """Figures of the constraints before and after, at 60 fps.

        before/after.foot_slide_cm_per_s, .bone_error_mm, .path_error_cm (of the edit against the motion), and the
        figures of `reach.missed`; cost.ratio: share of the constraints' cost that the solve alone leaves;
        style.gram_ratio: squared Gram distance (eq. 14) to the style against the content's, of the restyled frames;
        style.retimed_gram_ratio of the content at the style's tempo, where it was brought there; style.kept_gram_ratio
        of the same with the content's root velocities and contacts, which the edit keeps and which are part of a Gram
        matrix; style.final_gram_ratio of the final motion; seconds; steps.
        """
        assert self._solver is not None
        before = replace(self._at_60, contacts=after.contacts)
        out: dict[str, float] = {}
        for name, motion in (("before", before), ("after", after)):
            yield
            out[f"{name}.foot_slide_cm_per_s"] = foot_slide(motion)
            yield
            out[f"{name}.bone_error_mm"] = 1000 * bone_length_error(motion.positions.astype(np.float64))
            yield
            missing, sentences = missed(self._base, self._constraints, motion)
            out |= {f"{name}.{figure}": value for figure, value in missing.items()}
        # A partial edit falls short of its targets by design.
        self.warnings = sentences if self._strength == 1 else []
        path = np.linalg.norm(after.root[:, :2] - before.root[:, :2], axis=1)
        out["after.path_error_cm"] = 100 * float(path.max())
        out["cost.ratio"] = self._solver.cost / max(self._solver.costs[0], 1e-12)
        out["steps"] = len(self._solver.costs) - 1
        if self._restyle is not None:
            out |= yield from self._style_figures(self._restyle, after)
            out["steps"] += self._restyle.steps
        out["seconds"] = time.perf_counter() - self._started
        return out

    def _style_figures(self, restyle: Restyle, after: Motion) -> Stepwise[dict[str, float]]:
        """Figures of the style alone."""
        kept = with_kept_root(self._base, self._restyled, self._constraints)
        kept[:, FRAME.contact] = self._base.frames[:, FRAME.contact]
        final = to_frames(after.positions, after.root, after.contacts)
        ratios = {}
        for name, frames in (("gram_ratio", self._restyled), ("kept_gram_ratio", kept), ("final_gram_ratio", final)):
            ratios[f"style.{name}"] = yield from restyle.gram_ratio(frames)
        if self._given is None:
            return ratios
        yield
        given = _prepare(self._given)[1].frames
        start = yield from restyle.gram_ratio(given)
        return {name: ratio / start for name, ratio in ratios.items()} | {"style.retimed_gram_ratio": 1 / start}


def _prepare(motion: Motion) -> tuple[Motion, Base]:
    """The motion at 60 fps with an even number of frames, and as frames of the manifold."""
    if motion.names != MODEL_SKELETON.names:
        raise EditError("The motion is not on the model skeleton; retarget it first.")
    at_60 = motion
    if abs(motion.fps - FPS) > 1e-6:
        at_60 = motion.resampled(FPS, int(np.ceil((len(motion) - 1) * FPS / motion.fps - 1e-6)) + 1)
    if len(at_60) < _SHORTEST:
        raise EditError(f"The motion lasts {len(motion) / motion.fps:.2f} s, which is too short to edit.")
    if len(at_60) % 2:
        at_60 = at_60.resampled(FPS, len(at_60) + 1)
    if at_60.contact_names != CONTACT_JOINTS:
        found = foot_contacts(at_60.positions - at_60.root[:, None, :3] * np.array([0, 0, 1]), FPS)
        at_60 = replace(at_60, contacts=found, contact_names=CONTACT_JOINTS)
    root = at_60.root.astype(np.float64)
    root[:, 3] = np.unwrap(root[:, 3])
    frames = to_frames(at_60.positions, root, at_60.contacts)
    start = (float(root[0, 0]), float(root[0, 1]), float(root[0, 2]), float(root[0, 3]))
    return replace(at_60, root=root.astype(np.float32)), Base(frames, start, at_60.contacts, motion.fps, len(motion))


def _completed(constraints: Sequence[Constraint], style: Style | None, base: Base) -> list[Constraint]:
    """The constraints, with those of every edit and those of every change of style."""
    needed: list[Constraint] = [BoneLengths()]
    given = {type(c) for c in constraints}
    if style is not None:
        needed += [FootSkate(), KeepTrajectory(), FloorHeight(height=base.start[2])]
    elif given & {LookAt, PoseKey} and PinJoint not in given:
        # No constraint asks for another path, and a root that turns a little for a gaze would go astray from there on.
        needed.append(KeepTrajectory())
    return [*constraints, *(c for c in needed if type(c) not in given)]
