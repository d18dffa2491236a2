# SPDX-License-Identifier: GPL-3.0-or-later
"""Training data of the synthesis networks: trajectories, square waves of the contacts, frames (section 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..manifold.frames import to_frames
from ..models.manifold import FPS, FRAME
from ..models.synthesis import TRAJECTORY, WAVES, threshold_of
from ..motion.clip_file import LibraryEntry, load_clip, load_library
from ..motion.feet import level_feet
from ..motion.filters import gaussian, runs, velocity, without_short_runs
from ..motion.mirror import mirror_clip
from ..motion.retarget import to_model_skeleton
from ..motion.root import root_track, to_local
from ..motion.rotations import Array
from ..motion.skeleton import ANKLE_HEIGHT, CONTACT_JOINTS, MODEL_SKELETON, TOE_HEIGHT
from .autoencoder import MAX_TURN
from .pfnn_data import UNWANTED_TAGS

LOCOMOTION_TAGS = frozenset(
    {"walk", "run", "idle", "turn", "turn_in_place", "sidestep", "backward", "start_stop"},
)
NOT_PLAIN_TAGS = UNWANTED_TAGS | {"crouch", "skip", "pull", "drag", "push", "manipulate", "open", "reach", "duck"}
"""A trajectory does not tell of these, so that they would be averaged with plain walking; so would the styles."""
SMOOTHINGS = (0.3, 0.5)
"""Seconds: standard deviations between which the filter that makes a drawn curve of a recorded root track varies.
With less, the sway that is left tells when the feet step, and the network heeds the contacts less."""
_SHORTEST_CLIP = 60
"""Frames from which a clip is trained on."""
_SPEED_LIMIT = 0.5
"""Speed in m/s below which a foot joint may be planted; a swinging one moves at 2 m/s and more."""
_RISE = {"Foot": 0.035, "Toe": 0.03}
"""Meters above the lowest place of a step in which each joint is still down."""
_STEP_REACH = 0.5
"""Seconds to both sides that surely hold a moment of stance."""
_LEVELLING = 0.25
"""Seconds: standard deviation of the filter on the height of the ground under a foot."""

_FLICKER = 3
"""Frames below which a contact, or a gap between two, is noise."""
_LONGEST_STANCE = 1.2
"""Seconds from which a stance is standing."""
_LONGEST_CYCLE = 2.5
"""Seconds from which a cycle is no step of a walk."""
_HALF_STEP = 0.35
"""Seconds at both ends of standing that belong to the first and the last step."""
_STANDING_CYCLE = 1.05
"""Seconds of a cycle in clips without a step."""


@dataclass(frozen=True, eq=False)
class Walk:
    """A locomotion clip at 60 fps. frames: (T, FRAME.size). root: (T, 4). waves: (T, WAVES.size)."""

    frames: Array
    root: Array
    waves: Array

    def trajectory(self, smoothing: float) -> Array:
        """T (T, TRAJECTORY.size), as a curve drawn along this walk would give it; smoothing in seconds."""
        return trajectory_of(self.root, smoothing)


def locomotion_clips(data: Path, test_subjects: Sequence[str], held_out: bool = False) -> list[LibraryEntry]:
    """The plain locomotion clips of a data folder, without the test subjects or (`held_out`) of them alone."""
    chosen = []
    for entry in load_library(data):
        tags = set(entry.tags)
        plain = not tags & NOT_PLAIN_TAGS and not any(t.startswith("style:") for t in tags)
        if tags & LOCOMOTION_TAGS and plain and (entry.subject in test_subjects) == held_out:
            chosen.append(entry)
    return chosen


def walks(entries: Sequence[LibraryEntry], mirrored: Sequence[bool] = (False, True)) -> list[Walk]:
    """Each clip as it is and mirrored."""
    out = []
    for entry in entries:
        for flip in mirrored:
            positions = positions_of(entry, flip)
            if len(positions) < _SHORTEST_CLIP:
                continue
            contacts = contacts_of_walk(positions)
            root = root_track(positions, FPS)
            frames = to_frames(on_ground(positions, contacts), root, contacts)
            if np.abs(frames[:, FRAME.root_turn]).max() < MAX_TURN:
                out.append(Walk(frames.astype(np.float32), root, waves_of(contacts)))
    return out


def positions_of(entry: LibraryEntry, mirrored: bool) -> Array:
    """World joint places (T, J, 3) of a clip on the model skeleton at 60 fps."""
    clip = to_model_skeleton(level_feet(load_clip(entry.path)).resampled(FPS))
    positions, _ = (mirror_clip(clip) if mirrored else clip).world()
    return positions


def contacts_of_walk(positions: Array) -> Array:
    """Contact labels (T, 4), 0 or 1, of CONTACT_JOINTS, where the floor may be uneven by the recording's error.

    positions: (T, J, 3) at 60 fps. A joint is down while it is slow and as low as it gets within a step;
    in many recordings that is up to 5 cm above the floor, and more for one foot than for the other.
    """
    out = np.zeros((len(positions), len(CONTACT_JOINTS)), dtype=np.float32)
    for column, name in enumerate(CONTACT_JOINTS):
        place = gaussian(positions[:, MODEL_SKELETON.index(name)].astype(np.float64), 0.01 * FPS)
        speed = np.linalg.norm(velocity(place, FPS), axis=-1)
        low = place[:, 2] < _lowest(place[:, 2]) + _RISE[name.removeprefix("Left").removeprefix("Right")]
        out[:, column] = without_short_runs((speed < _SPEED_LIMIT) & low, _FLICKER, _FLICKER)
    return out


def on_ground(positions: Array, contacts: Array) -> Array:
    """Places (T, J, 3) lifted or lowered as a whole, slowly, so that feet in contact (T, 4) are on the floor."""
    heights = np.array([ANKLE_HEIGHT, TOE_HEIGHT] * 2)
    above = positions[:, MODEL_SKELETON.indices(CONTACT_JOINTS), 2] - heights
    weight = contacts * np.array([0.2, 1.0] * 2)  # a heel in contact may be rising
    soft = gaussian(np.stack(((above * weight).sum(1), weight.sum(1)), axis=1), _LEVELLING * FPS)
    shift = soft[:, 0] / np.maximum(soft[:, 1], 1e-6) * np.minimum(soft[:, 1] / 0.05, 1)
    out = positions.copy()
    out[..., 2] -= shift[:, None]
    return out


def _lowest(height: Array) -> Array:
    """The least of `height` (T,) around each frame."""
    reach = round(_STEP_REACH * FPS)
    padded = np.pad(height, reach, mode="edge")
    out: Array = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1).min(1)
    return out


def trajectory_of(root: Array, smoothing: float) -> Array:
    """T (T, TRAJECTORY.size) of a root track (T, 4) at 60 fps, smoothed with a Gaussian of `smoothing` seconds.

    A recorded root sways with every step; a drawn curve does not, and the network must not expect it.
    The ends go on as they are: held places would look like stopping.
    """
    reach = int(np.ceil(3 * smoothing * FPS))
    track = root[:, [0, 1, 3]]
    before = track[:1] - np.arange(reach, 0, -1)[:, None] * _slope(track[: reach // 2 + 2])
    after = track[-1:] + np.arange(1, reach + 1)[:, None] * _slope(track[-(reach // 2 + 2) :])
    smooth = gaussian(np.concatenate((before, track, after)), smoothing * FPS)[reach:-reach]
    step = np.diff(smooth, axis=0, append=2 * smooth[-1:] - smooth[-2:-1]) * FPS
    out = np.empty((len(root), TRAJECTORY.size), dtype=np.float32)
    out[:, TRAJECTORY.root_velocity] = to_local(step[:, :2], smooth[:, 2])
    out[:, TRAJECTORY.root_turn] = step[:, 2:]
    return out


def _slope(track: Array) -> Array:
    """Mean step (d,) of a piece of track (n, d)."""
    out: Array = (track[-1] - track[0]) / max(len(track) - 1, 1)
    return out


def waves_of(contacts: Array) -> Array:
    """Gamma (T, WAVES.size) of contact labels (T, 4), 0 or 1, at 60 fps.

    A cycle lasts from strike to strike of a foot; d omega is 2 pi over its length, the mean of both feet
    (the paper prints pi / L; with 2 pi the waves have the length that was measured). tau is from the share
    of the cycle that heel or toe is down (eq. 8), and -1 where the foot stands.
    """
    contacts = np.asarray(contacts, dtype=bool)
    count = len(contacts)
    down = np.full((count, 4), np.nan)
    frequency = np.full((count, 2), np.nan)
    for side in range(2):
        heel_toe = contacts[:, 2 * side : 2 * side + 2]
        stances = runs(without_short_runs(heel_toe.any(1), _FLICKER, _FLICKER))
        for (start, _), (stop, _) in pairwise(stances):
            stance = next(b for a, b in stances if a == start) - start
            if stop - start > _LONGEST_CYCLE * FPS or stance > _LONGEST_STANCE * FPS:
                continue
            down[start:stop, 2 * side : 2 * side + 2] = heel_toe[start:stop].mean(0)
            frequency[start:stop, side] = 2 * np.pi / (stop - start)
        for start, stop in stances:
            if stop - start > _LONGEST_STANCE * FPS:
                inner = slice(
                    start + (round(_HALF_STEP * FPS) if start > 0 else 0),
                    stop - (round(_HALF_STEP * FPS) if stop < count else 0),
                )
                down[inner, 2 * side : 2 * side + 2] = 1
    out = np.empty((count, WAVES.size), dtype=np.float32)
    for i in range(4):
        out[:, i] = threshold_of(
            gaussian(_filled(down[:, i], float(contacts[:, i].mean())), 0.08 * FPS).astype(np.float32)
        )
    known = ~np.isnan(frequency)
    mean = np.where(known, frequency, 0).sum(1) / np.maximum(known.sum(1), 1)
    mean[~known.any(1)] = np.nan
    out[:, WAVES.frequency] = gaussian(_filled(mean, 2 * np.pi / (_STANDING_CYCLE * FPS)), 0.15 * FPS)[:, None]
    return out


def _filled(values: Array, default: float) -> Array:
    """`values` (T,) with what is unknown (nan) interpolated, or `default` where nothing is known."""
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        return np.full(len(values), default)
    return np.interp(np.arange(len(values)), known, values[known])
