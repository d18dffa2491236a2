# SPDX-License-Identifier: GPL-3.0-or-later
"""All automatic labels of a clip, with the frames that a person should look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .clip import Clip
from .contacts import foot_contacts
from .filters import runs, velocity
from .gait import GAITS, gait_labels
from .phase import phase_track
from .retarget import to_model_skeleton
from .root import root_track
from .rotations import Array
from .skeleton import CONTACT_JOINTS, MODEL_SKELETON


@dataclass(frozen=True)
class Doubt:
    """Frames start..stop-1 where a label or the recording may be wrong, and why."""

    start: int
    stop: int
    reason: str


@dataclass(frozen=True, eq=False)
class Labels:
    """Labels of a clip, an entry a frame.

    root: (T, 4) x, y, 0, facing angle. contacts: (T, 4) of CONTACT_JOINTS. phase: (T,) unwrapped radians. gait: (T,)
    index into GAITS. doubts: frames to look at.
    """

    root: Array
    contacts: Array
    phase: Array
    gait: Array
    doubts: tuple[Doubt, ...]

    def sampled(self, at: Array) -> Labels:
        """At the frames `at` (N,), rising, without the doubts."""
        return Labels(self.root[at], self.contacts[at], self.phase[at], self.gait[at], ())


def label(clip: Clip) -> Labels:
    """Label a clip whose joints carry the model's names; it is brought to the model skeleton first."""
    model = clip if clip.skeleton is MODEL_SKELETON else to_model_skeleton(clip)
    positions, _ = model.world()
    contacts = foot_contacts(positions, clip.fps)
    phase = phase_track(contacts, clip.fps)
    gait = gait_labels(positions, contacts, clip.fps)
    root = root_track(positions, clip.fps)
    return Labels(root, contacts, phase, gait, tuple(_doubts(positions, contacts, phase, gait, root, clip.fps)))


def _doubts(positions: Array, contacts: Array, phase: Array, gait: Array, root: Array, fps: float) -> list[Doubt]:
    found: list[Doubt] = []

    def report(mask: Array, reason: str, shortest: float = 0.05) -> None:
        for a, b in runs(mask):
            if b - a >= shortest * fps:
                found.append(Doubt(a, b, reason))

    for column, name in enumerate(CONTACT_JOINTS):
        place = positions[:, MODEL_SKELETON.index(name)]
        slide = np.linalg.norm(velocity(place[:, :2], fps), axis=-1)
        report((contacts[:, column] > 0.5) & (slide > 0.4), f"{name} slides while in contact", 0.08)
        if name.endswith("Toe"):
            report(place[:, 2] < -0.03, f"{name} is under the floor")
    moving = np.isin(gait, [GAITS.index("walk"), GAITS.index("jog")])
    cycle = velocity(phase, fps) / (2 * np.pi)
    report(moving & (cycle > 2.6), "two strikes too close: more than 2.6 cycles a second")
    report(moving & (cycle < 0.3), "a strike may be missing: less than 0.3 cycles a second")
    jump = np.linalg.norm(velocity(root[:, :2], fps), axis=-1)
    report(jump > 8, "the root jumps", 0)
    report(np.abs(velocity(root[:, 3], fps)) > 8, "the facing direction spins", 0)
    planted = contacts.max(1) > 0.5
    report(~planted & (gait == GAITS.index("stand")), "standing with no foot on the ground", 0.2)
    return sorted(found, key=lambda d: d.start)
