# SPDX-License-Identifier: GPL-3.0-or-later
"""The NSM's labels of a clip as a file that a person can correct: NAME.labels.json beside the clip.

It is a label file of `motion.label_file`, whose gaits and contacts of the feet hold here too, with one more entry,
"scene". In it, as stretches [first, last] of frames: "actions", what is done besides walking; "touching", when hands
and hips rest on a thing; "transitions", the acyclic movements, over which the phase goes from 0 to 2 pi.
"goal_actions" and "phase" follow from these and are there for the reader.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileFormatError
from ..models.nsm import ACTIONS, CONTACTS, GOAL_ACTIONS
from ..motion.clip import Clip
from ..motion.label_file import Labeled, checked_stretches, flags, load_labels, read_document, save_labels, stretches
from ..motion.labels import Labels
from ..motion.rotations import Array
from .actions import goal_actions, locomotion_actions
from .scene_phase import phase_of

SUFFIX = ".labels.json"
BESIDES_WALKING = ("sit", "open", "carry", "climb")
TOUCHING = CONTACTS[2:]
"""Key joints that touch things: LeftHand, RightHand, Hips."""
_ALONE = [ACTIONS.index(name) for name in ("sit", "open", "climb")]
"""Actions that take the place of the gait's, unlike carrying, which goes on while walking."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What is done besides walking. besides: (T, 4) of BESIDES_WALKING, touching: (T, 3) of TOUCHING, 0 or 1.
    transitions: first and last frames."""

    besides: Array
    touching: Array
    transitions: tuple[tuple[int, int], ...]

    @staticmethod
    def nothing(count: int) -> Scene:
        """The marks of a clip that shows walking alone."""
        return Scene(
            np.zeros((count, len(BESIDES_WALKING)), dtype=np.float32),
            np.zeros((count, len(TOUCHING)), dtype=np.float32),
            (),
        )

    def sampled(self, at: Array) -> Scene:
        """At the frames `at` (N,), rising."""
        spans = []
        for first, last in self.transitions:
            inside = np.flatnonzero((at >= first) & (at <= last))
            spans += [(int(inside[0]), int(inside[-1]))] if len(inside) else []
        return Scene(self.besides[at], self.touching[at], tuple(spans))


@dataclass(frozen=True, eq=False)
class Marks:
    """Labels of T frames. contacts: (T, 4) of CONTACT_JOINTS. actions: (T, len(ACTIONS)) 0 or 1. scene: None where the
    file tells nothing of it."""

    contacts: Array
    actions: Array
    scene: Scene | None

    def sampled(self, at: Array) -> Marks:
        """At the frames `at` (N,), rising."""
        scene = None if self.scene is None else self.scene.sampled(at)
        return Marks(self.contacts[at], self.actions[at], scene)


def marks_beside(clip: Path) -> Path:
    """Where the corrected labels of a clip are."""
    return clip.with_name(clip.stem + SUFFIX)


def save_marks(labels: Labels, scene: Scene | None, clip: Labeled, path: Path) -> None:
    """Write the labels of a clip, in its own frames. scene: None tells nothing of it, so that training looks for it."""
    if scene is None:
        save_labels(labels, clip, path)
        return
    actions = _actions(labels.gait, scene)
    goals = goal_actions(actions)
    phase = phase_of(labels.contacts, scene.transitions)
    told = {
        "actions": {name: stretches(scene.besides[:, i] > 0.5) for i, name in enumerate(BESIDES_WALKING)},
        "touching": {name: stretches(scene.touching[:, i] > 0.5) for i, name in enumerate(TOUCHING)},
        "transitions": [list(span) for span in scene.transitions],
        "goal_actions": {name: stretches(goals[:, i] > 0.5) for i, name in enumerate(GOAL_ACTIONS)},
        "phase": [round(float(value % (2 * np.pi)), 4) for value in phase],
    }
    save_labels(labels, clip, path, {"scene": told})


def load_marks(path: Path, clip: Clip) -> Marks:
    """Read corrected labels of a clip, in its own frames, as training takes them. Raises FileFormatError that names
    what is wrong."""
    labels, scene = load_corrected(path, clip)
    actions = locomotion_actions(labels.gait) if scene is None else _actions(labels.gait, scene)
    return Marks(labels.contacts, actions, scene)


def load_corrected(path: Path, clip: Clip) -> tuple[Labels, Scene | None]:
    """Read corrected labels of a clip, in its own frames, as they stand in the file. Raises FileFormatError that names
    what is wrong."""
    labels = load_labels(path, clip)
    told = read_document(path).get("scene")
    if told is None:
        return labels, None
    if not isinstance(told, dict):
        raise FileFormatError(f"{path}: 'scene' must be an object")
    scene = Scene(
        flags(told, "actions", BESIDES_WALKING, len(clip), path),
        flags(told, "touching", TOUCHING, len(clip), path),
        _transitions(told.get("transitions"), len(clip), path),
    )
    return labels, scene


def transition_at(scene: Scene, frame: int, near: int) -> tuple[int, int] | None:
    """The transition that a frame lies in, or within `near` frames of; None where there is none."""
    found = [(max(a - frame, frame - b, 0), (a, b)) for a, b in scene.transitions]
    away, span = min(found, default=(near + 1, (0, 0)))
    return span if away <= near else None


def _actions(gait: Array, scene: Scene) -> Array:
    out = locomotion_actions(gait)
    columns = [ACTIONS.index(name) for name in BESIDES_WALKING]
    out[scene.besides[:, [BESIDES_WALKING.index(ACTIONS[i]) for i in _ALONE]].max(1) > 0.5] = 0
    out[:, columns] = np.maximum(out[:, columns], scene.besides)
    return out


def _transitions(value: Any, frames: int, path: Path) -> tuple[tuple[int, int], ...]:
    found: Sequence[Any] = checked_stretches(value, 2, "transitions", frames, path)
    return tuple((int(first), int(last)) for first, last in found)
