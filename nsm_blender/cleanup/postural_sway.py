# SPDX-License-Identifier: GPL-3.0-or-later
"""Postural sway of a character that waits: the body moves a little over its feet or on its seat, which stay."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..models.sway import GROUPS, TRUNK, Sample, Sway
from ..motion.easing import smoothstep
from ..motion.filters import runs
from ..motion.rotations import Array, from_exponential_map, from_yaw, multiply, rotate
from ..motion.skeleton import MODEL_SKELETON
from ..paths import weights_folder

FILE = "sway.safetensors"
"""Weights of the sway, beside those of the networks."""
RISING = 1.0
"""Seconds in which sway sets in after the character has come to stand, and in which it has ended before it sets off."""


def sway_beside(weights: Path | str | None = None) -> Sway | None:
    """The sway beside a weights file, beside the shipped ones without; None where there is none. Raises
    WeightsError."""
    folder = weights_folder() if weights is None else Path(weights).parent
    return Sway.load(folder / FILE) if (folder / FILE).is_file() else None


def standing_weight(stands: Array, fps: float) -> Array:
    """Weight (T,) of the sway, 0 to 1, of a character that stands in the frames `stands` (T,): as long as it stands it
    rises and falls in RISING, but where the motion begins or ends with it."""
    out, frames = np.zeros(len(stands)), np.arange(len(stands))
    for start, stop in runs(stands):
        since = frames[start:stop] - start if start else np.full(stop - start, np.inf)
        until = stop - 1 - frames[start:stop] if stop < len(stands) else np.full(stop - start, np.inf)
        out[start:stop] = smoothstep(np.minimum(since, until) / (RISING * fps))
    return out


def held_by_seat(sample: Sample, sits: Array) -> Sample:
    """A sample in which, in the frames `sits` (T,), the seat holds the pelvis: the spine turns over it as one, as far
    as the pelvis turns over the legs when standing, and the arms lie as they lie."""
    free = np.where(sits, 0.0, 1.0)[:, None, None]
    turns = {group: turn if group == "head" else free * turn for group, turn in sample.turns.items()}
    pelvis = GROUPS[TRUNK].index("Hips")
    spine = np.arange(len(GROUPS[TRUNK])) != pelvis
    turns[TRUNK][:, spine] += (1 - free) * sample.turns[TRUNK][:, [pelvis]]
    return Sample(free[:, 0] * sample.hips, turns)


def swayed(hips: Array, rotations: Array, facing: Array, weight: Array, sample: Sample) -> tuple[Array, Array]:
    """Hips (T, 3) and world rotations (T, J, 4) with a sample of as many frames added, as much as weight (T,) says.

    facing: (T,) angles of the root in radians. Legs and feet keep their rotations: the feet are planted afterward.
    """
    yaw, share = from_yaw(facing), weight[:, None]
    out = rotations.copy()
    for group, names in GROUPS.items():
        joints = MODEL_SKELETON.indices(names)
        turns = share[..., None] * sample.turns[group]
        turns = rotate(np.broadcast_to(yaw[:, None], (*turns.shape[:2], 4)), turns)
        out[:, joints] = multiply(from_exponential_map(turns), rotations[:, joints])
    return hips + rotate(yaw, share * sample.hips), out
