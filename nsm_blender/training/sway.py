# SPDX-License-Identifier: GPL-3.0-or-later
"""Training of postural sway: principal components and spectra of people who stand and wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import UserError
from ..models.sway import BANDS, GROUPS, TRUNK
from ..motion.clip import Clip
from ..motion.clip_file import LibraryEntry, load_clip, load_library
from ..motion.feet import level_feet, level_floor
from ..motion.filters import runs
from ..motion.labels import label
from ..motion.mirror import mirror_clip
from ..motion.retarget import to_model_skeleton
from ..motion.rotations import (
    Array,
    conjugate,
    from_yaw,
    make_continuous,
    multiply,
    normalize,
    rotate,
    to_exponential_map,
)
from ..motion.skeleton import MODEL_SKELETON
from . import cards

RATE = 30.0
"""Frames per second at which sway is looked at."""
SETTLING = 0.4
"""Seconds after both feet have come to stand, and before one of them leaves, that still belong to the step."""
SHORTEST = 1.2
"""Least seconds of standing."""
QUIET = np.radians(15.0)
"""Largest deviation in radians, as the root of the mean square, of a group's joints from their mean pose: more is
looking round, bending or a gesture, and no sway."""
COMPONENTS = {TRUNK: 6, "head": 3}
"""Components of the groups, which explain 95 % of the variance and more."""
ARM_COMPONENTS = 4
"""Components of an arm."""
LEVER = 0.3
"""Meters that a turn of a radian moves, about, to weigh turns against the hips' travel."""
_TAGS, _UNWANTED = frozenset({"idle", "turn_in_place", "start_stop", "walk", "turn"}), frozenset(
    {"run", "jump", "crouch", "sit", "stand_up", "box", "carry", "dance", "gesture", "kick", "punch", "push", "stairs",
     "step_up", "step_down", "climb", "slope", "uneven", "exercise", "sport", "martial", "lie", "crawl"}
)  # fmt: skip
"""Tags of clips in which people wait, one of which is needed, and tags of clips that are left out."""
_ASKED = frozenset({"accad_f1_a02_sway", "accad_f1_a02_swayt2", "accad_f1_a03_swing", "accad_f1_a03_swingt2",
                    "o3de_pushes1"})  # fmt: skip
"""Clips in which people were asked to sway and to swing their arms, or are pushed."""
_RECONSTRUCTED = "_keys"
"""End of the names of clips that were rebuilt from key poses, which do not sway."""


@dataclass(frozen=True, eq=False)
class Wait:
    """A part of a clip in which the performer stands: hips (T, 3) in meters and world rotations (T, J, 4) at RATE, and
    the facing angle in radians."""

    hips: Array
    rotations: Array
    facing: float


def waits(data: Path, held_out: Sequence[str]) -> tuple[list[LibraryEntry], list[Wait]]:
    """All standing in a data folder, also as seen in a mirror, and the clips that it is from. Raises UserError where
    there is none."""
    entries, out = [], list[Wait]()
    for entry in load_library(data):
        if not _is_wanted(entry) or entry.subject in held_out:
            continue
        clip = level_feet(to_model_skeleton(level_floor(load_clip(entry.path))))
        found = [wait for one in (clip, mirror_clip(clip)) for wait in standing_in(one)]
        if found:
            entries.append(entry)
            out += found
    if not out:
        raise UserError(f"{data}: there is no standing in its clips of {SHORTEST + 2 * SETTLING:.0f} s or longer.")
    return entries, out


def standing_in(clip: Clip) -> list[Wait]:
    """The parts of a clip on the model skeleton in which both feet stand for long enough."""
    labels = label(clip)
    places, rotations = clip.world()
    stands = (labels.contacts > 0.5).reshape(-1, 2, 2).any(axis=2).all(axis=1)
    edge, step = round(SETTLING * clip.fps), max(round(clip.fps / RATE), 1)
    out = []
    for start, stop in runs(stands):
        part = slice(start + edge, stop - edge, step)
        if stop - start >= 2 * edge + SHORTEST * clip.fps:
            facing = float(np.median(np.unwrap(labels.root[part, 3])))
            out.append(Wait(places[part, 0].astype(float), rotations[part].astype(float), facing))
    return out


def fit(found: Sequence[Wait]) -> tuple[dict[str, Array], dict[str, Any]]:
    """Tensors of `models.sway.Sway`, and of each group the seconds that were quiet and the share of the variance that
    its components explain. Raises UserError where a group is never quiet."""
    tensors: dict[str, Array] = {}
    told: dict[str, Any] = {}
    for group in GROUPS:
        quiet = [values for wait in found if (values := deviations(wait, group)) is not None]
        if not quiet:
            raise UserError(f"There is no standing with a quiet {group.replace('_', ' ')}.")
        scale = _scale(group)
        _, singular, directions = np.linalg.svd(np.concatenate(quiet) * scale, full_matrices=False)
        kept = directions[: COMPONENTS.get(group, ARM_COMPONENTS)]
        tensors[f"{group}_components"] = kept / scale
        tensors[f"{group}_deviation"] = deviation([values * scale @ kept.T for values in quiet])
        power = singular**2
        told[group] = {
            "seconds": round(sum(map(len, quiet)) / RATE, 1),
            "explained": round(float(power[: len(kept)].sum() / power.sum()), 3),
        }
    return tensors, told


def deviations(wait: Wait, group: str) -> Array | None:
    """Deviations (T, numbers) of a group from its mean pose, as `models.sway.Sway` tells them; None where it is not
    quiet."""
    turned = make_continuous(wait.rotations[:, MODEL_SKELETON.indices(GROUPS[group])])
    back = from_yaw(np.array(-wait.facing))
    mean = normalize(turned.mean(axis=0))
    turns = to_exponential_map(multiply(turned, conjugate(np.broadcast_to(mean, turned.shape))))
    if np.sqrt((turns**2).sum(axis=2).mean(axis=0)).max() > QUIET:
        return None
    turns = rotate(np.broadcast_to(back, (*turns.shape[:2], 4)), turns).reshape(len(turns), -1)
    if group != TRUNK:
        return turns
    hips = rotate(np.broadcast_to(back, (len(turns), 4)), wait.hips - wait.hips.mean(axis=0))
    return np.concatenate((hips, turns), axis=1)


def deviation(parts: Sequence[Array]) -> Array:
    """Standard deviation (K, bands) of components (T, K) at RATE in each of the BANDS, from the mean of the parts'
    periodograms with a Hann window, weighted by their lengths. Bands for which all parts are too short are as dense as
    the next."""
    density, frames = np.zeros((parts[0].shape[1], len(BANDS) - 1)), np.zeros(len(BANDS) - 1)
    for values in parts:
        window = np.hanning(len(values))[:, None]
        spectrum = np.fft.rfft((values - values.mean(axis=0)) * window, axis=0)
        power = 2 * np.abs(spectrum) ** 2 / (RATE * (window**2).sum())
        band = np.digitize(np.fft.rfftfreq(len(values), 1 / RATE), BANDS) - 1
        for number in range(len(frames)):
            if (band == number).any():
                density[:, number] += len(values) * power[band == number].mean(axis=0)
                frames[number] += len(values)
    density /= np.maximum(frames, 1)
    for number in reversed(range(len(frames) - 1)):
        if not frames[number]:
            density[:, number] = density[:, number + 1]
    return np.sqrt(density * np.diff(BANDS))


def train(data: Path, out: Path, held_out: Sequence[str], command: Sequence[str]) -> None:
    """Fit, and write weights and card. Raises UserError."""
    entries, found = waits(data, held_out)
    print(f"{len(entries)} clips in which people stand, {len(found)} parts with mirrored ones")
    tensors, told = fit(found)
    cards.save_weights(tensors, out)
    cards.write_card(
        out,
        "sway",
        "none: principal components of recorded waiting and their spectra, a Gaussian process",
        cards.data_section(
            entries, ["mirrored in the sagittal plane"], f"the performers {', '.join(held_out)}", groups=told
        ),
        cards.training_section(command, 0, []),
    )


def _scale(group: str) -> Array:
    """Meters of movement, about, for each number of a group."""
    turns = np.full(3 * len(GROUPS[group]), LEVER)
    return np.concatenate((np.ones(3), turns)) if group == TRUNK else turns


def _is_wanted(entry: LibraryEntry) -> bool:
    tags = set(entry.tags)
    styled = any(tag.startswith("style:") for tag in tags)
    recorded = entry.meta.get("mocap", True) and not entry.name.endswith(_RECONSTRUCTED)
    waiting = bool(tags & _TAGS) and not tags & _UNWANTED and not styled and entry.name not in _ASKED
    return waiting and recorded
